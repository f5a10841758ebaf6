"""``python -m agents.levels``: what levels are and have learned; how they are put back, exported, imported, converted and built."""

from __future__ import annotations

import sys

import tyro

from agents.levels.commands import COMMANDS
from ginenv.errors import GinError

if __name__ == "__main__":
    try:
        print(tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="python -m agents.levels"))
    except GinError as error:
        sys.exit(f"agents.levels: {error}")
