"""A batch of tables with their opponents: what the single, the vector and the self-play environment have in common.

The compiled part stands in ``ginenv.table_kernels``; here are the checks, the opponents that Python has to ask, and reset's options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ginenv.actions import NUM_ACTIONS, action_name
from ginenv.cards import check_deck, parse_cards
from ginenv.compiled_players import OPPONENT, describe
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.engine import STATE, deal
from ginenv.errors import GinError, IllegalActionError, UnknownNameError, did_you_mean, unknown_name
from ginenv.game import set_keys
from ginenv.players import BasePlayer, Player, make_player
from ginenv.rules import Rules, get_rules
from ginenv.table_kernels import (
    ASK,
    ENDLESS,
    FAULT,
    GAME_REWARDS,
    HAND_REWARDS,
    ILLEGAL_REWARD,
    INFO,
    MOST_REDEALS,
    SEATS,
    TABLE,
    TELL,
    answer,
    begin_some,
    first_illegal,
    gather,
    play,
    resume,
)
from ginenv.view import VIEW, make_views

ON_ILLEGAL = ("terminate", "raise")
MEMORY = ("none", "env", "profile")
RESET_OPTIONS = ("deal", "starter", "dealer", "seat")


def choice(name: str, value: Any, allowed: Sequence[Any]) -> int:
    """Position of a value among those allowed, or an error that names them."""
    for position, candidate in enumerate(allowed):
        if type(candidate) is type(value) and candidate == value:
            return position
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) in allowed:
        return allowed.index(int(value))
    hint = did_you_mean(str(value), [str(candidate) for candidate in allowed])
    names = ", ".join(repr(candidate) for candidate in allowed)
    raise GinError(f"{name} is {value!r}{hint}; allowed is one of: {names}")


class Tables:
    """A batch of tables, their opponents, and everything that the environments share.

    Args:
        num_tables: how many.
        rules: a preset's name, ``Rules``, or a dictionary of rules.
        opponents: who sits across: a name, a path, a ``Player``, or a list of these, of which table ``i`` gets number
            ``i % len``. ``None`` where the learner plays both seats.
        seat: the learner's seat: 0, 1, ``"alternate"``, ``"random"`` or ``"both"`` (whoever is to move).
        is_game: whether an episode is a game, else a hand.
        reward: a name in ``HAND_REWARDS`` or ``GAME_REWARDS``.
        on_illegal: ``"terminate"`` or ``"raise"``.
        same_step: whether an episode that ends is followed by the next in the same step.
        opponent_memory: ``"none"``, ``"env"`` or ``"profile"``.
    """

    def __init__(
        self,
        num_tables: int,
        *,
        rules: str | Rules | dict[str, Any],
        opponents: str | Player | Sequence[str | Player] | None,
        seat: int | str,
        is_game: bool,
        reward: str,
        on_illegal: str,
        same_step: bool,
        opponent_memory: str,
    ) -> None:
        self.rules = get_rules(rules)
        self.num_tables = num_tables
        self.strict = choice("on_illegal", on_illegal, ON_ILLEGAL) == 1
        self.memory = MEMORY[choice("opponent_memory", opponent_memory, MEMORY)]
        self.states = np.zeros(num_tables, STATE)
        self.states["rules"] = self.rules.block
        self.tables = np.zeros(num_tables, TABLE)
        self.tables["seat_rule"] = choice("seat", seat, SEATS)
        self.tables["reward_rule"] = choice("reward", reward, GAME_REWARDS if is_game else HAND_REWARDS)
        self.tables["loss"] = ILLEGAL_REWARD[reward]
        self.tables["is_game"] = is_game
        self.tables["same_step"] = same_step
        self.finals = np.zeros(num_tables, INFO)
        self.final_rows = np.zeros((num_tables if same_step else 0, OBSERVATION_SIZE), np.uint8)
        # The last view is scratch; the others are what opponents are asked about.
        self._views = np.zeros(num_tables + 1, VIEW)
        self._lanes = np.zeros(num_tables, np.int64)
        self._all = np.arange(num_tables)
        self.is_game = is_game
        # Views of fields of the tables. Actions are the learner's next ones.
        self.actions = self.paid = self.done = self.over = np.empty(0)
        self.seats = self.illegal = self.closed = np.empty(0)
        self.players: list[Player] = []
        self.names = np.array([""], dtype=object)
        self._opponents = np.zeros(1, OPPONENT)
        self._alive: list[object] = []
        self._wire()
        if opponents is not None:
            self.set_opponents(opponents)

    # --- opponents ---------------------------------------------------------------------------------------------------

    def set_opponents(
        self, opponents: str | Player | Sequence[str | Player], tables: Sequence[int] | np.ndarray | None = None
    ) -> None:
        """Seats other opponents, from the next episode on.

        Args:
            opponents: as for the class.
            tables: at which tables; all when left out.
        """
        if isinstance(opponents, str) or not isinstance(opponents, Sequence):
            opponents = [opponents]
        if not opponents:
            raise GinError("a list of opponents is empty; it needs a name, a path or a Player")
        chosen = self._all if tables is None else np.asarray(tables, np.int64)
        seats = np.arange(len(chosen)) % len(opponents)
        numbers = self._numbers_of([make_player(opponent) for opponent in opponents])
        self.tables["next_opponent"][chosen] = np.array(numbers)[seats]

    def _numbers_of(self, players: list[Player]) -> list[int]:
        """Where players stand in the list of players; a new one takes the place of one that no table waits for any more."""
        wanted = set(self.tables["opponent"].tolist()) | set(self.tables["next_opponent"].tolist())
        numbers = []
        for player in players:
            places = [number for number, known in enumerate(self.players) if known is player]
            number = places[0] if places else self._place_for(player, wanted)
            wanted.add(number)
            numbers.append(number)
        self.names = np.array([known.name for known in self.players], dtype=object)
        self._forgetful = self._has_forgetful()
        return numbers

    def _place_for(self, player: Player, wanted: set[int]) -> int:
        """A number for a new player: a former one's that is not wanted, else another; the other players' records stay."""
        number = next((free for free in range(len(self.players)) if free not in wanted), len(self.players))
        if number < len(self.players):
            self.players[number] = player
        else:
            self.players.append(player)
            self._alive.append(None)
            self._opponents = np.append(self._opponents[:number], np.zeros(1, OPPONENT))
            self.tables["opponents_at"] = self._opponents.ctypes.data
        self._describe(number)
        return number

    def _has_forgetful(self) -> bool:
        return self.memory == "none" and any(hasattr(player, "forget") for player in self.players)

    def _describe(self, number: int) -> None:
        player = self.players[number]
        heeds = getattr(type(player), "observe_hands", None) is not BasePlayer.observe_hands
        listens = heeds or hasattr(player, "forget")
        self._alive[number] = describe(player, 0, listens, self._opponents[number])

    def _forget(self, lanes: np.ndarray) -> None:
        seated = self.tables["opponent"][lanes]
        for number, player in enumerate(self.players):
            forget = getattr(player, "forget", None)
            slots = lanes[seated == number]
            if forget is not None and len(slots):
                forget(slots)

    def _forget_fresh(self, lanes: np.ndarray) -> None:
        """What opponents remember of a table ends where a new episode has been dealt at it."""
        if self._forgetful:
            self._forget(lanes[self.tables["fresh"][lanes] == 1])

    # --- play --------------------------------------------------------------------------------------------------------

    def seed(self, lane: int, generator: np.random.Generator) -> None:
        """Takes the words from a generator that the deals and the players' own randomness follow from (``game.set_keys``)."""
        first = np.zeros(1, STATE)
        set_keys(first, generator)
        table = self.tables[lane]
        table["key"], table["luck"], table["episode"] = first["key"][0], first["luck"][0], 0

    def reset(
        self,
        rows: np.ndarray,
        masks: np.ndarray,
        lanes: np.ndarray | None = None,
        options: dict[str, Any] | None = None,
        seeded: bool = False,
    ) -> None:
        """Begins an episode at some tables (all when left out); the learner's first observations go to rows and masks.

        Args:
            rows: ``uint8[n, 520]``, written where a table begins.
            masks: ``int8[n, 107]``, likewise.
            lanes: which tables.
            options: ``deal`` (52 cards, as numbers or text: the starter's, the other's, the upcard, the stock), ``starter`` or
                ``dealer`` (a seat), ``seat`` (the learner's, for this episode). Where an episode ends before the learner's first
                move and is dealt again, the seat stays; the deal and who starts are new.
            seeded: whether this reset came with a seed: the opponents begin anew.

        Raises:
            GinError: for an option that does not exist or a value that it cannot have.
        """
        lanes = self._all if lanes is None else lanes
        checked = self.check_options(options)
        if seeded:
            for player in self.players:
                player.reset(0)
        if self.memory == "none" or (seeded and self.memory == "env"):
            self._forget(lanes)
        begin_some(self.states, self.tables, lanes)
        self._impose(lanes, *checked)
        self._lanes[: len(lanes)] = lanes
        waiting = resume(*self._place(), self._lanes, len(lanes), rows, masks)
        if waiting:
            self._serve(waiting, rows, masks)

    def check_options(self, options: dict[str, Any] | None) -> tuple[list[int] | None, int | None, int | None]:
        """The deck, the starter and the learner's seat that reset's options ask for.

        Raises:
            GinError: for an option that does not exist or a value that it cannot have.
        """
        options = options or {}
        if not isinstance(options, dict):
            raise GinError(f"reset's options are a {type(options).__name__}; allowed is a dictionary")
        for name in options:
            if name not in RESET_OPTIONS:
                raise UnknownNameError(unknown_name("reset option", str(name), RESET_OPTIONS))
        given = [name for name in RESET_OPTIONS[1:] if options.get(name) is not None]
        seats = {name: choice(name, options[name], (0, 1)) for name in given}
        starter = seats.get("starter")
        if "dealer" in seats:
            if starter == seats["dealer"]:
                raise GinError(f"seat {starter} cannot be dealer and starter: the dealer's opponent starts")
            starter = 1 - seats["dealer"]
        deck = options.get("deal")
        if deck is not None:
            deck = check_deck(parse_cards(deck) if isinstance(deck, str) else deck, self.rules.ranks, self.rules.suits)
        return deck, starter, seats.get("seat")

    def _impose(self, lanes: np.ndarray, deck: list[int] | None, starter: int | None, seat: int | None) -> None:
        """Puts a given deal, starter or seat in place of those that the key gave."""
        if seat is not None:
            self.tables["seat"][lanes] = seat
            self.tables["seat_given"][lanes] = 1
        if deck is None and starter is None:
            return
        for lane in lanes:
            state = self.states[lane]
            if deck is not None:
                state["deck"][: len(deck)] = deck
            deal(state, int(state["starter"]) if starter is None else starter)

    def take(self, actions: np.ndarray | int) -> None:
        """Takes the learner's next actions; where illegal ones are errors it refuses them as a whole.

        Callers do so before they give up the arrays of the step before, which stand as long as nothing is played.

        Raises:
            IllegalActionError: names the first illegal action and lists what is legal.
        """
        self.actions[:] = actions
        if not self.strict:
            return
        lane = first_illegal(self.states, self.tables)
        if lane >= 0:
            view = make_views(self.states[lane : lane + 1], int(self.tables["seat"][lane]))[0]
            where = f" at table {lane}" if self.num_tables > 1 else ""
            raise IllegalActionError(describe_illegal(view, int(self.actions[lane])) + where)

    def step(self, rows: np.ndarray, masks: np.ndarray) -> None:
        """Plays the actions taken; observations and masks go to rows and masks."""
        if self._forgetful:
            self.tables["fresh"] = 0
        waiting = play(*self._place(), rows, masks)
        if self._forgetful:
            self._forget_fresh(self._all)
        if waiting:
            self._serve(waiting, rows, masks)

    def _place(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.states, self.tables, self._views

    def _wire(self) -> None:
        """Writes the addresses that compiled code follows; again whenever one of the arrays is another."""
        self.tables["opponents_at"] = self._opponents.ctypes.data
        self.tables["final_at"] = self.finals.ctypes.data + INFO.itemsize * self._all
        if len(self.final_rows):
            self.tables["final_row_at"] = self.final_rows.ctypes.data + OBSERVATION_SIZE * self._all
        self.actions = self.tables["action"]
        self.paid, self.done, self.over = self.tables["paid"], self.tables["done"], self.tables["over"]
        self.seats, self.illegal, self.closed = self.tables["seat"], self.tables["illegal"], self.tables["closed"]
        for number in range(len(self.players)):
            self._describe(number)
        self._forgetful = self._has_forgetful()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs; addresses and compiled code are found again."""
        return self.__dict__ | {"_alive": [None] * len(self.players)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._wire()

    def _serve(self, waiting: int, rows: np.ndarray, masks: np.ndarray) -> None:
        """Asks and tells the opponents that are not compiled, in batches, until the learner is to move everywhere."""
        views, lanes = self._views, self._lanes
        while waiting:
            served = 0
            for number, player in enumerate(self.players):
                if not self._opponents["decide"][number]:
                    count = gather(self.states, self.tables, views, lanes, number, ASK)
                    if count:
                        self._ask(player, count)
                        waiting += resume(*self._place(), lanes, count, rows, masks) - count
                        served += count
                if self._opponents["listens"][number]:
                    count = gather(self.states, self.tables, views, lanes, number, TELL)
                    if count:
                        slots = lanes[:count].copy()
                        player.observe_hands(views[:count], slots)
                        self.tables["told"][slots] = 1
                        self.tables["fresh"][slots] = 0
                        waiting += resume(*self._place(), lanes, count, rows, masks) - count
                        self._forget_fresh(slots)
                        served += count
            if not served:
                self._explain_stop()

    def _ask(self, player: Player, count: int) -> None:
        actions = np.asarray(player.act(self._views[:count], self._lanes[:count].copy()))
        if actions.shape != (count,) or actions.dtype.kind not in "iu":
            raise GinError(
                f"player {player.name!r} must return {count} whole numbers, not {actions.dtype} {actions.shape}"
            )
        bad = answer(self.states, self._lanes, count, actions.astype(np.int64, copy=False))
        if bad >= 0:
            raise IllegalActionError(
                f"player {player.name!r}: " + describe_illegal(self._views[bad], int(actions[bad]))
            )

    def _explain_stop(self) -> None:
        status = self.tables["status"]
        if (status == ENDLESS).any():
            raise GinError(
                f"{MOST_REDEALS} hands in a row ended before the learner's first move; these rules leave it none"
            )
        lane = int(np.argmax(status == FAULT))
        name = self.names[self.tables["opponent"][lane]]
        raise IllegalActionError(f"player {name!r} chose an illegal action")

    def name_at(self, lane: int) -> str:
        """The name of the opponent at a table; empty where the learner plays both seats."""
        return str(self.names[self.tables["opponent"][lane]])

    def views(self) -> np.ndarray:
        """What the learner may see: ``VIEW[n]``."""
        return make_views(self.states, self.tables["seat"])


def describe_illegal(view: Any, action: int) -> str:
    """One sentence that names an illegal action and lists the legal ones."""
    phase = int(view["phase"])
    legal = view["legal"]
    names = [action_name(id, phase) for id in range(NUM_ACTIONS) if _allows(legal, id)]
    try:
        name = f"{action_name(action, phase)!r} ({action})"
    except GinError as error:
        name = str(error)
    if not names:
        return f"{name} is not legal now: it is not this seat's turn"
    return f"{name} is not legal now; legal are: {', '.join(names)}"


def _allows(legal: np.ndarray, action: int) -> bool:
    if action < 52:
        return bool(int(legal[0]) >> action & 1)
    if action < 104:
        return bool(int(legal[1]) >> (action - 52) & 1)
    return bool(int(legal[2]) >> (action - 104) & 1)
