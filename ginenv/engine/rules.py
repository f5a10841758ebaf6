"""The rules as one frozen, validated value, and a preset for every source.

A ``Rules`` value holds everything that differs between variants, and one engine reads it. The presets
are the columns of the tables in the documentation: ``dg-*`` (a program with learning opponents), ``gr`` (a program
with a fixed-formula opponent), ``ht1`` and ``ht2-*`` (two how-to-play articles), ``gc`` (an online room), ``eaai`` (the 2021
undergraduate challenge), ``openspiel``, and ``big-gin`` (a rule page that the documentation names).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from ginenv.errors import RulesError, check_choice, check_integer, must_be, quoted, unknown_name


@dataclass(frozen=True)
class Rules:
    """Everything that differs between variants of gin rummy; the default is DG's Standard.

    A rule that can have no effect beside the others, such as ``shutout_bonus`` where a shut-out pays no bonus, keeps its default.
    Another value is an error; ``replace`` drops one that its changes leave without effect.

    Attributes:
        deal: ``traditional`` (10 + 10 and an upcard) or ``eleven-ten`` (the starter gets 11 and begins with a discard).
        first_upcard: ``offer`` (the starter, then the other player may take it; if both pass, the starter draws from the
            stock) or ``either`` (no offer: the starter draws from the stock or takes the upcard).
        first_turn_knock: whether the starter may knock with the first discard of an eleven/ten deal.
        discard_taken_upcard: whether the upcard just taken may be discarded again in the same turn.
        knock_limit: the most deadwood with which a player may knock; 0 allows gin only.
        oklahoma: whether the value of the first upcard sets the knock limit (never above ``knock_limit``).
        oklahoma_ace: whether in Oklahoma an ace requires ``gin``, or sets the limit to ``one``.
        spade_doubles: whether a spade as first upcard (or first discard of an eleven/ten deal) doubles the points of the hand
            and the extra boxes for gin, big gin and undercuts.
        eleven_ten_oklahoma: in Oklahoma with an eleven/ten deal, the deal falls back to ``traditional``, or the
            ``first-discard`` sets the limit.
        gin: ``declared`` (a knock with deadwood 0, which may be declined) or ``automatic`` (the hand ends by itself).
        illegal_knock: a knock above the limit is ``refused``, or becomes a plain ``discard`` with a warning. Action masks
            never include it.
        stock_end: what happens when two cards are left in the stock. ``void``: the hand is void as soon as the turn ends.
            ``last-upcard``: the player may take the upcard and go on; drawing from the stock voids the hand. ``wall``: the
            player may take the upcard and knock, or pass, which voids the hand.
        layoff: how the defender lays off: ``best`` (own melds chosen together with the lay-offs), ``deadwood-only`` (own melds
            fixed first) or ``by-hand`` (card by card).
        layoff_on_gin: whether the defender lays off on gin too.
        spread: the knocker's melds are ``automatic`` (least deadwood, then least to lay off) or ``chosen`` by the knocker.
        undercut_on_tie: whether equal deadwood is an undercut; otherwise it scores 0 and nobody wins the hand.
        gin_bonus: points for gin.
        big_gin_bonus: points for gin with a discard that also belongs to melds (big gin), in place of ``gin_bonus``; 0 where big gin
            counts as gin.
        undercut_bonus: points for an undercut.
        knock_bonus: points for a knock that wins the hand without gin.
        max_upcards: the hand ends as drawn at the attempt to take this many upcards (the offer does not count).
        repeated_upcard_draw: whether the hand is drawn when both players in turn take the upcard and discard it again.
        first_starter: who starts the first hand.
        next_starter: who starts after a scored hand (the other player deals); after a drawn one, or one worth 0, the same player
            starts again.
        target: points that end the game; 0 ends it after one scored hand.
        game_bonus: points to the player who ends the game.
        box_bonus: points for each box (a hand won is a box), paid to both players at the end of the game.
        gin_boxes: extra boxes for gin.
        big_gin_boxes: extra boxes for big gin, in place of ``gin_boxes``.
        undercut_boxes: extra boxes for an undercut.
        shutout: what happens when the loser won no hand: nothing; the winner's points double, with the game bonus
            (``double-before-boxes``), with boxes too (``double-after-boxes``) or those of hands alone (``double-hands``); or a ``bonus``.
        shutout_bonus: the points of ``shutout="bonus"``.
        net_score: whether the loser's total is subtracted from the winner's.
        winner: whether the first player at the ``target`` or the higher final ``total`` wins the game.
        max_drawn_hands: a game ends when this many hands in a row are drawn.
        ranks: ranks in play, from the ace up.
        suits: suits in play.
        hand_size: cards dealt to each player.
    """

    deal: Literal["traditional", "eleven-ten"] = "traditional"
    first_upcard: Literal["either", "offer"] = "offer"
    first_turn_knock: bool = True
    discard_taken_upcard: bool = False
    knock_limit: Annotated[int, 0, 10] = 10
    oklahoma: bool = False
    oklahoma_ace: Literal["gin", "one"] = "one"
    spade_doubles: bool = False
    eleven_ten_oklahoma: Literal["traditional", "first-discard"] = "traditional"
    gin: Literal["declared", "automatic"] = "declared"
    illegal_knock: Literal["refused", "discard"] = "refused"
    stock_end: Literal["void", "last-upcard", "wall"] = "void"
    layoff: Literal["best", "deadwood-only", "by-hand"] = "best"
    layoff_on_gin: bool = False
    spread: Literal["automatic", "chosen"] = "automatic"
    undercut_on_tie: bool = False
    gin_bonus: Annotated[int, 0, 200] = 25
    big_gin_bonus: Annotated[int, 0, 200] = 0
    undercut_bonus: Annotated[int, 0, 200] = 25
    knock_bonus: Annotated[int, 0, 200] = 0
    max_upcards: Annotated[int, 1, 50] = 50
    repeated_upcard_draw: bool = False
    first_starter: Literal["chance", "seat0"] = "chance"
    next_starter: Literal["loser", "alternate", "seat0", "winner"] = "loser"
    target: Annotated[int, 0, 500] = 100
    game_bonus: Annotated[int, 0, 500] = 100
    box_bonus: Annotated[int, 0, 200] = 25
    gin_boxes: Annotated[int, 0, 5] = 0
    big_gin_boxes: Annotated[int, 0, 5] = 0
    undercut_boxes: Annotated[int, 0, 5] = 0
    shutout: Literal["none", "double-before-boxes", "double-after-boxes", "bonus", "double-hands"] = (
        "double-before-boxes"
    )
    shutout_bonus: Annotated[int, 0, 500] = 100
    net_score: bool = True
    winner: Literal["target", "total"] = "total"
    max_drawn_hands: Annotated[int, 1, 200] = 50
    ranks: Annotated[int, 3, 13] = 13
    suits: Annotated[int, 2, 4] = 4
    hand_size: Annotated[int, 3, 10] = 10

    def __post_init__(self) -> None:
        """Rejects an invalid value; the error names the field, the value and what is allowed."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in RANGES:
                object.__setattr__(
                    self, field.name, check_integer(f"rule {field.name}", value, *RANGES[field.name], RulesError)
                )
            elif field.name in CHOICES:
                check_choice(f"rule {field.name}", value, CHOICES[field.name], RulesError)
            elif not isinstance(value, bool):
                raise RulesError(must_be(f"rule {field.name}", "true or false", value))
        for name, (needs, has_effect) in _NEEDS.items():
            if getattr(self, name) != _DEFAULTS[name] and not has_effect(vars(self)):
                value, usual = (quoted(str(each).lower()) for each in (getattr(self, name), _DEFAULTS[name]))
                raise RulesError(f"rule {name} has no effect without {needs}, so it must be {usual}, got {value}")
        # At least three cards in the stock.
        fewest = 2 * self.hand_size + 4
        if self.num_cards < fewest:
            raise RulesError(
                f"hand_size {self.hand_size} needs a deck of at least {fewest} cards; "
                f"{self.ranks} ranks of {self.suits} suits are {self.num_cards}"
            )

    @property
    def deals_eleven(self) -> bool:
        """Whether the starter gets eleven cards (DG's Oklahoma falls back to the traditional deal)."""
        return _deals_eleven(vars(self))

    @property
    def num_cards(self) -> int:
        """Cards in the deck."""
        return self.ranks * self.suits

    @cached_property
    def block(self) -> np.ndarray:
        """The rules as the ``RULES`` record (an array without dimensions) that a state carries."""
        values = np.zeros((), RULES)
        for field, name in _RECORD_NAMES.items():
            value = getattr(self, field)
            values[name] = CHOICES[field].index(value) if field in CHOICES else value
        values["eleven_ten"] = self.deals_eleven
        values["first_discard_limit"] = self.deals_eleven and self.oklahoma
        values.flags.writeable = False
        return values

    def replace(self, **changes: Any) -> Rules:
        """A copy with some rules changed; others that then have no effect get their defaults.

        Raises:
            RulesError: for an unknown rule, an invalid value, or a change without effect.
        """
        names = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in names:
                raise RulesError(unknown_name("rule", name, names))
        values = dataclasses.asdict(self) | changes
        for name, (_, has_effect) in _NEEDS.items():
            if name not in changes and not has_effect(values):
                values[name] = _DEFAULTS[name]
        return Rules(**values)

    def to_json(self) -> str:
        """The rules as one JSON object, keys sorted; of those that most tables do without only what is played."""
        values = dataclasses.asdict(self)
        return json.dumps(
            {name: value for name, value in values.items() if name not in _EXTRA_RULES or value != _DEFAULTS[name]},
            sort_keys=True,
        )

    @classmethod
    def from_block(cls, block: np.ndarray | np.void) -> Rules:
        """The rules of a state's ``RULES`` record: a preset if one has this record, else built field by field.

        Rules that mean the same have one record (DG's eleven/ten deal under Oklahoma is the traditional one). The result can
        therefore differ from the rules that the record was made from, but never in how hands are played and scored.
        """
        for preset in PRESETS.values():
            if preset.block.tobytes() == block.tobytes():
                return preset
        values: dict[str, Any] = {}
        for field, name in _RECORD_NAMES.items():
            value = int(block[name])
            values[field] = CHOICES[field][value] if field in CHOICES else value if field in RANGES else bool(value)
        return cls(**values)

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits that are equal exactly for equal rules."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


