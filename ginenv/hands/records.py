"""Text records of hands and games: the deal, every action and the outcome, in one readable file that can be replayed.

    ginrecord 1 game
    rules: eaai@…
    players: formula | simple
    keys: 9e3779b97f4a7c15 0 0

    hand 1, seat 0 starts
    seat 0: 7C 8C 9C TD TH 2S 3S 9H QD KD
    seat 1: …
    upcard: 4H
    stock: 5D 6S …
    1. seat 0: pass
    2. seat 1: pass (5D)
    3. seat 0: discard KD
    4. seat 1: take (KD); knock QS
    result: knock by seat 1, deadwood 4 against 31; 27 to seat 1
    score: 0 | 27

    end: won by seat 1, total 0 | 102
    check: 5f0c2a11

Cards are in the order dealt. A card drawn or taken is in brackets after the action; after the second of two passes, it is the card
that the starter then has to draw. An eleven/ten deal has ``eleventh`` instead of ``upcard``. ``players``, ``keys`` (the
game's key and the seats' luck, from which a game still in play continues) and everything in brackets may be left out. Blank lines
and lines that begin with ``#`` are ignored. ``check`` is the CRC-32 of the other lines, or ``-`` in a record made by hand. A single
hand is ``ginrecord 1 hand``, without score and end.

Reading a record plays every action and compares every line with what the rules make of it; an error names the line.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ginenv.engine.actions import parse_action
from ginenv.engine.cards import card_name, format_cards, parse_cards
from ginenv.engine.engine import NO_CARD
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, TextError, is_text, must_be, reason_of
from ginenv.hands.hand import Hand, Match
from ginenv.hands.text import parse_rules, rules_text

_HEAD = re.compile(r"ginrecord 1 (hand|game)")
_HAND = re.compile(r"hand (\d{1,6}), seat ([01]) starts")


@dataclass(frozen=True)
class Record:
    """A record as it was read.

    Attributes:
        hand: the hand; in a record of a game, the last one.
        match: the game, or None for a record of one hand.
        players: names of seats 0 and 1.
    """

    hand: Hand
    match: Match | None = None
    players: tuple[str, str] = ("", "")

    @property
    def hands(self) -> list[Hand]:
        """All hands of the record in order, including one still in play."""
        if self.match is None:
            return [self.hand]
        return self.match.played + ([] if self.hand.is_over else [self.hand])

    @property
    def names(self) -> tuple[str, str]:
        """What the seats are called: by the players' names, where they have some."""
        return self.players[0] or "seat 0", self.players[1] or "seat 1"


def format_record(played: Hand | Match, players: tuple[str, str] = ("", "")) -> str:
    """The record of a hand or a game, in play or over.

    Args:
        played: the hand or the game.
        players: names of seats 0 and 1; left out when empty.

    Raises:
        TextError: if a name could not be read back.
    """
    for name in players:
        if name != " ".join(name.split()) or "|" in name:
            raise TextError(
                must_be("a player's name in a record", "one line without | and outer or double blanks", name)
            )
        _check_printable(name)
    match = played if isinstance(played, Match) else None
    hand = played if isinstance(played, Hand) else played.hand
    lines = [f"ginrecord 1 {'game' if match else 'hand'}", f"rules: {rules_text(hand.rules)}"]
    if any(players):
        lines.append(f"players: {players[0]} | {players[1]}")
    keys = [int(hand.state["key"][0]), *(int(luck) for luck in hand.state["luck"][0])]
    if any(keys):
        lines.append("keys: " + " ".join(f"{key:x}" for key in keys))
    if match is None:
        lines += ["", *_hand_lines(hand, 1)]
    else:
        sheet = match.sheet()
        for number, done in enumerate(match.played, 1):
            lines += ["", *_hand_lines(done, number), f"score: {_score_text(sheet.rows[number - 1][1])}"]
        if not hand.is_over:
            lines += ["", *_hand_lines(hand, len(match.played) + 1)]
        if match.is_over:
            lines += ["", f"end: {_end_text(match)}"]
    return "\n".join([*lines, f"check: {_check(lines)}"]) + "\n"


def _check_printable(name: str) -> None:
    # A terminal would obey control characters.
    if not name.isprintable():
        raise TextError(must_be("a player's name in a record", "printable characters", name))


def _check(lines: list[str]) -> str:
    return f"{zlib.crc32(chr(10).join(line.strip() for line in lines if line).encode()):08x}"


