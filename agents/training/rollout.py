"""Thousands of training games in lock-step, without any network.

All games make one half-move per tick. ``Rollout`` holds the games and writes observations, legal actions, the hidden hand and the stock
(for the critic) and rewards into a ``Batch`` of arrays ``[ticks + 1, games]``; there is no Python per game.

A hand is one episode. Rewards are seat 0's, since the game is zero-sum: one sequence of half-moves serves both seats.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from agents.config import TrainConfig
from agents.deal_streams import Domain, deal_keys
from agents.network.bounds import BOUNDS, blank_all
from agents.network.inputs import NUM_HEURISTIC_FEATURES, SEEN_FIELDS, HeuristicFeatures, observe_state
from agents.network.nets import GAME_REWARD, POINT_REWARD
from agents.network.sampling import list_actions, sample_action
from agents.win_probability import EquityBank, chance_to_win, equity_bank
from ginenv.bots.hand_kernels import least_deadwood
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PASS, PHASE_LAYOFF, PHASE_OVER, PHASE_SPREAD
from ginenv.engine.engine import NOBODY, STATE, End, apply, next_word
from ginenv.engine.game import next_hand, score_hand, start_game
from ginenv.engine.jit import ctz, kernel, mix, popcount, record_copy
from ginenv.engine.melds import deadwood
from ginenv.engine.rules import get_rules
from ginenv.view.encoding import OBSERVATION_SIZE
from ginenv.view.view import VIEW

NO_EQUITY = EquityBank(np.zeros(1, np.float32), np.zeros((0, 3), np.int64))
# The opponent of a game in which both seats learn.
LEARNER = -1
# Keys of the training domain (``agents.deal_streams``), made inside the kernel.
_TRAIN_BITS = np.uint64(int(Domain.TRAIN) << 60)
_CHOICE_SALT = np.uint64(0x0DD5_0F_0A_6A_3E)
_GIN, _UNDERCUT = int(End.GIN), int(End.UNDERCUT)

# A slot of the batch, beside its game's state.
SLOT = np.dtype(
    [
        ("count", np.int64),  # games before this one
        ("rules", np.int64),  # index of its rules
        ("opponent", np.int64),  # index of its opponent, or LEARNER
        ("seat", np.int64),  # the learner's, against an opponent
        ("potential", np.float64),  # deadwood potential
        ("gin_only", np.uint8, (2,)),  # which seats are committed to gin
        ("commits", np.uint16, (2,)),  # random words that decide whether declining a knock commits
    ],
    align=True,
)
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
        ("value", np.float32),  # to the mover, as the next two are
        ("advantage", np.float32),
        ("returns", np.float32),
        ("learns", np.uint8),  # 1 where the learner chose among more than one action
        ("done", np.uint8),  # 1 where the hand ended
    ],
    align=True,
)


class Batch(NamedTuple):
    """The half-moves of a batch and, in the last row, the states after them.

    Attributes:
        steps: ``STEP[ticks + 1, games]``.
        obs: ``uint8[ticks + 1, games, 520]``.
        context: ``float32[ticks + 1, games, C]``.
        features: ``uint8[ticks + 1, games, F]``, heuristic features.
    """

    steps: np.ndarray
    obs: np.ndarray
    context: np.ndarray
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
    gin_only: float  # share of hands that a learning seat plays for gin only
    commit: float  # chance that declining a knock commits the seat to gin


class ContextSource(Protocol):
    """A source of what the seats to move know besides their views: ``width`` numbers for each."""

    width: int

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        """Writes ``float32[games, width]`` after a tick was observed; 0 means that nothing is known."""


@kernel
def _chance(word):
    return np.float64(word >> np.uint64(40)) / (1 << 24)


@kernel
def _begin_game(s, slot, i, deals):
    """Begins a game in slot ``i``; its deck key, rules and opponent follow from the slot and the number of games before it."""
    word = mix(deals.base ^ mix(np.uint64(i) * np.uint64(1 << 32) + np.uint64(slot.count)))
    key = _TRAIN_BITS | (word >> np.uint64(4))
    s.key = key
    s.luck[0] = mix(key ^ np.uint64(1))
    s.luck[1] = mix(key ^ np.uint64(2))
    word = mix(key ^ _CHOICE_SALT)
    chance = _chance(word)
    chosen = 0
    while chosen < deals.blocks.shape[0] - 1 and chance >= deals.shares[chosen]:
        chosen += 1
    slot.rules = chosen
    s.rules = deals.blocks[chosen]
    word = mix(word)
    chance = _chance(word)
    slot.opponent = LEARNER
    for k in range(deals.opponents.shape[0]):
        if chance < deals.opponents[k]:
            slot.opponent = k
            break
    slot.seat = np.int64(word & np.uint64(1))
    start_game(s)
    _begin_hand(s, slot, word, deals)


@kernel
def _begin_games(states, slots, deals):
    for i in range(states.shape[0]):
        _begin_game(states[i], slots[i], i, deals)


@kernel
def _begin_hand(s, slot, word, deals):
    """Draws, for each seat that learns, whether it plays this hand for gin only."""
    for seat in range(2):
        word = mix(word + np.uint64(s.hand_no) + np.uint64(7))
        slot.gin_only[seat] = 1 if _learns(slot, seat) and _chance(word) < deals.gin_only else 0
        slot.commits[seat] = word & np.uint64(0xFFFF)


@kernel
def _learns(slot, seat):
    return slot.opponent == LEARNER or slot.seat == seat


@kernel
def _resolve(s):
    """Plays spreads and lay-offs by the engine's choice (training rules have none, so this is a safeguard)."""
    while s.phase == PHASE_SPREAD or s.phase == PHASE_LAYOFF:
        apply(s, 0 if s.phase == PHASE_SPREAD else PASS)


