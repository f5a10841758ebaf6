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
from agents.levels.choice import BEHAVIOUR, FACTS, describe, draw_action
from agents.levels.profile import most_shown
from agents.network.bounds import EVERYTHING
from agents.opponent_model.features import NUM_DISCARDS, NUM_WEIGHTS
from agents.opponent_model.posterior import ModelPrior, Posteriors, shipped_prior
from agents.player_names import canonical_name
from ginenv.bots.hand_kernels import choose_lay_off, choose_spread, least_deadwood, unit
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
from ginenv.engine.jit import ctz, kernel, mix
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, quoted, unknown_name
from ginenv.tables.players import BasePlayer
from ginenv.view.view import VIEW, make_views

# Factors on the weights. The model sees little of why a card is thrown, and takes the rest for chance; who plays by such chances throws
# away points that nobody throws away. Chosen on other styles than those of the benchmark (docs/log/opponent_model.md).
DISCARD_SHARPNESS, SHARPNESS = 4.0, 1.3

# Somebody's weights, and the bounds within which a decision is described to them: none.
CHOICES = np.dtype([("weights", np.float64, (NUM_WEIGHTS,)), ("behaviour", BEHAVIOUR)], align=True)


@kernel
def _score(weights, features):
    total = 0.0
    for k in range(NUM_WEIGHTS):
        total += weights[k] * features[k]
    return total


@kernel
def _is_yes(weights, features, word):
    score = min(30.0, max(-30.0, _score(weights, features)))
    return unit(word) < 1 / (1 + np.exp(-score))


@kernel
def _draw_card(v, weights, f, word):
    if v.legal[2] & 2 and _is_yes(weights, f.features[UPCARD], word):
        return UPCARD
    others = v.legal[2] & 5
    return STOCK + ctz(others) if others else UPCARD


@kernel
def _discard(v, weights, f, word):
    if v.legal[1]:
        best, left = least_deadwood(v.hand, v.legal[1])
        knock = KNOCK + ctz(best)
        if left == 0 or not v.legal[0] or _is_yes(weights, f.features[knock], word):
            return knock
    scores = np.empty(NUM_ACTIONS, np.float32)
    for card in range(52):
        if (v.legal[0] >> card) & 1:
            scores[card] = _score(weights, f.features[card])
    discards = (np.int64(v.legal[0]), np.int64(0), np.int64(0))
    return draw_action(scores, discards, np.inf, 1.0, mix(word), np.empty(NUM_ACTIONS, np.float32))


@kernel
def decide(v, choices, seed):
    """The action of a ``CHOICES`` record for a ``VIEW`` record; ``seed`` (uint64) is mixed with the view's ``luck``."""
    if v.phase == PHASE_SPREAD:
        return np.int64(choose_spread(v))
    if v.phase == PHASE_LAYOFF:
        return np.int64(choose_lay_off(v))
    facts = np.zeros(1, FACTS)
    describe(v, choices.behaviour, v.legal, facts[0])
    word = mix(v.luck ^ seed)
    if v.phase == PHASE_DISCARD:
        return np.int64(_discard(v, choices.weights, facts[0], word))
    return np.int64(_draw_card(v, choices.weights, facts[0], word))


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
    choices["behaviour"]["remembered_discards"], choices["behaviour"]["noticed_actions"] = 32, EVERYTHING
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
