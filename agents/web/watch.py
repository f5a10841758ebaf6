"""Pages that show a game step by step: two agents that play, and records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from agents.network.player import NetworkPlayer
from agents.play.moves import action_words
from agents.play.options import variation
from agents.reports.beliefs import belief_logits
from agents.web.belief_map import belief_map
from agents.web.form_fields import seed_of, whole
from agents.web.lobby import opponents
from agents.web.pages import page, table_picture
from agents.web.replay_pages import Moment, Steps, WatchedGame, steps_of_record
from agents.web.request import Asked
from agents.web.view_model import sheet_values
from ginenv.engine.rules import PRESETS
from ginenv.errors import GinError
from ginenv.hands.records import parse_record
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
        held = int(moment.hand.state["hands"][0, 1 - seat])
        words = f"from {names[seat]}’s seat: {names[1 - seat]}’s hand (framed: the cards that it holds)"
        shown.append({"picture": belief_map(views[seat], chances[seat], held), "words": words})
    return shown


def _shown(steps: Steps, at: int, address: str, running: bool, can_run: bool) -> dict[str, Any]:
    """What ``steps_part.html`` shows of a moment."""
    moment = steps.moment(at)
    hand, names = moment.hand, steps.names
    if moment.action is not None:
        words = f"{names[hand.turn]} {action_words(moment.action, hand.view()[0])}."
    elif hand.is_over:
        words = hand.outcome.describe(names) if hand.outcome else ""
    else:
        words = "The record ends here."
    sheet = sheet_values(steps.match.sheet(), names) if moment.last and steps.match is not None else None
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
        "sheet": sheet,
    }


def _at(asked: Asked, steps: Steps) -> int:
    hand = asked.query.get("hand")
    return asked.number("at") if hand is None else steps.start_of(asked.number("hand"))


def watch(asked: Asked) -> Response:
    """The page of a game that is being watched, or the form that begins one."""
    number = asked.number("game")
    options = asked.seat.session.options
    if not number:
        return _watch_form(asked, {"first": "network", "second": options.opponent, "rules": options.rules})
    steps = asked.seat.watched.get(number)
    running = bool(asked.query.get("run"))
    shown = _shown(steps, _at(asked, steps), f"/watch?game={number}", running, can_run=True)
    if asked.htmx:
        return HTMLResponse(page("steps_part.html", s=shown))
    rules = options.rules if steps.match is None else variation(steps.match.rules)
    chosen = {"first": steps.names[0], "second": steps.names[1], "rules": rules}
    if isinstance(steps, WatchedGame) and steps.seed is not None:
        chosen["seed"] = str(steps.seed)
    return _watch_form(asked, chosen, shown=True, s=shown)


def _watch_form(asked: Asked, chosen: Mapping[str, str], status: int = 200, **values: Any) -> Response:
    fields = {name: chosen.get(name, "") for name in ("first", "second", "rules", "seed")}
    values = {"shown": False, "opponents": opponents(asked), "presets": list(PRESETS), "here": "/watch"} | values
    return asked.page("watch.html", status, **fields, **values)


def begin(asked: Asked) -> Response:
    """Begins a game of two agents; an error is explained beside the choices."""
    form = asked.form
    specs = form.get("first", "").strip(), form.get("second", "").strip()
    try:
        for name in specs:
            asked.seat.session.check_player(name)
        game = WatchedGame(specs, parse_rules("".join(form.get("rules", "").split())), seed_of(form))
    except (GinError, OSError) as error:
        asked.seat.say(f"This game cannot begin: {error}", "warning")
        return _watch_form(asked, form, 400)
    return asked.go(f"/watch?game={asked.seat.watched.add(game)}&at=0")


def records(asked: Asked) -> Response:
    """The player's games, the newest first."""
    return _records(asked)


def _records(asked: Asked, text: str = "", status: int = 200) -> Response:
    games = list(enumerate(asked.seat.session.file.games(), 1))[-_RECORDS_SHOWN:]
    return asked.page("records.html", status, games=games[::-1], text=text, here="/records")


def save_record(asked: Asked) -> Response:
    """A record as a file; that of the game in play is refused."""
    session = asked.seat.session
    try:
        number = whole(asked.params, "number")
    except GinError:
        raise HTTPException(404) from None
    text = session.file.record_text(session.stored_game(str(number)).id)
    return Response(text.encode(), media_type="text/plain; charset=utf-8")


def import_record(asked: Asked) -> Response:
    """Adds a record sent as text to the player's games; an error is explained beside the text."""
    text = asked.form.get("text", "").replace("\r\n", "\n")
    try:
        game = asked.seat.session.file.import_record("imported", text)
    except GinError as error:
        asked.seat.say(f"This record cannot be added: {error}", "warning")
        return _records(asked, text, 400)
    asked.seat.say(f"The game of {game.names[0]} and {game.names[1]} is among your records as {game.name}.")
    return asked.go("/records")


def replay(asked: Asked) -> Response:
    """One of the player's records, or one sent as text."""
    if asked.query.get("game"):
        number = asked.number("game")
        return _replayed(asked, asked.seat.watched.get(number), f"/replay?game={number}")
    number = asked.number("record")
    _, record = asked.seat.session.record(str(number))
    return _replayed(asked, steps_of_record(record), f"/replay?record={number}")


def _replayed(asked: Asked, steps: Steps, address: str) -> Response:
    shown = _shown(steps, _at(asked, steps), address, running=False, can_run=False)
    if asked.htmx:
        return HTMLResponse(page("steps_part.html", s=shown))
    return asked.page("replay.html", s=shown, here="/records")


def replay_text(asked: Asked) -> Response:
    """Steps through a record sent as text; if it cannot be played again, the reason is shown beside the text."""
    text = asked.form.get("text", "").replace("\r\n", "\n")
    try:
        steps = steps_of_record(parse_record(text))
    except GinError as error:
        asked.seat.say(f"This record cannot be played again: {error}", "warning")
        return _records(asked, text, 400)
    return asked.go(f"/replay?game={asked.seat.watched.add(steps)}&at=0")
