"""How a level chooses: by its network's policy, its own preferences, and chance among close choices.

There are no random blunders: a weak level is weak because of its preferences, such as taking too many upcards. Chance decides among close
choices, most of all among discards, where variety costs least. An action is drawn from the policy at a temperature, leaving out actions
that are much less likely than the best one and discards that leave much more deadwood.
"""

from __future__ import annotations

import numpy as np

from agents.network.bounds import blank
from ginenv.bots.hand_kernels import choose_lay_off, choose_spread, has_neighbour, unit
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_LAYOFF, PHASE_SPREAD, UPCARD
from ginenv.engine.jit import ctz, kernel, mix
from ginenv.engine.melds import RANK_COLUMN, card_points, deadwood
from ginenv.view.encoding import encode

# How a level behaves, for compiled code; ``LevelSettings`` describes the fields.
BEHAVIOUR = np.dtype(
    [
        ("remembered_discards", np.uint8),
        ("noticed_actions", np.uint8),
        ("temperature", np.float64),
        ("draw_temperature", np.float64),
        ("max_logit_gap", np.float64),
        ("max_extra_deadwood", np.float64),
        ("hand_taste", np.float64),
        ("high_card_bias", np.float64),
        ("upcard_bias", np.float64),
        ("knock_bias", np.float64),
    ],
    align=True,
)
# One hand's taste, in logits.
TASTE = np.dtype([("sets", np.float64), ("runs", np.float64), ("knock", np.float64)], align=True)
_NEVER = -1e9


@kernel
def draw_tastes(views, behaviours, seed, tastes):
    """Draws each hand's taste from its luck."""
    for i in range(views.shape[0]):
        word = mix(views[i].hand_luck ^ mix(np.uint64(seed)))
        strength = behaviours[i].hand_taste
        tastes[i].sets = strength * unit(mix(word + np.uint64(1)))
        tastes[i].runs = strength * unit(mix(word + np.uint64(2)))
        tastes[i].knock = strength * unit(mix(word + np.uint64(3)))


@kernel
def prepare(views, behaviours, seed, rows, declined, legal, words):
    """Writes the network's inputs for a batch of views, the legal actions, and random words.

    Args:
        views: ``VIEW[n]``.
        behaviours: ``BEHAVIOUR[n]``.
        seed: of the player.
        rows: ``uint8[n, 520]``, observations.
        declined: ``uint8[n]``, 1 where a knock was declined in this hand, as the network knows it from training.
        legal: ``int64[n, 3]``, legal actions.
        words: ``uint64[n]``, random words.
    """
    for i in range(views.shape[0]):
        v = views[i]
        encode(v, rows, i)
        blank(v, behaviours[i].remembered_discards, behaviours[i].noticed_actions, rows[i])
        declined[i] = 1 if v.declined > 0 else 0
        for k in range(3):
            legal[i, k] = v.legal[k]
        words[i] = mix(v.luck ^ mix(np.uint64(seed)))


@kernel
def _prefer(v, behaviour, taste, legal0, legal1, row):
    """Adds a taste to a row of logits, and rules out discards that leave too much deadwood, except the one with the best logit."""
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
        rest &= rest - 1
        others = v.hand & ~(np.int64(1) << card)
        if card != first and deadwood(others) > least + behaviour.max_extra_deadwood:
            row[card] = _NEVER
            continue
        row[card] -= behaviour.high_card_bias * card_points(card) / 10
        if others & (RANK_COLUMN << (card % 13)):
            row[card] -= taste.sets
        if has_neighbour(card, others):
            row[card] -= taste.runs
    rest = legal1
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        row[KNOCK + card] += taste.knock + behaviour.knock_bias


@kernel
def _draw(row, legal, max_logit_gap, temperature, word, chances):
    """Draws, at a temperature, a legal action whose logit is within ``max_logit_gap`` of the best one; writes the probabilities of all."""
    best = -1
    for action in range(NUM_ACTIONS):
        # Actions stand in three masks of 52: discards, knocks, the others.
        if (legal[action // 52] >> (action % 52)) & 1 and (best < 0 or row[action] > row[best]):
            best = action
    if temperature <= 0:
        return best
    total = 0.0
    chosen = best
    # One pass: an action replaces the one held with probability weight / (sum of weights so far).
    for action in range(NUM_ACTIONS):
        behind = np.float64(row[best]) - row[action]
        if (legal[action // 52] >> (action % 52)) & 1 and behind <= max_logit_gap:
            weight = np.exp(-behind / temperature)
            chances[action] = weight
            total += weight
            word = mix(word)
            if unit(word) * total < weight:
                chosen = action
    chances /= total
    return chosen


@kernel
def choose(views, behaviours, tastes, logits, legal, words, actions, policy):
    """Chooses for a batch; spreads and lay-offs are computed, without logits or chance.

    Args:
        views: ``VIEW[n]``.
        behaviours: ``BEHAVIOUR[n]``.
        tastes: ``TASTE[n]``.
        logits: ``float32[n, 107]``, overwritten.
        legal: ``int64[n, 3]``.
        words: ``uint64[n]``.
        actions: ``int64[n]``, written.
        policy: ``float32[n, 107]``, given as zeros; the probabilities are written, except where chance plays no part.
    """
    for i in range(views.shape[0]):
        v = views[i]
        if v.phase == PHASE_SPREAD:
            actions[i] = choose_spread(v)
        elif v.phase == PHASE_LAYOFF:
            actions[i] = choose_lay_off(v)
        else:
            row, behaviour = logits[i], behaviours[i]
            if legal[i, 0]:
                _prefer(v, behaviour, tastes[i], legal[i, 0], legal[i, 1], row)
                temperature = behaviour.temperature
            else:
                row[UPCARD] += behaviour.upcard_bias
                temperature = behaviour.draw_temperature
            actions[i] = _draw(row, legal[i], behaviour.max_logit_gap, temperature, words[i], policy[i])
