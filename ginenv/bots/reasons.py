"""Why an action is good, in a sentence or two that are true in the position: for hints, for marks in an analysis, for practice.

They say what speaks for an action ("it"), where another one is given rather than for that one, and what speaks most against it if that
weighs more. Everything they say can be recomputed from the view; only the deadwood that the opponent is expected to hold, and what
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
# What facts weigh against each other, in points of deadwood: only the order of sentences depends on it.
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
    """Why an action is good.

    Args:
        view: one record of ``VIEW`` whose seat is to move.
        action: a legal action.
        other: the legal action that it is compared with; none when left out.
        estimates: what was found by sampling hands.

    Returns:
        One to three sentences, such as ``It leaves 23 deadwood; discarding the 7C leaves 29.``
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
        return "It is the best of what is possible here."
    return f"It is worth {estimates.worth_more} more." if estimates.worth_more else "Nothing else is worth more here."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _are(number: int, noun: str) -> str:
    return f"{'is' if number == 1 else 'are'} {_count(number, noun)}"


def _waiting(number: int) -> str:
    """For how many cards a hand waits."""
    return f"{_count(number, 'unseen card') if number else 'no unseen card'} would complete a meld"


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
            return [(_USELESS, f"The {word} is useless: no two other {ranks} can come, nor a run.")]
        return [(_LONE, f"No single card makes a meld of the {card_name(self.card)}.")] if self.is_lone else []

    def safe(self) -> list[tuple[float, str]]:
        """That the opponent can make no set of it."""
        if self.gone < 2:
            return []
        words = f"{('two', 'three')[self.gone - 2]} other {_rank_word(self.card, plural=True)} are gone"
        if self.pairs:
            return [(_SAFE / 3, f"It is rather safe: {words}.")]
        return [(_SAFE, f"It is safe: {words}, and no run is left.")]


def _discard(view: Any, card: int, other: int | None) -> str:
    one = _Discard(view, card)
    if other is None:
        facts = [*one.alone(), *one.safe(), (0.1, f"After it, {_waiting(one.ways)}.")]
        if one.left == min(_left(int(view["hand"]), each) for each in cards_of(int(view["legal"][0]))):
            facts.append((2.0, f"It leaves the least deadwood, {one.left}."))
        return max(facts)[1]
    two, name = _Discard(view, other), card_name(other)
    good, bad = [], []
    if not two.is_useless and (one.is_useless or not two.is_lone):
        good += one.alone()
    if gap := two.left - one.left:
        words = f"leaves {one.left} deadwood; discarding the {name} leaves {two.left}."
        (good if gap > 0 else bad).append((float(abs(gap)), f"It {words}" if gap > 0 else f"But it {words}"))
    if gap := one.ways - two.ways:
        words = f"fter it, {_waiting(one.ways)}; after the {name}, {two.ways}."
        (good if gap > 0 else bad).append((abs(gap) * _WAY, f"A{words}" if gap > 0 else f"But a{words}"))
    if one.pairs < two.pairs:
        pairs = _count(one.pairs, "pair") if one.pairs else "no pair"
        words = f"The opponent may hold {pairs} of cards that make a meld with it, and {two.pairs} with the {name}."
        good += one.safe() or [(_PAIR * (two.pairs - one.pairs), words)]
    if len(two.collected) > len(one.collected):
        taken = format_cards(two.collected, separator=" and ")
        good.append((_COLLECTED * len(two.collected), f"The opponent took the {taken}, which the {name} goes with."))
    if not good:
        return ""
    good.sort(reverse=True)
    against = max(bad, default=None)
    return " ".join([words for _, words in good[:2]] + ([against[1]] if against and against[0] > good[0][0] else []))


def _knock(view: Any, action: int, other: int | None, estimates: Estimates) -> str:
    hand, theirs = int(view["hand"]), estimates.opponent_deadwood
    if action >= KNOCK:
        left = _left(hand, action - KNOCK)
        if left == 0:
            return "It is gin."
        if other is not None and other >= KNOCK:
            others = _left(hand, other - KNOCK)
            words = f"It leaves {_count(left, 'point')}; knocking with the {card_name(other - KNOCK)} leaves {others}."
            return words if others > left else ""
        holds = "few enough to knock" if theirs is None else f"and the opponent holds {theirs:.0f} on average"
        return f"It leaves {_count(left, 'point')}, {holds}."
    assert other is not None
    rest = hand & ~(1 << action)
    gins = sum(not best_of_eleven(np.int64(rest | 1 << card)) for card in cards_of(int(view["unseen"])))
    facts = [f"There {_are(gins, 'card')} that can come and {'makes' if gins == 1 else 'make'} gin."] if gins else []
    if would := _left(hand, other - KNOCK):
        holds = "" if theirs is None else f", and the opponent holds {theirs:.0f} on average"
        facts.append(f"A knock would leave {_count(would, 'point')}{holds}.")
    return " ".join(facts)


def _draw(view: Any, action: int) -> str:
    if view["upcard"] not in range(52):
        return "The pile is empty."
    card, hand = int(view["upcard"]), int(view["hand"])
    name, joins, eleven = card_name(card), bool(joins_meld(hand, card)), hand | 1 << card
    now = int(deadwood(hand))
    after = min(_left(eleven, each) for each in cards_of(hand))
    falls = (
        f"the deadwood falls from {now} to {after}"
        + ", few enough to knock" * (now > int(view["limit"]) >= after)
        + "."
    )
    if action != UPCARD:
        if not joins:
            return f"The {name} makes no meld."
        return "" if after < now else f"The {name} leaves no less deadwood."
    if after == 0:
        return f"The {name} makes gin."
    if after < now:
        return f"The {name} makes a meld, and {falls}" if joins else f"With the {name} {falls}"
    ways, without = max(_ways(view, eleven & ~(1 << each)) for each in cards_of(hand)), _ways(view, hand)
    return f"With the {name}, {_waiting(ways)}; without it, {without}." if ways > without else ""


def _spread(view: Any, action: int, other: int | None) -> str:
    left = _left_by_spread(view, action)
    if other is None:
        return f"It leaves {left} deadwood."
    others = _left_by_spread(view, other)
    return f"It leaves {left} deadwood, and the other {others}." if left < others else ""


def _left_by_spread(view: Any, number: int) -> int:
    """The deadwood that a spread leaves."""
    hand = np.int64(view["hand"])
    melds = sum(int(meld) for meld in nth_arrangement(hand, np.int64(view["limit"]), number)[1:])
    return int(points_of(hand & ~melds))


def _lay_off(view: Any, action: int) -> str:
    hand = int(view["hand"])
    if action == PASS:
        saves = any(_left(hand, card) < deadwood(hand) for card in cards_of(int(view["legal"][0])))
        return "" if saves else "No lay-off lowers your deadwood."
    meld = next(int(meld) for meld in view["spread"] if meld and fits(meld, action))
    saved = int(deadwood(hand)) - _left(hand, action)
    return f"It goes on {format_cards(meld)} and saves {_count(saved, 'point')}."
