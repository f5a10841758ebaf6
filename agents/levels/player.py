"""A level as a player: it learns about its opponents and, from its coach, about the game in every hand that it plays."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.config import parse_config
from agents.levels.choice import bias_policy, choose, describe
from agents.levels.coach import LESSON, HandsInPlay, learn, teach
from agents.levels.features import NUM_WEIGHTS
from agents.levels.level import Level, LevelError, load_level
from agents.levels.memory import Memory, Profile
from agents.network.bounds import EVERYTHING
from agents.network.inputs import HeuristicFeatures
from agents.network.numpy_actor import NumpyActor
from agents.player_names import check_name
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, must_be
from ginenv.tables.players import BasePlayer
from ginenv.view.view import VIEW

if TYPE_CHECKING:
    from agents.network.nets import Actor, FrozenActor
    from agents.search.player import SearchPlayer

# How many of the discard pile's cards can be remembered, and how much of the opponent's choices can be noticed.
_MEMORIES, _ATTENTIONS = 33, EVERYTHING + 1


class LevelPlayer(BasePlayer):
    """Plays a level.

    Without a profile it knows one opponent per slot, until ``forget`` or ``reset``, and learns of the game in each slot apart. With a
    profile it knows one named opponent and what everybody's hands have taught; both are kept on disk.

    Args:
        level: as it begins.
        seed: of its choices.
        learn: whether it learns; ``False`` plays as it began.
        profile: where it keeps what it learns.

    Attributes:
        memory: what it knows, one row each; row 0 is the profile's opponent; without a profile it is for callers without slots, about which
            nothing is learned.
    """

    # Whether its network's logits have yet to be brought to the scale on which levels choose.
    softens = True

    def __init__(self, level: Level, seed: int = 0, learn: bool = True, profile: Profile | None = None) -> None:
        super().__init__(seed)
        self.level, self.profile, self.name, self.learns = level, profile, level.name, learn
        self.behaviour, self.skill = level.settings.behaviour, level.skill
        self.actor = level.actor if isinstance(level.actor, NumpyActor) else _in_torch(level.actor)
        bounds = [(memory, attention) for memory in range(_MEMORIES) for attention in range(_ATTENTIONS)]
        self.features = HeuristicFeatures(bounds)
        self.search = _search(level, seed, self.policy)
        self.memory = Memory(self.skill) if profile is None else profile.memory()
        self._rows: dict[int, int] = {}
        self._in_play = HandsInPlay()

    def with_profile(self, profile: Profile) -> LevelPlayer:
        """The same level with the memory of a profile; the network is shared."""
        player = copy.copy(self)
        player.profile, player.learns, player.memory, player._rows = profile, True, profile.memory(), {}
        player._in_play = HandsInPlay()
        player.search = _search(self.level, self.seed, player.policy)
        return player

    @property
    def search_settings(self) -> dict[str, Any] | None:
        """What the choices of its search depend on (``SearchConfig.decisive``); ``None`` if it does not search."""
        return None if self.search is None else self.search.search_settings

    def rows_of(self, slots: np.ndarray | None, n: int) -> np.ndarray:
        """The row of each slot's opponent; with a profile all slots share one."""
        if slots is None or self.profile is not None:
            return np.zeros(n, np.int64)
        rows = np.empty(n, np.int64)
        for i, slot in enumerate(np.asarray(slots).tolist()):
            row = self._rows.get(slot)
            if row is None:
                row = self._rows[slot] = len(self._rows) + 1
                if row >= len(self.memory):
                    self.memory.widen(2 * row)
            rows[i] = row
        return rows

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed and forgets what no profile keeps."""
        super().reset(seed)
        if self.search is not None:
            self.search.reset(seed)
        self._in_play.clear()
        if self.profile is None:
            self._rows.clear()
            self.memory.forget(np.arange(len(self.memory)))

    def forget(self, slots: np.ndarray) -> None:
        """Forgets the opponents in some slots, and what their hands taught, unless a profile keeps them."""
        self._in_play.clear(np.asarray(slots))
        if self.profile is None:
            rows = [row for slot in np.asarray(slots).tolist() if (row := self._rows.get(slot)) is not None]
            self.memory.forget(np.array(rows, np.int64))

    def manner(self, slots: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
        """How it plays against each opponent: ``BEHAVIOUR[n]``, and the biases of its choices, ``float64[n, NUM_WEIGHTS]``."""
        if self.learns:
            biases = self.memory.biases(self.rows_of(slots, n))
        else:
            biases = np.repeat(self.skill["mean"], n, 0)
        return np.repeat(self.behaviour, n), biases

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``).

        Raises:
            GinError: if ``views`` is no ``VIEW[n]``.
        """
        return self.act_with_policy(views, slots)[0]

    def act_with_policy(self, views: np.ndarray, slots: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What ``act`` chooses, and with which probabilities (``ginenv.tables.players.KnownPolicy``); those of a search are not known."""
        views = as_batch(views, VIEW, "VIEW")
        if self.search is not None:
            return self.search.act(views, slots), np.zeros((len(views), NUM_ACTIONS), np.float32)
        choices = self.describe(views, slots)
        logits = self.logits(views, choices)
        if slots is not None and self.learns:
            self._in_play.note(views, np.asarray(slots), logits)
        return choose(choices, logits.copy(), self.softens)

    def describe(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """All that its choices depend on besides its network: ``VIEW[n]`` to ``CHOICE[n]``."""
        return describe(views, *self.manner(slots, len(views)), self.seed)

    def logits(self, views: np.ndarray, choices: np.ndarray) -> np.ndarray:
        """Its network's logits for choices ``CHOICE[n]``, ``float32[n, 107]``."""
        inputs, behaviours = choices["inputs"].copy(), choices["behaviour"]
        kinds = _ATTENTIONS * behaviours["remembered_discards"].astype(np.int64) + behaviours["noticed_actions"]
        self.features.write(views, inputs, kinds)
        return self.actor.logits(inputs)

    def policy(self, views: np.ndarray, slots: np.ndarray | None) -> np.ndarray:
        """The logits that this level's search uses as its policy, ``float32[n, 107]``."""
        choices = self.describe(views, slots)
        logits = self.logits(views, choices)
        bias_policy(choices, logits)
        return logits

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Learns from finished hands; a profile is written before this returns."""
        if not self.learns or slots is None:
            return
        views, slots = as_batch(views, VIEW, "VIEW"), np.asarray(slots)
        lessons = self._lessons(views, slots)
        if self.profile is None:
            rows = self.rows_of(slots, len(views))
            self.memory.opponents.learn(views, rows)
            learn(lessons, rows, self.memory.skills)
        else:
            self.learn_into_profile(views, lessons)

    def _lessons(self, views: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """What finished hands teach, ``LESSON[n]``: its choices beside those of the network at full strength, which overlooks nothing."""
        played, own, hands = self._in_play.take(views, slots)
        if not len(played):
            # A level that searches is taught by its search.
            return np.zeros(len(views), LESSON)
        biases = self.memory.skills["mean"][self.rows_of(slots, len(views))][hands]
        choices = describe(played, np.repeat(self.behaviour, len(played)), biases, self.seed)
        return teach(choices, own, self.coach_logits(played, own), hands, len(views))

    def coach_logits(self, played: np.ndarray, own: np.ndarray) -> np.ndarray:
        """The coach's logits for decisions ``VIEW[n]``, ``float32[n, 107]``; ``own`` are those for what the level saw."""
        everything = self.behaviour.copy()
        everything["remembered_discards"], everything["noticed_actions"] = _MEMORIES - 1, EVERYTHING
        if everything == self.behaviour:
            return own.copy()
        return self.logits(played, describe(played, everything, np.zeros(NUM_WEIGHTS), self.seed))

    def learn_into_profile(
        self, views: np.ndarray, lessons: np.ndarray | None = None, results: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        """Learns from finished hands of the profile's opponent; arguments as of ``Profile.learn``."""
        assert self.profile is not None
        try:
            self.memory = self.profile.learn(views, lessons, results)
        except LevelError as error:
            # A full disk must not end a game: what was learned before is kept, on disk and in memory.
            warnings.warn(str(error), stacklevel=2)


def _in_torch(actor: Actor) -> FrozenActor:
    # Who plays in NumPy need not load torch.
    from agents.network.nets import FrozenActor, has_bfloat16_units

    return FrozenActor(actor, has_bfloat16_units())


def _search(
    level: Level, seed: int, policy: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
) -> SearchPlayer | None:
    """The search of a level that has worlds; settings that the level does not have are the search's own."""
    worlds = level.settings.worlds
    if not worlds:
        return None
    # A level that does not search need not wait for the search to load.
    from agents.search.config import SearchConfig
    from agents.search.player import SearchPlayer

    # With few worlds, more particles than this bring nothing (docs/log/levels.md).
    config = parse_config(
        {"worlds": worlds, "particles": min(1024, 16 * worlds), "slack": level.settings.slack}, SearchConfig, level.name
    )
    return SearchPlayer(config, seed, policy)


def make_level(
    seed: int = 0,
    level: str | int = 1,
    learn: bool = True,
    profile: str | None = None,
    opponent: str | None = None,
    worlds: int | None = None,
    numpy: bool = False,
) -> LevelPlayer:
    """The player of a level.

    Args:
        seed: of its choices.
        level: name, number or directory.
        learn: ``False`` to play as it began.
        profile: directory in which it keeps what it learns.
        opponent: the opponent's name in the profile: 1 to 20 printable characters.
        worlds: worlds of its search, instead of the level's own number.
        numpy: whether its network computes in NumPy, without torch: quicker to load, and half the memory.

    Raises:
        GinError: if the level, its profile or the opponent's name cannot be used.
    """
    found = load_level(level, numpy=numpy)
    if worlds is not None:
        found = found.with_settings(worlds=worlds)
    return LevelPlayer(found, seed, learn, open_profile(found, profile, opponent, learn))


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
    return Profile(Path(profile), level, "anybody" if opponent is None else check_name(opponent, "an opponent's"))
