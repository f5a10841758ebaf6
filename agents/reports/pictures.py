"""Small pictures for TensorBoard: beliefs by card, knocks by turn and deadwood, predicted against real values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle

from agents.reports.charts import ACCENT, SOFT, drawing, pixels
from ginenv.engine.cards import RANKS, SUITS

_TRUE = "#c82828"


def belief_picture(titles: Sequence[str], chances: np.ndarray, unseen: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Heat maps of the belief about the opponent's hand, suits by ranks, side by side.

    The darker a card, the likelier it is in the opponent's hand. Seen cards are blank, and the opponent's true cards have a red frame.

    Args:
        titles: one line for each map.
        chances: ``[k, 52]``, probability that the opponent holds each card.
        unseen: ``bool[k, 52]``, cards that the seat cannot place.
        hidden: ``bool[k, 52]``, the opponent's true hand.

    Returns:
        ``uint8[height, width, 3]``.
    """
    with drawing(4 * len(titles), 1.7, columns=len(titles)) as (figure, maps):
        for k, axes in enumerate(maps):
            shown = np.where(unseen[k], chances[k], np.nan).reshape(4, 13)
            axes.imshow(shown, "Blues", vmin=0, vmax=1)
            for card in np.flatnonzero(hidden[k]):
                axes.add_patch(Rectangle((card % 13 - 0.45, card // 13 - 0.45), 0.9, 0.9, fill=False, edgecolor=_TRUE))
            axes.set_xticks(range(13), list(RANKS))
            axes.set_yticks(range(4), list(SUITS))
            axes.set_title(titles[k])
        return pixels(figure)


def knock_picture(could: np.ndarray, did: np.ndarray) -> np.ndarray:
    """How often a player knocked when it could, by own turn (across) and deadwood (up); white where it never could.

    Args:
        could: ``[turns, deadwood]`` counts.
        did: ``[turns, deadwood]`` counts.

    Returns:
        ``uint8[height, width, 3]``.
    """
    share = np.where(could > 0, did / np.maximum(could, 1), np.nan)
    with drawing(4.5, 3.4) as (figure, (axes,)):
        extent = (0.5, could.shape[0] + 0.5, -0.5, could.shape[1] - 0.5)
        axes.imshow(share.T, "Blues", vmin=0, vmax=1, origin="lower", extent=extent)
        axes.set(title="knocks when it could", xlabel="own turn", ylabel="deadwood")
        return pixels(figure)


def calibration_picture(predicted: np.ndarray, real: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Mean results (up) of positions grouped by predicted value (across); on the line both are equal.

    Args:
        predicted: ``[k]``, mean prediction of each group.
        real: ``[k]``, mean result.
        errors: ``[k]``, standard error of the result.

    Returns:
        ``uint8[height, width, 3]``.
    """
    with drawing(3.6, 3.6) as (figure, (axes,)):
        axes.axline((float(predicted[0]), float(predicted[0])), slope=1, color=SOFT, linewidth=1)
        axes.errorbar(predicted, real, 2 * errors, fmt="o", color=ACCENT)
        axes.set(xlabel="the critic's value", ylabel="result")
        return pixels(figure)
