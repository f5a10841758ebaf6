"""The player's games: a list, a game step by step with both hands open, and records as text, to save and to add."""

from __future__ import annotations

from starlette.responses import Response

from agents.display_names import display_opponent
from agents.levels.level import NAMES
from agents.web.form_fields import integer_field
from agents.web.pages import table_picture
from agents.web.request import Request
from ginenv.view.wording import what_it_does

_RECORDS_SHOWN = 200


def records(request: Request) -> Response:
    """The games, the newest first."""
    return _records(request)


def _records(request: Request, text: str = "", status: int = 200) -> Response:
    games = list(enumerate(request.person.session.file.games(), 1))[-_RECORDS_SHOWN:]
    return request.page("records.html", status, games=games[::-1], text=text, here="/records")


def save_record(request: Request) -> Response:
    """A record as a file; that of the game in play is refused."""
    session = request.person.session
    text = session.file.record_text(session.file.stored_game(integer_field(request.path_params, "number")).id)
    return Response(text.encode(), media_type="text/plain; charset=utf-8")


def import_record(request: Request) -> Response:
    """Adds a record sent as text to the player's games; an error is explained beside the text."""
    person, text = request.person, request.fields.get("text", "").replace("\r\n", "\n")
    with person.shows_errors("This record cannot be added: "):
        game = person.session.file.import_record("imported", text)
        person.say(f"The game of {game.names[0]} and {game.names[1]} is among your records as {game.name}.")
        return request.go("/records")
    return _records(request, text, 400)


def replay(request: Request) -> Response:
    """A moment of one of the games; they count from 0 at the deal of the first hand."""
    session, number = request.person.session, request.number("record")
    game = session.file.stored_game(number).id
    record = session.home.record(game)
    moments = [(n, played) for n, hand in enumerate(record.hands) for played in range(len(hand.history) + 1)]
    deals, last = [at for at, (_, played) in enumerate(moments) if not played], len(moments) - 1
    at = min(request.number("at"), last)
    n, played = moments[at]
    history, hand = record.hands[n].history, record.hands[n].after(played)
    names = display_opponent(record.names[0]), display_opponent(record.names[1])
    words = "The record ends here."
    if hand.outcome:
        words = hand.outcome.describe(names)
    elif played < len(history):
        words = f"{names[hand.turn]} {what_it_does(history[played], hand.view()[0])}."
    shown = {
        "address": f"/replay?record={number}",
        "at": at,
        "last": last,
        "hand_before": deals[max(n - (at == deals[n]), 0)],
        "hand_next": deals[n + 1] if n + 1 < len(deals) else last,
        "number": n + 1,
        "target": record.match.rules.target,
        "names": names,
        "picture": table_picture(hand.view(0)[0], names[1], hand.view(1)[0], names[0]),
        "words": words,
        "play_on": {"game": game, "hand": n + 1, "move": played + 1, "back": f"/replay?record={number}&at={at}"},
        "levels": () if hand.is_over else NAMES,
        "sheet": record.match.sheet() if at == last else None,
    }
    if request.htmx:
        return request.part("replay_part.html", **shown)
    return request.page("replay.html", here="/records", **shown)