def _score_text(score: tuple[int, int]) -> str:
    return f"{score[0]} | {score[1]}"


def _end_text(match: Match) -> str:
    sheet = match.sheet()
    net = "" if sheet.net is None else f", net {sheet.net}"
    winner = "nobody" if sheet.winner is None else f"seat {sheet.winner}"
    return f"won by {winner}, total {sheet.totals[0]} | {sheet.totals[1]}{net}"


def _hand_lines(hand: Hand, number: int) -> list[str]:
    rules, state = hand.rules, hand.state[0]
    starter, size = int(state["starter"]), rules.hand_size
    deck = state["deck"][: rules.num_cards].tolist()
    dealt = {starter: deck[:size], 1 - starter: deck[size : 2 * size]}
    lines = [
        f"hand {number}, seat {starter} starts",
        f"seat 0: {format_cards(dealt[0])}",
        f"seat 1: {format_cards(dealt[1])}",
        f"{_turned(rules)}: {card_name(deck[2 * size])}",
        f"stock: {format_cards(deck[2 * size + 1 :])}",
    ]
    again = hand.after(0)
    turns: list[tuple[int, list[str]]] = []
    for action in hand.history:
        if not turns or turns[-1][0] != again.turn:
            turns.append((again.turn, []))
        turns[-1][1].append(_played(again, action))
    lines += [f"{k}. seat {seat}: {'; '.join(steps)}" for k, (seat, steps) in enumerate(turns, 1)]
    if hand.outcome is not None:
        lines.append(f"result: {hand.outcome}")
    return lines


def _turned(rules: Rules) -> str:
    return "eleventh" if rules.block["eleven_ten"] else "upcard"


def _played(table: Hand | Match, action: int, card_named: bool = True) -> str:
    """Plays an action in a hand or the game around it; returns its words, and in brackets the card that it added to a hand."""
    hand = table.hand if isinstance(table, Match) else table
    words, position = hand.action_text(action), int(hand.state["position"][0])
    table.push(action)
    drew = hand.state["position"][0] > position
    card = int(hand.state["deck"][0, position] if drew else hand.state["taken"][0])
    return words if card == NO_CARD or not card_named else f"{words} ({card_name(card)})"


