"""Opponents and rules as people call them. Commands, files and records keep the names of the registry and of the presets."""

from __future__ import annotations

import datetime
import re

from ginenv.engine.rule_texts import PRESET_NAMES, PRESET_TEXTS
from ginenv.tables.player_names import player_names

_OPPONENTS = {
    "level-1": "Pip",
    "level-2": "Nora",
    "level-3": "Hugo",
    "level-4": "Vera",
    "matched": "Echo",
    "openspiel-simple": "OpenSpiel’s simple bot",
}


def display_opponent(name: str) -> str:
    """An opponent: ``level-1`` is Pip, ``search:worlds=64`` Search, worlds 64; other names, such as a person's, stay as they are."""
    player, _, rest = name.partition(" (")
    plain, *options = re.split("[:,]", player)
    if plain not in player_names():
        return name
    shown = _OPPONENTS.get(plain) or plain.replace("-", " ").capitalize()
    shown = ", ".join([shown, *map(_change_words, options)])
    return f"{shown} ({rest}" if rest else shown


def display_rules(text: str, day: str = "") -> str:
    """Rules, written as a preset and changes to it: ``dg-standard,target=150`` is ``Standard, target 150``.

    Under them, the deal of a day is ``Standard, one hand (today’s deal)``.
    """
    preset, *changes = text.split(",")
    shown = ", ".join([PRESET_NAMES.get(preset, preset), *map(_change_words, changes)])
    return f"{shown} ({display_day(day)})" if day else shown


def display_day(day: str) -> str:
    """The deal of a day in ISO 8601: ``today’s deal``, or ``the deal of 2026-11-28``."""
    return "today’s deal" if day == f"{datetime.date.today()}" else f"the deal of {day}"


def _change_words(change: str) -> str:
    if change == "target=0":
        return "one hand"
    return change.replace("=", " ").replace("_", " ")


def preset_words(preset: str) -> str:
    """What is special about a preset, which people know by the names of other presets."""
    return re.sub(r"[\w-]+", lambda word: PRESET_NAMES.get(word[0], word[0]), PRESET_TEXTS.get(preset, ""))
