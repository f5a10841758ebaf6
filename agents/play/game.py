"""One game between the person at the terminal (seat 0) and an opponent (seat 1), and how it is kept while unfinished."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass, field
from typing import Any

from agents.play.options import opponent_name
from ginenv.cards import card_name, parse_card
from ginenv.errors import GinError
from ginenv.hand import Match
from ginenv.records import format_record, parse_record
from ginenv.rules import Rules

HUMAN = 0
FROM_STOCK = "stock"


@dataclass
class Game:
    """A game in play.

    Attributes:
        match: hands, score and rules.
        opponent: the opponent's name in the registry, or a path.
        easy: whether the opponent always discards its largest unused card.
        seed: the opponent's.
        name: the game's own name, by which its record is found.
        order: the person's cards as they lie.
        play_to_gin: whether the person is not asked to knock in this hand any more.
        last_taken: seat that took a card last in this hand, and its name or ``stock``.
    """

    match: Match
    opponent: str
    easy: bool
    seed: int
    name: str
    order: list[int] = field(default_factory=list)
    play_to_gin: bool = False
    last_taken: tuple[int, str] | None = None

    @classmethod
    def begin(cls, rules: Rules, opponent: str, easy: bool, seed: int | None = None) -> Game:
        """A new game; with a seed always the same cards and the same opponent's luck."""
        match = Match(rules, seed=secrets.randbits(63) if seed is None else seed)
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H%M%S")
        name = f"{stamp}-{secrets.token_hex(2)}"
        return cls(match, opponent, easy, secrets.randbits(31) if seed is None else seed, name)

    @property
    def opponent_name(self) -> str:
        """The opponent as the table, the statistics and records call it."""
        return opponent_name(self.opponent, self.easy)

    def record(self, player: str) -> str:
        """The record of the game so far."""
        return format_record(self.match, (player, self.opponent_name))

    def next_hand(self) -> None:
        """Deals the next hand."""
        self.match.next_hand()
        self.order, self.play_to_gin, self.last_taken = [], False, None

    def to_json(self) -> dict[str, Any]:
        """The game as plain values."""
        return {
            "record": format_record(self.match).splitlines(),
            "opponent": self.opponent,
            "easy": self.easy,
            "seed": self.seed,
            "name": self.name,
            "order": [card_name(card) for card in self.order],
            "play_to_gin": self.play_to_gin,
            "last_taken": list(self.last_taken) if self.last_taken else None,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Game:
        """The game of ``to_json``; its record is replayed and checked.

        Raises:
            GinError: if a value is missing, is of the wrong kind, or is no game in play.
        """
        kinds = {"record": list, "opponent": str, "easy": bool, "seed": int, "name": str, "order": list}
        kinds["play_to_gin"] = bool
        for name, kind in kinds.items():
            if not isinstance(values.get(name), kind):
                raise GinError(f"its field {name!r} is missing or of the wrong kind")
        if not values["name"].replace("-", "").isalnum() or values["seed"] < 0:
            raise GinError("its name or its seed is none")
        match = parse_record("\n".join(str(line) for line in values["record"])).match
        if match is None or match.is_over:
            raise GinError("it is no game in play")
        taken = values.get("last_taken")
        if taken is not None:
            seat, card = taken if isinstance(taken, list) and len(taken) == 2 else (None, None)
            if seat not in (0, 1) or not isinstance(card, str):
                raise GinError("its field 'last_taken' is no seat and card")
            taken = (seat, card)
        order = [parse_card(str(card)) for card in values["order"]]
        return cls(
            match,
            values["opponent"],
            values["easy"],
            values["seed"],
            values["name"],
            order,
            values["play_to_gin"],
            taken,
        )
