"""The lobby: a new game, and who plays at this browser, who by a link, and who comes and goes."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import Response

from agents.levels.level import MATCHED
from agents.levels.matched import person_rating
from agents.play.options import friend_of
from agents.web.daily import todays_deal
from agents.web.jobs import PATIENCE
from agents.web.options import OPPONENT_TEXTS, USUAL_RULES, rule_words
from agents.web.people import Person
from agents.web.qr_code import SIZE, qr_code
from agents.web.request import Request
from agents.web.safety import is_loopback
from ginenv.errors import GinError, unknown_name

# Decoration: a run, and an ace.
_FAN = (48, 49, 50, 51, 0)
_LEVELS = (MATCHED, "level-1", "level-2", "level-3", "level-4")


def lobby(request: Request, unnamed: str = "") -> Response:
    """Who plays, and the way to the table; keeps the choices of a form that was refused.

    Args:
        request: with the form, if one was sent.
        unnamed: what is wrong with the friend's name.
    """
    person, fields = request.person, request.fields
    session, options = person.session, person.session.options
    unfinished, rating = "", None
    with person.shows_errors():
        unfinished = session.unfinished()
    resumes = request.invited or (options.always_resume and not session.is_playing)
    if unfinished and resumes and not fields:
        return request.go("/table")
    with person.shows_errors():
        rating = person_rating(session.home.path, person.name)
    # What was chosen under "More" stands beside the usual choices.
    opponents = {name: OPPONENT_TEXTS.get(name, "") for name in dict.fromkeys((*_LEVELS, options.player))}
    if rating:
        opponents[MATCHED] = f"your equal; your {rating}"
    usual = USUAL_RULES if options.rules in USUAL_RULES else (options.rules, *USUAL_RULES)
    friend = friend_of(options.opponent)
    chosen = {"opponent": "friend" if friend else options.opponent, "rules": options.rules}
    place = "here" if friend and not request.people.is_away(friend) else "network"
    return request.page(
        "lobby.html",
        options=options,
        chosen={**chosen, **fields},
        offered={"opponent": opponents, "rules": {name: rule_words(name) for name in usual}},
        unfinished=unfinished,
        loss=session.loss,
        todays_deal=todays_deal(session),
        fan=_FAN,
        ready=request.prepared(),
        friend=fields.get("friend", friend),
        place=fields.get("place", place),
        is_open=bool(request.network_address),
        unnamed=unnamed,
        people=[name for name in request.people.home.names() if name != person.name] if not request.invited else [],
    )


def ready(request: Request) -> Response:
    """The part of the lobby that says whether a first game has to wait."""
    return request.part("warmup_part.html", ready=request.prepared())


def new(request: Request) -> Response:
    """Begins a game, with the opponent and the rules of the form, if it names any; an unfinished one is lost, if the form confirms it."""
    person, fields = request.person, request.fields
    if person.session.file.game is not None and not fields.get("sure"):
        person.say(
            f"{person.session.loss} when you begin another game: tick the box to confirm.",
            "warning",
        )
        return lobby(request)
    with person.shows_errors():
        chosen = {name: fields[name] for name in ("opponent", "rules") if name in fields}
        friend = ""
        # Who was invited plays whoever has invited.
        if chosen.get("opponent") == "friend" and not request.invited:
            del chosen["opponent"]
            try:
                friend = _friend(request)
            except GinError as error:
                return lobby(request, str(error) if fields.get("friend") else "Who is it? Write your friend’s name.")
        for name, value in chosen.items():
            if value != person.session.options.text(name):
                person.session.set_option(name, value)
        job = request.prepared()
        if not friend and job is not None and not job.wait(PATIENCE):
            # The page says at once why it has to wait, and asks for this address until the game can begin.
            person.waits_for_game = True
            return request.go("/new")
        return _begin(request, friend)
    return lobby(request)


def wait_for_game(request: Request) -> Response:
    """Says that the rules are being compiled; begins the game that waits for it."""
    person, job = request.person, request.prepared()
    if not person.waits_for_game:
        return request.go("/")
    if job is not None and not job.wait(PATIENCE):
        words = f"The rules are being loaded, for {job.seconds:.0f} s so far; the game begins when that is done."
        return request.progress(job, "/new", "One moment", words)
    with person.shows_errors():
        return _begin(request)
    return request.go("/")


def _begin(request: Request, friend: str = "") -> Response:
    person, people = request.person, request.people
    person.waits_for_game = False
    person.table.begin()
    if friend:
        place, network = request.fields.get("place"), request.network_address
        people.invite(friend, "" if place == "here" else network if network and place == "network" else request.address)
    return request.go("/invitation" if friend in people.links else "/table")


def invitation(request: Request) -> Response:
    """The link of the friend at the table, until the friend has come."""
    people, friend = request.people, request.person.session.file.friend
    if friend not in people.links or friend in people.arrived:
        return request.go("/table")
    if request.htmx:
        return Response(status_code=204)
    link = people.links[friend]
    is_near = is_loopback(urlsplit(link).hostname or "")
    # A phone that reads a code is another device.
    code = [] if is_near else qr_code(link)
    return request.page("invitation.html", friend=friend, seat_link=link, code=code, size=SIZE, is_near=is_near)


def _friend(request: Request) -> str:
    """The friend whom a form names as the opponent, who is known from now on."""
    name = request.fields.get("friend", "")
    friend = request.people.home.find(name) or request.people.create(name).name
    request.person.session.choose_friend(friend)
    return friend


def players(request: Request) -> Response:
    """All players; where the table is handed over, whose turn it is."""
    people, names = request.people, request.people.home.names()
    return request.page(
        "players.html",
        names=names,
        player=request.who,
        links=people.links,
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
        people.invite(name)
    if do == "remove":
        people.home.remove(name)
    return request.go("/players")


def _go_as(request: Request, person: Person) -> Response:
    """Goes on as a player: to the game with a friend if there is one, else to the lobby."""
    request.ask_as(person)
    request.session.pop("next", None)
    return request.go("/table" if person.session.file.friend else "/")
