"""Thousands of training games in lock-step, without any network.

All games make one half-move per step. ``Rollout`` holds the games and writes observations, legal actions, the hidden hand and the stock
(for the critic) and rewards into a ``Batch`` of arrays ``[num_steps + 1, num_envs]``; there is no Python per game.

A hand is one episode. Rewards are seat 0's, since the game is zero-sum: one sequence of half-moves serves both seats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from agents.config import TrainConfig
from agents.deal_streams import Domain, deal_keys
from agents.network.bounds import BOUNDS, blank_all
from agents.network.features import NUM_HEURISTIC_FEATURES, HeuristicFeatures
from agents.network.inputs import SEEN_FIELDS, observe_state
from agents.network.nets import GAME_REWARD, NUM_BOTS, NUM_FUTURE, POINT_REWARD, PRESENT
from agents.win_probability import EquityBank, chance_to_win, equity_bank, plays_for_points
from ginenv.bots.hand_kernels import least_deadwood
from ginenv.bots.population import PopulationPlayer
from ginenv.engine.actions import KNOCK, NUM_ACTIONS
from ginenv.engine.engine import NOBODY, STATE, End, apply, is_gin, next_word
from ginenv.engine.game import score_hand
from ginenv.engine.jit import ctz, kernel, mix, popcount, record_copy
from ginenv.engine.rules import get_rules
from ginenv.tables.kernels import CALLER, HAND_OVER, IDLE, TABLE, begin
from ginenv.tables.players import Player
from ginenv.tables.tables import Tables
from ginenv.view.encoding import OBSERVATION_SIZE
from ginenv.view.sampling import list_actions, sample_action
from ginenv.view.view import VIEW

NO_EQUITY = EquityBank(np.zeros(1, np.float32), np.zeros((0, 3), np.int64))
# Keys of the training domain (``agents.deal_streams``), made inside the kernel.
_TRAIN_BITS = np.uint64(int(Domain.TRAIN) << 60)
_CHOICE_SALT = np.uint64(0x0DD5_0F_0A_6A_3E)
_UNDERCUT = int(End.UNDERCUT)

# What training keeps about a table, beside its ``TABLE``.
GAME_RECORD = np.dtype(
    [
        ("count", np.int64),  # games before this one
        ("rules", np.int64),  # index of its rules
        ("declined", np.uint8, (2,)),  # turns of the hand in which each seat has declined to knock
        ("gin_only", np.uint8, (2,)),  # which seats are committed to gin
        ("commits", np.uint16, (2,)),  # random words that decide whether declining a knock commits
    ],
    align=True,
)
# The arrays of a rollout from which it resumes.
_SAVED = {"states": STATE, "tables": TABLE, "games": GAME_RECORD}
# A half-move: observation, action, outcome and training targets (``agents.training.ppo``).
STEP = np.dtype(
    [
        *SEEN_FIELDS,
        ("action", np.int64),
        ("next_action", np.int64),  # of the other seat within the hand and the batch, or -1
        ("logp", np.float32),
        ("reward", np.float32),  # to seat 0
        ("knock_worth", np.float32),  # of knocking at once, where the learner may also wait; NaN elsewhere
        ("waiting", np.float32),  # how much better that is than playing on; NaN elsewhere
        ("value", np.float32),  # to the mover, as the next four are
        ("advantage", np.float32),
        ("returns", np.float32),
        ("choice", np.float32),  # the action's advantage by ``action_values``; NaN where no other was valued
        ("sampled", np.float32),  # the part of the outcome that is due to the draw of this action
        ("learns", np.uint8),  # 1 where the learner chose among more than one action
        ("done", np.uint8),  # 1 where the hand ended
    ],
    align=True,
)


class Batch(NamedTuple):
    """The half-moves of a batch and, in the last row, the states after them.

    Attributes:
        steps: ``STEP[num_steps + 1, num_envs]``.
        obs: ``uint8[num_steps + 1, num_envs, 520]``.
        features: ``uint8[num_steps + 1, num_envs, F]``, heuristic features.
    """

    steps: np.ndarray
    obs: np.ndarray
    features: np.ndarray

    def flat(self) -> Batch:
        """Views of the same arrays with one row per half-move."""
        rows = self.steps.size
        return Batch(*(array.reshape(rows, *array.shape[2:]) for array in self))


class Deals(NamedTuple):
    """What determines new games and hands."""

    base: np.uint64  # from which all keys follow
    blocks: np.ndarray  # RULES[R]
    shares: np.ndarray  # float64[R], cumulative shares of the rules
    opponents: np.ndarray  # float64[K], cumulative shares of the games against each opponent
    by_game: np.ndarray  # uint8[K], 1 for an opponent that tells games, not tables, apart
    pool: int  # number of those that are bots; past policies follow
    tables: int  # number of tables
    gin_only: float  # share of hands that a learning seat plays for gin only
    commit: float  # chance that declining a knock commits the seat to gin


@kernel
def _chance(word):
    return np.float64(word >> np.uint64(40)) / (1 << 24)


@kernel
def _new_game(s, t, game, i, deals):
    """Begins table ``i``'s next game; its deck key, rules and opponent follow from the table and the number of games before it."""
    game.count += 1
    word = mix(deals.base ^ mix(np.uint64(i) * np.uint64(1 << 32) + np.uint64(game.count)))
    t.key = _TRAIN_BITS | (word >> np.uint64(4))
    t.luck[0] = mix(t.key ^ np.uint64(1))
    t.luck[1] = mix(t.key ^ np.uint64(2))
    t.episode = 0
    word = mix(t.key ^ _CHOICE_SALT)
    chance = _chance(word)
    chosen = 0
    while chosen < deals.blocks.shape[0] - 1 and chance >= deals.shares[chosen]:
        chosen += 1
    game.rules = chosen
    s.rules = deals.blocks[chosen]
    word = mix(word)
    chance = _chance(word)
    t.player[0] = CALLER
    t.player[1] = CALLER
    for k in range(deals.opponents.shape[0]):
        if chance < deals.opponents[k]:
            seat = 1 - np.int64(word & np.uint64(1))
            t.player[seat] = k
            t.ids[seat] = i + game.count * deals.tables if deals.by_game[k] else i
            break
    begin(s, t)
    t.waits_for = t.player[s.turn]
    return word


