"""Trains a network's hand model (``agents.search.belief``).

python -m benchmarks.data.hand_model_fit CHECKPOINT --rounds 24

Every round plays new hands on training deals: the network against itself (59 %) and against built-in bots. For each position the true
hand and 32 drawn ones are scored. The cross-entropy of the true hand among them is measured on separate hands.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro
from rich.console import Console
from torch import Tensor
from tyro.conf import Positional, arg

from agents.arena.lockstep import Lockstep, Observer, mirrored_jobs
from agents.deal_streams import DealStream, Domain
from agents.files import writing
from agents.network.checkpoint import read_metadata
from agents.network.nets import has_bfloat16_units
from agents.network.player import load_network
from agents.reports.terminal import plain_console
from agents.search.belief import HandModel, save_hand_model
from agents.search.hand_features import NUM_FEATURES, write_features
from agents.search.hand_prior import NetworkPrior, opponents_discards
from agents.search.worlds import draw_hands
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.jit import kernel
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, check_integer
from ginenv.tables.kernels import HAND
from ginenv.tables.players import Player, make_player
from ginenv.view.encoding import encode_views
from ginenv.view.turns import MAX_TURNS, TURN

DRAWN = 32
# Hands of a round against each opponent, and the share of positions used.
OPPONENTS = {"itself": 6000, "knocker": 1200, "camper": 1200, "formula": 900, "simple": 900}
SAMPLED_FRACTION = 0.5
BATCH = 512
_SEED_OF_TEST = 1 << 20


@kernel
def _draw(views, decisions, turns, stream, hands, features):
    """Draws hands to go with the true ones in ``hands[:, 0]``, and writes the features of all."""
    for i in range(views.shape[0]):
        v, d = views[i], decisions[i]
        stream = draw_hands(v, d.belief, hands[i, 1:], stream)
        stream = write_features(v, d.belief, turns, hands[i], features[i], stream)


@dataclass
class Samples:
    """Positions with the true hand and drawn ones, as ``HandModel`` reads them, the true hand first."""

    obs: Tensor
    belief: Tensor
    hands: Tensor
    features: Tensor
    discards: Tensor

    def scores(self, model: HandModel, rows: Tensor | slice) -> Tensor:
        """The model's scores of some positions, as float32."""
        with torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16_units()):
            found = model(self.obs[rows], self.belief[rows], self.hands[rows], self.features[rows], self.discards[rows])
        return found.float()


class _Log(Observer):
    """Keeps a share of side 0's views up to the discard, and the other side's true hand in each."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.seen, self.hidden = rng, list[np.ndarray](), list[np.ndarray]()

    def before_actions(self, play: Lockstep, side: int, rows: np.ndarray, views: np.ndarray) -> None:
        if side == 0:
            sampled = (self.rng.random(len(views)) < SAMPLED_FRACTION) & (views["phase"] <= PHASE_DISCARD)
            self.seen.append(views[sampled].copy())
            self.hidden.append(play.states["hands"][rows, 1 - views["seat"].astype(np.int64)][sampled])


def positions(player: Player, opponent: Player, hands: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Views of one side in new hands at random scores, and the other side's true hand in each."""
    log = _Log(np.random.default_rng(seed))
    jobs = mirrored_jobs(DealStream(Domain.TRAIN, seed), 0, (hands + 1) // 2)
    play = Lockstep((player, opponent), get_rules("eaai"), jobs, len(jobs), HAND, observers=[log])
    play.states["score"] = log.rng.integers(0, 100, (len(jobs), 2))
    play.run()
    return np.concatenate(log.seen), np.concatenate(log.hidden)


def sample(checkpoint: str, seed: int, share: float = 1.0) -> Samples:
    """Positions of one round of a checkpoint's network, or of a share of a round; ``seed`` is that of deals and players."""
    prior, player = NetworkPrior(checkpoint, hand_model=False), load_network(checkpoint, seed)
    parts = []
    for k, (name, count) in enumerate(OPPONENTS.items()):
        opponent = load_network(checkpoint, seed + 1) if name == "itself" else make_player(name, seed=seed)
        views, hidden = positions(player, opponent, max(2, int(count * share)), 16 * seed + k)
        decisions, _ = prior(views)
        hands = np.zeros((len(views), 1 + DRAWN), np.int64)
        hands[:, 0] = hidden
        features = np.zeros((*hands.shape, NUM_FEATURES), np.float32)
        _draw(views, decisions, np.zeros(MAX_TURNS, TURN), np.uint64(16 * seed + k), hands, features)
        parts.append((encode_views(views), decisions["belief"], hands, features, opponents_discards(views)))
    return Samples(*(torch.from_numpy(np.concatenate(columns)) for columns in zip(*parts, strict=True)))


@torch.no_grad()
def cross_entropy(model: HandModel, samples: Samples) -> float:
    """Cross-entropy of the true hand among those drawn; log(33) for a model that knows nothing."""
    total = 0.0
    for start in range(0, len(samples.obs), 2048):
        scores = samples.scores(model, slice(start, start + 2048))
        total += float((scores.logsumexp(1) - scores[:, 0]).sum())
    return total / len(samples.obs)


def fit(checkpoint: str, rounds: int, seed: int, console: Console) -> tuple[HandModel, list[float]]:
    """Trains a model; returns it and the cross-entropy before the first round, after every fourth, and after the last."""
    torch.manual_seed(seed)
    model = HandModel()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=1e-4)
    test = sample(checkpoint, _SEED_OF_TEST + seed, 0.25)
    curve = [cross_entropy(model, test)]
    began = time.perf_counter()
    for number in range(rounds):
        samples = sample(checkpoint, seed + 1 + number)
        order = torch.randperm(len(samples.obs))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            progress = (number + start / len(order)) / rounds
            for group in optimiser.param_groups:
                group["lr"] = 0.003 * min(1.0, 20 * progress + 0.1) * (1 - 0.97 * progress)
            scores = samples.scores(model, order[start : start + BATCH])
            loss = (scores.logsumexp(1) - scores[:, 0]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if number % 4 == 3 or number == rounds - 1:
            curve.append(cross_entropy(model, test))
            left = (time.perf_counter() - began) / (number + 1) * (rounds - number - 1) / 60
            entropy = f"cross-entropy {curve[-1]:.4f} (unweighted {curve[0]:.4f})"
            console.print(f"round {number + 1} of {rounds}: {entropy}, {left:.0f} min left")
    return model, curve


def main(checkpoint: Annotated[str, Positional, arg(metavar="CHECKPOINT")], rounds: int = 24, seed: int = 1) -> None:
    """Trains the model of whole hands with which the search samples worlds.

    Args:
        checkpoint: directory of a network; the model is written into it.
        rounds: number of rounds, each of which takes new samples and learns from it.
        seed: seed of hands and weights.

    Raises:
        GinError: if ``rounds`` is below 1, or the checkpoint cannot be used or written to.
    """
    check_integer("rounds", rounds, 1)
    metadata = read_metadata(checkpoint)
    model, curve = fit(checkpoint, rounds, seed, plain_console())
    about = {
        "command": f"python -m benchmarks.data.hand_model_fit CHECKPOINT --rounds {rounds} --seed {seed}",
        "cross_entropy": [round(value, 4) for value in curve],
        "drawn": DRAWN,
        "opponents": OPPONENTS,
    }
    with writing(checkpoint):
        save_hand_model(Path(checkpoint), model, metadata["weights_sha256"], about)


if __name__ == "__main__":
    try:
        tyro.cli(main)
    except GinError as error:
        sys.exit(str(error))
