"""How a level chooses: by its network's policy, biases on it, and chance among close choices.

``describe`` writes once all that a choice depends on, one record each: what the network reads of the view, and the options with their
features. The features that explain an opponent's choices (``agents.levels.features``) describe the level's own choices too. To the logit of
each option the level adds a weighted sum of its features. These weights, its *biases*, are its habits, what its coach has changed of them,
and how it answers to what it knows of the opponent.

There are no random blunders. An option is drawn from the biased policy at a temperature, leaving out those that are much less likely than
the best one and discards that leave much more deadwood.
"""

from __future__ import annotations

import numpy as np

from agents.levels.features import (
    FEATURES,
    FIRST_DRAW,
    FIRST_KNOCK,
    MAX_CARDS,
    NUM_DISCARDS,
    NUM_WEIGHTS,
    discard_rows,
    draw_row,
    knock_row,
)
from agents.network.bounds import EVERYTHING, NOTHING, blank
from agents.network.inputs import INPUTS, observe
from ginenv.bots.hand_kernels import choose_lay_off, choose_spread, remembered
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, STOCK, UPCARD
from ginenv.engine.jit import ctz, kernel, mix, popcount, unit
from ginenv.engine.state import NO_CARD
from ginenv.view.turns import TURN

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
# Room for as many knocks as discards.
MAX_OPTIONS = 2 * MAX_CARDS
# The legal actions of a decision, in rising order, with their features. The deadwood that a discard or a knock leaves is computed here.
OPTIONS = np.dtype(
    [
        ("turn", TURN),  # as its mover sees it
        ("count", np.int64),
        ("discards", np.int64),  # how many of them, the first ones, are discards
        ("actions", np.int64, (MAX_OPTIONS,)),
        ("first", np.int64, (MAX_OPTIONS,)),  # the weight of an option's first feature
        ("last", np.int64, (MAX_OPTIONS,)),  # the weight after that of its last feature
        ("features", np.float64, (MAX_OPTIONS, NUM_DISCARDS)),
        ("excess", np.int64, (MAX_OPTIONS,)),  # points of deadwood that a discard leaves above the least
        (
            "rows",
            np.float64,
            (MAX_CARDS, NUM_DISCARDS),
        ),  # the features of all cards that may be discarded or knocked with
    ],
    align=True,
)
# A choice of a level: all that it depends on besides its network.
CHOICE = np.dtype(
    [
        ("phase", np.uint8),
        ("inputs", INPUTS),  # what the network reads, but for the heuristic features
        ("behaviour", BEHAVIOUR),
        ("biases", np.float64, (NUM_WEIGHTS,)),
        ("word", np.uint64),  # random, of this choice
        ("tastes", np.float64, (3,)),  # for sets, for runs and for early knocks in this hand, from 0 to 1
        ("options", OPTIONS),
    ],
    align=True,
)
# The network that ships is surer than any level may be: its logits are divided by these, of discards and knocks and of draws, before biases
# are added. Then they are about as far apart as those of a network that was trained to vary.
_SOFTER = (5.0, 10.0)
_NEVER = -1e9
_PAIR, _NEIGHBOUR = FEATURES.index("has another of its rank"), FEATURES.index("has a neighbour in its suit")


@kernel
def _read_turn(v, pile, noticed_actions, t):
    """Writes the mover's turn as the opponent model describes an opponent's, within what the mover remembers and notices."""
    t.before = v.known_cards[0]
    t.pile = pile
    t.mine = v.known_cards[1] if noticed_actions > NOTHING else np.int64(0)
    t.cold = t.pile & v.thrown[1] if noticed_actions > NOTHING else np.int64(0)
    if noticed_actions == EVERYTHING:
        t.cold |= v.refused[1]
    t.top = -1 if v.upcard == NO_CARD else v.upcard
    t.discarded = -1
    t.number = popcount(v.thrown[0]) + 1
    t.first = 1 if v.num_pile == 1 and v.upcard == v.first_upcard else 0