@kernel
def _deal(states, tables, games, rows, deals):
    """After hands: begins new games where one is over, and draws, for each seat that learns, whether it plays the hand for gin only."""
    for i in rows:
        s, t, game = states[i], tables[i], games[i]
        word = mix(s.key ^ _CHOICE_SALT)
        if t.waits_for == IDLE:
            word = _new_game(s, t, game, i, deals)
        for seat in range(2):
            word = mix(word + np.uint64(s.hand_no) + np.uint64(7))
            game.gin_only[seat] = 1 if t.player[seat] == CALLER and _chance(word) < deals.gin_only else 0
            game.commits[seat] = word & np.uint64(0xFFFF)
            game.declined[seat] = 0


copy_state = record_copy(STATE, "hands", STATE, "hands", "history")


@kernel
def hand_reward(s, rules, equity):
    """Seat 0's reward for a hand that is over, which is scored: its points, or the change in the chance of winning the game."""
    if equity.layout.shape[0] == 0 or plays_for_points(s):
        if s.winner == NOBODY:
            return 0.0
        return s.points * POINT_REWARD if s.winner == 0 else -s.points * POINT_REWARD
    before = chance_to_win(equity, rules, s, 0)
    score_hand(s)
    return GAME_REWARD * (chance_to_win(equity, rules, s, 0) - before)


@kernel
def _knock_worth(state, game, legal, equity, s):
    """What knocking at once with the least deadwood is worth to the mover (both hands are known); overwrites ``s``."""
    seat = np.int64(state.turn)
    copy_state(s, state)
    apply(s, KNOCK + ctz(least_deadwood(state.hands[seat], legal[1])[0]))
    reward = hand_reward(s, game.rules, equity)
    return reward if seat == 0 else -reward


@kernel
def write_players(step, table, pool):
    """Writes which of the first ``pool`` players sits in the mover's seat, and which in the other, for the critic."""
    for side in range(2):
        player = table.player[step.turn if side == 0 else 1 - step.turn]
        for k in range(NUM_BOTS):
            step.secrets[NUM_FUTURE + side * NUM_BOTS + k] = PRESENT if k == player and k < pool else 0


@kernel
def _observe(states, tables, games, views, batch, pool, equity, scratch):
    """Writes what the seats to move see, where they learn, and what their knocks would be worth, for one step."""
    for i in range(states.shape[0]):
        game = games[i]
        step = batch.steps[i]
        observe_state(states[i], game.gin_only, views[i], batch.obs, i, step)
        write_players(step, tables[i], pool)
        legal = step.legal
        choices = popcount(legal[0]) + popcount(legal[1]) + popcount(legal[2])
        learns = tables[i].waits_for == CALLER and choices > 1
        step.learns = 1 if learns else 0
        step.knock_worth = np.nan
        if learns and not game.gin_only[step.turn] and legal[0] and legal[1]:
            step.knock_worth = _knock_worth(states[i], game, legal, equity, scratch[0])


