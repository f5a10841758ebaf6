"""Practice: positions to play again, the player's own mistakes and a set for everybody, at intervals that the library ``fsrs`` chooses.

    practice = Practice(home, "Ann", shared_analyst)
    exercise = practice.next()                        # or None, when nothing is due and nothing new is left
    answer = practice.answer(exercise, action)        # right or not, what would have been better and why, and when it comes again

An answer is one transaction: the review and the new schedule are on disk together or not at all. The analyst judges an answer as it
judges a hand, so a move counts as right if it would not be marked.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fsrs import Card, Rating, Scheduler

from agents.analysis import Analyst, Decision
from agents.analysis.marks import UNCLEAR
from agents.files import read_json_object
from agents.play.moves import count
from agents.play.review import mistakes
from agents.play.store import Home, StoreError
from ginenv.engine.actions import actions_of, illegal_action
from ginenv.errors import IllegalActionError, check_choice
from ginenv.hands.text import format_view, parse_view

# Kinds of exercises, and which of ``agents.analysis.KINDS`` they hold.
KINDS = {
    "draw": ("draw",),
    "discard": ("discard",),
    "knock": ("knock too early", "knock too late"),
    "lay-off": ("lay-off", "spread"),
}
_GROUPS = {each: kind for kind, group in KINDS.items() for each in group}
MINE, EVERYBODY = "mine", "everybody"
# Made by ``python -m benchmarks.data.practice_positions``.
POSITIONS = Path(__file__).parents[1] / "data" / "practice.json"
# Without fuzzing, so that the same answers give the same schedule.
SCHEDULER = Scheduler(enable_fuzzing=False)


@dataclass(frozen=True)
class Exercise:
    """A position to play.

    Attributes:
        id: its id in the store.
        position: what the seat to move sees, as a ``ginview1`` text.
        kind: one of ``KINDS``.
        mine: whether it comes from a mistake of the player's.
        reviews: how often the player has answered it.
    """

    id: int
    position: str
    kind: str
    mine: bool
    reviews: int

    @property
    def view(self) -> np.ndarray:
        """The position as ``VIEW[1]``."""
        return parse_view(self.position)


@dataclass(frozen=True)
class Answer:
    """What came of an answer.

    Attributes:
        right: whether the move would not be marked as a mistake.
        decision: the move as the analyst judges it.
        cost: what it cost, with its standard error, in words; empty where that is nothing.
        due: when the exercise comes again, in UTC.
    """

    right: bool
    decision: Decision
    cost: str
    due: datetime.datetime


@dataclass(frozen=True)
class Progress:
    """How far a player is.

    Attributes:
        due: exercises that have been answered before and are due.
        new: exercises that have not been answered yet.
        reviews: answers so far.
        correct: those that were right.
    """

    due: int
    new: int
    reviews: int
    correct: int


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _text(moment: datetime.datetime) -> str:
    """A moment in UTC; texts sort as moments do."""
    return moment.astimezone(datetime.UTC).isoformat(timespec="microseconds")


def wait_words(due: datetime.datetime) -> str:
    """How long it is until a position comes again."""
    seconds = max(0.0, (due - _now()).total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return count(round(seconds / length), unit)
    return "a moment"


class Practice:
    """A player's exercises.

    Args:
        home: the store.
        player: the player's name.
        analyst: returns the analyst; called for the first answer.
        now: the time in UTC.

    Raises:
        GinError: if there is no such player.
    """

    def __init__(
        self,
        home: Home,
        player: str,
        analyst: Callable[[], Analyst],
        now: Callable[[], datetime.datetime] = _now,
    ) -> None:
        self.home, self.player, self._analyst, self._now = home, home.canonical_name(player), analyst, now
        self._id = home.database.rows("SELECT id FROM player WHERE name = ?", self.player)[0]["id"]

    def add_new(self) -> None:
        """Adds the positions for everybody, and those mistakes of the player's that are not among the exercises yet."""
        database = self.home.database
        found = database.rows("SELECT source FROM exercise WHERE player = ?", self._id)
        sources = {row["source"] for row in found}
        schedule, due = Card(card_id=1, due=self._now()).to_json(), _text(self._now())
        rows, hands = [], {}
        for each in mistakes(self.home, self.player):
            source = f"{each.game}.{each.hand}.{each.move}"
            if source not in sources:
                if each.game not in hands:
                    hands[each.game] = self.home.record(each.game).hands
                view = hands[each.game][each.hand - 1].after(each.move - 1).view()
                rows.append((self._id, source, 1, format_view(view[0]), _GROUPS[each.kind], schedule, due))
        everybody = read_json_object(POSITIONS, "the positions to practise")["positions"]
        for number, each in enumerate(everybody):
            if (source := f"set.{number}") not in sources:
                rows.append((self._id, source, 0, each["position"], each["kind"], schedule, due))
        columns = "player, source, mine, position, kind, schedule, due"
        with database.transaction():
            database.run_all(f"INSERT OR IGNORE INTO exercise ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def next(self, kind: str = "", whose: str = "") -> Exercise | None:
        """The exercise to answer now: what is due, then the player's own new mistakes by cost, then new positions of the set.

        Args:
            kind: one of ``KINDS``; any when left out.
            whose: ``mine`` or ``everybody``; both when left out.

        Raises:
            GinError: for another kind or another word.
        """
        if kind:
            check_choice("kind", kind, tuple(KINDS))
        if whose:
            check_choice("whose", whose, (MINE, EVERYBODY))
        found = self._exercises(
            "due <= ?2 AND ?3 IN ('', kind) AND ?4 IN ('', CASE mine WHEN 1 THEN 'mine' ELSE 'everybody' END) "
            "ORDER BY reviews = 0, CASE WHEN reviews THEN due END, mine DESC, id LIMIT 1",
            *(_text(self._now()), kind, whose),
        )
        return found[0] if found else None

    def exercise(self, number: int) -> Exercise:
        """One of the player's exercises by its id."""
        if not (found := self._exercises("id = ?2", number)):
            raise StoreError(f"{self.player} has no exercise {number}")
        return found[0]

    def _exercises(self, where: str, *values: Any) -> list[Exercise]:
        """The player's exercises of which a condition is true; its values are ?2 and so on."""
        reviews = "(SELECT count(*) FROM review WHERE review.exercise = exercise.id) AS reviews"
        columns = f"id, position, kind, mine, {reviews}"
        rows = self.home.database.rows(
            f"SELECT {columns} FROM exercise WHERE player = ?1 AND {where}", self._id, *values
        )
        return [Exercise(*row[:3], mine=bool(row["mine"]), reviews=row["reviews"]) for row in rows]

    def answer(self, exercise: Exercise, action: int) -> Answer:
        """Judges a move, and keeps the answer with the schedule that follows from it.

        Raises:
            GinError: if the move is not legal, the exercise has been answered meanwhile, or the answer cannot be kept.
        """
        view = exercise.view
        if action not in actions_of(view["legal"][0]):
            raise IllegalActionError(illegal_action(action, view["legal"][0], int(view["phase"][0])))
        decision = self._analyst().decision(view, action)
        right = decision.mark in ("", UNCLEAR)
        database, now = self.home.database, self._now()
        with database.transaction():
            if self.exercise(exercise.id).reviews != exercise.reviews:
                raise StoreError("this position has been answered meanwhile")
            card, _ = SCHEDULER.review_card(self.schedule(exercise.id), Rating.Good if right else Rating.Again, now)
            update = "UPDATE exercise SET schedule = ?, due = ? WHERE id = ?"
            database.run(update, card.to_json(), _text(card.due), exercise.id)
            columns = "exercise, reviewed, played, correct, loss, error"
            values = (exercise.id, _text(now), decision.played, int(right), decision.loss, decision.error)
            database.run(f"INSERT INTO review ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *values)
        scale, unit = (100, "% of the game") if view["rules"]["target"][0] else (1, "points")
        loss, error = scale * (decision.loss or 0.0), scale * decision.error
        cost = f"{loss:.1f} ± {error:.1f} {unit}" if loss >= 0.05 else ""
        return Answer(right, decision, cost, card.due)

    def schedule(self, number: int) -> Card:
        """The library's card of an exercise."""
        return Card.from_json(
            self.home.database.rows("SELECT schedule FROM exercise WHERE id = ?", number)[0]["schedule"]
        )

    def progress(self) -> Progress:
        """How far the player is."""
        (row,) = self.home.database.rows(
            "SELECT count(*) AS reviews, coalesce(sum(correct), 0) AS correct FROM review JOIN exercise ON exercise.id = review.exercise "
            "WHERE player = ?",
            self._id,
        )
        answered = "EXISTS (SELECT 1 FROM review WHERE review.exercise = exercise.id)"
        (count,) = self.home.database.rows(
            f"SELECT coalesce(sum({answered} AND due <= ?2), 0) AS due, coalesce(sum(NOT {answered}), 0) AS new "
            "FROM exercise WHERE player = ?1",
            *(self._id, _text(self._now())),
        )
        return Progress(count["due"], count["new"], row["reviews"], row["correct"])
