"""How a level chooses: by its network's policy, biases on it, and chance among close choices.

The features that explain an opponent's choices (``agents.opponent_model.features``) describe the level's own choices too. To the logit of
each choice the level adds a weighted sum of its features. These weights, its *biases*, are its habits, what its coach has changed of them,
and how it answers to what it knows of the opponent.

There are no random blunders. An action is drawn from the biased policy at a temperature, leaving out actions that are much less likely
than the best one and discards that leave much more deadwood.
"""

from __future__ import annotations

import numpy as np

from agents.network.bounds import EVERYTHING, NOTHING, blank
from agents.opponent_model.features import (
    FEATURES,
    FIRST_DRAW,
    FIRST_KNOCK,
    MAX_CARDS,
    NUM_DISCARDS,
    NUM_DRAWS,
    NUM_KNOCKS,
    NUM_WEIGHTS,
    discard_rows,
    draw_row,
    knock_row,
)
from agents.opponent_model.turns import TURN
from ginenv.bots.hand_kernels import choose_lay_off, choose_spread, remembered, unit
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, STOCK, UPCARD
from ginenv.engine.jit import ctz, kernel, mix, popcount
from ginenv.engine.state import NO_CARD
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
    ],
    align=True,
)
# What is known of a decision: the turn as its mover sees it, and every action's features. The deadwood that a discard or a knock leaves is
# computed here and nowhere else.
FACTS = np.dtype(
    [
        ("turn", TURN),
        ("discards", np.float64, (MAX_CARDS, NUM_DISCARDS)),
        ("draw", np.float64, (NUM_DRAWS,)),
        ("knock", np.float64, (NUM_KNOCKS,)),
        ("features", np.float64, (NUM_ACTIONS, NUM_WEIGHTS)),
        ("excess", np.int64, (52,)),  # points of deadwood that the discard of a card leaves above the least
    ],
    align=True,
)
# The network that ships is surer than any level may be: its logits are divided by these, of discards and knocks and of draws, before biases
# are added. Then they are about as far apart as those of a network that was trained to vary.
_SOFTER = (5.0, 10.0)
_NEVER = -1e9
_PAIR, _NEIGHBOUR = FEATURES.index("has another of its rank"), FEATURES.index("has a neighbour in its suit")


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
def _read_turn(v, behaviour, t):
    """Writes the mover's turn as the opponent model describes an opponent's, within what the mover remembers and notices."""
    t.before = v.known_cards[0]
    t.pile = remembered(v, behaviour.remembered_discards)
    t.mine = v.known_cards[1] if behaviour.noticed_actions > NOTHING else np.int64(0)
    t.cold = t.pile & v.thrown[1] if behaviour.noticed_actions > NOTHING else np.int64(0)
    if behaviour.noticed_actions == EVERYTHING:
        t.cold |= v.refused[1]
    t.top = -1 if v.upcard == NO_CARD else v.upcard
    t.discarded = -1
    t.number = popcount(v.thrown[0]) + 1
    t.first = 1 if v.num_pile == 1 and v.upcard == v.first_upcard else 0


