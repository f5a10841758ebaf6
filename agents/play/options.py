"""A player's own options: their names, their values, and how they are read from words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from agents.config import Config
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, check_choice, must_be, unknown_name
from ginenv.hands.text import parse_rules, rules_text
from ginenv.tables.player_names import short_name

_SWITCH = ("on", "off")
_SAME = {"yes": "on", "true": "on", "no": "off", "false": "off"}
# Presets, changed or not, under which tables have rules of their own (see ``Turn.returns_upcard`` and ``Session.set_option``).
GR = ("gr", "gr-oklahoma")


# Before the name of a person who is the opponent.
FRIEND = "friend:"


def friend_of(opponent: str) -> str:
    """The name of the person that an opponent's name means, such as Bob for ``friend:Bob``; empty for a player of the registry."""
    return opponent.removeprefix(FRIEND) if opponent.startswith(FRIEND) else ""


def variation(rules: Rules) -> str:
    """Rules as the table and the statistics call them: a preset and the rules that differ from it."""
    return rules_text(rules).partition("@")[0]


def preset_of(rules: str) -> str:
    """The preset of rules that are written as a preset and changes to it."""
    return rules.partition(",")[0].strip()


def _variation(text: str) -> str:
    return variation(parse_rules("".join(text.split())))


class Options(Config):
    """What one player has chosen; it takes effect at once, but rules, opponent, ``easy_game`` and ``learning`` with the next game."""

    opponent: str = Field(
        default="formula", min_length=1, description="a level, any player's name, or a checkpoint's directory"
    )
    rules: Annotated[str, AfterValidator(_variation)] = Field(
        default="dg-standard", description="a preset, and changes to it: dg-standard,target=150"
    )
    easy_game: bool = Field(
        default=False, description="the opponent always discards its highest card outside its melds"
    )
    learning: bool = Field(default=True, description="a level learns from the hands that you play against it")
    hints: Literal["search", "formulas"] = Field(
        default="search", description="hints by the search that analyses your hands, or by fixed formulas"
    )
    sort: Literal["meld", "suit", "value", "none"] = Field(
        default="meld", description="how your hand is sorted; meld: sets and runs first; none: it stays as you lay it"
    )
    direction: Literal["ascending", "descending"] = Field(default="ascending", description="the direction of sorting")
    sort_when: Literal["always", "deal"] = Field(
        default="always",
        description="when your hand is sorted: after every turn (a new card stays on the right until then), or only at the deal",
    )
    mark_melds: bool = Field(default=True, description="shows which of your cards form melds, and your deadwood")
    ask_knock: bool = Field(default=True, description="asks whether to knock when your discard would allow it")
    memory: bool = Field(
        default=False, description="shows the whole discard pile, and the cards the opponent took from it"
    )
    card_back: Literal["lattice", "waves"] = Field(
        default="lattice", description="the backs of the cards, in the browser"
    )
    four_colours: bool = Field(default=False, description="clubs green and diamonds blue, in the browser")
    change_back: bool = Field(default=False, description="another back for every hand, in the browser")
    cloth: Literal["green", "blue", "wine", "slate"] = Field(
        default="green", description="the cloth on the table, in the browser"
    )
    animations: bool = Field(default=True, description="cards move on the table, in the browser")
    sounds: bool = Field(default=True, description="tones for cards and the end of a hand, in the browser")
    always_resume: bool = Field(default=False, description="an unfinished game goes on as soon as you take your seat")

    def changed(self, name: str, text: str) -> Options:
        """The options with one of them read from words.

        Raises:
            GinError: for an unknown option, or a value that it cannot have.
        """
        if name not in type(self).model_fields:
            raise GinError(unknown_name("option", name, type(self).model_fields))
        value: Any = text.strip()
        if allowed := choices(name):
            value = value.lower()
            value = _SAME.get(value, value) if allowed == _SWITCH else value
            check_choice(f"option {name}", value, allowed)
            value = value == "on" if allowed == _SWITCH else value
        elif name == "rules":
            value = _variation(value)
        elif not value or not value.isprintable():
            raise GinError(must_be(f"option {name}", "one or more printable characters", value))
        return self.model_copy(update={name: value})

    def text(self, name: str) -> str:
        """An option's value as it is written: a switch is ``on`` or ``off``."""
        value = getattr(self, name)
        return _SWITCH[not value] if isinstance(value, bool) else value

    @property
    def opponent_name(self) -> str:
        """The opponent as the table and the statistics call it."""
        return opponent_name(self.opponent, self.easy_game)

    @property
    def player(self) -> str:
        """The chosen opponent where only a player of the registry will do: the default in a friend's place."""
        return type(self).model_fields["opponent"].default if friend_of(self.opponent) else self.opponent


def choices(name: str) -> tuple[str, ...]:
    """The values that an option can have, as they are written; empty for one that takes any text."""
    kind = Options.model_fields[name].annotation
    return _SWITCH if kind is bool else get_args(kind)


def opponent_name(spec: str, easy: bool) -> str:
    """An opponent as the table, the statistics and records call it."""
    if friend := friend_of(spec):
        return friend
    # The end of a directory's path says enough; in a record, both names share a line.
    name = short_name(spec)
    parts = Path(name).parts
    name = "/".join(parts[-2:]) if len(parts) > 2 and not name.startswith("cmd:") else name
    name = "".join(c if c.isprintable() or c.isspace() else ascii(c)[1:-1] for c in name.replace("|", "/"))
    name = " ".join(name.split())
    return f"{name} (easy game)" if easy else name
