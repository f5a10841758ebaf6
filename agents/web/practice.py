"""Practice in the browser: a position, a button for every move, and what would have been better and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from agents.play.display_names import display_rules
from agents.play.options import variation
from agents.play.practice import EVERYBODY, KINDS, MINE, Answer, Exercise, Practice, wait_words
from agents.play.review import shared_analyst
from agents.play.skill import standing
from agents.web.form_fields import integer_field
from agents.web.pages import table_picture
from agents.web.request import Request
from agents.web.statistics import skill_chart
from ginenv.engine.actions import action_name, actions_of, parse_action
from ginenv.engine.rules import Rules
from ginenv.errors import GinError


@dataclass(frozen=True)
class Answered:
    """An answer that is shown until the person goes on."""

    exercise: Exercise
    answer: Answer
    again: str


def _practice(request: Request) -> Practice:
    return Practice(request.sessions.home, request.browser_session.name, shared_analyst)


def _moves(view: Any) -> dict[str, list[tuple[str, str]]]:
    """The moves with what stands on their buttons: those with several cards by what is done with a card, then the others."""
    found: dict[str, list[tuple[str, str]]] = {}
    for action in actions_of(view["legal"]):
        verb, _, card = (name := action_name(action, int(view["phase"]))).rpartition(" ")
        found.setdefault(verb, []).append((name, card))
    rest = [(name, name) for verb, group in found.items() if not verb or len(group) == 1 for name, _ in group]
    return {verb: group for verb, group in found.items() if verb and len(group) > 1} | ({"": rest} if rest else {})


def practice(request: Request) -> Response:
    """The answer that has just been given, or else the next position."""
    kind, whose = (request.query.get(name, "") for name in ("kind", "whose"))
    browser, practice = request.browser_session, _practice(request)
    if request.query.get("next"):
        browser.answered = None
    practice.add_new()
    answered: Answered | None = browser.answered
    exercise = answered.exercise if answered else practice.next(kind, whose)
    values: dict[str, Any] = {"kind": kind, "whose": whose, "kinds": KINDS, "owners": (MINE, EVERYBODY)}
    values |= {"exercise": exercise, "answered": answered, "progress": practice.progress()}
    shown = standing(request.sessions.home, browser.name)
    values |= {"skill": shown.words, "chart": skill_chart(shown)}
    if exercise is not None:
        view = exercise.view[0]
        picture = table_picture(view, "the opponent", None, "you")
        rules = display_rules(variation(Rules.from_block(view["rules"])))
        values |= {"picture": picture, "moves": _moves(view), "rules": rules}
    return request.page("practice.html", **values)


def answer(request: Request) -> Response:
    """Judges a move, and shows the answer."""
    browser, practice = request.browser_session, _practice(request)
    kind, whose = (request.form.get(name, "") for name in ("kind", "whose"))
    with browser.shows_errors():
        exercise = practice.exercise(integer_field(request.form, "exercise"))
        if exercise.reviews != integer_field(request.form, "reviews"):
            raise GinError("this position has been answered already")
        found = practice.answer(exercise, parse_action(request.form.get("move", "")))
        browser.answered = Answered(exercise, found, wait_words(found.due))
    return request.go(
        f"/practice?kind={kind if kind in KINDS else ''}&whose={whose if whose in (MINE, EVERYBODY) else ''}"
    )
