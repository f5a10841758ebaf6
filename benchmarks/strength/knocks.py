"""How often a player knocks when it can. A player in the trap of always knocking shows 100 per cent everywhere.

python -m benchmarks.strength.knocks network
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agents.arena.hand_log import watch_hands
from agents.arena.results import versions
from agents.deal_streams import Domain
from agents.files import write_json
from agents.reports.knocks import DEADWOOD, TURN_RANGES, knock_shares
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from ginenv.tables.players import make_player


@dataclass
class Arguments:
    """Command line.

    Attributes:
        player: name of the player, or a checkpoint's directory.
        opponent: the opponent; the player itself when left out.
        out: JSON file to write.
        rules: preset.
        pairs: number of deals, each played twice.
        seed: seed of the deals.
    """

    player: tyro.conf.Positional[str]
    opponent: str = ""
    out: Path = Path("benchmarks/results/knocks.json")
    rules: str = "eaai"
    pairs: int = 2000
    seed: int = 1


def main() -> None:
    """Plays, writes the JSON, prints a table."""
    arguments = tyro.cli(Arguments)
    if arguments.pairs < 1:
        raise GinError(f"pairs is {arguments.pairs}; allowed is a whole number from 1")
    opponent = arguments.opponent or arguments.player
    players = make_player(arguments.player, arguments.seed), make_player(opponent, arguments.seed + 1)
    stats = watch_hands(
        players, get_rules(arguments.rules), arguments.pairs, arguments.seed, Domain.EVAL, lambda decisions: None
    )
    entries = knock_shares(stats["could_knock"][0], stats["did_knock"][0])
    document = {
        "command": f"python -m benchmarks.strength.knocks {' '.join(sys.argv[1:])}",
        "player": arguments.player,
        "opponent": opponent,
        "rules": arguments.rules,
        "hands": 2 * arguments.pairs,
        "groups": entries,
        "versions": versions(),
    }
    write_json(arguments.out, document)
    title = f"Knocks of {escape(arguments.player)} when it can, {2 * arguments.pairs:,} hands"
    table = Table("own turn", title=title, title_justify="left")
    for low, high in DEADWOOD:
        table.add_column(f"deadwood {low}-{high}", justify="right")
    for row, (first, last) in enumerate(TURN_RANGES):
        cells = entries[row * len(DEADWOOD) : (row + 1) * len(DEADWOOD)]
        shares = ("–" if c["knocked"] is None else f"{100 * c['knocked']:.0f} % of {c['chances']:,}" for c in cells)
        table.add_row(f"{first}-{last}", *shares)
    Console().print(table)


if __name__ == "__main__":
    try:
        main()
    except GinError as error:
        sys.exit(f"knocks: {error}")
