"""Gin rummy in the terminal: ``gin play``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program (with the process's own arguments when left out); returns its exit status."""
    # Networks decide one position at a time, for which a second thread is only waited for.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from agents.play.terminal.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("agents", "ginenv"):
            raise
        print(f"error: playing needs {error.name}; pip install 'ginenv[train]' installs it", file=sys.stderr)
        return 1
    return run(arguments)


if __name__ == "__main__":
    # Set anew, since a shell starts background jobs with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
