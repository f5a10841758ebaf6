"""The most that a search could add to the network: the gain of one decision, by rollouts to the end of the hand.

python -m benchmarks.strength.headroom
python -m benchmarks.strength.headroom --positions 400

Positions come from hands of the network against itself: one decision of each hand, whatever its kind. Each of the
candidates, the search's choice too, is played out many times from the true state by the network itself. The hidden hand is the
true one, the rest of the stock is reshuffled, and all candidates share each shuffle. Half of the rollouts choose and the other half
measure what the choice is worth, and then the other way round. So the gain of choosing by the true hand, which no player may know, is not
inflated by chance. The gain of the search, which knows only the view, is measured on the same rollouts. Gains are in points a decision
and, by what a point is worth at 0:0, in games; intervals are by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from agents.arena.results import ratio, versions
from agents.deal_streams import Domain, deal_keys
from agents.files import write_json
from agents.network.inputs import actor_inputs
from agents.network.player import NetworkPlayer, make_network
from agents.search import make_search
from agents.win_probability import equity_table
from ginenv.engine.actions import PHASE_DISCARD, PHASE_OVER
from ginenv.engine.engine import NOBODY, STATE, apply, next_word
from ginenv.engine.game import start_game
from ginenv.engine.jit import below, kernel
from ginenv.engine.rules import get_rules
from ginenv.tables.players import Player
from ginenv.view.encoding import encode_views
from ginenv.view.view import VIEW, action_masks, make_views

RULES = "eaai"
# Most candidates of a decision, and least probability of each.
_MAX_BATCH, _MIN_PROBABILITY = 5, 0.002


@dataclass
class Arguments:
    """Command line.

    Attributes:
        positions: number of positions.
        playouts: rollouts of each candidate, half of them for choosing.
        worlds: worlds of the search that is measured on the same rollouts.
        seed: seed of the deals.
        out: JSON file to write.
    """

    positions: int = 1500
    playouts: int = 64
    worlds: int = 128
    seed: int = 5
    out: Path = Path("benchmarks/results/headroom.json")


@kernel
def start(states):
    """Begins games."""
    for i in range(states.shape[0]):
        start_game(states[i])


@kernel
def apply_all(states, rows, actions):
    """Plays an action in each of some states."""
    for i in range(rows.shape[0]):
        apply(states[rows[i]], actions[i])


@kernel
def _shuffle_stocks(states, words):
    """Shuffles the rest of each stock; equal words give equal shuffles."""
    for i in range(states.shape[0]):
        s = states[i]
        word = words[i]
        for at in range(51, np.int64(s.position), -1):
            word, drawn = next_word(word)
            other = np.int64(s.position) + below(drawn, at - np.int64(s.position) + 1)
            s.deck[at], s.deck[other] = s.deck[other], s.deck[at]


@kernel
def _points(states, seats, out):
    for i in range(states.shape[0]):
        s = states[i]
        out[i] = 0 if s.winner == NOBODY else (s.points if s.winner == seats[i] else -s.points)


def tick(states: np.ndarray, player: Player, luck: np.random.Generator) -> bool:
    """Plays one action in every hand that is not over. Returns whether any such hand was left."""
    rows = np.flatnonzero(states["phase"] != PHASE_OVER)
    if not rows.size:
        return False
    views = make_views(states[rows], states["turn"][rows].astype(np.int64))
    views["luck"] = luck.integers(0, 2**63, len(rows), np.uint64)
    apply_all(states, rows, player.act(views))
    return True


def positions(player: Player, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One decision of one seat from each of ``count`` hands: ``STATE[count]`` and the seats ``int64[count]``."""
    luck = np.random.default_rng(seed)
    states, seats = np.zeros(count, STATE), np.arange(count, dtype=np.int64) % 2
    states["rules"] = get_rules(RULES).block
    states["key"] = deal_keys(Domain.EVAL, seed, 0, count)
    start(states)
    found, seen = states.copy(), np.zeros(count, np.int64)
    going = True
    while going:
        rows = np.flatnonzero((states["phase"] <= PHASE_DISCARD) & (states["turn"] == seats))
        legal = make_views(states[rows], seats[rows])["legal"]
        rows = rows[np.bitwise_count(legal.astype(np.uint64)).sum(1) > 1]
        # Reservoir sampling: every decision of a hand is equally likely.
        seen[rows] += 1
        rows = rows[luck.random(len(rows)) * seen[rows] < 1]
        found[rows] = states[rows]
        going = tick(states, player, luck)
    return found[seen > 0], seats[seen > 0]


