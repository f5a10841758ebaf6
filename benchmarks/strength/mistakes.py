"""Do mistakes mean something? Measures the mean loss per decision of players of known strength, and judges blunders again.

python -m benchmarks.strength.mistakes                       500 hands of each player, 200 games of every two of them
python -m benchmarks.strength.mistakes --hands 40 --pairs 10 --confirm 10 --out runs/mistakes --results runs/mistakes/results.json

Every player plays the same deals against the same opponent under ``eaai``, from 0 : 0 with the game to 100 points ahead. All its
decisions are judged as by ``gin analyse``. The order of the players by loss is compared with their ratings in a tournament among
themselves (Spearman's rank correlation). Then blunders are drawn at random and judged again in 16 times the worlds, from another seed.
That shows how many are mere noise of the worlds, not whether the critic that judges all of them is right.

The thresholds of the marks are useful if every mark gets rarer per hand from level 1 to 2 to 3, and if blunders are still found in more
worlds.

Results are written to ``--out`` after every tenth hand. The same command continues where it was stopped, and with larger counts plays
what is missing. Progress and time left are shown meanwhile (without a terminal: a line a minute).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from agents.analysis import MARKS, Analyst
from agents.analysis.marks import UNCLEAR
from agents.analysis.sources import play_out
from agents.arena.configs import TournamentConfig
from agents.arena.results import ratio
from agents.arena.tournament import Tournament
from agents.config import parse_config
from agents.files import write_json
from agents.levels.level import NAMES
from agents.reports.terminal import progress_bar
from ginenv.hands.hand import Hand
from ginenv.tables.players import Player, make_player

RESULTS = Path(__file__).parents[1] / "results" / "mistakes.json"
PLAYERS = {"random": "random", **{name: f"{name}:learn=false" for name in NAMES}, "network": "network"}
RULES = "eaai"
# Hands between two writes.
EVERY = 10
ALL = (*MARKS, UNCLEAR, "")
# The bars: rank correlation, and the fraction of blunders that are still blunders in this many times the worlds.
SPEARMAN, CONFIRMED, TIMES = 0.9, 0.8, 16


class StoredDecisions:
    """The judgements kept on disk; with other settings or weights they start afresh.

    Args:
        path: the file.
        asked: the settings and weights that the judgements depend on.
    """

    def __init__(self, path: Path, arguments: dict[str, Any]) -> None:
        self.path = path
        self.found: dict[str, Any] = {"arguments": arguments, "players": {}, "confirmed": {}}
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["arguments"] == arguments:
                self.found = found

    def write(self) -> None:
        """Writes the file."""
        write_json(self.path, self.found)


def analyse_hands(
    name: str, stored: StoredDecisions, analyst: Analyst, opponent: str, hands: int, console: Console
) -> None:
    """Plays and judges a player's missing hands; keeps for each its number of decisions, their loss, and what was marked."""
    rows: list[dict[str, Any]] = stored.found["players"].setdefault(name, [])
    if len(rows) >= hands:
        return
    seats = make_player(PLAYERS[name], 1), make_player(opponent, 2)
    began = time.process_time()
    with progress_bar(console, hands, f"{name}, hands") as tick:
        tick(len(rows))
        _analyse_missing(rows, seats, stored, analyst, hands, tick)
    console.print(f"{name}: {hands} hands, {time.process_time() - began:.0f} s of processor time", highlight=False)


def _analyse_missing(
    rows: list[dict[str, Any]],
    seats: tuple[Player, Player],
    stored: StoredDecisions,
    analyst: Analyst,
    hands: int,
    tick: Callable[[int], None],
) -> None:
    for number in range(len(rows), hands):
        seat = number % 2
        hand = Hand.deal(RULES, seed=number)
        play_out(hand, seats if seat == 0 else seats[::-1])
        found = analyst.hand(hand, seat=seat)
        marked = [
            [each.move, each.mark, each.kind, round(each.loss or 0.0, 4), round(each.error, 4)]
            for each in (mistake.decision for mistake in found.mistakes(seat))
        ]
        side = found.sides[seat]
        rows.append({"decisions": side.decisions, "loss": side.loss, "marked": marked, "history": hand.history})
        tick(len(rows))
        if len(rows) % EVERY == 0 or len(rows) == hands:
            stored.write()


def confirm(name: str, stored: StoredDecisions, worlds: int, count: int, console: Console) -> None:
    """Judges blunders of a player again in more worlds; keeps for each the new mark and both losses."""
    rows = stored.found["players"][name]
    places = [(n, *mark) for n, row in enumerate(rows) for mark in row["marked"] if mark[1] == "blunder"]
    done: dict[str, Any] = stored.found["confirmed"].setdefault(name, {})
    analyse = Analyst(TIMES * worlds, seed=1)
    drawn = [places[int(at)] for at in np.random.default_rng(0).permutation(len(places))[:count]]
    with progress_bar(console, len(drawn), f"{name}, blunders judged again") as tick:
        for number, (hand_number, move, _, _, loss, _) in enumerate(drawn, 1):
            key = f"{hand_number}-{move}"
            if key not in done:
                hand, history = Hand.deal(RULES, seed=hand_number), rows[hand_number]["history"]
                hand.push_all(history[: move - 1])
                again = analyse.decision(hand.view(), history[move - 1])
                done[key] = {"loss": loss, "again": again.loss, "error": again.error, "mark": again.mark}
                stored.write()
            tick(number)


