"""Is a declined knock judged right? The search values it as in training, where a seat that declines a knock is bound to gin.

python -m benchmarks.strength.declined_knocks
python -m benchmarks.strength.declined_knocks --positions 40 --worlds 64 --out runs/declined_knocks.json

Positions are decisions of the network's hands at which it may knock without gin. In the same sampled worlds, the best discard without a
knock is valued four ways: by the critic with the seat bound to gin and with the seat free to knock later, and by rollouts of the network
to the end of the hand, bound and free. The knock itself is valued exactly. What the free rollouts are worth above the bound critic is the
bias of judging declined knocks as bound; a decision is misjudged where it changes the better action by more than the least mark.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.analysis.marks import THRESHOLDS
from agents.arena.results import ratio, versions
from agents.deal_streams import Domain, deal_keys
from agents.files import write_json
from agents.network.player import make_network
from agents.reports.terminal import progress_bar
from agents.search import make_search
from agents.search.player import _Batch
from agents.search.world_values import BRANCH
from benchmarks.strength.headroom import start, tick
from ginenv.bots.hand_kernels import least_deadwood
from ginenv.engine.actions import KNOCK, PHASE_DISCARD
from ginenv.engine.engine import STATE
from ginenv.engine.rules import get_rules
from ginenv.view.view import make_views

WAYS = ("bound critic", "free critic", "bound rollouts", "free rollouts")


@dataclass
class Arguments:
    """Command line.

    Attributes:
        positions: number of positions.
        worlds: worlds in which each is valued; one rollout of each kind in each world.
        seed: seed of the deals.
        rules: preset.
        out: JSON file to write.
    """

    positions: int = 300
    worlds: int = 512
    seed: int = 7
    rules: str = "eaai"
    out: Path = Path("benchmarks/results/declined_knocks.json")


def positions(count: int, seed: int, rules: str) -> np.ndarray:
    """Views of the seat to move that may knock without gin, at most one of a hand: ``VIEW[count]``."""
    players = make_network(seed, commits=False), make_network(seed + 1, commits=False)
    luck, found = np.random.default_rng(seed), []
    hands = 8 * count
    states = np.zeros(hands, STATE)
    states["rules"] = get_rules(rules).block
    states["key"] = deal_keys(Domain.EVAL, seed, 0, hands)
    start(states)
    seen = np.zeros(hands, bool)
    going = True
    while going:
        rows = np.flatnonzero((states["phase"] == PHASE_DISCARD) & ~seen)
        views = make_views(states[rows], states["turn"][rows])
        for row, view in zip(rows, views, strict=True):
            knocks = np.int64(view["legal"][1])
            if knocks and view["legal"][0] and least_deadwood(view["hand"], knocks)[1] > 0 and luck.random() < 0.5:
                found.append(view)
                seen[row] = True
        going = tick(states, players, states["turn"].astype(np.int64), luck)
    return np.array(found[:count])


def values_of(search: Any, view: np.ndarray, players: Any, luck: np.random.Generator) -> dict[str, float]:
    """The values of the best knock and of the best other discard, the latter in four ways, in the same worlds."""
    batch = _Batch(search, view, None)
    hand, knocks = np.int64(view["hand"][0]), np.int64(view["legal"][0, 1])
    knock = KNOCK + int(least_deadwood(hand, knocks)[0]).bit_length() - 1
    batch.add_candidate(0, knock)
    workspace, found = search.workspaces[0], batch.candidates(0)
    batch.draw_hands(0, workspace)
    worlds, seat = search.config.worlds, int(view["seat"][0])
    branches = np.empty(len(found) * worlds, BRANCH)
    batch._draw_branches(0, workspace, branches)
    bound = search.world_values(branches.copy(), batch.bank).reshape(len(found), -1)
    means = bound.mean(1)
    discard = max((i for i in range(len(found)) if found["action"][i] < KNOCK), key=lambda i: means[i], default=None)
    if discard is None:
        return {}
    part = branches.reshape(len(found), -1)[discard].copy()
    values = {"knock": float(means[list(found["action"]).index(knock)]), WAYS[0]: float(means[discard])}
    free = part.copy()
    free["gin_only"][:, seat] = 0
    values[WAYS[1]] = float(search.world_values(free, batch.bank).mean())
    for way, mine in zip(WAYS[2:], players[:2], strict=True):
        played = part.copy()
        states = played["state"].copy()
        states["luck"] = luck.integers(0, 2**63, states["luck"].shape, np.uint64)
        while tick(states, (mine, players[2]), np.full(len(states), seat), luck):
            pass
        played["state"] = states
        values[way] = float(search.world_values(played, batch.bank).mean())
    return values


def measure(arguments: Arguments, console: Console) -> dict[str, Any]:
    """Measures all figures; values and differences are fractions of the game."""
    views = positions(arguments.positions, arguments.seed, arguments.rules)
    search = make_search(worlds=arguments.worlds)
    players = make_network(1, commits=True), make_network(1, commits=False), make_network(2, commits=True)
    luck, rows = np.random.default_rng(arguments.seed), []
    with progress_bar(console, len(views), "positions") as done:
        for n in range(len(views)):
            rows.append(values_of(search, views[n : n + 1], players, luck))
            done(n + 1)
    rows = [row for row in rows if row]
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    least = dict(THRESHOLDS)["doubtful"]
    best = np.maximum(table[WAYS[2]], table[WAYS[3]])

    def misjudged(way: str) -> float:
        marked = table["knock"] - table[way] >= least
        return float(np.mean(marked & (table["knock"] - best < 0)))

    ones = np.ones(len(rows))
    bias = {way: ratio(best - table[way], ones).to_dict() for way in WAYS}
    upper = {way: float(np.quantile(best - table[way], 0.95)) for way in WAYS}
    both = np.maximum(table[WAYS[0]], table[WAYS[1]])
    table["better critic"] = both
    return {
        "positions": len(rows),
        "too_low": bias | {"better critic": ratio(best - both, ones).to_dict()},
        "too_low_95": upper | {"better critic": float(np.quantile(best - both, 0.95))},
        "marked_wrongly": {way: misjudged(way) for way in (WAYS[0], WAYS[1], "better critic")},
    }


def main() -> None:
    """Measures, writes the JSON, prints the table."""
    arguments, console = tyro.cli(Arguments, description=__doc__), Console()
    found = measure(arguments, console)
    command = shlex.join(["python", "-m", "benchmarks.strength.declined_knocks", *sys.argv[1:]])
    write_json(arguments.out, {"command": command, "versions": versions()} | found)
    table = Table("a declined knock valued by", "too low by, % of the game", "19 of 20 below", "marked wrongly")
    for way, cell in found["too_low"].items():
        wrong = found["marked_wrongly"].get(way)
        table.add_row(
            way,
            f"{100 * cell['mean']:+.2f} ({100 * cell['low']:+.2f} to {100 * cell['high']:+.2f})",
            f"{100 * found['too_low_95'][way]:+.2f}",
            "" if wrong is None else f"{100 * wrong:.1f} %",
        )
    console.print(f"{found['positions']} positions; the truth is the better of bound and free rollouts", table)


if __name__ == "__main__":
    main()
