"""A sequential test: it stops a match as soon as it shows that one player is better, or that neither is.

Two generalised sequential probability ratio tests run side by side on the scores of pairs. As in fishtest, the variance is the
sample's. One asks whether side 0 is better by the margin rather than equal, the other whether it is worse by the margin rather
than equal. The match ends when one of them says yes, or when both say no.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ginenv.errors import GinError, must_be

# Pairs before the first look (the variance of fewer says little), and between two looks.
LOOK_EVERY = 100
# Chances of calling equal players different, and of missing a difference of the margin.
_ALPHA = _BETA = 0.05


@dataclass(frozen=True)
class SequentialTest:
    """What counts as a difference.

    Attributes:
        margin: smallest difference of the share from one half that the test looks for.
    """

    margin: float = 0.02

    def __post_init__(self) -> None:
        """Checks the margin."""
        if not 0 < self.margin < 0.5:
            raise GinError(must_be("margin", "a number between 0 and 0.5", self.margin))

    def ratios(self, scores: np.ndarray) -> tuple[float, float]:
        """Logarithms of the likelihood ratios for "better by the margin" and "worse by the margin" against "equal".

        Args:
            scores: ``float[pairs]``, side 0's share of each pair.
        """
        count = len(scores)
        variance = float(scores.var()) or 1.0 / (4 * count)
        excess = float(scores.mean()) - 0.5
        better = count * self.margin * (excess - self.margin / 2) / variance
        worse = count * self.margin * (-excess - self.margin / 2) / variance
        return better, worse

    def verdict(self, scores: np.ndarray) -> str:
        """``"better"``, ``"worse"``, ``"equal"`` (no difference of the margin), or an empty text while more pairs are needed."""
        if len(scores) < LOOK_EVERY:
            return ""
        # Either test may call equal players different, so each gets half of alpha.
        accept = math.log((1 - _BETA) / (_ALPHA / 2))
        reject = math.log(_BETA / (1 - _ALPHA / 2))
        better, worse = self.ratios(scores)
        if better >= accept:
            return "better"
        if worse >= accept:
            return "worse"
        return "equal" if better <= reject and worse <= reject else ""

    def words(self, verdict: str, names: tuple[str, str]) -> str:
        """The verdict as a sentence with its error rates."""
        rates = f"(error rates {_ALPHA:g} and {_BETA:g}, margin {self.margin:.1%})"
        sentence = {
            "better": f"{names[0]} is better than {names[1]}",
            "worse": f"{names[1]} is better than {names[0]}",
            "equal": f"no difference of {self.margin:.1%} or more",
            "": "not decided with these deals",
        }[verdict]
        return f"{sentence} {rates}"
