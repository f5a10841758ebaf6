"""Why an action is good, in a sentence or two that are true in the position: for hints, for marks in an analysis, for practice.

They say what speaks for an action, where another one is given rather than for that one, and what speaks most against it if that
weighs more. Everything they say can be recomputed from the view; only the deadwood that the opponent is expected to hold, and what
an action is worth more than another, come from a caller that sampled hands. Cards are written in letters (7C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ginenv.bots.hand_kernels import fillers, fits_beside, live_ways, melds_of_three
from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, STOCK, UPCARD
from ginenv.engine.cards import card_name, cards_of, format_cards
from ginenv.engine.melds import (
    RANK_COLUMN,
    best_of_eleven,
    deadwood,
    fits,
    joins_meld,
    nth_arrangement,
    points_of,
)

# Every sentence that can be said.
FORMS = {
    "useless": "The {card} is useless: it can no longer be part of a meld.",
    "lone": "No unseen card would complete a meld with the {card}.",
    "safe": "The {card} is safe: no two cards that the opponent can hold make a meld with it.",
    "rather safe": "The {card} is rather safe: the opponent can hold {number} other {rank}.",
    "deadwood": "Without the {card}, {left}; without the {other}, {others}.",
    "more deadwood": "But without the {card}, {left}; without the {other}, {others}.",
    "least deadwood": "Without the {card}, {left}, the least possible.",
    "ways": "Without the {card}, {ways} would complete a meld; without the {other}, {others}.",
    "fewer ways": "But without the {card}, {ways} would complete a meld; without the {other}, {others}.",
    "ways alone": "Without the {card}, {ways} would complete a meld.",
    "pairs": "With the {card}, {pairs} a meld; with the {other}, {others}.",
    "collected": "The {other} goes with the {taken}, which the opponent took.",
    "gin": "Without the {card}, no deadwood is left, which is gin.",
    "few enough": "Without the {card}, {left}, few enough to knock.",
    "opponent holds": "Without the {card}, {left}, and the opponent holds {holds} on average.",
    "gin cards": "There {gins} that would make gin.",
    "knock": "A knock would leave {points} of deadwood.",
    "knock and holds": "A knock would leave {points} of deadwood, and the opponent holds {holds} on average.",
    "takes a meld": "The {card} makes a meld, and the deadwood falls from {now} to {after}.",
    "takes a meld to knock": "The {card} makes a meld, and the deadwood falls from {now} to {after}, few enough to knock.",
    "takes": "With the {card}, the deadwood falls from {now} to {after}.",
    "takes to knock": "With the {card}, the deadwood falls from {now} to {after}, few enough to knock.",
    "takes gin": "The {card} makes gin.",
    "takes ways": "With the {card}, {ways} would complete a meld; without it, {others}.",
    "no meld": "The {card} makes no meld.",
    "no less": "The {card} would not lower the deadwood.",
    "empty": "The discard pile is empty.",
    "spread": "This spread leaves {points} of deadwood.",
    "spreads": "This spread leaves {points} of deadwood; the other leaves {others}.",
    "lay-off": "The {card} goes on the meld {meld} and saves {points}.",
    "no lay-off": "No lay-off lowers the deadwood.",
    "worth more": "{action} is worth {gap} more than {than}.",
    "best": "No other choice is worth more.",
    "way to gin": "This discard keeps the hand on the way to gin.",
    "not yet": "Do not knock yet.",
}
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
        One to three sentences of ``FORMS``, such as ``Without the KC, 23 points of deadwood are left; without the 7C, 29.``
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
    if other is None or not estimates.worth_more:
        # Where nothing tells two discards apart, what is true of the better one alone.
        alone = _discard(view, action, None) if phase == PHASE_DISCARD and action < KNOCK else ""
        return alone or FORMS["best"]
    one, two = _doing(view, action), _doing(view, other)
    return _say("worth more", action=one[0].upper() + one[1:], gap=estimates.worth_more, than=two)


def _say(form: str, **values: object) -> str:
    return FORMS[form].format_map(values)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _doing(view: Any, action: int) -> str:
    """What is done with an action."""
    if action >= STOCK:
        return {UPCARD: "taking the upcard", STOCK: "drawing from the stock", PASS: "passing"}[action]
    phase, card = int(view["phase"]), card_name(action % KNOCK)
    if phase == PHASE_SPREAD:
        return f"spread {action + 1}"
    return (
        f"{'laying off' if phase == PHASE_LAYOFF else 'knocking with' if action >= KNOCK else 'discarding'} the {card}"
    )


def _waiting(number: int) -> str:
    """For how many cards a hand waits."""
    return _count(number, "unseen card") if number else "no unseen card"


def _is_left(points: int) -> str:
    """That so much deadwood is left."""
    return f"{_count(points, 'point')} of deadwood {'is' if points == 1 else 'are'} left"


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
        self.card, self.name = card, card_name(card)
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
            return [(_USELESS, _say("useless", card=self.name))]
        return [(_LONE, _say("lone", card=self.name))] if self.is_lone else []

    def safe(self) -> list[tuple[float, str]]:
        """That the opponent can make no set of it."""
        if self.gone < 2:
            return []
        if not self.pairs:
            return [(_SAFE, _say("safe", card=self.name))]
        number, rank = ("at most one", "no")[self.gone - 2], _RANK_WORDS[self.card % 13]
        return [(_SAFE / 3, _say("rather safe", card=self.name, number=number, rank=rank))]


def _discard(view: Any, card: int, other: int | None) -> str:
    one = _Discard(view, card)
    if other is None:
        facts = [*one.alone(), *one.safe()]
        if one.ways:
            facts.append((0.1, _say("ways alone", card=one.name, ways=_waiting(one.ways))))
        if one.left == min(_left(int(view["hand"]), each) for each in cards_of(int(view["legal"][0]))):
            facts.append((2.0, _say("least deadwood", card=one.name, left=_is_left(one.left))))
        return max(facts, default=(0.0, ""))[1]
    two = _Discard(view, other)
    names = {"card": one.name, "other": two.name}
    good, bad = [], []
    if not two.is_useless and (one.is_useless or not two.is_lone):
        good += one.alone()
    if gap := two.left - one.left:
        form = "deadwood" if gap > 0 else "more deadwood"
        words = _say(form, **names, left=_is_left(one.left), others=two.left)
        (good if gap > 0 else bad).append((float(abs(gap)), words))
    if gap := one.ways - two.ways:
        form = "ways" if gap > 0 else "fewer ways"
        words = _say(form, **names, ways=_waiting(one.ways), others=two.ways or "none")
        (good if gap > 0 else bad).append((abs(gap) * _WAY, words))
    if one.pairs < two.pairs:
        pairs = _count(one.pairs, "pair") if one.pairs else "no pair"
        pairs += f" of cards that the opponent may hold {'make' if one.pairs > 1 else 'makes'}"
        words = _say("pairs", **names, pairs=pairs, others=two.pairs)
        good += one.safe() or [(_PAIR * (two.pairs - one.pairs), words)]
    if len(two.collected) > len(one.collected):
        *first, last = map(card_name, two.collected)
        taken = ", the ".join(first) + f" and the {last}" * bool(first) or last
        good.append((_COLLECTED * len(two.collected), _say("collected", other=two.name, taken=taken)))
    if not good:
        return ""
    good.sort(reverse=True)
    against = max(bad, default=None)
    return " ".join([words for _, words in good[:2]] + ([against[1]] if against and against[0] > good[0][0] else []))


def _knock(view: Any, action: int, other: int | None, estimates: Estimates) -> str:
    hand, theirs = int(view["hand"]), estimates.opponent_deadwood
    holds = "" if theirs is None else _count(round(theirs), "point")
    if action >= KNOCK:
        card, left = card_name(action - KNOCK), _left(hand, action - KNOCK)
        if left == 0:
            return _say("gin", card=card)
        if other is not None and other >= KNOCK:
            others = _left(hand, other - KNOCK)
            name = card_name(other - KNOCK)
            return _say("deadwood", card=card, left=_is_left(left), other=name, others=others) if others > left else ""
        return _say("opponent holds" if holds else "few enough", card=card, left=_is_left(left), holds=holds)
    assert other is not None
    rest = hand & ~(1 << action)
    gins = sum(not best_of_eleven(np.int64(rest | 1 << card)) for card in cards_of(int(view["unseen"])))
    facts = []
    if gins:
        facts.append(_say("gin cards", gins=f"{'is' if gins == 1 else 'are'} {_count(gins, 'unseen card')}"))
    if would := _left(hand, other - KNOCK):
        facts.append(_say("knock and holds" if holds else "knock", points=_count(would, "point"), holds=holds))
    return " ".join(facts)


def _draw(view: Any, action: int) -> str:
    if view["upcard"] not in range(52):
        return FORMS["empty"]
    card, hand = int(view["upcard"]), int(view["hand"])
    name, joins, eleven = card_name(card), bool(joins_meld(hand, card)), hand | 1 << card
    now = int(deadwood(hand))
    after = min(_left(eleven, each) for each in cards_of(hand))
    if action != UPCARD:
        if not joins:
            return _say("no meld", card=name)
        return "" if after < now else _say("no less", card=name)
    if after == 0:
        return _say("takes gin", card=name)
    if after < now:
        to_knock = " to knock" * (now > int(view["limit"]) >= after)
        form = f"takes a meld{to_knock}" if joins else f"takes{to_knock}"
        return _say(form, card=name, now=now, after=_count(after, "point"))
    ways, without = max(_ways(view, eleven & ~(1 << each)) for each in cards_of(hand)), _ways(view, hand)
    return _say("takes ways", card=name, ways=_waiting(ways), others=without or "none") if ways > without else ""


def _spread(view: Any, action: int, other: int | None) -> str:
    left = _left_by_spread(view, action)
    if other is None:
        return _say("spread", points=_count(left, "point"))
    others = _left_by_spread(view, other)
    return _say("spreads", points=_count(left, "point"), others=others) if left < others else ""


def _left_by_spread(view: Any, number: int) -> int:
    """The deadwood that a spread leaves."""
    hand = np.int64(view["hand"])
    melds = sum(int(meld) for meld in nth_arrangement(hand, np.int64(view["limit"]), number)[1:])
    return int(points_of(hand & ~melds))


def _lay_off(view: Any, action: int) -> str:
    hand = int(view["hand"])
    if action == PASS:
        saves = any(_left(hand, card) < deadwood(hand) for card in cards_of(int(view["legal"][0])))
        return "" if saves else FORMS["no lay-off"]
    meld = next(int(meld) for meld in view["spread"] if meld and fits(meld, action))
    saved = int(deadwood(hand)) - _left(hand, action)
    return _say("lay-off", card=card_name(action), meld=format_cards(meld), points=_count(saved, "point"))
