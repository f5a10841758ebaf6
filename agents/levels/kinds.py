"""Kinds of opponents that a level may have an answer to: a way of playing that was trained against that kind alone.

A network that has answers reads a number for the kind in the columns where others read habits; nothing read is its default. Each answer
is a plan: it is tried now and then, and experience decides hand by hand what it is worth.
"""

from __future__ import annotations

import numpy as np

from agents.bots.heuristics import sample_styles, style
from agents.levels.habits import NUM_HABITS
from agents.levels.plans import NUM_PLANS

# What the opponents of each kind do; plan ``k`` answers kind ``k - 1``, plan 0 answers none.
KINDS = ("plays for gin", "knocks as soon as it may", "takes no upcards", "has other habits")
assert len(KINDS) == NUM_PLANS - 1
# What stands in a kind's column: large enough that a few steps of training tell the kinds apart.
_CODE = 2.0


def styles_of_kinds(count: int, rng: np.random.Generator) -> np.ndarray:
    """Random styles, of which style ``i`` is of kind ``i % 4``: ``STYLE[count]``."""
    styles = sample_styles(count, rng)
    gin, hasty, refusing, _ = (np.arange(count) % len(KINDS) == k for k in range(len(KINDS)))
    for name, value in (("knock", 0), ("late", 0), ("turns", 99)):
        styles[name][gin] = value
    styles["knock"][hasty] = rng.integers(8, 11, count)[hasty]
    styles["late"][hasty] = styles["knock"][hasty]
    styles["turns"][hasty] = 99
    styles["draw"][refusing] = style("takes-none")["draw"][0]
    return styles


def codes(plans: np.ndarray) -> np.ndarray:
    """What a network that has answers reads by the plan: ``int64[n]`` to ``float32[n, H]``."""
    rows = np.zeros((len(plans), NUM_HABITS), np.float32)
    answers = np.flatnonzero(plans > 0)
    rows[answers, np.asarray(plans)[answers] - 1] = _CODE
    return rows