@kernel
def is_legal(legal, action):
    """Whether an action stands in three masks of 52: discards, knocks, the others."""
    return (legal[action // 52] >> (action % 52)) & 1 == 1


@kernel
def describe(v, behaviour, legal, f):
    """Writes the facts of a decision: a ``VIEW``, a ``BEHAVIOUR``, ``int64[3]``, and the ``FACTS`` record that is written."""
    t = f.turn
    _read_turn(v, behaviour, t)
    if v.phase != PHASE_DISCARD:
        f.features[STOCK:, :] = 0.0
        if is_legal(legal, UPCARD) and t.top >= 0:
            draw_row(v.hand, t, np.int64(v.limit), f.draw)
            f.features[UPCARD, FIRST_DRAW:FIRST_KNOCK] = f.draw
        return
    allowed = legal[0] | legal[1]
    _, _, least = discard_rows(v.hand, allowed, t, np.int64(v.rules.hand_size), f.discards)
    rest = allowed
    n = 0
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        f.excess[card] = np.int64(10 * f.discards[n, 0] + 0.5)
        f.features[card, :] = 0.0
        f.features[card, :NUM_DISCARDS] = f.discards[n]
        f.features[KNOCK + card, :] = 0.0
        # Gin is gin against everybody.
        if (legal[1] >> card) & 1 and least + f.excess[card] > 0:
            knock_row(least + f.excess[card], t, f.knock)
            f.features[KNOCK + card, FIRST_KNOCK:] = f.knock
        n += 1


@kernel
def soften(phase, row):
    """Brings a network's row of logits to the scale on which levels choose; returns its unit."""
    unit_of_row = _SOFTER[0] if phase == PHASE_DISCARD else _SOFTER[1]
    for action in range(NUM_ACTIONS):
        row[action] /= unit_of_row
    return unit_of_row


@kernel
def add_biases(bias, legal, f, row):
    """Adds biases ``float64[26]`` to a row of logits, by the facts of its decision."""
    for action in range(NUM_ACTIONS):
        if is_legal(legal, action):
            moved = 0.0
            for k in range(NUM_WEIGHTS):
                moved += f.features[action, k] * bias[k]
            row[action] += moved


@kernel
def _prefer(v, behaviour, seed, legal, f, row):
    """Adds the hand's taste to a row of logits, and rules out discards that leave too much deadwood, except the one with the best logit."""
    word = mix(v.hand_luck ^ mix(np.uint64(seed)))
    sets = behaviour.hand_taste * unit(mix(word + np.uint64(1)))
    runs = behaviour.hand_taste * unit(mix(word + np.uint64(2)))
    knock = behaviour.hand_taste * unit(mix(word + np.uint64(3)))
    first = -1
    rest = legal[0]
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if first < 0 or row[card] > row[first]:
            first = card
    rest = legal[0]
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if card != first and f.excess[card] > behaviour.max_extra_deadwood:
            row[card] = _NEVER
            continue
        if f.features[card, _PAIR]:
            row[card] -= sets
        if f.features[card, _NEIGHBOUR]:
            row[card] -= runs
    for card in range(52):
        if (legal[1] >> card) & 1:
            row[KNOCK + card] += knock


@kernel
def draw_action(row, legal, max_logit_gap, temperature, word, chances):
    """Draws, at a temperature, a legal action whose logit is within ``max_logit_gap`` of the best one; writes the probabilities of all."""
    best = -1
    for action in range(NUM_ACTIONS):
        if is_legal(legal, action) and (best < 0 or row[action] > row[best]):
            best = action
    if temperature <= 0:
        return best
    total = 0.0
    chosen = best
    # One pass: an action replaces the one held with probability weight / (sum of weights so far).
    for action in range(NUM_ACTIONS):
        behind = np.float64(row[best]) - row[action]
        if is_legal(legal, action) and behind <= max_logit_gap:
            weight = np.exp(-behind / temperature)
            chances[action] = weight
            total += weight
            word = mix(word)
            if unit(word) * total < weight:
                chosen = action
    chances /= total
    return chosen


@kernel
def bias_policy(views, behaviours, biases, legal, facts, logits):
    """Adds biases to the network's logits of a batch, on the network's own scale; arguments as in ``choose``."""
    for i in range(views.shape[0]):
        if views[i].phase <= PHASE_DISCARD and np.any(biases[i] != 0):
            describe(views[i], behaviours[i], legal[i], facts[0])
            scale = soften(views[i].phase, logits[i])
            add_biases(biases[i], legal[i], facts[0], logits[i])
            logits[i] *= scale


@kernel
def choose(views, behaviours, biases, seed, softens, logits, legal, words, facts, actions, policy):
    """Chooses for a batch; spreads and lay-offs are computed, without logits or chance.

    Args:
        views: ``VIEW[n]``.
        behaviours: ``BEHAVIOUR[n]``.
        biases: ``float64[n, 26]``.
        seed: of the player.
        softens: whether the logits are a network's, whose scale is another one (``soften``).
        logits: the network's, ``float32[n, 107]``, overwritten.
        legal: ``int64[n, 3]``.
        words: ``uint64[n]``.
        facts: ``FACTS[1]``, scratch.
        actions: ``int64[n]``, written.
        policy: ``float32[n, 107]``, given as zeros; the probabilities are written, except where chance plays no part.
    """
    for i in range(views.shape[0]):
        v, row, behaviour, f = views[i], logits[i], behaviours[i], facts[0]
        if v.phase == PHASE_SPREAD:
            actions[i] = choose_spread(v)
        elif v.phase == PHASE_LAYOFF:
            actions[i] = choose_lay_off(v)
        else:
            discards = legal[i, 0] != 0
            if softens:
                soften(v.phase, row)
            if discards or np.any(biases[i] != 0):
                describe(v, behaviour, legal[i], f)
                add_biases(biases[i], legal[i], f, row)
            if discards:
                _prefer(v, behaviour, seed, legal[i], f, row)
            temperature = behaviour.temperature if discards else behaviour.draw_temperature
            actions[i] = draw_action(row, legal[i], behaviour.max_logit_gap, temperature, words[i], policy[i])
