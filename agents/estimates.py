"""Estimates with 95 % intervals, of means and ratios over independent clusters.

Both legs of a mirrored pair are played on the same deals, so they are not independent: intervals are clustered by pair or, where a player
learns, by series of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Probability outside a 95 % interval at either end, and its half-width in standard errors when these are known exactly.
TAIL = 0.025
Z95 = 1.959964
# The half-width for 1, 2, ... degrees of freedom: these are so few that the expansion in ``student`` is too inaccurate.
_T95 = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646)


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; NaN where there is nothing to estimate from.

    Attributes:
        mean: the number.
        low: lower end of the interval.
        high: upper end.
    """

    mean: float
    low: float
    high: float

    @classmethod
    def around(cls, mean: float, half: float) -> Estimate:
        """An interval that reaches equally far to both sides."""
        return cls(mean, mean - half, mean + half)

    @property
    def half(self) -> float:
        """How far the interval reaches from the number, on the longer side."""
        return max(self.mean - self.low, self.high - self.mean)

    def within(self, least: float, most: float) -> Estimate:
        """The same with everything beyond some bounds cut off."""
        return Estimate(*(min(max(value, least), most) for value in (self.mean, self.low, self.high)))

    def of_rest(self) -> Estimate:
        """The estimate of one less this: what is left to the other side."""
        return Estimate(1 - self.mean, 1 - self.high, 1 - self.low)

    def text(self, percent: bool = False) -> str:
        """``53.1 % (51.9 to 54.3)`` or ``+1.24 (+0.31 to +2.17)``."""
        if np.isnan(self.mean):
            return "–"
        mean, low, high = (f"{100 * x:.1f}" if percent else f"{x:+.2f}" for x in (self.mean, self.low, self.high))
        interval = "one pair, no interval" if np.isnan(self.low) else f"{low} to {high}"
        return f"{mean}{' %' * percent} ({interval})"

    def to_dict(self) -> dict[str, float | None]:
        """The three numbers, rounded; ``None`` where there is none."""
        values = {"mean": self.mean, "low": self.low, "high": self.high}
        return {key: None if np.isnan(value) else round(float(value), 6) for key, value in values.items()}


def student(freedom: float) -> float:
    """Half-width of a 95 % interval in estimated standard errors: Student's quantile, to 0.001.

    Between two tabulated values it is the larger one. Source: Abramowitz and Stegun, 26.7.5.

    Args:
        freedom: degrees of freedom, 1 or more; less counts as 1.
    """
    if freedom < len(_T95) + 1:
        return _T95[max(int(freedom), 1) - 1]
    z = Z95
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / freedom**k for k, term in enumerate(terms))


def weighted(parts: Sequence[np.ndarray], weights: Sequence[float]) -> Estimate:
    """A weighted sum of means of independent samples whose variances may differ (Welch, Satterthwaite).

    Args:
        parts: the samples, ``float[n]`` each.
        weights: weights of their means.
    """
    mean = sum(weight * float(np.mean(part)) for part, weight in zip(parts, weights, strict=True))
    if min(len(part) for part in parts) < 2:
        return Estimate.around(mean, float("nan"))
    variances = [
        weight**2 * float(np.var(part, ddof=1)) / len(part) for part, weight in zip(parts, weights, strict=True)
    ]
    total = sum(variances)
    if total == 0:
        return Estimate(mean, mean, mean)
    freedom = total**2 / sum(variance**2 / (len(part) - 1) for part, variance in zip(parts, variances, strict=True))
    return Estimate.around(mean, student(freedom) * total**0.5)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """A ratio of sums over clusters, with the interval of the ratio estimator (linearised, Student's).

    Args:
        numerator: ``float[clusters]``.
        denominator: ``float[clusters]``, for instance hands of the pair; all ones for a plain mean. A cluster with 0 does not count.
    """
    total = float(denominator.sum())
    if total == 0:
        return Estimate.around(float("nan"), float("nan"))
    mean = float(numerator.sum()) / total
    count = int(np.count_nonzero(denominator))
    if count < 2:
        return Estimate.around(mean, float("nan"))
    residual = numerator - mean * denominator
    error = np.sqrt(float(np.square(residual).sum()) * count / (count - 1)) / total
    return Estimate.around(mean, student(count - 1) * float(error))


def proportion(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """``ratio`` for a ratio between 0 and 1, such as a share of games: its interval stays within 0 and 1 and always has a width.

    If all ``n`` clusters are alike, as with a share of 0 or 1, the sample has no variance. The interval then reaches
    ``1 - TAIL ** (1 / n)`` from the mean, about ``3.7 / n``: if a larger part of all clusters were different, fewer than one sample in
    forty would have ``n`` alike. At 0 and 1 this is Clopper and Pearson's interval, exact for any ``n``.

    Args:
        numerator: ``float[clusters]``, at most the denominator in each.
        denominator: ``float[clusters]``; a cluster with 0 does not count.
    """
    estimate = ratio(numerator, denominator)
    # Equal sums of floats may differ in the last bits.
    if estimate.half < 1e-9:
        estimate = Estimate.around(estimate.mean, 1 - TAIL ** (1 / np.count_nonzero(denominator)))
    return estimate.within(0.0, 1.0)
