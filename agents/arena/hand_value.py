"""The value of a hand in play to a seat, given both hands but not the order of the stock: what luck is measured by.

It is a small network over cards, in layers that treat the suits alike, and some arithmetic on both hands. It was trained before any data
that it is used on (``python -m benchmarks.data.hand_value``). Whatever it says, luck measured by it is zero on average.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import numpy as np

from agents.arena.hand_facts import (
    CARDS,
    FACTS,
    PLANES,
    POINTS_SCALE,
    after_draws,
    best_ten,
    describe,
    knock_points,
    outlook,
    outlook_without,
    stock_of,
    write_common,
    write_hands,
)
from agents.files import parse_json, read_bytes
from ginenv.engine.actions import (
    NUM_ACTIONS,
    PHASE_LAYOFF,
    PHASE_OVER,
    PHASE_SPREAD,
    PHASE_WALL,
)
from ginenv.engine.engine import NOBODY, STATE, apply
from ginenv.engine.jit import ctz, kernel, popcount, record_copy
from ginenv.engine.melds import deadwood

DATA = Path(__file__).resolve().parents[1] / "data" / "hand_value.json"

# What is valued: points, and who wins the hand.
OUTPUTS = 2
# Numbers of each suit, of the first layer (those of the suits, added up, and those of no suit), and of the second.
OWN, FIRST, SECOND = 32, 96, 32
_f4 = np.float32
# Weights of the network. Every suit gets its numbers from its own cards, and with the numbers of no suit from the cards of all suits.
WEIGHTS = np.dtype(
    [
        ("own", _f4, (13 * PLANES, OWN)),
        ("pooled", _f4, (13 * PLANES, FIRST)),
        ("facts", _f4, (FACTS, FIRST)),
        ("bias", _f4, FIRST),
        ("second", _f4, (FIRST, SECOND)),
        ("second_bias", _f4, SECOND),
        ("last", _f4, (SECOND, OUTPUTS)),
        ("skip", _f4, (FACTS, OUTPUTS)),  # from the facts to the outputs
        ("last_bias", _f4, OUTPUTS),
    ]
)
# What the network reads, its layers (the cards' part, and that with the card drawn), and deadwoods by the card drawn.
_WORK = np.dtype(
    [
        ("masks", np.int64, PLANES),
        ("facts", _f4, FACTS),
        ("own", _f4, (4, OWN)),
        ("pooled", _f4, FIRST),
        ("own_now", _f4, (4, OWN)),
        ("pooled_now", _f4, FIRST),
        ("first", _f4, FIRST),
        ("second", _f4, SECOND),
        ("value", _f4, OUTPUTS),
        ("chosen", _f4, OUTPUTS),
        ("found", np.int64, CARDS),
        ("mine", np.int64, CARDS),
        ("others", np.int64, CARDS),
    ]
)
_copy_state = record_copy(STATE, "hands", STATE, "hands", "history")


@kernel
def _add_card(weights, card, plane, factor, own, pooled):
    """Adds the weights of a plane's card to the suits' numbers ``float32[4, OWN]`` and the pooled ones ``float32[FIRST]``."""
    row = 13 * plane + card % 13
    suit = card // 13
    for k in range(OWN):
        own[suit, k] += factor * weights.own[row, k]
    for k in range(FIRST):
        pooled[k] += factor * weights.pooled[row, k]


@kernel
def _add_cards(weights, work):
    """Fills the cards' part of the first layer."""
    work.own[:] = 0.0
    work.pooled[:] = weights.bias
    for plane in range(PLANES):
        cards = work.masks[plane]
        while cards:
            _add_card(weights, ctz(cards), plane, np.float32(1.0), work.own, work.pooled)
            cards &= cards - 1


@kernel
def _forward(weights, work, own, pooled, out):
    """The network's outputs ``float[2]`` from the cards' part of the first layer and the facts."""
    first, second, facts = work.first, work.second, work.facts
    first[:] = pooled
    for i in range(FACTS):
        fact = facts[i]
        if fact != 0:
            for k in range(FIRST):
                first[k] += fact * weights.facts[i, k]
    for k in range(OWN):
        common = first[k]
        total = np.float32(0.0)
        for suit in range(4):
            total += max(np.float32(0.0), common + own[suit, k])
        first[k] = total
    for k in range(OWN, FIRST):
        first[k] = max(np.float32(0.0), first[k])
    second[:] = weights.second_bias
    for i in range(FIRST):
        number = first[i]
        if number != 0:
            for k in range(SECOND):
                second[k] += number * weights.second[i, k]
    for j in range(OUTPUTS):
        total = weights.last_bias[j]
        for k in range(SECOND):
            total += max(np.float32(0.0), second[k]) * weights.last[k, j]
        for i in range(FACTS):
            total += facts[i] * weights.skip[i, j]
        out[j] = total