def _chances(player: NetworkPlayer, views: np.ndarray) -> np.ndarray:
    """The policy's probabilities, ``float32[n, 107]``."""
    inputs = actor_inputs(player.actor, views, encode_views(views), np.zeros(len(views), np.uint8))
    logits = np.where(action_masks(views) == 1, player.actor(inputs).numpy(), -np.inf)
    chances = np.exp(logits - logits.max(1, keepdims=True))
    return chances / chances.sum(1, keepdims=True)


def play_out(state: np.ndarray, seat: int, actions: np.ndarray, count: int, player: Player, seed: int) -> np.ndarray:
    """The mover's points in rollouts after each action: ``float64[actions, count]``."""
    states = np.repeat(state, len(actions) * count)
    words = np.random.default_rng(seed).integers(1, 2**63, count, np.uint64)
    _shuffle_stocks(states, np.tile(words, len(actions)))
    apply_all(states, np.arange(len(states)), np.repeat(actions, count))
    seats, luck = np.full(len(states), seat), np.random.default_rng(seed + 1)
    while tick(states, player, luck):
        pass
    points = np.empty(len(states))
    _points(states, seats, points)
    return points.reshape(len(actions), count)


def measure(arguments: Arguments) -> dict[str, Any]:
    """Measures all figures."""
    network, search = make_network(), make_search(worlds=arguments.worlds)
    states, seats = positions(network, arguments.positions, arguments.seed)
    views = make_views(states, seats.astype(np.int64))
    assert views.dtype == VIEW
    chances, searched = _chances(network, views), search.act(views)
    half = arguments.playouts // 2
    by_truth, by_search, kinds = np.zeros((3, len(states)))
    for i in track(range(len(states)), "positions", transient=True):
        best = int(chances[i].argmax())
        others = [
            int(a) for a in np.argsort(-chances[i])[:_MAX_BATCH] if chances[i, a] >= _MIN_PROBABILITY and a != best
        ]
        if searched[i] not in (best, *others):
            others.append(int(searched[i]))
        kinds[i] = views["phase"][i] == PHASE_DISCARD
        if not others:
            continue
        actions = np.array([best, *others])
        points = play_out(states[i : i + 1], int(seats[i]), actions, 2 * half, network, arguments.seed + 10 * i)
        gains = points - points[0]
        halves = gains[:, :half].mean(1), gains[:, half:].mean(1)
        by_truth[i] = (halves[1][halves[0].argmax()] + halves[0][halves[1].argmax()]) / 2
        by_search[i] = gains[list(actions).index(searched[i])].mean()
    groups = {"all": np.ones(len(kinds), bool), "draws": kinds == 0, "discards and knocks": kinds == 1}
    return {
        name: {
            "decisions": int(rows.sum()),
            "with the true hand": _row(by_truth[rows]),
            f"search, {arguments.worlds} worlds": _row(by_search[rows]),
        }
        for name, rows in groups.items()
    }


def _row(gains: np.ndarray) -> dict[str, Any]:
    a_point = (float(equity_table(get_rules(RULES))[10, 0, 0, 0]) - 0.5) / 10
    return ratio(gains, np.ones(len(gains))).to_dict() | {"games": round(a_point * float(gains.mean()), 6)}


def main() -> None:
    """Measures, writes the JSON, prints the table."""
    arguments = tyro.cli(Arguments, description=__doc__)
    found = measure(arguments)
    settings = {name: str(value) for name, value in vars(arguments).items() if name != "out"}
    write_json(arguments.out, {"gain": found, "settings": settings, "versions": versions()})
    table = Table("decisions", "how many", *[name for name in found["all"] if name != "decisions"])
    for name, row in found.items():
        cells = [
            f"{cell['mean']:+.3f} ({cell['low']:+.3f} to {cell['high']:+.3f})"
            for key, cell in row.items()
            if key != "decisions"
        ]
        table.add_row(name, str(row["decisions"]), *cells)
    Console().print("Points a decision", table)


if __name__ == "__main__":
    main()
