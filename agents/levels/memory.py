"""What a level remembers: of each opponent, of the game in general, and of the hands in play.

What is known of an opponent is a normal distribution of its weights (``agents.opponent_model``). It shifts the level's biases by a table,
the *responses*: linear in what is known, so nothing changes where nothing is known. What is known of the game is a normal distribution of
the level's own biases, which its coach moves (``agents.levels.coach``).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from agents.config import Config
from agents.files import read_json_object
from agents.levels.dial import STRANGER
from agents.opponent_model.features import NUM_WEIGHTS
from agents.opponent_model.posterior import POSTERIOR, Posteriors, lower_of, square
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.view.view import VIEW

RESPONSES = Path(__file__).resolve().parents[1] / "data" / "responses.json"
# Distances from the average opponent beyond this count as this, in standard deviations.
MAX_DISTANCE = 1.5
# How many hands of the coach a level's habits are worth: how slowly it learns.
_HABIT_HANDS = 6000
# Numbers in the lower half of a precision.
_LOWER = NUM_WEIGHTS * (NUM_WEIGHTS + 1) // 2
# Hands of each figure over time, and how many such figures are kept.
AGREEMENT_HANDS, _MAX_FIGURES = 20, 500
# Hands in play at once; of more, the oldest are forgotten.
_MAX_IN_PLAY = 10_000


class Beliefs(Config):
    """A ``POSTERIOR`` as lists of numbers.

    Attributes:
        hands: that it rests on.
        mean: of each weight.
        precision: its lower half, row by row.
    """

    hands: int = Field(ge=0)
    mean: list[float] = Field(min_length=NUM_WEIGHTS, max_length=NUM_WEIGHTS)
    precision: list[float] = Field(min_length=_LOWER, max_length=_LOWER)

    @property
    def record(self) -> np.ndarray:
        """The same as ``POSTERIOR[1]``."""
        record = np.zeros(1, POSTERIOR)
        record[0] = self.mean, square(self.precision), self.hands
        return record


class Learned(Beliefs):
    """What a level has learned of the game: its own biases.

    Attributes:
        agreement: over time, pairs of a number of hands and how much of its choices its coach would make, from 0 to 1.
    """

    agreement: list[tuple[int, float]] = Field(default_factory=list, max_length=_MAX_FIGURES)

    def with_agreement(self, shares: np.ndarray) -> Learned:
        """The same with the agreement in some more hands, ``float64[n]``."""
        figures = [*self.agreement]
        for share in shares.tolist():
            count, mean = figures.pop() if figures and figures[-1][0] < AGREEMENT_HANDS else (0, 0.0)
            figures.append((count + 1, round((count * mean + share) / (count + 1), 4)))
        return self.model_copy(update={"agreement": figures[-_MAX_FIGURES:]})


def beliefs(record: np.void) -> dict[str, Any]:
    """A ``POSTERIOR`` record as the values of ``Beliefs``."""
    return {"hands": int(record["hands"]), "mean": record["mean"].tolist(), "precision": lower_of(record["precision"])}


def fresh_skill(habits: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """A level's own biases as installed, ``POSTERIOR[1]``.

    Args:
        habits: ``float64[NUM_WEIGHTS]``.
        curve: covariance of the features of a hand's choices.
    """
    record = np.zeros(1, POSTERIOR)
    # What hardly ever occurs in a hand is not learned from one.
    record[0] = habits, _HABIT_HANDS * (curve + np.diag(0.02 * np.diag(curve) + 1e-4)), 0
    return record


@cache
def shipped_responses() -> np.ndarray:
    """The biases that each known number of an opponent adds, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``.

    ``python -m benchmarks.data.responses`` fits them.
    """
    return np.array(read_json_object(RESPONSES, "the responses")["responses"])


def bounded(distances: np.ndarray) -> np.ndarray:
    """Distances as far as they count, as ``float64``."""
    return np.clip(distances.astype(np.float64), -MAX_DISTANCE, MAX_DISTANCE)


class HandsInPlay:
    """The decisions of one player in hands that are not over, by slot and the hand's own random word."""

    def __init__(self) -> None:
        self._hands: dict[tuple[int, int], list[tuple[np.void, np.ndarray | None]]] = {}

    def note(self, views: np.ndarray, slots: np.ndarray, logits: np.ndarray | None = None) -> None:
        """Notes the decisions ``VIEW[n]`` in some slots, ``int64[n]``, with the network's logits; what is shown again counts once."""
        views = views.copy()
        keys = zip(slots.tolist(), views["hand_luck"].tolist(), strict=True)
        for i, (key, read) in enumerate(zip(keys, views["num_history"].tolist(), strict=True)):
            decisions = self._hands.setdefault(key, [])
            if not decisions or decisions[-1][0]["num_history"] < read:
                decisions.append((views[i], None if logits is None else logits[i]))
        while len(self._hands) > _MAX_IN_PLAY:
            del self._hands[next(iter(self._hands))]

    def take(self, views: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The decisions of finished hands, ``VIEW[n]`` and ``int64[n]``; they are forgotten.

        Returns:
            ``VIEW[m]``; the logits that were noted, ``float32[m, 107]``, empty if none were; and which hand each is of, ``int64[m]``.
        """
        keys = zip(slots.tolist(), views["hand_luck"].tolist(), strict=True)
        hands = [self._hands.pop(key, []) for key in keys]
        found = [decision for decisions in hands for decision in decisions]
        numbers = np.repeat(np.arange(len(hands)), [len(decisions) for decisions in hands])
        logits = [row for _, row in found if row is not None]
        return (
            np.array([view for view, _ in found], VIEW),
            np.array(logits, np.float32).reshape(len(logits), NUM_ACTIONS),
            numbers,
        )

    def clear(self, slots: np.ndarray | None = None) -> None:
        """Forgets the hands of some slots, or all."""
        gone = None if slots is None else set(slots.tolist())
        self._hands = {} if gone is None else {key: hand for key, hand in self._hands.items() if key[0] not in gone}


class Memory:
    """What a level knows: one row for each opponent, with the level's own biases in the games against it.

    Args:
        skill: its own biases at first, ``POSTERIOR[1]``.

    Attributes:
        opponents: the opponents.
        skills: its own biases, ``POSTERIOR[rows]``.
        strengths: how likely each rating of an opponent is, ``float64[rows, G]`` (``agents.levels.dial``).
    """

    def __init__(self, skill: np.ndarray) -> None:
        self.opponents = Posteriors(1)
        self._skill, self.skills = skill, skill.copy()
        self.strengths = STRANGER[None].copy()

    def __len__(self) -> int:
        return len(self.skills)

    def widen(self, rows: int) -> None:
        """Makes room for ``rows`` opponents in all; the new ones are strangers."""
        more = rows - len(self)
        if more > 0:
            stranger = self.opponents.prior.stranger
            self.opponents.records = np.concatenate([self.opponents.records, np.repeat(stranger, more)])
            self.skills = np.concatenate([self.skills, np.repeat(self._skill, more)])
            self.strengths = np.concatenate([self.strengths, np.repeat(STRANGER[None], more, 0)])

    def forget(self, rows: np.ndarray) -> None:
        """Turns some opponents into strangers, and plays as at first against them."""
        self.opponents.records[rows] = self.opponents.prior.stranger[0]
        self.skills[rows] = self._skill[0]
        self.strengths[rows] = STRANGER

    def biases(self, rows: np.ndarray) -> np.ndarray:
        """The biases of its choices against some opponents, ``float64[n, NUM_WEIGHTS]``."""
        return self.skills["mean"][rows] + bounded(self.opponents.distances(rows)) @ shipped_responses()
