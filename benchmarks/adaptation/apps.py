"""How strong exported levels play beside the levels themselves, and how far apart they stand. Takes minutes.

python -m benchmarks.adaptation.apps runs/app/level-1 runs/app/level-2 runs/app/level-3

The directories are exports (``gin export LEVEL --app DIRECTORY``) of the levels as installed, the weakest first. Each plays its own level,
which does not learn; neighbours play each other, as exports and as levels. Luck is subtracted.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from agents.arena import MatchSettings, play_match
from agents.arena.results import versions
from agents.arena.series import counting_hands
from agents.files import write_json
from agents.levels.app import load_app
from agents.levels.level import LevelError, load_level
from agents.reports.terminal import progress_bar
from ginenv.engine.rules import get_rules

RESULTS = Path(__file__).resolve().parents[1] / "results" / "app.json"
RULES, SEED = "dg-standard", 4833


def points(a: str, b: str, hands: int) -> dict[str, float | None]:
    """Points per hand of one player against another."""
    settings = MatchSettings(rules=get_rules(RULES), unit="hands", seed=SEED)
    return play_match(a, b, pairs=hands // 2, unit="hands", settings=settings).points.to_dict()


def exported(directory: str) -> dict[str, Any]:
    """What an export is made of.

    Raises:
        LevelError: if the level that is installed is another one by now.
    """
    level = load_app(directory).level
    installed = load_level(level.name, with_responses=False)
    if level.about["level_sha256"] != installed.digest:
        raise LevelError(f"{directory}: {level.name} is another one by now; export it again")
    behaviour = {"max_logit_gap": (level.settings.max_logit_gap, installed.settings.max_logit_gap)}
    return {"level": level.name, "network_sha256": level.digest, **level.about, **behaviour}


def main() -> None:
    """Plays and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directories", nargs="+", help="exports, the weakest level first")
    parser.add_argument("--hands", type=int, default=4000, help="in each match")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    apps, hands = arguments.directories, arguments.hands
    rows, console = [exported(app) for app in apps], Console()
    levels = [f"{row['level']}:learn=false" for row in rows]
    command = f"python -m benchmarks.adaptation.apps {' '.join(apps)} --hands {hands}"
    head = {"command": command, "rules": RULES, "seed": SEED, "hands": 2 * (hands // 2), "versions": versions()}
    rungs: list[dict[str, Any]] = []
    with progress_bar(console, (3 * len(apps) - 2) * hands, "hands") as tick, counting_hands(tick):
        for row, app, level in zip(rows, apps, levels, strict=True):
            row["points"] = points(app, level, hands)
        for (weak, strong), real in zip(itertools.pairwise(apps), itertools.pairwise(levels), strict=True):
            names = [name.partition(":")[0] for name in real]
            rungs.append({"levels": names, "exported": points(weak, strong, hands), "installed": points(*real, hands)})
    write_json(arguments.out, {**head, "exports": rows, "rungs": rungs})
    for row in (*rows, *rungs):
        console.print(row)


if __name__ == "__main__":
    main()
