"""Players in other processes: programs that speak the line protocol (docs/protocol.md), named ``cmd:PROGRAM ARGUMENTS``."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.deal_streams import new_salt, salted
from agents.files import JsonError, parse_json
from agents.programs.messages import READY, MessageError, read_message
from agents.programs.process import BotFault, LineProcess, excerpt
from agents.programs.protocol import (
    EventEncoder,
    encode,
    events_message,
    hello,
    legal_texts,
    may_play,
    question,
    spread_choices,
)
from agents.programs.views import Seen, read_views
from ginenv.engine.actions import PHASE_NAMES, PHASE_SPREAD, parse_action
from ginenv.engine.cards import parse_card
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import GinError, quoted
from ginenv.tables.players import FORFEIT


@dataclass(frozen=True)
class BotLimits:
    """The limits of an outside program.

    Attributes:
        start_seconds: time until it is ready.
        seconds: time until it has answered a line, however many decisions the line holds.
        batch: most decisions in one line.
        restarts: how often it is restarted in a match after it crashed, timed out or sent rubbish; then it forfeits the rest.
        end_seconds: time to end by itself after a ``bye``; then it is killed.
    """

    # Longer than our own players compile on first use.
    start_seconds: float = 60.0
    seconds: float = 10.0
    batch: int = 256
    restarts: int = 1
    end_seconds: float = 2.0

    @classmethod
    def for_lines(cls, seconds: float) -> BotLimits:
        """The usual limits, but for the time for a line, which is also the least that the program gets for getting ready."""
        return cls(start_seconds=max(cls.start_seconds, seconds), seconds=seconds)


def fault_text(fault: dict[str, Any]) -> str:
    """A fault of a program, as ``take_faults`` gives it, in words: what, the first case, and who."""
    return f"{fault['kind']}: {fault['first']} ({fault['player']})"


@contextmanager
def forfeiting(players: Iterable[Any]) -> Iterator[list[OutsidePlayer]]:
    """Inside, the faults of programs cost them hands; outside they raise.

    Args:
        players: the players; of one that consists of several (an attribute ``players``), these too.

    Yields:
        The programs among them.
    """
    parts = [part for player in players for part in (player, *getattr(player, "players", ()))]
    programs = [part for part in parts if isinstance(part, OutsidePlayer)]
    for program in programs:
        program.forfeits = True
    try:
        yield programs
    finally:
        for program in programs:
            program.forfeits = False


class OutsidePlayer:
    """A program that plays over the line protocol.

    The program is started at the first decision. Its faults are kept for ``take_faults``. A fault also raises, except in a match, where
    it costs the hand or the game (``FORFEIT``). A program that cannot go on is restarted as often as the limits allow.

    Args:
        command: the program and its arguments.
        seed: the program gets a seed that follows from this one and from the salt.
        limits: limits on time and restarts.
        salt: the program's seed and its slot numbers are derived with it; a new one when left out.

    Attributes:
        forfeits: whether ``act`` returns ``FORFEIT`` where the program failed to answer; the arena sets this while it plays.
        decisions: number of decisions by phase.
    """

    def __init__(self, command: str, seed: int = 0, limits: BotLimits | None = None, salt: str = ""):
        self.name = f"cmd:{command}"
        self.command = command
        self.seed = seed
        self.limits = limits or BotLimits()
        self._salt = salt or new_salt()
        self.forfeits = False
        self._process: LineProcess | None = None
        self._batch = self.limits.batch
        self._starts = 0
        self._lines = 0
        self._encoders: dict[int, EventEncoder] = {}
        self._slot_numbers: dict[int, int] = {}
        self._closing: list[str] = []
        self._rules: Rules | None = None
        self._faults: dict[str, dict[str, Any]] = {}
        self._last_fault: BotFault | None = None
        self.decisions: Counter[str] = Counter()

    def reset(self, seed: int = 0) -> None:
        """Ends the program and forgets all games; the next decision starts it again with the new seed."""
        self.close()
        self.seed = seed
        self._encoders.clear()
        self._slot_numbers.clear()

    def forget(self, slots: np.ndarray) -> None:
        """Forgets the hands in these slots, which other hands now take."""
        for slot, number in zip(slots.tolist(), self._numbers(slots), strict=True):
            self._encoders.pop(number, None)
            del self._slot_numbers[slot]

    def _numbers(self, slots: np.ndarray) -> list[int]:
        """The numbers by which the program knows the slots. The slots themselves would tell it which deals belong together."""
        numbers_by_slot = self._slot_numbers
        for slot in (slot_list := slots.tolist()):
            if slot not in numbers_by_slot:
                numbers_by_slot[slot] = salted(self._salt, "slot", slot, 52)
        return [numbers_by_slot[slot] for slot in slot_list]

    def close(self) -> None:
        """Ends the program and everything that it started; the next decision starts it again and sends it the hands in play."""
        self._starts = 0
        if self._process is not None:
            process, self._process = self._process, None
            num_sent, self._closing = self._closing, []
            status = process.close(_games("bye", num_sent), self.limits.end_seconds)
            if status is None:
                self._blame(BotFault("ending", f"was still running {self.limits.end_seconds:g} s after a bye"), 0)
            elif status:
                self._blame(BotFault("ending", f"ended with status {status} after a bye"), 0)

    def take_faults(self) -> list[dict[str, Any]]:
        """Returns the faults since the last call: player, kind, count, forfeits, and the first case in words."""
        faults = list(self._faults.values())
        self._faults = {}
        return faults

    def _fail(self, fault: BotFault, forfeits: int, times: int = 1) -> None:
        """Records a fault that left answers missing; raises if they cannot be forfeited."""
        self._blame(fault, forfeits if self.forfeits else 0, times)
        if not self.forfeits:
            raise GinError(f"player {self.name!r} cannot go on; {fault}")

    def _blame(self, fault: BotFault, forfeits: int, times: int = 1) -> None:
        entry = self._faults.setdefault(
            fault.kind, {"player": self.name, "kind": fault.kind, "count": 0, "forfeits": 0, "first": fault.words}
        )
        entry["count"] += times
        entry["forfeits"] += forfeits
        self._last_fault = fault

    def start(self, rules: Rules) -> None:
        """Starts the program now instead of at the first decision.

        Raises:
            GinError: if it cannot be started, or does not speak the protocol, unless faults are forfeits.
        """
        try:
            if self._process is None:
                self._start(rules)
        except BotFault as fault:
            self._drop()
            self._fail(fault, 0)

    def _drop(self) -> bool:
        """Lets go of a program that failed; returns whether there was one."""
        process, self._process = self._process, None
        if process is not None:
            process.close()
        return process is not None

    def _start(self, rules: Rules) -> None:
        self._starts += 1
        self._process = LineProcess(self.command, _games("bye", []), self.limits.end_seconds)
        greeting = hello(rules, salted(self._salt, "players", self.seed, 31), self.limits.seconds, self.limits.batch)
        line = self._process.exchange(encode(greeting).encode(), self.limits.start_seconds)
        try:
            ready = read_message(line, READY)
        except MessageError as error:
            raise BotFault("handshake", f"answered hello with {excerpt(line, 200)}; {error}") from None
        _check_plays(ready.rules, rules)
        self._batch = min(ready.max_batch or self.limits.batch, self.limits.batch)
        self._rules = rules
        # A new process is sent everything that happened in the hands in play.
        for encoder in self._encoders.values():
            encoder.num_sent = 0
        self._closing.clear()

    def _encoder(self, slot: int, view: Seen) -> EventEncoder:
        encoder = self._encoders.get(slot)
        if encoder is None or not encoder.continues(view):
            encoder = self._encoders[slot] = EventEncoder(view)
        encoder.update(view)
        return encoder

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Asks the program.

        Returns:
            ``int64[n]``; ``FORFEIT`` where it failed to give a legal answer, if ``forfeits`` is set.

        Raises:
            GinError: if it failed and ``forfeits`` is not set.
        """
        numbers = self._numbers(np.arange(len(views)) if slots is None else slots)
        # In the order of these numbers, since the order of the slots would tell what the numbers hide.
        order = sorted(range(len(views)), key=numbers.__getitem__)
        numbers = [numbers[i] for i in order]
        actions = np.full(len(views), FORFEIT, np.int64)
        seen = read_views(views)
        ordered_views = [seen[i] for i in order]
        for slot, view in zip(numbers, ordered_views, strict=True):
            self._encoder(slot, view)
        start = 0
        while start < len(views):
            if self._process is None and self._starts > self.limits.restarts:
                # It may not be started again: the rest is lost to the fault that ended it.
                assert self._last_fault is not None
                self._fail(self._last_fault, len(views) - start, times=0)
                break
            end = min(len(views), start + self._batch)
            try:
                if self._process is None:
                    self._start(Rules.from_block(views["rules"][start]))
                    continue
                actions[start:end] = self._ask(numbers[start:end], ordered_views[start:end])
            except BotFault as fault:
                dropped = self._drop()
                # A program that never got ready has failed at no decision yet; after its last start the branch above forfeits the rest.
                lost = end - start if dropped and fault.kind not in ("cannot start", "handshake", "rules") else 0
                self._fail(fault, lost)
                start += lost
                continue
            start = end
        answers = np.empty_like(actions)
        answers[order] = actions
        return answers

    def _ask(self, slots: list[int], views: list[Seen]) -> list[int]:
        """Asks about some games in one line."""
        encoders = self._encoders
        games = [question(slot, encoders[slot].events_message(), view) for slot, view in zip(slots, views, strict=True)]
        self.decisions.update([PHASE_NAMES[view.phase] for view in views])
        num_sent, self._closing = self._closing, []
        replies = self._answers(num_sent + games, slots)
        return [self._read_action(*each) for each in zip(slots, views, replies, strict=True)]

    def _answers(self, games: list[str], slots: list[int]) -> list[dict[str, Any]]:
        """Sends one ``act`` line and sorts the answers by slot."""
        assert self._process is not None
        self._lines += 1
        request = _games("act", games, f'"id":{self._lines},')
        message = _parsed(self._process.exchange(request, self.limits.seconds))
        number = message.get("id")
        if message.get("type") == "error":
            raise BotFault("rubbish", f"answered with an error: {quoted(message.get('message'))}")
        if message.get("type") != "answers" or not _is_usable(number) or number != self._lines:
            got = f"type {quoted(message.get('type'))} and id {quoted(number)}"
            raise BotFault("rubbish", f"answered with {got}; they must be 'answers' and {self._lines}")
        answers = message.get("answers")
        if not isinstance(answers, list) or not all(isinstance(answer, dict) for answer in answers):
            raise BotFault("rubbish", "'answers' is not a list of objects")
        by_slot: dict[int, dict[str, Any]] = {}
        for answer in answers:
            slot = answer.get("slot")
            if _is_usable(slot) and by_slot.setdefault(slot, answer) is not answer:
                raise BotFault("rubbish", f"slot {slot} was answered twice")
        missing = [slot for slot in slots if slot not in by_slot]
        if missing:
            count = f"{len(missing)} of {len(slots)} missing"
            raise BotFault("rubbish", f"slot {missing[0]} was asked and not answered ({count})")
        return [by_slot[slot] for slot in slots]

    def _read_action(self, slot: int, view: Seen, answer: dict[str, Any]) -> int:
        """The action of an answer, or ``FORFEIT``."""
        try:
            if view.phase == PHASE_SPREAD and "melds" in answer:
                return _arrangement(view, answer["melds"])
            text = answer.get("action")
            if not isinstance(text, str):
                raise GinError(f"the answer holds no action: {excerpt(json.dumps(answer).encode())}")
            action = _action(text)
            if not may_play(view, action):
                raise GinError(f"{quoted(text)} is not legal; legal are: {', '.join(legal_texts(view))}")
        except GinError as error:
            fault = BotFault("illegal move", f"in slot {slot}: {error}")
        else:
            return action
        self._fail(fault, 1)
        return FORFEIT

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Tells the program how hands ended; the events go out with the next question."""
        numbers = self._numbers(np.arange(len(views)) if slots is None else slots)
        for slot, view in sorted(zip(numbers, read_views(views), strict=True)):
            num_sent = self._encoder(slot, view).events_message()
            del self._encoders[slot]
            if self._process is not None:
                self._closing.append(events_message(slot, num_sent))
        if slots is not None:
            # Numbers are kept only while a hand is played, since nothing tells when a game ends.
            for slot in slots.tolist():
                del self._slot_numbers[slot]


# Cached: the same hundred texts come over and over.
_action = functools.lru_cache(256)(parse_action)


def _games(kind: str, games: list[str], more: str = "") -> bytes:
    """One line of the protocol, about these games."""
    return f'{{"type":"{kind}",{more}"games":[{",".join(games)}]}}'.encode()


def _check_plays(named: list[str] | None, rules: Rules) -> None:
    """Raises if the program lists the rules that it plays and these are not among them."""
    if named is None:
        return
    try:
        played = [get_rules(text) for text in named]
    except GinError as error:
        raise BotFault("handshake", f"rules: {error}") from None
    if all(each.block.tobytes() != rules.block.tobytes() for each in played):
        raise BotFault("rules", f"the program plays {' and '.join(named) or 'no rules'}; these are others")


def _is_usable(value: Any) -> bool:
    """Whether a JSON value is a whole number; in Python, true and false are numbers too."""
    return isinstance(value, int) and not isinstance(value, bool)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        message = parse_json(line)
    except JsonError as error:
        raise BotFault("rubbish", f"answered with what is not JSON ({error}): {excerpt(line)}") from None
    if not isinstance(message, dict):
        raise BotFault("rubbish", f"answered with a {type(message).__name__}; it must be a JSON object")
    return message


def _arrangement(view: Seen, melds: Any) -> int:
    """The number of the arrangement with these melds; raises if there is none, or they are not lists of cards."""
    try:
        chosen = {frozenset(parse_card(card) for card in meld) for meld in melds}
    except (TypeError, AttributeError):
        raise GinError(f"melds are lists of cards, not {excerpt(json.dumps(melds).encode())}") from None
    listed = spread_choices(view)
    for number, arrangement in enumerate(listed):
        if {frozenset(parse_card(card) for card in meld) for meld in arrangement} == chosen:
            return number
    raise GinError(f"no arrangement has these melds; they must be one of the {len(listed)} listed")
