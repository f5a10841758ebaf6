"""From a view to what networks read: one record of bytes for each position, without torch.

An actor reads the beginning of the record: the observation, whether the seat is committed to gin, and the best built-in bot's evaluation of
the view, arithmetic that a network does not learn by itself. A critic reads all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ginenv.bots.heuristics import style
from ginenv.bots.style_kernels import OUTLOOK, outlook_rows
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.engine import STOCK_LEFT
from ginenv.engine.jit import kernel, popcount
from ginenv.engine.melds import deadwood, highest_cards, melded_cards, of_points, points_of
from ginenv.view.encoding import FLAT_SCALE, OBSERVATION, OBSERVATION_SIZE, PLANES, encode_row
from ginenv.view.view import look

NUM_CONDITIONS = 1
NUM_HEURISTIC_FEATURES = OUTLOOK
NUM_SUITS, NUM_RANKS = 4, 13
_CARDS = NUM_SUITS * NUM_RANKS
# The critic reads what the next cards of the stock will do to both hands, as bytes of deadwood. Luck that it foresees adds no noise to the
# advantages. In training it also reads which of the first 12 bots of the pool plays, in the mover's seat and in the other: what a position
# is worth depends on it. All these numbers are 0 for a network, and wherever nobody knows.
NUM_FUTURE, NUM_BOTS = 12, 12
NUM_SECRETS = NUM_FUTURE + 2 * NUM_BOTS
PRESENT = 32

INPUTS = np.dtype(
    [
        ("observation", OBSERVATION),
        ("gin_only", np.uint8),  # whether the seat to move is committed to gin
        ("features", np.uint8, (NUM_HEURISTIC_FEATURES,)),
        ("other_gin_only", np.uint8),  # what follows is for critics alone
        ("hidden", np.uint8, (_CARDS,)),  # the opponent's hand
        ("secrets", np.uint8, (NUM_SECRETS,)),  # the stock's next cards, and which bots play
    ]
)
# Numbers that an actor reads; a critic reads all.
ACTOR_INPUTS = OBSERVATION_SIZE + NUM_CONDITIONS + NUM_HEURISTIC_FEATURES
FEATURES_SCALE, SECRETS_SCALE = np.float32(1 / 64), np.float32(1 / 32)
# The bot that evaluates.
_BOT = "knocker"


def scales(features: int, is_critic: bool) -> np.ndarray:
    """What multiplies each byte that a network reads: ``float32[N]``."""
    parts = [FLAT_SCALE, np.ones(NUM_CONDITIONS, np.float32), np.full(features, FEATURES_SCALE, np.float32)]
    if is_critic:
        parts += [np.ones(NUM_CONDITIONS + _CARDS, np.float32), np.full(NUM_SECRETS, SECRETS_SCALE, np.float32)]
    return np.concatenate(parts)


def suit_columns(features: int, is_critic: bool, conditions: int = NUM_CONDITIONS) -> tuple[np.ndarray, np.ndarray]:
    """The columns, by suit, of what a network reads: of each suit ``int64[4, S]``, and of none ``int64[K]``.

    Args:
        features: number of heuristic features that it reads.
        is_critic: whether it reads the whole record.
        conditions: how many conditions it reads after the observation.
    """
    after = OBSERVATION_SIZE + conditions
    decks = [*range(0, len(PLANES) * _CARDS, _CARDS)]
    single = [*range(len(PLANES) * _CARDS, OBSERVATION_SIZE)]
    if features:
        decks += [after, after + _CARDS]
        single.append(after + 2 * _CARDS)
    single += range(OBSERVATION_SIZE, after)
    if is_critic:
        other = after + features
        decks.append(other + NUM_CONDITIONS)
        single += [other, *range(other + NUM_CONDITIONS + _CARDS, other + NUM_CONDITIONS + _CARDS + NUM_SECRETS)]
    first = np.array([deck + rank for deck in decks for rank in range(NUM_RANKS)])
    return np.stack([first + NUM_RANKS * suit for suit in range(NUM_SUITS)]), np.array(single)


def bytes_of(inputs: np.ndarray, is_critic: bool = False) -> np.ndarray:
    """The bytes ``uint8[n, N]`` that a network reads of ``INPUTS[n]``."""
    rows = inputs.view(np.uint8).reshape(len(inputs), INPUTS.itemsize)
    return rows if is_critic else rows[:, :ACTOR_INPUTS]


# --- what a seat sees ---------------------------------------------------------------------------------------------------------------


@kernel
def bind_to_gin(hand, discards, knocks):
    """The knocks, of a mask, that a seat which is committed to gin may still make; all of them if it has no other discard."""
    if discards == 0:
        return knocks
    gin = np.int64(0)
    while knocks:
        bit = knocks & -knocks
        knocks ^= bit
        if deadwood(hand & ~bit) == 0:
            gin |= bit
    return gin


@kernel
def observe(v, gin_only, inputs):
    """Writes what an actor reads of a view, besides the heuristic features, into an ``INPUTS`` record."""
    encode_row(v, inputs.observation)
    inputs.gin_only = 1 if gin_only else 0


@kernel
def _observe_views(views, inputs):
    for i in range(views.shape[0]):
        # A seat that declined a knock plays for gin, as in training.
        observe(views[i], views[i].declined > 0, inputs[i])


def observe_views(views: np.ndarray) -> np.ndarray:
    """What an actor reads in play: ``uint8[n, 626]`` of ``VIEW[n]``."""
    inputs = np.zeros(len(views), INPUTS)
    _observe_views(views, inputs)
    _unbounded().write(views, inputs)
    return bytes_of(inputs)


@kernel
def _write_features(views, styles, kinds, out):
    for i in range(views.shape[0]):
        outlook_rows(views[i], styles[kinds[i] if kinds.shape[0] else 0], out, i)


# The first bounds for all.
_FIRST = np.zeros(0, np.int64)


class HeuristicFeatures:
    """Writes the heuristic features of batches of views.

    Args:
        bounds: memory and attention (see ``agents.network.bounds``) of the readers; unbounded by default.
    """

    def __init__(self, bounds: Sequence[tuple[int, int]] = ()) -> None:
        styles = [
            style(_BOT, memory=remembered_discards, infer=int(noticed_actions > 0))
            for remembered_discards, noticed_actions in bounds
        ]
        self.styles = np.concatenate(styles or [style(_BOT)])

    def write(self, views: np.ndarray, inputs: np.ndarray, kinds: np.ndarray = _FIRST) -> None:
        """Writes the features of ``VIEW[n]`` into ``INPUTS[n]``; ``kinds`` are the index of each reader's bounds, ``int64[n]``."""
        _write_features(views, self.styles, kinds, inputs["features"])


