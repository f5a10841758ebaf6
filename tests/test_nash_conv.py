"""Best responses under small rules, beside a search that follows the definition hand by hand."""

from itertools import combinations, permutations

import numpy as np
import pytest

from benchmarks.nash_conv import SMALL, best_response, uniform
from ginenv.engine.rules import get_rules
from ginenv.hands.hand import Hand

RULES = get_rules(SMALL).replace(max_upcards=1)
CARDS = [13 * suit + rank for suit in range(2) for rank in range(5)]
MINE = (0, 1, 16)  # A♠ 2♠ 4♥: no meld, and one card from a run


def lopsided(views):
    """A policy that prefers actions by their number and by the cards held."""
    weights = uniform(views) * (1 + (np.arange(107) * 7 + views["hand"][:, None]) % 11)
    return weights / weights.sum(1, keepdims=True)


def played(hand: Hand, action: int) -> Hand:
    """A copy in which an action is played."""
    after = hand.copy()
    after.push(action)
    return after


def value(group: list[tuple[Hand, float]], seat: int, policy) -> float:
    """The seat's points from hands between which it cannot tell, each with its weight, when it plays best from here on."""
    over = [(hand.outcome, weight) for hand, weight in group if hand.is_over]
    total = sum(
        weight * outcome.points * (1 if outcome.winner == seat else -1)
        for outcome, weight in over
        if outcome is not None and outcome.winner is not None
    )
    playing = [(hand, weight) for hand, weight in group if not hand.is_over]
    mine = [(hand, weight) for hand, weight in playing if hand.turn == seat]
    if mine:
        total += max(
            split([(played(hand, action), weight) for hand, weight in mine], seat, policy)
            for action in mine[0][0].legal_actions()
        )
    answered = []
    theirs = [(hand, weight) for hand, weight in playing if hand.turn != seat]
    if theirs:
        chances = policy(np.concatenate([hand.view() for hand, _ in theirs]))
        for row, (hand, weight) in zip(chances, theirs, strict=True):
            answered += [(played(hand, action), weight * row[action]) for action in hand.legal_actions()]
    return total + split(answered, seat, policy)


def split(hands: list[tuple[Hand, float]], seat: int, policy) -> float:
    """The sum of values over what the seat can tell apart: its own cards, and every action."""
    groups: dict[object, list[tuple[Hand, float]]] = {}
    for hand, weight in hands:
        groups.setdefault((int(hand.view(seat)["hand"][0]), tuple(hand.history)), []).append((hand, weight))
    return sum(value(group, seat, policy) for group in groups.values())


@pytest.mark.parametrize(("seat", "policy"), [(0, uniform), (1, lopsided)])
def test_a_best_response_wins_what_the_definition_says(seat, policy):
    left = [card for card in CARDS if card not in MINE]
    total, deals = 0.0, []
    for upcard in left:
        hands = []
        others = [card for card in left if card != upcard]
        for other in combinations(others, 3):
            rest = [card for card in others if card not in other]
            for stock in permutations(rest):
                dealt = [*MINE, *other] if seat == 0 else [*other, *MINE]
                hands.append((Hand.deal(RULES, deck=[*dealt, upcard, *stock]), 1.0))
        deals += hands
        total += value(hands, seat, policy)
    assert best_response(policy, seat, RULES, [MINE]) == pytest.approx(total / len(deals), abs=1e-9)
