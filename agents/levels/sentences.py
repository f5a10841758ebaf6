"""What a level has learned, as a person reads it: how strong it has become, and in sentences what it does otherwise and what a person does.

A sentence is about one case. How often somebody does something in that case has log-odds that are a sum of weights of the choice model, so
what is known of the weights says how certain the sentence is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from agents.arena.series import play_series
from agents.deal_streams import Domain
from agents.display_names import display_opponent
from agents.estimates import Estimate, ratio
from agents.levels.choice import choose, describe
from agents.levels.features import FEATURES, NUM_WEIGHTS
from agents.levels.level import AGREEMENT_HANDS, Level
from agents.levels.matched import PersonRating, person_rating
from agents.levels.memory import (
    MILESTONES,
    Memory,
    Milestone,
    read_learned,
    read_milestones,
    read_opponents,
    write_points,
)
from agents.levels.opponents import shipped_prior
from agents.levels.player import LevelPlayer
from ginenv.bots.heuristics import make_formula
from ginenv.engine.actions import PHASE_DISCARD, action_name
from ginenv.engine.cards import card_name, cards_of
from ginenv.engine.state import NO_CARD
from ginenv.hands.hand import Hand
from ginenv.view.wording import what_it_does, what_to_do

# A person's finished hands, the last first: the id of the game, the number of the hand in it, the person's seat, and the hand.
HandsOnRecord = Callable[[str], Sequence[tuple[int, int, int, Hand]]]


def _knock(points: int, turn: int) -> dict[str, float]:
    odds = {"any knock": 1, "deadwood / 10": points / 10, "turn / 10": turn / 10}
    return odds | {"deadwood / 10, times the turn / 10": points * turn / 100, "the other has taken upcards": 0.5}


_USELESS = {"any upcard": 1, "makes a pair": 1, "near a card of its suit": 1}
_LOW = {"any upcard": 1, "points of deadwood saved / 10": 0.5, "three points or less": 1}
_HIGH = {"points / 10": 1, "points / 10, times the turn / 10": 0.3}
_A_PAIR = {"has another of its rank": 1, "ways to make a meld of the card / 4": 0.25}
_A_NEIGHBOUR = {"has a neighbour in its suit": 1, "ways to make a meld of the card / 4": 0.25}
_DANGER = {"danger of a set": 0.2, "danger of a run": 0.2}
_COLLECTS = "careful about what the other collects"
# The features of a case, and what is said of whoever does it more, or less.
_CASES: tuple[tuple[Mapping[str, float], str, str], ...] = (
    (_knock(6, 2), "knocks earlier", "knocks later"),
    (_knock(9, 6), "knocks with more points", "knocks with fewer points"),
    (_knock(3, 6), "plays on for gin less often", "plays on for gin more often"),
    (_USELESS, "picks up cards that make no meld more often", "picks up cards that make no meld less often"),
    (_LOW, "picks up low cards more often", "picks up low cards less often"),
    (_HIGH, "throws high cards sooner", "keeps high cards longer"),
    (_A_PAIR, "breaks up pairs more often", "keeps pairs more often"),
    (_A_NEIGHBOUR, "breaks up runs in the making more often", "keeps runs in the making more often"),
    (_DANGER, f"is less {_COLLECTS}", f"is more {_COLLECTS}"),
)
_ROWS = np.array([[features.get(name, 0.0) for name in FEATURES] for features, _, _ in _CASES])
# From how certain it is that somebody does it more (or less) often than most people it is said, and said to be sure.
_SAID, _SURE = 0.8, 0.95
# Whoever does it more often than between these shares of people is typical.
_TYPICAL = (0.4, 0.6)
# What measures strength: series, hands of each, and the seed of deals and players.
_SERIES, _SERIES_HANDS, _SEED = 150, 10, 4860
# The most sentences about anybody, and the least change of a level's own log-odds that is worth one.
_MOST, _CHANGE = 5, 0.15


@dataclass(frozen=True)
class Sentence:
    """Something that a person does, beside most people.

    Attributes:
        text: what, in words.
        sure: whether it is sure; else it is probable.
    """

    text: str
    sure: bool

    def __str__(self) -> str:
        return f"{self.text} ({'sure' if self.sure else 'not sure yet'})"


@dataclass(frozen=True)
class Position:
    """A decision in one of a person's hands, from the other seat, in which the level now plays otherwise because of the person.

    Attributes:
        game: id of the game.
        hand: number of the hand in it, from 1.
        move: number of the action in the hand, from 1.
        cards: those that the level holds, and the upcard.
        installed: what it does most often as installed.
        now: what it does most often against this person.
        would: the first in words that follow "would".
        does: the second in words that follow "it".
    """

    game: int
    hand: int
    move: int
    cards: str
    installed: str
    now: str
    would: str
    does: str


@dataclass(frozen=True)
class Learning:
    """What a level has learned of the game, and of one person.

    Attributes:
        level: its name.
        opponent: the person.
        hands: of everybody, that its coach has gone through.
        agreement: over time, pairs of a number of hands and how much of its choices its coach would make, from 0 to 1.
        changes: what it does otherwise than as installed, the largest change first.
        hands_shown: hands of the person that it has learned from.
        rating: the person's rating, if the level is ``matched``.
        sentences: what the person does, the surest first.
        position: one where the level now plays otherwise, of the hands on record; ``None`` if there is none, or if so little is known
            of the person that there are no sentences.
    """

    level: str
    opponent: str
    hands: int
    agreement: list[tuple[int, float]]
    changes: list[str]
    hands_shown: int
    rating: PersonRating | None
    sentences: list[Sentence]
    position: Position | None

    @property
    def coached(self) -> str:
        """What it has learned of the game, in words."""
        if not self.hands:
            return f"{self._name} has learned nothing of the game yet: it plays as installed."
        words = f"It has learned from {_hands(self.hands)} of everybody."
        periods = [share for hands, share in self.agreement if hands >= AGREEMENT_HANDS]
        if len(periods) > 1:
            words += (
                f" Its coach, the network at full strength, would have made {100 * periods[0]:.0f} % of the choices that it made in the "
                f"first {AGREEMENT_HANDS} of these hands, and {100 * periods[-1]:.0f} % of those in the last {AGREEMENT_HANDS}."
            )
        return f"{words} It {', '.join(self.changes)} than it used to." if self.changes else words

    @property
    def difference(self) -> str:
        """Where it plays otherwise because of the person, or why nowhere, in words; empty where little is known of the person."""
        if not self.sentences:
            return ""
        if self.position is None:
            return f"No hand of {self.opponent} is on record in which {self._name} would now play otherwise because of {self.opponent}."
        at = self.position
        return (
            f"In hand {at.hand} of game {at.game}, move {at.move}, it held {at.cards}. As installed, {self._name} would most often "
            f"{at.would} here; against {self.opponent} it now {at.does}."
        )

    @property
    def _name(self) -> str:
        return display_opponent(self.level)

    def to_json(self) -> dict[str, Any]:
        """All of it as values that ``json`` writes."""
        return asdict(self) | {"coached": self.coached, "difference": self.difference}


def what_is_learned(
    home: Path, level: Level, opponent: str | None = None, hands: HandsOnRecord = lambda name: ()
) -> list[Learning]:
    """What a level has learned of its opponents, and of the game.

    Args:
        home: directory under which levels keep what they learn.
        level: the level.
        opponent: the name of one opponent; all when left out.
        hands: finds a person's hands on record.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    learned = read_learned(home, level) or level.learned
    coached = (
        (learned.hands, learned.agreement, _changes(np.array(learned.mean) - level.settings.biases))
        if learned
        else (0, [], [])
    )
    player, found = LevelPlayer(level.with_settings(worlds=0)), []
    for name, memory in read_opponents(home, level, opponent).items():
        shown = int(memory.opponents.records["hands"][0])
        rating = person_rating(home, name) if level.dial is not None else None
        sentences = sentences_about(memory.opponents.records[0]) if shown else []
        position = _position(player, memory, hands(name)) if sentences and level.dial is None else None
        found.append(Learning(level.name, name, *coached, shown, rating, sentences, position))
    return found


