"""Opponents and rules as people call them. Commands, files and records keep the names of the registry and of the presets."""

from __future__ import annotations

from ginenv.engine.rule_texts import PRESET_NAMES
from ginenv.tables.player_names import player_names

_OPPONENTS = {
    "openspiel-simple": "OpenSpiel’s simple bot",
}


def display_opponent(name: str) -> str:
    """An opponent: ``level-1`` is Level 1; a name that is not in the registry, such as a person's, stays as it is."""
    plain, _, rest = name.partition(" (")
    if plain not in player_names():
        return name
    shown = _OPPONENTS.get(plain) or plain.replace("-", " ").capitalize()
    return f"{shown} ({rest}" if rest else shown


def display_rules(text: str) -> str:
    """Rules, written as a preset and changes to it: ``dg-standard,target=150`` is ``Standard, target 150``."""
    preset, *changes = text.split(",")
    words = [change.replace("=", " ").replace("_", " ") for change in changes]
    return ", ".join([PRESET_NAMES.get(preset, preset), *words])
