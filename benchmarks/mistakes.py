"""Do mistakes mean something? The mean loss per decision of players of known strength, and blunders looked at again.

python -m benchmarks.mistakes                       500 hands of each player, 200 games of every two of them, in some hours
python -m benchmarks.mistakes --hands 40 --pairs 10 --confirm 10 --out runs/mistakes --results runs/mistakes/results.json

Every player plays the same deals against the same opponent under ``eaai``, from 0 : 0 with the game to 100 points before it; all its
decisions are judged as ``gin analyse`` judges them. The order of the players by loss is compared with their ratings in a tournament
among themselves (Spearman's rank correlation). Then blunders are drawn at random and judged again in 16 times the worlds, from another
seed: that tells how many are mere noise of the worlds, not whether the critic that judges all of them is right.

What was found is written after every tenth hand; the same command goes on where it was stopped, and with larger counts plays what is
missing.
"""

from __future__ import annotations

import argparse
import json
import time
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
from agents.arena.tournament import Tournament
from agents.config import parse_config
from agents.files import write_json
from agents.levels.level import NAMES
from ginenv.hand import Hand
from ginenv.players import make_player

RESULTS = Path(__file__).parent / "results" / "mistakes.json"
PLAYERS = {"random": "random", **{name: f"{name}:learn=false" for name in NAMES}, "network": "network"}
RULES = "eaai"
# Hands between two writes.
EVERY = 10
ALL = (*MARKS, UNCLEAR, "")
# The bars: rank correlation, and the part of the blunders that are mistakes in this many times the worlds, too.
SPEARMAN, CONFIRMED, TIMES = 0.9, 0.8, 16


class Kept:
    """The results on disk; of other settings or weights they are begun anew.

    Args:
        path: the file.
        asked: what they depend on.
    """

    def __init__(self, path: Path, asked: dict[str, Any]) -> None:
        self.path = path
        self.found: dict[str, Any] = {"asked": asked, "players": {}, "confirmed": {}}
        if path.exists():
            known = json.loads(path.read_text(encoding="utf-8"))
            if known["asked"] == asked:
                self.found = known

    def write(self) -> None:
        """Writes them."""
        write_json(self.path, self.found)


def judge_hands(name: str, kept: Kept, analyst: Analyst, opponent: str, hands: int, console: Console) -> None:
    """Plays and judges the hands of a player that are missing: of each its decisions, their loss, and what was marked."""
    rows: list[dict[str, Any]] = kept.found["players"].setdefault(name, [])
    if len(rows) >= hands:
        return
    seats = make_player(PLAYERS[name], 1), make_player(opponent, 2)
    began = time.process_time()
    for number in range(len(rows), hands):
        seat = number % 2
        hand = Hand.deal(RULES, seed=number)
        play_out(hand, seats if seat == 0 else seats[::-1])
        found = analyst.hand(hand, seat=seat)
        marked = [
            [each.move, each.mark, each.kind, round(each.loss or 0.0, 4), round(each.error, 4)]
            for each in found.mistakes(seat)
        ]
        side = found.sides[seat]
        rows.append({"decisions": side.decisions, "loss": side.loss, "marked": marked, "history": hand.history})
        if len(rows) % EVERY == 0 or len(rows) == hands:
            kept.write()
    console.print(f"{name}: {hands} hands, {time.process_time() - began:.0f} s of processor time", highlight=False)


def confirm(name: str, kept: Kept, worlds: int, count: int) -> None:
    """Judges blunders of a player again in more worlds: of each the mark there, and both losses."""
    rows = kept.found["players"][name]
    places = [(n, *mark) for n, row in enumerate(rows) for mark in row["marked"] if mark[1] == "blunder"]
    done: dict[str, Any] = kept.found["confirmed"].setdefault(name, {})
    judge = Analyst(TIMES * worlds, seed=1)
    for at in np.random.default_rng(0).permutation(len(places))[:count]:
        number, move, _, _, loss, _ = places[int(at)]
        key = f"{number}-{move}"
        if key in done:
            continue
        hand = Hand.deal(RULES, seed=number)
        hand.push_all(rows[number]["history"][: move - 1])
        again = judge.decision(hand.view(), rows[number]["history"][move - 1])
        done[key] = {"loss": loss, "again": again.loss, "error": again.error, "mark": again.mark}
        kept.write()


