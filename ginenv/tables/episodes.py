"""Episodes at tables where the caller learns: what the single, the vector and the self-play environments have in common.

The compiled part is in ``ginenv.tables.episode_kernels``. This module holds the checks, the opponents, and the options of ``reset``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypedDict

import numpy as np
from gymnasium.error import ResetNeeded

from ginenv.engine.actions import NUM_ACTIONS, illegal_action
from ginenv.engine.cards import check_deck
from ginenv.engine.engine import deal
from ginenv.engine.game import set_keys
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import (
    GinError,
    IllegalActionError,
    UnknownNameError,
    check_choice,
    did_you_mean,
    must_be,
    quoted,
    unknown_name,
)
from ginenv.tables.episode_kernels import (
    ACT,
    BOTH,
    CLOSE,
    ENDLESS,
    EPISODE,
    FINAL,
    GAME_REWARDS,
    GO_ON,
    HAND_REWARDS,
    ILLEGAL_REWARD,
    MAX_REDEALS,
    SEATS,
    begin_episodes,
    first_refused,
    play_on,
)
from ginenv.tables.kernels import CALLER, FAULT, GAME, HAND
from ginenv.tables.players import Player, ask_player, make_player, show_hands
from ginenv.tables.tables import Tables
from ginenv.view.view import make_views

_ON_ILLEGAL = ("terminate", "raise")
_MEMORY = ("env", "profile")
RESET_OPTIONS = ("deal", "starter", "seat")
_P = ParamSpec("_P")


class TableOptions(TypedDict, total=False):
    """Arguments that the single and the vector environments have in common; see ``ginenv.envs.env.HandEnv``."""

    seat: int | str
    reward: str
    on_illegal: str
    opponent_memory: str


def names_its_options(init: Callable[_P, None]) -> Callable[_P, None]:
    """Lets the ``__init__`` of an environment refuse an unknown option with a ``TypeError`` that lists those that it has.

    Its words begin as Python's own do: by these, TorchRL finds out whether an environment has a ``frameskip``.
    """
    named = inspect.signature(init).parameters.values()
    known = [each.name for each in named if each.kind is each.POSITIONAL_OR_KEYWORD and each.name != "self"]
    if any(each.kind is each.VAR_KEYWORD for each in named):
        known += TableOptions.__annotations__

    @wraps(init)
    def checked(*args: _P.args, **options: _P.kwargs) -> None:
        for name in options:
            if name not in known:
                unexpected = f"{type(args[0]).__name__}() got an unexpected keyword argument {quoted(name)}"
                raise TypeError(f"{unexpected}{did_you_mean(name, known)} (options: {', '.join(sorted(known))})")
        init(*args, **options)

    return checked


class Episodes(Tables):
    """Tables, the learner's opponents, and everything that the environments share.

    Args:
        num_tables: number of tables.
        rules: a preset name, ``Rules``, or a dictionary of rules.
        opponents: a name, a path, a ``Player``, or a list of these, of which table ``i`` gets item ``i % len``; ``None`` if
            the learner plays both seats.
        is_game: whether an episode is a game rather than a hand.
        same_step: whether the next episode begins in the step that ends one.
        reward: a name in ``HAND_REWARDS`` or ``GAME_REWARDS``.
        seat: as for ``ginenv.envs.env.HandEnv``; without opponents, the learner always has the seat to move.
        on_illegal: as for ``ginenv.envs.env.HandEnv``.
        opponent_memory: as for ``ginenv.envs.env.HandEnv``.
    """

    def __init__(
        self,
        num_tables: int,
        *,
        rules: str | Rules | dict[str, Any],
        opponents: str | Player | Sequence[str | Player] | None,
        is_game: bool,
        same_step: bool,
        reward: str,
        seat: int | str = "random",
        on_illegal: str = "terminate",
        opponent_memory: str = "env",
    ) -> None:
        super().__init__(num_tables, compiled=True)
        self.rules = get_rules(rules)
        self.strict = check_choice("on_illegal", on_illegal, _ON_ILLEGAL) == 1
        self.memory = _MEMORY[check_choice("opponent_memory", opponent_memory, _MEMORY)]
        self.states["rules"] = self.rules.block
        self.tables["unit"] = GAME if is_game else HAND
        self.tables["ids"] = np.arange(num_tables)[:, None]
        self.episodes = np.zeros(num_tables, EPISODE)
        self.episodes["opponent"] = self.episodes["next_opponent"] = CALLER
        self.episodes["seat_rule"] = BOTH if opponents is None else check_choice("seat", seat, SEATS)
        self.episodes["reward_rule"] = check_choice("reward", reward, GAME_REWARDS if is_game else HAND_REWARDS)
        self.episodes["loss"] = ILLEGAL_REWARD[reward]
        self.episodes["same_step"] = same_step
        self.finals = np.zeros(num_tables, FINAL)
        # A mask of all tables: one array for all steps.
        self.everywhere = np.ones(num_tables, bool)
        self.everywhere.flags.writeable = False
        self._all = np.arange(num_tables)
        self.is_game = is_game
        self.is_seeded = False
        self._has_begun = False
        # Whether it is the learner's turn at every table; False before the first reset and while opponents are asked.
        self._is_usable = False
        self._name_fields()
        if opponents is not None:
            self.set_opponents(opponents)

    def _name_fields(self) -> None:
        """Names what a copy must recreate: views of the episodes' fields (actions are the learner's next ones), and addresses."""
        each = self.episodes
        self.actions, self.paid, self.done, self.over = each["action"], each["paid"], each["done"], each["over"]
        self.seats, self.infos = each["seat"], each["info"]
        self.illegal, self.closed = self.infos["illegal_action"], self.infos["has_outcome"]
        self.skipped = self.infos["skipped_hands"]
        self._finals_at, self._scratch_at = self.finals.ctypes.data, self._scratch.ctypes.data

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._name_fields()

    # --- opponents ---------------------------------------------------------------------------------------------------

    def set_opponents(self, opponents: str | Player | Sequence[str | Player]) -> None:
        """Changes the opponents; each table uses its new one from its next episode on.

        Raises:
            GinError: if a player cannot be made.
        """
        if isinstance(opponents, str) or not isinstance(opponents, Sequence):
            opponents = [opponents]
        if not opponents:
            raise GinError("a list of opponents is empty; it needs a name, a path or a Player")
        numbers = self._numbers_of([make_player(opponent) for opponent in opponents])
        self.episodes["next_opponent"] = np.array(numbers)[self._all % len(numbers)]

    def _numbers_of(self, players: list[Player]) -> list[int]:
        """Numbers of players; a new one takes the place of a player that no table uses any more."""
        places = list(self.players)
        wanted = set(self.episodes["opponent"].tolist()) | set(self.episodes["next_opponent"].tolist())
        numbers = []
        for player in players:
            same = [number for number, names in enumerate(places) if names is player]
            free = [number for number in range(len(places)) if number not in wanted]
            number = (same or free or [len(places)])[0]
            places[number : number + 1] = [player]
            wanted.add(number)
            numbers.append(number)
        self.set_players(places)
        return numbers

    def _forget(self, slots: np.ndarray) -> None:
        """Lets the players at some tables, now or from the next episode on, forget these tables."""
        episodes = self.episodes[slots]
        for number, player in enumerate(self.players):
            forget = getattr(player, "forget", None)
            theirs = slots[(episodes["opponent"] == number) | (episodes["next_opponent"] == number)]
            if forget is not None and len(theirs):
                forget(theirs)

    # --- play --------------------------------------------------------------------------------------------------------

    def seed(self, slot: int, generator: np.random.Generator) -> None:
        """Draws the words from which a table's deals and its players' randomness follow (``game.set_keys``)."""
        set_keys(self.tables[slot : slot + 1], generator)
        self.tables["episode"][slot] = 0
        self.is_seeded = True

    def reset(
        self,
        rows: np.ndarray,
        masks: np.ndarray,
        options: dict[str, Any] | None = None,
        seeded: Sequence[int] = (),
        slots: np.ndarray | None = None,
    ) -> None:
        """Begins an episode at every table; writes the learner's first observations and masks to ``rows`` and ``masks``.

        Args:
            rows: ``uint8[n, 520]``.
            masks: ``int8[n, 107]``.
            options: ``deal`` (all cards, as numbers or text: the starter's, the other seat's, the upcard, the stock), ``starter``
                (a seat), ``seat`` (the learner's, for this episode). If an episode ends before the learner's first
                move, another is dealt. It keeps that ``seat``, but the deal and the starter are new.
            seeded: the tables that got a seed: their opponents forget (memory ``"env"``). If these are all, the opponents are reset too.
            slots: only these tables; all if omitted.

        Raises:
            GinError: for an unknown option or an invalid value.
        """
        checked = self.check_options(options)
        slots = self._all if slots is None else slots
        if len(seeded) == self.num_tables:
            for player in self.players:
                player.reset(0)
        if seeded and self.memory == "env":
            self._forget(np.asarray(seeded, np.int64))
        deck, starter, seat = checked
        begin_episodes(self.states, self.tables, self.episodes, slots, -1 if seat is None else seat)
        if deck is not None or starter is not None:
            self._deal(deck, starter, slots)
        self._has_begun = True
        self._play(GO_ON, rows, masks, slots)

    def check_options(self, options: dict[str, Any] | None) -> tuple[list[int] | None, int | None, int | None]:
        """The deck, the starter and the learner's seat that the options of ``reset`` ask for.

        Raises:
            GinError: for an unknown option or an invalid value.
        """
        options = options or {}
        if not isinstance(options, dict):
            raise GinError(must_be("reset's options", "a dictionary", options))
        for name in options:
            if name not in RESET_OPTIONS:
                raise UnknownNameError(unknown_name("reset option", str(name), RESET_OPTIONS))
        given = [name for name in RESET_OPTIONS[1:] if options.get(name) is not None]
        seats = {name: check_choice(name, options[name], (0, 1)) for name in given}
        deck = options.get("deal")
        if deck is not None:
            deck = check_deck(deck, self.rules.ranks, self.rules.suits)
        return deck, seats.get("starter"), seats.get("seat")

    def _deal(self, deck: list[int] | None, starter: int | None, slots: np.ndarray) -> None:
        """Replaces the deal or the starter that the key gave by those given."""
        for slot in slots:
            state = self.states[slot]
            if deck is not None:
                state["deck"][: len(deck)] = deck
            deal(state, int(state["starter"]) if starter is None else starter)

    def check_begun(self) -> None:
        """Raises ``ResetNeeded`` before the first reset: there is nothing to play or to see."""
        if not self._has_begun:
            raise ResetNeeded("no episode has begun; call reset first")

    def check_usable(self) -> None:
        """Raises ``ResetNeeded`` before the first reset, and after a step or reset that an error or interrupt cut short."""
        if not self._is_usable:
            self.check_begun()
            raise ResetNeeded("the last step or reset was broken off while opponents were asked; call reset first")

    def take(self, actions: Any) -> None:
        """Sets the learner's next actions; where one is refused, none of them is played.

        Callers do this before they release the arrays of the previous step, which stay valid as long as nothing is played.

        Args:
            actions: one for each table; an ``int`` is that of a single table, and the caller has checked that it is an action.

        Raises:
            ResetNeeded: before the first reset, and after a step or a reset that an opponent's error or an interrupt cut short.
            IllegalActionError: if they are not whole numbers from 0 to 106, one for each table; where illegal actions are errors, it
                names the first and lists what is legal.
        """
        self.check_usable()
        if type(actions) is int and not self.strict:
            self.actions[0] = actions
            return
        numbers = self._whole_numbers([actions] if type(actions) is int else actions)
        slot = first_refused(self.states, self.episodes, numbers, self.strict)
        if slot < 0:
            self.actions[:] = numbers
            return
        action, where = int(numbers[slot]), f" at table {slot}" if self.num_tables > 1 else ""
        if not 0 <= action < NUM_ACTIONS:
            raise IllegalActionError(f"{self._expected()};{where} it is {action}")
        view = make_views(self.states[slot : slot + 1], int(self.seats[slot]))[0]
        raise IllegalActionError(illegal_action(action, view["legal"], int(view["phase"])) + where)

    def _whole_numbers(self, actions: Any) -> np.ndarray:
        found = np.asarray(actions)
        if found.shape != (self.num_tables,) or found.dtype.kind not in "iu":
            raise IllegalActionError(f"{self._expected()}, not {found.dtype} {found.shape}")
        return np.ascontiguousarray(found, np.int64)

    def _expected(self) -> str:
        return f"actions must be {self.num_tables} whole numbers from 0 to {NUM_ACTIONS - 1}, one for each environment"

    def step(self, rows: np.ndarray, masks: np.ndarray) -> None:
        """Plays the actions taken; writes observations and masks to ``rows`` and ``masks``."""
        self._play(ACT, rows, masks, self._all)

    def _play(self, how: int, rows: np.ndarray, masks: np.ndarray, slots: np.ndarray) -> None:
        """Plays on until it is the learner's turn at every table; the opponents that are not compiled are asked in batches."""
        self._is_usable = False
        waiting = self._play_on(how, rows, masks, slots)
        while waiting:
            self._raise_if_stalled()
            waiting = 0
            for number, views, requested, ids in self.waiting():
                self.play(views, requested, ask_player(self.players[number], views, ids))
                waiting += self._play_on(GO_ON, rows, masks, requested)
            ended = self.ended()
            for number, player in enumerate(self.players):
                views, ids = self.final_views(number, ended)
                if len(ids):
                    show_hands(player, views, ids)
            waiting += self._play_on(CLOSE, rows, masks, ended)
        self._is_usable = True

    def _play_on(self, how: int, rows: np.ndarray, masks: np.ndarray, slots: np.ndarray) -> int:
        states, tables, episodes = self.states, self.tables, self.episodes
        addresses = self._finals_at, self._scratch_at, self._players_at
        return play_on(states, tables, episodes, slots, how, rows, masks, *addresses)

    def _raise_if_stalled(self) -> None:
        waits_for = self.tables["waits_for"]
        if (waits_for == ENDLESS).any():
            raise GinError(
                f"{MAX_REDEALS} hands in a row ended before the learner's first move; these rules leave it none"
            )
        if (waits_for == FAULT).any():
            raise IllegalActionError(
                f"player {self.name_at(int(np.argmax(waits_for == FAULT)))!r} chose an illegal action"
            )

    def name_at(self, slot: int) -> str:
        """The name of the opponent at a table; empty where the learner plays both seats."""
        number = int(self.episodes["opponent"][slot])
        return self.players[number].name if number >= 0 else ""

    def views(self) -> np.ndarray:
        """What the learner may see: ``VIEW[n]``."""
        self.check_begun()
        return make_views(self.states, self.seats)
