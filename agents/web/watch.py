"""Pages that show a game step by step: two agents that play, and records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from agents.network.player import NetworkPlayer
from agents.play.display_names import display_opponent
from agents.play.moves import action_words
from agents.play.options import variation
from agents.reports.beliefs import belief_logits
from agents.web.belief_map import belief_map
from agents.web.form_fields import integer_field, seed_of
from agents.web.lobby import opponents
from agents.web.pages import page, table_picture
from agents.web.replay_pages import Moment, Steps, watched_game
from agents.web.request import Request
from ginenv.engine.rules import PRESETS
from ginenv.errors import GinError
from ginenv.hands.records import Record, parse_record
from ginenv.hands.text import parse_rules
from ginenv.tables.players import make_player

_RECORDS_SHOWN = 200


@cache
def _network() -> Any:
    player = make_player("network")
    assert isinstance(player, NetworkPlayer)
    return player.actor


def _beliefs(moment: Moment, names: tuple[str, str]) -> list[dict[str, Any]]:
    """What the installed network infers from each seat about the other hand, beside the true hand."""
    if moment.hand.is_over:
        return []
    views = np.concatenate([moment.hand.view(seat) for seat in (0, 1)])
    chances = 1 / (1 + np.exp(-belief_logits(_network(), views).astype(np.float64)))
    shown = []
    for seat in (0, 1):
        opponent_hand = int(moment.hand.state["hands"][0, 1 - seat])
        words = f"from {names[seat]}’s seat: {names[1 - seat]}’s hand (framed: the cards that it holds)"
        shown.append({"picture": belief_map(views[seat], chances[seat], opponent_hand), "words": words})
    return shown


def _shown(steps: Steps, at: int, address: str, running: bool, can_run: bool) -> dict[str, Any]:
    """What ``replay_part.html`` shows of a moment."""
    moment = steps.moment(at)
    hand, names = moment.hand, (display_opponent(steps.names[0]), display_opponent(steps.names[1]))
    if moment.action is not None:
        words = f"{names[hand.turn]} {action_words(moment.action, hand.view()[0])}."
    elif hand.is_over:
        words = hand.outcome.describe(names) if hand.outcome else ""
    else:
        words = "The record ends here."
    return {
        "address": address,
        "at": moment.at,
        "number": moment.number,
        "names": names,
        "picture": table_picture(hand.view(0)[0], names[1], hand.view(1)[0], names[0]),
        "words": words,
        "back": steps.start_of(moment.number - 1)
        if moment.at == steps.start_of(moment.number)
        else steps.start_of(moment.number),
        "ended": moment.last,
        "running": running and not moment.last,
        "can_run": can_run,
        "beliefs": _beliefs(moment, names),
        "sheet": steps.match.sheet() if moment.last and steps.match is not None else None,
    }


def _at(request: Request, steps: Steps) -> int:
    hand = request.query.get("hand")
    return request.number("at") if hand is None else steps.start_of(request.number("hand"))


def watch(request: Request) -> Response:
    """The page of a game that is being watched, or the form that begins one."""
    number = request.number("game")
    options = request.browser_session.session.options
    if not number:
        return _watch_form(request, {"first": "network", "second": options.player, "rules": options.rules})
    steps = request.browser_session.watched.get(number)
    running = bool(request.query.get("run"))
    shown = _shown(steps, _at(request, steps), f"/watch?game={number}", running, can_run=True)
    if request.htmx:
        return HTMLResponse(page("replay_part.html", s=shown))
    rules = options.rules if steps.match is None else variation(steps.match.rules)
    chosen = {"first": steps.names[0], "second": steps.names[1], "rules": rules}
    if steps.seed is not None:
        chosen["seed"] = str(steps.seed)
    return _watch_form(request, chosen, shown=True, s=shown)


def _watch_form(request: Request, chosen: Mapping[str, str], status: int = 200, **values: Any) -> Response:
    fields = {name: chosen.get(name, "") for name in ("first", "second", "rules", "seed")}
    values = {"shown": False, "opponents": opponents(request), "presets": list(PRESETS), "here": "/watch"} | values
    return request.page("watch.html", status, **fields, **values)


def begin(request: Request) -> Response:
    """Begins a game of two agents; an error is explained beside the choices."""
    form = request.form
    specs = form.get("first", "").strip(), form.get("second", "").strip()
    try:
        for name in specs:
            request.browser_session.session.check_player(name)
        game = watched_game(specs, parse_rules("".join(form.get("rules", "").split())), seed_of(form))
    except (GinError, OSError) as error:
        request.browser_session.say(f"This game cannot begin: {error}", "warning")
        return _watch_form(request, form, 400)
    return request.go(f"/watch?game={request.browser_session.watched.add(game)}&at=0")


def records(request: Request) -> Response:
    """The player's games, the newest first."""
    return _records(request)


def _records(request: Request, text: str = "", status: int = 200) -> Response:
    games = list(enumerate(request.browser_session.session.file.games(), 1))[-_RECORDS_SHOWN:]
    return request.page("records.html", status, games=games[::-1], text=text, here="/records")


def save_record(request: Request) -> Response:
    """A record as a file; that of the game in play is refused."""
    session = request.browser_session.session
    try:
        number = integer_field(request.params, "number")
    except GinError:
        raise HTTPException(404) from None
    text = session.file.record_text(session.stored_game(number).id)
    return Response(text.encode(), media_type="text/plain; charset=utf-8")


def import_record(request: Request) -> Response:
    """Adds a record sent as text to the player's games; an error is explained beside the text."""
    text = request.form.get("text", "").replace("\r\n", "\n")
    try:
        game = request.browser_session.session.file.import_record("imported", text)
    except GinError as error:
        request.browser_session.say(f"This record cannot be added: {error}", "warning")
        return _records(request, text, 400)
    request.browser_session.say(
        f"The game of {game.names[0]} and {game.names[1]} is among your records as {game.name}."
    )
    return request.go("/records")


def replay(request: Request) -> Response:
    """One of the player's records, or one sent as text."""
    if request.query.get("game"):
        number = request.number("game")
        return _replayed(request, request.browser_session.watched.get(number), f"/replay?game={number}")
    number = request.number("record")
    session = request.browser_session.session
    record = session.home.record(session.stored_game(number).id)
    return _replayed(request, _steps(record), f"/replay?record={number}")


def _steps(record: Record) -> Steps:
    return Steps(record.hands, record.names, record.match)


def _replayed(request: Request, steps: Steps, address: str) -> Response:
    shown = _shown(steps, _at(request, steps), address, running=False, can_run=False)
    if request.htmx:
        return HTMLResponse(page("replay_part.html", s=shown))
    return request.page("replay.html", s=shown, here="/records")


def replay_text(request: Request) -> Response:
    """Steps through a record sent as text; if it cannot be played again, the reason is shown beside the text."""
    text = request.form.get("text", "").replace("\r\n", "\n")
    try:
        steps = _steps(parse_record(text))
    except GinError as error:
        request.browser_session.say(f"This record cannot be played again: {error}", "warning")
        return _records(request, text, 400)
    return request.go(f"/replay?game={request.browser_session.watched.add(steps)}&at=0")