def _deals_eleven(rules: dict[str, Any]) -> bool:
    fallback = rules["oklahoma"] and rules["eleven_ten_oklahoma"] == "traditional"
    return rules["deal"] == "eleven-ten" and not fallback


# Rules that most tables do without. Their absence is not named in stored rules, nor does it count in hashes.
_EXTRA_RULES = (
    "big_gin_bonus",
    "big_gin_boxes",
    "gin_boxes",
    "knock_bonus",
    "layoff_on_gin",
    "undercut_boxes",
)
_DEFAULTS: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Rules)}
# Rules that only change what other rules bring: what each needs, in words, and whether fields of rules have that.
_NEEDS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "eleven_ten_oklahoma": (
        "Oklahoma and an eleven/ten deal",
        lambda rules: rules["oklahoma"] and rules["deal"] == "eleven-ten",
    ),
    "oklahoma_ace": (
        "Oklahoma and a knock limit above 0",
        lambda rules: rules["oklahoma"] and rules["knock_limit"] != 0,
    ),
    "first_upcard": ("a traditional deal", lambda rules: not _deals_eleven(rules)),
    "first_turn_knock": ("an eleven/ten deal", _deals_eleven),
    "repeated_upcard_draw": ("discard_taken_upcard", lambda rules: rules["discard_taken_upcard"]),
    "shutout_bonus": ("shutout=bonus", lambda rules: rules["shutout"] == "bonus"),
    "knock_bonus": ("a knock limit above 0", lambda rules: rules["knock_limit"] != 0),
    "gin_boxes": ("box_bonus", lambda rules: rules["box_bonus"] != 0),
    "big_gin_boxes": (
        "big_gin_bonus and box_bonus",
        lambda rules: rules["big_gin_bonus"] != 0 and rules["box_bonus"] != 0,
    ),
    "undercut_boxes": ("box_bonus", lambda rules: rules["box_bonus"] != 0),
}