@cache
def _unbounded() -> HeuristicFeatures:
    """The features of a reader who notices and remembers everything."""
    return HeuristicFeatures()


# --- what a critic is told besides --------------------------------------------------------------------------------------------------


@kernel
def _deadwood_of_best(cards, size):
    """Approximate deadwood of the best ``size`` of some cards: the best arrangement of all, without the highest loose cards."""
    loose = cards & ~melded_cards(cards)
    spare = popcount(cards) - size
    left = points_of(loose)
    while spare > 0 and loose:
        points = highest_cards(loose)
        highest = loose & of_points(points)
        loose &= ~(highest & -highest)
        left -= points
        spare -= 1
    return left


@kernel
def _look_ahead(s, row):
    """Writes what the next cards of the stock will do to both hands: the first 12 of ``uint8[36]``.

    These are the deadwoods after 0 to 5 more turns if neither side takes an upcard and both keep their best cards: first the mover's, then
    the other seat's.
    """
    seat = np.int64(s.turn)
    size = np.int64(s.rules.hand_size)
    drawn = 1 if s.phase == PHASE_DISCARD else 0
    last = np.int64(s.rules.ranks) * s.rules.suits - STOCK_LEFT
    for side in range(2):
        cards = s.hands[seat if side == 0 else 1 - seat]
        position = np.int64(s.position) + ((1 - drawn) if side else drawn)
        for k in range(NUM_FUTURE // 2):
            row[side * (NUM_FUTURE // 2) + k] = min(np.int64(255), _deadwood_of_best(cards, size))
            if position < last:
                cards |= np.int64(1) << s.deck[position]
            position += 2


@kernel
def observe_state(s, gin_only, v, inputs):
    """Writes what the seat to move sees, and what its critic sees besides; all but the heuristic features and who plays.

    Args:
        s: the state.
        gin_only: ``uint8[2]``, 1 for a seat that is committed to gin.
        v: its view, which is written without the knocks that a commitment rules out.
        inputs: an ``INPUTS`` record, written.
    """
    seat = np.int64(s.turn)
    look(s, seat, v)
    observe(v, gin_only[seat], inputs)
    if gin_only[seat] and v.legal[1]:
        v.legal[1] = bind_to_gin(v.hand, v.legal[0], v.legal[1])
    inputs.other_gin_only = gin_only[1 - seat]
    hidden = s.hands[1 - seat]
    for card in range(_CARDS):
        inputs.hidden[card] = (hidden >> card) & 1
    _look_ahead(s, inputs.secrets)


@kernel
def observe_states(states, gin_only, views, inputs):
    """``observe_state`` for a batch: ``STATE[n]``, ``uint8[n, 2]``; writes ``VIEW[n]`` and ``INPUTS[n]``."""
    for i in range(states.shape[0]):
        observe_state(states[i], gin_only[i], views[i], inputs[i])
