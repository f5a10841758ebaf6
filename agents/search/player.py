"""The search as a player."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.bots.style_kernels import act_batch
from agents.config import parse_config
from agents.equity import EquityBank, equity_bank
from agents.search.branches import Branches
from agents.search.budget import LEAST, rounds
from agents.search.config import SearchConfig
from agents.search.hand_features import NUM_FEATURES
from agents.search.kernels import (
    CANDIDATE,
    MAX_CANDIDATES,
    branch,
    conclude,
    describe_hands,
    draw_hands,
    fill_worlds,
    play_round,
    propose,
    settle,
)
from agents.search.worlds import MAX_TURNS, TURN
from ginenv.actions import KNOCK
from ginenv.engine import STATE, End
from ginenv.players import BasePlayer
from ginenv.rules import R_TARGET, Rules
from ginenv.view import VIEW

if TYPE_CHECKING:
    from agents.search.judge import Judge
    from agents.search.network import NetworkPrior, Opinion


class Scratch:
    """The memory that one thread searches in."""

    def __init__(self, config: SearchConfig) -> None:
        weighed = config.belief == "bayes" or (config.belief == "network" and config.whole_hands)
        # Against the clock a decision must not begin with drawing more hands than it may have time to look at.
        particles = config.particles if config.milliseconds else max(weighed * config.particles, config.worlds)
        self.turns = np.zeros(MAX_TURNS, TURN)
        self.hands = np.zeros(particles, np.int64)
        self.weights = np.zeros(particles)
        self.features = np.zeros((particles if weighed else 0, NUM_FEATURES), np.float32)
        self.worlds = np.zeros(config.worlds, STATE)
        self.work = np.zeros(1, STATE)
        self.caution = np.zeros(config.worlds, np.uint8)
        self.values = np.zeros((MAX_CANDIDATES, config.worlds))
        self.found = np.zeros(MAX_CANDIDATES, CANDIDATE)


@lru_cache(maxsize=4)
def _bank(blocks: tuple[bytes, ...]) -> EquityBank:
    return equity_bank([Rules.from_block(np.frombuffer(block, np.int16)) for block in blocks])


class Tables:
    """Equity tables of the rules that were met, found by their block."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.bank = EquityBank(np.zeros(1, np.float32), np.zeros((1, 3), np.int64))

    def of(self, views: np.ndarray) -> np.ndarray:
        """Which table prices each view: ``int64[n]``."""
        blocks = np.ascontiguousarray(views["rules"])
        if (blocks == blocks[0]).all():
            return np.full(len(views), self._index(blocks[0].tobytes()), np.int64)
        return np.array([self._index(block.tobytes()) for block in blocks], np.int64)

    def _index(self, block: bytes) -> int:
        if block not in self.known:
            self.known[block] = len(self.known)
            self.bank = _bank(tuple(self.known))
        return self.known[block]


