"""How long a table of a hundred thousand hands takes, how large it is, and whether it reads back the same.

`python -m benchmarks.speed.games_table` plays `network` against `formula` in one process, writes every decision as Parquet, reads the
file back, replays every hand and compares all columns. Figures go to `benchmarks/results/games_table.json`. The table itself goes to
`--table` and is removed unless `--keep` is given. With fewer `--hands`, name another `--out`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from agents.arena.matches import MatchSettings
from agents.datasets.data_card import card_path
from agents.datasets.source import PlayedGames
from agents.datasets.store import check_games, write_games
from agents.files import check_writable
from benchmarks.speed.throughput import write_results
from ginenv.errors import GinError

RESULTS = Path(__file__).parents[1] / "results" / "games_table.json"
PLAYERS = ("network", "formula")


def measure(hands: int, table: Path) -> dict[str, Any]:
    """Writes and checks a table; gives both wall-clock and processor seconds.

    Raises:
        GinError: if the table ended early, or does not read back the same.
    """
    found: dict[str, Any] = {"players": PLAYERS, "hands": hands}
    began = time.perf_counter(), time.process_time()

    def took(what: str) -> None:
        nonlocal began
        now = time.perf_counter(), time.process_time()
        found[f"{what}_seconds"], found[f"{what}_processor_seconds"] = (round(now[k] - began[k], 1) for k in range(2))
        began = now

    written = write_games(table, PlayedGames(PLAYERS, hands, MatchSettings(unit="hands", seed=1)), {"players": PLAYERS})
    took("write")
    if written.interrupted or written.hands != hands:
        raise GinError(f"{table} holds {written.hands} of {hands} hands: {written.interrupted}")
    checked = check_games(table)
    took("check")
    if (checked.hands, checked.rows) != (written.hands, written.rows):
        raise GinError(f"{table}: {checked.rows} of {written.rows} decisions were read back")
    return found | {"decisions": written.rows, "megabytes": round(table.stat().st_size / 1e6, 1)}


def main() -> None:
    """Parses the command line, measures, writes and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hands", type=int, default=100_000)
    parser.add_argument("--table", type=Path, default=Path("runs/games_table.parquet"))
    parser.add_argument("--keep", action="store_true", help="the table and its card")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    check_writable(options.out)
    found = measure(options.hands, options.table)
    write_results(options.out, f"python -m benchmarks.speed.games_table --hands {options.hands}", found)
    if not options.keep:
        options.table.unlink()
        card_path(options.table).unlink()
    print(
        f"{found['hands']:,} hands, {found['decisions']:,} decisions, {found['megabytes']} MB: written in "
        f"{found['write_seconds']:.0f} s ({found['write_processor_seconds']:.0f} s of processor time), read back and played again, "
        f"equal, in {found['check_seconds']:.0f} s ({found['check_processor_seconds']:.0f} s)"
    )


if __name__ == "__main__":
    main()
