"""A player's own options: what they are called, what they may be, and how they are read from words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field

from agents.play.kept import Kept
from ginenv.errors import GinError, did_you_mean
from ginenv.rules import Rules
from ginenv.text import parse_rules, rules_text

_SWITCH = ("on", "off")
_SAME = {"yes": "on", "true": "on", "no": "off", "false": "off"}


def variation(rules: Rules) -> str:
    """Rules as the table and the statistics call them: a preset and what differs from it."""
    return rules_text(rules).partition("@")[0]


def _variation(text: str) -> str:
    return variation(parse_rules("".join(text.split())))


class Options(Kept):
    """What one player has chosen; takes effect at once, rules and opponent with the next game."""

    model_config = ConfigDict(frozen=True)

    opponent: str = Field(
        default="formula", min_length=1, description="a level, any agent's name, or a checkpoint's directory"
    )
    rules: Annotated[str, AfterValidator(_variation)] = Field(
        default="dg-standard", description="a preset, and changes to it: dg-standard,target=150"
    )
    easy_game: bool = Field(
        default=False, description="the opponent always discards its highest card outside its melds"
    )
    learning: bool = Field(default=True, description="a level learns from the hands that you play against it")
    sort: Literal["suit", "value", "none"] = Field(default="suit", description="how your hand is sorted")
    direction: Literal["ascending", "descending"] = Field(default="ascending", description="in which direction")
    sort_when: Literal["always", "deal"] = Field(
        default="always",
        description="sorted after every turn, or only at the deal; until then a new card is on the right",
    )
    mark_melds: bool = Field(default=True, description="shows which of your cards form melds, and your deadwood")
    ask_knock: bool = Field(default=True, description="asks whether to knock when your discard would allow it")
    memory: bool = Field(
        default=False, description="shows the whole discard pile, and the cards the opponent took from it"
    )
    always_resume: bool = Field(default=False, description="an unfinished game goes on as soon as you take your seat")

    def changed(self, name: str, text: str) -> Options:
        """The options with one of them read from words.

        Raises:
            GinError: for an unknown option, or a value that it cannot have.
        """
        key = name.strip().lower().replace("-", "_")
        known = type(self).model_fields
        if key not in known:
            raise GinError(f"there is no option {name!r}{did_you_mean(key, known)}; options are: {', '.join(known)}")
        value: Any = text.strip()
        if allowed := choices(key):
            value = _SAME.get(value.lower(), value.lower()) if allowed == _SWITCH else value.lower()
            if value not in allowed:
                hint = did_you_mean(value, allowed)
                raise GinError(f"option {key} cannot be {text.strip()!r}{hint}; it can be {' or '.join(allowed)}")
            value = value == "on" if allowed == _SWITCH else value
        elif key == "rules":
            value = _variation(value)
        elif not value:
            raise GinError(f"option {key} needs a value")
        return self.model_copy(update={key: value})

    @property
    def rules_value(self) -> Rules:
        """The rules that are chosen."""
        return parse_rules(self.rules)

    @property
    def opponent_name(self) -> str:
        """The opponent as the table and the statistics call it."""
        return opponent_name(self.opponent, self.easy_game)


def choices(name: str) -> tuple[str, ...]:
    """The words that an option can be; empty for one that takes any text."""
    kind = Options.model_fields[name].annotation
    return _SWITCH if kind is bool else get_args(kind)


def opponent_name(spec: str, easy: bool) -> str:
    """An opponent as the table, the statistics and records call it."""
    path = Path(spec)
    # Of a directory the end says enough; a record has a line for both names.
    name = "/".join(path.parts[-2:]) if len(path.parts) > 2 and path.is_dir() else spec
    name = " ".join(name.replace("|", "/").split())
    return f"{name} (easy game)" if easy else name
