"""Writes the tables of the documentation from results files and from the code.

`python -m benchmarks.tables` writes what stands between the marks `<!-- NAME -->` and `<!-- end of NAME -->` of README.md and the pages of
docs/; with `--check` it writes nothing and fails if a page differs. `benchmarks/descriptions.py` says what each table shows.
"""

from __future__ import annotations

import sys

import tyro

from agents.files import write_text
from benchmarks.descriptions import PAGES
from benchmarks.markdown import ROOT, filled


def main(check: bool = False) -> None:
    """Writes the pages, or compares them.

    Args:
        check: write nothing; fail where a page says something else.
    """
    for name, tables in PAGES.items():
        text = filled(ROOT / name, tables)
        if not check:
            write_text(ROOT / name, text)
        elif (ROOT / name).read_text(encoding="utf-8") != text:
            sys.exit(f"{name} differs from the results files or the code; python -m benchmarks.tables writes it")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