@kernel
def _add_option(o, action, first, last):
    """Adds an option without features; returns its number."""
    k = o.count
    o.actions[k], o.first[k], o.last[k], o.excess[k] = action, first, last, 0
    o.features[k, :] = 0.0
    o.count += 1
    return k


@kernel
def _list_discards(v, o):
    allowed = v.legal[0] | v.legal[1]
    _, _, least = discard_rows(v.hand, allowed, o.turn, np.int64(v.rules.hand_size), o.rows)
    n = 0
    rest = allowed
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if (v.legal[0] >> card) & 1:
            k = _add_option(o, card, 0, FIRST_DRAW)
            o.features[k] = o.rows[n]
            o.excess[k] = np.int64(10 * o.rows[n, 0] + 0.5)
        n += 1
    n = 0
    rest = allowed
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if (v.legal[1] >> card) & 1:
            k = _add_option(o, KNOCK + card, FIRST_KNOCK, NUM_WEIGHTS)
            left = least + np.int64(10 * o.rows[n, 0] + 0.5)
            # Gin is gin against everybody.
            if left > 0:
                knock_row(left, o.turn, o.features[k])
        n += 1


@kernel
def _list_draws(v, o):
    rest = v.legal[2]
    while rest:
        action = STOCK + ctz(rest)
        rest &= rest - 1
        k = _add_option(o, action, FIRST_DRAW, FIRST_KNOCK)
        if action == UPCARD and o.turn.top >= 0:
            draw_row(v.hand, o.turn, np.int64(v.limit), o.features[k])


@kernel
def list_options(v, pile, noticed_actions, o):
    """Writes the options of a view's mover to an ``OPTIONS`` record, with features by the part of the pile and what else it has noticed.

    Spreads and lay-offs are computed: the best one is the only option.
    """
    o.count, o.discards = 0, popcount(v.legal[0])
    _read_turn(v, pile, noticed_actions, o.turn)
    if v.phase == PHASE_DISCARD:
        _list_discards(v, o)
    elif v.phase != PHASE_SPREAD and v.phase != PHASE_LAYOFF:
        _list_draws(v, o)
    else:
        _add_option(o, choose_spread(v) if v.phase == PHASE_SPREAD else choose_lay_off(v), 0, 0)


@kernel
def _describe(views, seed, choices):
    for i in range(views.shape[0]):
        v, c = views[i], choices[i]
        c.phase = v.phase
        # A seat that declined a knock plays for gin, as the network knows it from training.
        observe(v, v.declined > 0, c.inputs)
        pile, noticed_actions = remembered(v, c.behaviour.remembered_discards), c.behaviour.noticed_actions
        blank(v, pile, noticed_actions, c.inputs.observation.cells)
        c.word, word = mix(v.luck ^ mix(seed)), mix(v.hand_luck ^ mix(seed))
        for k in range(3):
            c.tastes[k] = unit(mix(word + np.uint64(k + 1)))
        list_options(v, pile, noticed_actions, c.options)


def describe(views: np.ndarray, behaviours: np.ndarray, biases: np.ndarray, seed: int) -> np.ndarray:
    """All that choices depend on besides the network.

    Args:
        views: ``VIEW[n]``.
        behaviours: ``BEHAVIOUR[n]``.
        biases: ``float64[n, NUM_WEIGHTS]``.
        seed: of the player.

    Returns:
        ``CHOICE[n]``.
    """
    choices = np.empty(len(views), CHOICE)
    choices["behaviour"], choices["biases"] = behaviours, biases
    _describe(views, np.uint64(seed & 0xFFFFFFFF), choices)
    return choices


@kernel
def soften(phase, row):
    """Brings a network's row of logits to the scale on which levels choose; returns its unit."""
    unit_of_row = _SOFTER[0] if phase == PHASE_DISCARD else _SOFTER[1]
    for action in range(NUM_ACTIONS):
        row[action] /= unit_of_row
    return unit_of_row


