"""TensorBoard's diagnostics of a run besides its strength: play, and calibration of the critic.

They are computed whenever the panel is measured, from the last batch and from hands that the averaged actor plays against itself. A run
is the same with and without them. What a network believes in single hands is in the browser (``gin web``, *Watch* and *Analysis*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agents.arena.hand_log import watch_hands
from agents.deal_streams import Domain
from agents.network.player import NetworkPlayer
from agents.training.batch import finished, generalised_advantages
from agents.training.learner import Learner
from agents.training.ppo import log_probabilities, relative_entropy
from ginenv.engine.actions import KNOCK, STOCK
from ginenv.engine.rules import get_rules
from ginenv.view.encoding import NUM_PLANES

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_MAX_ROWS = 8192
_GROUPS = 10
# Deals that the averaged actor plays against itself, each twice.
_PAIRS = 150
# Columns of the observation's first four facts, the phases.
_FACTS_AT = (NUM_PLANES - 1) * 52
_PHASES = ("upcard", "draw", "discard", "wall")


def _some(rows: np.ndarray, seed: int) -> np.ndarray:
    """At most ``_MAX_ROWS`` of some rows, drawn evenly."""
    if rows.size <= _MAX_ROWS:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, _MAX_ROWS, replace=False))


@torch.no_grad()
def entropies(learner: Learner) -> dict[str, float]:
    """Entropy of the learner's choices in the last batch by phase, divided by the log of the number of legal actions.

    ``knock`` is the entropy of the choice whether to knock, in bits, where knocking and not knocking are both possible.
    """
    rows = _some(np.flatnonzero(learner.steps["learns"]), learner.batches)
    if not rows.size:
        return {}
    actions = learner.batch.minibatch(rows, 1).actions.cpu()
    legal = actions >= 0
    logps = log_probabilities(torch.from_numpy(learner.logits(rows)).gather(1, actions.clamp(min=0)), legal)
    entropy = relative_entropy(logps, legal).numpy()
    found = {}
    facts = learner.batch.inputs.reshape(-1)["observation"]["cells"][rows, _FACTS_AT : _FACTS_AT + len(_PHASES)]
    for k, name in enumerate(_PHASES):
        chosen = facts[:, k] == 1
        if chosen.any():
            found[name] = float(entropy[chosen].mean())
    is_knock = (actions >= KNOCK) & (actions < STOCK)
    both = (is_knock.any(1) & ((actions >= 0) & (actions < KNOCK)).any(1)).numpy()
    if both.any():
        knocks = (logps.exp() * is_knock).sum(1).numpy()[both].clip(1e-6, 1 - 1e-6)
        found["knock"] = float(-(knocks * np.log2(knocks) + (1 - knocks) * np.log2(1 - knocks)).mean())
    return found


@torch.no_grad()
def calibration(learner: Learner) -> tuple[np.ndarray, np.ndarray] | None:
    """The critic's values and the hands' actual results, grouped by value from low to high.

    It uses half-moves of the batch's first quarter whose hand ended within the batch, so that hardly any long hands are missing.

    Returns:
        Mean value and mean result of each group, both to the mover, in rewards; ``None`` if there is too little data.
    """
    played = learner.batch.steps.copy()
    played["value"] = 0
    generalised_advantages(played, 1.0)
    results = played["returns"][:-1]
    ended = finished(played["done"][:-1])
    rows = _some(np.flatnonzero(ended[: max(1, len(ended) // 4)]), learner.batches)
    if rows.size < 20 * _GROUPS:
        return None
    values = learner.values(rows)
    real = results.reshape(-1)[rows]
    groups = np.array_split(np.argsort(values), _GROUPS)
    predicted, found = (np.array([numbers[group].mean() for group in groups]) for numbers in (values, real))
    return predicted, found


def style_figures(style: np.ndarray) -> dict[str, float]:
    """Rates, and knocks by own turn, from ``STYLE[2]`` of an actor against itself."""
    total = {name: style[name].sum(0) for name in style.dtype.names or ()}
    could, did = total["could_knock"], total["did_knock"]
    found = {
        "gin_rate": total["gins"] / max(1, total["hands"]),
        "knock_rate": total["knocks"] / max(1, total["hands"]),
        "undercut_rate": total["undercuts_taken"] / max(1, total["knocks"]),
        "upcards_taken": total["took"] / max(1, total["offered"]),
    }
    # Only knocks with deadwood left are a choice.
    for turn in range(could.shape[0]):
        if could[turn, 1:].sum():
            found[f"knock_share/turn_{turn + 1:02}"] = did[turn, 1:].sum() / could[turn, 1:].sum()
        if did[turn, 1:].sum():
            points = (did[turn] * np.arange(could.shape[1])).sum()
            found[f"knock_deadwood/turn_{turn + 1:02}"] = points / did[turn, 1:].sum()
    return {name: float(value) for name, value in found.items()}


def write_diagnostics(writer: SummaryWriter, learner: Learner) -> None:
    """Writes all diagnostics to TensorBoard at the learner's present number of decisions."""
    step = learner.decisions
    rules = get_rules(next(iter(learner.config.rules)))
    actor = learner.averaged()
    player = NetworkPlayer(actor, seed=11)

    def scalars(group: str, figures: dict[str, Any]) -> None:
        for name, value in figures.items():
            writer.add_scalar(f"{group}/{name}", value, step)

    scalars("entropy", entropies(learner))
    groups = calibration(learner)
    if groups is not None:
        predicted, real = groups
        scalars("calibration", {"error": np.abs(predicted - real).mean()})
        # A critic whose units are dead, as after too high a learning rate, values all positions alike: that is no line.
        if np.ptp(predicted) > 1e-5 * np.abs(predicted).max():
            slope, offset = np.polyfit(predicted, real, 1)
            scalars("calibration", {"slope": slope, "offset": offset})
    style = watch_hands((player, NetworkPlayer(actor, seed=12)), rules, _PAIRS, 0, Domain.SELECT)
    scalars("style", style_figures(style))
