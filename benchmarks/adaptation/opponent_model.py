"""Fits the prior for unknown opponents, and measures what is known about opponents after some of their hands.

python -m benchmarks.adaptation.opponent_model fit
python -m benchmarks.adaptation.opponent_model compare
python -m benchmarks.adaptation.opponent_model belief

``fit`` writes the prior that ships, from styles of the training population. ``compare`` measures how well the choice model and counts
predict the choices of styles never trained on, after 5, 20 and 100 hands. ``belief`` does the same for their cards, after 20 and 100.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from agents.arena.results import ratio, versions
from agents.files import write_json
from agents.opponent_model.fit import fit_prior, true_choices
from agents.opponent_model.posterior import PRIOR, Knowledge, ModelPrior, shipped_prior
from benchmarks.adaptation.opponent_beliefs import measure_beliefs
from benchmarks.adaptation.opponent_counts import Counts
from benchmarks.adaptation.opponent_hands import Hands, play_hands
from ginenv.bots.population import draw_styles

OUT = Path("benchmarks/results/opponent_model.json")
HISTORIES = (5, 20, 100)
# Hands of each style on which knowledge of it is measured; they come after its longest history.
FRESH = 60
# Chosen on styles of the third seed (LOG.md).
TEMPERED = 0.3


@dataclass
class Arguments:
    """Command line.

    Attributes:
        what: fit, compare or belief.
        styles: number of styles to draw.
        hands: hands of each style, to fit.
        seed: seed for drawing styles: 1 is the training population's, 3 that of the styles used to choose settings.
        out: JSON file of results.
    """

    what: tyro.conf.Positional[Literal["fit", "compare", "belief"]]
    styles: int = 0
    hands: int = 48
    seed: int = 0
    out: Path = OUT


def mean_of(values: np.ndarray) -> dict[str, float]:
    """Mean of one value for each style, with its interval over styles."""
    return ratio(values, np.ones(len(values))).to_dict()


def fit(asked: Arguments) -> None:
    """Fits the prior and writes it into the package."""
    hands = play_hands(draw_styles(asked.seed or 1, asked.styles or 512), asked.hands, 11, lanes=4)
    flat = hands.flat()
    prior, _, logs = fit_prior(flat.views, flat.decks, flat.positions, hands.rows, TEMPERED)
    print("log-likelihood by round: " + ", ".join(f"{log:,.0f}" for log in logs))
    command = f"python -m benchmarks.adaptation.opponent_model {' '.join(sys.argv[1:])}"
    write_json(PRIOR, {"command": command, "log_likelihood": logs} | prior.to_dict())


def losses(weights: np.ndarray, hands: Hands) -> np.ndarray:
    """Log-loss per hand of every style's choices, under weights ``[styles, NUM_WEIGHTS]``: ``float64[styles]``, in nats."""
    flat = hands.flat()
    found = true_choices(flat.views, flat.decks, flat.positions)
    per_hand = found.losses(weights[hands.rows[found.hand]])
    return np.bincount(hands.rows[found.hand], per_hand, len(hands.views)) / hands.views.shape[1]


def histories(hands: Hands, prior: ModelPrior) -> dict[int, np.ndarray]:
    """The choice model's weights after each length of history: ``float64[styles, NUM_WEIGHTS]``."""
    count = len(hands.views)
    knowledge, rows, done, found = Knowledge(count, prior), np.arange(count), 0, {}
    for length in HISTORIES:
        for k in range(done, length):
            knowledge.learn(np.ascontiguousarray(hands.views[:, k]), rows)
        done, found[length] = length, knowledge.known["mean"].copy()
    return found


def part(hands: Hands, begin: int, end: int) -> Hands:
    """Hands ``begin`` to ``end`` of every style."""
    return Hands(*(np.ascontiguousarray(array[:, begin:end]) for array in hands))


def compare(hands: Hands) -> dict[str, Any]:
    """How far the losses of the choice model and of counts are below a stranger's, in nats a hand, by length of history."""
    prior = shipped_prior()
    fresh = part(hands, max(HISTORIES), hands.views.shape[1])
    stranger = np.repeat(prior.mean[None], len(hands.views), 0)
    base = losses(stranger, fresh)
    found: dict[str, Any] = {"a stranger's loss, nats a hand": mean_of(base)}
    for length, weights in histories(hands, prior).items():
        gain = base - losses(weights, fresh)
        counted = Counts(prior, part(hands, 0, length)).gains(fresh)
        found[f"after {length} hands"] = {
            "choice model": mean_of(gain), "styles above 0": float((gain > 0).mean()),
            "counts, told the true cards": mean_of(counted), "choice model less counts": mean_of(gain - counted),
        }  # fmt: skip
        print(length, found[f"after {length} hands"], flush=True)
    return found


def beliefs(hands: Hands) -> dict[str, Any]:
    """Log-loss per card of the opponent's hand, with and without its choice model."""
    prior, start = shipped_prior(), max(HISTORIES)
    known = {f"after {n} hands": weights for n, weights in histories(hands, prior).items() if n >= 20}
    found = measure_beliefs(part(hands, start, hands.views.shape[1]), known, prior.mean)
    print(found, flush=True)
    return {name: mean_of(values) for name, values in found.items()}


def main() -> None:
    """Fits or measures."""
    asked = tyro.cli(Arguments)
    if asked.what == "fit":
        fit(asked)
        return
    seed, styles = asked.seed or 3, asked.styles or 48
    hands = play_hands(draw_styles(seed, styles), max(HISTORIES) + FRESH, 12, lanes=16)
    measures: dict[str, Callable[[Hands], dict[str, Any]]] = {"compare": compare, "belief": beliefs}
    row = {"styles": styles, "seed": seed} | measures[asked.what](hands)
    document = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    write_json(asked.out, document | {f"{asked.what}, seed {seed}": row, "versions": versions()})


if __name__ == "__main__":
    main()
