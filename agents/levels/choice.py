"""How a level chooses: its network's preferences, its leanings, and errors as large as the choices are close.

Nothing here is a random blunder: a weak level is weak by its leanings, such as taking too many upcards. What it leaves to chance are
choices that are close, most of all among discards, where variety costs least: an action is drawn from the policy at a temperature, what
it likes much less than its best choice is never played, and neither is a discard that throws away more than a few points.
"""

from __future__ import annotations

import numpy as np

from agents.bots.style_kernels import choose_lay_off, choose_spread, turn_of, unit
from agents.levels.habits import neighbours
from agents.network.bounds import blank
from agents.network.commitment import bind_to_gin
from ginenv.actions import KNOCK, PHASE_LAYOFF, PHASE_SPREAD, STOCK, UPCARD
from ginenv.encoding import encode
from ginenv.jit import ctz, kernel, mix
from ginenv.melds import RANK_COLUMN, card_points, deadwood

# What a level is, for compiled code.
MANNER = np.dtype(
    [
        ("memory", np.uint8),
        ("notices", np.uint8),
        ("temperature", np.float64),  # on the logits; 0 plays the most probable action
        ("draw_temperature", np.float64),  # the same where it draws: errors there cost the most
        (
            "reach",
            np.float64,
        ),  # an action this much less preferred than the best (in logits, with leanings) is never played
        ("most_points", np.float64),  # deadwood that a discard may throw away beyond the best one
        ("leaning", np.float64),  # largest leaning to sets, runs or early knocks, in logits
        ("hoards", np.float64),  # taken off the logit of a discard for every ten points of the card
        ("grabs", np.float64),  # added to the logit of taking the upcard
        ("early_knock", np.float64),  # added to the logit of a knock within the turns of the hand's plan
    ],
    align=True,
)
# One session's leanings, in logits.
LEANING = np.dtype([("sets", np.float64), ("runs", np.float64), ("knock", np.float64)], align=True)
_NEVER = -1e9


@kernel
def prepare(views, manner, turns, seed, rows, conditions, legal, words):
    """What the network sees of a batch, and what it may do; after its plan's turns a seat plays for gin."""
    for i in range(views.shape[0]):
        v = views[i]
        encode(v, rows, i)
        blank(v, manner.memory, manner.notices, rows[i])
        # Who declined a knock plays for gin, as in training.
        bound = v.declined > 0 or turn_of(v) > turns[i]
        conditions[i] = 1 if bound else 0
        legal[i, 0] = v.legal[0]
        legal[i, 1] = bind_to_gin(v.hand, v.legal[0], v.legal[1]) if bound else v.legal[1]
        legal[i, 2] = v.legal[2]
        words[i] = mix(v.luck ^ mix(np.uint64(seed)))


@kernel
def _prefer(v, manner, leaning, legal0, legal1, row):
    """Adds leanings to a row of logits, and rules out discards that cost too many points; the network's first choice stays."""
    first = -1
    least = np.int64(1000)
    rest = legal0
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if first < 0 or row[card] > row[first]:
            first = card
        least = min(least, deadwood(v.hand & ~(np.int64(1) << card)))
    rest = legal0
    while rest:
        card = ctz(rest)
        bit = np.int64(1) << card
        rest &= rest - 1
        if card != first and deadwood(v.hand & ~bit) > least + manner.most_points:
            row[card] = _NEVER
            continue
        row[card] -= manner.hoards * card_points(card) / 10
        others = v.hand & ~bit
        if others & (RANK_COLUMN << (card % 13)):
            row[card] -= leaning.sets
        if neighbours(card, others):
            row[card] -= leaning.runs
    rest = legal1
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        row[KNOCK + card] += leaning.knock + manner.early_knock


@kernel
def _draw(row, reach, temperature, legal0, legal1, legal2, word):
    """Draws a legal action from the logits of a row within the reach, at a temperature."""
    best = -1e30
    best_action = 0
    for k in range(3):
        rest = legal0 if k == 0 else (legal1 if k == 1 else legal2)
        first = 0 if k == 0 else (KNOCK if k == 1 else STOCK)
        while rest:
            action = first + ctz(rest)
            rest &= rest - 1
            if row[action] > best:
                best = row[action]
                best_action = action
    if temperature <= 0:
        return best_action
    total = 0.0
    chosen = best_action
    # One pass: an action replaces the one held with probability weight / (sum of weights so far).
    for k in range(3):
        rest = legal0 if k == 0 else (legal1 if k == 1 else legal2)
        first = 0 if k == 0 else (KNOCK if k == 1 else STOCK)
        while rest:
            action = first + ctz(rest)
            rest &= rest - 1
            behind = best - row[action]
            if behind > reach:
                continue
            weight = np.exp(-behind / temperature)
            total += weight
            word = mix(word)
            if unit(word) * total < weight:
                chosen = action
    return chosen


@kernel
def choose(views, manner, leanings, logits, legal, words, actions):
    """Chooses for a batch; spreads and lay-offs are arithmetic.

    Args:
        views: ``VIEW[n]``.
        manner: a ``MANNER`` record.
        leanings: ``LEANING[n]``.
        logits: ``float32[n, 107]``, overwritten.
        legal: ``int64[n, 3]``.
        words: ``uint64[n]``.
        actions: ``int64[n]``, written.
    """
    for i in range(views.shape[0]):
        v = views[i]
        if v.phase == PHASE_SPREAD:
            actions[i] = choose_spread(v)
        elif v.phase == PHASE_LAYOFF:
            actions[i] = choose_lay_off(v)
        else:
            row = logits[i]
            if legal[i, 0]:
                _prefer(v, manner, leanings[i], legal[i, 0], legal[i, 1], row)
                temperature = manner.temperature
            else:
                row[UPCARD] += manner.grabs
                temperature = manner.draw_temperature
            actions[i] = _draw(row, manner.reach, temperature, legal[i, 0], legal[i, 1], legal[i, 2], words[i])
