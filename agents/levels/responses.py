"""How a level responds to its opponents: what it knows shifts the level's own choices.

The features that explain an opponent's choices (``agents.opponent_model.features``) describe the level's choices too. To the logit of each
choice the level adds a weighted sum of these features. The weights are its *biases*, of two parts:

- the *general* part applies to every opponent, and grows with the logarithm of the hands that the level has seen
  (``LevelSettings.growth``).
- the *specific* part is linear in what is known of this opponent: so nothing changes where nothing is known, and every change can be put
  into words. Beyond some distance from other people it grows no more.
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
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, STOCK, UPCARD
from ginenv.engine.jit import ctz, kernel, popcount
from ginenv.engine.melds import deadwood
from ginenv.engine.state import NO_CARD
from ginenv.errors import GinError

RESPONSES = "responses.json"
# Distances from the average opponent beyond this count as this, in standard deviations.
MAX_DISTANCE = 1.5
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
        features: names of the biases, and of what is known.
        general: the biases against everybody.
        gains: points per hand that growing shares of them gain, as pairs of share and points.
        specific: the biases that each known number adds.
        about: how it was made.
    """

    format: Literal[1] = 1
    features: list[str]
    general: list[float]
    gains: list[tuple[float, float]] = Field(min_length=1)
    specific: list[list[float]]
    about: dict[str, Any]


@dataclass(frozen=True)
class Responses:
    """How a level's choices shift.

    Attributes:
        general: the biases against everybody, ``float64[NUM_WEIGHTS]``.
        gains: ``float64[n, 2]``, rising: shares of the general biases, and the points per hand that each gains.
        specific: the biases that each known number adds, ``float64[NUM_WEIGHTS, NUM_WEIGHTS]``.
        about: how they were made.
    """

    general: np.ndarray
    gains: np.ndarray
    specific: np.ndarray
    about: dict[str, Any]

    @property
    def depends_on_opponent(self) -> bool:
        """Whether any part depends on the opponent."""
        return bool(self.specific.any())

    def logit_bias(self, distances: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The biases against some opponents.

        Args:
            distances: how far each is from other people (``Posteriors.distances``), ``float32[n, NUM_WEIGHTS]``.
            points: points per hand that the general part is to gain, ``float64[n]``; no more than it can.

        Returns:
            ``float64[n, NUM_WEIGHTS]``.
        """
        share = np.interp(points, self.gains[:, 1], self.gains[:, 0])
        return share[:, None] * self.general + bounded(distances) @ self.specific

    def write(self, path: Path) -> None:
        """Writes them as JSON."""
        parts = {name: getattr(self, name).round(6).tolist() for name in ("general", "gains", "specific")}
        write_json(path, {"format": 1, "features": list(FEATURES)} | parts | {"about": self.about})


def bounded(distances: np.ndarray) -> np.ndarray:
    """Distances as far as they count, as ``float64``."""
    return np.clip(distances.astype(np.float64), -MAX_DISTANCE, MAX_DISTANCE)


def read_responses(path: Path, source: str) -> Responses:
    """Reads what ``write`` wrote.

    Args:
        path: of the file.
        source: whose file it is, for error messages.

    Raises:
        GinError: if it cannot be read or was made for other features.
    """
    file: _File = parse_config(read_json_object(path, source), _File, f"{source}: {path.name}")
    widths = [len(file.general), len(file.specific), *map(len, file.specific)]
    if file.features != list(FEATURES) or any(width != NUM_WEIGHTS for width in widths):
        raise GinError(f"{source}: {path.name} is of other features than this version's; run gin levels fit")
    gains = np.array(file.gains, np.float64)
    if (np.diff(gains, axis=0) <= 0).any():
        raise GinError(f"{source}: gains in {path.name} must rise, in shares and in points; run gin levels fit")
    return Responses(np.array(file.general), gains, np.array(file.specific), file.about)


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
