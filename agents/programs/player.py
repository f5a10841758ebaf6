"""Players in other processes: programs that speak the line protocol (docs/protocol.md), named ``cmd:PROGRAM ARGUMENTS``."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import to_json

from agents.deal_streams import new_salt, salted
from agents.programs.events import VERSION, HandEvents, legal_texts, may_play, question
from agents.programs.messages import ANSWERS, READY, Error, MessageError, read_message
from agents.programs.process import BotFault, LineProcess, excerpt
from agents.programs.views import Seen, read_views
from ginenv.engine.actions import PHASE_NAMES, parse_action
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import GinError, quoted
from ginenv.tables.players import FORFEIT

_BYE = b'{"type":"bye"}'


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
        self._hands: dict[int, HandEvents] = {}
        self._slot_numbers: dict[int, int] = {}
        # What the program has not been told yet of hands that ended.
        self._ended: list[bytes] = []
        self._faults: dict[str, dict[str, Any]] = {}
        self._last_fault: BotFault | None = None
        self.decisions: Counter[str] = Counter()

    def reset(self, seed: int = 0) -> None:
        """Ends the program and forgets all games; the next decision starts it again with the new seed."""
        self.close()
        self.seed = seed
        self._hands.clear()
        self._slot_numbers.clear()

    def forget(self, slots: np.ndarray) -> None:
        """Forgets the hands in these slots, which other hands now take."""
        for slot, number in zip(slots.tolist(), self._numbers(slots), strict=True):
            self._hands.pop(number, None)
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
            ended, self._ended = self._ended, []
            status = process.close(_message("bye", ended), self.limits.end_seconds)
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
            raise GinError(f"player {self.name!r} cannot go on; {fault}") from None

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
        self._process = LineProcess(self.command, _BYE, self.limits.end_seconds)
        hello = {
            **{"type": "hello", "protocol": VERSION, "rules": dataclasses.asdict(rules)},
            "seed": salted(self._salt, "players", self.seed, 31),
            **{"seconds": self.limits.seconds, "max_batch": self.limits.batch},
        }
        line = self._process.exchange(to_json(hello), self.limits.start_seconds)
        try:
            ready = read_message(line, READY)
        except MessageError as error:
            raise BotFault("handshake", f"answered hello with {excerpt(line, 200)}; {error}") from None
        _check_plays(ready.rules, rules)
        self._batch = min(ready.max_batch or self.limits.batch, self.limits.batch)
        # A new process is sent everything that happened in the hands in play.
        for hand in self._hands.values():
            hand.num_sent = 0
        self._ended.clear()

    def _update(self, slot: int, view: Seen) -> HandEvents:
        hand = self._hands.get(slot)
        if hand is None or not hand.continues(view):
            hand = self._hands[slot] = HandEvents(view)
        hand.update(view)
        return hand

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
            self._update(slot, view)
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
        assert self._process is not None
        self.decisions.update([PHASE_NAMES[view.phase] for view in views])
        games, self._ended = self._ended, []
        for slot, view in zip(slots, views, strict=True):
            games.append(to_json({"slot": slot, "events": self._hands[slot].unsent(), **question(view)}))
        self._lines += 1
        line = self._process.exchange(_message("act", games, b'"id":%d,' % self._lines), self.limits.seconds)
        try:
            message = read_message(line, ANSWERS)
        except MessageError as error:
            raise BotFault("rubbish", f"answered with {excerpt(line)}; {error}") from None
        if isinstance(message, Error):
            raise BotFault("rubbish", f"answered with an error: {quoted(message.message)}")
        if message.id != self._lines:
            raise BotFault("rubbish", f"answered with the id {message.id}; it must be {self._lines}")
        texts = {answer.slot: answer.action for answer in message.answers}
        if len(texts) < len(message.answers):
            raise BotFault("rubbish", "a slot was answered twice")
        missing = [slot for slot in slots if slot not in texts]
        if missing:
            count = f"{len(missing)} of {len(slots)} missing"
            raise BotFault("rubbish", f"slot {missing[0]} was asked and not answered ({count})")
        return [self._read_action(slot, view, texts[slot]) for slot, view in zip(slots, views, strict=True)]

    def _read_action(self, slot: int, view: Seen, text: str) -> int:
        """The action of an answer, or ``FORFEIT``."""
        try:
            action = _action(text)
            if may_play(view, action):
                return action
            raise GinError(f"{quoted(text)} is not legal; legal are: {', '.join(legal_texts(view))}")
        except GinError as error:
            self._fail(BotFault("illegal move", f"in slot {slot}: {error}"), 1)
        return FORFEIT

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Tells the program how hands ended; the events go out with the next question."""
        numbers = self._numbers(np.arange(len(views)) if slots is None else slots)
        for slot, view in sorted(zip(numbers, read_views(views), strict=True)):
            events = self._update(slot, view).unsent()
            del self._hands[slot]
            if self._process is not None:
                self._ended.append(to_json({"slot": slot, "events": events}))
        if slots is not None:
            # Numbers are kept only while a hand is played, since nothing tells when a game ends.
            for slot in slots.tolist():
                del self._slot_numbers[slot]


# Cached: the same hundred texts come over and over.
_action = functools.lru_cache(256)(parse_action)


def _message(kind: str, games: list[bytes], more: bytes = b"") -> bytes:
    """A message about games, each of which is JSON: all of them as values at once would keep the garbage collector busy."""
    return b'{"type":"%s",%s"games":[%s]}' % (kind.encode(), more, b",".join(games))


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
