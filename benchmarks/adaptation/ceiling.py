"""What knowing the opponent is worth: a network that is told its opponent's style, against the held-out opponents.

python -m benchmarks.adaptation.ceiling runs/teacher/last

For each opponent, on the same deals: the teacher told the truth, the typical style (the mean of all styles), nothing, or the style of
another of them; and the network that the teacher began from. The opponents are the held-out ones that are styles; for the other kinds
there is no style to tell. In points a hand; intervals are by series of deals, against these opponents, for one training.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from agents.arena.results import Estimate, ratio, versions
from agents.arena.series import counting_hands, play_series
from agents.deal_streams import Domain
from agents.files import check_writable, write_json
from agents.levels.bench.opponents import PlayersBySeries, held_out, held_out_names
from agents.network.checkpoint import read_metadata
from agents.network.player import load_network, network_directory
from agents.training.opponent_context import told
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import style_vectors
from ginenv.errors import GinError, must_be
from ginenv.tables.players import Player, make_player

# Hands in a series, one after the other.
_EACH = 10
# Instead of the opponent's style it is told that of the opponent three places further on.
_ANOTHER = -3
_COMPARED = (("truth", "start"), ("truth", "typical"), ("another", "typical"))


@dataclass
class Arguments:
    """Command line.

    Attributes:
        teacher: checkpoint of a network that is told styles.
        start: the network that it began from, ``network`` or a checkpoint.
        hands: hands against each opponent, for each thing told.
        seed: seed of the deals.
        out: JSON file to write.
    """

    teacher: Annotated[str, tyro.conf.Positional]
    start: str = "network"
    hands: int = 50_000
    seed: int = 77
    out: Path = Path("benchmarks/results/ceiling.json")


def _truths() -> tuple[list[str], np.ndarray]:
    """The held-out opponents that are styles, and the true context of each: ``float32[opponents, C]``."""
    styles = {name: player.styles for name in held_out_names() if isinstance(player := held_out(name), StylePlayer)}
    return list(styles), told(style_vectors(np.concatenate(list(styles.values()))))


def _play(player: Player, names: list[str], asked: Arguments) -> np.ndarray:
    """The player's points a hand in every series, ``[opponents, series]``; all opponents are played at once."""
    series = asked.hands // _EACH
    opponents = PlayersBySeries([held_out(name) for name in names], series)
    points = play_series(
        player, opponents, series=len(names) * series, hands=_EACH, seed=asked.seed, domain=Domain.EVAL
    )
    return points.mean(1).reshape(len(names), series)


def _mean(values: np.ndarray) -> Estimate:
    return ratio(values, np.ones(len(values)))


def main() -> None:
    """Measures, writes the JSON, prints the table."""
    asked = tyro.cli(Arguments, description=__doc__)
    if asked.hands < 2 * _EACH or asked.hands % _EACH:
        raise GinError(must_be("hands", f"a multiple of {_EACH}, {2 * _EACH} or more", asked.hands))
    check_writable(asked.out)
    # Read before playing, because a run still in progress replaces the checkpoint.
    taught, teacher, start = read_metadata(asked.teacher), load_network(asked.teacher), make_player(asked.start)
    began = read_metadata(network_directory(asked.start))
    names, truths = _truths()
    typical = told(np.zeros((1, truths.shape[1] - 1), np.float32)).repeat(len(names), 0)
    ways = {
        "nothing": np.zeros_like(truths),
        "typical": typical,
        "truth": truths,
        "another": np.roll(truths, _ANOTHER, 0),
    }
    total = (1 + len(ways)) * len(names) * asked.hands
    with Progress(transient=True) as progress, counting_hands(lambda done: progress.update(task, completed=done)):
        task = progress.add_task("hands", total=total)
        points = {"start": _play(start, names, asked)}
        for way, contexts in ways.items():
            teacher.contexts = contexts.repeat(asked.hands // _EACH, 0)
            points[way] = _play(teacher, names, asked)
    rows = {}
    gains = {f"{one}_less_{other}": points[one] - points[other] for one, other in _COMPARED}
    for k, name in enumerate(names):
        rows[name] = {way: _mean(each[k]).to_dict() for way, each in (points | gains).items()}
    means = [row["truth_less_typical"]["mean"] for row in rows.values()]
    summary: dict[str, object] = {name: _mean(gain.mean(0)).to_dict() for name, gain in gains.items()}
    summary["median"] = float(np.median(means))
    summary["worst_against_start"] = min(row["truth_less_start"]["mean"] or 0.0 for row in rows.values())
    settings = {
        "hands": asked.hands,
        "seed": asked.seed,
        "teacher": {key: taught["about"].get(key) for key in ("command", "decisions")}
        | {"weights_sha256": taught["weights_sha256"]},
        "start": asked.start,
        "start_sha256": began["weights_sha256"],
    }
    write_json(asked.out, {"opponents": rows, "summary": summary, "settings": settings, "versions": versions()})
    shown = Table("opponent", *points, "truth less typical", title="Points a hand")
    for name, row in rows.items():
        gain = row["truth_less_typical"]
        text = f"{gain['mean']:+.2f} ({gain['low']:+.2f} to {gain['high']:+.2f})"
        shown.add_row(name, *(f"{row[way]['mean']:+.2f}" for way in points), text)
    Console().print(shown)
    Console().print(summary)


if __name__ == "__main__":
    main()
