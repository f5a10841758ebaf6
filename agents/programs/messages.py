"""The messages of the line protocol as models: they check what comes in, from a program or a host, and are its JSON schema.

What goes out are plain values (``agents.programs.events``); tests validate all of it against the schema. Keys with a default may be left
out by a host; the arena sends them all.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from agents.programs.events import END_NAMES, VERSION
from ginenv.engine.rules import CHOICES, RANGES, Rules, get_rules
from ginenv.engine.state import STATE
from ginenv.errors import GinError, quoted

SCHEMA = Path(__file__).with_name("protocol.schema.json")
# Of a hand: its longest history, with what follows the knock; and games in one line.
MAX_EVENTS, MAX_GAMES = 512, 4096


class MessageError(GinError):
    """A message that the protocol does not allow."""


class Message(BaseModel):
    """Base of messages and their parts: unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _rules_schema() -> dict[str, Any]:
    """The JSON schema of rules: a preset's name, with or without changes, or an object of fields (``preset`` names the one to change)."""
    fields: dict[str, Any] = {"preset": {"type": "string", "description": "the preset that the other fields change"}}
    for field in dataclasses.fields(Rules):
        if field.name in CHOICES:
            fields[field.name] = {"enum": list(CHOICES[field.name])}
        elif field.name in RANGES:
            least, most = RANGES[field.name]
            fields[field.name] = {"type": "integer", "minimum": least, "maximum": most}
        else:
            fields[field.name] = {"type": "boolean"}
    as_object = {"type": "object", "properties": fields, "additionalProperties": False}
    return {"anyOf": [{"type": "string", "maxLength": 1000, "examples": ["eaai", "gc,target=50"]}, as_object]}


def _read_rules(value: Any) -> Rules:
    if not isinstance(value, str | dict | Rules):
        raise GinError(f"it must be a preset's name or an object of rules, got {quoted(value)}")
    try:
        return get_rules(value)
    except TypeError:
        raise GinError("an object of rules names each rule by a text") from None


RulesField = Annotated[Rules, PlainValidator(_read_rules), WithJsonSchema(_rules_schema())]
Card = Annotated[str, Field(pattern=r"^[A2-9TJQK][SCDH]$", examples=["7C"])]
Cards = Annotated[list[Card], Field(max_length=52)]
Melds = Annotated[list[Cards], Field(max_length=4)]
Who = Literal["you", "opponent"]
# Own, and the opponent's: no more than the fields of a state can hold.
Pair = Annotated[list[Annotated[int, Field(ge=0, le=30_000)]], Field(min_length=2, max_length=2)]
Boxes = Annotated[
    list[Annotated[int, Field(ge=0, le=int(np.iinfo(STATE["boxes"].base).max))]], Field(min_length=2, max_length=2)
]
Slot = Annotated[int, Field(ge=0, lt=2**53)]
# A literal would take true for it.
Version = Annotated[int, Field(ge=VERSION, le=VERSION)]
# A random word of 64 bits, in hexadecimal.
Word = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Action = Annotated[str, Field(min_length=1, max_length=40, examples=["draw stock", "discard 7C"])]
Points = Annotated[int, Field(ge=0, le=10_000)]


class Deal(Message):
    """A new hand; ``upcard`` is null after an eleven/ten deal."""

    event: Literal["deal"]
    hand: int = Field(1, ge=1, le=2**31 - 1)
    seat: int = Field(0, ge=0, le=1)
    starts: Who
    cards: Cards
    upcard: Card | None = None
    limit: int | None = Field(None, ge=0, le=10)
    doubled: bool | None = None
    score: Pair = [0, 0]
    boxes: Boxes = [0, 0]
    drawn_hands: int = Field(0, ge=0, le=200)


class Pass(Message):
    """An upcard is refused (the first, or the last one at the wall), or a further lay-off."""

    event: Literal["pass", "done"]
    who: Who


class Draw(Message):
    """A card from the stock; the card is there for own draws."""

    event: Literal["draw"]
    who: Who
    card: Card | None = None


class CardEvent(Message):
    """The upcard is taken, or a card discarded, also for a knock."""

    event: Literal["take", "discard", "knock"]
    who: Who
    card: Card


class Spread(Message):
    """The knocker lays out its hand."""

    event: Literal["spread"]
    who: Who
    melds: Melds
    deadwood: Cards


class LayOff(Message):
    """The defender lays off, one card at a time where that is done by hand."""

    event: Literal["lay off"]
    who: Who
    cards: Cards


class Shown(Message):
    """A hand at the end of a knocked hand, without what was laid off."""

    event: Literal["shown"]
    who: Who
    cards: Cards
    deadwood: Points


class HandOver(Message):
    """The hand is over; the points are the winner's."""

    event: Literal["hand over"]
    end: Annotated[str, Field(pattern=f"^({'|'.join(sorted(END_NAMES.values()))})$")]
    winner: Literal["you", "opponent", "nobody"]
    points: Points
    score: Pair
    target_reached: bool
    luck: Word | None = None