@kernel
def _potential(s):
    """Deadwood of seat 1 minus that of seat 0, divided by 100."""
    return (deadwood(s.hands[1]) - deadwood(s.hands[0])) / 100.0


_copy_state = record_copy(STATE, "hands", STATE, "hands", "history")


@kernel
def _book_hand(s, rules, equity):
    """Books a hand that is over and returns seat 0's reward: its points, or the change in the chance of winning the game."""
    if equity.layout.shape[0] == 0 or s.rules.target == 0:
        # Where there is no game, points are all there is to win.
        score_hand(s)
        if s.winner == NOBODY:
            return 0.0
        return s.points * POINT_REWARD if s.winner == 0 else -s.points * POINT_REWARD
    before = chance_to_win(equity, rules, s, 0)
    score_hand(s)
    return GAME_REWARD * (chance_to_win(equity, rules, s, 0) - before)


@kernel
def _knock_worth(state, slot, legal, shaping, equity, s):
    """What knocking at once with the least deadwood is worth to the mover (both hands are known); overwrites ``s``."""
    seat = np.int64(state.turn)
    _copy_state(s, state)
    apply(s, KNOCK + ctz(least_deadwood(state.hands[seat], legal[1])[0]))
    _resolve(s)
    reward = _book_hand(s, slot.rules, equity) - shaping * slot.potential
    return reward if seat == 0 else -reward


@kernel
def _observe(states, slots, views, batch, shaping, equity, scratch):
    """Writes what the seats to move see, where they learn, and what their knocks would be worth, for one tick."""
    for i in range(states.shape[0]):
        slot = slots[i]
        step = batch.steps[i]
        observe_state(states[i], slot.gin_only, views[i], batch.obs, i, step)
        legal = step.legal
        choices = popcount(legal[0]) + popcount(legal[1]) + popcount(legal[2])
        learns = _learns(slot, step.turn) and choices > 1
        step.learns = 1 if learns else 0
        step.knock_worth = np.nan
        if learns and not slot.gin_only[step.turn] and legal[0] and legal[1]:
            step.knock_worth = _knock_worth(states[i], slot, legal, shaping, equity, scratch[0])


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
def _count_hand(s, tally):
    tally[0] += 1
    tally[1] += s.end == _GIN
    tally[2] += s.knocker != NOBODY
    tally[3] += s.num_history
    tally[4] += s.end == _UNDERCUT
    if s.knocker != NOBODY:
        tally[5] += s.deadwood[s.knocker]


@kernel
def _advance(states, slots, steps, deals, shaping, equity, tally):
    """Plays an action in every game; where a hand is over, books it and deals the next one."""
    for i in range(states.shape[0]):
        s = states[i]
        slot = slots[i]
        seat = np.int64(s.turn)
        declined = s.declined[seat]
        before = slot.potential
        apply(s, steps[i].action)
        _resolve(s)
        if s.declined[seat] != declined and _learns(slot, seat) and slot.commits[seat] < deals.commit * 65536:
            slot.gin_only[seat] = 1
        reward = 0.0
        if s.phase == PHASE_OVER:
            steps[i].done = 1
            _count_hand(s, tally)
            reward = _book_hand(s, slot.rules, equity) - shaping * before
            if s.game_over:
                slot.count += 1
                _begin_game(s, slot, i, deals)
            else:
                next_hand(s)
                _begin_hand(s, slot, mix(s.key ^ _CHOICE_SALT), deals)
            slot.potential = _potential(s) if shaping > 0 else 0.0
        else:
            steps[i].done = 0
            if shaping > 0:
                slot.potential = _potential(s)
                reward = shaping * (slot.potential - before)
        steps[i].reward = reward


@kernel
def generalised_advantages(steps, decay):
    """Writes each mover's advantages and returns in ``STEP[T + 1, N]``, zero-sum sequences; ``decay`` is GAE's lambda."""
    ticks = steps.shape[0] - 1
    for i in range(steps.shape[1]):
        last = steps[ticks, i]
        following = np.float64(last.value if last.turn == 0 else -last.value)
        running = 0.0
        for t in range(ticks - 1, -1, -1):
            step = steps[t, i]
            sign = 1.0 if step.turn == 0 else -1.0
            value = step.value * sign
            if step.done:
                running = step.reward - value
            else:
                running = step.reward + following - value + decay * running
            step.advantage = running * sign
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


