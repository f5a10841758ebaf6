"""The pages of rules, opponents and options."""

from __future__ import annotations

import dataclasses

from starlette.responses import Response

from agents.display_names import preset_words
from agents.levels.level import MATCHED
from agents.play.allowed import names_for_all
from agents.play.options import Options, choices, preset_of
from agents.web.pages import BACKS
from agents.web.request import Request
from ginenv.engine.rule_texts import RULE_TEXTS
from ginenv.engine.rules import CHOICES, PRESETS, RANGES
from ginenv.errors import RulesError, unknown_name
from ginenv.hands.text import parse_rules

# The values allowed for a form's "back"; nobody is sent anywhere else.
_BACK = ("/rules", "/options", "/table", "/learned")
# Options that are shown as swatches of what they look like.
_SWATCHES = ("cloth", "card_back")
# Rules that the lobby offers, each in a line; the others are under "More".
USUAL_RULES = {
    "dg-standard": "knock with 10 points or less; to 100, with boxes and a game bonus",
    "dg-simple": "no knocking: only gin ends a hand",
    "dg-oklahoma": "the first upcard says with how many points you may knock",
    "eaai": "plain points to 100, a tie undercuts, the deal alternates",
}
# Others are shown by name only.
OPPONENT_TEXTS = {
    MATCHED: "your equal, whoever you are",
    "level-1": "level 1, beginner",
    "level-2": "level 2, intermediate",
    "level-3": "level 3, advanced",
    "level-4": "level 4, expert with search",
    "formula": "plays by fixed formulas",
    "network": "the trained network",
    "search": "the network with search",
    "simple": "keeps the least deadwood, knocks as soon as it can, ignores what you do",
    "easy": "discards its highest card outside its melds",
    "camper": "never knocks below gin",
    "knocker": "knocks in its first turns if it can, then plays for gin",
    "random": "plays legal actions at random",
    "population": "one of 512 random styles",
    "openspiel-simple": "of the library OpenSpiel, which has to be installed",
}


def rule_words(preset: str) -> str:
    """A preset in a line."""
    return USUAL_RULES.get(preset) or preset_words(preset)


def opponents(request: Request) -> dict[str, str]:
    """Names that can be chosen without options, with their descriptions: those that have one first, what the command line named last."""
    names = [name for name in names_for_all() if name != "style"]
    described = [name for name in OPPONENT_TEXTS if name in names]
    return {name: OPPONENT_TEXTS.get(name, "") for name in dict.fromkeys((*described, *names, *request.people.allowed))}


def rules(request: Request) -> Response:
    """Opponents, presets and every rule."""
    options = request.person.session.options
    preset = preset_of(options.rules)
    return request.page(
        "rules.html",
        options=options,
        preset=preset,
        presets={name: rule_words(name) for name in PRESETS},
        values=_texts(dataclasses.asdict(parse_rules(options.rules))),
        base=_texts(dataclasses.asdict(PRESETS[preset])),
        choices=CHOICES,
        ranges=RANGES,
        texts=RULE_TEXTS,
        opponents=opponents(request),
    )


def _texts(values: dict[str, object]) -> dict[str, str]:
    """The values of rules as a form holds them."""
    return {name: str(value).lower() for name, value in values.items()}


def change_rules(request: Request) -> Response:
    """Takes the rules from a form: a preset, and a value for each rule."""
    person = request.person
    with person.shows_errors():
        preset = request.fields.get("preset", "")
        if preset not in PRESETS:
            raise RulesError(unknown_name("preset", preset, PRESETS))
        # Changes alone: the form also holds rules that others, when changed, leave without effect.
        base = _texts(dataclasses.asdict(PRESETS[preset]))
        values = {name: value.strip() for name, value in request.fields.items() if name != "preset"}
        changes = [f"{name}={value}" for name, value in values.items() if base.get(name) != value]
        person.say(person.session.set_option("rules", ",".join([preset, *changes])))
        request.prepared()
    return request.go("/rules")


def options(request: Request) -> Response:
    """The player's options, each with a line about it."""
    names = [name for name in Options.model_fields if choices(name) and name not in _SWATCHES]
    return request.page(
        "options.html",
        options=request.person.session.options,
        settings={name: Options.model_fields[name].description for name in names},
        choices=choices,
        backs=BACKS,
    )


def change_options(request: Request) -> Response:
    """Takes options from a form; if one is refused, none of them changes."""
    person = request.person
    session, back = person.session, request.fields.get("back", "/options")
    with person.shows_errors():
        changed = {
            name: value
            for name, value in request.fields.items()
            if name != "back" and (name not in Options.model_fields or session.options.text(name) != value)
        }
        for name, value in changed.items():
            session.options.changed(name, value)
        for name, value in changed.items():
            person.say(session.set_option(name, value))
        request.prepared()
    return request.go(back if back.partition("?")[0] in _BACK else "/options")
