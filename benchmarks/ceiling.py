"""What there is to win by knowing whom one plays: a network that is told its opponent's style against the held-out opponents.

python -m benchmarks.ceiling runs/teacher/last

Style by style, on the same deals: told the truth, told what is typical (the mean of all styles), told nothing, told the style of another of
the opponents, and the network that the teacher began from. The truth of the two opponents that are no styles is the
one of some random styles that does best on deals for choosing. Points a hand, intervals by series.
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
from agents.bots.heuristics import StylePlayer
from agents.bots.population import draw_styles, style_vectors
from agents.deals import Domain
from agents.files import write_json
from agents.learning.told import told
from agents.levels.bench.opponents import PlayersBySeries, held_out, held_out_names
from agents.network.checkpoint import read_metadata
from agents.network.player import load_network
from ginenv.players import make_player

# Hands of a series, one after the other.
_EACH = 10
# Whose style it is told in place of the opponent's: that of the third next one.
_ANOTHER = 3
_COMPARED = (("truth", "start"), ("truth", "typical"), ("another", "typical"))
# Random styles among which the best name for an opponent that is none is looked for, and their seed.
_NAMES, _NAMES_SEED = 48, 5


@dataclass
class Arguments:
    """Command line.

    Attributes:
        teacher: checkpoint of a network that is told styles.
        start: player that it began from.
        hands: against each opponent, in each way.
        choosing: hands with each style that an opponent which is none may be told as.
        seed: of the deals.
        out: JSON to write.
    """

    teacher: Annotated[str, tyro.conf.Positional]
    start: str = "network"
    hands: int = 50_000
    choosing: int = 2_000
    seed: int = 77
    out: Path = Path("benchmarks/results/ceiling.json")


class Table12:
    """All opponents at once, each in its own series."""

    def __init__(self, asked: Arguments) -> None:
        self.asked, self.names = asked, held_out_names()
        self.teacher = load_network(asked.teacher)
        self.start = make_player(asked.start)

    def play(self, contexts: np.ndarray | None, hands: int, domain: Domain, names: list[str]) -> np.ndarray:
        """Points of every series, ``[opponents, series]``, to a network that is told contexts.

        Args:
            contexts: ``float32[opponents, C]``, for the teacher; ``None`` for the player that it began from.
            hands: of each opponent.
            domain: of the deals.
            names: of the opponents.
        """
        series = hands // _EACH
        player = self.start
        if contexts is not None:
            player = self.teacher
            player.contexts = contexts.repeat(series, 0)
        opponents = PlayersBySeries([held_out(name) for name in names], series)
        points = play_series(
            player, opponents, series=len(names) * series, hands=_EACH, seed=self.asked.seed, domain=domain
        )
        return points.mean(1).reshape(len(names), series)

    def truths(self) -> np.ndarray:
        """What is true of each opponent, ``float32[opponents, C]``."""
        candidates = told(style_vectors(draw_styles(_NAMES_SEED, _NAMES)))
        found = []
        for name in self.names:
            player = held_out(name)
            if isinstance(player, StylePlayer):
                found.append(told(style_vectors(player.styles))[0])
            else:
                points = self.play(candidates, self.asked.choosing, Domain.SELECT, [name] * len(candidates))
                found.append(candidates[points.mean(1).argmax()])
        return np.stack(found)


def _mean(values: np.ndarray) -> Estimate:
    return ratio(values, np.ones(len(values)))


def main() -> None:
    """Measures, writes the JSON, prints the table."""
    asked = tyro.cli(Arguments, description=__doc__)
    table = Table12(asked)
    count = len(table.names)
    total = 5 * count * asked.hands
    with Progress(transient=True) as progress, counting_hands(lambda done: progress.update(task, completed=done)):
        task = progress.add_task("hands", total=total)
        truths = table.truths()
        typical = told(np.zeros((1, truths.shape[1] - 1), np.float32)).repeat(count, 0)
        ways = {
            "start": None,
            "nothing": np.zeros_like(truths),
            "typical": typical,
            "truth": truths,
            "another": np.roll(truths, _ANOTHER, 0),
        }
        points = {name: table.play(contexts, asked.hands, Domain.EVAL, table.names) for name, contexts in ways.items()}
    rows = {}
    gains = {f"{one}_less_{other}": points[one] - points[other] for one, other in _COMPARED}
    for k, name in enumerate(table.names):
        rows[name] = {way: _mean(each[k]).to_dict() for way, each in (points | gains).items()}
    means = [row["truth_less_typical"]["mean"] for row in rows.values()]
    summary: dict[str, object] = {name: _mean(gain.mean(0)).to_dict() for name, gain in gains.items()}
    summary["median"] = float(np.median(means))
    summary["worst_against_start"] = min(row["truth_less_start"]["mean"] or 0.0 for row in rows.values())
    taught = read_metadata(asked.teacher)
    settings = {
        "hands": asked.hands,
        "seed": asked.seed,
        "teacher": {key: taught["about"][key] for key in ("command", "decisions")}
        | {"weights_sha256": taught["weights_sha256"]},
        "start": asked.start,
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
