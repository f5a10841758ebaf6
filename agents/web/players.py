"""The page of players: who plays at this browser, who plays by a link, and who comes and goes."""

from __future__ import annotations

from starlette.responses import Response

from agents.levels.level import MATCHED
from agents.web.people import Person
from agents.web.request import Request
from ginenv.errors import GinError, unknown_name


def players(request: Request) -> Response:
    """All players; where the table is handed over, whose turn it is."""
    people, names = request.people, request.people.home.names()
    return request.page(
        "players.html",
        names=names,
        player=request.who,
        links={name: f"{request.address}/?token={token}" for name, token in people.links.items()},
        away=[name for name in names if people.is_away(name)],
        turn=request.session.get("next", ""),
    )


def change_player(request: Request) -> Response:
    """Takes another seat, creates or removes a player, or frees a player's seat for the terminal."""
    people, name, do = request.people, request.fields.get("name", ""), request.fields.get("do", "")
    if do == "create":
        person = people.create(name)
        person.session.set_option("opponent", MATCHED)
        return _go_as(request, person)
    if do not in ("switch", "free", "uninvite", "remove"):
        raise GinError(unknown_name("command", do, ("create", "switch", "free", "uninvite", "remove")))
    if do == "remove" and not request.fields.get("sure"):
        raise GinError(
            f"{name!r} would be removed with options, statistics, records and unfinished game; say that you mean it"
        )
    name = people.home.canonical_name(name)
    if do == "switch":
        if people.is_away(name):
            raise GinError(f"{name} plays by a link, in a browser of their own")
        return _go_as(request, people.person(name))
    if do == "uninvite":
        people.check_plays_alone(name)
    else:
        people.free(name)
    if do != "free":
        people.invite(name, away=False)
    if do == "remove":
        people.home.remove(name)
    return request.go("/players")


def _go_as(request: Request, person: Person) -> Response:
    """Goes on as a player: to the game with a friend if there is one, else to the lobby."""
    request.ask_as(person)
    request.session.pop("next", None)
    return request.go("/table" if person.session.file.friend else "/")
