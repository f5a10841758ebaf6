"""Thousands of training games in lock-step, without the network that learns.

All games make one half-move per step. ``Rollout`` holds the games and writes what networks read, legal actions and rewards into a
``Batch``; there is no Python per game. Bots, past policies and players to imitate act here.

A hand is one episode. Rewards are seat 0's, since the game is zero-sum: one sequence of half-moves serves both seats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from agents.config import TrainConfig
from agents.deal_streams import Domain, deal_keys
from agents.network.inputs import NUM_BOTS, NUM_FUTURE, PRESENT, HeuristicFeatures, observe_state
from agents.network.nets import GAME_REWARD, POINT_REWARD
from agents.training.batch import Batch
from agents.win_probability import EquityBank, chance_to_win, equity_bank, plays_for_points
from ginenv.bots.population import PopulationPlayer
from ginenv.engine.actions import KNOCK, NUM_ACTIONS
from ginenv.engine.engine import NOBODY, STATE, End, apply, is_gin, next_word
from ginenv.engine.game import score_hand
from ginenv.engine.jit import ctz, kernel, mix, popcount, record_copy
from ginenv.engine.melds import least_deadwood
from ginenv.engine.rules import get_rules
from ginenv.tables.kernels import CALLER, HAND_OVER, IDLE, TABLE, begin
from ginenv.tables.players import Player, ask_player, make_player
from ginenv.tables.tables import Tables
from ginenv.view.sampling import list_actions, sample_action
from ginenv.view.view import VIEW

# The players that are imitated: where the learner is free, and where it is committed to gin.
IMITATED = "knocker", "camper"
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
def observe_table(s, gin_only, table, pool, v, inputs):
    """``observe_state``, and which of the first ``pool`` players sits in the mover's seat, and which in the other, for the critic."""
    observe_state(s, gin_only, v, inputs)
    for side in range(2):
        player = table.player[v.seat if side == 0 else 1 - v.seat]
        for k in range(NUM_BOTS):
            inputs.secrets[NUM_FUTURE + side * NUM_BOTS + k] = PRESENT if k == player and k < pool else 0


@kernel
def _observe(states, tables, games, views, steps, inputs, pool, equity, scratch):
    """Writes what the seats to move see, where they learn, and what their knocks would be worth, for one step."""
    for i in range(states.shape[0]):
        game, v, step = games[i], views[i], steps[i]
        observe_table(states[i], game.gin_only, tables[i], pool, v, inputs[i])
        step.turn = v.seat
        for k in range(3):
            step.legal[k] = v.legal[k]
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
        thread: number of the thread that plays it.
    """

    def __init__(self, config: TrainConfig, batch: Batch, number: int = 0, thread: int = 0) -> None:
        games = batch.steps.shape[1]
        super().__init__(games)
        self.config, self.batch, self.steps = config, batch, batch.steps[:-1]
        base = deal_keys(Domain.TRAIN, config.seed * 1009 + number, 0, 1)[0]
        self.word_seed = np.uint64(mix(base ^ np.uint64(3)))
        nobody = np.zeros(0), np.zeros(0, np.uint8)
        self.deals = Deals(base, *training_rules(config.rules), *nobody, 0, games, config.gin_only, config.commit[0])
        seed = config.seed + 100 * thread
        self.imitated = [make_player(name, seed) for name in IMITATED]
        self.pool = [make_player(member.player, seed + k) for k, member in enumerate(config.pool)]
        self.set_past_policies([], [])
        self.equity = equity_bank([get_rules(name) for name in config.rules]) if config.reward == "game" else NO_EQUITY
        self.views = np.zeros(games, VIEW)
        self.games = np.zeros(games, GAME_RECORD)
        self.games["count"] = -1
        self.scratch = np.zeros(1, STATE)
        self.tally = np.zeros(6, np.int64)
        self.features = HeuristicFeatures()
        self._all = np.arange(games)
        _deal(self.states, self.tables, self.games, self._all, self.deals)

    def set_past_policies(self, players: Sequence[Player], in_use: Sequence[bool]) -> None:
        """Sets the past policies that sit, beside the pool's members, in one seat of some of the games.

        Games that begin from now on are against those in use; games against another go on.
        """
        config = self.config
        weights = np.array([member.weight for member in config.pool], float)
        shares = [*(config.pool_share * weights / weights.sum())] if len(weights) else []
        shares += [config.past_policy_share * one / max(1, sum(in_use)) for one in in_use]
        self.set_players([*self.pool, *players])
        by_game = np.array([isinstance(player, PopulationPlayer) for player in self.players], np.uint8)
        pool = min(len(self.pool), NUM_BOTS)
        self.deals = self.deals._replace(opponents=np.cumsum(np.array(shares, float)), by_game=by_game, pool=pool)

    def set_commitment(self, chance: float) -> None:
        """Sets the chance that declining a knock commits a seat to gin."""
        self.deals = self.deals._replace(commit=chance)

    def observe(self, step: int) -> np.ndarray:
        """Writes what the seats to move see, and what their knocks would be worth, into row ``step`` of the batch.

        Returns:
            The games in which the learner chooses among more than one action.
        """
        steps, inputs = self.batch.steps[step], self.batch.inputs[step]
        tables = self.states, self.tables, self.games, self.views
        _observe(*tables, steps, inputs, self.deals.pool, self.equity, self.scratch)
        self.features.write(self.views, inputs)
        return np.flatnonzero(steps["learns"])

    def sample(self, step: int, rows: np.ndarray, logits: np.ndarray) -> None:
        """Draws the learner's actions in games ``rows`` from logits ``float32[B, 107]``; in others the first legal one is taken."""
        self.word_seed = np.uint64(_sample(self.steps[step], rows, logits, self.word_seed))

    def ask_opponents(self, step: int) -> None:
        """Writes the actions of the players that do not learn where they are to move."""
        for number, views, rows, ids in self.waiting():
            self.steps["action"][step, rows] = ask_player(self.players[number], views, ids)

    def imitate(self, step: int) -> None:
        """Writes the imitated players' actions in place of the learner's."""
        steps, gin_only = self.steps[step], self.batch.inputs["gin_only"][step]
        for bound, player in enumerate(self.imitated):
            rows = np.flatnonzero((steps["learns"] == 1) & (gin_only == bound))
            if rows.size:
                steps["action"][rows] = player.act(self.views[rows], rows)

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