def parse_record(text: str) -> Record:
    """Parses the text of a record.

    Raises:
        TextError: at the first line that is malformed, breaks the rules or contradicts the replay; the message names the line.
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TextError(must_be("a record", "a text", text))
        stripped = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)]
        self.lines = [(number, line) for number, line in stripped if line and not line.startswith("#")]
        self.at = 0
        self.last = len(stripped)

    def read(self) -> Record:
        if not is_text("".join(line for _, line in self.lines)):
            raise TextError("line 1: the record holds half a character (a lone surrogate)")
        try:
            return self._read()
        except GinError as error:
            number = self.lines[min(self.at, len(self.lines)) - 1][0] if self.lines and self.at else 1
            number = self.last if self.at > len(self.lines) else number
            raise TextError(f"line {number}: {error}") from None

    def _next(self, what: str) -> str:
        """The next line, which errors name from now on."""
        self.at += 1
        if self.at > len(self.lines):
            raise TextError(f"expected {what}, got the end of the record")
        return self.lines[self.at - 1][1]

    def _peek(self) -> str:
        return self.lines[self.at][1] if self.at < len(self.lines) else ""

    def _field(self, name: str) -> str:
        line = self._next(f"{name!r}")
        if not line.startswith(f"{name}:"):
            raise TextError(f"expected {name!r}, got {line[:40]!r}")
        return line[len(name) + 1 :].strip()

    def _optional(self, name: str) -> str:
        return self._field(name) if self._peek().startswith(f"{name}:") else ""

    def _read(self) -> Record:
        head = _HEAD.fullmatch(line := self._next("'ginrecord 1'"))
        if head is None:
            raise TextError(f"expected 'ginrecord 1 hand' or 'ginrecord 1 game', got {line[:40]!r}")
        self.rules = parse_rules(self._field("rules"))
        players = self._players(self._optional("players"))
        self.keys = self._keys(self._optional("keys"))
        table = self._game() if head[1] == "game" else self._hand(1, Hand.deal)
        match, hand = (table, table.hand) if isinstance(table, Match) else (None, table)
        found = _check([line for _, line in self.lines[: self.at]])
        if self._field("check") not in (found, "-"):
            raise TextError(
                "the record was changed: it does not agree with its check line (check: - for one made by hand)"
            )
        if self.at < len(self.lines):
            raise TextError(f"expected the end of the record, got {self._next('the end')[:40]!r}")
        return Record(hand, match, players)

    def _players(self, text: str) -> tuple[str, str]:
        names = [name.strip() for name in text.split("|")] if text else ["", ""]
        if len(names) != 2:
            raise TextError(f"expected two players such as 'formula | simple', got {text[:40]!r}")
        for name in names:
            _check_printable(name)
        return names[0], names[1]

    def _keys(self, text: str) -> np.ndarray:
        words = text.split() or ["0", "0", "0"]
        if len(words) != 3 or not all(re.fullmatch("[0-9a-f]{1,16}", word) for word in words):
            raise TextError(
                f"expected three hexadecimal words (the game's key and the luck of both seats), got {text[:60]!r}"
            )
        return np.array([int(word, 16) for word in words], np.uint64)

    def _game(self) -> Match:
        match = self._hand(1, Match)
        number = 1
        while True:
            if match.hand.is_over:
                self._expect(f"score: {_score_text(match.score)}")
            if not self._peek().startswith("hand "):
                break
            number += 1
            self._hand(number, match)
        if match.is_over:
            self._expect(f"end: {_end_text(match)}")
        return match

    def _hand(self, number: int, table: Any) -> Any:
        """Reads and plays a hand. ``table`` is the game in play or, for the first hand, the callable: ``Match`` or ``Hand.deal``."""
        head = _HAND.fullmatch(line := self._next(f"'hand {number}'"))
        if head is None or int(head[1]) != number:
            raise TextError(f"expected 'hand {number}, seat 0 starts' (or seat 1), got {line[:40]!r}")
        starter = int(head[2])
        if number > 1:
            twin = table.copy()
            twin.next_hand()
            self._compare(f"hand {number}, seat {twin.hand.turn} starts", line)
        dealt = [self._cards(f"seat {seat}", self.rules.hand_size) for seat in (0, 1)]
        turned = self._cards(_turned(self.rules), 1)
        stock = self._cards("stock", self.rules.num_cards - 2 * self.rules.hand_size - 1)
        deck = dealt[starter] + dealt[1 - starter] + turned + stock
        if number > 1:
            table.next_hand(deck)
        else:
            table = table(self.rules, deck=deck, starter=starter, seed=0)
        hand = table.hand if isinstance(table, Match) else table
        if number == 1:
            hand.state["key"], hand.state["luck"] = self.keys[0], self.keys[1:]
        turns = 0
        while re.match(r"\d", self._peek()):
            turns += 1
            self._turn(table, hand, turns)
        if hand.outcome is not None:
            self._expect(f"result: {hand.outcome}")
        return table

    def _cards(self, name: str, count: int) -> list[int]:
        cards = parse_cards(self._field(name))
        if len(cards) != count:
            raise TextError(f"{name}: expected {count} cards, got {len(cards)}")
        return cards

    def _turn(self, table: Hand | Match, hand: Hand, number: int) -> None:
        line, seat, steps = self._next("a turn"), hand.turn, []
        for text in line.partition(":")[2].split(";"):
            words, bracket, _ = text.partition("(")
            if hand.is_over or hand.turn != seat:
                raise TextError(f"turn {number} of seat {seat} was over before {text.strip()[:40]!r}")
            steps.append(_played(table, parse_action(words), bool(bracket)))
        self._compare(f"{number}. seat {seat}: {'; '.join(steps)}", line)

    def _expect(self, expected: str) -> None:
        """Reads a line that follows from those before it."""
        self._compare(expected, self._next(repr(expected)))

    def _compare(self, expected: str, line: str) -> None:
        if " ".join(line.split()) != expected:
            raise TextError(f"expected {expected!r}, got {line[:80]!r}")


def read_record(path: str | Path) -> Record:
    """Reads a record from a file.

    Raises:
        TextError: if the file cannot be read or does not hold a record; the message names the file and the line.
    """
    try:
        # A pipe or a device might never end.
        if Path(path).exists() and not Path(path).is_file():
            raise TextError(f"{path} cannot be read: it is not a regular file")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TextError(f"{path} cannot be read: {reason_of(error)}") from None
    try:
        return parse_record(text)
    except TextError as error:
        raise TextError(f"{path}, {error}") from None
