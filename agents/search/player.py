"""The search as a player."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.config import parse_config
from agents.search.candidates import CANDIDATE, MAX_CANDIDATES, choose, list_candidates
from agents.search.config import SearchConfig
from agents.search.hand_features import NUM_FEATURES, write_features
from agents.search.hand_prior import NetworkPrior
from agents.search.world_values import BRANCH, EquityTables, WorldValues, branch
from agents.search.worlds import draw_hands, draw_worlds
from ginenv.engine.engine import STATE
from ginenv.engine.jit import kernel
from ginenv.engine.state import as_batch
from ginenv.tables.players import BasePlayer
from ginenv.view.turns import MAX_TURNS, TURN
from ginenv.view.view import VIEW

# Branches that are valued together: the critic is fastest with many at once.
_GROUP = 16384
# Makes the choice among candidates independent of the worlds, which come from the same random word.
_CHOICE = 0x9E3779B97F4A7C15


# Returns the logits of views in slots.
Policy = Callable[[np.ndarray, np.ndarray | None], np.ndarray]


# Two kernels per view, because a single one would take a minute to compile.
@kernel
def _draw_hands(views, decisions, n, turns, hands, features):
    """Draws opponent hands, and writes their features if there is room for them."""
    v, d = views[n], decisions[n]
    d.stream = draw_hands(v, d.belief, hands, d.stream)
    if features.shape[0]:
        d.stream = write_features(v, d.belief, turns, hands, features, d.stream)


@kernel
def _draw_branches(views, decisions, n, hands, weights, found, worlds, branches):
    """Draws worlds from hands, and writes the state of each world after each candidate."""
    v, d = views[n], decisions[n]
    d.stream = draw_worlds(v, hands, weights, worlds, d.stream)
    branch(v, found, worlds, d.equity, branches)


class _Workspace:
    """Buffers of one decision."""

    def __init__(self, config: SearchConfig) -> None:
        particles = max(config.particles, config.worlds)
        self.turns = np.zeros(MAX_TURNS, TURN)
        self.hands = np.zeros(particles, np.int64)
        self.weights = np.zeros(particles)
        self.features = np.zeros((particles, NUM_FEATURES), np.float32)
        self.worlds = np.zeros(config.worlds, STATE)


class SearchPlayer(BasePlayer):
    """Samples worlds consistent with the view, values each after every candidate, and plays the best one.

    That is the action with the best mean value less what an improbable action pays; with ``slack``, one of the best discards by chance.

    Its choices depend only on the views, the seed and the settings, not on the batch size.

    Args:
        config: the settings.
        seed: mixed with the views' own random words.
        policy: returns logits ``float32[n, 107]`` of views in slots, in place of the network's own.

    Raises:
        CheckpointError: if the network cannot be used.
    """

    name = "search"

    def __init__(self, config: SearchConfig | None = None, seed: int = 0, policy: Policy | None = None) -> None:
        super().__init__(seed)
        self.policy = policy
        self.config = SearchConfig() if config is None else config  # pyright: ignore[reportCallIssue]
        path = self.config.checkpoint
        self.prior, self.world_values, self.equity = NetworkPrior(path), WorldValues(path), EquityTables()
        self.workspace = _Workspace(self.config)

    @property
    def search_settings(self) -> dict[str, Any]:
        """What the player's choices depend on (``SearchConfig.decisive``)."""
        return self.config.decisive

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view: ``VIEW[n]`` to ``int64[n]``."""
        views = as_batch(views, VIEW, "VIEW")
        if not len(views):
            return np.zeros(0, np.int64)
        batch = _Batch(self, views, slots)
        batch.decide()
        return batch.actions

    def examine(self, view: np.ndarray, also: Sequence[int] = ()) -> Findings:
        """What the search finds about one position.

        Args:
            view: ``VIEW[1]`` of the seat to move.
            also: legal actions to include as candidates, whatever the policy thinks of them.
        """
        batch = _Batch(self, as_batch(view, VIEW, "VIEW", 1), None)
        for action in also:
            batch.add_candidate(0, action)
        found, values, best = batch.candidates(0), np.zeros((1, 0)), 0
        if len(found) > 1:
            values, best = batch.search(0)
        else:
            batch.draw_hands(0)
        errors = values.std(1) / np.sqrt(values.shape[1]) if values.size else np.zeros(1)
        return Findings(found.copy(), errors, best, self.workspace.hands.copy(), self.workspace.weights.copy())


@dataclass(frozen=True)
class Findings:
    """What a search found.

    Attributes:
        candidates: ``CANDIDATE[k]``, the policy's most probable action first.
        errors: ``float64[k]``, standard errors of their values.
        best: index of the candidate that is played.
        hands: ``int64[P]``, sampled opponent hands.
        weights: ``float64[P]``, their probabilities.
    """

    candidates: np.ndarray
    errors: np.ndarray
    best: int
    hands: np.ndarray
    weights: np.ndarray

    @property
    def belief(self) -> np.ndarray:
        """Probability that the opponent holds each card: ``float64[52]``."""
        return self.weights @ (self.hands[:, None] >> np.arange(52) & 1)


class _Batch:
    """A batch of views and the work on it."""

    def __init__(self, player: SearchPlayer, views: np.ndarray, slots: np.ndarray | None) -> None:
        self.config, self.world_values, self.seed = player.config, player.world_values, player.seed % 2**64
        self.workspace = player.workspace
        self.views = views
        self.decisions, self.reading = player.prior(views, self.seed)
        if player.policy is not None:
            self.decisions["logits"] = player.policy(views, slots)
        self.decisions["equity"] = player.equity.index(views)
        self.bank = player.equity.bank
        self.found, self.counts = np.zeros((len(views), MAX_CANDIDATES), CANDIDATE), np.zeros(len(views), np.int64)
        list_candidates(views, self.decisions, self.found, self.counts, self.config.slack > 0)
        self.actions = self.found["action"][:, 0].copy()

    def candidates(self, n: int) -> np.ndarray:
        """The candidates of a view: ``CANDIDATE[k]``."""
        return self.found[n, : self.counts[n]]

    def add_candidate(self, n: int, action: int) -> None:
        """Adds an action to the candidates of a view unless it is one already."""
        if action not in self.candidates(n)["action"]:
            self.found[n, self.counts[n]]["action"] = action
            self.found[n, self.counts[n]]["cost"] = -float(self.decisions["logits"][n, action])
            self.counts[n] += 1

    def decide(self) -> None:
        """Decides the views."""
        searched = np.flatnonzero(self.counts > 1).tolist()
        for group in self._groups(searched):
            ends = np.cumsum(self.counts[group]) * self.config.worlds
            branches = np.empty(ends[-1], BRANCH)
            for n, part in zip(group, np.split(branches, ends[:-1]), strict=True):
                self.draw_hands(n)
                self._draw_branches(n, part)
            values = self.world_values(branches, self.bank)
            for n, part in zip(group, np.split(values, ends[:-1]), strict=True):
                self._choose(n, part)

    def _groups(self, rows: Sequence[int]) -> Iterator[list[int]]:
        """Groups of views whose branches are valued together."""
        group: list[int] = []
        for n in rows:
            group.append(n)
            if self.counts[group].sum() * self.config.worlds >= _GROUP:
                yield group
                group = []
        if group:
            yield group

    def search(self, n: int) -> tuple[np.ndarray, int]:
        """Decides one view; returns the values ``float64[k, W]`` and the index of the choice."""
        branches = np.empty(self.counts[n] * self.config.worlds, BRANCH)
        self.draw_hands(n)
        self._draw_branches(n, branches)
        values = self.world_values(branches, self.bank)
        return values.reshape(self.counts[n], -1), self._choose(n, values)

    def draw_hands(self, n: int) -> None:
        """Draws and weights opponent hands."""
        workspace = self.workspace
        hands, weights = workspace.hands, workspace.weights
        features = workspace.features if self.reading else workspace.features[:0]
        _draw_hands(self.views, self.decisions, n, workspace.turns, hands, features)
        weights[:] = self.reading.plausible(n, hands, features) if self.reading else 1 / len(hands)

    def _draw_branches(self, n: int, branches: np.ndarray) -> None:
        """Draws worlds of a view and writes the state of each after each candidate."""
        found, workspace = self.candidates(n), self.workspace
        hands, weights, worlds = workspace.hands, workspace.weights, workspace.worlds
        _draw_branches(self.views, self.decisions, n, hands, weights, found, worlds, branches)

    def _choose(self, n: int, values: np.ndarray) -> int:
        """Chooses a candidate by its values and the policy; returns its index."""
        found, config = self.candidates(n), self.config
        word = np.uint64(int(self.views["luck"][n]) ^ _CHOICE ^ self.seed)
        best = int(choose(found, values, config.policy_weight, config.slack, word))
        self.actions[n] = found["action"][best]
        return best


def make_search(seed: int = 0, **options: Any) -> SearchPlayer:
    """A search with some settings changed: ``search:worlds=512,slack=1``."""
    return SearchPlayer(parse_config(options, SearchConfig, "search"), seed)
