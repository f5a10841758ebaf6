"""A level as a player: it learns about its opponents from every hand that it observes, and adapts to each."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.config import parse_config
from agents.files import check_directory
from agents.levels.action_choice import TASTE, choose, draw_tastes, prepare
from agents.levels.level import Level, LevelError, load_level
from agents.levels.opponent_memory import OpponentMemory
from agents.levels.profile import Profile
from agents.levels.responses import SPACE, add_logit_bias
from agents.network.inputs import HeuristicFeatures
from agents.network.numpy_actor import NumpyActor
from agents.player_names import check_name
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, check_integer, must_be
from ginenv.tables.players import BasePlayer
from ginenv.view.encoding import OBSERVATION_SIZE
from ginenv.view.view import VIEW

if TYPE_CHECKING:
    from agents.network.nets import Actor, FrozenActor
    from agents.search.config import SearchConfig
    from agents.search.player import SearchPlayer

# Observations, whether a knock was declined, legal actions, random words.
_Seen = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class LevelPlayer(BasePlayer):
    """Plays a level.

    Without a profile it knows one opponent per slot, until ``forget`` or ``reset``. With a profile it knows one named opponent, whose
    record is kept on disk. What it knows of an opponent shifts its choices (``agents.levels.responses``).

    Args:
        level: as installed.
        seed: of its choices.
        learn: whether it learns; ``False`` is the frozen default.
        profile: where it keeps what it learns.
        experience: hands that it is taken to have learned from before, with others: how far it has grown. They count for a level that
            does not learn, too.

    Attributes:
        opponents: the opponents that it knows, one row each; row 0 is the profile's opponent; without a profile it is for callers
            without slots, about which nothing is learned.
    """

    def __init__(
        self, level: Level, seed: int = 0, learn: bool = True, profile: Profile | None = None, experience: int = 0
    ) -> None:
        super().__init__(seed)
        self.level, self.profile, self.experience, self.name = level, profile, experience, level.name
        self.learns = learn and level.learns
        self.behaviour = level.settings.behaviour
        self.actor = level.actor if isinstance(level.actor, NumpyActor) else _in_torch(level.actor)
        self.features = HeuristicFeatures([(level.settings.remembered_discards, level.settings.noticed_actions)])
        self.search = _search(level, self.policy) if level.settings.worlds else None
        if self.search is not None:
            self.search.reset(seed)
        self.opponents = OpponentMemory() if profile is None else profile.memory()
        self._rows: dict[int, int] = {}
        self._space = np.zeros(1, SPACE)

    def with_profile(self, profile: Profile) -> LevelPlayer:
        """The same level with the memory of a profile; the network is shared."""
        player = copy.copy(self)
        player.profile, player.learns, player.opponents, player._rows = profile, self.level.learns, profile.memory(), {}
        if self.search is not None:
            player.search = _search(self.level, player.policy)
            player.search.reset(self.seed)
        return player

    @property
    def search_settings(self) -> dict[str, Any] | None:
        """What the choices of its search depend on (``SearchConfig.decisive``); ``None`` if it does not search."""
        return None if self.search is None else self.search.search_settings

    @property
    def shares_choices(self) -> bool:
        """Whether ``choose`` serves several opponents in one call, since what is known of each comes in as numbers."""
        return self.search is None

    def rows_of(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """The row of each slot's opponent; with a profile all slots share one."""
        if slots is None or self.profile is not None:
            return np.zeros(n, np.int64)
        rows = np.empty(n, np.int64)
        for i, slot in enumerate(np.asarray(slots).tolist()):
            row = self._rows.get(slot)
            if row is None:
                row = self._rows[slot] = len(self._rows) + 1
                if row >= len(self.opponents):
                    self.opponents.widen(2 * row)
            rows[i] = row
        return rows

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed and forgets what no profile keeps."""
        super().reset(seed)
        if self.search is not None:
            self.search.reset(seed)
        if self.profile is None:
            self._rows.clear()
            self.opponents.forget(np.arange(len(self.opponents)))

    def forget(self, slots: np.ndarray) -> None:
        """Forgets the opponents in some slots, unless a profile keeps them."""
        if self.profile is None:
            rows = [row for slot in np.asarray(slots).tolist() if (row := self._rows.get(slot)) is not None]
            self.opponents.forget(np.array(rows, np.int64))

    def logit_bias(self, slots: np.ndarray | None, n: int) -> np.ndarray | None:
        """The biases of its choices against each opponent, ``float64[n, NUM_WEIGHTS]``; ``None`` if it knows nothing."""
        if not (self.learns or self.experience):
            return None
        rows = self.rows_of(slots, n)
        distances = self.opponents.posteriors.distances(rows)
        return self.level.logit_bias(distances, self.experience + self.opponents.hands_learned(rows))

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``).

        Raises:
            GinError: if ``views`` is no ``VIEW[n]``.
        """
        return self.act_with_policy(views, slots)[0]

    def act_with_policy(self, views: np.ndarray, slots: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What ``act`` chooses, and with which probabilities (``ginenv.tables.players.KnownPolicy``); those of a search are not known."""
        views = as_batch(views, VIEW, "VIEW")
        policy = np.zeros((len(views), NUM_ACTIONS), np.float32)
        if self.search is not None:
            return self.search.act(views, slots), policy
        return self.choose(views, self.logit_bias(slots, len(views)), policy), policy

    def choose(
        self,
        views: np.ndarray,
        logit_bias: np.ndarray | None,
        policy: np.ndarray | None = None,
        behaviours: np.ndarray | None = None,
    ) -> np.ndarray:
        """Chooses by its network for every view, without regard to the opponents: ``VIEW[n]`` to ``int64[n]``.

        Args:
            views: ``VIEW[n]``.
            logit_bias: of its choices, ``float64[n, NUM_WEIGHTS]``; ``None`` for none.
            policy: ``float32[n, 107]``, given as zeros: the probabilities of all actions are written.
            behaviours: how it behaves in each, ``BEHAVIOUR[n]``; as its settings say when left out.
        """
        return self._decide(views, logit_bias, policy, behaviours)[0]

    def _decide(
        self,
        views: np.ndarray,
        logit_bias: np.ndarray | None,
        policy: np.ndarray | None = None,
        behaviours: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The choices, the logits from which they were drawn ``float32[n, 107]``, and the legal actions ``int64[n, 3]``; as ``choose``."""
        behaviours = np.repeat(self.behaviour, len(views)) if behaviours is None else behaviours
        seen = self._see(views, behaviours)
        logits = self._logits(views, seen, logit_bias)
        tastes = np.zeros(len(views), TASTE)
        draw_tastes(views, behaviours, self.seed & 0xFFFFFFFF, tastes)
        actions = np.empty(len(views), np.int64)
        policy = np.zeros(logits.shape, np.float32) if policy is None else policy
        choose(views, behaviours, tastes, logits, seen[2], seen[3], actions, policy)
        return actions, logits, seen[2]

    def _see(self, views: np.ndarray, behaviours: np.ndarray) -> _Seen:
        """Bounded observations ``uint8[n, 520]``, declined knocks ``uint8[n]``, legal actions ``int64[n, 3]``, and random words."""
        n = len(views)
        rows, declined = np.empty((n, OBSERVATION_SIZE), np.uint8), np.empty(n, np.uint8)
        legal, words = np.empty((n, 3), np.int64), np.empty(n, np.uint64)
        prepare(views, behaviours, self.seed & 0xFFFFFFFF, rows, declined, legal, words)
        return rows, declined, legal, words

    def policy(self, views: np.ndarray, slots: np.ndarray | None) -> np.ndarray:
        """The logits that this level's search uses as its policy, ``float32[n, 107]``."""
        n = len(views)
        return self._logits(views, self._see(views, np.repeat(self.behaviour, n)), self.logit_bias(slots, n))

    def _logits(self, views: np.ndarray, seen: _Seen, logit_bias: np.ndarray | None) -> np.ndarray:
        observations, declined, legal, _ = seen
        logits = self.actor.logits(views, observations, declined, self.features)
        if logit_bias is not None:
            add_logit_bias(views, self.behaviour[0], legal, logit_bias, self._space, logits)
        return logits

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands; a profile is written before this returns."""
        if not self.learns or slots is None:
            return
        views = as_batch(views, VIEW, "VIEW")
        if self.profile is None:
            self.opponents.learn(views, self.rows_of(slots, len(views)))
        else:
            self.learn_into_profile(views)

    def learn_into_profile(self, views: np.ndarray, results: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        """Learns from finished hands of the profile's opponent; ``results`` as for ``Profile.learn``."""
        assert self.profile is not None
        try:
            self.opponents = self.profile.learn(views, results)
        except LevelError as error:
            # A full disk must not end a game: what was learned before is kept, on disk and in memory.
            warnings.warn(str(error), stacklevel=2)


def _in_torch(actor: Actor) -> FrozenActor:
    # Who plays in NumPy need not load torch.
    from agents.network.nets import FrozenActor, has_bfloat16_units

    return FrozenActor(actor, has_bfloat16_units())


def search_config(level: Level) -> SearchConfig:
    """The search settings of a level that has worlds; those that the level does not set have the search's own defaults."""
    # A level that does not search need not wait for the search to load.
    from agents.search.config import SearchConfig

    # With few worlds, more particles than this bring nothing (docs/log/levels.md).
    worlds = level.settings.worlds
    settings = {"worlds": worlds, "particles": min(1024, 16 * worlds), "slack": level.settings.slack}
    return parse_config(settings, SearchConfig, level.name)


def _search(level: Level, policy: Callable[[np.ndarray, np.ndarray | None], np.ndarray]) -> SearchPlayer:
    from agents.search.player import SearchPlayer

    return SearchPlayer(search_config(level), 0, policy)


def make_level(
    seed: int = 0,
    level: str | int = 1,
    learn: bool = True,
    profile: str | None = None,
    opponent: str | None = None,
    experience: int = 0,
    worlds: int | None = None,
    numpy: bool = False,
) -> LevelPlayer:
    """The player of a level.

    Args:
        seed: of its choices.
        level: name, number or directory.
        learn: ``False`` for the frozen default.
        profile: directory in which it keeps what it learns.
        opponent: the opponent's name in the profile: 1 to 20 printable characters.
        experience: hands that it is taken to have learned from before, 0 or more: how far it has grown on everybody.
        worlds: worlds of its search, instead of the level's own number.
        numpy: whether its network computes in NumPy, without torch: quicker to load, and half the memory.

    Raises:
        GinError: if the level, its profile or the opponent's name cannot be used.
    """
    found = load_level(level, numpy=numpy)
    if worlds is not None:
        found = found.with_settings(worlds=worlds)
    stored_profile = open_profile(found, profile, opponent, learn)
    return LevelPlayer(found, seed, learn, stored_profile, check_integer("experience", experience, 0))


def open_profile(
    level: Level, profile: str | None, opponent: str | None, learn: bool, option: str = "learn"
) -> Profile | None:
    """The profile that a player's options name.

    Args:
        level: whose profile it is.
        profile: directory; ``None`` for none.
        opponent: the opponent's name in it.
        learn: whether the level learns.
        option: the name of the option that says so.

    Raises:
        GinError: if it cannot be used, or the options contradict each other.
    """
    if profile == "":
        raise GinError(must_be("profile", "a directory", profile))
    if opponent is not None and profile is None:
        raise GinError("opponent needs profile, the directory in which a level keeps what it learns")
    if profile is None:
        return None
    if not learn:
        raise GinError(
            f"profile is what a level learns into, but with {option}=false it learns nothing; leave one of them out"
        )
    check_directory("profile", Path(profile))
    return Profile(Path(profile), level, "anybody" if opponent is None else check_name(opponent, "an opponent's"))
