"""Our players behind the line protocol: a conversation with a host, which asks and is answered.

``gin bot`` holds one over standard input and output, ``gin serve`` many over HTTP. A message that cannot be used changes nothing; only
after a hello that is refused nothing is answered until there is a better one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agents.programs.events import VERSION, legal_texts, question
from agents.programs.hand_reader import HandReader
from agents.programs.messages import TO_PROGRAM, Act, Bye, Deal, GameEntry, HandOver, Hello, MessageError, read_message
from agents.programs.views import Seen, read_views
from ginenv.engine.actions import NUM_ACTIONS, action_name, parse_action
from ginenv.engine.cards import NUM_CARDS
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, quoted
from ginenv.tables.players import Player, ask_player, close_players
from ginenv.view.view import VIEW


@dataclass
class Questions:
    """What a message asks of a player.

    Attributes:
        finals: final views of hands that ended, ``VIEW[m]``, with their slots ``int64[m]``.
        views: views to decide, ``VIEW[n]``, with their slots ``int64[n]``.
    """

    finals: np.ndarray
    final_slots: np.ndarray
    views: np.ndarray
    slots: np.ndarray


@dataclass
class Hands:
    """The hands that a host has in play, by slot.

    Args:
        rules: their rules.
        seed: mixed into random words where the host sends none.
    """

    rules: Rules
    seed: int = 0
    readers: dict[int, HandReader] = field(default_factory=dict)

    def read(self, entries: list[GameEntry]) -> Questions:
        """Adds events, and says what they ask.

        Raises:
            MessageError: if an entry does not fit; nothing has changed then.
        """
        before = {entry.slot: self.readers.get(entry.slot) for entry in entries}
        counts = {slot: len(reader.events) for slot, reader in before.items() if reader is not None}
        asking = [number for number, entry in enumerate(entries) if entry.asks]
        if len({entries[number].slot for number in asking}) < len(asking):
            raise MessageError("games: a slot is asked twice in this message")
        finals: list[tuple[int, np.ndarray]] = []
        to_decide: list[tuple[int, np.ndarray]] = []
        place = ""
        try:
            for number, entry in enumerate(entries):
                place = f"games.{number} (slot {entry.slot})"
                finals += self._add(entry)
                if entry.asks:
                    to_decide.append((entry.slot, self._view(entry)))
            questions = Questions(*_joined(finals), *_joined(to_decide))
            for number, view in zip(asking, read_views(questions.views), strict=True):
                place = f"games.{number} (slot {entries[number].slot})"
                _check_implied(entries[number], view)
        except GinError as error:
            self._restore(before, counts)
            raise MessageError(f"{place}: {error}") from None
        return questions

    def _restore(self, before: dict[int, HandReader | None], counts: dict[int, int]) -> None:
        for slot, reader in before.items():
            self.readers.pop(slot, None)
            if reader is not None:
                self.readers[slot] = again = HandReader(self.rules, reader.deal)
                again.hand_luck = reader.hand_luck
                for event in reader.events[1 : counts[slot]]:
                    again.push(event)

    def _add(self, entry: GameEntry) -> list[tuple[int, np.ndarray]]:
        """Adds the events of an entry; returns the final views of hands that ended."""
        finals = []
        for number, event in enumerate(entry.events):
            try:
                if isinstance(event, Deal):
                    # One that comes in the middle begins the hand again, or another one: the last was broken off.
                    self.readers[entry.slot] = HandReader(self.rules, event)
                    continue
                if (reader := self.readers.get(entry.slot)) is None:
                    raise GinError("the first event of a hand is its deal")
                if isinstance(event, HandOver):
                    if event.end != "forfeit":
                        view = reader.final_view(event)
                        view["luck"] = self._luck(event.luck, entry.slot, reader, len(reader.events))
                        view["hand_luck"] = self._luck(reader.hand_luck, entry.slot, reader)
                        finals.append((entry.slot, view))
                    del self.readers[entry.slot]
                else:
                    reader.push(event)
            except GinError as error:
                raise GinError(f"events.{number}: {error}") from None
        return finals

    def _luck(self, word: str | None, slot: int, reader: HandReader, number: int = 0) -> int:
        """A random word: the host's, or where it sends none, one that follows from the seed and the hand."""
        if word is None:
            deal = reader.deal
            text = f"{self.seed} {slot} {deal.hand} {deal.starts} {sorted(deal.cards)} {deal.upcard} {number}"
            word = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return int(word, 16)

    def _view(self, entry: GameEntry) -> np.ndarray:
        reader = self.readers.get(entry.slot)
        if reader is None:
            raise GinError("there is no hand in play; its events begin with a deal")
        view = reader.view()
        view["luck"] = self._luck(entry.luck, entry.slot, reader, len(reader.events))
        if entry.hand_luck is not None:
            reader.hand_luck = entry.hand_luck
        view["hand_luck"] = self._luck(reader.hand_luck, entry.slot, reader)
        if entry.legal is not None:
            _restrict(view, entry.legal)
        return view


