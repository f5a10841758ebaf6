"""The public record of a hand, compared with the hands that it is the record of."""

from __future__ import annotations

import numpy as np
import pytest

from ginenv.engine.actions import KNOCK
from ginenv.engine.melds import deadwood
from ginenv.engine.state import NO_CARD
from ginenv.hands.hand import Hand
from ginenv.view.history import (
    M_DISCARD,
    M_DONE,
    M_DRAW,
    M_FORCED_DRAW,
    M_KNOCK,
    M_LAY_OFF,
    M_PASS,
    M_SPREAD,
    M_TAKE,
    Move,
    read_moves,
)

KINDS = {"take": M_TAKE, "draw stock": M_DRAW, "pass": M_PASS, "discard": M_DISCARD, "knock": M_KNOCK, "done": M_DONE}
KINDS |= {"lay off": M_LAY_OFF, "spread": M_SPREAD}


def top_of(hand: Hand) -> int:
    pile = hand.state["pile"][0, : hand.state["num_pile"][0]]
    return int(pile[-1]) if len(pile) else NO_CARD


def play(rules: str, seed: int) -> list[tuple[Hand, list[Move]]]:
    """Hands after each action, with the moves so far as seat 0 would tell them, from the words and the pile of the hand itself."""
    rng = np.random.default_rng(seed)
    hand, expected_moves, played = Hand.deal(rules, seed=seed), [], []
    while not hand.is_over:
        legal = hand.legal_actions()
        action = int(rng.choice([action for action in legal if KNOCK <= action < 2 * KNOCK] or legal))
        if hand.phase == "discard" and action < KNOCK:
            # Knocks, spreads and lay-offs are rare among random actions.
            cards = int(hand.state["hands"][0, hand.turn])
            action = min(legal, key=lambda card: (deadwood(cards & ~(1 << card)), rng.random()))
        words, turn, phase, upcard = hand.action_text(action), hand.turn, hand.phase, top_of(hand)
        kind = next(kind for name, kind in KINDS.items() if words.startswith(name))
        hand.push(action)
        if hand.warned:
            kind = M_DISCARD
        card = {M_TAKE: upcard, M_DISCARD: action, M_LAY_OFF: action, M_SPREAD: action, M_KNOCK: action - KNOCK}.get(
            kind, NO_CARD
        )
        expected_moves.append(Move(turn, kind, card, upcard if kind in (M_TAKE, M_DRAW, M_PASS) else NO_CARD))
        if phase == "upcard" and hand.phase == "discard" and kind == M_PASS:
            expected_moves.append(Move(hand.turn, M_FORCED_DRAW, NO_CARD, upcard))
        played.append((hand.copy(), list(expected_moves)))
    return played


@pytest.mark.parametrize("rules", ["eaai", "dg-standard", "ht1", "ht2-traditional", "openspiel"])
def test_both_seats_read_what_was_played(rules: str) -> None:
    seen = set()
    for seed in range(60 if rules == "ht1" else 10):
        for hand, expected_moves in play(rules, seed):
            for seat in range(2):
                mine = [move._replace(seat=move.seat ^ seat) for move in expected_moves]
                assert read_moves(hand.view(seat)) == [mine]
            seen |= {move.kind for move in expected_moves}
    if rules == "ht1":
        assert seen == set(KINDS.values()) | {M_FORCED_DRAW}


def test_the_first_upcard_stays_public_when_it_was_taken_and_thrown_again() -> None:
    hand = Hand.deal("eaai", seed=3)
    first = top_of(hand)
    hand.push("take")
    hand.push(next(action for action in hand.legal_actions() if action < KNOCK))
    hand.push("take")
    hand.push(next(action for action in hand.legal_actions() if action < KNOCK))
    hand.push("draw stock")
    hand.push(first)
    assert [hand.view(seat)["first_upcard"][0] for seat in range(2)] == [first, first]
    assert Hand.deal("ht2-simple", seed=3).view(1)["first_upcard"][0] == NO_CARD
