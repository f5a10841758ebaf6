"""Prepares what a game against the chosen opponent needs, while the person reads a page.

Compiled code loads in a second or two. After an installation it may first have to be compiled, once, which takes a minute or so.
"""

from __future__ import annotations

import time

from agents.play.hints import SEARCH, load_analyst
from agents.play.options import Options
from agents.play.rehearsal import RULES, rehearse
from agents.play.session import Session
from agents.web.jobs import Job, Jobs
from agents.web.pages import page
from agents.web.table import Table
from agents.web.table_page import table_values
from ginenv.hands.hand import Hand
from ginenv.tables.player_names import parse_player, player_names

# A delay, so that the first page, asked for as soon as the server listens, has this machine to itself.
_WAIT = 0.5
# Whom a person plays who has chosen nobody.
_OPPONENT = "formula"
# Seconds to wait for a game before the analyst is loaded.
_LONGEST = 120.0


class Preparations:
    """What is prepared in this process, each opponent with each set of rules once, one after the other."""

    def __init__(self) -> None:
        self._jobs = Jobs(at_once=1)
        self._hints: Job | None = None
        for rules in RULES:
            self._prepare(_OPPONENT, rules)

    def prepare(self, options: Options) -> Job:
        """Begins to prepare a game under a player's options, if that has not begun before, and then what gives hints."""
        # One that needs a permission, such as a program, is not started.
        game = self._prepare(
            options.player if parse_player(options.player).kind in player_names() else _OPPONENT, options.rules
        )
        if options.hints == SEARCH:
            self._hints = self._hints or Job(lambda tell: _load_analyst(game))
        return game

    def _prepare(self, opponent: str, rules: str) -> Job:
        return self._jobs.job((opponent, rules), lambda tell: _make_ready(opponent, rules), stays=True)


def _load_analyst(game: Job) -> None:
    game.wait(_LONGEST)
    load_analyst().decision(Hand.deal(RULES[0], seed=1).view())


def _make_ready(opponent: str, rules: str) -> None:
    """Plays a hand in a store that is thrown away, and draws the table after every action."""
    time.sleep(_WAIT)
    rehearse(opponent, draw, rules)


def draw(session: Session) -> None:
    """Makes the page of the game in play, which nobody gets."""
    page("table_part.html", **table_values(Table(session, print)), messages=[])
