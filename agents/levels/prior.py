"""The prior: what a level has learned of its plans from all opponents, and so expects of a new one (a stranger).

Every hand against anybody counts here too, with more noise than against that opponent, since others differ. The prior becomes the first
belief about a stranger only once a plan is believed to be better than the default with near certainty; until then a stranger meets the
level as installed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.levels.plans import HAND_NOISE, NUM_PLANS, RECORD, better, first_belief, observe

# A hand tells less about everybody than about the opponent that it was played against.
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
        hands: how many it was learned from.
    """

    belief: np.ndarray
    default: int
    first: np.ndarray
    hands: int = 0

    @classmethod
    def installed(cls, mean: np.ndarray, doubt: float) -> Prior:
        """A prior without experience (see ``plans.first_belief``)."""
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
            # Strangers still differ from each other as much as before, so the covariance stays.
            record["mean"] = self.belief["mean"]
        return record

    def add(self, plan: int, points: float) -> None:
        """Learns from a hand."""
        observe(self.belief[0], plan, points, _NOISE, 0.0)
        self.hands += 1

    def to_json(self) -> dict[str, list[float]]:
        """Plain values for ``restore``."""
        return {
            "hands": [self.hands],
            "mean": [round(float(x), 6) for x in self.belief["mean"][0]],
            "cov": [round(float(x), 6) for x in self.belief["cov"][0].reshape(-1)],
        }

    def restore(self, values: dict[str, list[float]]) -> None:
        """Takes the values of ``to_json``."""
        self.hands = int(values["hands"][0])
        self.belief["mean"] = np.array(values["mean"])
        self.belief["cov"] = np.array(values["cov"]).reshape(NUM_PLANS, NUM_PLANS)
