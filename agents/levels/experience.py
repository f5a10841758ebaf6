"""Better over time: what everybody met so far says of strangers.

As installed a level expects a stranger to be like the population that the opponent model was fitted to. Everybody that it gets to
know moves this expectation a little, a person once, however many hands were played with it. The moved expectation is tested on newcomers:
once one is known for some hands, was it closer to what was expected by then or to what was installed? Strangers meet the installed
expectation until these tests say clearly that the other one is better, and again when they no longer do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.opponent_model.posterior import KNOWN, ModelPrior, shipped_prior

# Whoever was shown in so many hands counts half as much as somebody known perfectly.
_HALF = 20.0
# The installed expectation weighs as much as so many people.
_INSTALLED = 8.0
# Hands of a newcomer after which it tests the expectation.
TESTED_AFTER = 20
# Natural logarithm of the odds from which on the moved expectation is trusted.
TRUST = 3.0


@dataclass
class Experience:
    """What the tests on newcomers found.

    Attributes:
        evidence: logarithm of the odds for the moved expectation, in nats.
        tests: how many newcomers tested it.
    """

    evidence: float = 0.0
    tests: int = 0

    @property
    def trusted(self) -> bool:
        """Whether strangers meet the moved expectation."""
        return self.evidence > TRUST

    def test(self, expected: np.ndarray, newcomer: np.ndarray) -> None:
        """Tests an expectation on a newcomer.

        Args:
            expected: weights that were expected without it, ``float64[W]``.
            newcomer: what is known of it, a ``KNOWN`` record.
        """
        prior = shipped_prior()
        spread = np.linalg.inv(prior.covariance + np.linalg.inv(newcomer["precision"]))
        near, far = newcomer["mean"] - expected, newcomer["mean"] - prior.mean
        self.evidence += 0.5 * float(far @ spread @ far - near @ spread @ near)
        self.tests += 1


def expected_weights(known: np.ndarray) -> np.ndarray:
    """The weights that are expected of a stranger after what is known of others, ``KNOWN[n]``: ``float64[W]``."""
    prior = shipped_prior()
    share = (known["hands"] / (known["hands"] + _HALF))[:, None]
    return (_INSTALLED * prior.mean + (share * known["mean"]).sum(0)) / (_INSTALLED + share.sum())


def stranger(expected: np.ndarray | None = None) -> np.ndarray:
    """What is known of somebody never met, ``KNOWN[1]``, if these weights are expected; the installed ones by default."""
    prior: ModelPrior = shipped_prior()
    known = np.repeat(prior.stranger, 1)
    assert known.dtype == KNOWN
    if expected is not None:
        known["mean"] = expected
    return known