@kernel
def _sample(steps, rows, logits, seed):
    """Draws an action for some rows, takes the first legal one in all others, and returns the seed of the next draws."""
    found = np.empty(NUM_ACTIONS, np.int64)
    for i in range(steps.shape[0]):
        list_actions(steps[i].legal, found)
        steps[i].action, steps[i].logp = found[0], 0.0
    for k in range(rows.shape[0]):
        seed, word = next_word(seed)
        step = steps[rows[k]]
        step.action, step.logp = sample_action(logits[k], step.legal, mix(word), False)
    return seed


@kernel
def declines(s, t, game, seat, deals):
    """Whether a seat has just declined to knock (``s`` is the state after its action) and is therefore committed to gin."""
    if s.declined[seat] == game.declined[seat] or t.player[seat] != CALLER:
        return False
    return game.commits[seat] < deals.commit * 65536


@kernel
def _count(s, tally):
    tally[0] += 1
    tally[1] += is_gin(s.end)
    tally[2] += s.knocker != NOBODY
    tally[3] += s.num_history
    tally[4] += s.end == _UNDERCUT
    if s.knocker != NOBODY:
        tally[5] += s.deadwood[s.knocker]


@kernel
def _reward(states, tables, games, steps, deals, equity, tally, scratch):
    """Writes, after an action at every table, its reward and whether it ended the hand; commits seats that have declined to knock."""
    for i in range(states.shape[0]):
        s, game, step = states[i], games[i], steps[i]
        seat = np.int64(step.turn)
        if declines(s, tables[i], game, seat, deals):
            game.gin_only[seat] = 1
        game.declined[seat] = s.declined[seat]
        step.reward = 0.0
        if tables[i].waits_for == HAND_OVER:
            step.done = 1
            _count(s, tally)
            copy_state(scratch[0], s)
            step.reward = hand_reward(scratch[0], game.rules, equity)
        else:
            step.done = 0


@kernel
def generalised_advantages(steps, decay):
    """Writes each mover's advantages and returns in ``STEP[T + 1, N]``, zero-sum sequences; ``decay`` is GAE's lambda.

    What the draw of an action brought (``sampled``) is taken out of what its state and all earlier half-moves are told.
    """
    num_steps = steps.shape[0] - 1
    for i in range(steps.shape[1]):
        last = steps[num_steps, i]
        following = np.float64(last.value if last.turn == 0 else -last.value)
        running = 0.0
        for t in range(num_steps - 1, -1, -1):
            step = steps[t, i]
            sign = 1.0 if step.turn == 0 else -1.0
            value = step.value * sign
            if step.done:
                running = step.reward - value
            else:
                running = step.reward + following - value + decay * running
            step.advantage = running * sign
            running -= step.sampled * sign
            step.returns = (running + value) * sign
            following = value


@kernel
def write_next_actions(steps):
    """Writes, for every half-move of ``STEP[T, N]``, the other seat's next action within the hand and the batch, or -1."""
    for i in range(steps.shape[1]):
        next0 = -1
        next1 = -1
        for t in range(steps.shape[0] - 1, -1, -1):
            step = steps[t, i]
            if step.done:
                next0 = -1
                next1 = -1
            if step.turn == 0:
                step.next_action = next1
                next0 = step.action
            else:
                step.next_action = next0
                next1 = step.action


def finished(done: np.ndarray) -> np.ndarray:
    """Which half-moves ``bool[T, N]`` belong to hands that ended within the batch, from ``done[T, N]``."""
    return np.logical_or.accumulate(done[::-1] == 1)[::-1]


def make_batch(config: TrainConfig) -> Batch:
    """An empty batch."""
    shape = config.num_steps + 1, config.num_envs
    features = NUM_HEURISTIC_FEATURES if config.network.heuristic_features else 0
    return Batch(
        np.zeros(shape, STEP),
        np.zeros((*shape, OBSERVATION_SIZE), np.uint8),
        np.zeros((*shape, features), np.uint8),
    )


