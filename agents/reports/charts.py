"""Charts with matplotlib, as SVG within a page.

The same figures give the same bytes: ids come from a fixed salt, and no date is written.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours of the pages (templates/style.css); within a page they follow the page's light or dark scheme.
INK, SOFT, LINE, ACCENT = "#1d2a33", "#5d6d78", "#dfe5e8", "#1f7a5c"
_VARIABLES = {INK: "var(--ink)", SOFT: "var(--soft)", LINE: "var(--line)", ACCENT: "var(--accent)"}

_STYLE: dict[Any, Any] = {
    # A dollar sign in a player's name does not start a formula.
    "text.parse_math": False,
    "svg.hashsalt": "gin",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "grid.color": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
_NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@contextmanager
def drawing(width: float, height: float, columns: int = 1) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure and its axes for drawing in the style of the reports.

    Args:
        width: width in inches.
        height: height in inches.
        columns: number of axes side by side.
    """
    with matplotlib.rc_context(_STYLE):
        figure = Figure((width, height), layout="constrained")
        yield figure, list(np.atleast_1d(figure.subplots(1, columns)))


def svg_of_page(figure: Figure, label: str) -> str:
    """A figure as an SVG element of a page, in the page's colours.

    Args:
        figure: the figure.
        label: what the figure shows, for screen readers; no markup.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata=_NOTHING, facecolor="none")
    text = buffer.getvalue()
    # Within a page the namespaces are known, and the width is that of the page.
    head, rest = text[text.index("<svg") :].split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    for colour, variable in _VARIABLES.items():
        rest = rest.replace(colour, variable)
    return f'<svg {box[0]} width="100%" role="img" aria-label="{label}">{rest}'
