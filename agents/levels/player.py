"""A level as a player: bounded, a little different every time, and learning from every hand that it is shown."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from agents.bots.heuristics import StylePlayer, style
from agents.levels.choice import LEANING, choose, prepare
from agents.levels.habits import COUNTS, NUM_HABITS
from agents.levels.kinds import codes
from agents.levels.level import Level, LevelError, load_level
from agents.levels.memory import counts_of, foretells, learn_all
from agents.levels.plans import NUM_PLANS, TURNS, draw_plan
from agents.levels.prior import Whole
from agents.levels.profile import Profile
from agents.network.heuristic_features import Adviser, actor_inputs
from agents.network.nets import FrozenActor, has_bfloat16_units
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.errors import GinError
from ginenv.jit import kernel, mix
from ginenv.players import BasePlayer, Player
from ginenv.view import VIEW

# Hands of an opponent before its habits change how a level plays.
MIN_KNOWN = 3
_TURNS = np.array(TURNS, np.int64)


@kernel
def _chance(word):
    return np.float64(word >> np.uint64(11)) / 9007199254740992.0


@kernel
def _plan_hands(seed, slots, records, rows, shifts, boldness, plans):
    """Draws for each game the plan of the hand in play: it follows from what was known when the hand began."""
    for i in range(slots.shape[0]):
        record = records[rows[i]]
        word = mix(np.uint64(seed) ^ mix(np.uint64(slots[i]) ^ mix(np.uint64(record.hands))))
        plans[i] = draw_plan(record, shifts[i], boldness, word)


@kernel
def _trusted(records, rows, least, trust):
    for i in range(rows.shape[0]):
        record = records[rows[i]]
        trust[i] = 1.0 if record.hands >= least and foretells(record) else 0.0


class LevelPlayer(BasePlayer):
    """Plays a level.

    What it has learned lives in this object, apart for each slot, until ``forget`` or ``reset``; or in a profile on disk, where it
    belongs to an opponent with a name.

    Args:
        level: as installed.
        seed: of its choices.
        learn: whether it learns and plays what it learned; ``False`` is the frozen default.
        profile: where it keeps what it learns of a named opponent and as a whole.
        blank: plays as if it knew nothing of its opponents although it learns (a control for measurements).
    """

    def __init__(
        self,
        level: Level,
        seed: int = 0,
        learn: bool = True,
        profile: Profile | None = None,
        blank: bool = False,
    ) -> None:
        super().__init__(seed)
        self.level, self.learns, self.profile, self.blanked = level, learn, profile, blank
        self.name = level.name
        self.manner = level.settings.manner
        # Who has answers is bound to no number of turns.
        self.turns = np.full(NUM_PLANS, max(TURNS)) if level.settings.answers else _TURNS
        self.actor = FrozenActor(level.actor, has_bfloat16_units())
        self.adviser = Adviser([(level.settings.memory, level.settings.notices)])
        self.search = _search(level) if level.settings.worlds else None
        self.bot = _bot(level) if level.settings.bot else None
        for helper in (self.bot, self.search):
            if helper is not None:
                helper.reset(seed)
        population = level.population
        self.within = np.maximum(population.prior * np.square(population.spread), 1e-4).astype(np.float32)
        self._rows: dict[int, int] = {}
        self.whole = profile.whole if profile is not None else level.nothing_learned()
        self.records = np.repeat(self.whole.start(), 16)
        self._features = np.zeros((16, NUM_HABITS), np.float32)
        self._fresh = np.zeros(1, COUNTS)
        # For measurements: whose history each slot reads (its own where left out), and whether records stand still.
        self.reads: np.ndarray | None = None
        self.holds = False
        if profile is not None:
            self.records[0] = profile.record[0]
            self.refresh(np.zeros(1, np.int64))

    # --- what is known of whom --------------------------------------------------------------------------------------------------

    def rows_of(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """Which record belongs to each slot; a profile's opponent sits at every table."""
        if slots is None or self.profile is not None:
            return np.zeros(n, np.int64)
        # Row 0 is for callers who do not say which game they ask about: nothing is learned there.
        rows = np.empty(n, np.int64)
        for i, slot in enumerate(np.asarray(slots).tolist()):
            row = self._rows.get(slot)
            if row is None:
                row = self._rows[slot] = len(self._rows) + 1
                self._grow(row)
            rows[i] = row
        return rows

    def _grow(self, row: int) -> None:
        if row >= len(self.records):
            more = len(self.records)
            self.records = np.concatenate([self.records, np.repeat(self.whole.start(), more)])
            self._features = np.concatenate([self._features, np.zeros((more, NUM_HABITS), np.float32)])

    def refresh(self, rows: np.ndarray) -> None:
        """Turns counts into what the network reads."""
        self._features[rows] = self.level.population.features(counts_of(self.records[rows]))

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed and forgets what no profile keeps."""
        super().reset(seed)
        for helper in (self.bot, self.search):
            if helper is not None:
                helper.reset(seed)
        if self.profile is None:
            self._rows.clear()
            self._empty(np.arange(len(self.records)))

    def forget(self, slots: np.ndarray) -> None:
        """Forgets the opponents at some tables, unless a profile keeps them."""
        if self.profile is None:
            rows = [row for slot in np.asarray(slots).tolist() if (row := self._rows.get(slot)) is not None]
            self._empty(np.array(rows, np.int64))

    def _empty(self, rows: np.ndarray) -> None:
        self.records[rows] = self.whole.start()[0]
        self._features[rows] = 0

    # --- play -------------------------------------------------------------------------------------------------------------------

    def _hand_plans(self, slots: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The plan of each hand in play, what the opponent's habits foretell of all plans, and the habits to be read."""
        settings = self.level.settings
        if not self.learns or self.blanked:
            n = len(rows)
            plans = np.full(n, self.whole.default)
            return plans, np.zeros((n, NUM_PLANS)), self._read(plans, np.zeros((n, NUM_HABITS), np.float32))
        read = rows if self.reads is None else self.rows_of(self.reads[slots], len(slots))
        trust = np.zeros(len(rows))
        _trusted(self.records, read, MIN_KNOWN, trust)
        known = (self._features[read] * trust[:, None]).astype(np.float32)
        shifts = settings.insight * (known @ self.level.foresight)
        plans = np.zeros(len(rows), np.int64)
        _plan_hands(self.seed & 0xFFFFFFFF, slots, self.records, read, shifts, settings.boldness, plans)
        return plans, shifts, self._read(plans, known)

    def _read(self, plans: np.ndarray, known: np.ndarray) -> np.ndarray:
        """What the network reads of opponents whose habits are known: ``float32[n, H]``."""
        settings = self.level.settings
        return codes(plans) if settings.answers else known * np.float32(settings.heeds)

    def _leanings(self, slots: np.ndarray) -> np.ndarray:
        """The leanings of each game's session: ``LEANING[n]``."""
        leanings = np.zeros(len(slots), LEANING)
        most = self.level.settings.leaning
        if most:
            for k, name in enumerate(LEANING.names or ()):
                leanings[name] = most * _chances(slots, self.seed & 0xFFFFFFFF, k)
        return leanings

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.players.Player``)."""
        views = np.atleast_1d(views)
        assert views.dtype == VIEW
        n = len(views)
        rows = self.rows_of(slots, n)
        tables = np.zeros(n, np.int64) if slots is None else np.asarray(slots, np.int64)
        plans, _, known = self._hand_plans(tables, rows)
        if self.bot is not None:
            return self.bot.act(views, plans)
        if self.search is None:
            return self._chosen(views, tables, plans, known)
        # A search leaves nothing to the network but its answers.
        answered = plans > 0 if self.level.settings.answers else np.zeros(n, bool)
        actions = np.empty(n, np.int64)
        for part, choose_for in ((~answered, self._searched), (answered, self._chosen)):
            if part.any():
                actions[part] = choose_for(views[part], tables[part], plans[part], known[part])
        return actions

    def _searched(self, views: np.ndarray, tables: np.ndarray, plans: np.ndarray, known: np.ndarray) -> np.ndarray:
        assert self.search is not None
        return self.search.act(views, tables)

    def _chosen(self, views: np.ndarray, tables: np.ndarray, plans: np.ndarray, known: np.ndarray) -> np.ndarray:
        """What the network's policy chooses within the level's bounds."""
        n = len(views)
        observations = np.empty((n, OBSERVATION_SIZE), np.uint8)
        conditions = np.empty(n, np.uint8)
        legal, words = np.empty((n, 3), np.int64), np.empty(n, np.uint64)
        seed = self.seed & 0xFFFFFFFF
        prepare(views, self.manner[0], self.turns[plans], seed, observations, conditions, legal, words)
        logits = self.actor(actor_inputs(self.actor, views, observations, conditions, known, self.adviser)).numpy()
        actions = np.empty(n, np.int64)
        choose(views, self.manner[0], self._leanings(tables), logits, legal, words, actions)
        return actions

    # --- learning ---------------------------------------------------------------------------------------------------------------

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands; with a profile, what it learned is on disk when this returns."""
        if not self.learns or self.holds or slots is None:
            return
        views = np.atleast_1d(views)
        rows = self.rows_of(slots, len(views))
        plans, shifts, _ = self._hand_plans(np.asarray(slots, np.int64), rows)
        if self.profile is None:
            self._learn(self.records, rows, views, plans, shifts)
            self.refresh(np.unique(rows))
            return

        def add(record: np.ndarray, whole: Whole) -> None:
            self._learn(record, np.zeros(len(views), np.int64), views, plans, shifts)
            for plan, points in zip(plans.tolist(), views["points"].tolist(), strict=True):
                whole.add(plan, points)

        try:
            self.profile.update(add)
        except LevelError as error:
            # A full disk must not end a game: what was learned until now stays, on disk and here.
            warnings.warn(str(error), stacklevel=2)
            return
        self.records[0], self.whole = self.profile.record[0], self.profile.whole
        self.refresh(np.zeros(1, np.int64))

    def _learn(
        self, records: np.ndarray, rows: np.ndarray, views: np.ndarray, plans: np.ndarray, shifts: np.ndarray
    ) -> None:
        population = self.level.population
        learn_all(views, records, rows, self._fresh, population.mean, population.prior, self.within, plans, shifts)