@kernel
def _scale(s, out):
    out[0] *= POINTS_SCALE * (2 if s.doubled else 1)


@kernel
def _value_state(weights, s, work, out):
    """The value of a state in play to the seat to move: ``float[2]``."""
    describe(s, work.masks, work.facts)
    _add_cards(weights, work)
    _forward(weights, work, work.own, work.pooled, out)
    _scale(s, out)


@kernel
def _value_draw(weights, s, work, out):
    """The value of the card just drawn, and the mean over all cards that could have come: ``float64[2, 2]``."""
    masks, facts, value = work.masks, work.facts, work.value
    seat, limit, real = np.int64(s.turn), np.int64(s.limit), np.int64(1) << s.drawn
    stock, other, hand = stock_of(s) | real, s.hands[1 - seat], s.hands[seat] & ~real
    masks[0], masks[1], masks[2], masks[3] = hand, other, stock, 0
    masks[4], masks[5] = s.known_cards[seat], s.known_cards[1 - seat]
    _add_cards(weights, work)
    write_common(s, facts)
    left, before = deadwood(other), deadwood(hand)
    after_draws(other, left, stock, work.others)
    after_draws(hand, before, stock, work.mine)
    others, mine_sums = outlook(work.others, stock, limit), outlook(work.mine, stock, limit)
    out[:] = 0.0
    rest = stock
    while rest:
        card = ctz(rest)
        bit = rest & -rest
        rest ^= bit
        ten, spare = best_ten(hand | bit)
        mine = before
        if spare == bit:
            mine_now = outlook_without(mine_sums, work.mine[card], limit)
        else:
            mine = deadwood(ten)
            after_draws(ten, mine, stock & ~bit, work.found)
            mine_now = outlook(work.found, stock & ~bit, limit)
        other_now = outlook_without(others, work.others[card], limit)
        write_hands(s, ten, spare, other, left, stock & ~bit, mine, mine_now, other_now, np.int64(0), facts)
        work.own_now[:] = work.own
        work.pooled_now[:] = work.pooled
        _add_card(weights, card, 0, np.float32(1.0), work.own_now, work.pooled_now)
        _add_card(weights, card, 2, np.float32(-1.0), work.own_now, work.pooled_now)
        _forward(weights, work, work.own_now, work.pooled_now, value)
        _scale(s, value)
        for k in range(OUTPUTS):
            out[1, k] += value[k]
            if bit == real:
                out[0, k] = value[k]
    for k in range(OUTPUTS):
        out[1, k] /= popcount(stock)


@kernel
def _value_states(weights, states, work, out):
    for i in range(states.shape[0]):
        _value_state(weights, states[i], work, out[i])


@kernel
def _value_draws(weights, states, work, out):
    for i in range(states.shape[0]):
        _value_draw(weights, states[i], work, out[i])


@kernel
def _exchange_hands(s):
    """Hands out a deal the other way round; an eleventh card stays with the seat that begins."""
    first = second = np.int64(0)
    size = np.int64(s.rules.hand_size)
    for at in range(size):
        first |= np.int64(1) << s.deck[at]
        second |= np.int64(1) << s.deck[size + at]
    s.hands[s.starter] ^= first | second
    s.hands[1 - s.starter] = first


@kernel
def _luck_of_deals(weights, states, scratch, work, out):
    """The value of each deal less the mean of both ways to hand it out: ``float64[n, 2]``."""
    for i in range(states.shape[0]):
        _copy_state(scratch, states[i])
        _value_state(weights, scratch, work, work.value)
        out[i] = work.value
        _exchange_hands(scratch)
        _value_state(weights, scratch, work, work.value)
        for k in range(OUTPUTS):
            out[i, k] = (out[i, k] - work.value[k]) / 2


