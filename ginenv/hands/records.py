"""Records of games: a text file with one position a line (``ginenv.hands.text``), which can be replayed.

    ginrecord 2 game
    players: formula | simple

    # hand 1, seat 0 starts
    # 1. seat 0: pass
    # 2. seat 1: pass (5D)
    # 3. seat 0: discard KD
    # 4. seat 1: take (KD); knock QS
    # knock by seat 1, deadwood 4 against 31; 27 to seat 1
    gin1 rules=eaai@… deck=… actions=ppKDtkQS key=… luck=…:… check=5f0c2a11

    # hand 2, seat 1 starts
    …
    end

Every hand is the position that it ended in, or has come to; each starts where the one before it has left the game. ``players`` may be
left out. Blank lines and lines that begin with ``#`` are for people: a card drawn or taken is in brackets after the action; after the
second of two passes, it is the card that the starter then has to draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ginenv.engine.cards import card_name
from ginenv.engine.engine import NO_CARD
from ginenv.engine.state import same_records
from ginenv.errors import GinError, TextError, must_be, reason_of
from ginenv.hands.hand import Hand, Match
from ginenv.hands.text import format_position, parse_position

_HEAD = "ginrecord 2 game"


@dataclass(frozen=True)
class Record:
    """A record as it was read.

    Attributes:
        match: the game.
        players: names of seats 0 and 1.
    """

    match: Match
    players: tuple[str, str] = ("", "")

    @property
    def hands(self) -> list[Hand]:
        """All hands of the record in order, including one still in play."""
        return self.match.played + ([] if self.match.hand.is_over else [self.match.hand])

    @property
    def names(self) -> tuple[str, str]:
        """What the seats are called: by the players' names, where they have some."""
        return self.players[0] or "seat 0", self.players[1] or "seat 1"


def format_record(match: Match, players: tuple[str, str] = ("", "")) -> str:
    """The record of a game, in play or over.

    Args:
        match: the game.
        players: names of seats 0 and 1; left out when empty.

    Raises:
        TextError: if a name could not be read back.
    """
    lines = [_HEAD]
    if any(players):
        lines.append(f"players: {players[0]} | {players[1]}")
        if _players(lines[-1]) != players:
            raise TextError(must_be("a player's name in a record", "one line without |", players))
    for number, hand in enumerate(Record(match).hands, 1):
        lines += ["", *(f"# {line}" for line in _told(hand, number)), format_position(hand)]
    return "\n".join([*lines, "end"]) + "\n"


def _told(hand: Hand, number: int) -> Iterator[str]:
    """A hand in words, a line for each turn."""
    yield f"hand {number}, seat {int(hand.state['starter'][0])} starts"
    again, turns = hand.after(0), list[tuple[int, list[str]]]()
    for action in hand.history:
        seat, words, position = again.turn, again.action_text(action), int(again.state["position"][0])
        again.push(action)
        drew = again.state["position"][0] > position
        card = int(again.state["deck"][0, position] if drew else again.state["taken"][0])
        if not turns or turns[-1][0] != seat:
            turns.append((seat, []))
        turns[-1][1].append(words if card == NO_CARD else f"{words} ({card_name(card)})")
    yield from (f"{k}. seat {seat}: {'; '.join(steps)}" for k, (seat, steps) in enumerate(turns, 1))
    if hand.outcome is not None:
        yield str(hand.outcome)


def parse_record(text: str) -> Record:
    """Parses the text of a record.

    Raises:
        TextError: at the first line that is malformed, breaks the rules or contradicts the lines before it; the message names the line.
    """
    stripped = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)]
    lines = [(number, line) for number, line in stripped if line and not line.startswith("#")]
    head, last = (lines[0], lines[-1]) if lines else ((1, ""), (1, ""))
    with _at(head[0]):
        if head[1] != _HEAD:
            raise TextError(f"expected {_HEAD!r}, got {head[1][:40]!r}")
    match, players = None, ("", "")
    for number, line in lines[1:-1]:
        with _at(number):
            if match is None and line.startswith("players:"):
                players = _players(line)
            else:
                match = _with_next(match, parse_position(line))
    with _at(last[0]):
        if match is None or last[1] != "end":
            raise TextError("the record breaks off: its last line is 'end', after at least one hand")
    return Record(match, players)


@contextmanager
def _at(line: int) -> Iterator[None]:
    try:
        yield
    except GinError as error:
        raise TextError(f"line {line}: {error}") from None


def _players(line: str) -> tuple[str, str]:
    names = [name.strip() for name in line.removeprefix("players:").split("|")]
    # A terminal would obey control characters.
    if len(names) != 2 or not line.isprintable():
        raise TextError(f"expected two players in printable characters, such as 'formula | simple', got {line[:40]!r}")
    return names[0], names[1]


def _with_next(match: Match | None, hand: Hand) -> Match:
    """A game with one more hand, which has to start where the others have left the game."""
    state = hand.state[0]
    deck = state["deck"][: hand.rules.num_cards].tolist()
    if match is None:
        match = Match(hand.rules, deck=deck, starter=int(state["starter"]), seed=0)
        match.hand.state["key"], match.hand.state["luck"] = state["key"], state["luck"]
    else:
        match.next_hand(deck)
    begun = hand.after(0)
    if not same_records(match.hand.state, begun.state):
        lines = format_position(match.hand).split(), format_position(begun).split()
        expected, got = next(pair for pair in zip(*lines, strict=False) if pair[0] != pair[1])
        raise TextError(f"the hand does not follow from those before it: expected {expected!r}, got {got!r}")
    match.go_on_with(hand)
    return match


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
