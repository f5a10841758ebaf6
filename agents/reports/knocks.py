"""When it can knock, how often does a player? By own turn and by deadwood left.

``python -m agents.reports.knocks network`` plays hands and prints the shares; gin is no choice and is left out. A player in the trap of
always knocking shows 100 per cent everywhere.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.hand_log import watch_hands
from agents.arena.results import versions
from agents.deals import Domain
from agents.files import write_json
from ginenv.errors import GinError
from ginenv.players import make_player
from ginenv.rules import get_rules

TURNS = ((1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 12))
DEADWOOD = ((1, 3), (4, 6), (7, 10))


@dataclass
class Arguments:
    """Command line.

    Attributes:
        player: name of the player, or a checkpoint's directory.
        opponent: who sits across; the player itself when left out.
        out: JSON to write.
        rules: preset.
        pairs: deals, each played twice.
        seed: of the deals.
    """

    player: tyro.conf.Positional[str]
    opponent: str = ""
    out: Path = Path("benchmarks/results/knocks.json")
    rules: str = "eaai"
    pairs: int = 2000
    seed: int = 1


def knock_shares(could: np.ndarray, did: np.ndarray) -> list[dict[str, Any]]:
    """Shares of the chances to knock that were used, by groups of turns and deadwood.

    Args:
        could: ``int[turns, deadwood]`` turns in which the player could knock, by own turn (from 0) and least deadwood.
        did: ``int[turns, deadwood]`` those in which it did.

    Returns:
        An entry for every group: turns, deadwood, chances, and the share that was used (``None`` where there were none).
    """
    entries = []
    for first, last in TURNS:
        for low, high in DEADWOOD:
            part = (slice(first - 1, last), slice(low, high + 1))
            chances, used = int(could[part].sum()), int(did[part].sum())
            share = used / chances if chances else None
            entries.append({"turns": [first, last], "deadwood": [low, high], "chances": chances, "knocked": share})
    return entries


def main() -> None:
    """Plays, prints a table, writes the JSON."""
    arguments = tyro.cli(Arguments)
    if arguments.pairs < 1:
        raise GinError(f"pairs is {arguments.pairs}; allowed is a whole number from 1")
    players = (
        make_player(arguments.player, arguments.seed),
        make_player(arguments.opponent or arguments.player, arguments.seed + 1),
    )
    style = watch_hands(
        players, get_rules(arguments.rules), arguments.pairs, arguments.seed, Domain.EVAL, lambda decisions: None
    )[0]
    entries = knock_shares(style["could_knock"], style["did_knock"])
    table = Table(
        title=f"Knocks of {arguments.player} when it can, {2 * arguments.pairs:,} hands", title_justify="left"
    )
    table.add_column("own turn")
    for low, high in DEADWOOD:
        table.add_column(f"deadwood {low}-{high}", justify="right")
    for row in range(len(TURNS)):
        cells = entries[row * len(DEADWOOD) : (row + 1) * len(DEADWOOD)]
        shares = (
            "–" if cell["knocked"] is None else f"{100 * cell['knocked']:.0f} % of {cell['chances']:,}"
            for cell in cells
        )
        table.add_row(f"{TURNS[row][0]}-{TURNS[row][1]}", *shares)
    write_json(
        arguments.out,
        {
            "command": f"python -m agents.reports.knocks {' '.join(sys.argv[1:])}",
            "player": arguments.player,
            "opponent": arguments.opponent or arguments.player,
            "rules": arguments.rules,
            "hands": 2 * arguments.pairs,
            "groups": entries,
            "versions": versions(),
        },
    )
    Console().print(table)


if __name__ == "__main__":
    try:
        main()
    except GinError as error:
        sys.exit(f"knock_report: {error}")
