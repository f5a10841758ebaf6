"""How a level responds to its opponent: what is known of the opponent shifts the level's own choices.

The features that explain an opponent's choices (``agents.opponent_model.features``) describe the level's choices too. To the logit of each
choice the level adds a weighted sum of these features. The weights, its *biases* against this opponent, are linear in what is known: so
nothing changes where nothing is known, and every change can be put into words. One row of the matrix applies to every opponent; the others
multiply what is known of the opponent.

A network that was trained with its opponent's style as input (``opponent_context`` of ``agents.config.TrainConfig``) responds by itself. It
receives how likely the opponent is to belong to the population that it met in training and, times that probability, the style expected
if it does. The more is known of a strong player, the less the network receives.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from agents.config import Config, parse_config
from agents.files import read_json_object, write_json
from agents.network.bounds import EVERYTHING, NOTHING
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
from ginenv.bots.hand_kernels import remembered
from ginenv.bots.population import OPPONENT_CONTEXT_WIDTH
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, STOCK, UPCARD
from ginenv.engine.jit import ctz, kernel, popcount
from ginenv.engine.melds import deadwood
from ginenv.engine.state import NO_CARD
from ginenv.errors import GinError

RESPONSES = "responses.json"
# What is read from ``Posteriors.context``: whether anything is known, and how far each weight is from other people's.
INPUTS = ("has_shown_hands", *FEATURES)
# A kernel's scratch memory: the turn that it describes, and the features of each choice in that turn.
SPACE = np.dtype(
    [
        ("turn", TURN),
        ("discards", np.float64, (MAX_CARDS, NUM_DISCARDS)),
        ("draw", np.float64, (NUM_DRAWS,)),
        ("knock", np.float64, (NUM_KNOCKS,)),
    ],
    align=True,
)


class _File(Config):
    """What ``responses.json`` holds.

    Attributes:
        format: of the file.
        inputs: names of the matrix's rows.
        columns: names of its columns.
        matrix: the biases that each known number adds.
        expected: if the level's network receives styles, what each known number adds to what is expected (see ``Responses``); else empty.
        about: how it was made.
    """

    format: Literal[1] = 1
    inputs: list[str]
    columns: list[str]
    matrix: list[list[float]] = Field(min_length=1)
    expected: list[list[float]] = Field(default_factory=list)
    about: dict[str, Any]


@dataclass(frozen=True)
class Responses:
    """How a level's choices lean, given what is known of the opponent.

    Attributes:
        matrix: ``float64[len(INPUTS), NUM_WEIGHTS]``.
        about: how it was made.
        expected: for a network that receives styles, what each known number adds to the log-odds that an opponent belongs to the population
            that the network met, and to the style expected if it does: ``float64[len(INPUTS), OPPONENT_CONTEXT_WIDTH]``.
            ``None`` for other networks.
    """

    matrix: np.ndarray
    about: dict[str, Any]
    expected: np.ndarray | None = None

    @property
    def depends_on_opponent(self) -> bool:
        """Whether any part depends on the opponent."""
        return bool(self.matrix[1:].any()) or (self.expected is not None and bool(self.expected[1:].any()))

    def logit_bias(self, contexts: np.ndarray, general: np.ndarray, specific: np.ndarray) -> np.ndarray:
        """The biases against some opponents.

        Args:
            contexts: what is known of each, ``float32[n, CONTEXT_WIDTH]``.
            general: the share that is played of the part that applies to every opponent, ``float64[n]``.
            specific: the share that is played of the part that depends on the opponent, ``float64[n]``.

        Returns:
            ``float64[n, NUM_WEIGHTS]``.
        """
        depending = contexts[:, 1 : len(INPUTS)].astype(np.float64) @ self.matrix[1:]
        return general[:, None] * self.matrix[0] + specific[:, None] * depending

    def opponent_context(self, contexts: np.ndarray, specific: np.ndarray) -> np.ndarray | None:
        """What its network receives about some opponents: the probability that each is of its population, and its style times that.

        In training the network received 1 and a style, or 0 and nothing. What it makes of numbers in between only play can show; the
        validation of a fit measures it.

        Args:
            contexts: what is known of each, ``float32[n, CONTEXT_WIDTH]``.
            specific: the share that it receives of how a style differs from a typical one, ``float64[n]``.

        Returns:
            ``float32[n, OPPONENT_CONTEXT_WIDTH]``; ``None`` for a network without such input.
        """
        if self.expected is None:
            return None
        inputs = contexts[:, : len(INPUTS)].astype(np.float64)
        found = inputs @ self.expected
        # The input is zero for an opponent about whom nothing is known.
        likely = inputs[:, 0] * np.exp(-np.logaddexp(0, -found[:, 0]))
        found[:, 0] = 1
        found[:, 1:] *= specific[:, None]
        return (likely[:, None] * found).astype(np.float32)

    def write(self, path: Path) -> None:
        """Writes them as JSON."""
        tables = {"matrix": self.matrix} | ({} if self.expected is None else {"expected": self.expected})
        rounded = {
            name: [[round(number, 6) for number in row] for row in rows.tolist()] for name, rows in tables.items()
        }
        file = {"format": 1, "inputs": list(INPUTS), "columns": list(FEATURES)} | rounded | {"about": self.about}
        write_json(path, file)


def read_responses(path: Path, source: str) -> Responses:
    """Reads what ``write`` wrote.

    Args:
        path: of the file.
        source: whose file it is, for error messages.

    Raises:
        GinError: if it cannot be read or was made for other features.
    """
    file: _File = parse_config(read_json_object(path, source), _File, f"{source}: {path.name}")
    matrix, expected = _table(file.matrix, NUM_WEIGHTS), _table(file.expected, OPPONENT_CONTEXT_WIDTH)
    if file.inputs != list(INPUTS) or file.columns != list(FEATURES) or matrix is None:
        raise GinError(f"{source}: {path.name} is of other features than this version's; run gin levels fit")
    if file.expected and expected is None:
        raise GinError(
            f"{source}: expected in {path.name} must be {len(INPUTS)} lists of {OPPONENT_CONTEXT_WIDTH} numbers; run gin levels fit"
        )
    return Responses(matrix, file.about, expected)


def _table(rows: list[list[float]], width: int) -> np.ndarray | None:
    """Rows as ``float64[len(INPUTS), width]``; ``None`` if their number or width is wrong."""
    if len(rows) != len(INPUTS) or any(len(row) != width for row in rows):
        return None
    return np.array(rows, np.float64)


@kernel
def _describe_turn(v, remembered_discards, noticed_actions, t):
    """Describes the mover's turn as the opponent model describes an opponent's, within what the mover remembers and notices."""
    t.before = v.known_cards[0]
    t.pile = remembered(v, remembered_discards)
    t.mine = v.known_cards[1] if noticed_actions > NOTHING else np.int64(0)
    t.cold = t.pile & v.thrown[1] if noticed_actions > NOTHING else np.int64(0)
    if noticed_actions == EVERYTHING:
        t.cold |= v.refused[1]
    t.top = -1 if v.upcard == NO_CARD else v.upcard
    t.discarded = -1
    t.number = popcount(v.thrown[0]) + 1
    t.first = 1 if v.num_pile == 1 and v.upcard == v.first_upcard else 0


@kernel
def features_of(v, remembered_discards, noticed_actions, legal, i, space, features):
    """Writes the features of a view's legal draws, discards and knocks; zeros where an action has none.

    Args:
        v: the view.
        remembered_discards: how many of the last cards of the pile are remembered.
        noticed_actions: which of the opponent's choices are noticed (``agents.network.bounds``).
        legal: ``int64[n, 3]``, legal actions.
        i: the view's row in ``legal``.
        space: a ``SPACE`` record.
        features: ``float64[107, NUM_WEIGHTS]``, written where an action is legal.
    """
    t = space.turn
    _describe_turn(v, remembered_discards, noticed_actions, t)
    if v.phase != PHASE_DISCARD:
        for action in range(STOCK, NUM_ACTIONS):
            features[action, :] = 0.0
        if legal[i, 2] >> (UPCARD - STOCK) & 1 and t.top >= 0:
            draw_row(v.hand, t, np.int64(v.limit), space.draw)
            features[UPCARD, FIRST_DRAW:FIRST_KNOCK] = space.draw
        return
    discard_rows(v.hand, legal[i, 0], t, np.int64(v.rules.hand_size), space.discards)
    rest = legal[i, 0]
    n = 0
    while rest:
        card = ctz(rest)
        features[card, :] = 0.0
        features[card, :NUM_DISCARDS] = space.discards[n]
        rest &= rest - 1
        n += 1
    rest = legal[i, 1]
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        features[KNOCK + card, :] = 0.0
        left = deadwood(v.hand & ~(np.int64(1) << card))
        # Gin is gin against everybody.
        if left > 0:
            knock_row(left, t, space.knock)
            features[KNOCK + card, FIRST_KNOCK:] = space.knock


@kernel
def add_logit_bias(views, behaviour, legal, logit_bias, space, logits):
    """Adds biases to the logits of draws, discards and knocks.

    Args:
        views: ``VIEW[n]``.
        behaviour: a record with ``remembered_discards`` and ``noticed_actions``.
        legal: ``int64[n, 3]``, legal actions.
        logit_bias: ``float64[n, NUM_WEIGHTS]``.
        space: ``SPACE[1]``, scratch.
        logits: ``float32[n, 107]``, added to.
    """
    features = np.zeros((NUM_ACTIONS, NUM_WEIGHTS))
    for i in range(views.shape[0]):
        if views[i].phase > PHASE_DISCARD or not np.any(logit_bias[i] != 0):
            continue
        features_of(views[i], behaviour.remembered_discards, behaviour.noticed_actions, legal, i, space[0], features)
        for action in range(NUM_ACTIONS):
            if (legal[i, action // 52] >> (action % 52)) & 1:
                moved = 0.0
                for k in range(NUM_WEIGHTS):
                    moved += features[action, k] * logit_bias[i, k]
                logits[i, action] += moved
