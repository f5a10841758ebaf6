"""The page of a player's mistakes over all games, by kind."""

from __future__ import annotations

from collections import Counter

from starlette.responses import Response

from agents.analysis import KINDS
from agents.play.moves import count
from agents.play.review import analyse_games, mistakes, num_analysed, shared_analyst
from agents.web.request import Request
from ginenv.errors import GinError


def mistakes_page(request: Request) -> Response:
    """The mistakes, or those of a kind; and how far the analysis of all hands has come."""
    kind, person, home = request.query_params.get("kind", ""), request.person, request.people.home
    job = person.jobs.find("all")
    if request.htmx:
        # The page asks for this part again and again while the job works; the list itself follows once it is done.
        return request.go("/mistakes") if job is None or job.over else request.part("analysing_part.html", job=job)
    if kind and kind not in KINDS:
        raise GinError(f"there is no kind of mistakes {kind[:40]!r}; there are {', '.join(KINDS)}")
    analysed = ""
    if job is not None and job.result is not None:
        analysed = (
            f"{count(job.result, 'hand')} analysed." if job.result else "All of your hands were analysed already."
        )
    found = mistakes(home, person.name)
    return request.page(
        "mistakes.html",
        job=job,
        analysed=analysed,
        kind=kind,
        kinds=KINDS,
        numbers=Counter(each.kind for each in found),
        hands=num_analysed(home, person.name),
        mistakes=[each for each in found if kind in ("", each.kind)],
        here="/mistakes",
    )


def analyse_all(request: Request) -> Response:
    """Begins to analyse those of the player's hands that have not been analysed yet."""
    home, name, jobs = request.people.home, request.person.name, request.person.jobs
    running = jobs.find("all")
    if running is not None and running.over:
        jobs.forget("all")
    jobs.job("all", lambda tell: analyse_games(home, name, shared_analyst(), tell), stays=True)
    return request.go("/mistakes")
