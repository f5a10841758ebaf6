"""Who is better, by how much, and is it real: ``gin evaluate`` and related commands, without installing anything.

python evaluate.py A B --rules eaai --games 10000     a match
python evaluate.py A                                  one player against the panel
python evaluate.py tournament CONFIG.yaml             everyone against everyone
"""

from __future__ import annotations

import sys

from agents.cli import run

# Words that are commands and not players' names.
COMMANDS = ("tournament", "conform", "exploit")


def main() -> None:
    """Runs what the command line asks for."""
    first = (sys.argv[1:2] or [""])[0]
    if first in COMMANDS:
        run("evaluate.py", first, sys.argv[2:])
    else:
        run("evaluate.py", "evaluate", sys.argv[1:])


if __name__ == "__main__":
    main()
