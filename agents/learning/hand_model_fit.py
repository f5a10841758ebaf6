"""Trains the model of whole hands that stands beside a network (``agents.search.hand_model``).

python -m agents.learning.hand_model_fit CHECKPOINT --rounds 24

Every round plays fresh hands, so that no hand is seen twice: the network against itself (60 %) and against built-in bots, on deals for
training. From each position the true hand and 32 drawn ones are scored. What is reported is the surprise at the true hand among them, on
hands that are played for this alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from agents.arena.deals import Domain
from agents.arena.hand_log import Decisions, watch_hands
from agents.files import writing
from agents.network.checkpoint import read_metadata
from agents.network.nets import has_bfloat16_units
from agents.network.player import load_network
from agents.search.config import SearchConfig
from agents.search.hand_features import NUM_FEATURES, hand_features, turns_of
from agents.search.hand_model import HandModel, save_hand_model
from agents.search.network import NetworkPrior
from agents.search.worlds import MAX_TURNS, TURN, believe_logits, read_turns, weigh
from ginenv.actions import PHASE_DISCARD
from ginenv.encoding import OBSERVATION_SIZE, encode
from ginenv.errors import GinError
from ginenv.jit import kernel
from ginenv.players import Player, make_player
from ginenv.rules import get_rules

DRAWN = 32
# Hands of a round against each opponent, and the share of positions that are kept.
OPPONENTS = {"itself": 6000, "knocker": 1200, "camper": 1200, "formula": 900, "simple": 900}
KEPT = 0.5
BATCH = 512
_SEED_OF_TEST = 1 << 20


@kernel
def _draw(views, logits, model, turns, seed, weights, drawn, obs, hands, features, lines):
    """The true hands stand in ``hands[:, 0]`` already; draws the others, and writes the numbers about all."""
    for i in range(views.shape[0]):
        v = views[i]
        encode(v, obs, i)
        lines[i] = turns_of(v)
        seed = believe_logits(v, logits, i, drawn, weights, seed)
        count = read_turns(v, turns)
        for k in range(hands.shape[1]):
            if k > 0:
                hands[i, k] = drawn[k - 1]
            fit, seed = weigh(hands[i, k], v, turns, count, model[0], seed)
            hand_features(hands[i, k], v, logits, i, fit, features[i, k])


@dataclass
class Hands:
    """Positions with the true hand and drawn ones, as ``HandModel`` reads them; the true hand is the first."""

    obs: Tensor
    belief: Tensor
    hands: Tensor
    features: Tensor
    turns: Tensor

    def scores(self, model: HandModel, rows: Tensor | slice) -> Tensor:
        """The model's scores of some positions, as float32."""
        with torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16_units()):
            found = model(self.obs[rows], self.belief[rows], self.hands[rows], self.features[rows], self.turns[rows])
        return found.float()


def positions(player: Player, opponent: Player, hands: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Views of one side in fresh hands at all scores, and the other's true hand in each."""
    rng = np.random.default_rng(seed)
    pairs = (hands + 1) // 2
    seen, held = [], []

    def keep(told: Decisions) -> None:
        if told.side == 0:
            kept = (rng.random(len(told.views)) < KEPT) & (told.views["phase"] <= PHASE_DISCARD)
            seen.append(told.views[kept].copy())
            held.append(told.hidden[kept])

    scores = rng.integers(0, 100, (2 * pairs, 2))
    watch_hands((player, opponent), get_rules("eaai"), pairs, seed, Domain.TRAIN, keep, scores)
    return np.concatenate(seen), np.concatenate(held)


def gather(checkpoint: str, seed: int, share: float = 1.0) -> Hands:
    """Positions of one round.

    Args:
        checkpoint: whose hands and whose draws.
        seed: of deals and players.
        share: of the hands of a round.
    """
    prior, player = NetworkPrior(checkpoint), load_network(checkpoint, seed)
    parts = []
    for k, (name, count) in enumerate(OPPONENTS.items()):
        opponent = load_network(checkpoint, seed + 1) if name == "itself" else make_player(name, seed=seed)
        views, held = positions(player, opponent, max(2, int(count * share)), 16 * seed + k)
        belief = prior(views).belief
        n = len(views)
        hands, features = np.zeros((n, 1 + DRAWN), np.int64), np.zeros((n, 1 + DRAWN, NUM_FEATURES), np.float32)
        hands[:, 0] = held
        obs, lines = np.zeros((n, OBSERVATION_SIZE), np.uint8), np.zeros(n, np.int64)
        _draw(
            views, belief, SearchConfig().model(), np.zeros(MAX_TURNS, TURN), np.uint64(16 * seed + k),  # pyright: ignore[reportCallIssue]
            np.zeros(DRAWN), np.zeros(DRAWN, np.int64), obs, hands, features, lines,
        )  # fmt: skip
        parts.append((obs, belief, hands, features, lines))
    return Hands(*(torch.from_numpy(np.concatenate(columns)) for columns in zip(*parts, strict=True)))


@torch.no_grad()
def surprise(model: HandModel, hands: Hands) -> float:
    """Mean of minus the logarithm of the true hand's probability among those drawn; log(33) for a model that knows nothing."""
    total = 0.0
    for start in range(0, len(hands.obs), 2048):
        scores = hands.scores(model, slice(start, start + 2048))
        total += float((scores.logsumexp(1) - scores[:, 0]).sum())
    return total / len(hands.obs)


def fit(checkpoint: str, rounds: int, seed: int, console: Console) -> tuple[HandModel, list[float]]:
    """Trains a model; also the surprise after every fourth round."""
    torch.manual_seed(seed)
    model = HandModel()
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=1e-4)
    test = gather(checkpoint, _SEED_OF_TEST + seed, 0.25)
    curve = [surprise(model, test)]
    began = time.perf_counter()
    for number in range(rounds):
        hands = gather(checkpoint, seed + 1 + number)
        order = torch.randperm(len(hands.obs))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            progress = (number + start / len(order)) / rounds
            for group in optimiser.param_groups:
                group["lr"] = 0.003 * min(1.0, 20 * progress + 0.1) * (1 - 0.97 * progress)
            scores = hands.scores(model, order[start : start + BATCH])
            loss = (scores.logsumexp(1) - scores[:, 0]).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if number % 4 == 3 or number == rounds - 1:
            curve.append(surprise(model, test))
            left = (time.perf_counter() - began) / (number + 1) * (rounds - number - 1) / 60
            console.print(
                f"round {number + 1} of {rounds}: surprise {curve[-1]:.4f} (drawn as they are {curve[0]:.4f}), {left:.0f} min left"
            )
    return model, curve


def main() -> None:
    """Trains and writes the model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoint", help="directory of a network; the model is written into it")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"--rounds is {asked.rounds}; allowed is 1 or more")
    try:
        _run(asked)
    except GinError as error:
        sys.exit(f"fit_hand_model: {error}")


def _run(asked: argparse.Namespace) -> None:
    console = Console()
    card = read_metadata(asked.checkpoint)
    model, curve = fit(asked.checkpoint, asked.rounds, asked.seed, console)
    about = {
        "command": f"python -m agents.learning.hand_model_fit CHECKPOINT --rounds {asked.rounds} --seed {asked.seed}",
        "surprise": [round(value, 4) for value in curve],
        "drawn": DRAWN,
        "opponents": OPPONENTS,
    }
    with writing(asked.checkpoint):
        save_hand_model(Path(asked.checkpoint), model, card["weights_sha256"], about)


if __name__ == "__main__":
    main()
