"""Draws the opponents that are kept aside from all training, and measures how much they lose to a player.

python -m benchmarks.held_out

Ten styles of the population's generator, from a seed of their own, and the two players of ``agents.levels.bench.kinds``. Styles are
tried in the order in which they are drawn; one that loses too much in a short match is left out and named. The table of the rest, and
the styles themselves, go to ``agents/levels/bench/held_out.json``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.results import ratio, versions
from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer
from agents.bots.population import draw_styles
from agents.bots.style_kernels import STYLE
from agents.deals import Domain
from agents.files import write_json
from agents.levels.bench.kinds import KINDS
from agents.levels.bench.opponents import HELD_OUT, PlayersBySeries
from ginenv.players import Player, make_player

STYLES = 10
# Points a hand that a held-out opponent may lose: from hopeless ones nothing is learned about adaptation.
MOST_LOST = 12.0
_TRIED = 24
# Hands of a lane, one after the other.
_EACH = 10


@dataclass
class Arguments:
    """Command line.

    Attributes:
        seed: that the styles are drawn with.
        player: that the opponents lose to.
        tried: hands of the short match of every style.
        hands: of the measurement.
    """

    seed: int = 1414
    player: str = "network"
    tried: int = 600
    hands: int = 20_000


def lost(player: str, opponents: list[Player], hands: int, seed: int) -> np.ndarray:
    """Points of every hand that opponents lose: ``[opponents, hands]``."""
    lanes = hands // _EACH
    parts = []
    # As many games at once as keep the network busy and fit in memory.
    for first in range(0, lanes, 400):
        count = min(400, lanes - first)
        sides = make_player(player, seed), PlayersBySeries(opponents, count)
        points = play_series(*sides, series=count * len(opponents), hands=_EACH, seed=seed + first, domain=Domain.EVAL)
        parts.append(points.reshape(len(opponents), -1))
        print(f"{first + count} of {lanes}", file=sys.stderr, flush=True)
    return np.concatenate(parts, 1)


def _plain(style: np.void) -> dict[str, Any]:
    return {name: style[name].item() for name in STYLE.names or ()}


def _row(points: np.ndarray) -> dict[str, Any]:
    return ratio(points.astype(np.float64), np.ones(len(points))).to_dict() | {"hands": len(points)}


def main() -> None:
    """Draws, measures, writes the JSON, prints a table."""
    asked = tyro.cli(Arguments)
    torch.set_num_threads(1)
    drawn = draw_styles(asked.seed, _TRIED)
    tried = lost(asked.player, [StylePlayer(drawn[k : k + 1], k) for k in range(_TRIED)], asked.tried, asked.seed)
    means = tried.mean(1)
    chosen = [k for k in range(_TRIED) if means[k] + 2 * tried[k].std() / asked.tried**0.5 < MOST_LOST][:STYLES]
    names = [f"style-{k}" for k in chosen] + list(KINDS)
    opponents: list[Player] = [StylePlayer(drawn[k : k + 1], k) for k in chosen]
    opponents += [kind(k) for k, kind in enumerate(KINDS.values())]
    points = lost(asked.player, opponents, asked.hands, asked.seed + 1_000_000)
    rows = {name: _row(points[k]) for k, name in enumerate(names)}
    document = {
        "command": f"python -m benchmarks.held_out {' '.join(sys.argv[1:])}".strip(),
        "seed": asked.seed,
        "styles": {f"style-{k}": _plain(drawn[k]) for k in chosen},
        "left_out": {f"style-{k}": round(float(means[k]), 2) for k in range(chosen[-1]) if k not in chosen},
        "points_lost_to": asked.player,
        "points_lost": rows,
        "versions": versions(),
    }
    write_json(HELD_OUT, document)
    table = Table(title=f"Points a hand lost to {asked.player}", title_justify="left")
    table.add_column("opponent")
    table.add_column("points a hand", justify="right")
    for name, row in rows.items():
        table.add_row(name, f"{row['mean']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})")
    Console().print(table)
    worst = max(row["high"] for row in rows.values())
    if worst > MOST_LOST:
        sys.exit(f"one loses {worst:.2f} points a hand; allowed are {MOST_LOST}")


if __name__ == "__main__":
    main()
