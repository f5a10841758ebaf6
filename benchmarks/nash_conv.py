"""How far a policy is from equilibrium, exactly, under rules so small that every deal can be played out.

Ten cards, hands of three, one draw from the stock: 50,400 deals that differ. A best response knows the policy that it plays against,
and nothing of the cards that its seat does not see; NashConv is what best responses in both seats win together, in points per hand,
which is 0 for an equilibrium and only for one. Nothing here is sampled, so figures have no interval.

Run with `python -m benchmarks.nash_conv`: trains networks of `benchmarks/small.yaml` for more and more decisions, three seeds each, and
measures each policy as trained and as it is played. `--name` and `--set` measure another recipe beside the usual one.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tyro

from agents.arena.results import versions
from agents.files import read_json, write_json
from agents.network.player import PLAYED, load_network
from ginenv.engine.actions import NUM_ACTIONS, PHASE_OVER
from ginenv.engine.engine import NOBODY, STATE, STOCK_LEFT, apply, deal, legal
from ginenv.engine.jit import kernel, mix, popcount
from ginenv.engine.rules import Rules, get_rules
from ginenv.view.view import VIEW, look

SMALL = (
    "eaai,ranks=5,suits=2,hand_size=3,knock_limit=4,max_upcards=2,gin_bonus=5,undercut_bonus=3,"
    "target=0,max_drawn_hands=1,first_starter=seat0"
)
CONFIG = Path(__file__).with_name("small.yaml")
RESULTS = Path(__file__).parent / "results" / "nash_conv.json"
# What a policy is here: the views of decisions ``VIEW[n]`` to probabilities ``float[n, 107]``.
PolicyFunction = Callable[[np.ndarray], np.ndarray]
# Hands of the responding seat that are played out at a time.
_HANDS_AT_ONCE = 12


def uniform(views: np.ndarray) -> np.ndarray:
    """The policy that plays every legal action equally often."""
    masks = views["legal"][:, :, None] >> np.arange(52) & 1
    allowed = masks.reshape(len(views), -1)[:, :NUM_ACTIONS].astype(float)
    return allowed / allowed.sum(1, keepdims=True)


@kernel
def _count_children(states, counts):
    for i in range(states.shape[0]):
        discards, knocks, others = legal(states[i])
        counts[i] = popcount(discards) + popcount(knocks) + popcount(others)


@kernel
def _hand_key(key, action, hand):
    """What a seat remembers, hashed: what it knew before, the action it has just seen, and the hand it now holds."""
    return mix(key ^ mix(np.uint64(action + 1) ^ mix(np.uint64(hand))))


@kernel
def _expand(states, keys, first, children, child_keys, parents, actions):
    """Plays every legal action of every state; ``keys`` are ``uint64[n, 2]``, by seat."""
    for i in range(states.shape[0]):
        at = first[i]
        discards, knocks, others = legal(states[i])
        for deck in range(3):
            left = discards if deck == 0 else knocks if deck == 1 else others
            while left:
                action = deck * 52 + popcount((left & -left) - 1)
                left &= left - 1
                children[at] = states[i]
                apply(children[at], action)
                for seat in range(2):
                    child_keys[at, seat] = _hand_key(keys[i, seat], action, children[at].hands[seat])
                parents[at] = i
                actions[at] = action
                at += 1


@kernel
def _look_all(states, views):
    for i in range(states.shape[0]):
        look(states[i], np.int64(states[i].turn), views[i])


@kernel
def _deal_all(states):
    for i in range(states.shape[0]):
        deal(states[i], np.int64(0))


def _deck(rules: Rules) -> list[int]:
    """The cards."""
    return [13 * suit + rank for suit in range(rules.suits) for rank in range(rules.ranks)]


def _deals(rules: Rules, seat: int, hands: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """All deals that differ in which ``seat`` holds one of ``hands``, and what each seat remembers at their beginning."""
    cards = _deck(rules)
    size = rules.hand_size
    drawn = rules.num_cards - 2 * size - 1 - STOCK_LEFT
    decks = []
    for mine in hands:
        left = [card for card in cards if card not in mine]
        for other in itertools.combinations(left, size):
            rest = [card for card in left if card not in other]
            for order in itertools.permutations(rest, 1 + drawn):
                unused = [card for card in rest if card not in order]
                decks.append([*(mine + other if seat == 0 else other + mine), *order, *unused])
    states = np.zeros(len(decks), STATE)
    states["rules"] = rules.block
    states["deck"][:, : len(cards)] = decks
    _deal_all(states)
    keys = np.zeros((len(decks), 2), np.uint64)
    for each in range(2):
        keys[:, each] = states["hands"][:, each].astype(np.uint64) << np.uint64(6) | states["first_upcard"]
    return states, keys


class Level(NamedTuple):
    """The hands in play after the same number of actions, each with how it came about.

    Attributes:
        states: ``STATE[n]``.
        keys: what each seat remembers, hashed, ``uint64[n, 2]``.
        weights: probability of the deal and of the policy's choices, ``float64[n]``.
        parents: index in the level before, ``int64[n]``.
        actions: the action that led here, ``int64[n]``.
    """

    states: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    parents: np.ndarray
    actions: np.ndarray

    def next(self, seat: int, policy: PolicyFunction) -> Level:
        """Every legal action of every hand in play; those of the seat other than ``seat`` have the policy's probabilities."""
        playing = np.flatnonzero(self.states["phase"] != PHASE_OVER)
        states, keys, weights = self.states[playing], self.keys[playing], self.weights[playing]
        counts = np.empty(len(playing), np.int64)
        _count_children(states, counts)
        total = int(counts.sum())
        children, child_keys = np.empty(total, STATE), np.empty((total, 2), np.uint64)
        parents, actions = np.empty(total, np.int64), np.empty(total, np.int64)
        _expand(states, keys, np.cumsum(counts) - counts, children, child_keys, parents, actions)
        chances = np.ones(total)
        answered = np.flatnonzero(states["turn"] != seat)
        if len(answered):
            row = np.zeros(len(states), np.int64)
            _, one_each, row[answered] = np.unique(keys[answered, 1 - seat], return_index=True, return_inverse=True)
            views = np.zeros(len(one_each), VIEW)
            _look_all(states[answered[one_each]], views)
            theirs = states["turn"][parents] != seat
            chances[theirs] = policy(views)[row[parents[theirs]], actions[theirs]]
        kept = chances > 0
        weights = weights[parents] * chances
        return Level(children[kept], child_keys[kept], weights[kept], playing[parents[kept]], actions[kept])


