"""Hands in a store that is thrown away: they compile and load what a table needs before a person sits down at it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

from agents.play.hints import FORMULAS, hint
from agents.play.session import Session
from agents.play.store import Home
from ginenv.tables.players import make_player

# One preset where the program spreads melds and lays off cards, and one where this is done by hand.
RULES = ("dg-standard", "ht1")


def rehearse(opponent: str, show: Callable[[Session], object], rules: str) -> None:
    """Plays a hand to its end.

    Args:
        opponent: whom the person plays, a name that needs no permission.
        show: called before every action and at the end; shows the game in play.
        rules: a preset.
    """
    with tempfile.TemporaryDirectory(prefix="gin-") as folder, Home(folder) as home:
        session = Session(home, home.create("Nobody"), seed=1)
        try:
            session.set_option("rules", rules)
            session.set_option("opponent", opponent)
            live, person = session.new_game(), make_player("formula")
            while not live.hand.is_over:
                show(session)
                if live.hand.turn == live.seat:
                    hint(live.turn, FORMULAS)
                    live.play(int(person.act(live.hand.view(live.seat))[0]))
                else:
                    live.opponent_plays()
            show(session)
        finally:
            session.close()
