"""Practice in the browser: a position, a button for every move, and what would have been better and why."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import Response

from agents.display_names import display_rules
from agents.play.moves import in_words
from agents.play.options import variation
from agents.play.practice import EVERYBODY, KINDS, MINE, Answer, Exercise, Practice, wait_words
from agents.play.review import shared_analyst
from agents.play.skill import standing
from agents.web.form_fields import integer_field
from agents.web.pages import table_picture
from agents.web.request import Request
from ginenv.engine.actions import action_name, actions_of, parse_action
from ginenv.engine.rules import Rules
from ginenv.errors import GinError

_OWNERS = (MINE, EVERYBODY)


class _Answered(NamedTuple):
    """An answer that is shown until the person goes on."""

    exercise: Exercise
    answer: Answer
    again: str


def _practice(request: Request) -> Practice:
    return Practice(request.people.home, request.person.name, shared_analyst)


def _moves(view: Any) -> dict[str, list[tuple[str, str]]]:
    """The moves with what stands on their buttons: those with several cards by what is done with a card, then the others."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for action in actions_of(view["legal"]):
        verb, _, card = (name := action_name(action, int(view["phase"]))).rpartition(" ")
        groups.setdefault(verb, []).append((name, card))
    alone = [name for verb, group in groups.items() if not verb or len(group) == 1 for name, _ in group]
    several = {verb: group for verb, group in groups.items() if verb and len(group) > 1}
    return several | ({"": [(name, in_words(name, view)) for name in alone]} if alone else {})


def practice(request: Request) -> Response:
    """The answer that has just been given, or else the next position."""
    kind, whose = (request.query_params.get(name, "") for name in ("kind", "whose"))
    person, practice = request.person, _practice(request)
    if request.query_params.get("next"):
        person.answered = None
    practice.add_new()
    answered: _Answered | None = person.answered
    exercise = answered.exercise if answered else practice.next(kind, whose)
    values: dict[str, Any] = {}
    if exercise is not None:
        view = exercise.view[0]
        values["picture"] = table_picture(view, "the opponent", None, "you")
        values["moves"] = _moves(view)
        values["rules"] = display_rules(variation(Rules.from_block(view["rules"])))
    return request.page(
        "practice.html",
        kind=kind,
        whose=whose,
        kinds=KINDS,
        owners=_OWNERS,
        exercise=exercise,
        answered=answered,
        in_words=in_words,
        progress=practice.progress(),
        skill=standing(request.people.home, person.name),
        **values,
    )


def answer(request: Request) -> Response:
    """Judges a move, and shows the answer."""
    person, practice, fields = request.person, _practice(request), request.fields
    kind, whose = fields.get("kind", ""), fields.get("whose", "")
    with person.shows_errors():
        exercise = practice.exercise(integer_field(fields, "exercise"))
        if exercise.reviews != integer_field(fields, "reviews"):
            raise GinError("this position has been answered already")
        judged = practice.answer(exercise, parse_action(fields.get("move", "")))
        person.answered = _Answered(exercise, judged, wait_words(judged.due))
    return request.go(f"/practice?kind={kind if kind in KINDS else ''}&whose={whose if whose in _OWNERS else ''}")
