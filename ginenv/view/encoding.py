"""A view as numbers for a network: one layout, as bytes or as floats. Version 1.

``planes``: ``uint8[10, 4, 13]``, suits (spades, clubs, diamonds, hearts) by ranks (ace to king). Planes 0 to 8 hold cards as 0
and 1, in the order of ``PLANES``; plane 9 holds one small number per cell, in the order of ``FACTS``.

``flat``: ``float32[520]``, the same bytes in the same order, multiplied by ``FLAT_SCALE`` so that most values lie in [0, 1].

"I" is the observing seat. Every element is computed from a view alone. Training keeps the bytes and folds the scale into the
first layer.
"""

from __future__ import annotations

import numpy as np

from ginenv.engine.actions import PHASE_DISCARD, PHASE_DRAW, PHASE_UPCARD, PHASE_WALL
from ginenv.engine.engine import END_LAST_UPCARD, END_WALL, LAYOFF_DEADWOOD_ONLY, NO_CARD
from ginenv.engine.jit import kernel, popcount, row_record, store_cards
from ginenv.engine.melds import joins_meld, least_deadwood, melded_cards, points_of
from ginenv.engine.state import as_batch
from ginenv.view.view import VIEW

OBSERVATION_VERSION = 1

PLANES = (
    "my cards",
    "my cards that an arrangement of least deadwood melds",
    "the upcard",
    "the discard pile, upcard included",
    "cards the opponent took from the pile and still holds",
    "cards I took from the pile and still hold",
    "cards the opponent discarded in this hand",
    "upcards the opponent could have taken and did not",
    "the card I drew or took in this turn",
)
# Name and scale (value in the flat encoding = byte * scale).
FACTS: tuple[tuple[str, float], ...] = (
    ("phase is the first-upcard offer", 1),
    ("phase is the draw", 1),
    ("phase is the discard", 1),
    ("phase is the wall", 1),
    ("I am to move", 1),
    ("I began this hand", 1),
    ("points of this hand are doubled", 1),
    ("the other passed the offered upcard", 1),
    ("the upcard was taken in this turn (it may not go back under most rules)", 1),
    ("cards left in the stock", 1 / 32),
    ("actions so far in this hand", 1 / 64),
    ("upcards taken so far in this hand", 1 / 16),
    ("knock limit", 1 / 10),
    ("knock limit is 0: gin only", 1),
    ("points of my cards", 1 / 64),
    ("my least deadwood, all cards counted", 1 / 64),
    ("I may knock now", 1),
    ("the least deadwood that I can knock with (0 if I may not)", 1 / 10),
    ("I can go gin now", 1),
    ("the upcard would be melded in my hand", 1),
    ("cards I know of the opponent's hand", 1 / 8),
    ("cards the opponent knows of my hand", 1 / 8),
    ("my score", 1 / 100),
    ("the opponent's score", 1 / 100),
    ("points I need to end the game (at most 250)", 1 / 100),
    ("points the opponent needs to end the game (at most 250)", 1 / 100),
    ("hands I have won", 1 / 8),
    ("hands the opponent has won", 1 / 8),
    ("gin bonus", 1 / 25),
    ("undercut bonus", 1 / 25),
    ("equal deadwood is an undercut", 1),
    ("game bonus (at most 250)", 1 / 100),
    ("box bonus", 1 / 25),
    ("a shut-out pays", 1),
    ("the higher final total wins the game", 1),
    ("at two cards the last upcard may be taken", 1),
    ("at two cards stands the wall", 1),
    ("the deal is eleven/ten", 1),
    ("gin ends the hand by itself", 1),
    ("the upcard just taken may be discarded", 1),
    ("the defender's melds are fixed before the lay-off", 1),
    ("the first discard will set the limit", 1),
    ("the opponent holds an upcard that it took in this hand", 1),
    ("drawn hands in a row", 1 / 4),
    ("turns of this hand in which I could have knocked and did not", 1 / 4),
)
NUM_PLANES = len(PLANES) + 1
_NUM_CELLS = 52
OBSERVATION_SIZE = NUM_PLANES * _NUM_CELLS
# One row of a batch as a record: compiled code takes a record as a pointer, while an array costs some thirty nanoseconds a call.
OBSERVATION = np.dtype([("cells", np.uint8, (OBSERVATION_SIZE,))])
row_of = row_record(OBSERVATION)
PLANES_SHAPE = (NUM_PLANES, 4, 13)
_FACTS_AT = len(PLANES) * _NUM_CELLS

FLAT_SCALE = np.ones(OBSERVATION_SIZE, np.float32)
FLAT_SCALE[_FACTS_AT : _FACTS_AT + len(FACTS)] = [scale for _, scale in FACTS]
_MAX_POINTS = 250