Event = Annotated[Deal | Pass | Draw | CardEvent | Spread | LayOff | Shown | HandOver, Field(discriminator="event")]


class KnownCards(Message):
    """What one seat knows of the other's hand: cards that it took and holds, all that it took in order, those it refused, its discards."""

    holds: Cards
    took: Cards
    refused: Cards
    discarded: Cards


class GameEntry(Message):
    """One seat of one game: what it has seen since the last entry and, if it has a phase, a question."""

    slot: Slot
    events: Annotated[list[Event], Field(max_length=MAX_EVENTS)]
    phase: Literal["upcard", "draw", "discard", "spread", "layoff", "wall"] | None = None
    hand: Cards | None = None
    upcard: Card | None = None
    stock: int | None = Field(None, ge=0, le=52)
    legal: Annotated[list[Action], Field(min_length=1, max_length=107)] | None = None
    arrangements: Annotated[list[Melds], Field(max_length=52)] | None = None
    melds: Melds | None = None
    deadwood: Cards | None = None
    pile: Cards | None = None
    opponent: KnownCards | None = None
    you: KnownCards | None = None
    limit: int | None = Field(None, ge=0, le=10)
    doubled: bool | None = None
    score: Pair | None = None
    boxes: Boxes | None = None
    drawn_hands: int | None = Field(None, ge=0, le=200)
    luck: Word | None = None
    hand_luck: Word | None = None

    @property
    def asks(self) -> bool:
        """Whether it asks for a decision."""
        return self.phase is not None or self.legal is not None


class Hello(Message):
    """The first message to a program: version, rules, its seed, its time for a line, and the most games in a line."""

    type: Literal["hello"]
    protocol: Version
    rules: RulesField
    seed: int = Field(0, ge=0, lt=2**63)
    seconds: float = Field(10.0, gt=0)
    max_batch: int = Field(256, ge=1)


class Ready(Message):
    """The answer to ``hello``."""

    type: Literal["ready"]
    protocol: Version
    name: str = ""
    rules: list[str] | None = None
    max_batch: int | None = Field(None, ge=1)


class Act(Message):
    """Questions and news about games; the ``id`` counts up."""

    type: Literal["act"]
    id: int = Field(ge=0, lt=2**53)
    games: Annotated[list[GameEntry], Field(max_length=MAX_GAMES)]


class Answer(Message):
    """The decision of one slot."""

    slot: Slot
    action: str


class AnswerList(Message):
    """The answer to ``act``, with the same ``id``."""

    type: Literal["answers"]
    id: int = Field(ge=0, lt=2**53)
    answers: list[Answer]


class Error(Message):
    """What our players answer to a message that they cannot use; the next message may be a better one."""

    type: Literal["error"]
    message: str


class Bye(Message):
    """The last message, with the news not yet sent."""

    type: Literal["bye"]
    games: Annotated[list[GameEntry], Field(max_length=MAX_GAMES)] = []


ToProgram = Annotated[Hello | Act | Bye, Field(discriminator="type")]
FromProgram = Annotated[Ready | AnswerList | Error, Field(discriminator="type")]
TO_PROGRAM: TypeAdapter[Hello | Act | Bye] = TypeAdapter(ToProgram)
READY = TypeAdapter(Ready)
ANSWERS: TypeAdapter[AnswerList | Error] = TypeAdapter(Annotated[AnswerList | Error, Field(discriminator="type")])
_Read = TypeVar("_Read")


def read_message(text: str | bytes, kind: TypeAdapter[_Read]) -> _Read:
    """A message from its text.

    Raises:
        MessageError: if it is not JSON, or not a message of this kind; one sentence says what is wrong where.
    """
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        raise MessageError(sentence_of(error.errors(include_url=False, include_input=False))) from None


# What pydantic says in words of Python.
_WORDS = {"missing": "missing", "extra_forbidden": "there is no such key"} | dict.fromkeys(
    ("model_attributes_type", "model_type", "dict_type"), "a JSON object is expected"
)


def sentence_of(errors: Sequence[Any]) -> str:
    """The first of pydantic's errors in a message, and where it is."""
    first = errors[0]
    own = first.get("ctx", {}).get("error")
    # Of a message that may be of several types, the first part is the type.
    place = first["loc"][first["loc"][:1] in (("hello",), ("act",), ("bye",), ("answers",), ("error",), ("body",)) :]
    where = ".".join(map(str, place))
    # What is no JSON is worded by pydantic; the other errors with a context are our own.
    is_own = own is not None and first["type"] != "json_invalid"
    text = str(own) if is_own else _WORDS.get(first["type"], first["msg"])
    return f"{where or 'the message'}: {text}"


def json_schema() -> dict[str, Any]:
    """The schema of every message, in either direction: what ``protocol.schema.json`` holds."""
    schema = TypeAdapter(Annotated[ToProgram | FromProgram, Field(title="message")]).json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"line protocol, version {VERSION}"}
    return head | schema


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
