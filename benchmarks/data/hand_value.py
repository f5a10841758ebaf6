"""Trains the value of a hand by which luck is measured (``agents.arena.hand_value``), and writes its file.

python -m benchmarks.data.hand_value

Hands are played on deals kept for learning, under all presets, between networks and styles. A target is the value at the next decision, or
the mean over all cards that could have been drawn there, and so on to the end of the hand: expected TD(λ). So the luck of later draws adds
no noise to it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.arena.hand_facts import FACTS, PLANES, POINTS_SCALE, describe_states
from agents.arena.hand_value import DATA, OUTPUTS, OWN, WEIGHTS, HandValue
from agents.arena.lockstep import Lockstep, Observer, mirrored_jobs
from agents.config import load_config
from agents.deal_streams import DealStream, Domain
from agents.files import write_json
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.engine import NOBODY
from ginenv.engine.rules import get_rules
from ginenv.tables.kernels import HAND
from ginenv.tables.players import make_player

# Who plays, and how often.
PLAYERS = (
    ("network", "network", 0.35),
    ("network", "network:temperature=1", 0.15),
    ("network", "population", 0.2),
    ("population", "population", 0.15),
    ("network", "knocker", 0.05),
    ("network", "benchmarks/checkpoints/previous", 0.05),
    ("camper", "formula", 0.05),
)
# Matches in a round, hands in each, rounds that are learned from again, and rows of a gradient step.
MATCHES, HANDS, REPLAYED, BATCH = 4, 1024, 8, 1024
# Passes over a round's number of rows; decay of targets; learning rates; share of the old weights in the mean.
PASSES, DECAY, RATE, LAST_RATE, AVERAGE = 3.0, 0.9, 3e-3, 5e-5, 0.998
ROUNDS, SEED = 60, 20


class Net(nn.Module):
    """The network of ``agents.arena.hand_value`` with gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterDict()
        for name in WEIGHTS.names or ():
            size = WEIGHTS[name].shape
            # Some ten cards of a plane are there; the last layers begin at 0.
            spread = (
                0.1
                if name in ("own", "pooled")
                else 0.0
                if len(size) == 1 or name in ("last", "skip")
                else size[0] ** -0.5
            )
            self.weights[name] = nn.Parameter(spread * torch.randn(size))

    def forward(self, suits: Tensor, facts: Tensor) -> Tensor:
        """Values ``[B, 2]`` of cards by suit ``[B, 4, PLANES * 13]`` and facts ``[B, FACTS]``."""
        w: Any = self.weights
        first = suits.sum(1) @ w.pooled + facts @ w.facts + w.bias
        by_suit = (suits @ w.own + first[:, None, :OWN]).relu().sum(1)
        hidden = torch.cat([by_suit, first[:, OWN:].relu()], 1) @ w.second + w.second_bias
        return hidden.relu() @ w.last + facts @ w.skip + w.last_bias

    def record(self) -> np.void:
        """A copy of the weights, ``WEIGHTS``."""
        weights = np.zeros(1, WEIGHTS)[0]
        for name, each in self.weights.items():
            weights[name] = each.detach().numpy()
        return weights


_BITS = (13 * torch.arange(4)[:, None] + torch.arange(13))[:, None]


def by_suit(masks: Tensor) -> Tensor:
    """Masks ``int64[B, PLANES]`` as ``float32[B, 4, PLANES * 13]``."""
    return (masks[:, None, :, None] >> _BITS & 1).flatten(2).float()


