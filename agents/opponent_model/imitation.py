"""The choice model of an opponent as a player: discards by softmax, draws and knocks by their odds.

What the model has no weights for (gin, spreads, lay-offs) is played as well as possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.opponent_model.features import (
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
from agents.opponent_model.posterior import ModelPrior
from agents.opponent_model.turns import TURN
from ginenv.bots.hand_kernels import choose_lay_off, choose_spread, least_deadwood, turn_of, unit
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_LAYOFF, PHASE_SPREAD, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.jit import ctz, kernel, mix, popcount
from ginenv.engine.state import NO_CARD, as_batch
from ginenv.tables.players import BasePlayer
from ginenv.view.view import VIEW

# Factors on the weights. The model sees little of why a card is thrown, and takes the rest for chance; who plays by such chances throws
# away points that nobody throws away. Chosen on other styles than those of the benchmark (docs/log/opponent_model.md).
DISCARD_SHARPNESS, SHARPNESS = 4.0, 1.3

CHOICES = np.dtype([("weights", np.float64, (NUM_WEIGHTS,))], align=True)


@kernel
def _read_turn(v, t):
    """Writes the turn of the seat that is to move, as ``read_turns`` gives it to the other seat."""
    taken = np.int64(0) if v.taken == NO_CARD else np.int64(1) << v.taken
    t.before = v.known_cards[0] & ~taken
    t.pile = v.pile_cards
    t.mine = v.known_cards[1]
    t.cold = v.thrown[1] | v.refused[1]
    t.discarded, t.knocked = -1, 0
    t.took = 0 if v.taken == NO_CARD else 1
    upcard = v.upcard if v.taken == NO_CARD else v.taken
    t.top = -1 if upcard == NO_CARD else np.int64(upcard)
    t.first = 1 if v.phase == PHASE_UPCARD else 0
    t.number = turn_of(v)


@kernel
def _is_yes(w, first, count, row, word):
    score = 0.0
    for k in range(count):
        score += w[first + k] * row[k]
    return unit(word) < 1 / (1 + np.exp(-min(30.0, max(-30.0, score))))


@kernel
def _draw(v, w, t, row, word):
    # At the wall the upcard may be taken only to knock.
    if v.legal[2] & 2:
        draw_row(v.hand, t, v.limit, row)
        at_wall = not v.legal[2] & 1 and v.phase != PHASE_UPCARD
        if not at_wall or least_deadwood(v.hand | np.int64(1) << v.upcard, v.hand)[1] <= v.limit:
            if _is_yes(w, FIRST_DRAW, NUM_DRAWS, row, word):
                return UPCARD
    if not v.legal[2] & 5:
        return UPCARD
    return STOCK + ctz(v.legal[2] & 5)


@kernel
def _discard(v, w, t, row, rows, word):
    if v.legal[1]:
        found, left = least_deadwood(v.hand, v.legal[1])
        knock_row(left, t, row)
        if left == 0 or not v.legal[0] or _is_yes(w, FIRST_KNOCK, NUM_KNOCKS, row, word):
            return KNOCK + ctz(found)
    n = discard_rows(v.hand, v.legal[0], t, popcount(v.hand) - 1, rows)[0]
    most = -1e300
    for i in range(n):
        score = 0.0
        for k in range(NUM_DISCARDS):
            score += w[k] * rows[i, k]
        rows[i, 0] = score
        most = max(most, score)
    total = 0.0
    for i in range(n):
        rows[i, 0] = np.exp(rows[i, 0] - most)
        total += rows[i, 0]
    wanted = unit(mix(word)) * total
    rest = v.legal[0]
    for i in range(n - 1):
        wanted -= rows[i, 0]
        if wanted < 0:
            break
        rest &= rest - 1
    return ctz(rest)


@kernel
def decide(v, choices, seed):
    """The action of a ``CHOICES`` record for a ``VIEW`` record; ``seed`` (uint64) is mixed with the view's ``luck``."""
    if v.phase == PHASE_SPREAD:
        return np.int64(choose_spread(v))
    if v.phase == PHASE_LAYOFF:
        return np.int64(choose_lay_off(v))
    word = mix(v.luck ^ seed)
    turn = np.zeros(1, TURN)
    row = np.empty(max(NUM_DRAWS, NUM_KNOCKS))
    _read_turn(v, turn[0])
    if v.phase == PHASE_DISCARD:
        return np.int64(_discard(v, choices.weights, turn[0], row, np.empty((MAX_CARDS, NUM_DISCARDS)), word))
    return np.int64(_draw(v, choices.weights, turn[0], row, word))


@kernel
def _act(views, choices, index, seed, actions):
    for i in range(views.shape[0]):
        actions[i] = decide(views[i], choices[index[i]], seed)


def full_weights(records: np.ndarray, prior: ModelPrior) -> np.ndarray:
    """The weights that opponents are played with, ``CHOICES[n]``: as if every hand had been counted in full.

    A level learns with a tempered likelihood, which leaves people more alike than they are.

    Args:
        records: ``POSTERIOR[n]``.
        prior: from which they were learned.
    """
    stranger = prior.stranger[0]
    base = stranger["precision"] @ stranger["mean"]
    choices = np.zeros(len(records), CHOICES)
    for row, record in zip(choices, records, strict=True):
        seen = (record["precision"] - stranger["precision"]) / prior.tempered
        moved = (record["precision"] @ record["mean"] - base) / prior.tempered
        row["weights"] = np.linalg.solve(stranger["precision"] + seen, base + moved)
        row["weights"][:NUM_DISCARDS] *= DISCARD_SHARPNESS
        row["weights"][NUM_DISCARDS:] *= SHARPNESS
    return choices


class Imitation(BasePlayer):
    """Plays as opponents do whose hands are known.

    Args:
        choices: ``CHOICES[m]``; game ``slot`` is played by ``slot % m``.
        seed: mixed with the views' own random words.
    """

    name = "like"

    def __init__(self, choices: np.ndarray, seed: int = 0) -> None:
        super().__init__(seed)
        self.choices = choices

    @property
    def compiled(self) -> tuple[Any, np.ndarray]:
        """The kernel that decides, and the weights (see ``ginenv.tables.compiled_players``)."""
        return decide, self.choices

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        views = as_batch(views, VIEW, "VIEW")
        actions = np.empty(len(views), np.int64)
        index = np.zeros(len(views), np.int64) if slots is None else np.asarray(slots, np.int64) % len(self.choices)
        _act(views, self.choices, index, np.uint64(self.seed % 2**64), actions)
        return actions
