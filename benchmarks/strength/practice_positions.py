"""Makes the positions that everybody can practise: decisions of self-play at which the candidates differ clearly.

python -m benchmarks.strength.practice_positions             writes agents/data/practice.json, some minutes

The network plays itself with its policy as trained, so that hands vary. At most one decision of a hand is taken: one at which a bot
(``formula`` or ``simple``) would choose an action that is clearly worse than the best. For a knock the question is whether to knock; half
of these positions are of each answer, and so are draws. A position is judged in 64 worlds, and once more in 32 times as many, from
another seed: the best action is the same, and the bot's loses at least 2 % of the game and three standard errors. Lay-offs are exact;
those taken have a card that may be laid off and should not be, or one that must come first.
"""

from __future__ import annotations

import multiprocessing
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console

from agents.analysis import Analyst, Decision
from agents.files import write_json
from agents.network.player import make_network
from agents.reports.terminal import progress_bar
from ginenv.engine.actions import KNOCK, PASS, PHASE_NAMES, actions_of, parse_action
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_view
from ginenv.tables.players import make_player

# Rules by kind: in the last, players lay off by hand.
RULES = {"draw": ("eaai", "dg-standard"), "lay-off": ("ht1",)}
KINDS = ("draw", "discard", "knock", "lay-off")
WORLDS, TIMES, LEAST, ERRORS, IMPROBABLE = 64, 32, 0.02, 3.0, 0.1


@dataclass
class Arguments:
    """Command line.

    Attributes:
        each: number of positions of each kind.
        seed: seed of the first hand.
        workers: number of processes; the positions are the same with any number.
        out: JSON file to write.
    """

    each: int = 50
    seed: int = 1_000_000
    workers: int = 2
    out: Path = Path("agents/data/practice.json")


def kind_of(view: Any) -> str:
    """The kind of a decision; empty for one of none of them."""
    phase = PHASE_NAMES[int(view["phase"])]
    if phase == "discard" and view["legal"][1] and view["legal"][0]:
        return "knock"
    return {"upcard": "draw", "draw": "draw", "discard": "discard", "layoff": "lay-off"}.get(phase, "")


def is_clear(kind: str, decision: Decision, tempting: list[int]) -> bool:
    """Whether a tempting action is clearly worse than the best, and for a knock: one of the other answer."""
    best = parse_action(decision.best)
    for each in decision.candidates[1:]:
        action = parse_action(each.action)
        other = action in tempting and (kind != "knock" or (action >= KNOCK) != (best >= KNOCK))
        if other and -each.difference >= LEAST and -each.difference > ERRORS * each.difference_error:
            return True
    return False


def tempting(kind: str, view: np.ndarray, bots: list[Any]) -> list[int]:
    """What bots would choose; of lay-offs, every card that may be laid off, and to be done."""
    if kind == "lay-off":
        legal = actions_of(view["legal"][0])
        return [action for action in legal if action != PASS] if len(legal) > 2 else []
    return [int(bot.act(view)[0]) for bot in bots]


class Finder:
    """Plays hands and looks for positions; its processes share what it has loaded."""

    def __init__(self) -> None:
        self.first, self.second = Analyst(WORLDS), Analyst(TIMES * WORLDS, seed=1)
        self.player, self.bots = make_network(temperature=1.0), [make_player("formula"), make_player("simple")]
        # Loads what is compiled, before there are processes.
        for kind in KINDS:
            self.find(0, kind)

    def find(self, seed: int, kind: str) -> dict[str, str] | None:
        """The first position of a kind in the hand of a seed, if there is one."""
        rules = RULES.get(kind, RULES["draw"])
        hand = Hand.deal(rules[seed // len(KINDS) % len(rules)], seed=seed)
        while not hand.is_over:
            view = hand.view()
            action, policy = (each[0] for each in self.player.act_with_policy(view))
            if kind_of(view[0]) == kind:
                others = tempting(kind, view, self.bots)
                # Only what the network would hardly play is worth the time of judging it.
                if others and policy[others].min() < IMPROBABLE:
                    decision = self.first.decision(view)
                    if is_clear(kind, decision, others):
                        again = self.second.decision(view)
                        if again.best == decision.best and is_clear(kind, again, others):
                            return {"kind": kind, "position": format_view(view[0]), "best": again.best}
            hand.push(int(action))
        return None


def _find(task: tuple[int, str]) -> dict[str, str] | None:
    return FINDER[0].find(*task)


# Hands between two looks at which kinds are missing, and what forked processes share.
ROUND = 60
FINDER: list[Finder] = []


def main() -> None:
    """Plays, judges and writes the positions."""
    arguments, console = tyro.cli(Arguments, description=__doc__), Console(stderr=True)
    FINDER.append(Finder())
    found: list[dict[str, str]] = []
    answers, counts = Counter(), Counter()
    total = arguments.each * len(KINDS)
    with (
        multiprocessing.get_context("fork").Pool(arguments.workers) as pool,
        progress_bar(console, total, "positions") as done,
    ):
        seed = arguments.seed
        while missing := [kind for kind in KINDS if counts[kind] < arguments.each]:
            tasks = [(seed + n, missing[n % len(missing)]) for n in range(ROUND)]
            seed += ROUND
            for each in filter(None, pool.imap(_find, tasks)):
                # Half of each answer: take or not, knock or not.
                kind, answer = each["kind"], f"{each['kind']} {each['best'].partition(' ')[0]}"
                full = kind in ("draw", "knock") and answers[answer] >= (arguments.each + 1) // 2
                if counts[kind] < arguments.each and not full:
                    answers[answer] += 1
                    counts[kind] += 1
                    found.append(each)
                    done(len(found))
    command = shlex.join(["python", "-m", "benchmarks.strength.practice_positions", *sys.argv[1:]])
    found.sort(key=lambda each: KINDS.index(each["kind"]))
    name = FINDER[0].second.name
    write_json(arguments.out, {"format": 1, "command": command, "analyst": name, "positions": found})
    console.print(dict(answers))


if __name__ == "__main__":
    main()
