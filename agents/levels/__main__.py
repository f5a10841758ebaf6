"""``python -m agents.levels``: what a level is and has learned, how it is put back, exported, imported and built.

python -m agents.levels show level-2
python -m agents.levels learned level-2 --home DIRECTORY --opponent NAME
python -m agents.levels reset level-2 --home DIRECTORY
python -m agents.levels export level-2 DIRECTORY
python -m agents.levels import DIRECTORY DESTINATION
python -m agents.levels variety level-2
python -m agents.levels rate runs/levels_tournament/results.json
python -m agents.levels build --config configs/levels_installed.yaml --out agents/levels/installed
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agents.bots.heuristics import make_formula
from agents.levels.bench.rating import rate_levels, read_rating
from agents.levels.bench.variety import measure_variety
from agents.levels.build import build_levels
from agents.levels.level import NAMES, load_level
from agents.levels.profile import reset_level
from agents.levels.transfer import export_level, import_level
from agents.levels.words import what_did_you_learn
from ginenv.errors import GinError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m agents.levels", description="Levels: what they are and have learned.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="a level's card")
    show.add_argument("level", nargs="?", help="name or directory; all installed ones when left out")
    for name, words in (("learned", "what a level has learned"), ("reset", "put a level back to how it was installed")):
        command = commands.add_parser(name, help=words)
        command.add_argument("level")
        command.add_argument("--home", type=Path, required=True, help="directory that holds what levels learned")
        if name == "learned":
            command.add_argument("--opponent", help="of whom; everybody when left out")
    export = commands.add_parser("export", help="write a level as a directory of its own")
    export.add_argument("level")
    export.add_argument("directory", type=Path)
    taken = commands.add_parser("import", help="take in a level that somebody else made, after checking it")
    taken.add_argument("source", type=Path)
    taken.add_argument("directory", type=Path)
    variety = commands.add_parser("variety", help="how differently a level plays the same deals, and what that costs")
    variety.add_argument("level")
    variety.add_argument("--deals", type=int, default=100)
    variety.add_argument("--plays", type=int, default=1000, help="of each deal")
    variety.add_argument("--hands", type=int, default=20000, help="hands for the cost")
    rate = commands.add_parser("rate", help="put what a tournament told of levels on their cards")
    rate.add_argument("results", type=Path, help="of evaluate.py tournament configs/levels_tournament.yaml")
    build = commands.add_parser("build", help="make levels of a training run")
    build.add_argument("--config", type=Path, required=True)
    build.add_argument("--out", type=Path, required=True)
    return parser


def _variety(name: str, deals: int, plays: int, hands: int) -> str:
    level = load_level(name)
    seen = measure_variety(level, make_formula(1), deals, plays, hands)
    return (
        f"{level.name}, {deals} deals {plays} times against formula: median {np.median(seen.different):.0f} different hands, "
        f"commonest hand {100 * np.median(seen.commonest):.1f} % in the median deal, {100 * seen.commonest.max():.1f} % in the worst; "
        f"against its most probable choices that costs {seen.cost.text()} points a hand ({hands} hands)"
    )


def run(arguments: Sequence[str]) -> str:
    """Carries out a command line; returns what there is to say."""
    chosen = _parser().parse_args(arguments)
    if chosen.command == "show":
        cards = []
        for name in [chosen.level] if chosen.level else NAMES:
            level = load_level(name)
            card = {"name": level.name, "sha256": level.digest, "settings": level.settings.model_dump()}
            cards.append(json.dumps(card | {"about": level.about, "measured": read_rating(level)}, indent=2))
        return "\n".join(cards)
    if chosen.command == "learned":
        return what_did_you_learn(chosen.home, load_level(chosen.level), chosen.opponent)
    if chosen.command == "variety":
        return _variety(chosen.level, chosen.deals, chosen.plays, chosen.hands)
    if chosen.command == "rate":
        return "\n".join(rate_levels(chosen.results))
    if chosen.command == "reset":
        return reset_level(chosen.home, load_level(chosen.level))
    if chosen.command == "export":
        level = export_level(chosen.level, chosen.directory)
        return f"{level.name} is in {chosen.directory} (sha256 {level.digest})."
    if chosen.command == "import":
        level = import_level(chosen.source, chosen.directory)
        return f"{level.name} was checked and is in {chosen.directory} (sha256 {level.digest})."
    built = build_levels(chosen.config, chosen.out)
    return "\n".join(f"{level.name}: {level.directory} (sha256 {level.digest})" for level in built)


if __name__ == "__main__":
    try:
        print(run(sys.argv[1:]))
    except GinError as error:
        sys.exit(f"agents.levels: {error}")