def _changes(moved: np.ndarray) -> list[str]:
    """What biases that moved by ``float64[NUM_WEIGHTS]`` change, in words; of the many ways to say it, the largest changes."""
    changes = _ROWS @ moved
    order = np.argsort(-np.abs(changes))[:_MOST]
    return [_CASES[k][1 if changes[k] > 0 else 2] for k in order if abs(changes[k]) > _CHANGE]


def sentences_about(record: np.void) -> list[Sentence]:
    """What is known of an opponent, a ``POSTERIOR``, in sentences, the surest first."""
    prior, normal = shipped_prior(), NormalDist()
    covariance, found = np.linalg.inv(record["precision"].reshape(NUM_WEIGHTS, NUM_WEIGHTS)), []
    for (_, more, less), row in zip(_CASES, _ROWS, strict=True):
        own, people, stranger = (float(row @ weights) for weights in (record["mean"], prior.shown, prior.mean))
        spread, of_people = (float(np.sqrt(row @ matrix @ row)) for matrix in (covariance, prior.covariance))
        # The prior was fitted to open cards, and shown hands alone draw another picture, of typical people too: after as many hands they
        # would have come as far from a stranger as the hands have taken away from the spread.
        average = stranger + (1 - (spread / of_people) ** 2) * (people - stranger)
        share = normal.cdf((own - average) / np.hypot(spread, of_people))
        sure = normal.cdf(abs(own - average) / spread)
        if sure >= _SAID and not _TYPICAL[0] < share < _TYPICAL[1]:
            text = f"{more if own > average else less} than most people"
            found.append((sure, Sentence(text, sure >= _SURE)))
    found.sort(key=lambda each: -each[0])
    return [sentence for _, sentence in found[:_MOST]]


