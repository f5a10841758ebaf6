"""The prior: what a level has learned of its plans from everybody, and so expects of a stranger.

Every hand against anybody counts here too, with more doubt than against that one opponent, since others differ. What is learned becomes
the first belief about a stranger only once a sequential test on these fresh hands says so: as long as the plan that would take the
default's place is not believed better with near certainty, a stranger meets the level as installed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.levels.plans import HAND_NOISE, NUM_PLANS, RECORD, better, first_belief, observe

# A hand says less about everybody than about the one it was played against.
_NOISE = 1.5 * HAND_NOISE
# Standard deviations by which the better plan must be believed better.
PROMOTION = 2.5


@dataclass
class Prior:
    """The belief about plans against anybody.

    Attributes:
        belief: ``BELIEF[1]``.
        default: the plan as installed.
        first: ``BELIEF[1]`` as installed.
        hands: that it was learned from.
    """

    belief: np.ndarray
    default: int
    first: np.ndarray
    hands: int = 0

    @classmethod
    def installed(cls, mean: np.ndarray, doubt: float) -> Prior:
        """Nothing learned (see ``plans.first_belief``)."""
        first = first_belief(np.asarray(mean, np.float64), doubt)
        return cls(first.copy(), int(np.argmax(mean)), first)

    @property
    def promoted(self) -> int:
        """The plan that has taken the default's place, or the default."""
        best = int(np.argmax(self.belief["mean"][0]))
        gain, doubt = better(self.belief, best, self.default)
        return best if gain > PROMOTION * doubt else self.default

    def stranger(self) -> np.ndarray:
        """An empty record of a stranger, with the belief that play against it begins from: ``RECORD[1]``."""
        record = np.zeros(1, RECORD)
        record["mean"], record["cov"] = self.first["mean"], self.first["cov"]
        if self.promoted != self.default:
            # Strangers differ from each other as much as they were thought to before, so the covariance stays.
            record["mean"] = self.belief["mean"]
        return record

    def add(self, plan: int, points: float) -> None:
        """Learns from a hand."""
        observe(self.belief[0], plan, points, _NOISE, 0.0)
        self.hands += 1

    def to_json(self) -> dict[str, list[float]]:
        """What was learned, as plain values."""
        return {
            "hands": [self.hands],
            "mean": [round(float(x), 6) for x in self.belief["mean"][0]],
            "cov": [round(float(x), 6) for x in self.belief["cov"][0].reshape(-1)],
        }

    def restore(self, values: dict[str, list[float]]) -> None:
        """Takes what ``to_json`` gave, once it has been checked to be numbers."""
        self.hands = int(values["hands"][0])
        self.belief["mean"] = np.array(values["mean"])
        self.belief["cov"] = np.array(values["cov"]).reshape(NUM_PLANS, NUM_PLANS)
