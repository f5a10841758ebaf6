"""What the search is worth: its strength by budget, and without its policy weight.

python -m benchmarks.strength.search_strength --games 400                          all rows, against simple and the network
python -m benchmarks.strength.search_strength --games 2000 --only "128 worlds"     one of them

Games are played under ``eaai`` on mirrored deals that nothing was tuned on, the same deals for all rows. Results are saved after
every row. A row that exists already is not played again; rows of a network other than the one that ships are dropped.
"""

from __future__ import annotations

import json
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from agents.arena import play_match
from agents.files import write_json
from agents.network.checkpoint import read_metadata
from agents.network.player import SHIPPED

RESULTS = Path(__file__).parents[1] / "results" / "search_strength.json"
ROWS = {f"{worlds} worlds": f"search:worlds={worlds}" for worlds in (16, 32, 64, 128, 256, 512, 1024)} | {
    "no weight on the policy (64 worlds)": "search:worlds=64,policy_weight=0"
}


def main(
    games: int = 400, opponents: tuple[str, ...] = ("simple", "network"), only: tuple[str, ...] = (), seed: int = 1
) -> None:
    """Plays what is missing, and prints the table, of rows that begin with one of the words of ``only`` if there are any."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    network = read_metadata(SHIPPED)["weights_sha256"]
    results = {key: row for key, row in found.items() if row.get("network") == network}
    table = Table("", *opponents, "ms a decision")
    for name, player in ROWS.items():
        if only and not name.startswith(only):
            continue
        cells, cost = [], 0.0
        for opponent in opponents:
            key = f"{player} – {opponent} – {games} games, seed {seed}"
            if key not in results:
                match = play_match(player, opponent, rules="eaai", pairs=games // 2, seed=seed)
                results[key] = match.to_dict() | {"network": network}
                write_json(RESULTS, results)
            share = results[key]["share"]
            cells.append(f"{100 * share['mean']:.1f} ({100 * share['low']:.1f} to {100 * share['high']:.1f})")
            cost = results[key]["style"][0]["ms_per_decision"]
        table.add_row(name, *cells, f"{cost:.2f}")
    Console().print(table)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