_HINTS = get_type_hints(Rules, include_extras=True)
# The allowed words of each rule that is a choice; a record holds the position.
CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(hint) for name, hint in _HINTS.items() if get_origin(hint) is Literal
}
# The least and the greatest value of each rule that is a number.
RANGES: dict[str, tuple[int, int]] = {
    name: hint.__metadata__ for name, hint in _HINTS.items() if get_origin(hint) is Annotated
}
# In a record, a choice between two words is a flag with its own name; 1 is the second word.
_FLAGS = {
    "deal": "eleven_ten",
    "first_upcard": "offer",
    "oklahoma_ace": "ace_one",
    "eleven_ten_oklahoma": "first_discard_limit",
    "gin": "auto_gin",
    "illegal_knock": "lenient_knock",
    "spread": "choose_spread",
    "winner": "winner_total",
}
_RECORD_NAMES = {name: _FLAGS.get(name, name) for name in _HINTS}
# The rules as a record of small integers that every state carries, so that games under different rules can share a batch.
RULES = np.dtype([(name, np.int16) for name in _RECORD_NAMES.values()])

_DG = Rules(illegal_knock="discard")
# Only the points of hands count, and the first player at the target wins.
_POINTS_ONLY = Rules(game_bonus=0, box_bonus=0, shutout="none", net_score=False, winner="target")
_GR = _POINTS_ONLY.replace(
    gin="automatic",
    stock_end="last-upcard",
    layoff="deadwood-only",
    undercut_on_tie=True,
)
_HT2 = _POINTS_ONLY.replace(deal="eleven-ten", first_turn_knock=False, undercut_on_tie=True)
_EAAI = _POINTS_ONLY.replace(undercut_on_tie=True, next_starter="alternate")
_GC = _EAAI.replace(layoff="by-hand", stock_end="wall")