def make_batch(config: TrainConfig, context: int = 0) -> Batch:
    """An empty batch for a run whose networks read a context of ``context`` numbers."""
    shape = config.ticks + 1, config.games
    features = NUM_HEURISTIC_FEATURES if config.network.heuristic_features else 0
    return Batch(
        np.zeros(shape, STEP),
        np.zeros((*shape, OBSERVATION_SIZE), np.uint8),
        np.zeros((*shape, context), np.float32),
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


class Rollout:
    """Games in lock-step, and the batch that they write.

    Args:
        config: of the run.
        batch: written to; its second dimension is the number of games.
        number: of this rollout among those of all threads and processes; each plays its own deals.
        context: source of the context, if there is one.
        opponents: shares of the games in which one seat is the k-th fixed opponent.
    """

    def __init__(
        self,
        config: TrainConfig,
        batch: Batch,
        number: int = 0,
        context: ContextSource | None = None,
        opponents: list[float] | None = None,
    ) -> None:
        games, ticks = batch.steps.shape[1], config.ticks
        self.games, self.ticks, self.context = games, ticks, context
        base = deal_keys(Domain.TRAIN, config.seed * 1009 + number, 0, 1)[0]
        self.word_seed = np.uint64(mix(base ^ np.uint64(3)))
        self.deals = Deals(base, *training_rules(config.rules), np.zeros(1), config.gin_only, config.commit)
        self.set_opponents(opponents or [])
        self.equity = equity_bank([get_rules(name) for name in config.rules]) if config.reward == "game" else NO_EQUITY
        self.states = np.zeros(games, STATE)
        self.views = np.zeros(games, VIEW)
        self.slots = np.zeros(games, SLOT)
        self.scratch = np.zeros(1, STATE)
        self.tally = np.zeros(6, np.int64)
        self.bounds, self.features = _bounded(config, games) if config.bounds else (None, HeuristicFeatures())
        self.batch = batch
        self.steps = batch.steps[:-1]
        _begin_games(self.states, self.slots, self.deals)

    def set_opponents(self, shares: list[float]) -> None:
        """Sets, for games that begin from now on, the shares in which one seat is the k-th fixed opponent."""
        self.deals = self.deals._replace(opponents=np.cumsum(np.array(shares or [0.0], float)))

    def set_commitment(self, chance: float) -> None:
        """Sets the chance that declining a knock commits a seat to gin."""
        self.deals = self.deals._replace(commit=chance)

    def observe(self, tick: int, shaping: float = 0.0) -> None:
        """Writes what the seats to move see, and what their knocks would be worth, into row ``tick`` of the batch."""
        batch = Batch(*(array[tick] for array in self.batch))
        _observe(self.states, self.slots, self.views, batch, shaping, self.equity, self.scratch)
        if batch.features.size:
            self.features(self.views, batch.features)
        if self.bounds is not None:
            blank_all(self.views, self.bounds, batch.obs)
        if self.context is not None:
            self.context(self, tick, batch.context)

    def waiting_for(self, opponent: int) -> np.ndarray:
        """Indices of the games in which the ``opponent``-th fixed opponent is to move."""
        return np.flatnonzero((self.slots["opponent"] == opponent) & (self.slots["seat"] != self.views["seat"]))

    def choosing(self, tick: int) -> np.ndarray:
        """Indices of the games in which the learner chooses among more than one action, after the tick was observed."""
        return np.flatnonzero(self.steps["learns"][tick])

    def sample(self, tick: int, rows: np.ndarray, logits: np.ndarray) -> None:
        """Draws the learner's actions in games ``rows`` from logits ``float32[B, 107]``; in others the first legal one is taken."""
        self.word_seed = np.uint64(_sample(self.steps[tick], rows, logits, self.word_seed))

    def advance(self, tick: int, shaping: float = 0.0) -> None:
        """Plays the actions of a tick and writes rewards and ends of hands into the batch."""
        _advance(self.states, self.slots, self.steps[tick], self.deals, shaping, self.equity, self.tally)

    def state_dict(self) -> dict[str, Any]:
        """Everything that the next batch depends on, as tensors and numbers."""
        kept = {name: getattr(self, name).view(np.uint8).reshape(self.games, -1).copy() for name in ("states", "slots")}
        return {name: torch.from_numpy(value) for name, value in kept.items()} | {"word_seed": int(self.word_seed)}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continues from a saved ``state_dict``."""
        for name, dtype in (("states", STATE), ("slots", SLOT)):
            getattr(self, name)[:] = saved[name].numpy().reshape(-1).view(dtype)
        self.word_seed = np.uint64(int(saved["word_seed"]))


def _bounded(config: TrainConfig, games: int) -> tuple[np.ndarray, HeuristicFeatures]:
    """Every game's bounds, and heuristic features within them."""
    shares = np.array([each.share for each in config.bounds])
    kinds = np.random.default_rng(config.seed).choice(len(shares), games, p=shares / shares.sum())
    bounds = [(each.memory, each.notices) for each in config.bounds]
    return np.array(bounds, BOUNDS)[kinds], HeuristicFeatures(bounds, kinds)
