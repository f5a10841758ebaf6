"""Why an action is good, in a clause that is true in the position: for hints, for marks in an analysis, for practice.

A clause says what speaks for an action, where another one is given rather than for that one, and what speaks most against it if that
weighs more. Everything it says can be recomputed from the view; only the deadwood that the opponent is expected to hold, and what
an action is worth more than another, come from a caller that sampled hands. Cards are written in letters (7C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ginenv.bots.hand_kernels import best_of_eleven, fillers, fits_beside, joins_meld, live_ways, melds_of_three
from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, UPCARD
from ginenv.engine.cards import card_name, cards_of, format_cards
from ginenv.engine.melds import RANK_COLUMN, deadwood, fits, nth_arrangement, points_of

_RANK_WORDS = "ace two three four five six seven eight nine ten jack queen king".split()
# What facts weigh against each other, in points of deadwood: only the order of clauses depends on it.
_USELESS, _LONE, _WAY, _PAIR, _SAFE, _COLLECTED = 6.0, 3.0, 1.0, 0.4, 1.5, 3.0


@dataclass(frozen=True)
class Estimates:
    """What the view alone does not tell.

    Attributes:
        opponent_deadwood: the deadwood that the opponent holds on average; None where no hands were sampled.
        worth_more: by how much the action is better than the other one, in words such as ``1.3 % of the game``; empty where that is
            not known, or nothing.
    """

    opponent_deadwood: float | None = None
    worth_more: str = ""


def reason(view: Any, action: int, other: int | None = None, estimates: Estimates | None = None) -> str:
    """A clause that says why an action is good.

    Args:
        view: one record of ``VIEW`` whose seat is to move.
        action: a legal action.
        other: the legal action that it is compared with; none when left out.
        estimates: what was found by sampling hands.

    Returns:
        A clause without a full stop, such as ``leaves 23 deadwood, 6 less than the 7C``.
    """
    estimates = estimates or Estimates()
    phase = int(view["phase"])
    if other == action:
        other = None
    if phase == PHASE_LAYOFF:
        found = _lay_off(view, action)
    elif phase == PHASE_SPREAD:
        found = _spread(view, action, other)
    elif phase != PHASE_DISCARD:
        found = _draw(view, action)
    elif action >= KNOCK or (other is not None and other >= KNOCK):
        found = _knock(view, action, other, estimates)
    else:
        found = _discard(view, action, other)
    if found:
        return found
    if other is None:
        return "the best of what is possible here"
    return f"worth {estimates.worth_more} more" if estimates.worth_more else "worth no less than anything else here"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _rank_word(card: int, plural: bool = False) -> str:
    """The rank of a card in words: ``ace``, ``sixes``."""
    word = _RANK_WORDS[card % 13]
    return word + ("es" if word == "six" else "s") * plural


def _left(cards: int, without: int) -> int:
    """The deadwood of cards without one of them."""
    return int(deadwood(cards & ~(1 << without)))


def _ways(view: Any, cards: int) -> int:
    """The cards that may come and make a meld with two of some cards, or extend one."""
    return (int(fillers(np.int64(cards))) & int(view["unseen"])).bit_count()


class _Discard:
    """What there is to say about a discard."""

    def __init__(self, view: Any, card: int) -> None:
        hand, unseen, theirs = int(view["hand"]), int(view["unseen"]), int(view["known_cards"][1])
        rest, possible = hand & ~(1 << card), unseen | theirs
        self.card = card
        self.left = _left(hand, card)
        self.ways = _ways(view, rest)
        self.is_useless = not melds_of_three(card, rest | unseen)
        self.is_lone = not joins_meld(hand, card) and not live_ways(card, hand, unseen)
        # What the opponent may hold: pairs that make a meld with the card, others of its rank that are gone, cards near it.
        self.pairs = int(melds_of_three(card, possible))
        self.gone = int(view["rules"]["suits"]) - 1 - (possible & int(RANK_COLUMN) << card % 13).bit_count()
        self.collected = [each for each in cards_of(theirs) if each != card and fits_beside(each, card)]

    def alone(self) -> list[tuple[float, str]]:
        """That nothing goes with it."""
        if self.is_useless:
            word, ranks = _rank_word(self.card), _rank_word(self.card, plural=True)
            return [(_USELESS, f"a useless {word}: no two other {ranks} can come, nor a run")]
        return [(_LONE, "no single card makes a meld of it")] if self.is_lone else []

    def safe(self) -> list[tuple[float, str]]:
        """That the opponent can make no set of it."""
        if self.gone < 2:
            return []
        words = f"{('two', 'three')[self.gone - 2]} other {_rank_word(self.card, plural=True)} are gone"
        return [(_SAFE / 3, f"rather safe: {words}") if self.pairs else (_SAFE, f"safe: {words}, and no run is left")]


def _discard(view: Any, card: int, other: int | None) -> str:
    one = _Discard(view, card)
    if other is None:
        facts = [*one.alone(), *one.safe(), (0.1, f"keeps {_count(one.ways, 'way')} to a meld")]
        if one.left == min(_left(int(view["hand"]), each) for each in cards_of(int(view["legal"][0]))):
            facts.append((2.0, f"leaves the least deadwood, {one.left}"))
        return max(facts)[1]
    two, name = _Discard(view, other), card_name(other)
    good, bad = [], []
    if not two.is_useless and (one.is_useless or not two.is_lone):
        good += one.alone()
    if gap := two.left - one.left:
        words = f"leaves {one.left} deadwood, {abs(gap)} {'less' if gap > 0 else 'more'} than the {name}"
        (good if gap > 0 else bad).append((float(abs(gap)), words))
    if gap := one.ways - two.ways:
        more = "more" if gap > 0 else "fewer"
        words = f"keeps {_count(one.ways, 'way')} to a meld, {abs(gap)} {more} than without the {name}"
        (good if gap > 0 else bad).append((abs(gap) * _WAY, words))
    if one.pairs < two.pairs:
        makes = "makes" if one.pairs == 1 else "make"
        words = f"{_count(one.pairs, 'pair')} of cards that the opponent may hold {makes} a meld with it"
        good += one.safe() or [(_PAIR * (two.pairs - one.pairs), f"{words}, {two.pairs} with the {name}")]
    if len(two.collected) > len(one.collected):
        taken = format_cards(two.collected, separator=" and ")
        good.append((_COLLECTED * len(two.collected), f"the opponent took the {taken}, which the {name} goes with"))
    if not good:
        return ""
    good.sort(reverse=True)
    words = ", and ".join(words for _, words in good[:2])
    against = max(bad, default=None)
    return f"{words}, though it {against[1]}" if against and against[0] > good[0][0] else words


def _knock(view: Any, action: int, other: int | None, estimates: Estimates) -> str:
    hand, theirs = int(view["hand"]), estimates.opponent_deadwood
    if action >= KNOCK:
        left = _left(hand, action - KNOCK)
        if left == 0:
            return "it is gin"
        if other is not None and other >= KNOCK:
            gap = _left(hand, other - KNOCK) - left
            return f"leaves {_count(left, 'point')}, {gap} less than the {card_name(other - KNOCK)}" if gap > 0 else ""
        holds = "few enough to knock" if theirs is None else f"and the opponent holds {theirs:.0f} on average"
        return f"leaves {_count(left, 'point')}, {holds}"
    assert other is not None
    rest = hand & ~(1 << action)
    gins = sum(not best_of_eleven(np.int64(rest | 1 << card)) for card in cards_of(int(view["unseen"])))
    facts = [f"{_count(gins, 'card')} that can come {'makes' if gins == 1 else 'make'} gin"] if gins else []
    if would := _left(hand, other - KNOCK):
        holds = "" if theirs is None else f" while the opponent holds {theirs:.0f} on average"
        facts.append(f"a knock would leave {_count(would, 'point')}{holds}")
    return ", and ".join(facts)


def _draw(view: Any, action: int) -> str:
    if view["upcard"] not in range(52):
        return "the pile is empty"
    card, hand = int(view["upcard"]), int(view["hand"])
    name, joins, eleven = card_name(card), bool(joins_meld(hand, card)), hand | 1 << card
    now = int(deadwood(hand))
    after = min(_left(eleven, each) for each in cards_of(hand))
    falls = f"the deadwood falls from {now} to {after}" + ", few enough to knock" * (now > int(view["limit"]) >= after)
    if action != UPCARD:
        if not joins:
            return f"the {name} makes no meld"
        return "" if after < now else f"the {name} leaves no less deadwood"
    if after == 0:
        return f"the {name} makes gin"
    if after < now:
        return f"the {name} makes a meld, and {falls}" if joins else f"with the {name} {falls}"
    ways, without = max(_ways(view, eleven & ~(1 << each)) for each in cards_of(hand)), _ways(view, hand)
    return f"with the {name} there are {_count(ways, 'way')} to a meld, without it {without}" if ways > without else ""


def _spread(view: Any, action: int, other: int | None) -> str:
    left = _left_by_spread(view, action)
    if other is None:
        return f"it leaves {left} deadwood"
    others = _left_by_spread(view, other)
    return f"it leaves {left} deadwood, the other {others}" if left < others else ""


def _left_by_spread(view: Any, number: int) -> int:
    """The deadwood that a spread leaves."""
    hand = np.int64(view["hand"])
    melds = sum(int(meld) for meld in nth_arrangement(hand, np.int64(view["limit"]), number)[1:])
    return int(points_of(hand & ~melds))


def _lay_off(view: Any, action: int) -> str:
    hand = int(view["hand"])
    if action == PASS:
        saves = any(_left(hand, card) < deadwood(hand) for card in cards_of(int(view["legal"][0])))
        return "" if saves else "no lay-off lowers your deadwood"
    meld = next(int(meld) for meld in view["spread"] if meld and fits(meld, action))
    saved = int(deadwood(hand)) - _left(hand, action)
    return f"it goes on {format_cards(meld)} and saves {_count(saved, 'point')}"
