"""``like:``, a sparring partner that plays like somebody whose hands are on record: an opponent's choice model, as a player.

What the model has no weights for (gin, spreads, lay-offs) is played as well as possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from agents.datasets.rows import Hands
from agents.datasets.source import RecordedGames
from agents.levels.choice import OPTIONS, draw_action, list_options
from agents.levels.features import NUM_DISCARDS, NUM_WEIGHTS
from agents.levels.memory import most_shown
from agents.levels.opponents import ModelPrior, Posteriors, shipped_prior
from agents.network.bounds import EVERYTHING
from agents.player_names import canonical_name
from ginenv.engine.actions import (
    KNOCK,
    NUM_ACTIONS,
    PHASE_DISCARD,
    PHASE_LAYOFF,
    PHASE_OVER,
    PHASE_SPREAD,
    STOCK,
    UPCARD,
)
from ginenv.engine.jit import ctz, kernel, mix, unit
from ginenv.engine.melds import least_deadwood
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, quoted, unknown_name
from ginenv.tables.players import BasePlayer
from ginenv.view.view import VIEW, make_views

# Factors on the weights. The model sees little of why a card is thrown, and takes the rest for chance; who plays by such chances throws
# away points that nobody throws away. Chosen on other styles than those of the benchmark (docs/log/opponent_model.md).
DISCARD_SHARPNESS, SHARPNESS = 4.0, 1.3

# Somebody's weights.
STYLE = np.dtype([("weights", np.float64, (NUM_WEIGHTS,))])


@kernel
def _score(weights, o, k):
    total = 0.0
    for weight in range(o.first[k], o.last[k]):
        total += weights[weight] * o.features[k, weight - o.first[k]]
    return total


@kernel
def _is_yes(weights, o, action, word):
    """Whether somebody chooses an option when asked for this one alone."""
    k = 0
    while o.actions[k] != action:
        k += 1
    score = min(30.0, max(-30.0, _score(weights, o, k)))
    return unit(word) < 1 / (1 + np.exp(-score))


@kernel
def _draw_card(v, weights, o, word):
    if v.legal[2] & 2 and _is_yes(weights, o, UPCARD, word):
        return UPCARD
    others = v.legal[2] & 5
    return STOCK + ctz(others) if others else UPCARD


@kernel
def _discard(v, weights, o, word):
    if v.legal[1]:
        best, left = least_deadwood(v.hand, v.legal[1])
        knock = KNOCK + ctz(best)
        if left == 0 or not v.legal[0] or _is_yes(weights, o, knock, word):
            return knock
    scores = np.empty(NUM_ACTIONS, np.float32)
    for k in range(o.discards):
        scores[o.actions[k]] = _score(weights, o, k)
    return draw_action(scores, o.actions[: o.discards], np.inf, 1.0, mix(word), np.empty(NUM_ACTIONS, np.float32))


@kernel
def decide(v, styles, seed):
    """The action of a ``STYLE`` record for a ``VIEW`` record; ``seed`` (uint64) is mixed with the view's ``luck``."""
    options = np.empty(1, OPTIONS)
    o = options[0]
    list_options(v, v.pile_cards, EVERYTHING, o)
    word = mix(v.luck ^ seed)
    if v.phase == PHASE_SPREAD or v.phase == PHASE_LAYOFF:
        return o.actions[0]
    if v.phase == PHASE_DISCARD:
        return np.int64(_discard(v, styles.weights, o, word))
    return np.int64(_draw_card(v, styles.weights, o, word))


@kernel
def _act(views, styles, index, seed, actions):
    for i in range(views.shape[0]):
        actions[i] = decide(views[i], styles[index[i]], seed)


