"""How much ``like:`` plays as the one does whom it imitates. Takes minutes.

python -m benchmarks.adaptation.like

Each of twelve styles plays hands against ``network``; the choice model learns from those that were shown, until it has seen a hundred; and
the style and its imitation then play the same deals against ``network``, luck off. What an imitation is made of was chosen on other styles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tyro

from agents.arena.results import weighted
from agents.arena.series import play_series
from agents.files import write_json
from agents.opponent_model.imitation import Imitation, full_weights
from agents.opponent_model.posterior import Posteriors, shipped_prior
from benchmarks.adaptation.opponent_prior import play_hands
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.engine.state import is_gin
from ginenv.tables.players import Player, make_player
from ginenv.view.history import M_DISCARD, M_DRAW, M_PASS, M_TAKE, read_moves

COMMAND = "python -m benchmarks.adaptation.like"
SHOWN = 100
# Hands that are dealt to learn from: fewer than half are not shown.
_DEALT = 240
_LANES = 20


@dataclass
class Arguments:
    """Command line.

    Attributes:
        styles: number of styles.
        seed: of the styles; 4816 is reported on.
        hands: hands that each style and its imitation play.
        out: the results file; none when empty.
    """

    styles: int = 12
    seed: int = 4816
    hands: int = 4000
    out: str = ""


def _habits(views: np.ndarray) -> dict[str, float | None]:
    """What an opponent does, from finished views of the other seat; no deadwood of knocks where there are none."""
    gins = np.array([bool(is_gin(int(end))) for end in views["end"]])
    mine = views["knocker"] == 1
    took = could = 0
    for hand in read_moves(views[:600]):
        for move in hand:
            if move.seat == 1 and move.kind in (M_TAKE, M_DRAW, M_PASS):
                took += move.kind == M_TAKE
                could += 1
            elif move.kind > M_DISCARD:
                break
    return {
        "knocks": 100 * float((mine & ~gins).mean()),
        "gins": 100 * float((mine & gins).mean()),
        "upcards": 100 * took / max(1, could),
        "deadwood": float(views["deadwood"][mine & ~gins, 1].mean()) if (mine & ~gins).any() else None,
    }


def _play(player: Player, styles: int, hands: int) -> tuple[list[dict[str, float | None]], np.ndarray]:
    """Habits of each style, and its points by hand ``[styles, hands]``, against the network."""
    each, seen = -(-hands // _LANES), []
    points = -play_series(
        make_player("network", 5), player, series=styles * _LANES, hands=each, seed=4817, less_luck=True,
        after=lambda views, series, numbers: seen.append((views.copy(), series % styles)),
    )  # fmt: skip
    views, style_of = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    by_style = points.reshape(_LANES, styles, each).transpose(1, 0, 2).reshape(styles, -1)
    return [_habits(views[style_of == k]) for k in range(styles)], by_style


def learned(styles: np.ndarray, seed: int) -> np.ndarray:
    """What is known of styles after ``SHOWN`` shown hands each, ``POSTERIOR[n]``."""
    views, _, _, rows = play_hands(styles, _DEALT, seed)
    posteriors = Posteriors(len(styles))
    shown = np.where(views["knocker"] == 0, views["shown"] | views["laid"], views["shown"]) != 0
    for k in range(len(styles)):
        chosen = np.flatnonzero((rows == k) & shown)[:SHOWN]
        posteriors.learn(views[chosen], rows[chosen])
    return posteriors.records


def measure(arguments: Arguments) -> dict[str, Any]:
    """Plays every style and its imitation."""
    styles, count = draw_styles(arguments.seed, arguments.styles), arguments.styles
    records = learned(styles, arguments.seed)
    imitation = Imitation(full_weights(records, shipped_prior()), 3)
    true, points = _play(StylePlayer(styles, 3), count, arguments.hands)
    like, like_points = _play(imitation, count, arguments.hands)
    rows = []
    for k in range(count):
        gap = weighted((points[k], like_points[k]), (-1, 1))
        rows.append(
            {
                "shown": int(records["hands"][k]),
                "style": {**true[k], "points": float(points[k].mean())},
                "like": {**like[k], "points": float(like_points[k].mean())},
                "points_more": [round(end, 2) for end in (gap.mean, gap.low, gap.high)],
            }
        )
    distances = {
        name: [
            abs(row["like"][name] - row["style"][name])
            for row in rows
            if None not in (row["like"][name], row["style"][name])
        ]
        for name in ("knocks", "gins", "upcards", "deadwood", "points")
    }
    return {
        "command": f"{COMMAND} --out benchmarks/results/like.json",
        "rules": "eaai",
        "opponent": "network",
        "seed": arguments.seed,
        "hands": arguments.hands,
        "shown": SHOWN,
        "styles": rows,
        "distances": distances,
    }


def main() -> None:
    """Measures, prints, and writes."""
    arguments = tyro.cli(Arguments)
    document = measure(arguments)
    for row in document["styles"]:
        print(
            {name: (row["style"][name], row["like"][name]) for name in row["style"]},
            row["points_more"],
        )
    print({name: [round(one, 1) for one in values] for name, values in document["distances"].items()})
    if arguments.out:
        write_json(arguments.out, document)


if __name__ == "__main__":
    main()
