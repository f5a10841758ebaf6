"""What somebody does in a few typical cases, beside typical people and beside the installed levels: from the weights of the choice model.

A trait is how often somebody does something in one case. Its log-odds are a sum of weights, so what is known of the weights, a normal
distribution, says how certain the trait is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from agents.files import read_json_object
from agents.levels.level import FILES, INSTALLED, NAMES, digest_of
from agents.opponent_model.features import FEATURES, NUM_WEIGHTS
from agents.opponent_model.habits import HABITS
from agents.opponent_model.posterior import shipped_prior

# Weights of typical people and of the levels as installed; python -m benchmarks.data.level_weights writes them.
LEVEL_WEIGHTS = Path(__file__).resolve().parents[1] / "data" / "level_weights.json"
# How certain it is that somebody does it more (or less) often than typical people, and the word for it.
_WORDS = ((0.95, "almost certainly"), (0.8, "probably"), (0.6, "perhaps"))
# Whoever does it more often than between these shares of people is typical; certain where at most this part of people's spread is left.
_TYPICAL, _KNOWN = (0.45, 0.55), 0.5
# Eight of ten people lie within this many standard deviations of the mean.
_EIGHT_OF_TEN = NormalDist().inv_cdf(0.9)


def _knock(points: int, turn: int) -> dict[str, float]:
    return {
        "any knock": 1,
        "deadwood / 10": points / 10,
        "turn / 10": turn / 10,
        "deadwood / 10, times the turn / 10": points * turn / 100,
        "the other has taken upcards": 0.5,
    }


# What is done, in which case, its features in that case (of a discard: less those of the other card), and the habit that is evidence.
_TRAITS: tuple[tuple[str, str, dict[str, float], str], ...] = (
    ("knocks early", "with 6 points in the second turn", _knock(6, 2), "knocks by the third turn"),
    (
        "knocks with many points",
        "with 9 points in the sixth turn",
        _knock(9, 6),
        "has five points or less when it knocks",
    ),
    (
        "plays on for gin",
        "with 3 points in the sixth turn",
        {name: -value for name, value in _knock(3, 6).items()},
        "goes gin",
    ),
    (
        "takes upcards that make no meld",
        "one that makes a pair and has a neighbour in its suit",
        {"any upcard": 1, "makes a pair": 1, "near a card of its suit": 1},
        "takes the upcard",
    ),
    (
        "takes low upcards",
        "three points or less, which save five",
        {"any upcard": 1, "points of deadwood saved / 10": 0.5, "three points or less": 1},
        "takes the first upcard",
    ),
    (
        "breaks up high pairs",
        "two tens rather than throw a lone nine, in the second turn",
        {
            "points of deadwood more than the best discard leaves / 10": -0.1,
            "leaves the least deadwood": 1,
            "ways to make a meld of the card / 4": 0.25,
            "has another of its rank": 1,
            "points / 10": 0.1,
            "points / 10, times the turn / 10": 0.02,
        },
        "throws a card of ten points in the first three turns",
    ),
    (
        "throws cards near those that the other took",
        "rather than a safe card of as many points",
        {"danger of a set": 0.2, "danger of a run": 0.2},
        "",
    ),
)
_ROWS = np.array([[features.get(name, 0.0) for name in FEATURES] for _, _, features, _ in _TRAITS])
assert all(set(features) <= set(FEATURES) and habit in (*HABITS, "") for _, _, features, habit in _TRAITS)


@dataclass(frozen=True)
class Trait:
    """How often somebody does something in one case.

    Attributes:
        name: what it is, in words.
        case: in which case.
        share: of typical people, that do it less often.
        sure: how certain it is that the person does it more often (or less often, if ``share`` is below a half) than the average, 0.5 to 1.
        left: the part of people's spread that is left in what is known of the person: 1 for a stranger, 0 where all is known.
        own: how often the person does it, and the interval that holds it eight times of ten: 0 to 1.
        people: the average person, and the interval that holds eight of ten people.
        levels: how often each level as installed does it; levels that were changed since they were measured are left out.
        evidence: a habit that was counted, and how often it was seen, of how many chances; empty where there was none.
    """

    name: str
    case: str
    share: float
    sure: float
    left: float
    own: tuple[float, float, float]
    people: tuple[float, float, float]
    levels: dict[str, float]
    evidence: str

    @property
    def is_known(self) -> bool:
        """Whether anything can be said about it."""
        return self._is_typical or (self.sure >= _WORDS[-1][0] and not _TYPICAL[0] < self.share < _TYPICAL[1])

    @property
    def _is_typical(self) -> bool:
        return self.left <= _KNOWN and _TYPICAL[0] < self.share < _TYPICAL[1]

    @property
    def words(self) -> str:
        """The person beside typical people, with certainty."""
        if not self.is_known:
            return "not known yet"
        if self._is_typical:
            return "about as often as typical people"
        word = next(word for least, word in _WORDS if self.sure >= least)
        more, share = ("more", self.share) if self.share > 0.5 else ("less", 1 - self.share)
        return f"{word} {more} often than typical people (than some {min(9, round(10 * share))} of 10)"

    def to_json(self) -> dict[str, Any]:
        """The trait as values that ``json`` writes."""
        return asdict(self) | {"words": self.words}


def times(share: float) -> str:
    """A share as a number of times of ten, in words for the terminal and for pages."""
    return {0: "<1", 10: ">9"}.get(number := round(10 * share), str(number))


def _odds(mean: float, deviation: float) -> tuple[float, float, float]:
    low, high = mean - _EIGHT_OF_TEN * deviation, mean + _EIGHT_OF_TEN * deviation
    middle, least, most = (round(float(1 / (1 + np.exp(-logit))), 3) for logit in (mean, low, high))
    return middle, least, most


@cache
def _typical_weights() -> np.ndarray:
    return np.array(read_json_object(LEVEL_WEIGHTS, "the levels' weights")["people"])


@cache
def level_weights() -> dict[str, np.ndarray]:
    """The weights of each level as installed, by name; those that were changed since they were measured are left out."""
    stored = read_json_object(LEVEL_WEIGHTS, "the levels' weights")["levels"]
    return {
        name: np.array(stored[name]["weights"])
        for name in NAMES
        if name in stored and stored[name]["sha256"] == digest_of(INSTALLED / name, FILES)
    }


def traits_of(record: np.void, counts: np.void) -> list[Trait]:
    """The traits of one opponent, those that are known best first.

    Args:
        record: what is known of its weights, a ``POSTERIOR``.
        counts: the habits counted, a ``COUNTS``.
    """
    prior, normal, typical = shipped_prior(), NormalDist(), _typical_weights()
    covariance = np.linalg.inv(record["precision"].reshape(NUM_WEIGHTS, NUM_WEIGHTS))
    found = []
    for (name, case, _, habit), row in zip(_TRAITS, _ROWS, strict=True):
        own, people, stranger = (float(row @ weights) for weights in (record["mean"], typical, prior.mean))
        spread, of_people = (float(np.sqrt(row @ matrix @ row)) for matrix in (covariance, prior.covariance))
        # The prior was fitted to open cards, and shown hands alone draw another picture, of typical people too: after as many hands they
        # would have come as far from a stranger as the hands have taken away from the spread.
        average = stranger + (1 - (spread / of_people) ** 2) * (people - stranger)
        k = HABITS.index(habit) if habit else -1
        did, could = (int(counts[field][k]) if habit else 0 for field in ("did", "could"))
        trait = Trait(
            name,
            case,
            share=round(normal.cdf((own - average) / np.hypot(spread, of_people)), 3),
            sure=round(normal.cdf(abs(own - average) / spread), 3),
            left=round(spread / of_people, 3),
            own=_odds(own, spread),
            people=_odds(people, of_people),
            levels={level: _odds(float(row @ weights), 0)[0] for level, weights in level_weights().items()},
            evidence=f"{habit}: {did} of {could}" if could else "",
        )
        found.append(trait)
    return sorted(found, key=lambda trait: (not trait.is_known, -trait.sure))