def training_rules(names: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Rule blocks ``RULES[R]`` and cumulative shares of some presets, with spreads and lay-offs left to the engine."""
    blocks = []
    for rules in map(get_rules, names):
        layoff = "best" if rules.layoff == "by-hand" else rules.layoff
        blocks.append(rules.replace(spread="automatic", layoff=layoff).block)
    shares = np.array(list(names.values()), float)
    return np.stack(blocks), np.cumsum(shares / shares.sum())


class Rollout(Tables):
    """Games in lock-step, and the batch that they write.

    Args:
        config: of the run.
        batch: written to; its second dimension is the number of games.
        number: of this rollout among those of all threads and processes; each plays its own deals.
        opponents: the players that do not learn, and the shares of the games in which one seat is each of them.
    """

    def __init__(
        self,
        config: TrainConfig,
        batch: Batch,
        number: int = 0,
        opponents: tuple[Sequence[Player], Sequence[float]] = ((), ()),
    ) -> None:
        games = batch.steps.shape[1]
        super().__init__(games)
        self.num_steps = config.num_steps
        base = deal_keys(Domain.TRAIN, config.seed * 1009 + number, 0, 1)[0]
        self.word_seed = np.uint64(mix(base ^ np.uint64(3)))
        nobody = np.zeros(0), np.zeros(0, np.uint8)
        self.deals = Deals(base, *training_rules(config.rules), *nobody, 0, games, config.gin_only, config.commit)
        self._pool = len(config.pool)
        self.set_opponents(*opponents)
        self.equity = equity_bank([get_rules(name) for name in config.rules]) if config.reward == "game" else NO_EQUITY
        self.views = np.zeros(games, VIEW)
        self.games = np.zeros(games, GAME_RECORD)
        self.games["count"] = -1
        self.scratch = np.zeros(1, STATE)
        self.tally = np.zeros(6, np.int64)
        self.bounds, self.features = _bounded(config, games) if config.bounds else (None, HeuristicFeatures())
        self.batch = batch
        self.steps = batch.steps[:-1]
        self._all = np.arange(games)
        _deal(self.states, self.tables, self.games, self._all, self.deals)

    def set_opponents(self, players: Sequence[Player], shares: Sequence[float]) -> None:
        """Sets the players that do not learn and, for games that begin from now on, the shares in which one seat is each of them."""
        self.set_players(players)
        by_game = np.array([isinstance(player, PopulationPlayer) for player in players], np.uint8)
        opponents = np.cumsum(np.array(shares, float))
        self.deals = self.deals._replace(opponents=opponents, by_game=by_game, pool=min(self._pool, NUM_BOTS))

    def set_commitment(self, chance: float) -> None:
        """Sets the chance that declining a knock commits a seat to gin."""
        self.deals = self.deals._replace(commit=chance)

    def observe(self, step: int) -> None:
        """Writes what the seats to move see, and what their knocks would be worth, into row ``step`` of the batch."""
        batch = Batch(*(array[step] for array in self.batch))
        _observe(self.states, self.tables, self.games, self.views, batch, self.deals.pool, self.equity, self.scratch)
        if batch.features.size:
            self.features(self.views, batch.features)
        if self.bounds is not None:
            blank_all(self.views, self.bounds, batch.obs)

    def choosing(self, step: int) -> np.ndarray:
        """Indices of the games in which the learner chooses among more than one action, after the step was observed."""
        return np.flatnonzero(self.steps["learns"][step])

    def sample(self, step: int, rows: np.ndarray, logits: np.ndarray) -> None:
        """Draws the learner's actions in games ``rows`` from logits ``float32[B, 107]``; in others the first legal one is taken."""
        self.word_seed = np.uint64(_sample(self.steps[step], rows, logits, self.word_seed))

    def advance(self, step: int) -> None:
        """Plays the actions of a step, writes rewards and ends of hands into the batch, and deals again."""
        steps, tables = self.steps[step], (self.states, self.tables, self.games)
        self.play(self.views, self._all, steps["action"].copy())
        _reward(*tables, steps, self.deals, self.equity, self.tally, self.scratch)
        ended = self.ended()
        if len(ended):
            self.close(ended)
            _deal(*tables, ended, self.deals)

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next batch depends on, as tensors and numbers."""
        arrays = {name: getattr(self, name).view(np.uint8).reshape(self.num_tables, -1).copy() for name in _SAVED}
        return {name: torch.from_numpy(value) for name, value in arrays.items()} | {"word_seed": int(self.word_seed)}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continues from a saved ``state_dict``."""
        for name, dtype in _SAVED.items():
            getattr(self, name)[:] = saved[name].numpy().reshape(-1).view(dtype)
        self.word_seed = np.uint64(int(saved["word_seed"]))


def _bounded(config: TrainConfig, games: int) -> tuple[np.ndarray, HeuristicFeatures]:
    """Every game's bounds, and heuristic features within them."""
    shares = np.array([each.share for each in config.bounds])
    kinds = np.random.default_rng(config.seed).choice(len(shares), games, p=shares / shares.sum())
    bounds = [(each.remembered_discards, each.noticed_actions) for each in config.bounds]
    return np.array(bounds, BOUNDS)[kinds], HeuristicFeatures(bounds, kinds)