@kernel
def add_biases(c, row):
    """Adds the biases of a ``CHOICE`` to a row of logits."""
    o = c.options
    for k in range(o.count):
        moved = 0.0
        for weight in range(o.first[k], o.last[k]):
            moved += o.features[k, weight - o.first[k]] * c.biases[weight]
        row[o.actions[k]] += moved


@kernel
def _prefer(c, row):
    """Adds the hand's taste to a row of logits, and rules out discards that leave too much deadwood, except the one with the best logit."""
    o, taste = c.options, c.behaviour.hand_taste
    sets, runs, knock = taste * c.tastes[0], taste * c.tastes[1], taste * c.tastes[2]
    first = 0
    for k in range(1, o.discards):
        if row[o.actions[k]] > row[o.actions[first]]:
            first = k
    for k in range(o.discards):
        if k != first and o.excess[k] > c.behaviour.max_extra_deadwood:
            row[o.actions[k]] = _NEVER
            continue
        if o.features[k, _PAIR]:
            row[o.actions[k]] -= sets
        if o.features[k, _NEIGHBOUR]:
            row[o.actions[k]] -= runs
    for k in range(o.discards, o.count):
        row[o.actions[k]] += knock


@kernel
def draw_action(row, actions, max_logit_gap, temperature, word, chances):
    """Draws, at a temperature, an action whose logit is within ``max_logit_gap`` of the best one; writes the probabilities of all."""
    best = actions[0]
    for action in actions[1:]:
        if row[action] > row[best]:
            best = action
    if temperature <= 0:
        return best
    total = 0.0
    chosen = best
    # One pass: an action replaces the one held with probability weight / (sum of weights so far).
    for action in actions:
        behind = np.float64(row[best]) - row[action]
        if behind <= max_logit_gap:
            weight = np.exp(-behind / temperature)
            chances[action] = weight
            total += weight
            word = mix(word)
            if unit(word) * total < weight:
                chosen = action
    chances /= total
    return chosen


@kernel
def bias_policy(choices, logits):
    """Adds the biases of ``CHOICE[n]`` to the network's logits ``float32[n, 107]``, on the network's own scale."""
    for i in range(choices.shape[0]):
        if choices[i].phase <= PHASE_DISCARD and np.any(choices[i].biases != 0):
            scale = soften(choices[i].phase, logits[i])
            add_biases(choices[i], logits[i])
            logits[i] *= scale


@kernel
def _choose(choices, softens, logits, actions, policy):
    for i in range(choices.shape[0]):
        c, row = choices[i], logits[i]
        o, behaviour = c.options, c.behaviour
        if c.phase == PHASE_SPREAD or c.phase == PHASE_LAYOFF:
            actions[i] = o.actions[0]
            continue
        if softens:
            soften(c.phase, row)
        add_biases(c, row)
        if o.discards:
            _prefer(c, row)
        temperature = behaviour.temperature if o.discards else behaviour.draw_temperature
        actions[i] = draw_action(row, o.actions[: o.count], behaviour.max_logit_gap, temperature, c.word, policy[i])


def choose(choices: np.ndarray, logits: np.ndarray, softens: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Makes choices; spreads and lay-offs are computed, without logits or chance.

    Args:
        choices: ``CHOICE[n]``.
        logits: the network's, ``float32[n, 107]``, overwritten by those, biases included, that chance goes by.
        softens: whether they are on a network's scale (``soften``), not yet on that of levels.

    Returns:
        The actions ``int64[n]``, and the probabilities of all actions ``float32[n, 107]``, 0 where chance plays no part.
    """
    actions, policy = np.empty(len(choices), np.int64), np.zeros(logits.shape, np.float32)
    _choose(choices, softens, logits, actions, policy)
    return actions, policy
