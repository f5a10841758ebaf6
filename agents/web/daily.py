"""The page of the daily deal: one hand a day, and the person's result beside the levels'."""

from __future__ import annotations

import datetime

from starlette.responses import Response

from agents.play.daily import OPPONENT, daily_game, daily_name, level_results
from agents.play.records_table import StoredGame
from agents.play.session import Session
from agents.web.jobs import PATIENCE, Jobs
from agents.web.request import Request

# What the levels make of a day's cards, for everybody at this server.
_results = Jobs(at_once=1)


def _played(session: Session, day: datetime.date) -> StoredGame | None:
    return next((game for game in session.file.games() if game.name == daily_name(day)), None)


def _points(played: StoredGame) -> int | None:
    """The points that the person has won; None if the deal was given up, so that no hand has ended."""
    return played.score[0] - played.score[1] if played.hands else None


def _result(played: StoredGame) -> str:
    return "You gave it up" if (points := _points(played)) is None else f"Your result is {points:+d}"


def todays_deal(session: Session) -> str:
    """What there is to do about today's deal, in words for the link that leads to it."""
    day, game = datetime.date.today(), session.file.game
    if game is not None and game.name == daily_name(day):
        return "Go on with it"
    if played := _played(session, day):
        return f"{_result(played)}; see what the levels made of the same cards"
    return "Play it, and see what the levels make of your cards"


def daily(request: Request) -> Response:
    """Today's deal, to be played or, once it is played or given up, with everybody's results."""
    day, session = datetime.date.today(), request.person.session
    if session.file.game is not None and session.file.game.name == daily_name(day):
        return request.go("/table")
    played = _played(session, day)
    if played is None:
        return request.page(
            "daily.html", day=day, opponent=OPPONENT, unfinished=session.unfinished(), loss=session.loss, rows=[]
        )
    mine = _points(played)
    job = _results.job(day, lambda tell: level_results(day, tell), stays=True)
    if not job.wait(PATIENCE):
        words = f"{_result(played)}. The levels are playing the same cards: {job.done} of {job.total or '…'} have."
        return request.progress(job, "/daily", "Today’s deal", words)
    if request.htmx:
        return request.go("/daily")
    if job.error:
        _results.pop(day, None)
        request.person.say(f"The levels could not play: {job.error}", "warning")
    everybody = [(mine, ""), *((points, name) for name, points in (job.result or {}).items())]
    rows = sorted(everybody, key=lambda row: (row[0] is None, -(row[0] or 0)))
    return request.page("daily.html", day=day, opponent=OPPONENT, rows=rows, game=played.id, given_up=mine is None)


def play(request: Request) -> Response:
    """Deals today's hand, if the person has not begun it; an unfinished game is lost, if the form confirms it."""
    person, day = request.person, datetime.date.today()
    in_play = person.session.file.game
    may_lose = in_play is None or (request.fields.get("sure") and in_play.name != daily_name(day))
    if may_lose and _played(person.session, day) is None:
        with person.shows_errors():
            person.table.begin(daily_game(day))
    return request.go("/daily")
