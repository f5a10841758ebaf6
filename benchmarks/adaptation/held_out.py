"""Draws the held-out opponents, which are kept out of all training, and measures how much they lose to a player.

python -m benchmarks.adaptation.held_out draw
python -m benchmarks.adaptation.held_out measure

They are ten styles from the population's generator, with a seed of their own, and the two players of
``agents.levels.bench.unfamiliar_opponents``.
``draw`` tries styles in the order drawn and leaves out those that lose too much in a short match; it is done once, before anything is
trained. ``measure`` plays long matches against all twelve. Both write ``agents/levels/bench/held_out.json``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.results import ratio, versions
from agents.arena.series import play_series
from agents.deal_streams import Domain
from agents.files import write_json
from agents.levels.bench.opponents import HELD_OUT, PlayersBySeries, held_out, held_out_names
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.bots.style_kernels import STYLE
from ginenv.tables.players import Player, make_player

SEED, STYLES = 1414, 10
# Most points a hand that a held-out opponent may lose: hopeless opponents say nothing about adaptation.
MOST_LOST = 12.0
# Styles tried at a time, and hands of each.
_AT_A_TIME, _TRIED = 12, 500
# Hands in a lane, one after the other, and lanes of each opponent at a time.
_EACH, _LANES = 10, 400


@dataclass
class Arguments:
    """Command line.

    Attributes:
        what: draw or measure.
        hands: hands against each opponent, to measure.
        player: the player that they lose to.
    """

    what: tyro.conf.Positional[Literal["draw", "measure"]]
    hands: int = 20_000
    player: str = "network"


def lost(player: str, opponents: list[Player], hands: int, seed: int) -> np.ndarray:
    """Points that opponents lose in every hand: ``[opponents, hands]``."""
    lanes = hands // _EACH
    parts = []
    for first in range(0, lanes, _LANES):
        count = min(_LANES, lanes - first)
        sides = make_player(player, seed), PlayersBySeries(opponents, count)
        points = play_series(*sides, series=count * len(opponents), hands=_EACH, seed=seed + first, domain=Domain.EVAL)
        parts.append(points.reshape(len(opponents), -1))
        print(f"{(first + count) * _EACH:,} of {hands:,} hands of each", file=sys.stderr, flush=True)
    return np.concatenate(parts, 1)


def _row(points: np.ndarray) -> dict[str, Any]:
    return ratio(points.astype(np.float64), np.ones(len(points))).to_dict() | {"hands": len(points)}


def draw(player: str) -> dict[str, Any]:
    """Draws the styles; returns them and those left out."""
    styles: dict[str, Any] = {}
    left_out: dict[str, float] = {}
    first = 0
    while len(styles) < STYLES:
        drawn = draw_styles(SEED, first + _AT_A_TIME)[first:]
        points = lost(player, [StylePlayer(drawn[k : k + 1], k) for k in range(len(drawn))], _TRIED, SEED + first)
        for k, tried in enumerate(points):
            name, mean = f"style-{first + k}", float(tried.mean())
            if mean + float(tried.std()) / _TRIED**0.5 > MOST_LOST:
                left_out[name] = round(mean, 2)
            elif len(styles) < STYLES:
                styles[name] = {field: drawn[k][field].item() for field in STYLE.names or ()}
        first += _AT_A_TIME
    return {
        "seed": SEED,
        "drawn_by": "python -m benchmarks.adaptation.held_out draw",
        "styles": styles,
        "left_out": left_out,
    }


def measure(player: str, hands: int) -> dict[str, Any]:
    """Measures what every held-out opponent loses."""
    names = held_out_names()
    points = lost(player, [held_out(name, k) for k, name in enumerate(names)], hands, SEED + 1_000_000)
    return {"points_lost_to": player, "points_lost": {name: _row(points[k]) for k, name in enumerate(names)}}


def show(player: str, rows: dict[str, dict[str, Any]]) -> None:
    """Prints the table; exits with an error if an opponent loses too much."""
    table = Table(title=f"Points a hand lost to {player}", title_justify="left")
    table.add_column("opponent")
    table.add_column("points a hand", justify="right")
    for name, row in rows.items():
        table.add_row(name, f"{row['mean']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})")
    Console().print(table)
    hopeless = [name for name, row in rows.items() if row["mean"] > MOST_LOST]
    if hopeless:
        sys.exit(f"held-out opponents may lose {MOST_LOST:g} points a hand at most; {', '.join(hopeless)} lose more")


def main() -> None:
    """Draws or measures."""
    asked = tyro.cli(Arguments)
    torch.set_num_threads(1)
    if asked.what == "draw":
        write_json(HELD_OUT, draw(asked.player) | {"versions": versions()})
        return
    document = json.loads(HELD_OUT.read_text(encoding="utf-8"))
    document |= measure(asked.player, asked.hands) | {"versions": versions()}
    write_json(HELD_OUT, document)
    show(asked.player, document["points_lost"])


if __name__ == "__main__":
    main()