@kernel
def _value_after(weights, s, seat, position, work, drawn, out):
    """The value to a seat of a state after one of its actions, of which ``position`` is that of the stock before it."""
    sign = 1.0 if s.turn == seat else -1.0
    out[:] = 0.0
    if s.phase == PHASE_OVER:
        if s.winner != NOBODY:
            sign = 1.0 if s.winner == seat else -1.0
            out[0], out[1] = sign * s.points, sign
    elif s.phase == PHASE_SPREAD or s.phase == PHASE_LAYOFF:
        cards = s.hands[s.knocker]
        points = knock_points(s, cards, deadwood(cards), s.hands[1 - s.knocker])
        sign = 1.0 if s.knocker == seat else -1.0
        out[0], out[1] = sign * points * (2 if s.doubled else 1), sign * np.sign(points)
    elif s.phase != PHASE_WALL:
        if s.position > position:
            _value_draw(weights, s, work, drawn)
            work.value[:] = drawn[1]
        else:
            _value_state(weights, s, work, work.value)
        for k in range(OUTPUTS):
            out[k] = sign * work.value[k]


@kernel
def _luck_of_actions(weights, states, actions, policy, least, scratch, work, out):
    """The value after each action less the policy's mean over the actions that are more probable than ``least``: ``float64[n, 2]``."""
    value, drawn = np.zeros(OUTPUTS), np.zeros((2, OUTPUTS))
    for i in range(states.shape[0]):
        out[i] = 0.0
        if not least < policy[i, actions[i]] < 1 - least:
            continue
        total = 0.0
        for action in range(NUM_ACTIONS):
            chance = np.float64(policy[i, action])
            if chance <= least:
                continue
            _copy_state(scratch, states[i])
            apply(scratch, action)
            _value_after(weights, scratch, np.int64(states[i].turn), states[i].position, work, drawn, value)
            total += chance
            for k in range(OUTPUTS):
                out[i, k] -= chance * value[k]
                if action == actions[i]:
                    work.chosen[k] = value[k]
        for k in range(OUTPUTS):
            out[i, k] = work.chosen[k] + out[i, k] / total


class HandValue:
    """The value function with its weights. Values are those of points, and of the chance to win the hand less the chance to lose it.

    Args:
        weights: ``WEIGHTS`` of the network.
        version: names them in results.
    """

    def __init__(self, weights: np.void, version: str) -> None:
        self.weights, self.version = weights, version

    def states(self, states: np.ndarray) -> np.ndarray:
        """The values of ``STATE[n]``, in play before any knock, to their seats to move: ``float64[n, 2]``."""
        values = np.zeros((len(states), OUTPUTS))
        _value_states(self.weights, states, np.zeros(1, _WORK)[0], values)
        return values

    def draws(self, states: np.ndarray) -> np.ndarray:
        """The values of ``STATE[n]`` just after a draw from the stock to the seats that drew.

        Returns:
            ``float64[n, 2, 2]``: the values of the card drawn, then the means over all cards that could have come.
        """
        values = np.zeros((len(states), 2, OUTPUTS))
        _value_draws(self.weights, states, np.zeros(1, _WORK)[0], values)
        return values

    def deals(self, states: np.ndarray) -> np.ndarray:
        """The luck of deals, ``STATE[n]`` before the first action, to the seats that begin: ``float64[n, 2]``.

        It is the value of the deal less the mean of both ways to hand it out.
        """
        luck = np.zeros((len(states), OUTPUTS))
        _luck_of_deals(self.weights, states, np.zeros(1, STATE)[0], np.zeros(1, _WORK)[0], luck)
        return luck

    def actions(self, states: np.ndarray, actions: np.ndarray, policy: np.ndarray, least: float) -> np.ndarray:
        """The luck of actions that players drew from known probabilities, to these players.

        Args:
            states: ``STATE[n]`` before the actions.
            actions: ``int64[n]``.
            policy: ``float32[n, 107]``, their probabilities; a row of zeros where they are not known.
            least: actions of at most this probability are not valued, and are no luck, which adds no bias.

        Returns:
            ``float64[n, 2]``: the values after the action less their mean under the policy.
        """
        luck = np.zeros((len(states), OUTPUTS))
        scratch, work = np.zeros(1, STATE)[0], np.zeros(1, _WORK)[0]
        _luck_of_actions(self.weights, states, actions, policy, least, scratch, work, luck)
        return luck


@cache
def shipped_value() -> HandValue:
    """The value function that ships with the package."""
    content = read_bytes(DATA)
    weights = np.zeros(1, WEIGHTS)[0]
    for name, rows in parse_json(content)["weights"].items():
        weights[name] = np.array([row.split() for row in rows], np.float32).reshape(weights[name].shape)
    return HandValue(weights, hashlib.sha256(content).hexdigest()[:12])
