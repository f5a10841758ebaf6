"""The lobby: the opponent, the rules, and a new game."""

from __future__ import annotations

from starlette.responses import Response

from agents.levels.level import MATCHED
from agents.levels.ratings import person_rating
from agents.play.options import friend_of
from agents.web.jobs import PATIENCE, Job
from agents.web.opponents import OPPONENT_TEXTS
from agents.web.request import Request
from ginenv.engine.rule_texts import PRESET_TEXTS

# Decoration: a run, and an ace.
_FAN = (48, 49, 50, 51, 0)
# Rules that the lobby offers, each in a line; the others are under "More".
_RULE_SETS = {
    "dg-standard": "knock with 10 points or less; to 100, with boxes and a game bonus",
    "dg-simple": "no knocking: only gin ends a hand",
    "dg-oklahoma": "the first upcard says with how many points you may knock",
    "eaai": "plain points to 100, a tie undercuts, the deal alternates",
}
_LEVELS = (MATCHED, "level-1", "level-2", "level-3", "level-4")


def lobby(request: Request) -> Response:
    """Who plays, and the way to the table."""
    person = request.person
    session, options = person.session, person.session.options
    unfinished, rating = "", None
    with person.shows_errors():
        unfinished = session.unfinished()
    if unfinished and (request.invited or (options.always_resume and session.game is None)):
        return request.go("/table")
    with person.shows_errors():
        rating = person_rating(session.home.path, person.name)
    # What was chosen under "More" stands beside the usual choices.
    opponents = {name: OPPONENT_TEXTS.get(name, "") for name in dict.fromkeys((*_LEVELS, options.player))}
    if rating:
        opponents[MATCHED] = f"your equal; your {rating}"
    rules = (
        _RULE_SETS if options.rules in _RULE_SETS else {options.rules: PRESET_TEXTS.get(options.rules, "")} | _RULE_SETS
    )
    friend = friend_of(options.opponent)
    return request.page(
        "lobby.html",
        options=options,
        offered={"opponent": opponents, "rules": rules},
        unfinished=unfinished,
        fan=_FAN,
        ready=prepared(request),
        friend=friend,
        away=request.people.is_away(friend),
        people=[name for name in request.people.home.names() if name != person.name] if not request.invited else [],
    )


def ready(request: Request) -> Response:
    """The part of the lobby that says whether a first game has to wait."""
    return request.part("warmup_part.html", ready=prepared(request))


def prepared(request: Request) -> Job | None:
    """The preparation of a game against the chosen opponent under the chosen rules; begun as soon as they are chosen."""
    preparations = request.app.state.preparations
    return None if preparations is None else preparations.prepare(request.person.session.options)


def new(request: Request) -> Response:
    """Begins a game, with the opponent and the rules of the form, if it names any; an unfinished one is lost, if the form confirms it."""
    person, fields = request.person, request.fields
    if person.session.file.game is not None and not fields.get("sure"):
        person.say(
            "There is an unfinished game, and its points are lost when you begin another: tick the box to confirm.",
            "warning",
        )
        return request.go("/")
    with person.shows_errors():
        chosen = {name: fields[name] for name in ("opponent", "rules") if name in fields}
        friend = ""
        # Who was invited plays whoever has invited.
        if chosen.get("opponent") == "friend" and not request.invited:
            del chosen["opponent"]
            friend = _friend(request)
        for name, value in chosen.items():
            if value != person.session.options.text(name):
                person.session.set_option(name, value)
        job = prepared(request)
        if not friend and job is not None and not job.wait(PATIENCE):
            # The page says at once why it has to wait, and asks for this address until the game can begin.
            person.waits_for_game = True
            return request.go("/new")
        return _begin(request, friend)
    return request.go("/")


def wait_for_game(request: Request) -> Response:
    """Says that the rules are being compiled; begins the game that waits for it."""
    person, job = request.person, prepared(request)
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
        people.invite(friend, away=not request.fields.get("here"))
        if token := people.links.get(friend):
            person.say(f"{friend} plays by this link: {request.address}/?token={token}")
    return request.go("/table")


def _friend(request: Request) -> str:
    """The friend whom a form names as the opponent, who is known from now on."""
    name = request.fields.get("friend", "")
    friend = request.people.home.find(name) or request.people.create(name).name
    request.person.session.choose_friend(friend)
    return friend
