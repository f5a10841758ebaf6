"""Every Python block of the README runs, and its figures are those of the results files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_pages_say_what_the_results_files_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.tables", "--check"], cwd=README.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