def full_weights(records: np.ndarray, prior: ModelPrior) -> np.ndarray:
    """The weights that opponents are played with, ``STYLE[n]``: as if every hand had been counted in full.

    A level learns with a tempered likelihood, which leaves people more alike than they are.

    Args:
        records: ``POSTERIOR[n]``.
        prior: from which they were learned.
    """
    stranger = prior.stranger[0]
    base = stranger["precision"] @ stranger["mean"]
    styles = np.zeros(len(records), STYLE)
    for row, record in zip(styles, records, strict=True):
        seen = (record["precision"] - stranger["precision"]) / prior.tempered
        moved = (record["precision"] @ record["mean"] - base) / prior.tempered
        row["weights"] = np.linalg.solve(stranger["precision"] + seen, base + moved)
        row["weights"][:NUM_DISCARDS] *= DISCARD_SHARPNESS
        row["weights"][NUM_DISCARDS:] *= SHARPNESS
    return styles


class Imitation(BasePlayer):
    """Plays as opponents do whose hands are known.

    Args:
        styles: ``STYLE[m]``; game ``slot`` is played by ``slot % m``.
        seed: mixed with the views' own random words.
    """

    name = "like"

    def __init__(self, styles: np.ndarray, seed: int = 0) -> None:
        super().__init__(seed)
        self.styles = styles

    @property
    def compiled(self) -> tuple[Any, np.ndarray]:
        """The kernel that decides, and the weights (see ``ginenv.tables.compiled_players``)."""
        return decide, self.styles

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        views = as_batch(views, VIEW, "VIEW")
        actions = np.empty(len(views), np.int64)
        index = np.zeros(len(views), np.int64) if slots is None else np.asarray(slots, np.int64) % len(self.styles)
        _act(views, self.styles, index, np.uint64(self.seed % 2**64), actions)
        return actions


def make_like(
    seed: int = 0, profile: str | None = None, opponent: str | None = None, record: str | None = None
) -> Imitation:
    """A player that chooses as somebody does.

    Args:
        seed: of its choices.
        profile: directory in which levels keep what they learn; the level that has seen most of the opponent's hands is read.
        opponent: whom it plays like: a name in the profile, or of a player of the record (when left out, its first).
        record: file of a hand or game, or of many: a table that ``gin games`` wrote (``.parquet``).

    Raises:
        GinError: if neither or both are given, nothing can be read, or no hand of the opponent was shown.
    """
    if (profile is None) == (record is None):
        raise GinError("like needs either profile=DIRECTORY,opponent=NAME or record=FILE")
    if record is not None:
        records = _of_record(record, opponent)
    elif opponent is None:
        raise GinError("like: profile needs opponent, the name of whom it plays like")
    else:
        records = most_shown(Path(str(profile)), opponent)
    if not records["hands"][0]:
        raise GinError(f"like: {quoted(record or profile)} shows no hand of {quoted(opponent or 'its first player')}")
    return Imitation(full_weights(records, shipped_prior()), seed)


def _of_record(path: str, name: str | None) -> np.ndarray:
    """What a record or a table of games shows of one of its players, ``POSTERIOR[1]``."""
    posteriors, names = Posteriors(1), set()
    for group in _groups(path):
        names.update(*group.players)
        if name is None and group.players:
            name = group.players[0][0]
        seats = np.array([_seat_of(name, pair) for pair in group.players], np.int64)
        chosen = (seats >= 0) & (group.states["phase"] == PHASE_OVER)
        views = make_views(group.states[chosen], 1 - seats[chosen])
        posteriors.learn(views, np.zeros(len(views), np.int64))
    if canonical_name(name or "", names) not in names:
        raise GinError(f"like: {unknown_name('player', str(name), sorted(names))}")
    return posteriors.records


def _seat_of(name: str | None, pair: tuple[str, str]) -> int:
    """The seat of a player whose name is written in any way; -1 for another's game."""
    written = canonical_name(name or "", pair)
    return pair.index(written) if written in pair else -1


def _groups(path: str) -> Iterable[Hands]:
    """The hands of a record, or of a table that ``gin games`` wrote."""
    if Path(path).suffix != ".parquet":
        return RecordedGames([Path(path)])
    from agents.datasets.store import read_hands  # needs pyarrow

    return read_hands(path)