class _Recorder(Observer):
    """Keeps what the network reads at every decision, its value, and the value that was expected before a draw."""

    def __init__(self, jobs: int, value: HandValue) -> None:
        self.value, self.outcome = value, np.zeros((jobs, OUTPUTS), np.float32)
        self.parts: list[tuple[np.ndarray, ...]] = []
        self._positions = np.zeros(0, np.int64)

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        self._positions = play.states["position"][rows]

    def after_actions(self, play: Lockstep, rows: np.ndarray) -> None:
        keep = play.states["phase"][rows] <= PHASE_DISCARD
        rows, drew = rows[keep], (play.states["position"][rows] > self._positions)[keep]
        if not len(rows):
            return
        states = play.states[rows]
        masks, facts = np.zeros((len(rows), PLANES), np.int64), np.zeros((len(rows), FACTS), np.float32)
        describe_states(states, masks, facts)
        values = np.zeros((len(rows), OUTPUTS))
        values[~drew] = self.value.states(states[~drew])
        expected = values.copy()
        values[drew], expected[drew] = self.value.draws(states[drew]).swapaxes(0, 1)
        scale = np.where(states["turn"] == 0, 1, -1)[:, None] / np.array([POINTS_SCALE, 1.0])
        scale = scale / np.stack([1 + states["doubled"], np.ones(len(rows))], 1)
        self.parts.append((play.jobs_at[rows], masks, facts, values * scale, expected * scale, states["turn"]))

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        states = play.states[rows]
        sign = np.where(states["winner"] == NOBODY, 0, 1 - 2 * states["winner"].astype(np.int64))
        points = sign * states["points"] / (1 + states["doubled"]) / POINTS_SCALE
        self.outcome[play.jobs_at[rows]] = np.stack([points, sign], 1)

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Masks, facts and targets."""
        jobs, masks, facts, values, expected, turn = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        order = np.argsort(jobs, kind="stable")
        jobs, values, expected = jobs[order], values[order], expected[order]
        targets = self.outcome[jobs]
        last = np.r_[jobs[1:] != jobs[:-1], True]
        after = np.flatnonzero(last)[np.cumsum(last) - last] - np.arange(len(jobs))
        for left in range(1, after.max() + 1):
            at = np.flatnonzero(after == left)
            targets[at] = expected[at + 1] + DECAY * (targets[at + 1] - values[at + 1])
        sign = np.where(turn[order] == 0, 1, -1)[:, None]
        return masks[order], facts[order], (sign * targets).astype(np.float32)


_player = cache(make_player)


def play_round(rng: np.random.Generator, rules: dict[str, float], value: HandValue) -> tuple[np.ndarray, ...]:
    """Plays a round; returns masks, facts and targets."""

    def play(preset: str, pair: int, seed: int) -> tuple[np.ndarray, ...]:
        a, b, _ = PLAYERS[pair]
        jobs = mirrored_jobs(DealStream(Domain.TRAIN, seed), 0, HANDS // 2)
        seen = _Recorder(len(jobs), value)
        Lockstep((_player(a), _player(b)), get_rules(preset), jobs, HANDS, HAND, observers=[seen]).run()
        return seen.rows()

    shares = np.array(list(rules.values()))
    presets = rng.choice(list(rules), MATCHES, p=shares / shares.sum())
    pairs = rng.choice(len(PLAYERS), MATCHES, p=[share for *_, share in PLAYERS])
    with ThreadPoolExecutor(MATCHES) as pool:
        parts = list(pool.map(play, presets.tolist(), pairs.tolist(), rng.integers(2**40, size=MATCHES).tolist()))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def write(weights: np.void, done: int, error: float) -> None:
    """Writes the file that ships, after ``done`` of the rounds."""
    # A row on a line, which is short and still readable.
    numbers = {
        name: [" ".join(f"{number:.5g}" for number in row) for row in np.atleast_2d(weights[name])]
        for name in WEIGHTS.names or ()
    }
    about = {
        "command": "python -m benchmarks.data.hand_value",
        "rounds": done,
        "hands": done * MATCHES * HANDS,
        "players": PLAYERS,
        "decay": DECAY,
        "seed": SEED,
    }
    write_json(DATA, {**about, "squared_error": round(error, 5), "weights": numbers})


def main() -> None:
    """Trains and writes."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    rules = load_config("configs/strong.yaml").rules
    net, mean = Net(), Net()
    mean.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    replayed: deque[tuple[np.ndarray, ...]] = deque(maxlen=REPLAYED)
    began, error = time.perf_counter(), 0.0
    for number in range(1, ROUNDS + 1):
        replayed.append(play_round(rng, rules, HandValue(mean.record(), "")))
        masks, facts, targets = (torch.from_numpy(np.concatenate(part)) for part in zip(*replayed, strict=True))
        optimizer.param_groups[0]["lr"] = RATE * (LAST_RATE / RATE) ** (number / ROUNDS)
        losses = []
        for _ in range(int(PASSES * len(replayed[-1][0]) / BATCH)):
            at = torch.from_numpy(rng.integers(len(masks), size=BATCH))
            loss = (net(by_suit(masks[at]), facts[at]) - targets[at]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            with torch.no_grad():
                for ours, theirs in zip(mean.parameters(), net.parameters(), strict=True):
                    ours.lerp_(theirs, 1 - min(AVERAGE, 1 - 1 / (10 + number)))
        error = float(np.mean(losses))
        left = (time.perf_counter() - began) / number * (ROUNDS - number) / 60
        print(f"round {number} of {ROUNDS}, squared error {error:.4f}, {left:.0f} minutes left", flush=True)
        if number % 10 == 0 or number == ROUNDS:
            write(mean.record(), number, error)


if __name__ == "__main__":
    main()