@kernel
def _encode_rules(v, row):
    """Writes the facts that follow from the rules alone, and last whether the first discard will set the limit."""
    out = row.cells
    f = _FACTS_AT
    r = v.rules
    out[f + 28] = r.gin_bonus
    out[f + 29] = r.undercut_bonus
    out[f + 30] = r.undercut_on_tie
    out[f + 31] = min(np.int64(r.game_bonus), _MAX_POINTS)
    out[f + 32] = r.box_bonus
    out[f + 33] = r.shutout != 0
    out[f + 34] = r.winner_total
    out[f + 35] = r.stock_end == END_LAST_UPCARD
    out[f + 36] = r.stock_end == END_WALL
    out[f + 37] = r.eleven_ten
    out[f + 38] = r.auto_gin
    out[f + 39] = r.discard_taken_upcard
    out[f + 40] = r.layoff == LAYOFF_DEADWOOD_ONLY
    out[f + 41] = r.first_discard_limit and v.num_history == 0


@kernel
def encode_row(v, r):
    """Writes the 520 bytes of a view into an ``OBSERVATION`` record."""
    out = r.cells
    cards = v.hand
    melded = melded_cards(cards)
    upcard = np.int64(0)
    if v.upcard != NO_CARD:
        upcard = np.int64(1) << v.upcard
    fresh = np.int64(0)
    if v.to_move and v.taken != NO_CARD:
        fresh = np.int64(1) << v.taken
    elif v.drawn != NO_CARD:
        fresh = np.int64(1) << v.drawn
    store_cards(out, 0, cards)
    store_cards(out, 52, melded)
    store_cards(out, 104, upcard)
    store_cards(out, 156, v.pile_cards)
    store_cards(out, 208, v.known_cards[1])
    store_cards(out, 260, v.known_cards[0])
    store_cards(out, 312, v.thrown[1])
    store_cards(out, 364, v.refused[1])
    store_cards(out, 416, fresh)
    store_cards(out, _FACTS_AT, np.int64(0))
    f = _FACTS_AT
    rules = v.rules
    phase = v.phase
    out[f + 0] = phase == PHASE_UPCARD
    out[f + 1] = phase == PHASE_DRAW
    out[f + 2] = phase == PHASE_DISCARD
    out[f + 3] = phase == PHASE_WALL
    out[f + 4] = v.to_move
    out[f + 5] = v.started
    out[f + 6] = v.doubled
    out[f + 7] = phase == PHASE_UPCARD and v.refused[1] != 0
    out[f + 8] = v.to_move and v.taken != NO_CARD
    out[f + 9] = v.stock
    out[f + 10] = v.num_history
    out[f + 11] = v.upcards
    out[f + 12] = v.limit
    out[f + 13] = v.limit == 0
    total = points_of(cards)
    out[f + 14] = total
    out[f + 15] = total - points_of(melded)
    if v.legal[1]:
        least = least_deadwood(cards, v.legal[1])[1]
        out[f + 16] = 1
        out[f + 17] = least
        out[f + 18] = least == 0
    if upcard and not (cards & upcard) and joins_meld(cards, np.int64(v.upcard)):
        out[f + 19] = melded_cards(cards | upcard) & upcard != 0
    out[f + 20] = popcount(v.known_cards[1])
    out[f + 21] = popcount(v.known_cards[0])
    out[f + 22] = min(max(v.score[0], 0), _MAX_POINTS)
    out[f + 23] = min(max(v.score[1], 0), _MAX_POINTS)
    out[f + 24] = min(max(rules.target - v.score[0], 0), _MAX_POINTS)
    out[f + 25] = min(max(rules.target - v.score[1], 0), _MAX_POINTS)
    out[f + 26] = v.boxes[0]
    out[f + 27] = v.boxes[1]
    out[f + 42] = v.known_cards[1] != 0
    out[f + 43] = v.drawn_hands
    out[f + 44] = v.declined
    _encode_rules(v, r)


@kernel
def encode(v, out, row):
    """Writes the 520 bytes of a view into ``out[row]`` (``uint8[n, 520]``, C-contiguous)."""
    encode_row(v, row_of(out, row))


@kernel
def _encode_all(views, out):
    for i in range(views.shape[0]):
        encode(views[i], out, i)


def encode_views(views: np.ndarray) -> np.ndarray:
    """Encodes a batch of views as bytes.

    Args:
        views: ``VIEW[n]``.

    Returns:
        ``uint8[n, 520]``; ``reshape(n, *PLANES_SHAPE)`` gives planes, ``* FLAT_SCALE`` the flat encoding.

    Raises:
        GinError: if ``views`` is no ``VIEW[n]``.
    """
    views = as_batch(views, VIEW, "VIEW")
    rows = np.empty((views.shape[0], OBSERVATION_SIZE), np.uint8)
    _encode_all(views, rows)
    return rows
