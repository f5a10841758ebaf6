"""The lobby: players, a new game, rules, opponents and options."""

from __future__ import annotations

import dataclasses

from starlette.responses import HTMLResponse, Response

from agents.levels.level import MATCHED
from agents.levels.ratings import person_rating
from agents.play.allowed import names_for_all
from agents.play.options import Options, choices, friend_of, preset_of
from agents.web.jobs import PATIENCE, Job
from agents.web.pages import page
from agents.web.request import Request
from ginenv.engine.rule_texts import PRESET_TEXTS, RULE_TEXTS
from ginenv.engine.rules import CHOICES, PRESETS, RANGES
from ginenv.errors import GinError, RulesError, unknown_name
from ginenv.hands.text import parse_rules
from ginenv.pictures.card_art import BACKS

# The values allowed for a form's "back"; nobody is sent anywhere else.
_BACK = ("/rules", "/options", "/table")
# Options that are shown as swatches of what they look like.
_SWATCHES = ("cloth", "card_back")
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
# Descriptions of opponents; others are shown by name only.
_OPPONENT_TEXTS = {
    MATCHED: "your equal, whoever you are",
    "level-1": "beginner",
    "level-2": "intermediate",
    "level-3": "advanced",
    "level-4": "expert, with search",
    "formula": "plays by fixed formulas",
    "network": "the trained network",
    "search": "the network with search",
    "simple": "keeps the least deadwood, knocks as soon as it can, ignores what you do",
    "easy": "discards its highest card outside its melds",
    "camper": "never knocks below gin",
    "knocker": "knocks in its first turns if it can, then plays for gin",
    "random": "plays legal actions at random",
    "population": "one of 512 random styles; population:draw=2 draws others",
    "openspiel-simple": "OpenSpiel's simple bot, which needs OpenSpiel",
}


def opponents(request: Request) -> list[str]:
    """Names that can be chosen without options: those with a description first, what the command line named last."""
    names = [name for name in names_for_all() if name != "style"]
    listed = [name for name in _OPPONENT_TEXTS if name in names]
    return [*listed, *(name for name in names if name not in listed), *request.sessions.allowed]


def lobby(request: Request) -> Response:
    """Who plays, and the way to the table."""
    browser = request.browser_session
    unfinished = ""
    with browser.shows_errors():
        unfinished = browser.session.unfinished()
    resumes = browser.session.options.always_resume and browser.session.game is None
    if unfinished and (resumes or request.invited):
        return request.go("/table")
    options = browser.session.options
    rating = None
    with browser.shows_errors():
        rating = person_rating(browser.session.home.path, browser.name)
    # What was chosen under "More" stands beside the usual choices.
    offered = {
        "opponent": {name: _OPPONENT_TEXTS.get(name, "") for name in dict.fromkeys((*_LEVELS, options.player))}
        | {MATCHED: f"your equal; your {rating}" if rating else _OPPONENT_TEXTS[MATCHED]},
        "rules": {options.rules: PRESET_TEXTS.get(options.rules, "")} | _RULE_SETS,
    }
    if options.rules in _RULE_SETS:
        offered["rules"] = _RULE_SETS
    friend = friend_of(options.opponent)
    return request.page(
        "lobby.html",
        options=options,
        offered=offered,
        unfinished=unfinished,
        fan=_FAN,
        ready=_prepared(request),
        friend=friend,
        away=request.sessions.is_away(friend),
        people=[name for name in request.sessions.home.names() if name != browser.name] if not request.invited else [],
    )


def ready(request: Request) -> Response:
    """The part of the lobby that says whether a first game has to wait."""
    return HTMLResponse(page("warmup_part.html", ready=_prepared(request)))


def _prepared(request: Request) -> Job | None:
    """The preparation of a game against the chosen opponent under the chosen rules; begun as soon as they are chosen."""
    options, preparations = request.browser_session.session.options, request.app.state.preparations
    if preparations is None:
        return None
    game = preparations.prepare(options.player, options.rules)
    preparations.prepare_hints(options.hints)
    return game


def new(request: Request) -> Response:
    """Begins a game, with the opponent and the rules of the form, if it names any; an unfinished one is lost, if the form confirms it."""
    browser = request.browser_session
    if browser.session.file.game is not None and not request.form.get("sure"):
        browser.say(
            "There is an unfinished game, and its points are lost when you begin another: tick the box to confirm.",
            "warning",
        )
        return request.go("/")
    with browser.shows_errors():
        chosen = {name: request.form[name] for name in ("opponent", "rules") if name in request.form}
        # Who was invited plays whoever has invited.
        friend = "" if request.invited else _friend(request, chosen)
        for name, value in chosen.items():
            if value != browser.session.options.text(name):
                browser.session.set_option(name, value)
        job = _prepared(request)
        if not friend and job is not None and not job.wait(PATIENCE):
            # The page says at once why it has to wait, and asks for this address until the game can begin.
            browser.waits_for_game = True
            return request.go("/new")
        browser.begin()
        if friend:
            request.sessions.invite(friend, away=not request.form.get("here"))
            if token := request.sessions.links.get(friend):
                browser.say(f"{friend} plays by this link: {request.address}/?token={token}")
        return request.go("/table")
    return request.go("/")