def spearman(one: list[float], other: list[float]) -> float:
    """Spearman's rank correlation of two lists without equal values."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def loss_per_decision(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The mean loss per decision, and the half-width of its 95 % interval by hands (of a ratio, linearised)."""
    losses, counts = (np.array([row[key] for row in rows], np.float64) for key in ("loss", "decisions"))
    found = ratio(losses, counts)
    return found.mean, found.half


def report(stored: StoredDecisions, ratings: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The summary of the findings, and what is shown of it."""
    table = Table(title="loss per decision in percent of the game, and marks per hand", box=box.SIMPLE)
    for heading in ("", "rating", "loss", *MARKS, "judged again"):
        table.add_column(heading, justify="right" if heading else "left")
    losses, summary = {}, {}
    for name, rows in stored.found["players"].items():
        mean, half = loss_per_decision(rows)
        decisions = sum(row["decisions"] for row in rows)
        share = {mark: sum(m[1] == mark for row in rows for m in row["marked"]) / decisions for mark in MARKS}
        again = list(stored.found["confirmed"].get(name, {}).values())
        losses[name] = mean
        summary[name] = {"hands": len(rows), "decisions": decisions, "loss": mean, "half": half, "marks": share}
        still = " / ".join(str(sum(each["mark"] in marks for each in again)) for marks in (("blunder",), MARKS, ALL))
        rating = ratings[name]
        table.add_row(
            name,
            f"{rating['rating']:+.0f} ({rating['low']:+.0f} to {rating['high']:+.0f})",
            f"{100 * mean:.3f} ± {100 * half:.3f}",
            *(f"{share[mark] * decisions / len(rows):.2f}" for mark in MARKS),
            still,
        )
    table.caption = f"judged again in {TIMES} times the worlds: still blunders / still mistakes / blunders drawn"
    names = list(losses)
    rank = spearman([-losses[name] for name in names], [ratings[name]["rating"] for name in names])
    checked = [each for found in stored.found["confirmed"].values() for each in found.values()]
    blunders, marked = (
        sum(each["mark"] in marks for each in checked) / max(1, len(checked)) for marks in (("blunder",), MARKS)
    )
    words = (
        f"Spearman {rank:.3f} (bar {SPEARMAN}); of {len(checked)} blunders {100 * blunders:.0f} % are blunders in {TIMES} times the "
        f"worlds (bar {100 * CONFIRMED:.0f} %), {100 * marked:.0f} % mistakes"
    )
    summary = {
        "players": summary,
        "spearman": rank,
        "blunders": len(checked),
        "confirmed": blunders,
        "still_marked": marked,
    }
    return summary, [table, words]


def main() -> None:
    """Plays and judges what is missing, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hands", type=int, default=500, help="of each player")
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--confirm", type=int, default=100, help="blunders of each player to judge again")
    parser.add_argument("--pairs", type=int, default=100, help="mirrored games of every two players, for the ratings")
    parser.add_argument("--opponent", default="formula")
    parser.add_argument("--out", type=Path, default=Path("runs/mistakes"), help="hands and games")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    console, analyst = Console(), Analyst(arguments.worlds)
    played = {
        "players": PLAYERS,
        "rules": RULES,
        "pairs": arguments.pairs,
        "block": min(50, arguments.pairs),
        "out": arguments.out,
    }
    tournament = Tournament(parse_config(played, TournamentConfig))
    depends = {"format": 3, "analyst": analyst.name, "opponent": arguments.opponent, "weights": tournament.versions_of}
    stored = StoredDecisions(arguments.out / "judged.json", depends)
    for name in PLAYERS:
        analyse_hands(name, stored, analyst, arguments.opponent, arguments.hands, console)
    for name in PLAYERS:
        confirm(name, stored, arguments.worlds, arguments.confirm, console)
    with progress_bar(console, len(tournament.blocks()), "games of the tournament, blocks") as tick:
        tournament.play(tick)
    ratings = tournament.standings().to_dict()["ratings"]
    command = shlex.join(["python", "-m", "benchmarks.strength.mistakes", *sys.argv[1:]])
    summary, shown = report(stored, ratings)
    write_json(arguments.results, {"command": command, "arguments": depends, "ratings": ratings, "summary": summary})
    console.print(*shown, sep="\n", highlight=False)


if __name__ == "__main__":
    main()
