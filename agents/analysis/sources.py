"""Where the hands to analyse come from: records, positions and seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ginenv.errors import TextError
from ginenv.hands.hand import Hand
from ginenv.hands.records import parse_record, read_record
from ginenv.hands.text import parse_position, parse_rules
from ginenv.tables.players import close_players, make_player


@dataclass(frozen=True)
class Subject:
    """Hands to analyse, and who played them.

    Attributes:
        hands: the hands in order; the last one may be in play.
        names: names of seats 0 and 1.
    """

    hands: list[Hand]
    names: tuple[str, str]


def read_hands(text: str) -> Subject:
    """The hands of a position (``gin1 ...``), of a record, or of the record in a file.

    Args:
        text: the text, or the file's path.

    Raises:
        TextError: if the text is none of these.
    """
    kind = text.split(maxsplit=1)[0] if text.strip() else ""
    if kind == "gin1":
        return Subject([parse_position(text)], ("seat 0", "seat 1"))
    if kind != "ginrecord" and not Path(text).is_file():
        raise TextError(f"{text[:60]!r} is not a position (gin1 ...), a record or the path of one")
    record = parse_record(text) if kind == "ginrecord" else read_record(text)
    return Subject(record.hands, record.names)


def deal_and_play(
    rules: str, seed: int, players: tuple[str, str], progress: Callable[[int, int], None] | None = None
) -> Subject:
    """The hand that two players play on the deal of a seed.

    Args:
        rules: a preset, with or without changes.
        seed: seed of the deal and of the players.
        players: names of seats 0 and 1.
        progress: called after each action with the number of actions and 0, since nobody knows how many follow.

    Raises:
        GinError: if the rules or a player do not exist.
    """
    hand = Hand.deal(parse_rules(rules), seed=seed)
    seats = [make_player(name, seed + k) for k, name in enumerate(players)]
    try:
        while not hand.is_over:
            hand.push(int(seats[hand.turn].act(hand.view())[0]))
            if progress is not None:
                progress(len(hand.history), 0)
    finally:
        close_players(seats)
    return Subject([hand], players)