def spearman(one: list[float], other: list[float]) -> float:
    """Spearman's rank correlation of two lists without equal values."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(ranks)[0, 1])


def loss_per_decision(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The mean loss per decision, and the half-width of its 95 % interval by hands (a ratio's, linearised)."""
    losses, counts = (np.array([row[key] for row in rows], np.float64) for key in ("loss", "decisions"))
    mean = losses.sum() / counts.sum()
    spread = (losses - mean * counts).std(ddof=1) / counts.mean()
    return float(mean), float(1.96 * spread / np.sqrt(len(rows)))


def report(kept: Kept, ratings: dict[str, Any], console: Console) -> dict[str, Any]:
    """The table, and what follows from it."""
    table = Table(
        title="loss per decision in percent of the game, and the part of decisions with each mark", box=box.SIMPLE
    )
    for heading in ("", "rating", "loss", *(f"{mark} %" for mark in MARKS), "judged again"):
        table.add_column(heading, justify="right" if heading else "left")
    losses, summary = {}, {}
    for name, rows in kept.found["players"].items():
        mean, half = loss_per_decision(rows)
        decisions = sum(row["decisions"] for row in rows)
        share = {mark: sum(m[1] == mark for row in rows for m in row["marked"]) / decisions for mark in MARKS}
        again = list(kept.found["confirmed"].get(name, {}).values())
        losses[name] = mean
        summary[name] = {"hands": len(rows), "decisions": decisions, "loss": mean, "half": half, "marks": share}
        still = " / ".join(str(sum(each["mark"] in marks for each in again)) for marks in (("blunder",), MARKS, ALL))
        rating = ratings[name]
        table.add_row(
            name,
            f"{rating['rating']:+.0f} ({rating['low']:+.0f} to {rating['high']:+.0f})",
            f"{100 * mean:.3f} ± {100 * half:.3f}",
            *(f"{100 * share[mark]:.2f}" for mark in MARKS),
            still,
        )
    table.caption = f"judged again in {TIMES} times the worlds: still blunders / still mistakes / blunders drawn"
    console.print(table)
    names = list(losses)
    rank = spearman([-losses[name] for name in names], [ratings[name]["rating"] for name in names])
    checked = [each for found in kept.found["confirmed"].values() for each in found.values()]
    blunders, marked = (
        sum(each["mark"] in marks for each in checked) / max(1, len(checked)) for marks in (("blunder",), MARKS)
    )
    console.print(
        f"Spearman {rank:.3f} (bar {SPEARMAN}); of {len(checked)} blunders {100 * blunders:.0f} % are blunders in {TIMES} times the "
        f"worlds (bar {100 * CONFIRMED:.0f} %), {100 * marked:.0f} % mistakes",
        highlight=False,
    )
    return {
        "players": summary,
        "spearman": rank,
        "blunders": len(checked),
        "confirmed": blunders,
        "still_marked": marked,
    }


def main() -> None:
    """Plays and judges what is missing, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hands", type=int, default=500, help="of each player")
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--confirm", type=int, default=100, help="blunders of each player to judge again")
    parser.add_argument("--pairs", type=int, default=100, help="mirrored games of every two players, for the ratings")
    parser.add_argument("--opponent", default="formula")
    parser.add_argument("--out", type=Path, default=Path("runs/mistakes"), help="of the tournament")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    console, analyst = Console(), Analyst(asked.worlds)
    played = {"players": PLAYERS, "rules": RULES, "pairs": asked.pairs, "block": min(50, asked.pairs), "out": asked.out}
    tournament = Tournament(parse_config(played, TournamentConfig))
    kept = Kept(asked.results, {"analyst": analyst.name, "opponent": asked.opponent, "weights": tournament.made_of})
    for name in PLAYERS:
        judge_hands(name, kept, analyst, asked.opponent, asked.hands, console)
    for name in PLAYERS:
        confirm(name, kept, asked.worlds, asked.confirm)
    tournament.play()
    ratings = tournament.standings().to_dict()["ratings"]
    kept.found["ratings"] = ratings
    kept.found["summary"] = report(kept, ratings, console)
    kept.write()


if __name__ == "__main__":
    main()
