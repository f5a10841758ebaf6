"""Hands in a store that is thrown away: they compile and load what a table needs before a person sits down at it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

from agents.play.hints import FORMULAS
from agents.play.session import Session
from agents.play.store import Home
from ginenv.hands.records import format_record, parse_record
from ginenv.tables.players import make_player

# One preset where the program spreads melds and lays off cards, and one where this is done by hand.
RULES = ("dg-standard", "ht1")


def rehearse(opponent: str, show: Callable[[Session], object], rules: str) -> None:
    """Plays a hand to its end, and deals the next unless the game is over.

    Args:
        opponent: whom the person plays, a name that needs no permission.
        show: called before every action and at the end; shows the game in play.
        rules: a preset.
    """
    with tempfile.TemporaryDirectory(prefix="gin-") as folder, Home(folder) as home:
        session = Session(home.create("Nobody"), seed=1)
        try:
            session.set_option("rules", rules)
            session.set_option("opponent", opponent)
            session.set_option("hints", FORMULAS)
            session.new_game()
            person = make_player("formula")
            while not session.hand.is_over:
                show(session)
                if session.is_turn:
                    session.hint()
                    session.play(int(person.act(session.hand.view(session.seat))[0]))
                session.go_on()
            show(session)
            if not session.match.is_over:
                session.next_hand()
                show(session)
                # As a game that goes on later is read.
                parse_record(format_record(session.match))
        finally:
            session.close()
