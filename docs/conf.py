"""How Sphinx builds the documentation (`make docs`)."""

from __future__ import annotations

import re
from typing import Any

import ginenv
from ginenv.engine.rule_texts import PRESET_TEXTS, RULE_TEXTS
from ginenv.view.encoding import FACTS, FLAT_SCALE, PLANES

project = "ginenv"
author = "The ginenv authors"
copyright = f"2026, {author}"
version = release = ginenv.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"ginenv {version}"
html_show_sphinx = False
myst_enable_extensions = ["substitution"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True


def _table(headings: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows))


_FACTS_AT = len(PLANES) * 52
# Tables that the pages show, from the code that they describe.
myst_substitutions = {
    "planes": _table(["plane", "cells that are 1"], [[str(n), words] for n, words in enumerate(PLANES)]),
    "facts": _table(
        ["plane 9, cell", "flat, index", "what it holds", "flat: times"],
        [
            [f"{n // 13}, {n % 13}", str(_FACTS_AT + n), words, f"{FLAT_SCALE[_FACTS_AT + n]:.4g}"]
            for n, (words, _) in enumerate(FACTS)
        ],
    ),
    "rules": _table(["rule", ""], [[f"`{name}`", words] for name, words in RULE_TEXTS.items()]),
    "presets": _table(["preset", ""], [[f"`{name}`", words] for name, words in PRESET_TEXTS.items()]),
}


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