def _best_values(levels: list[Level], seat: int) -> float:
    """The points of ``seat`` when it answers best, from the last level back to the deals."""
    after = np.zeros(0)
    for at in range(len(levels) - 1, -1, -1):
        level = levels[at]
        states = level.states
        sign = np.where(states["winner"] == NOBODY, 0, np.where(states["winner"] == seat, 1, -1))
        values = level.weights * states["points"] * sign * (states["phase"] == PHASE_OVER)
        if at + 1 < len(levels):
            below = levels[at + 1]
            mine = states["turn"][below.parents] == seat
            # One choice for all hands that look the same to the seat: the action with the largest sum over them.
            known = level.keys[below.parents[mine], seat]
            places, index = np.unique(known, return_inverse=True)
            sums = np.full((len(places), NUM_ACTIONS), -np.inf)
            pairs, flat = np.unique(index * NUM_ACTIONS + below.actions[mine], return_inverse=True)
            sums.reshape(-1)[pairs] = np.bincount(flat, after[mine])
            chosen = np.zeros(len(after), bool)
            chosen[mine] = sums.argmax(1)[index] == below.actions[mine]
            np.add.at(values, below.parents[chosen | ~mine], after[chosen | ~mine])
        after = values
    return float(after.sum())


def best_response(policy: PolicyFunction, seat: int, rules: Rules, hands: list[tuple[int, ...]] | None = None) -> float:
    """Points per hand of the best answer in ``seat`` to a policy in the other one; seat 0 begins every hand.

    ``hands`` are the hands that the seat is dealt, all by default.
    """
    hands = hands or list(itertools.combinations(_deck(rules), rules.hand_size))
    points, dealt = 0.0, 0
    for start in range(0, len(hands), _HANDS_AT_ONCE):
        states, keys = _deals(rules, seat, hands[start : start + _HANDS_AT_ONCE])
        nothing = np.zeros(len(states), np.int64)
        levels = [Level(states, keys, np.ones(len(states)), nothing, nothing)]
        while (levels[-1].states["phase"] != PHASE_OVER).any():
            levels.append(levels[-1].next(seat, policy))
        points += _best_values(levels, seat)
        dealt += len(states)
    return points / dealt


def _curve(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean, lowest and highest NashConv of the seeds, by recipe, temperature and length."""
    groups = defaultdict(list)
    for run in runs:
        groups[run["recipe"], run["temperature"], run["decisions"]].append(run["nash_conv"])
    return [
        {"recipe": recipe, "temperature": temperature, "decisions": decisions, "seeds": len(values)}
        | {"mean": sum(values) / len(values), "lowest": min(values), "highest": max(values)}
        for (recipe, temperature, decisions), values in sorted(groups.items())
    ]


def main(
    out: Path = Path("runs/small"),
    name: str = "recipe",
    decisions: tuple[int, ...] = (131072, 524288, 2097152),
    seeds: int = 3,
    settings: tuple[str, ...] = (),
) -> None:
    """Trains, measures, and writes every figure as soon as it is known; runs and figures that exist are kept.

    Args:
        out: directory of the runs.
        name: of this recipe among the results.
        decisions: lengths of the runs.
        seeds: runs of each length.
        settings: changes of the configuration, such as ``entropy_coef=0.02``.
    """
    results: dict[str, Any] = read_json(RESULTS) if RESULTS.exists() else {"rules": SMALL, "runs": {}}
    runs, rules = results["runs"], get_rules(SMALL)

    def keep(key: str, policy: PolicyFunction, **about: Any) -> None:
        if key not in runs:
            starter, other = (best_response(policy, seat, rules) for seat in (0, 1))
            runs[key] = about | {"starter": starter, "other": other, "nash_conv": starter + other}
            print(f"{key}: NashConv {runs[key]['nash_conv']:.3f} points per hand", flush=True)
        write_json(RESULTS, results | {"versions": versions(), "curve": _curve(list(runs.values()))})

    keep("uniform", uniform, recipe="uniform", decisions=0, temperature=1.0)
    for length, seed in itertools.product(decisions, range(1, seeds + 1)):
        directory = out / f"{name}-{length}-{seed}"
        command = [sys.executable, "-m", "agents.cli", "train", "--config", str(CONFIG), "--out", str(directory)]
        changes = [f"decisions={length}", f"seed={seed}", *settings]
        subprocess.run([*command, "--set", *changes], check=True, stdout=subprocess.DEVNULL)
        about = {"recipe": name, "settings": settings, "decisions": length, "seed": seed}
        for temperature in (1.0, PLAYED):
            player = load_network(str(directory / "last"), 0, temperature)
            keep(
                f"{name} {length} {seed} at {temperature:g}",
                lambda views, player=player: player.act_with_policy(views)[1].astype(float),
                **about,
                temperature=temperature,
            )


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
