"""Makes the positions that everybody can practise: decisions of self-play at which the candidates differ clearly.

python -m benchmarks.strength.practice_positions             writes agents/data/practice.json, some minutes

The network plays itself with its policy as trained, so that hands vary. At most one decision of a hand is taken: one at which a bot
(``formula`` or ``simple``) would choose an action that is clearly worse than the best. For a knock the question is whether to knock; half
of these positions are of each answer, and so are draws. A position is judged in 64 worlds, and once more in 32 times as many, from
another seed: the best action is the same, and the bot's loses at least 2 % of the game and three standard errors. Lay-offs are exact;
those taken have a card that may be laid off and should not be, or one that must come first.
"""

from __future__ import annotations

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
        out: JSON file to write.
    """

    each: int = 50
    seed: int = 1_000_000
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


def main() -> None:
    """Plays, judges and writes the positions."""
    arguments, console = tyro.cli(Arguments, description=__doc__), Console(stderr=True)
    first, second = Analyst(WORLDS), Analyst(TIMES * WORLDS, seed=1)
    player, bots = make_network(temperature=1.0), [make_player("formula"), make_player("simple")]
    luck, found, answers = np.random.default_rng(arguments.seed), [], Counter()
    seed = arguments.seed
    with progress_bar(console, arguments.each * len(KINDS), "positions") as done:
        while len(found) < arguments.each * len(KINDS):
            seed += 1
            missing = [kind for kind in KINDS if sum(each["kind"] == kind for each in found) < arguments.each]
            rules = RULES["lay-off"] if missing == ["lay-off"] or seed % 4 == 0 else RULES["draw"]
            hand = Hand.deal(rules[seed % len(rules)], seed=seed)
            while not hand.is_over:
                view = hand.view()
                kind = kind_of(view[0])
                if kind in missing and (kind != "discard" or luck.random() < 0.5):
                    others = tempting(kind, view, bots)
                    # Only what the network would hardly play is worth the time of judging it.
                    policy = player.act_with_policy(view)[1][0]
                    decision = first.decision(view) if others and policy[others].min() < IMPROBABLE else None
                    if decision and is_clear(kind, decision, others):
                        again = second.decision(view)
                        # Half of each answer: take or not, knock or not.
                        best = parse_action(decision.best)
                        answer = f"{kind} {decision.best if kind == 'draw' else best >= KNOCK}"
                        full = kind in ("draw", "knock") and answers[answer] >= arguments.each // 2 + arguments.each % 2
                        if again.best == decision.best and is_clear(kind, again, others) and not full:
                            answers[answer] += 1
                            found.append({"kind": kind, "position": format_view(view[0]), "best": again.best})
                            done(len(found))
                            break
                hand.push(int(player.act(view)[0]))
    command = shlex.join(["python", "-m", "benchmarks.strength.practice_positions", *sys.argv[1:]])
    found.sort(key=lambda each: KINDS.index(each["kind"]))
    write_json(arguments.out, {"format": 1, "command": command, "analyst": second.name, "positions": found})
    console.print(dict(answers))


if __name__ == "__main__":
    main()
