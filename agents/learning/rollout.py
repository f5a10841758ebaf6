"""Thousands of games in lock-step: the part of training that no network takes part in.

All games make one half-move per tick. ``Rollout`` keeps the states and writes what a batch needs (observations, legal actions,
the hidden hand and the stock for the critic, rewards) into arrays ``[ticks, games]``; there is no Python per game.

A hand is one episode. Rewards are kept from seat 0's side, since the game is zero-sum: one sequence of half-moves serves both seats.
"""

from __future__ import annotations

import numpy as np

from agents.bots.hand_kernels import most_points, of_points
from agents.deals import Domain, deal_keys
from agents.equity import EquityBank, bank_chance, equity_bank
from agents.network.commitment import bind_to_gin
from agents.network.heuristic_features import NUM_ADVICE, Adviser
from agents.network.nets import NUM_FUTURE
from ginenv.actions import KNOCK, PASS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_OVER, PHASE_SPREAD, STOCK
from ginenv.encoding import OBSERVATION_SIZE, encode
from ginenv.engine import NOBODY, STATE, STOCK_LEFT, apply, next_word
from ginenv.game import next_hand, score_hand, start_game
from ginenv.jit import ctz, kernel, mix, popcount, record_copy
from ginenv.melds import deadwood, melded_cards, points_of
from ginenv.rules import R_HAND_SIZE, R_RANKS, R_SUITS, R_TARGET, get_rules
from ginenv.view import VIEW, look

# One point of a hand as a reward (a hand's result has a standard deviation of 25 to 30 points), and a whole game: a hand moves the
# chance to win it by some 0.2.
POINT = 1 / 50
GAME = 2.5
NO_EQUITY = EquityBank(np.zeros(1, np.float32), np.zeros((0, 3), np.int64))
LEARNER = -1
# Training deals live in a domain of their own (``agents.deals``); here the keys are made inside the kernel.
_TRAIN_BITS = np.uint64(int(Domain.TRAIN) << 60)
_CHOICE_SALT = np.uint64(0x0DD5_0F_0A_6A_3E)


@kernel
def _deadwood_of_best(cards, size):
    """Deadwood of about the best ``size`` of some cards: of a best arrangement of all, the highest loose ones go."""
    loose = cards & ~melded_cards(cards)
    spare = popcount(cards) - size
    left = points_of(loose)
    while spare > 0 and loose:
        points = most_points(loose)
        highest = loose & of_points(points)
        loose &= ~(highest & -highest)
        left -= points
        spare -= 1
    return left


