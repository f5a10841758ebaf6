"""Prepares what the first game needs, while the person reads the first page.

Compiled code loads in a second or two. After an installation it first has to be compiled, once, which takes a minute or so.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

from agents.play.game import PERSON
from agents.play.store import Home
from agents.web.browser_session import BrowserSession, Sessions
from agents.web.pages import page
from agents.web.view_model import table_values
from ginenv.tables.players import make_player

# One preset where the program spreads melds and lays off cards, and one where this is done by hand.
_RULES = ("dg-standard", "ht1")
# A delay, so that the first page, asked for as soon as the server listens, has this machine to itself.
_WAIT = 0.5


def make_ready(tell: Callable[[int, int], None]) -> None:
    """Plays hands in a store that is thrown away, and draws the table after every action.

    Args:
        tell: called with how many hands are done, and how many there are.
    """
    time.sleep(_WAIT)
    with tempfile.TemporaryDirectory(prefix="gin-") as folder, Home(folder) as home:
        sessions = Sessions(home)
        browser = sessions.create("Nobody")
        try:
            for done, rules in enumerate(_RULES):
                tell(done, len(_RULES))
                browser.session.set_option("rules", rules)
                browser.begin()
                _play_hand(browser)
        finally:
            sessions.close()


def _play_hand(browser: BrowserSession) -> None:
    live, person = browser.live, make_player("formula")
    while not live.hand.is_over:
        page("table_part.html", t=table_values(browser), cloth="green", messages=[])
        if live.hand.turn == PERSON:
            live.play(int(person.act(live.hand.view(PERSON))[0]))
        else:
            live.opponent_plays()
    page("table_part.html", t=table_values(browser), cloth="green", messages=[])