PRESETS: dict[str, Rules] = {
    "dg-simple": _DG.replace(knock_limit=0),
    "dg-standard": _DG,
    "dg-oklahoma": _DG.replace(oklahoma=True),
    "gr": _GR,
    "gr-oklahoma": _GR.replace(oklahoma=True, oklahoma_ace="gin", spade_doubles=True, target=150),
    "ht1": _EAAI.replace(layoff="by-hand", spread="chosen", game_bonus=100, box_bonus=25, shutout="double-after-boxes"),
    "ht2-simple": _HT2,
    "ht2-traditional": _HT2.replace(game_bonus=100, box_bonus=25, shutout="bonus", winner="total"),
    "gc": _GC,
    "gc-oklahoma": _GC.replace(oklahoma=True),
    "eaai": _EAAI,
    "openspiel": _POINTS_ONLY.replace(
        discard_taken_upcard=True,
        stock_end="wall",
        repeated_upcard_draw=True,
        first_starter="seat0",
        next_starter="seat0",
        target=0,
    ),
    "big-gin": Rules(undercut_on_tie=True, big_gin_bonus=31),
}


def get_rules(rules: str | Rules | dict[str, Any]) -> Rules:
    """The rules given by a preset name, a ``Rules`` value or a dictionary of fields (``preset`` names the preset to change).

    Changes may follow a preset name: ``"eaai,target=50,gin_bonus=20"``.

    Raises:
        RulesError: for an unknown preset or rule, or an invalid value.
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
            raise RulesError(
                f"expected rules such as 'eaai,target=50', with each rule named once, got {quoted(change)}"
            )
        # Python refuses to read numbers of thousands of digits; no rule needs more than three.
        fields[field] = (
            int(value) if value.isdecimal() and len(value) < 10 else {"true": True, "false": False}.get(value, value)
        )
    return PRESETS[name].replace(**fields) if fields else PRESETS[name]
