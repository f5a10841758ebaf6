"""Does the analysis agree with the hints? Plays hands by hints alone, and counts the marks that the analysis gives them.

python -m benchmarks.strength.hints
python -m benchmarks.strength.hints --hands 40 --source formulas --out runs/hints.json

The analyst that judges has a seed of its own, so that it samples other worlds than the hints did. Its blunders are judged again in 16 times
as many worlds. The results file is written after every tenth hand; Ctrl-C leaves what is there.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.console import Console

from agents.analysis import MARKS, WORLDS, Analyst
from agents.arena.results import ratio, versions
from agents.files import write_json
from agents.play.hints import hint
from agents.play.moves import Turn
from agents.reports.terminal import progress_bar
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player

# Blunders are judged again in so many times the worlds. Hands between two writes.
TIMES, EVERY = 16, 10


@dataclass
class Arguments:
    """Command line.

    Attributes:
        hands: number of hands, each with a seed of its own.
        source: where hints come from, as in the option of the table.
        opponent: who plays against them.
        rules: of the hands.
        worlds: in which each decision is judged.
        out: JSON file to write.
    """

    hands: int = 200
    source: Literal["search", "formulas"] = "search"
    opponent: str = "network"
    rules: str = "dg-standard"
    worlds: int = WORLDS
    out: Path = Path("benchmarks/results/hints.json")


def play(number: int, arguments: Arguments, opponent: Any) -> Hand:
    """A hand of which seat 0 is played by hints."""
    hand = Hand.deal(arguments.rules, seed=number)
    while not hand.is_over:
        if hand.turn == 0:
            hand.push(hint(Turn(hand.view()[0], hand.rules), arguments.source)[0])
        else:
            hand.push(int(opponent.act(hand.view())[0]))
    return hand


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Marks per hand, with the interval by hands, and what became of the blunders."""
    marks = Counter(mark for row in rows for mark in row["marks"])
    ones = np.ones(len(rows))
    blunders = [each for row in rows for each in row["blunders"]]
    return {
        "hands": len(rows),
        "decisions": sum(row["decisions"] for row in rows),
        "marks_per_hand": ratio(np.array([len(row["marks"]) for row in rows], np.float64), ones).to_dict(),
        "marks": {mark: marks[mark] for mark in MARKS},
        "loss_per_decision": ratio(*(np.array([row[key] for row in rows]) for key in ("loss", "decisions"))).to_dict(),
        "blunders_confirmed": sum(each["mark"] == "blunder" for each in blunders),
        "blunders": blunders,
    }


def main() -> None:
    """Plays, judges, writes the JSON, prints the figures."""
    arguments, console = tyro.cli(Arguments, description=__doc__), Console()
    analyst, again = Analyst(arguments.worlds, seed=1), Analyst(TIMES * arguments.worlds, seed=2)
    opponent, rows = make_player(arguments.opponent, 1), []
    command = shlex.join(["python", "-m", "benchmarks.strength.hints", *sys.argv[1:]])
    settings = {name: str(value) for name, value in vars(arguments).items() if name != "out"}
    with progress_bar(console, arguments.hands, "hands") as done:
        for number in range(arguments.hands):
            hand = play(number, arguments, opponent)
            found = analyst.hand(hand, seat=0)
            marked = [each.decision for each in found.mistakes(0)]
            blunders = [
                again.decision(hand.after(each.move - 1).view(), hand.history[each.move - 1])
                for each in marked
                if each.mark == "blunder"
            ]
            rows.append(
                {
                    "decisions": found.sides[0].decisions,
                    "loss": found.sides[0].loss,
                    "marks": [each.mark for each in marked],
                    "blunders": [{"hand": number, "mark": each.mark, "loss": each.loss} for each in blunders],
                }
            )
            done(number + 1)
            if len(rows) % EVERY == 0 or len(rows) == arguments.hands:
                write_json(
                    arguments.out, {"command": command, "settings": settings, "versions": versions()} | summary(rows)
                )
    found = summary(rows)
    each = found["marks_per_hand"]
    console.print(
        f"{found['hands']} hands by hints ({arguments.source}): {each['mean']:.3f} marks per hand ({each['low']:.3f} to "
        f"{each['high']:.3f}), {found['marks']}; {found['blunders_confirmed']} blunders confirmed in {TIMES} times the worlds",
        highlight=False,
    )


if __name__ == "__main__":
    main()
