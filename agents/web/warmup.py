"""Prepares what the first game needs, while the person reads the first page.

Compiled code loads in a second or two. After an installation it first has to be compiled, once, which takes a minute or so.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from agents.play.rehearsal import RULES, rehearse
from agents.play.session import Session
from agents.web.browser_session import BrowserSession
from agents.web.pages import page
from agents.web.view_model import table_values

# A delay, so that the first page, asked for as soon as the server listens, has this machine to itself.
_WAIT = 0.5


def make_ready(tell: Callable[[int, int], None], opponent: str = "formula", wait: float = _WAIT) -> None:
    """Plays hands in a store that is thrown away, and draws the table after every action.

    Args:
        tell: called with how many hands are done, and how many there are.
        opponent: who plays in them.
        wait: seconds to wait before.
    """
    time.sleep(wait)
    for done, rules in enumerate(RULES):
        tell(done, len(RULES))
        rehearse(opponent, draw, rules)


def draw(session: Session) -> None:
    """Makes the page of the game in play, which nobody gets."""
    page("table_part.html", t=table_values(BrowserSession(session)), cloth="green", messages=[])