def wait_for_game(request: Request) -> Response:
    """Says that the rules are being compiled; begins the game that waits for it."""
    browser, job = request.browser_session, _prepared(request)
    if not browser.waits_for_game:
        return request.go("/")
    if job is not None and not job.wait(PATIENCE):
        words = f"The rules are being loaded, for {job.seconds:.0f} s so far; the game begins when that is done."
        return request.progress(job, "/new", "One moment", words)
    with browser.shows_errors():
        browser.begin()
        return request.go("/table")
    return request.go("/")


def _friend(request: Request, chosen: dict[str, str]) -> str:
    """The friend whom a form names as the opponent, who is known from now on; takes the opponent out of what is chosen."""
    if chosen.get("opponent") != "friend":
        return ""
    del chosen["opponent"]
    home, name = request.sessions.home, request.form.get("friend", "")
    friend = home.find(name) or request.sessions.create(name).name
    request.browser_session.session.choose_friend(friend)
    return friend


def players(request: Request) -> Response:
    """All players; where the table is handed over, whose turn it is."""
    sessions, turn = request.sessions, request.session.get("next", "")
    links = {name: f"{request.address}/?token={token}" for name, token in sessions.links.items()}
    away = [name for name in sessions.home.names() if sessions.is_away(name)]
    return request.page(
        "players.html", names=sessions.home.names(), player=request.who, links=links, away=away, turn=turn
    )


def change_player(request: Request) -> Response:
    """Takes another seat, creates or removes a player, or frees a player's seat for the terminal."""
    sessions, name, do = request.sessions, request.form.get("name", ""), request.form.get("do", "")
    if do == "create":
        browser = sessions.create(name)
        browser.session.set_option("opponent", MATCHED)
        return request.redirect_as(browser)
    if do == "switch":
        if sessions.is_away(sessions.home.canonical_name(name)):
            raise GinError(f"{name} plays by a link, in a browser of their own")
        return request.redirect_as(sessions.browser_session(name))
    if do == "free":
        sessions.free(sessions.home.canonical_name(name))
    elif do == "uninvite":
        name = sessions.home.canonical_name(name)
        if friend := sessions.browser_session(name).session.file.friend:
            raise GinError(f"{name} is in a game with {friend}; it has to end first")
        sessions.invite(name, away=False)
    elif do == "remove":
        if not request.form.get("sure"):
            raise GinError(
                f"{name!r} would be removed with options, statistics, records and unfinished game; say that you mean it"
            )
        name = sessions.home.canonical_name(name)
        sessions.free(name)
        sessions.invite(name, away=False)
        sessions.home.remove(name)
    else:
        raise GinError(unknown_name("command", do, ("create", "switch", "free", "uninvite", "remove")))
    return request.go("/players")


def rules(request: Request) -> Response:
    """Opponents, presets and every rule."""
    options = request.browser_session.session.options
    preset = preset_of(options.rules)
    base = dataclasses.asdict(PRESETS[preset])
    shown = []
    for name, value in dataclasses.asdict(parse_rules(options.rules)).items():
        words = tuple(CHOICES.get(name, () if name in RANGES else ("true", "false")))
        shown.append(
            {
                "name": name,
                "value": str(value).lower() if isinstance(value, bool) else value,
                "choices": words,
                "range": RANGES.get(name),
                "about": RULE_TEXTS[name],
                "changed": value != base[name],
            }
        )
    return request.page(
        "rules.html",
        options=options,
        preset=preset,
        presets=PRESET_TEXTS,
        rules=shown,
        opponents={name: _OPPONENT_TEXTS.get(name, "") for name in opponents(request)},
    )


def change_rules(request: Request) -> Response:
    """Takes the rules from a form: a preset, and a value for each rule."""
    with request.browser_session.shows_errors():
        preset = request.form.get("preset", "")
        if preset not in PRESETS:
            raise RulesError(unknown_name("preset", preset, PRESETS))
        # Changes alone: the form also holds rules that others, when changed, leave without effect.
        base = dataclasses.asdict(PRESETS[preset])
        values = {name: value.strip() for name, value in request.form.items() if name != "preset"}
        changes = [f"{name}={value}" for name, value in values.items() if str(base.get(name)).lower() != value]
        request.browser_session.say(request.browser_session.session.set_option("rules", ",".join([preset, *changes])))
        _prepared(request)
    return request.go("/rules")


def options(request: Request) -> Response:
    """The player's options, each with a line about it."""
    chosen = request.browser_session.session.options
    shown = [
        {"name": name, "value": chosen.text(name), "choices": choices(name), "about": field.description}
        for name, field in Options.model_fields.items()
        if choices(name) and name not in _SWATCHES
    ]
    return request.page("options.html", options=chosen, settings=shown, cloths=choices("cloth"), backs=BACKS)


def change_options(request: Request) -> Response:
    """Takes options from a form; if one is refused, none of them changes."""
    browser = request.browser_session
    back = request.form.get("back", "/options")
    with browser.shows_errors():
        session = browser.session
        changed = {
            name: value
            for name, value in request.form.items()
            if name != "back" and (name not in Options.model_fields or session.options.text(name) != value)
        }
        for name, value in changed.items():
            session.options.changed(name, value)
        for name, value in changed.items():
            browser.say(session.set_option(name, value))
        _prepared(request)
    return request.go(back if back.partition("?")[0] in (*_BACK, "/learned") else "/options")