@kernel
def _look_ahead(s, row):
    """Writes what the next cards of the stock will do to both hands, ``uint8[12]``.

    The deadwood after 0 to 5 more turns if neither side takes an upcard and each keeps the best of what it gets: first of the seat to
    move, then of the other.
    """
    seat = np.int64(s.turn)
    size = np.int64(s.rules[R_HAND_SIZE])
    drawn = 1 if s.phase == PHASE_DISCARD else 0
    last = np.int64(s.rules[R_RANKS]) * s.rules[R_SUITS] - STOCK_LEFT
    for side in range(2):
        cards = s.hands[seat if side == 0 else 1 - seat]
        position = np.int64(s.position) + ((1 - drawn) if side else drawn)
        for k in range(NUM_FUTURE // 2):
            row[side * (NUM_FUTURE // 2) + k] = min(np.int64(255), _deadwood_of_best(cards, size))
            if position < last:
                cards |= np.int64(1) << s.deck[position]
            position += 2


@kernel
def observe_states(states, views, gin_only, obs, legal, hidden, future, conditions, turns):
    """Writes what the seats to move see, and what their critic is told besides (see ``Rollout``)."""
    for i in range(states.shape[0]):
        s = states[i]
        v = views[i]
        seat = np.int64(s.turn)
        look(s, seat, v)
        encode(v, obs, i)
        if gin_only[i, seat] and v.legal[1]:
            v.legal[1] = bind_to_gin(v.hand, v.legal[0], v.legal[1])
        legal[i, 0] = v.legal[0]
        legal[i, 1] = v.legal[1]
        legal[i, 2] = v.legal[2]
        hidden[i] = s.hands[1 - seat]
        _look_ahead(s, future[i])
        conditions[i, 0] = gin_only[i, seat]
        conditions[i, 1] = gin_only[i, 1 - seat]
        turns[i] = seat


@kernel
def _pick(logits, i, first, rest, threshold, total, best):
    """Walks over the legal actions of one mask, adding up exp(logit - best); returns the running sum and the action found."""
    found = -1
    while rest:
        action = first + ctz(rest)
        rest &= rest - 1
        total += np.exp(logits[i, action] - best)
        if found < 0 and total > threshold:
            found = action
    return total, found


@kernel
def sample_actions(logits, legal, words, greedy, actions, logps):
    """Draws an action for every row from the softmax over its legal actions.

    Args:
        logits: ``float32[n, 107]``.
        legal: ``int64[n, 3]`` masks of cards for ids 0-51, of cards for 52-103, of bits for 104-106.
        words: ``uint64[n]`` one random word per row.
        greedy: take the most probable action instead.
        actions: ``int64[n]``, written.
        logps: ``float32[n]``, written: log-probability of the action.
    """
    for i in range(logits.shape[0]):
        best = np.float32(-1e30)
        best_action = 0
        for k in range(3):
            rest = legal[i, k]
            first = 0 if k == 0 else (KNOCK if k == 1 else STOCK)
            while rest:
                action = first + ctz(rest)
                rest &= rest - 1
                if logits[i, action] > best:
                    best = logits[i, action]
                    best_action = action
        total = np.float64(0.0)
        for k in range(3):
            first = 0 if k == 0 else (KNOCK if k == 1 else STOCK)
            total, _ = _pick(logits, i, first, legal[i, k], np.inf, total, best)
        action = best_action
        if not greedy:
            threshold = np.float64(words[i] >> np.uint64(11)) / 9007199254740992.0 * total
            running = np.float64(0.0)
            for k in range(3):
                first = 0 if k == 0 else (KNOCK if k == 1 else STOCK)
                running, found = _pick(logits, i, first, legal[i, k], threshold, running, best)
                if found >= 0:
                    action = found
                    break
        actions[i] = action
        logps[i] = logits[i, action] - best - np.log(total)


@kernel
def _begin_game(
    s, i, count, base, blocks, cumulative, presets, kinds_cumulative, kinds, seats, gin_only, gin_share, commits
):  # fmt: skip
    """A new game in slot ``i``: its deck key, rules and opponent follow from the slot and the number of games before it."""
    word = mix(base ^ mix(np.uint64(i) * np.uint64(1 << 32) + np.uint64(count)))
    key = _TRAIN_BITS | (word >> np.uint64(4))
    s.key = key
    s.luck[0] = mix(key ^ np.uint64(1))
    s.luck[1] = mix(key ^ np.uint64(2))
    word = mix(key ^ _CHOICE_SALT)
    chance = np.float64(word >> np.uint64(40)) / (1 << 24)
    chosen = 0
    while chosen < blocks.shape[0] - 1 and chance >= cumulative[chosen]:
        chosen += 1
    presets[i] = chosen
    for k in range(blocks.shape[1]):
        s.rules[k] = blocks[chosen, k]
    word = mix(word)
    chance = np.float64(word >> np.uint64(40)) / (1 << 24)
    kind = LEARNER
    for k in range(kinds_cumulative.shape[0]):
        if chance < kinds_cumulative[k]:
            kind = k
            break
    kinds[i] = kind
    seats[i] = np.int64(word & np.uint64(1))
    start_game(s)
    _begin_hand(s, i, word, kind, seats, gin_only, gin_share, commits)


@kernel
def _begin_hand(s, i, word, kind, seats, gin_only, gin_share, commits):
    """Draws for each seat that learns whether it plays this hand for gin only."""
    for seat in range(2):
        word = mix(word + np.uint64(s.hand_no) + np.uint64(7))
        chance = np.float64(word >> np.uint64(40)) / (1 << 24)
        learns = kind == LEARNER or seats[i] == seat
        gin_only[i, seat] = 1 if learns and chance < gin_share else 0
        commits[i, seat] = word & np.uint64(0xFFFF)


@kernel
def _resolve(s):
    """Plays the phases that are arithmetic and no policy's business (training rules have none, so this is a safeguard)."""
    while s.phase == PHASE_SPREAD or s.phase == PHASE_LAYOFF:
        apply(s, 0 if s.phase == PHASE_SPREAD else PASS)


@kernel
def _potential(s):
    """Deadwood of seat 1 less that of seat 0, both hands of ten or eleven cards, per 100 points."""
    return (deadwood(s.hands[1]) - deadwood(s.hands[0])) / 100.0


_copy_state = record_copy(STATE, "hands", STATE, "hands", "history")


@kernel
def _book_hand(s, preset, equity, layout):
    """Books a hand that is over and returns what it was worth to seat 0: its points, or the change in the chance to win the game."""
    if layout.shape[0] == 0 or s.rules[R_TARGET] == 0:
        # Where there is no game, points are all there is to win.
        score_hand(s)
        if s.winner == NOBODY:
            return 0.0
        return s.points * POINT if s.winner == 0 else -s.points * POINT
    before = bank_chance(equity, layout, preset, s.score[0], s.score[1], s.boxes[0], s.boxes[1])
    score_hand(s)
    if s.game_over:
        after = 1.0 if s.game_winner == 0 else (0.0 if s.game_winner == 1 else 0.5)
    else:
        after = bank_chance(equity, layout, preset, s.score[0], s.score[1], s.boxes[0], s.boxes[1])
    return GAME * (after - before)


@kernel
def _knock_worth(states, legal, learns, gin_only, presets, potentials, shaping, equity, layout, scratch, worth):
    """What knocking at once with the least deadwood is worth to a learner that may also wait (NaN elsewhere).

    Both hands are known to the state, so this arm of the decision needs no sampling; only training uses it.
    """
    s = scratch[0]
    for i in range(states.shape[0]):
        worth[i] = np.nan
        seat = np.int64(states[i].turn)
        if not learns[i] or gin_only[i, seat] or legal[i, 1] == 0 or legal[i, 0] == 0:
            continue
        cards = states[i].hands[seat]
        rest = legal[i, 1]
        best = 0
        least = np.int64(1000)
        while rest:
            bit = rest & -rest
            rest ^= bit
            left = deadwood(cards & ~bit)
            if left < least:
                least = left
                best = ctz(bit)
        _copy_state(s, states[i])
        apply(s, KNOCK + best)
        _resolve(s)
        reward = _book_hand(s, presets[i], equity, layout) - shaping * potentials[i]
        worth[i] = reward if seat == 0 else -reward


@kernel
def _advance(
    states, actions, counts, base, blocks, cumulative, presets, kinds_cumulative, kinds, seats,
    gin_only, gin_share, commit, commits, potentials, shaping, equity, layout, rewards, done, tally,
):  # fmt: skip
    for i in range(states.shape[0]):
        s = states[i]
        seat = np.int64(s.turn)
        declined = s.declined[seat]
        before = potentials[i]
        apply(s, actions[i])
        _resolve(s)
        if s.declined[seat] != declined and (kinds[i] == LEARNER or seats[i] == seat):
            if commits[i, seat] < commit * 65536:
                gin_only[i, seat] = 1
        reward = 0.0
        if s.phase == PHASE_OVER:
            done[i] = 1
            tally[0] += 1
            tally[1] += s.end == 1
            tally[2] += s.knocker != NOBODY
            tally[3] += s.num_history
            tally[4] += s.end == 3
            if s.knocker != NOBODY:
                tally[5] += s.deadwood[s.knocker]
            reward = _book_hand(s, presets[i], equity, layout)
            reward -= shaping * before
            if s.game_over:
                counts[i] += 1
                _begin_game(
                    s,
                    i,
                    counts[i],
                    base,
                    blocks,
                    cumulative,
                    presets,
                    kinds_cumulative,
                    kinds,
                    seats,
                    gin_only,
                    gin_share,
                    commits,
                )
            else:
                next_hand(s)
                word = mix(s.key ^ _CHOICE_SALT)
                _begin_hand(s, i, word, kinds[i], seats, gin_only, gin_share, commits)
            potentials[i] = _potential(s) if shaping > 0 else 0.0
        else:
            done[i] = 0
            if shaping > 0:
                potentials[i] = _potential(s)
                reward = shaping * (potentials[i] - before)
        rewards[i] = reward


@kernel
def generalised_advantages(rewards, done, turns, values, last_values, last_turns, lam, advantages, returns):
    """Advantages over all half-moves of a zero-sum sequence, each from the side of its mover.

    Args:
        rewards: ``float32[T, N]`` to seat 0.
        done: ``uint8[T, N]`` 1 where the hand ended with this half-move.
        turns: ``uint8[T, N]`` the mover.
        values: ``float32[T, N]`` of the state to its mover.
        last_values: ``float32[N]`` of the state after the last tick, to the seat to move then.
        last_turns: ``uint8[N]``.
        lam: decay.
        advantages: ``float32[T, N]``, written.
        returns: ``float32[T, N]``, written: the critic's targets, to the mover.
    """
    ticks, games = rewards.shape
    for i in range(games):
        following = last_values[i] if last_turns[i] == 0 else -last_values[i]
        running = 0.0
        for t in range(ticks - 1, -1, -1):
            sign = 1.0 if turns[t, i] == 0 else -1.0
            value = values[t, i] * sign
            if done[t, i]:
                running = rewards[t, i] - value
            else:
                running = rewards[t, i] + following - value + lam * running
            advantages[t, i] = running * sign
            returns[t, i] = (running + value) * sign
            following = value


@kernel
def next_actions(turns, done, actions, targets):
    """For every half-move the next action of the other seat within the hand and the batch, or -1."""
    ticks, games = turns.shape
    for i in range(games):
        next0 = -1
        next1 = -1
        for t in range(ticks - 1, -1, -1):
            if done[t, i]:
                next0 = -1
                next1 = -1
            targets[t, i] = next1 if turns[t, i] == 0 else next0
            if turns[t, i] == 0:
                next0 = actions[t, i]
            else:
                next1 = actions[t, i]


@kernel
def _fill_words(seed, words):
    for i in range(words.shape[0]):
        seed, words[i] = next_word(seed)
        words[i] = mix(words[i])
    return seed


@kernel
def _learner_rows(kinds, seats, turns, legal, learns):
    """1 where the learner chooses among more than one action."""
    for i in range(kinds.shape[0]):
        mine = kinds[i] == LEARNER or seats[i] == turns[i]
        choices = popcount(legal[i, 0]) + popcount(legal[i, 1]) + popcount(legal[i, 2])
        learns[i] = 1 if mine and choices > 1 else 0


def training_rules(names: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Rule blocks ``int16[R, 32]`` and cumulative shares of some presets.

    Spreads and lay-offs by hand are arithmetic, which players leave to the exact solver; in training the engine does it at once.
    """
    blocks = np.stack([get_rules(name).replace(spread="automatic", layoff=_automatic(name)).block for name in names])
    shares = np.array(list(names.values()), float)
    return blocks, np.cumsum(shares / shares.sum())


def _automatic(name: str) -> str:
    layoff = get_rules(name).layoff
    return "best" if layoff == "by-hand" else layoff


class Rollout:
    """States and batch arrays of ``games`` games over ``ticks`` half-moves.

    Args:
        games: games in lock-step.
        ticks: half-moves in a batch.
        rules: presets and shares.
        seed: of deals and choices.
        kind_shares: share of games in which one seat is the k-th fixed opponent.
        gin_only: share of hands that a learning seat plays for gin only.
        commit: chance that declining a knock commits the seat to gin.
        advice: whether the networks read advice.
        by_game: reward the change in the chance to win the game instead of points.
    """

    def __init__(
        self,
        games: int,
        ticks: int,
        rules: dict[str, float],
        seed: int,
        kind_shares: list[float],
        gin_only: float,
        commit: float,
        by_game: bool,
        advice: bool = False,
    ) -> None:
        self.games, self.ticks = games, ticks
        self.blocks, self.cumulative = training_rules(rules)
        self.base = deal_keys(Domain.TRAIN, seed, 0, 1)[0]
        self.word_seed = np.uint64(mix(self.base ^ np.uint64(3)))
        self.gin_share, self.commit = gin_only, commit
        self.equity = equity_bank([get_rules(name) for name in rules]) if by_game else NO_EQUITY
        self.presets = np.zeros(games, np.int64)
        self.kinds_cumulative = np.cumsum(np.array(kind_shares or [0.0], float))
        self.states = np.zeros(games, STATE)
        self.views = np.zeros(games, VIEW)
        self.counts = np.zeros(games, np.int64)
        self.kinds = np.full(games, LEARNER, np.int64)
        self.seats = np.zeros(games, np.int64)
        self.gin_only = np.zeros((games, 2), np.uint8)
        self.commits = np.zeros((games, 2), np.uint16)
        self.potentials = np.zeros(games, np.float64)
        self.tally = np.zeros(6, np.int64)
        shape = (ticks, games)
        self.obs = np.zeros((ticks + 1, games, OBSERVATION_SIZE), np.uint8)
        self.legal = np.zeros((ticks + 1, games, 3), np.int64)
        self.hidden = np.zeros((ticks + 1, games), np.int64)
        self.future = np.zeros((ticks + 1, games, NUM_FUTURE), np.uint8)
        self.conditions = np.zeros((ticks + 1, games, 2), np.uint8)
        self.turns = np.zeros((ticks + 1, games), np.uint8)
        self.adviser = Adviser() if advice else None
        self.advice = np.zeros((ticks + 1, games, NUM_ADVICE if advice else 0), np.uint8)
        self.learns = np.zeros(shape, np.uint8)
        self.actions = np.zeros(shape, np.int64)
        self.logps = np.zeros(shape, np.float32)
        self.rewards = np.zeros(shape, np.float32)
        self.done = np.zeros(shape, np.uint8)
        self.knock_worth = np.zeros(shape, np.float32)
        self.scratch = np.zeros(1, STATE)
        self.words = np.zeros(games, np.uint64)
        for i in range(games):
            _begin_game(
                self.states[i], i, 0, self.base, self.blocks, self.cumulative, self.presets, self.kinds_cumulative,
                self.kinds, self.seats, self.gin_only, self.gin_share, self.commits,
            )  # fmt: skip

    def observe(self, tick: int, shaping: float = 0.0) -> None:
        """Writes what the seats to move see into row ``tick`` of the arrays, and what their knocks would be worth."""
        observe_states(
            self.states, self.views, self.gin_only, self.obs[tick], self.legal[tick], self.hidden[tick],
            self.future[tick], self.conditions[tick], self.turns[tick],
        )  # fmt: skip
        if self.adviser is not None:
            self.adviser(self.views, self.advice[tick])
        if tick < self.ticks:
            _learner_rows(self.kinds, self.seats, self.turns[tick], self.legal[tick], self.learns[tick])
            _knock_worth(
                self.states, self.legal[tick], self.learns[tick], self.gin_only, self.presets, self.potentials, shaping,
                self.equity.values, self.equity.layout, self.scratch, self.knock_worth[tick],
            )  # fmt: skip

    def waiting_for(self, kind: int) -> np.ndarray:
        """Indices of the games in which the ``kind``-th fixed opponent is to move."""
        turns = self.views["seat"]
        return np.flatnonzero((self.kinds == kind) & (self.seats != turns))

    def sample(self, tick: int, logits: np.ndarray) -> None:
        """Draws the learner's actions from logits ``float32[games, 107]``."""
        self.word_seed = np.uint64(_fill_words(self.word_seed, self.words))
        sample_actions(logits, self.legal[tick], self.words, False, self.actions[tick], self.logps[tick])

    def advance(self, tick: int, shaping: float) -> None:
        """Plays the actions of a tick; rewards and ends of hands go into the arrays."""
        _advance(
            self.states, self.actions[tick], self.counts, self.base, self.blocks, self.cumulative,
            self.presets, self.kinds_cumulative, self.kinds, self.seats, self.gin_only, self.gin_share, self.commit,
            self.commits, self.potentials, shaping, self.equity.values, self.equity.layout, self.rewards[tick], self.done[tick], self.tally,
        )  # fmt: skip

    def state_dict(self) -> dict[str, np.ndarray | int]:
        """Everything that the next batch depends on, as plain arrays and numbers."""
        return {
            "states": self.states.view(np.uint8).reshape(self.games, -1).copy(),
            "counts": self.counts.copy(),
            "presets": self.presets.copy(),
            "kinds": self.kinds.copy(),
            "seats": self.seats.copy(),
            "gin_only": self.gin_only.copy(),
            "commits": self.commits.astype(np.int32),
            "potentials": self.potentials.copy(),
            "word_seed": int(self.word_seed),
        }

    def load_state_dict(self, saved: dict[str, np.ndarray | int]) -> None:
        """Continues from a saved ``state_dict``."""
        self.states[:] = np.ascontiguousarray(saved["states"]).reshape(-1).view(STATE)
        for name in ("counts", "presets", "kinds", "seats", "gin_only", "commits", "potentials"):
            getattr(self, name)[:] = saved[name]
        self.word_seed = np.uint64(int(saved["word_seed"]))
