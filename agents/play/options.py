"""A player's own options: what they are called, what they may be, and how they are read from words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ginenv.errors import GinError, did_you_mean
from ginenv.rules import Rules
from ginenv.text import parse_rules, rules_text

_YES = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}


def _option(default: Any, about: str, *choices: str) -> Any:
    return field(default=default, metadata={"about": about, "choices": choices})


@dataclass(frozen=True)
class Options:
    """What one player has chosen; takes effect at once, rules and opponent with the next game."""

    opponent: str = _option("formula", "who sits across: a level, any agent's name, a checkpoint's directory")
    rules: str = _option("dg-standard", "a preset, and changes to it: dg-standard,target=150")
    easy_game: bool = _option(False, "the opponent always discards its largest unused card")
    learning: bool = _option(True, "a level learns from the hands that you play against it")
    sort: str = _option("suit", "how your hand is sorted", "suit", "value", "none")
    direction: str = _option("ascending", "in which direction", "ascending", "descending")
    sort_when: str = _option("always", "sorted whenever a card comes, or only at the deal", "always", "deal")
    ask_knock: bool = _option(True, "asks whether to knock when your discard would allow it")
    memory: bool = _option(False, "shows the whole discard pile, and the cards the opponent took from it")
    always_resume: bool = _option(False, "an unfinished game goes on as soon as you sit down")

    def changed(self, name: str, text: str) -> Options:
        """The options with one of them read from words.

        Raises:
            GinError: for an unknown option, or a value that it cannot have.
        """
        known = {entry.name: entry for entry in dataclasses.fields(self)}
        key = name.strip().lower().replace("-", "_")
        if key not in known:
            raise GinError(f"there is no option {name!r}{did_you_mean(key, known)}; options are: {', '.join(known)}")
        value: Any = text.strip()
        if isinstance(getattr(self, key), bool):
            value = _YES.get(value.lower(), value)
        return dataclasses.replace(self, **{key: checked(key, value)})

    @property
    def rules_value(self) -> Rules:
        """The rules that are chosen."""
        return parse_rules(self.rules)

    @property
    def opponent_name(self) -> str:
        """The opponent as the table and the statistics call it."""
        return opponent_name(self.opponent, self.easy_game)

    @classmethod
    def from_json(cls, values: Any) -> Options:
        """Options of a file.

        Raises:
            GinError: for an unknown option, or a value that it cannot have.
        """
        if not isinstance(values, dict):
            raise GinError("options are an object with a value for each")
        known = [entry.name for entry in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise GinError(f"there is no option {name!r}{did_you_mean(str(name), known)}")
        return cls(**{name: checked(name, value) for name, value in values.items()})


def checked(name: str, value: Any) -> Any:
    """A value that an option can have.

    Raises:
        GinError: if it cannot.
    """
    entry = next(entry for entry in dataclasses.fields(Options) if entry.name == name)
    choices = entry.metadata["choices"]
    if isinstance(entry.default, bool):
        if not isinstance(value, bool):
            raise GinError(f"option {name} is {value!r}; allowed is on or off")
    elif not isinstance(value, str) or not value:
        raise GinError(f"option {name} is {value!r}; allowed is a text")
    elif choices and value.lower() not in choices:
        raise GinError(
            f"option {name} is {value!r}{did_you_mean(value, choices)}; allowed is one of: {', '.join(choices)}"
        )
    elif choices:
        return value.lower()
    elif name == "rules":
        return variation(parse_rules("".join(value.split())))
    return value


def variation(rules: Rules) -> str:
    """Rules as the table and the statistics call them: a preset and what differs from it."""
    return rules_text(rules).partition("@")[0]


def opponent_name(spec: str, easy: bool) -> str:
    """An opponent as the table, the statistics and records call it."""
    path = Path(spec)
    # Of a directory the end says enough; a record has a line for both names.
    name = "/".join(path.parts[-2:]) if len(path.parts) > 2 and path.is_dir() else spec
    name = " ".join(name.replace("|", "/").split())
    return f"{name} (easy game)" if easy else name
