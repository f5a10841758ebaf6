"""Pages that show a game step by step: two agents that play, and records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from markupsafe import Markup
from starlette.responses import Response

from agents.network.inputs import observe_views
from agents.network.player import NetworkPlayer
from agents.play.display_names import display_opponent
from agents.play.moves import action_words
from agents.play.options import variation
from agents.web.form_fields import integer_field, seed_of
from agents.web.options import opponents
from agents.web.pages import belief_map, table_picture
from agents.web.replay import Moment, Steps, watched_game
from agents.web.request import Request
from ginenv.engine.rules import PRESETS
from ginenv.hands.records import parse_record
from ginenv.hands.text import parse_rules
from ginenv.tables.players import make_player

_RECORDS_SHOWN = 200


@cache
def _network() -> Any:
    player = make_player("network")
    assert isinstance(player, NetworkPlayer)
    return player.actor


def _beliefs(moment: Moment) -> list[Markup]:
    """What the installed network infers from each seat about the other hand, beside the true hand."""
    if moment.hand.is_over:
        return []
    views = np.concatenate([moment.hand.view(seat) for seat in (0, 1)])
    actor = _network()
    logits = actor(torch.from_numpy(observe_views(views, actor.heuristic_features)), "belief").numpy()
    chances = 1 / (1 + np.exp(-logits.astype(np.float64)))
    hands = moment.hand.state["hands"][0]
    return [belief_map(views[seat], chances[seat], int(hands[1 - seat])) for seat in (0, 1)]


def _shown(request: Request, steps: Steps, address: str, watches: bool) -> dict[str, Any]:
    """What ``replay_part.html`` shows of the moment that is asked for; ``watches`` says whether the game is still played."""
    number = request.query_params.get("hand")
    moment = steps.moment(request.number("at") if number is None else steps.start_of(request.number("hand")))
    hand, names = moment.hand, (display_opponent(steps.names[0]), display_opponent(steps.names[1]))
    if moment.action is not None:
        words = f"{names[hand.turn]} {action_words(moment.action, hand.view()[0])}."
    elif hand.is_over:
        words = hand.outcome.describe(names) if hand.outcome else ""
    else:
        words = "The record ends here."
    begin = steps.start_of(moment.number)
    return {
        "address": address,
        "moment": moment,
        "names": names,
        "picture": table_picture(hand.view(0)[0], names[1], hand.view(1)[0], names[0]),
        "words": words,
        "back": steps.start_of(moment.number - 1) if moment.at == begin else begin,
        "running": watches and bool(request.query_params.get("run")) and not moment.last,
        "can_run": watches,
        "beliefs": _beliefs(moment),
        "sheet": steps.match.sheet() if moment.last and steps.match is not None else None,
    }


def watch(request: Request) -> Response:
    """The page of a game that is being watched, or the form that begins one."""
    number, options = request.number("game"), request.person.session.options
    if not number:
        return _watch_form(request, {"first": "network", "second": options.player, "rules": options.rules})
    steps = request.person.watched.get(number)
    shown = _shown(request, steps, f"/watch?game={number}", watches=True)
    if request.htmx:
        return request.part("replay_part.html", **shown)
    rules = options.rules if steps.match is None else variation(steps.match.rules)
    chosen = dict(zip(("first", "second"), steps.names, strict=True)) | {"rules": rules}
    if steps.seed is not None:
        chosen["seed"] = str(steps.seed)
    return _watch_form(request, chosen, **shown)


def _watch_form(request: Request, chosen: Mapping[str, str], status: int = 200, **shown: Any) -> Response:
    fields = {name: chosen.get(name, "") for name in ("first", "second", "rules", "seed")}
    values = {"opponents": opponents(request), "presets": list(PRESETS), "here": "/watch", "shown": bool(shown)}
    return request.page("watch.html", status, **fields, **values, **shown)


def begin(request: Request) -> Response:
    """Begins a game of two agents; an error is explained beside the choices."""
    person, fields = request.person, request.fields
    specs = fields.get("first", "").strip(), fields.get("second", "").strip()
    with person.shows_errors("This game cannot begin: "):
        for name in specs:
            person.session.check_player(name)
        game = watched_game(specs, parse_rules("".join(fields.get("rules", "").split())), seed_of(fields))
        return request.go(f"/watch?game={person.watched.add(game)}&at=0")
    return _watch_form(request, fields, 400)


def records(request: Request) -> Response:
    """The player's games, the newest first."""
    return _records(request)


def _records(request: Request, text: str = "", status: int = 200) -> Response:
    games = list(enumerate(request.person.session.file.games(), 1))[-_RECORDS_SHOWN:]
    return request.page("records.html", status, games=games[::-1], text=text, here="/records")


def save_record(request: Request) -> Response:
    """A record as a file; that of the game in play is refused."""
    session = request.person.session
    text = session.file.record_text(session.file.stored_game(integer_field(request.path_params, "number")).id)
    return Response(text.encode(), media_type="text/plain; charset=utf-8")


def _pasted(request: Request) -> str:
    return request.fields.get("text", "").replace("\r\n", "\n")


def import_record(request: Request) -> Response:
    """Adds a record sent as text to the player's games; an error is explained beside the text."""
    person = request.person
    with person.shows_errors("This record cannot be added: "):
        game = person.session.file.import_record("imported", _pasted(request))
        person.say(f"The game of {game.names[0]} and {game.names[1]} is among your records as {game.name}.")
        return request.go("/records")
    return _records(request, _pasted(request), 400)


def replay(request: Request) -> Response:
    """One of the player's records, or one sent as text."""
    if number := request.number("game"):
        steps, address = request.person.watched.get(number), f"/replay?game={number}"
    else:
        session, number = request.person.session, request.number("record")
        record = session.home.record(session.file.stored_game(number).id)
        steps, address = Steps(record.hands, record.names, record.match), f"/replay?record={number}"
    shown = _shown(request, steps, address, watches=False)
    return (
        request.part("replay_part.html", **shown)
        if request.htmx
        else request.page("replay.html", here="/records", **shown)
    )


def replay_text(request: Request) -> Response:
    """Steps through a record sent as text; if it cannot be played again, the reason is shown beside the text."""
    with request.person.shows_errors("This record cannot be played again: "):
        record = parse_record(_pasted(request))
        steps = Steps(record.hands, record.names, record.match)
        return request.go(f"/replay?game={request.person.watched.add(steps)}&at=0")
    return _records(request, _pasted(request), 400)
