"""Better over time: what everybody met so far says of strangers.

As installed a level expects a stranger to be like the population that the opponent model was fitted to. Everybody that it gets to
know moves this expectation a little, a person once, however many hands were played with it. The moved expectation is tested on newcomers:
once one is known for some hands, was it closer to what was expected by then or to what was installed? Strangers meet the installed
expectation until these tests say clearly that the other one is better, and again when they no longer do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.opponent_model.posterior import shipped_prior

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
        """Tests an expectation on what a newcomer's hands say by themselves: how much likelier does it make them than the installed one?

        Args:
            expected: weights that were expected without it, ``float64[W]``.
            newcomer: what is known of it, a ``KNOWN`` record.
        """
        prior = shipped_prior()
        installed = np.linalg.inv(prior.covariance)
        shown = newcomer["precision"] - installed
        pull = newcomer["precision"] @ newcomer["mean"] - installed @ prior.mean
        # Of the hands, people's differences counted: precision, and precision times mean.
        share = np.linalg.solve(newcomer["precision"], np.column_stack([shown, pull]))
        precision, pull = shown - shown @ share[:, :-1], pull - shown @ share[:, -1]
        moved = expected - prior.mean
        self.evidence += float(moved @ pull - 0.5 * (expected + prior.mean) @ precision @ moved)
        self.tests += 1


def expected_weights(known: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weights that all others let expect of each of some people.

    Args:
        known: what is known of everybody, ``KNOWN[n]``.
        rows: ``int[k]``.

    Returns:
        ``float64[k, W]``.
    """
    share = (known["hands"] / (known["hands"] + _HALF))[:, None]
    weighed = share * known["mean"]
    total = _INSTALLED * shipped_prior().mean + weighed.sum(0)
    return (total - weighed[rows]) / (_INSTALLED + share.sum() - share[rows])
