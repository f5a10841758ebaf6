"""How even ``matched`` plays, how fast it follows a change of strength, and whether its ratings hold the true ones.

nice -n 5 python -m benchmarks.adaptation.matched

Series of 300 hands against players of all strengths, and series in which somebody else takes the seat after 150 hands. Luck is
subtracted. Finished blocks are kept, and the same command continues; they are dropped when the dial has changed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from rich.console import Console

from agents.arena.ladder import shipped_ladder
from agents.arena.results import proportion, ratio, versions
from agents.arena.series import PlayersBySeries, counting_hands, play_series
from agents.files import parse_json, read_bytes, write_json
from agents.levels.dial import DATA, GRID
from agents.levels.level import MATCHED, NAMES, load_level
from agents.levels.matched import MatchedPlayer
from agents.reports.terminal import progress_bar
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.tables.players import Player, make_player

RESULTS = Path(__file__).resolve().parents[1] / "results" / "matched.json"
PLAYERS = (
    "random",
    "easy",
    "simple",
    "formula",
    "level-1:learn=false",
    "level-2:learn=false",
    "level-3:learn=false",
    "network",
)
STYLES = 12
# Who leaves the seat, and who takes it.
SWITCHES = (
    ("simple", "network"),
    ("network", "simple"),
    ("level-1:learn=false", "network"),
    ("formula", "style:base=simple,blunder=0.3"),
    ("style:base=simple,blunder=0.4", "easy"),
    ("network", "style:base=simple,blunder=0.6"),
)
HANDS, FIRST, SWITCH_AT, AGAIN = 300, 40, 150, 60
RATED_AT = (50, 100, 200, 300)
# Hands against each rung that tell the true rating of a player that is none, and players in one block.
TRUE_HANDS, BLOCK = 60, 6
SEED = 4832


def opponents() -> dict[str, list[Player]]:
    """Whom it meets, by name: one player, or two who sit there one after the other."""
    found: dict[str, list[Player]] = {name: [make_player(name, SEED)] for name in PLAYERS}
    found |= {", then ".join(pair): [make_player(name, SEED) for name in pair] for pair in SWITCHES}
    styles = draw_styles(SEED, STYLES)
    for k in range(STYLES):
        found[f"style {k + 1}"] = [StylePlayer(styles[k : k + 1], SEED)]
    return found


def true_rating(name: str, player: Player) -> float:
    """A player's rating: of a rung the ladder's, otherwise that of its hands against all rungs."""
    ladder = shipped_ladder()
    if name in ladder.names:
        return ladder.rating_of(name)
    count, series = len(ladder.names), TRUE_HANDS // 10
    rungs = PlayersBySeries([make_player(rung, SEED) for rung in ladder.names], np.arange(count * series) % count)
    points = play_series(player, rungs, series=count * series, hands=10, seed=SEED + 1, less_luck=True)
    return ladder.rate({rung: points[k::count].ravel().tolist() for k, rung in enumerate(ladder.names)}).rating


def play(met: dict[str, list[Player]], series: int) -> list[dict[str, Any]]:
    """A block of opponents: their figures."""
    count, player = len(met), MatchedPlayer(load_level(MATCHED), SEED)
    ratings = np.zeros((count * series, len(RATED_AT), 3))
    which = np.arange(count * series) % count
    seats = PlayersBySeries([players[at] for at in (0, -1) for players in met.values()], which)

    def after(views: np.ndarray, rows: np.ndarray, hands: np.ndarray) -> None:
        which[rows[hands + 1 == SWITCH_AT]] += count
        for k, number in enumerate(RATED_AT):
            ready = rows[hands + 1 == number]
            strengths = player.opponents.strengths[player.rows_of(ready, len(ready))]
            ratings[ready, k] = [player.dial.rating(strength) for strength in strengths] or np.zeros((0, 3))

    options: dict[str, Any] = {"series": count * series, "hands": HANDS, "seed": SEED, "less_luck": True}
    points = play_series(player, seats, after=after, **options)
    return [
        figures(name, players, points[k::count], ratings[k::count]) for k, (name, players) in enumerate(met.items())
    ]


def _mean(points: np.ndarray) -> dict[str, float | None]:
    return ratio(points.mean(axis=1).astype(np.float64), np.ones(len(points))).to_dict()


def figures(name: str, players: list[Player], points: np.ndarray, ratings: np.ndarray) -> dict[str, Any]:
    """What is stored of an opponent: points per hand of ``matched``, and the ratings that it gave."""
    row: dict[str, Any] = {"opponent": name, "series": len(points)}
    if len(players) > 1:
        row |= {"before": _mean(points[:, FIRST:SWITCH_AT]), "after": _mean(points[:, SWITCH_AT + AGAIN :])}
        return row | {"first_60": _mean(points[:, SWITCH_AT : SWITCH_AT + AGAIN])}
    true = true_rating(name, players[0])
    row |= {"points": _mean(points[:, FIRST:]), "true": round(true, 1)}
    middle, low, high = ratings.transpose(2, 0, 1)
    # The ratings that are considered end somewhere.
    covered = (low <= max(true, GRID[0])) & (min(true, GRID[-1]) <= high)
    row["ratings"] = {
        str(hands): {
            "mean": round(float(middle[:, k].mean()), 1),
            "half_width": round(float((high - low)[:, k].mean() / 2), 1),
            "covered": int(covered[:, k].sum()),
        }
        for k, hands in enumerate(RATED_AT)
    }
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The shares of series whose interval holds the true rating, and the opponents that are not even."""
    rated = [row for row in rows if "ratings" in row]
    tries = sum(row["series"] for row in rated)
    coverage = {}
    for hands in map(str, RATED_AT):
        flags = np.repeat(1.0, tries)
        flags[sum(row["ratings"][hands]["covered"] for row in rated) :] = 0.0
        coverage[hands] = proportion(flags, np.ones(tries)).to_dict()
    return {"coverage": coverage, "not_even": [row["opponent"] for row in rated if abs(row["points"]["mean"]) > 1.5]}


def main(series: int = 12) -> None:
    """Plays what is missing, as many series against each opponent, and writes after each block."""
    torch.set_num_threads(1)
    console = Console()
    played = {"dial": hashlib.sha256(read_bytes(DATA)).hexdigest()[:12]}
    played |= {name: load_level(name).digest[:12] for name in NAMES[:3]}
    head = {
        "command": f"python -m benchmarks.adaptation.matched --series {series}",
        "played": played,
        "rules": "eaai",
        "seed": SEED,
    }
    stored = parse_json(read_bytes(RESULTS)) if RESULTS.exists() else {}
    rows = [row for row in stored.get("opponents", ()) if stored.get("played") == played and row["series"] == series]
    players, done = opponents(), {row["opponent"] for row in rows}
    missing = [name for name in players if name not in done]
    with progress_bar(console, len(missing) * series * HANDS, "hands") as tick, counting_hands(tick):
        for at in range(0, len(missing), BLOCK):
            rows += play({name: players[name] for name in missing[at : at + BLOCK]}, series)
            write_json(RESULTS, {**head, "versions": versions(), **summary(rows), "opponents": rows})
    for row in rows:
        console.print(row["opponent"], row.get("points", row.get("after")))
    console.print(summary(rows))


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
