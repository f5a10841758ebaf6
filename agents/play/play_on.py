"""A position of a recorded hand, played on with the same cards against any opponent, for this once: nothing of it is kept.

    session = play_on(file, record, 2, 7, 0, "level-2")      # from before the seventh action of the second hand, in seat 0
    session.resume()

It counts in no statistics, is no record, leaves an unfinished game alone, and no level learns from it.
"""

from __future__ import annotations

import secrets

from agents.play.game import Game
from agents.play.session import Session
from agents.play.store import PlayerFile, UnrecordedPlayer
from ginenv.errors import GinError
from ginenv.hands.records import Record


def play_on(file: PlayerFile, record: Record, number: int, move: int, seat: int | None, opponent: str) -> Session:
    """A session in which a player goes on with a hand of a record; ``resume`` sits down.

    Args:
        file: the player's part of the store.
        record: the record.
        number: number of the hand in it, from 1.
        move: number of the action in the hand before which the player sits down, from 1.
        seat: the player's seat; that of the action when left out.
        opponent: a registered player's name.

    Raises:
        GinError: if there is no such hand, or nothing is left to decide in it.
    """
    if not 1 <= number <= len(record.hands):
        raise GinError(f"there is no hand {number} in this record; its hands are 1 to {len(record.hands)}")
    hand, match = record.hands[number - 1], record.match.copy()
    position = hand.after(min(max(move - 1, 0), len(hand.history)))
    if position.is_over:
        raise GinError("this hand is over; go back to a position in it")
    match.played = match.played[: number - 1]
    match.go_on_with(position)
    unrecorded = UnrecordedPlayer(file)
    unrecorded.game = Game(
        record=match,
        opponent=opponent,
        easy=False,
        seed=secrets.randbits(31),
        name=f"play-on-{secrets.token_hex(4)}",
        order=[],
        seat=0 if (position.turn if seat is None else seat) == 0 else 1,
    )
    return Session(unrecorded, freeze=True)
