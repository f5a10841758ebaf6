"""Why an action is good, in a clause that is true in the position: for hints, for marks in an analysis, for practice.

A clause says what speaks for an action, where another one is given rather than for that one, and what speaks most against it if that
weighs more. Everything it says can be recomputed from the view; only the deadwood that the opponent is expected to hold, and what
an action is worth more than another, come from a caller that sampled hands. Cards are written in letters (7C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ginenv.bots.hand_kernels import best_of_eleven, fillers, joins_meld, live_ways
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


def _pairs_with(card: int, cards: int) -> int:
    """The number of pairs of cards of a mask that make a meld of three with a card."""
    rank, others = card % 13, cards & ~(1 << card)
    same = (others & int(RANK_COLUMN) << rank).bit_count()

    def holds(step: int) -> bool:
        return 0 <= rank + step < 13 and bool(others >> (card + step) & 1)

    runs = (holds(-2) and holds(-1)) + (holds(-1) and holds(1)) + (holds(1) and holds(2))
    return same * (same - 1) // 2 + runs


def _collected_near(card: int, known_cards: int) -> int:
    """The cards of a mask that could share a meld of three with a card: of its rank, or at most two ranks away in its suit."""
    near = int(RANK_COLUMN) << card % 13
    for step in (-2, -1, 1, 2):
        if 0 <= card % 13 + step < 13:
            near |= 1 << (card + step)
    return known_cards & near & ~(1 << card)


@dataclass(frozen=True)
class _Discard:
    """What there is to say about a discard."""

    card: int
    left: int
    ways: int
    useless: bool
    lone: bool
    pairs: int
    gone: int
    collected: int

    @classmethod
    def of(cls, view: Any, card: int) -> _Discard:
        hand, unseen, theirs = int(view["hand"]), int(view["unseen"]), int(view["known_cards"][1])
        rest, possible = hand & ~(1 << card), int(view["unseen"]) | theirs
        return cls(
            card=card,
            left=int(deadwood(rest)),
            ways=(int(fillers(np.int64(rest))) & unseen).bit_count(),
            useless=not _pairs_with(card, rest | unseen),
            lone=not joins_meld(hand, card) and not live_ways(card, hand, unseen),
            pairs=_pairs_with(card, possible),
            gone=int(view["rules"]["suits"]) - 1 - (possible & int(RANK_COLUMN) << card % 13).bit_count(),
            collected=_collected_near(card, theirs),
        )


def _discard(view: Any, card: int, other: int | None) -> str:
    one = _Discard.of(view, card)
    if other is None:
        least = min(int(deadwood(int(view["hand"]) & ~(1 << each))) for each in cards_of(int(view["legal"][0])))
        facts = [*_alone(one), (2.0, f"leaves the least deadwood, {one.left}") if one.left == least else None]
        facts += [*_safe(one), (0.1, f"keeps {_count(one.ways, 'way')} to a meld")]
        return max(fact for fact in facts if fact is not None)[1]
    two = _Discard.of(view, other)
    name = card_name(other)
    good, bad = [], []
    if not two.useless:
        good += _alone(one) if one.useless or not two.lone else []
    if one.left != two.left:
        gap = abs(one.left - two.left)
        (good if one.left < two.left else bad).append(
            (
                float(gap),
                f"leaves {one.left} deadwood, {gap} {'less' if one.left < two.left else 'more'} than the {name}",
            )
        )
    if one.ways != two.ways:
        gap = abs(one.ways - two.ways)
        (good if one.ways > two.ways else bad).append(
            (
                gap * _WAY,
                f"keeps {_count(one.ways, 'way')} to a meld, {gap} {'more' if one.ways > two.ways else 'fewer'} than without the {name}",
            )
        )
    if one.pairs < two.pairs:
        good += _safe(one) or [(_PAIR * (two.pairs - one.pairs), _pairs(one, two))]
    if (theirs := two.collected) and theirs.bit_count() > one.collected.bit_count():
        taken = format_cards(cards_of(theirs), separator=" and ")
        good.append((_COLLECTED * theirs.bit_count(), f"the opponent took the {taken}, which the {name} goes with"))
    if not good:
        return ""
    good.sort(reverse=True)
    words = ", and ".join(words for _, words in good[:2])
    against = max(bad, default=None)
    return f"{words}, though it {against[1]}" if against and against[0] > good[0][0] else words


def _pairs(one: _Discard, two: _Discard) -> str:
    return (
        f"{_count(one.pairs, 'pair')} of cards that the opponent may hold {'makes' if one.pairs == 1 else 'make'} a meld with it, "
        f"{two.pairs} with the {card_name(two.card)}"
    )


def _alone(one: _Discard) -> list[tuple[float, str]]:
    if one.useless:
        ranks = _rank_word(one.card, plural=True)
        return [(_USELESS, f"a useless {_rank_word(one.card)}: no two other {ranks} can come, nor a run")]
    return [(_LONE, "no single card makes a meld of it")] if one.lone else []


def _safe(one: _Discard) -> list[tuple[float, str]]:
    """Where the opponent can make no set of a card: how many others of its rank are gone."""
    if one.gone < 2:
        return []
    words = f"{('two', 'three')[one.gone - 2]} other {_rank_word(one.card, plural=True)} are gone"
    return [(_SAFE, f"safe: {words}, and no run is left")] if not one.pairs else [(_SAFE / 3, f"rather safe: {words}")]


def _knock(view: Any, action: int, other: int | None, estimates: Estimates) -> str:
    hand, theirs = int(view["hand"]), estimates.opponent_deadwood
    left = int(deadwood(hand & ~(1 << action % KNOCK)))
    if action >= KNOCK:
        if left == 0:
            return "it is gin"
        if other is not None and other >= KNOCK:
            gap = int(deadwood(hand & ~(1 << other % KNOCK))) - left
            return f"leaves {_count(left, 'point')}, {gap} less than the {card_name(other - KNOCK)}" if gap > 0 else ""
        holds = "few enough to knock" if theirs is None else f"and the opponent holds {theirs:.0f} on average"
        return f"leaves {_count(left, 'point')}, {holds}"
    assert other is not None
    would = int(deadwood(hand & ~(1 << other % KNOCK)))
    rest = hand & ~(1 << action)
    gins = sum(not best_of_eleven(np.int64(rest | 1 << card)) for card in cards_of(int(view["unseen"])))
    facts = [f"{_count(gins, 'card')} that can come {'makes' if gins == 1 else 'make'} gin"] if gins else []
    if would:
        holds = "" if theirs is None else f" while the opponent holds {theirs:.0f} on average"
        facts.append(f"a knock would leave {_count(would, 'point')}{holds}")
    return ", and ".join(facts)


def _draw(view: Any, action: int) -> str:
    if view["upcard"] not in range(52):
        return "the pile is empty"
    card, hand = int(view["upcard"]), int(view["hand"])
    name, joins = card_name(card), bool(joins_meld(hand, card))
    now = int(deadwood(hand))
    after = min(int(deadwood((hand | 1 << card) & ~(1 << each))) for each in cards_of(hand))
    falls = f"the deadwood falls from {now} to {after}" + ", few enough to knock" * (now > int(view["limit"]) >= after)
    if action == UPCARD:
        if after == 0:
            return f"the {name} makes gin"
        if after < now:
            return f"the {name} makes a meld, and {falls}" if joins else f"with the {name} {falls}"
        ways = max(_ways_with(view, hand, card, each) for each in cards_of(hand))
        without = (int(fillers(np.int64(hand))) & int(view["unseen"])).bit_count()
        return (
            f"with the {name} there are {_count(ways, 'way')} to a meld, without it {without}" if ways > without else ""
        )
    if not joins:
        return f"the {name} makes no meld"
    return "" if after < now else f"the {name} leaves no less deadwood"


def _ways_with(view: Any, hand: int, card: int, discard: int) -> int:
    rest = (hand | 1 << card) & ~(1 << discard)
    return (int(fillers(np.int64(rest))) & int(view["unseen"])).bit_count()


def _spread(view: Any, action: int, other: int | None) -> str:
    left, open_cards = _of_spread(view, action)
    if other is None:
        return f"it leaves {left} deadwood"
    others, open_others = _of_spread(view, other)
    if left < others:
        return f"it leaves {left} deadwood, the other {others}"
    if open_cards < open_others:
        return (
            f"{_count(open_cards, 'card')} that the opponent may hold can be laid off on it, {open_others} on the other"
        )
    return ""


def _of_spread(view: Any, number: int) -> tuple[int, int]:
    """The deadwood of a spread, and how many cards that the opponent may hold fit on its melds."""
    hand, possible = int(view["hand"]), int(view["unseen"]) | int(view["known_cards"][1])
    melds = [int(meld) for meld in nth_arrangement(np.int64(hand), np.int64(view["limit"]), number)[1:] if meld]
    loose = hand & ~sum(melds)
    fitting = sum(any(fits(np.int64(meld), card) for meld in melds) for card in cards_of(possible))
    return int(points_of(np.int64(loose))), fitting


def _lay_off(view: Any, action: int) -> str:
    if action == PASS:
        hand = int(view["hand"])
        saves = any(deadwood(hand & ~(1 << card)) < deadwood(hand) for card in cards_of(int(view["legal"][0])))
        return "" if saves else "no lay-off lowers your deadwood"
    hand = int(view["hand"])
    meld = next(int(meld) for meld in view["spread"] if meld and fits(meld, action))
    saved = int(deadwood(hand)) - int(deadwood(hand & ~(1 << action)))
    return f"it goes on {format_cards(meld)} and saves {_count(saved, 'point')}"
