"""One game between a person and an opponent, as it is kept on disk while it is unfinished."""

from __future__ import annotations

import datetime
import secrets
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer

from agents.config import Config
from agents.play.options import FRIEND, friend_of, opponent_name
from ginenv.engine.cards import card_name, parse_card
from ginenv.engine.rules import Rules
from ginenv.hands.hand import Match
from ginenv.hands.records import format_record, parse_record

# Before the date in the name of the game of a day.
DAILY = "daily-"


def day_of(name: str) -> str:
    """The day whose deal the game of this name is (see ``agents.play.daily``); empty for other games."""
    return name.removeprefix(DAILY) if name.startswith(DAILY) else ""


def utc_now() -> str:
    """The time in UTC, in ISO 8601."""
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%S}"


def _read_match(value: Any) -> Match:
    if isinstance(value, Match):
        return value
    return parse_record("\n".join(value)).match


def _read_cards(value: list[Any]) -> list[int]:
    return [parse_card(card) if isinstance(card, str) else card for card in value]


_Record = Annotated[
    Match, BeforeValidator(_read_match), PlainSerializer(lambda match: format_record(match).splitlines())
]
_Cards = Annotated[list[int], BeforeValidator(_read_cards), PlainSerializer(lambda cards: list(map(card_name, cards)))]


class Game(Config):
    """A game in play.

    Attributes:
        match: hands, score and rules; on disk it is a record, which is replayed and checked when it is read.
        opponent: the opponent's name in the registry, or a path; or ``friend:`` and the name of another person, who has the same game.
        easy: whether the opponent plays the easy game.
        seed: the opponent's seed.
        name: the game's own name, by which its record is found.
        order: the person's cards in the order in which they lie.
        play_to_gin: whether the person is no longer asked to knock in this hand.
        seat: the person's seat.
        begun: when it began, in UTC (ISO 8601).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=False)

    match: _Record = Field(alias="record")
    opponent: str
    easy: bool
    seed: int = Field(ge=0)
    name: str = Field(pattern=r"\A[0-9A-Za-z-]+\z")
    order: _Cards
    play_to_gin: bool = False
    seat: Literal[0, 1] = 0
    begun: str = Field(default_factory=utc_now)

    @classmethod
    def begin(cls, rules: Rules, opponent: str, easy: bool, seed: int | None = None) -> Game:
        """A new game; a seed fixes the cards and the opponent's luck."""
        match = Match(rules, seed=secrets.randbits(63) if seed is None else seed)
        name = f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        seed = secrets.randbits(31) if seed is None else seed
        easy = easy and not friend_of(opponent)
        return cls(record=match, opponent=opponent, easy=easy, seed=seed, name=name, order=[])

    def facing(self, person: str) -> Game:
        """The same game as the friend has it to whom this person is the opponent."""
        return self.model_copy(update={"opponent": FRIEND + person, "order": [], "seat": 1 - self.seat})

    @property
    def day(self) -> str:
        """The day whose deal it is; empty for other games."""
        return day_of(self.name)

    @property
    def is_over(self) -> bool:
        """Whether it has ended: a day's deal with its hand, also one that nobody wins."""
        return self.match.is_over or bool(self.day and self.match.hand.is_over)

    @property
    def opponent_name(self) -> str:
        """The opponent as the table, the statistics and records call it."""
        return opponent_name(self.opponent, self.easy)

    def to_json(self) -> str:
        """The game as text, which ``model_validate_json`` reads."""
        return self.model_dump_json(by_alias=True)
