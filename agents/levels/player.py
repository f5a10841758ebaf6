"""A level as a player: it learns from every hand that it observes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from agents.levels.choice import LEANING, choose, draw_leanings, prepare
from agents.levels.level import Level, LevelError, load_level
from agents.levels.plans import TURNS, draw_plans, learn_hands
from agents.levels.prior import Prior
from agents.levels.profile import Profile
from agents.network.inputs import HeuristicFeatures, actor_inputs
from agents.network.nets import FrozenActor, has_bfloat16_units
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.errors import GinError
from ginenv.players import BasePlayer, Player
from ginenv.view import VIEW

_TURNS = np.array(TURNS, np.int64)


class LevelPlayer(BasePlayer):
    """Plays a level.

    It keeps a record of the opponent in each slot until ``forget`` or ``reset``; or in a profile on disk, where the record belongs to an
    opponent with a name.

    Args:
        level: as installed.
        seed: of its choices.
        learn: whether it learns; ``False`` is the frozen default.
        profile: where it keeps what it learns of a named opponent and of everybody.

    Attributes:
        reads: for measurements, the slot whose record each slot reads, ``int64[slots]``; ``None``: its own.
    """

    def __init__(self, level: Level, seed: int = 0, learn: bool = True, profile: Profile | None = None) -> None:
        super().__init__(seed)
        self.level, self.profile, self.name = level, profile, level.name
        self.learns = learn and level.learns
        self.behaviour = level.settings.behaviour[0]
        self.actor = FrozenActor(level.actor, has_bfloat16_units())
        self.features = HeuristicFeatures([(level.settings.memory, level.settings.notices)])
        self.search = _search(level) if level.settings.worlds else None
        if self.search is not None:
            self.search.reset(seed)
        self.prior = profile.prior if profile is not None else level.nothing_learned()
        self._rows: dict[int, int] = {}
        self.records = np.repeat(self.prior.stranger(), 16)
        self.reads: np.ndarray | None = None
        if profile is not None:
            self.records[0] = profile.record[0]

    def rows_of(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """The row of each slot's record; with a profile all slots share one."""
        if slots is None or self.profile is not None:
            return np.zeros(n, np.int64)
        # Row 0 is for callers without slots: nothing is learned there.
        rows = np.empty(n, np.int64)
        for i, slot in enumerate(np.asarray(slots).tolist()):
            row = self._rows.get(slot)
            if row is None:
                row = self._rows[slot] = len(self._rows) + 1
                if row >= len(self.records):
                    self.records = np.concatenate([self.records, np.repeat(self.prior.stranger(), len(self.records))])
            rows[i] = row
        return rows

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed and forgets what no profile keeps."""
        super().reset(seed)
        if self.search is not None:
            self.search.reset(seed)
        if self.profile is None:
            self._rows.clear()
            self.records[:] = self.prior.stranger()[0]

    def forget(self, slots: np.ndarray) -> None:
        """Forgets the opponents in some slots, unless a profile keeps them."""
        if self.profile is None:
            rows = [row for slot in np.asarray(slots).tolist() if (row := self._rows.get(slot)) is not None]
            self.records[rows] = self.prior.stranger()[0]

    def plans_of(self, views: np.ndarray, slots: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The plan of each hand in play: ``int64[n]``."""
        plans = np.full(len(rows), self.prior.default, np.int64)
        if self.learns:
            read = rows if self.reads is None else self.rows_of(self.reads[slots], len(slots))
            draw_plans(self.seed & 0xFFFFFFFF, views, self.records, read, self.level.settings.boldness, plans)
        return plans

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.players.Player``).

        Raises:
            GinError: if ``views`` has another dtype than ``VIEW``.
        """
        views = np.atleast_1d(views)
        if views.dtype != VIEW:
            raise GinError(f"views must have dtype VIEW, not {views.dtype}")
        n = len(views)
        known = np.zeros(n, np.int64) if slots is None else np.asarray(slots, np.int64)
        if self.search is not None:
            return self.search.act(views, known)
        plans = self.plans_of(views, known, self.rows_of(slots, n))
        observations = np.empty((n, OBSERVATION_SIZE), np.uint8)
        conditions = np.empty(n, np.uint8)
        legal, words = np.empty((n, 3), np.int64), np.empty(n, np.uint64)
        seed = self.seed & 0xFFFFFFFF
        prepare(views, self.behaviour, _TURNS[plans], seed, observations, conditions, legal, words)
        logits = self.actor(
            actor_inputs(self.actor, views, observations, conditions, heuristic_features=self.features)
        ).numpy()
        leanings = np.zeros(n, LEANING)
        draw_leanings(views, self.behaviour, seed, leanings)
        actions = np.empty(n, np.int64)
        choose(views, self.behaviour, leanings, logits, legal, words, actions)
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands; a profile has been written when this returns."""
        if not self.learns or slots is None:
            return
        views = np.atleast_1d(views)
        rows = self.rows_of(slots, len(views))
        plans = self.plans_of(views, np.asarray(slots, np.int64), rows)
        if self.profile is None:
            learn_hands(views, self.records, rows, plans)
            return

        def add(record: np.ndarray, prior: Prior) -> None:
            learn_hands(views, record, rows, plans)
            for plan, points in zip(plans.tolist(), views["points"].tolist(), strict=True):
                prior.add(plan, points)

        try:
            self.profile.update(add)
        except LevelError as error:
            # A full disk must not end a game: what was learned before stays, on disk and here.
            warnings.warn(str(error), stacklevel=2)
            return
        self.records[0], self.prior = self.profile.record[0], self.profile.prior


def _search(level: Level) -> Player:
    # A level that does not search need not wait for the search to load.
    from agents.search.player import make_search

    # With few worlds more particles than these bring nothing (LOG.md).
    worlds = level.settings.worlds
    return make_search(worlds=worlds, particles=min(1024, 16 * worlds), temperature=level.settings.slack)


def make_level(
    seed: int = 0,
    level: str | int = 1,
    learn: bool = True,
    profile: str = "",
    opponent: str = "",
    worlds: int = -1,
) -> LevelPlayer:
    """The player of a level.

    Args:
        seed: of its choices.
        level: name, number or directory.
        learn: ``False`` for the frozen default.
        profile: directory in which it keeps what it learns.
        opponent: the opponent's name in the profile.
        worlds: worlds of its search, instead of the level's own number.

    Raises:
        GinError: if the level or its profile cannot be used.
    """
    found = load_level(level)
    if worlds >= 0:
        found = found.with_settings(worlds=worlds)
    if opponent and not profile:
        raise GinError("opponent needs profile, the directory in which a level keeps what it learns")
    kept = Profile(Path(profile), found, opponent or "anybody") if profile else None
    return LevelPlayer(found, seed, learn, kept)
