"""The rules as one frozen, validated value, and a preset for every source.

A ``Rules`` value says everything that differs between variants; the engine has one path and reads it. The presets
are the columns of the tables in the documentation: ``dg-*`` (a program with learning opponents), ``gr`` (a program
with a fixed-formula opponent), ``ht1`` and ``ht2-*`` (two how-to-play articles), ``gc`` (an online room), ``eaai`` (the 2021
undergraduate challenge) and ``openspiel``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ginenv.errors import RulesError, did_you_mean, unknown_name

# Positions of the rules in the block of small integers that a state carries, so that games under different rules
# can stand side by side in one batch.
(
    R_ELEVEN_TEN,
    R_OFFER,
    R_FIRST_TURN_KNOCK,
    R_DISCARD_TAKEN,
    R_LIMIT,
    R_OKLAHOMA,
    R_ACE_ONE,
    R_SPADE_DOUBLES,
    R_AUTO_GIN,
    R_LENIENT_KNOCK,
    R_STOCK_END,
    R_LAYOFF,
    R_CHOOSE_SPREAD,
    R_TIE_UNDERCUTS,
    R_GIN_BONUS,
    R_UNDERCUT_BONUS,
    R_MAX_UPCARDS,
    R_REPEAT_DRAW,
    R_FIRST_STARTER,
    R_NEXT_STARTER,
    R_TARGET,
    R_GAME_BONUS,
    R_BOX_BONUS,
    R_SHUTOUT,
    R_SHUTOUT_BONUS,
    R_NET,
    R_WINNER_TOTAL,
    R_MAX_DRAWN,
    R_RANKS,
    R_SUITS,
    R_HAND_SIZE,
    R_FIRST_DISCARD_LIMIT,
) = range(32)
NUM_RULES = 32

STOCK_END = ("void", "last-upcard", "wall")
LAYOFF = ("best", "deadwood-only", "by-hand")
FIRST_STARTER = ("chance", "seat0")
NEXT_STARTER = ("loser", "alternate", "seat0")
SHUTOUT = ("none", "double-before-boxes", "double-after-boxes", "bonus")

_RANGES = {
    "knock_limit": (0, 10),
    "gin_bonus": (0, 200),
    "undercut_bonus": (0, 200),
    "max_upcards": (1, 50),
    "target": (0, 500),
    "game_bonus": (0, 500),
    "box_bonus": (0, 200),
    "shutout_bonus": (0, 500),
    "max_drawn_hands": (1, 200),
    "ranks": (3, 13),
    "suits": (2, 4),
    "hand_size": (3, 10),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "deal": ("traditional", "eleven-ten"),
    "first_upcard": ("offer", "either"),
    "oklahoma_ace": ("gin", "one"),
    "eleven_ten_oklahoma": ("traditional", "first-discard"),
    "gin": ("declared", "automatic"),
    "illegal_knock": ("refused", "discard"),
    "stock_end": STOCK_END,
    "layoff": LAYOFF,
    "spread": ("automatic", "chosen"),
    "first_starter": FIRST_STARTER,
    "next_starter": NEXT_STARTER,
    "shutout": SHUTOUT,
    "winner": ("target", "total"),
}


def _choice(name: str, position: int) -> Any:
    """The text of a rule that a block holds by its position."""
    return _CHOICES[name][position]


@dataclass(frozen=True)
class Rules:
    """Everything that differs between variants of gin rummy; the default is DG's Standard.

    Attributes:
        deal: ``traditional`` (10 + 10 and an upcard) or ``eleven-ten`` (the starter gets 11 and begins with a discard).
        first_upcard: ``offer`` (starter, then the other may take it; then the starter draws the stock) or ``either`` (no
            offer: the starter draws the stock or the upcard).
        first_turn_knock: whether the starter may knock with the first discard of an eleven/ten deal.
        discard_taken_upcard: whether the upcard just taken may be discarded again in the same turn.
        knock_limit: most deadwood to knock with; 0 allows gin only.
        oklahoma: the value of the first upcard is the limit (never above ``knock_limit``).
        oklahoma_ace: an ace turned asks for ``gin``, or sets the limit to ``one``.
        spade_doubles: in Oklahoma, a spade turned doubles the points of the hand (also where the limit is 0).
        eleven_ten_oklahoma: Oklahoma with an eleven/ten deal: the deal falls back to ``traditional``, or the limit is the
            ``first-discard``'s.
        gin: ``declared`` (a knock at deadwood 0, which may be declined) or ``automatic`` (the hand ends by itself).
        illegal_knock: a knock above the limit is ``refused``, or becomes a plain ``discard`` with a warning. Masks never
            offer it.
        stock_end: with two cards left the hand is ``void`` as soon as the turn ends; or the player may take the
            ``last-upcard`` and go on, and drawing the stock voids the hand; or at the ``wall`` the player may take the
            upcard and knock, or pass, which voids it.
        layoff: the defender lays off ``best`` (own melds chosen against the spread), ``deadwood-only`` (own melds fixed first)
            or ``by-hand``, card by card.
        spread: the knocker's melds are ``automatic`` (least deadwood, then least to lay off) or ``chosen`` by the knocker.
        undercut_on_tie: whether equal deadwood undercuts; otherwise it scores 0 and the hand is nobody's.
        gin_bonus: points for gin.
        undercut_bonus: points for an undercut.
        max_upcards: the hand is drawn at the attempt to take this many upcards (the offer not counted).
        repeated_upcard_draw: the hand is drawn when both players in turn take the upcard and discard it again.
        first_starter: who starts the first hand.
        next_starter: who starts after a scored hand; after a drawn one, or one worth 0, the same player starts again.
        target: points that end the game; 0 ends it after one scored hand.
        game_bonus: points to the player who ends the game.
        box_bonus: points for each hand won, to both players, at the end.
        shutout: what happens when the loser won no hand.
        shutout_bonus: the points of ``shutout="bonus"``.
        net_score: the loser's total is subtracted from the winner's.
        winner: the game is won by the first at the ``target`` or by the higher final ``total``.
        max_drawn_hands: a game ends when this many hands in a row are drawn.
        ranks: ranks in play, from the ace up.
        suits: suits in play.
        hand_size: cards dealt to each.
    """

    deal: Literal["traditional", "eleven-ten"] = "traditional"
    first_upcard: Literal["offer", "either"] = "offer"
    first_turn_knock: bool = True
    discard_taken_upcard: bool = False
    knock_limit: int = 10
    oklahoma: bool = False
    oklahoma_ace: Literal["gin", "one"] = "one"
    spade_doubles: bool = False
    eleven_ten_oklahoma: Literal["traditional", "first-discard"] = "traditional"
    gin: Literal["declared", "automatic"] = "declared"
    illegal_knock: Literal["refused", "discard"] = "refused"
    stock_end: Literal["void", "last-upcard", "wall"] = "void"
    layoff: Literal["best", "deadwood-only", "by-hand"] = "best"
    spread: Literal["automatic", "chosen"] = "automatic"
    undercut_on_tie: bool = False
    gin_bonus: int = 25
    undercut_bonus: int = 25
    max_upcards: int = 50
    repeated_upcard_draw: bool = False
    first_starter: Literal["chance", "seat0"] = "chance"
    next_starter: Literal["loser", "alternate", "seat0"] = "loser"
    target: int = 100
    game_bonus: int = 100
    box_bonus: int = 25
    shutout: Literal["none", "double-before-boxes", "double-after-boxes", "bonus"] = "double-before-boxes"
    shutout_bonus: int = 100
    net_score: bool = True
    winner: Literal["target", "total"] = "total"
    max_drawn_hands: int = 50
    ranks: int = 13
    suits: int = 4
    hand_size: int = 10

    def __post_init__(self) -> None:
        """Refuses a value that the rule cannot have, naming the field, the value and what is allowed."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in _RANGES:
                low, high = _RANGES[field.name]
                if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
                    raise RulesError(f"rule {field.name} is {value!r}; allowed is a whole number from {low} to {high}")
                object.__setattr__(self, field.name, int(value))
            elif field.name in _CHOICES:
                if not isinstance(value, str) or value not in _CHOICES[field.name]:
                    hint = did_you_mean(str(value), _CHOICES[field.name])
                    allowed = ", ".join(_CHOICES[field.name])
                    raise RulesError(f"rule {field.name} is {value!r}{hint}; allowed is one of: {allowed}")
            elif not isinstance(value, bool):
                raise RulesError(f"rule {field.name} is {value!r}; allowed is true or false")
        # At least three cards in the stock; at most as many as the pile of a state holds (engine.MAX_PILE).
        fewest, most = 2 * self.hand_size + 4, 2 * self.hand_size + 34
        if not fewest <= self.num_cards <= most:
            raise RulesError(
                f"hand_size {self.hand_size} needs a deck of {fewest} to {most} cards; "
                f"{self.ranks} ranks of {self.suits} suits are {self.num_cards}"
            )

    @property
    def deals_eleven(self) -> bool:
        """Whether the starter gets eleven cards (DG's Oklahoma falls back to the traditional deal)."""
        fallback = self.oklahoma and self.eleven_ten_oklahoma == "traditional"
        return self.deal == "eleven-ten" and not fallback

    @property
    def num_cards(self) -> int:
        """Cards in the deck."""
        return self.ranks * self.suits

    @cached_property
    def block(self) -> np.ndarray:
        """The rules as ``int16[32]``, in the order of the ``R_*`` constants; what a state carries."""
        values = np.zeros(NUM_RULES, np.int16)
        values[R_ELEVEN_TEN] = self.deals_eleven
        values[R_OFFER] = self.first_upcard == "offer"
        values[R_FIRST_TURN_KNOCK] = self.first_turn_knock
        values[R_DISCARD_TAKEN] = self.discard_taken_upcard
        values[R_LIMIT] = self.knock_limit
        values[R_OKLAHOMA] = self.oklahoma
        values[R_ACE_ONE] = self.oklahoma_ace == "one"
        values[R_SPADE_DOUBLES] = self.spade_doubles
        values[R_AUTO_GIN] = self.gin == "automatic"
        values[R_LENIENT_KNOCK] = self.illegal_knock == "discard"
        values[R_STOCK_END] = STOCK_END.index(self.stock_end)
        values[R_LAYOFF] = LAYOFF.index(self.layoff)
        values[R_CHOOSE_SPREAD] = self.spread == "chosen"
        values[R_TIE_UNDERCUTS] = self.undercut_on_tie
        values[R_GIN_BONUS] = self.gin_bonus
        values[R_UNDERCUT_BONUS] = self.undercut_bonus
        values[R_MAX_UPCARDS] = self.max_upcards
        values[R_REPEAT_DRAW] = self.repeated_upcard_draw
        values[R_FIRST_STARTER] = FIRST_STARTER.index(self.first_starter)
        values[R_NEXT_STARTER] = NEXT_STARTER.index(self.next_starter)
        values[R_TARGET] = self.target
        values[R_GAME_BONUS] = self.game_bonus
        values[R_BOX_BONUS] = self.box_bonus
        values[R_SHUTOUT] = SHUTOUT.index(self.shutout)
        values[R_SHUTOUT_BONUS] = self.shutout_bonus
        values[R_NET] = self.net_score
        values[R_WINNER_TOTAL] = self.winner == "total"
        values[R_MAX_DRAWN] = self.max_drawn_hands
        values[R_RANKS] = self.ranks
        values[R_SUITS] = self.suits
        values[R_HAND_SIZE] = self.hand_size
        values[R_FIRST_DISCARD_LIMIT] = self.deals_eleven and self.oklahoma
        values.flags.writeable = False
        return values

    def replace(self, **changes: Any) -> Rules:
        """A copy with some rules changed.

        Raises:
            RulesError: for an unknown rule or a value that it cannot have.
        """
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise RulesError(unknown_name("rule", name, known))
        return dataclasses.replace(self, **changes)

    def to_json(self) -> str:
        """The rules as one JSON object, every field named, keys sorted."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str | dict[str, Any]) -> Rules:
        """Rules of a JSON object (text or parsed); fields left out keep their default.

        Raises:
            RulesError: if the text is no JSON object, or a field is unknown or has a value that it cannot have.
        """
        try:
            values = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError) as error:
            raise RulesError(f"rules cannot be read as JSON: {error}") from None
        if not isinstance(values, dict):
            raise RulesError(f"rules are a JSON object with a value for each rule, not {type(values).__name__}")
        return cls().replace(**values)

    @classmethod
    def from_block(cls, block: np.ndarray) -> Rules:
        """Rules that a state's block stands for: a preset where one has this block, else built field by field.

        Rules that mean the same have one block (DG's eleven/ten deal under Oklahoma is the traditional one), so the value can
        differ from the one that the block was made of, but never in how hands are played and scored.
        """
        for preset in PRESETS.values():
            if np.array_equal(preset.block, block):
                return preset
        return cls(
            deal="eleven-ten" if block[R_ELEVEN_TEN] else "traditional",
            first_upcard="offer" if block[R_OFFER] else "either",
            first_turn_knock=bool(block[R_FIRST_TURN_KNOCK]),
            discard_taken_upcard=bool(block[R_DISCARD_TAKEN]),
            knock_limit=block[R_LIMIT],
            oklahoma=bool(block[R_OKLAHOMA]),
            oklahoma_ace="one" if block[R_ACE_ONE] else "gin",
            spade_doubles=bool(block[R_SPADE_DOUBLES]),
            eleven_ten_oklahoma="first-discard" if block[R_FIRST_DISCARD_LIMIT] else "traditional",
            gin="automatic" if block[R_AUTO_GIN] else "declared",
            illegal_knock="discard" if block[R_LENIENT_KNOCK] else "refused",
            stock_end=_choice("stock_end", block[R_STOCK_END]),
            layoff=_choice("layoff", block[R_LAYOFF]),
            spread="chosen" if block[R_CHOOSE_SPREAD] else "automatic",
            undercut_on_tie=bool(block[R_TIE_UNDERCUTS]),
            gin_bonus=block[R_GIN_BONUS],
            undercut_bonus=block[R_UNDERCUT_BONUS],
            max_upcards=block[R_MAX_UPCARDS],
            repeated_upcard_draw=bool(block[R_REPEAT_DRAW]),
            first_starter=_choice("first_starter", block[R_FIRST_STARTER]),
            next_starter=_choice("next_starter", block[R_NEXT_STARTER]),
            target=block[R_TARGET],
            game_bonus=block[R_GAME_BONUS],
            box_bonus=block[R_BOX_BONUS],
            shutout=_choice("shutout", block[R_SHUTOUT]),
            shutout_bonus=block[R_SHUTOUT_BONUS],
            net_score=bool(block[R_NET]),
            winner="total" if block[R_WINNER_TOTAL] else "target",
            max_drawn_hands=block[R_MAX_DRAWN],
            ranks=block[R_RANKS],
            suits=block[R_SUITS],
            hand_size=block[R_HAND_SIZE],
        )

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits that are equal exactly for equal rules."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


_DG = Rules(illegal_knock="discard")
_GR = Rules(
    gin="automatic",
    stock_end="last-upcard",
    layoff="deadwood-only",
    undercut_on_tie=True,
    oklahoma_ace="gin",
    spade_doubles=True,
    eleven_ten_oklahoma="first-discard",
    game_bonus=0,
    box_bonus=0,
    shutout="none",
    net_score=False,
    winner="target",
)
_HT2 = Rules(
    deal="eleven-ten",
    first_turn_knock=False,
    undercut_on_tie=True,
    game_bonus=0,
    box_bonus=0,
    shutout="none",
    net_score=False,
    winner="target",
)

PRESETS: dict[str, Rules] = {
    "dg-simple": _DG.replace(knock_limit=0),
    "dg-standard": _DG,
    "dg-oklahoma": _DG.replace(oklahoma=True),
    "gr": _GR,
    "gr-oklahoma": _GR.replace(oklahoma=True, target=150),
    "ht1": Rules(
        layoff="by-hand",
        spread="chosen",
        undercut_on_tie=True,
        next_starter="alternate",
        shutout="double-after-boxes",
        net_score=False,
        winner="target",
    ),
    "ht2-simple": _HT2,
    "ht2-traditional": _HT2.replace(game_bonus=100, box_bonus=25, shutout="bonus", winner="total"),
    "gc": Rules(
        layoff="by-hand",
        undercut_on_tie=True,
        next_starter="alternate",
        game_bonus=0,
        box_bonus=0,
        shutout="none",
        net_score=False,
        winner="target",
    ),
    "gc-oklahoma": Rules(
        layoff="by-hand",
        undercut_on_tie=True,
        next_starter="alternate",
        oklahoma=True,
        game_bonus=0,
        box_bonus=0,
        shutout="none",
        net_score=False,
        winner="target",
    ),
    "eaai": Rules(
        undercut_on_tie=True,
        next_starter="alternate",
        game_bonus=0,
        box_bonus=0,
        shutout="none",
        net_score=False,
        winner="target",
    ),
    "openspiel": Rules(
        discard_taken_upcard=True,
        oklahoma_ace="gin",
        stock_end="wall",
        repeated_upcard_draw=True,
        first_starter="seat0",
        next_starter="seat0",
        target=0,
        game_bonus=0,
        box_bonus=0,
        shutout="none",
        net_score=False,
        winner="target",
    ),
}


# Of a rule. No rule needs as many, and Python refuses to read numbers of thousands of digits.
_LONGEST_VALUE = 40


def get_rules(rules: str | Rules | dict[str, Any]) -> Rules:
    """Rules of a preset's name, of a value, or of a dictionary of fields (``preset`` names what it starts from).

    A name may bring changes: ``"eaai,target=50,gin_bonus=20"``.

    Raises:
        RulesError: for an unknown preset or rule, or a value that a rule cannot have.
    """
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, dict):
        changes = dict(rules)
        return get_rules(changes.pop("preset", "dg-standard")).replace(**changes)
    name, *changes = str(rules).split(",")
    if not isinstance(rules, str) or name not in PRESETS:
        raise RulesError(unknown_name("preset", name if isinstance(rules, str) else str(rules), PRESETS))
    fields: dict[str, Any] = {}
    for change in changes:
        field, equals, value = change.partition("=")
        if not equals or field in fields:
            raise RulesError(f"{change!r} changes no rule; rules are written PRESET,field=value,field=value")
        if len(value) > _LONGEST_VALUE:
            raise RulesError(
                f"the rule {field!r} has a value of {len(value):,} characters; allowed are {_LONGEST_VALUE}"
            )
        fields[field] = int(value) if value.isdecimal() else {"true": True, "false": False}.get(value, value)
    return PRESETS[name].replace(**fields) if fields else PRESETS[name]
