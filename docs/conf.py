"""How Sphinx builds the documentation (`make docs`)."""

from __future__ import annotations

import re
from typing import Any

import ginenv

project = "ginenv"
author = "The ginenv authors"
copyright = f"2026, {author}"
version = release = ginenv.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# README.md is the first page in a repository; index.rst shows it on the site.
exclude_patterns = ["_build", "README.md"]
html_theme = "furo"
html_title = f"ginenv {version}"
html_show_sphinx = False
myst_heading_anchors = 3
autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True


def _with_lists_for_tables(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings have tables as they are written in Markdown; here they become those of reStructuredText."""
    found: list[str] = []
    for line in lines:
        cells = re.fullmatch(r"\|(.*)\|", line.strip())
        if not cells:
            found.append(line)
        elif set(line) <= set("|- "):
            continue
        else:
            if not (found and found[-1].startswith("     ")):
                found += ["", ".. list-table::", ""]
            first, *rest = [cell.strip() for cell in cells[1].split(" | ")]
            found += [f"   * - {first}", *(f"     - {cell}" for cell in rest)]
    lines[:] = found


def setup(app: Any) -> None:
    """Connects the one thing that is not a setting."""
    app.connect("autodoc-process-docstring", _with_lists_for_tables)
