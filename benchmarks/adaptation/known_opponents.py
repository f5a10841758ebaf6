"""What knowing the opponent is worth: a response trained against one opponent, compared with one trained against all of them.

python -m benchmarks.adaptation.known_opponents                                   half an hour on two cores
python -m benchmarks.adaptation.known_opponents --common 20k --dedicated 20k --hands 400 --runs runs/try --out runs/try/known_opponents.json

One response learns against the twelve held-out opponents in equal parts, as if they were one. Training then continues from it in twelve
dedicated responses, which meet one opponent each, and for comparison in one against all, each for the same number of decisions. The
measure is what a dedicated response wins from its opponent, less what the one against all wins from it, on the same fresh deals. It is
what knowing the opponent is worth to this learner, plus what twelve times the practice against it is worth; longer training may find
more. Intervals are by series of fresh deals, for one training each: another training seed would give other figures. Because held-out
opponents are met in training here, nothing of it ships. Responses that exist already are not trained again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from agents.arena.configs import parse_count
from agents.arena.results import ratio, versions
from agents.arena.series import play_series
from agents.config import TrainConfig, load_config
from agents.deal_streams import Domain
from agents.files import write_json
from agents.levels.bench.opponents import held_out, held_out_names
from agents.network.checkpoint import METADATA, read_metadata, save_checkpoint
from agents.network.player import load_network, network_directory
from agents.training.exploit import begin_response
from agents.training.run import train
from ginenv.errors import GinError, must_be

RULES = "eaai"
# Hands in a series, one after the other.
_EACH = 10


@dataclass
class Arguments:
    """Command line.

    Attributes:
        start: checkpoint that the response to all begins from; the shipped network when left out.
        common: training decisions against all opponents.
        dedicated: further training decisions of each response.
        hands: hands against each opponent, by each of the players compared.
        seed: seed of training and deals.
        base: training configuration.
        runs: directory of the responses.
        out: JSON file to write.
    """

    start: str = "network"
    common: str = "6m"
    dedicated: str = "2m"
    hands: int = 20_000
    seed: int = 1
    base: Path = Path("configs/exploit.yaml")
    runs: Path = Path("runs/known_opponents")
    out: Path = Path("benchmarks/results/known_opponents.json")


def _respond(
    asked: Arguments, progress: Progress, start: str, decisions: str, names: list[str], out: Path, seed: int
) -> str:
    """The directory of a response to some held-out opponents; the response is trained if it does not exist."""
    base: TrainConfig = load_config(asked.base)
    settings = {
        "start": read_metadata(start)["weights_sha256"],
        "decisions": decisions,
        "opponents": names,
        "seed": seed,
        "base": base.model_dump(mode="json"),
    }
    if (out / METADATA).exists() and read_metadata(out)["about"] == settings:
        return str(out)
    total = parse_count(decisions)
    # The pool's names are placeholders: held-out opponents have no names that a training could use.
    learner = begin_response(base, start, total, seed, RULES, ["easy"] * len(names))
    learner.opponents.pool = [[held_out(name, thread) for name in names] for thread in range(learner.threads)]
    task = progress.add_task(f"response to {names[0] if len(names) == 1 else 'all'}", total=total)

    def after_batch(figures: dict[str, float]) -> bool:
        progress.update(task, completed=learner.decisions)
        return True

    train(learner, after_batch)
    learner.workers.close()
    network = learner.config.network
    save_checkpoint(
        out, learner.average, network.actor, settings, learner.critic, network.critic, learner.config.reward
    )
    progress.remove_task(task)
    return str(out)


def _won(player: str, opponent: str, hands: int, seed: int) -> np.ndarray:
    """A checkpoint's points a hand in every series against a held-out opponent."""
    points = play_series(
        load_network(player),
        held_out(opponent),
        series=hands // _EACH,
        hands=_EACH,
        seed=seed,
        rules=RULES,
        domain=Domain.EVAL,
    )
    return points.mean(1)


def _mean(values: np.ndarray) -> dict[str, float | None]:
    return ratio(values, np.ones(len(values))).to_dict()


def main() -> None:
    """Trains what is missing, measures, writes the JSON, prints the table."""
    asked = tyro.cli(Arguments, description=__doc__)
    names = held_out_names()
    start = network_directory(asked.start)
    if asked.hands < 2 * _EACH or asked.hands % _EACH:
        raise GinError(must_be("hands", f"a multiple of {_EACH}, {2 * _EACH} or more", asked.hands))
    # The continued trainings get deals of their own.
    again = asked.seed + 1
    rows, gains = {}, []
    with Progress(console=Console(), transient=True) as progress:
        common = _respond(asked, progress, start, asked.common, names, asked.runs / "all", asked.seed)
        longer = _respond(asked, progress, common, asked.dedicated, names, asked.runs / "all_longer", again)
        task = progress.add_task("opponents", total=len(names))
        for name in names:
            own = _respond(asked, progress, common, asked.dedicated, [name], asked.runs / name, again)
            before, general, dedicated = (_won(each, name, asked.hands, asked.seed) for each in (start, longer, own))
            rows[name] = {
                "start": _mean(before),
                "general": _mean(general),
                "dedicated": _mean(dedicated),
                "general_less_start": _mean(general - before),
                "dedicated_less_general": _mean(dedicated - general),
            }
            gains.append((general - before, dedicated - general))
            progress.advance(task)
    in_general, by_knowing = (_mean(np.mean([gain[k] for gain in gains], 0)) for k in range(2))
    means = [row["dedicated_less_general"]["mean"] for row in rows.values()]
    summary = {
        "general_less_start": in_general,
        "dedicated_less_general": by_knowing,
        "median": float(np.median(means)),
    }
    settings = {
        "rules": RULES,
        "start": {"player": asked.start, "weights_sha256": read_metadata(start)["weights_sha256"]},
        "common": asked.common,
        "dedicated": asked.dedicated,
        "hands": asked.hands,
        "seed": asked.seed,
        "base": load_config(asked.base).model_dump(mode="json"),
    }
    write_json(asked.out, {"opponents": rows, "summary": summary, "settings": settings, "versions": versions()})
    shown = Table("opponent", "network", "response to all", "dedicated", "dedicated less all", title="Points a hand")
    for name, row in rows.items():
        gain = row["dedicated_less_general"]
        cells = (f"{row[way]['mean']:+.2f}" for way in ("start", "general", "dedicated"))
        shown.add_row(name, *cells, f"{gain['mean']:+.2f} ({gain['low']:+.2f} to {gain['high']:+.2f})")
    Console().print(shown)
    Console().print(summary)


if __name__ == "__main__":
    main()
