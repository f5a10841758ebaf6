"""Who is better, by how much, and is it real: matches on mirrored deals, with intervals.

python evaluate.py A B --rules eaai --games 10000     a match
python evaluate.py A                                  one player against the panel
"""

from __future__ import annotations

import sys

import tyro
from rich.console import Console

from agents.arena.configs import PANEL, MatchConfig, parse_rules
from agents.arena.matches import play_match
from agents.arena.sequential import SequentialTest
from agents.arena.show import match_tables, panel_table, progress_bar, results_document, write_json
from ginenv.errors import GinError


def match(arguments: list[str], console: Console) -> None:
    """Plays a match, or one player against the panel, prints tables and writes a results file."""
    config = tyro.cli(MatchConfig, prog="evaluate.py", args=arguments)
    if not 1 <= len(config.players) <= 2:
        raise GinError(f"{len(config.players)} players were named; allowed are one (it meets the panel) or two")
    first = config.players[0]
    others = config.players[1:] or PANEL
    unit, count = ("hands", config.hands) if config.hands else ("games", config.games)
    pairs = (count + 1) // 2
    test = SequentialTest(config.margin, config.alpha, config.beta) if config.until_significant else None
    results = []
    for other in others:
        with progress_bar(console, 2 * pairs, f"{first} – {other}") as tick:
            result = play_match(
                first,
                other,
                rules=parse_rules(config.rules),
                pairs=pairs,
                unit=unit,
                seed=config.seed,
                workers=config.workers,
                batch=config.batch,
                forfeit=config.forfeit,
                luck=config.luck,
                until=test,
                progress=tick,
            )
        results.append(result)
        if result.pairs < pairs and test is None:
            console.print(f"interrupted after {result.pairs:,} of {pairs:,} pairs")
            break
    for table in match_tables(results[0]) if len(others) == 1 else [panel_table(results)]:
        console.print(table)
    write_json(config.out, results_document(results))
    console.print(f"results: {config.out}")


def main() -> None:
    """Runs what the command line asks for; an error is one sentence and a non-zero exit."""
    try:
        match(sys.argv[1:], Console())
    except GinError as error:
        sys.exit(f"evaluate.py: {error}")
    except KeyboardInterrupt:
        sys.exit("evaluate.py: interrupted before anything was finished")


if __name__ == "__main__":
    main()