@kernel
def _lean(slots, seed, which, out):
    for i in range(slots.shape[0]):
        out[i] = _chance(mix(np.uint64(seed) ^ mix(np.uint64(slots[i]) * np.uint64(8) + np.uint64(which + 1))))


def _chances(slots: np.ndarray, seed: int, which: int) -> np.ndarray:
    out = np.zeros(len(slots))
    _lean(slots, seed, which, out)
    return out


def _bot(level: Level) -> StylePlayer:
    """The best compiled bot, one style for each plan."""
    settings = level.settings
    styles = np.repeat(
        style("knocker", memory=settings.memory, infer=int(settings.notices > 0), noise=settings.noise), NUM_PLANS
    )
    styles["turns"] = TURNS
    return StylePlayer(styles)


def _search(level: Level) -> Player:
    from agents.search.player import make_search

    # The strongest search there is, on the shipped network; as it comes but for its choice among what is nearly as good.
    # Few worlds need no more hands to be drawn from than these (LOG.md).
    worlds = level.settings.worlds
    return make_search(worlds=worlds, particles=min(1024, 16 * worlds), slack=level.settings.slack)


def make_level(
    seed: int = 0,
    level: str | int = 1,
    learn: bool = True,
    blank: bool = False,
    profile: str = "",
    opponent: str = "",
    worlds: int = -1,
) -> LevelPlayer:
    """The player of a level.

    Args:
        seed: of its choices.
        level: name, number or directory.
        learn: ``False`` for the frozen default.
        blank: learns but plays as if it knew nothing (a control).
        profile: directory in which it keeps what it learns.
        opponent: name of whoever sits across, for the profile.
        worlds: worlds of its search, instead of the level's own number.

    Raises:
        GinError: if the level or its profile cannot be used.
    """
    found = load_level(level)
    if worlds >= 0:
        found = found.with_settings(worlds=int(worlds))
    if opponent and not profile:
        raise GinError("an opponent's name needs a profile, the directory in which a level keeps what it learns of it")
    kept = Profile.open(Path(str(profile)), found, str(opponent) or "anybody") if profile else None
    return LevelPlayer(found, seed, bool(learn), kept, bool(blank))
