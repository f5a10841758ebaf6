"""How even ``matched`` plays, how fast it follows a change of strength, and whether its ratings hold the true ones.

nice -n 5 python -m benchmarks.adaptation.matched

Series of 300 hands against players of all strengths, and series in which somebody else takes the seat after 150 hands. Luck is
subtracted. Finished blocks are kept, and the same command continues; they are dropped when the dial has changed.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console

from agents.arena.ladder import shipped_ladder
from agents.arena.results import proportion, ratio, versions
from agents.arena.series import counting_hands, play_series
from agents.files import parse_json, read_bytes, write_json
from agents.levels.dial import DATA, GRID
from agents.levels.level import MATCHED, NAMES, load_level
from agents.levels.matched import MatchedPlayer
from agents.reports.terminal import progress_bar
from benchmarks.adaptation.dial import Several
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.tables.players import BasePlayer, Player, make_player

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


class _Switching(BasePlayer):
    """Two players in one seat of each slot, one after the other."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(SEED)
        self.players, self.hands = (make_player(first, SEED), make_player(second, SEED)), {}

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        assert slots is not None
        later = np.array([self.hands.get(slot, 0) >= SWITCH_AT for slot in slots.tolist()])
        actions = np.empty(len(views), np.int64)
        for player, rows in zip(self.players, (~later, later), strict=True):
            if rows.any():
                actions[rows] = player.act(views[rows], slots[rows])
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Counts finished hands."""
        assert slots is not None
        for slot in slots.tolist():
            self.hands[slot] = self.hands.get(slot, 0) + 1


def opponents() -> dict[str, Player]:
    """Whom it meets, by name."""
    found: dict[str, Player] = {name: make_player(name, SEED) for name in PLAYERS}
    found |= {f"{first}, then {second}": _Switching(first, second) for first, second in SWITCHES}
    styles = draw_styles(SEED, STYLES)
    return found | {f"style {k + 1}": StylePlayer(styles[k : k + 1], SEED) for k in range(STYLES)}


def true_rating(name: str, player: Player) -> float | None:
    """A player's rating: of a rung the ladder's, otherwise that of its hands against all rungs; ``None`` for two players in turn."""
    ladder = shipped_ladder()
    if isinstance(player, _Switching):
        return None
    if name in ladder.names:
        return ladder.rating_of(name)
    count, series = len(ladder.names), TRUE_HANDS // 10
    points = play_series(
        player, Several(ladder.names, SEED), series=count * series, hands=10, seed=SEED + 1, less_luck=True
    )
    played = {rung: points[k::count].ravel().tolist() for k, rung in enumerate(ladder.names)}
    return ladder.rate(played).rating


def play(names: list[str], players: dict[str, Player], series: int) -> list[dict[str, Any]]:
    """A block of opponents: their figures."""
    count = len(names)
    player = MatchedPlayer(load_level(MATCHED), SEED)
    ratings = np.zeros((count * series, len(RATED_AT), 3))
    places = np.zeros((count * series, HANDS))

    def after(views: np.ndarray, rows: np.ndarray, hands: np.ndarray) -> None:
        places[rows, hands] = player.places(rows, len(rows))
        for row, hand in zip(rows.tolist(), hands.tolist(), strict=True):
            if hand + 1 in RATED_AT:
                strength = player.opponents.strengths[player.rows_of(np.array([row]), 1)[0]]
                ratings[row, RATED_AT.index(hand + 1)] = player.dial.rating(strength)

    seats = Several([], SEED)
    seats.players = [players[name] for name in names]
    options: dict[str, Any] = {"series": count * series, "hands": HANDS, "seed": SEED, "less_luck": True}
    points = play_series(player, seats, after=after, **options)
    return [
        figures(name, players[name], points[k::count], ratings[k::count], places[k::count])
        for k, name in enumerate(names)
    ]


def _mean(points: np.ndarray) -> dict[str, float]:
    return ratio(points.mean(axis=1).astype(np.float64), np.ones(len(points))).to_dict()


def figures(name: str, player: Player, points: np.ndarray, ratings: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    """What is stored of an opponent: points per hand of ``matched``, and the ratings that it gave."""
    row: dict[str, Any] = {"opponent": name, "series": len(points), "place": round(float(places[:, -1].mean()), 2)}
    if isinstance(player, _Switching):
        row |= {"before": _mean(points[:, FIRST:SWITCH_AT]), "after": _mean(points[:, SWITCH_AT + AGAIN :])}
        return row | {"first_60": _mean(points[:, SWITCH_AT : SWITCH_AT + AGAIN])}
    true = true_rating(name, player)
    assert true is not None
    row |= {"first_40": _mean(points[:, :FIRST]), "points": _mean(points[:, FIRST:]), "true": round(true, 1)}
    row["at_the_end"] = {
        "lower": round(float((places[:, FIRST:] < 0.05).mean()), 3),
        "upper": round(float((places[:, FIRST:] > places_of_dial() - 0.05).mean()), 3),
    }
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


def places_of_dial() -> int:
    """The last place of the dial."""
    return len(load_level(MATCHED).dial.points) - 1  # type: ignore[union-attr]


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


def main() -> None:
    """Plays what is missing, and writes after each block."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--series", type=int, default=12, help="against each opponent")
    series, console = parser.parse_args().series, Console()
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
            rows += play(missing[at : at + BLOCK], players, series)
            write_json(RESULTS, {**head, "versions": versions(), **summary(rows), "opponents": rows})
    for row in rows:
        console.print(row["opponent"], row.get("points", row.get("after")))
    console.print(summary(rows))


if __name__ == "__main__":
    main()