def _position(player: LevelPlayer, memory: Memory, hands: Sequence[tuple[int, int, int, Hand]]) -> Position | None:
    """The position in which what is known of the opponent moves the level's choice most, of those where it changes the choice."""
    views: list[np.ndarray] = []
    places: list[tuple[int, int, int]] = []
    for game, number, seat, hand in hands:
        again = hand.after(0)
        for move, action in enumerate(hand.history, 1):
            view = again.view()
            if again.turn != seat and view["phase"][0] <= PHASE_DISCARD:
                views.append(view)
                places.append((game, number, move))
            again.push(action)
    if not views:
        return None
    seen = np.concatenate(views)
    (installed, _), (stranger, before), (now, after) = (
        most_often(player, seen, biases)
        for biases in (player.skill["mean"], memory.skills["mean"], memory.biases(np.zeros(1, np.int64)))
    )
    at = np.arange(len(seen))
    moved = np.where((now != installed) & (now != stranger), after[at, now] - before[at, now], 0.0)
    best = int(moved.argmax())
    if moved[best] <= 0:
        return None
    view, phase = seen[best], int(seen[best]["phase"])
    cards = " ".join(map(card_name, cards_of(int(view["hand"]))))
    if view["upcard"] != NO_CARD and phase != PHASE_DISCARD:
        cards += f", and the upcard was {card_name(int(view['upcard']))}"
    as_installed, as_now = int(installed[best]), int(now[best])
    names = action_name(as_installed, phase), action_name(as_now, phase)
    return Position(*places[best], cards, *names, what_to_do(as_installed, view), what_it_does(as_now, view))


def most_often(player: LevelPlayer, views: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most probable actions ``int64[n]`` of a level with some biases, without the hand's taste, and all probabilities."""
    behaviours = np.repeat(player.behaviour, len(views))
    behaviours["temperature"] = behaviours["draw_temperature"] = 1
    behaviours["hand_taste"] = 0
    choices = describe(views, behaviours, np.repeat(biases, len(views), 0), player.seed)
    policy = choose(choices, player.logits(views, choices))[1]
    return policy.argmax(1), policy


def measure_strength(
    home: Path, level: Level, tell: Callable[[int, int], None] = lambda done, total: None
) -> list[Milestone]:
    """How strong a level was as it began and after more and more hands: its points per hand against ``formula``, less luck.

    All play the same deals with the same luck, so that they differ by what they knew of the game alone. What is measured is stored.

    Args:
        home: directory under which levels keep what they learn.
        level: the level; its network plays, without a search.
        tell: called with how many are measured, and how many there are.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    milestones = read_milestones(home, level)
    player, options = LevelPlayer(level.with_settings(worlds=0), learn=False), {"seed": _SEED, "domain": Domain.EVAL}
    for number, one in enumerate(milestones):
        tell(number, len(milestones))
        if one.points is None:
            player.skill["mean"] = one.biases
            points = play_series(
                player, make_formula(_SEED), series=_SERIES, hands=_SERIES_HANDS, less_luck=True, **options
            ).mean(1)
            found = ratio(points.astype(np.float64), np.ones(_SERIES))
            update = {"points": (round(found.mean, 3), round(found.low, 3), round(found.high, 3))}
            milestones[number] = one.model_copy(update=update)
            write_points(home, level, milestones)
    return milestones


def strength_in_words(milestones: Sequence[Milestone]) -> str:
    """What ``measure_strength`` found, in a sentence."""
    if not milestones:
        return "It has not learned anything yet."
    figures = [f"{Estimate(*one.points).text()} after {_hands(one.hands)}" for one in milestones if one.points]
    following = next((hands for hands in MILESTONES if hands > milestones[-1].hands), None)
    then = f" The next figure comes after {_hands(following)}." if following else ""
    return f"Against Formula, its points per hand, less luck: {', '.join(figures)}.{then}"


def _hands(count: int) -> str:
    return f"{count} hand{'s' * (count != 1)}"


def describe_learning(
    home: Path, level: Level, opponent: str | None = None, hands: HandsOnRecord = lambda name: ()
) -> str:
    """The same as ``what_is_learned``, which has the arguments, in words.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    everything = what_is_learned(home, level, opponent, hands)
    if not everything:
        return f"{display_opponent(level.name)} has learned nothing yet; it plays as installed."
    lines = [] if level.dial is not None else [everything[0].coached]
    for found in everything:
        name = found.opponent
        if found.rating:
            lines.append(found.rating.sentence(name))
        if not found.hands_shown:
            lines.append(f"{name}: no hand shown yet.")
            continue
        lines.append(f"{name}: {_hands(found.hands_shown)} shown{'' if found.sentences else '; little is known yet'}.")
        lines += [f"  {name} {sentence}." for sentence in found.sentences]
        if level.dial is None and found.difference:
            lines.append(f"  {found.difference}")
    return "\n".join(lines)