class SearchPlayer(BasePlayer):
    """Deals the unseen cards in many consistent ways, judges each after every candidate, and plays what wins the game most often.

    A function of the views, the seed and the number of worlds, at any batch size; where playouts judge and it adapts within a game,
    also of the hands that ended in that game's slot; and where its time is limited, of how fast the machine is.

    Args:
        config: what is searched and how.
        seed: mixed with the views' own random words.
    """

    name = "search"

    def __init__(self, config: SearchConfig | None = None, seed: int = 0) -> None:
        super().__init__(seed)
        self.config = SearchConfig() if config is None else config  # pyright: ignore[reportCallIssue]
        self.settings = self.config.settings()
        self.model = self.config.model()
        self.policies = self.config.policies()
        self.style = self.config.style()
        self.tables = Tables()
        self.scratch = [Scratch(self.config) for _ in range(self.config.threads)]
        self.pool = ThreadPoolExecutor(self.config.threads) if self.config.threads > 1 else None
        self.habits: dict[int, tuple[float, float]] = {}
        self.network: NetworkPrior | None = None
        self.judge: Judge | None = None
        if self.config.uses_network:
            # Only what uses a network needs torch.
            from agents.network.player import SHIPPED
            from agents.search.judge import Judge
            from agents.search.network import NetworkPrior

            path = self.config.network or str(SHIPPED)
            weighs = self.config.belief == "network" and self.config.whole_hands
            self.network = NetworkPrior(path, weighs)
            if self.config.judge == "critic":
                self.judge = Judge(path, self.config.half_moves, seed)

    def reset(self, seed: int = 0) -> None:
        """Takes a new seed and forgets what it saw of opponents."""
        self.seed = seed
        self.habits.clear()
        if self.judge is not None:
            self.judge.reset(seed)

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Counts, for each game, how often the opponent ended a hand below gin and with gin."""
        if slots is None or not self.config.adapt:
            return
        theirs = views["knocker"] == 1
        for view, slot in zip(views[theirs], np.asarray(slots)[theirs], strict=True):
            knocks, gins = self.habits.get(int(slot), (0.0, 0.0))
            if view["end"] == End.GIN:
                gins += 1
            else:
                knocks += 1
            self.habits[int(slot)] = (knocks, gins)

    def camps_of(self, n: int, slots: np.ndarray | None) -> np.ndarray:
        """Probability that each opponent never knocks below gin, by Bayes' rule from how its hands ended."""
        prior = self.config.camps
        camps = np.full(n, prior)
        if slots is None or not self.habits:
            return camps
        for i, slot in enumerate(np.asarray(slots).tolist()):
            knocks, gins = self.habits.get(slot, (0.0, 0.0))
            camper = prior * _CAMPER_GIN**gins * (1 - _CAMPER_GIN) ** knocks
            knocker = (1 - prior) * _KNOCKER_GIN**gins * (1 - _KNOCKER_GIN) ** knocks
            camps[i] = camper / (camper + knocker)
        return camps

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view: ``VIEW[n]`` to ``int64[n]``."""
        views = np.atleast_1d(views)
        assert views.dtype == VIEW
        actions = np.zeros(len(views), np.int64)
        if not len(views):
            return actions
        job = Job(self, views, slots)
        if self.pool is None or len(views) == 1:
            job.decide(0, len(views), self.scratch[0], actions)
            return actions
        bounds = np.linspace(0, len(views), self.config.threads + 1).astype(int)
        waiting = [
            self.pool.submit(job.decide, int(low), int(high), scratch, actions)
            for low, high, scratch in zip(bounds[:-1], bounds[1:], self.scratch, strict=True)
        ]
        for part in waiting:
            part.result()
        return actions

    def examine(self, view: np.ndarray) -> Findings:
        """What the search finds about one position.

        Args:
            view: ``VIEW[1]``, of a seat that is to move.
        """
        scratch = self.scratch[0]
        job = Job(self, view, None)
        count, first, best = job.look(0, scratch)
        if count == 1:
            job.imagine(0, scratch)
        found = scratch.found[:count].copy()
        errors = np.array(
            [
                np.std(scratch.values[i, :seen]) / np.sqrt(seen) if seen else 0.0
                for i, seen in enumerate(found["worlds"])
            ]
        )
        return Findings(found, errors, first, best, scratch.hands.copy(), scratch.weights.copy())

    def prices_games(self, view: np.ndarray) -> bool:
        """Whether an outcome of this position is worth the chance to win the game, not points."""
        return self.config.pricing == "game" and bool(view["rules"][0, R_TARGET])


@dataclass(frozen=True)
class Findings:
    """What a search found.

    Attributes:
        candidates: ``CANDIDATE[k]``.
        errors: ``float64[k]``, standard errors of their values.
        prior: index of what would be played without search.
        best: index of what is played.
        hands: ``int64[P]``, sampled hands of the opponent.
        weights: ``float64[P]``, how likely each is.
    """

    candidates: np.ndarray
    errors: np.ndarray
    prior: int
    best: int
    hands: np.ndarray
    weights: np.ndarray


class Job:
    """A batch of views and all that deciding them takes, shared by the threads."""

    def __init__(self, player: SearchPlayer, views: np.ndarray, slots: np.ndarray | None) -> None:
        began = time.perf_counter()
        self.player = player
        self.views = views
        self.camps = player.camps_of(len(views), slots)
        self.opinion: Opinion | None = None if player.network is None else player.network(views)
        if self.opinion is not None:
            self.logits, self.belief = self.opinion.logits, self.opinion.belief
        else:
            self.logits, self.belief = np.zeros((1, 107), np.float32), np.zeros((1, 52), np.float32)
        self.wanted = np.zeros(len(views), np.int64)
        if player.network is None or player.config.prior == "style":
            index = np.zeros(len(views), np.int64)
            act_batch(views, player.style, index, np.uint64(0), self.wanted)
        # Points need no tables, and some take seconds to solve.
        priced = player.config.pricing == "game"
        self.table = player.tables.of(views) if priced else np.zeros(len(views), np.int64)
        self.bank = player.tables.bank
        # What each decision has already cost by what is done for all at once.
        self.shared_seconds = (time.perf_counter() - began) / len(views)

    def decide(self, low: int, high: int, scratch: Scratch, actions: np.ndarray) -> None:
        """Decides the views from ``low`` to ``high`` in the memory of one thread."""
        if self.player.judge is not None and not self.player.config.milliseconds:
            self._decide_by_judge(self.player.judge, low, high, scratch, actions)
            return
        for n in range(low, high):
            _, _, best = self.look(n, scratch)
            actions[n] = scratch.found["action"][best]

    def look(self, n: int, scratch: Scratch) -> tuple[int, int, int]:
        """Searches one view: number of candidates, index of the prior's choice, index of the chosen one."""
        player = self.player
        began = time.perf_counter() - self.shared_seconds
        count, first = propose(self.views, n, player.settings, self.wanted[n], self.logits, scratch.found)
        if count == 1:
            return 1, 0, 0
        word = self.imagine(n, scratch)
        if player.judge is not None:
            return count, 0, self._judged(player.judge, n, count, scratch, word, began)
        return count, first, self._played_out(n, count, first, scratch, word, began)

    def _judged(self, judge: Judge, n: int, count: int, scratch: Scratch, word: np.uint64, began: float) -> int:
        """Has the critic judge worlds while there is time: index of the chosen candidate."""
        config = self.player.config
        parts: list[np.ndarray] = []
        first = LEAST if config.milliseconds else config.worlds
        for low, high in rounds(config.worlds, first, config.milliseconds, began):
            word = self.deal(n, scratch, word, low, high)
            values = judge(self._branch(n, count, scratch, low, high), self.bank)
            parts.append(values.reshape(count, -1))
        values = np.concatenate(parts, 1)
        scratch.values[:count, : values.shape[1]] = values
        return self._settled(n, scratch.found[:count], values.reshape(-1))

    def _settled(self, n: int, found: np.ndarray, values: np.ndarray) -> int:
        """Index of the candidate that the critic's values and the prior speak for."""
        config = self.player.config
        word = np.uint64(int(self.views["luck"][n]) ^ _CHOICE ^ self.player.seed % 2**64)
        return int(settle(found, len(found), values, config.lean, config.slack, word))

    def _played_out(self, n: int, count: int, first: int, scratch: Scratch, word: np.uint64, began: float) -> int:
        """Plays worlds out while there is time and doubt: index of the chosen candidate."""
        player, config = self.player, self.player.config
        opening = LEAST if config.milliseconds else int(config.worlds * config.first_round)
        alive = (1 << count) - 1
        dealt = 0
        for low, high in rounds(config.worlds, opening, config.milliseconds, began):
            if high > dealt:
                dealt = high if config.milliseconds else config.worlds
                word = self.deal(n, scratch, word, low, dealt)
            alive = play_round(
                scratch.found, count, first, int(self.views["seat"][n]), player.settings, player.policies, scratch.caution,
                scratch.worlds, scratch.work, scratch.values, self.bank.values, self.bank.layout, self.table[n], alive, low, high,
            )  # fmt: skip
            if alive & (alive - 1) == 0:
                break
        return int(conclude(scratch.found, count, first, player.settings, scratch.values))

    def imagine(self, n: int, scratch: Scratch) -> np.uint64:
        """Draws hands of the opponent and weighs them; returns the state of the random stream."""
        player = self.player
        seed = np.uint64(player.seed % 2**64)
        word = draw_hands(
            self.views, n, player.settings, player.model, self.belief, seed, scratch.turns, scratch.hands,
            scratch.weights,
        )  # fmt: skip
        if self.opinion is not None and self.opinion.hands is not None:
            word = describe_hands(
                self.views,
                n,
                player.model,
                self.belief,
                scratch.turns,
                scratch.hands,
                scratch.features,
                np.uint64(word),
            )
            scratch.weights[:] = self.opinion.hands.plausible(n, scratch.hands, scratch.features)
        return np.uint64(word)

    def deal(self, n: int, scratch: Scratch, word: np.uint64, low: int, high: int) -> np.uint64:
        """Makes the worlds from ``low`` to ``high`` of a view from the hands drawn; returns the state of the random stream."""
        worlds, caution = scratch.worlds[low:high], scratch.caution[low:high]
        word = fill_worlds(self.views, n, self.camps[n], scratch.hands, scratch.weights, worlds, caution, word)
        return np.uint64(word)

    def _branch(self, n: int, count: int, scratch: Scratch, low: int, high: int) -> Branches:
        """The worlds from ``low`` to ``high`` after each candidate of a view."""
        view = self.views[n]
        total = high - low
        branches = Branches(
            np.zeros(count * total, STATE),
            np.zeros((count * total, 2), np.uint8),
            np.full(count * total, int(view["seat"]), np.int64),
            np.full(count * total, self.table[n], np.int64),
        )
        for i in range(count):
            action = int(scratch.found["action"][i])
            bound = view["declined"] > 0 or (view["legal"][1] != 0 and action < KNOCK)
            branch(scratch.worlds[low:high], action, int(bound), branches.states, branches.bounds, i * total)
        return branches

    def _decide_by_judge(self, judge: Judge, low: int, high: int, scratch: Scratch, actions: np.ndarray) -> None:
        """Decides views in groups, since a judge is quickest with many worlds at once."""
        group: list[tuple[int, np.ndarray, Branches]] = []
        waiting = 0
        for n in range(low, high):
            count, _ = propose(self.views, n, self.player.settings, self.wanted[n], self.logits, scratch.found)
            if count == 1:
                actions[n] = scratch.found["action"][0]
                continue
            total = len(scratch.worlds)
            self.deal(n, scratch, self.imagine(n, scratch), 0, total)
            branches = self._branch(n, count, scratch, 0, total)
            group.append((n, scratch.found[:count].copy(), branches))
            waiting += len(branches.states)
            if waiting >= _GROUP:
                self._judge_group(judge, group, actions)
                group, waiting = [], 0
        if group:
            self._judge_group(judge, group, actions)

    def _judge_group(self, judge: Judge, group: list[tuple[int, np.ndarray, Branches]], actions: np.ndarray) -> None:
        values = judge(Branches.joined([branches for _, _, branches in group]), self.bank)
        at = 0
        for n, found, branches in group:
            part = values[at : at + len(branches.states)]
            actions[n] = found["action"][self._settled(n, found, part)]
            at += len(branches.states)


# Sets the choice among candidates apart from the worlds, which follow from the same random word.
_CHOICE = 0x9E3779B97F4A7C15
# Worlds that are judged together.
_GROUP = 16384
# Share of gins among the hands that campers and knockers end; no camper is certain, so that one knock does not settle it.
_CAMPER_GIN, _KNOCKER_GIN = 0.9, 0.15


def make_search(seed: int = 0, **options: Any) -> SearchPlayer:
    """A search with changed settings: ``search:worlds=512,belief=uniform``."""
    return SearchPlayer(parse_config(options, SearchConfig, "search"), seed)
