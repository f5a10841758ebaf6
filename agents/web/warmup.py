"""Prepares what a game against the chosen opponent needs, while the person reads a page.

Compiled code loads in a second or two. After an installation it may first have to be compiled, once, which takes a minute or so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

from agents.play.hints import SEARCH, load_analyst
from agents.play.rehearsal import RULES, rehearse
from agents.play.session import Session
from agents.web.browser_session import BrowserSession
from agents.web.jobs import Job
from agents.web.pages import page
from agents.web.view_model import table_values
from ginenv.hands.hand import Hand
from ginenv.tables.players import parse_player, player_names

# A delay, so that the first page, asked for as soon as the server listens, has this machine to itself.
_WAIT = 0.5
# Whom a person plays who has chosen nobody.
_OPPONENT = "formula"
# Seconds to wait for a game before the analyst is loaded.
_LONGEST = 120.0


class Preparations:
    """What is prepared in this process, each opponent with each set of rules once, one after the other."""

    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], Job] = {}
        self._slot = threading.Semaphore()
        self._hints: Job | None = None
        for rules in RULES:
            self.prepare(_OPPONENT, rules)

    def prepare(self, opponent: str, rules: str) -> Job:
        """Begins to prepare a game, if that has not begun before.

        Args:
            opponent: name of the opponent; one that needs a permission, such as a program, is not started.
            rules: rules of the game.
        """
        if parse_player(opponent).kind not in player_names():
            opponent = _OPPONENT
        if (opponent, rules) not in self._jobs:
            self._jobs[opponent, rules] = Job(partial(_make_ready, opponent, rules), self._slot)
        return self._jobs[opponent, rules]

    def prepare_hints(self, source: str) -> None:
        """Begins to load the analyst that gives hints, once, when the games that are being prepared are ready."""
        if source == SEARCH and self._hints is None:
            waiting = list(self._jobs.values())
            self._hints = Job(lambda _: _load_analyst(waiting))


def _load_analyst(waiting: list[Job]) -> None:
    for job in waiting:
        job.wait(_LONGEST)
    load_analyst().decision(Hand.deal(RULES[0], seed=1).view())


def _make_ready(opponent: str, rules: str, tell: Callable[[int, int], None]) -> None:
    """Plays a hand in a store that is thrown away, and draws the table after every action."""
    time.sleep(_WAIT)
    tell(0, 1)
    rehearse(opponent, draw, rules)


def draw(session: Session) -> None:
    """Makes the page of the game in play, which nobody gets."""
    page("table_part.html", t=table_values(BrowserSession(session)), cloth="green", messages=[], turns=False)