def _joined(parts: list[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    views = np.concatenate([view for _, view in parts]) if parts else np.zeros(0, VIEW)
    return views, np.array([slot for slot, _ in parts], np.int64)


def _restrict(view: np.ndarray, texts: list[str]) -> None:
    """Leaves in a view the actions that the host allows, which the rules have to allow too."""
    allowed = np.zeros_like(view["legal"][0])
    for text in texts:
        action = parse_action(text)
        part, bit = divmod(action, NUM_CARDS)
        if action >= NUM_ACTIONS or not view["legal"][0, part] >> bit & 1:
            ours = ", ".join(legal_texts(read_views(view)[0]))
            raise GinError(f"legal: {quoted(text)} is not allowed by these rules; allowed: {ours}")
        allowed[part] |= 1 << bit
    view["legal"][0] = allowed


def _check_implied(entry: GameEntry, view: Seen) -> None:
    """Raises if a host's question is about another position than the one after its events."""
    ours = question(view)
    for name in ("phase", "hand", "upcard"):
        given, expected = getattr(entry, name), ours[name]
        if name in entry.model_fields_set and sorted(given or "") != sorted(expected or ""):
            raise GinError(f"{name} is {json.dumps(given)}, but after these events {json.dumps(expected)}")


def answer_texts(views: np.ndarray, slots: np.ndarray, actions: np.ndarray) -> list[dict[str, Any]]:
    """The entries of an ``answers`` message for decided views."""
    phases = views["phase"].tolist()
    return [
        {"slot": slot, "action": action_name(action, phase)}
        for slot, action, phase in zip(slots.tolist(), actions.tolist(), phases, strict=True)
    ]


class Conversation:
    """A host's messages to a player, answered one by one.

    Args:
        make: makes the player from a seed.
        max_batch: most games in one line; the host's own limit when left out.
    """

    def __init__(self, make: Callable[[int], Player], max_batch: int | None = None) -> None:
        self._make, self._max_batch = make, max_batch
        self._player: Player | None = None
        self._hands: Hands | None = None

    def reply(self, line: bytes) -> dict[str, Any] | None:
        """The answer to a line; ``None`` for a ``bye``. An ``error`` says what is wrong with the line, or why the player failed."""
        try:
            message = read_message(line, TO_PROGRAM)
            if isinstance(message, Hello):
                return self._greet(message)
            if isinstance(message, Act):
                return {"type": "answers", "id": message.id, "answers": self._decide(message)}
            if self._hands is not None:
                self._decide(message)
            return None
        except GinError as error:
            if b'"hello"' in line:
                # What follows is meant for other rules than those of an earlier hello.
                self.close()
            return {"type": "error", "message": str(error)}

    def _greet(self, hello: Hello) -> dict[str, Any]:
        self.close()
        self._player, self._hands = self._make(hello.seed), Hands(hello.rules, hello.seed)
        batch = {} if self._max_batch is None else {"max_batch": min(self._max_batch, hello.max_batch)}
        return {"type": "ready", "protocol": VERSION, "name": self._player.name[:100]} | batch

    def _decide(self, message: Act | Bye) -> list[dict[str, Any]]:
        if self._player is None or self._hands is None:
            raise MessageError("the first message is hello")
        questions = self._hands.read(message.games)
        if len(questions.finals):
            self._player.observe_hands(questions.finals, questions.final_slots)
        if not len(questions.views):
            return []
        return answer_texts(
            questions.views, questions.slots, ask_player(self._player, questions.views, questions.slots)
        )

    def close(self) -> None:
        """Ends the player's program, if it is one."""
        if self._player is not None:
            close_players([self._player])
            self._player = self._hands = None
