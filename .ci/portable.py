"""Installs into the Python that runs it, and runs the tests of what works on any system, Windows too: ``python .ci/portable.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Engine, environments, matches, the table in the terminal, training in one process.
TESTS = "rules engine cards melds scoring text env vector interfaces matches play training learner".split()


def main() -> None:
    """Stops at the first command that fails."""
    python = [sys.executable, "-m"]
    install = [*python, "pip", "install", "--disable-pip-version-check", "--constraint", "constraints.txt"]
    files = [f"tests/test_{name}.py" for name in TESTS]
    for command in (
        [*install, "torch"],
        [*install, "--editable", ".[train,web,data,pettingzoo]", "pytest", "hypothesis", "httpx2"],
        [*python, "pytest", "-m", "not slow and not browser", *files],
    ):
        subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
