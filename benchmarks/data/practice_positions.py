"""Makes the positions that everybody can practise, decisions of self-play at which the candidates differ clearly. Takes half an hour.

python -m benchmarks.data.practice_positions

The network plays itself with its policy as trained, so that hands vary. At most one decision of a hand is taken: one at which a bot
(``formula`` or ``simple``) would choose an action that is clearly worse than the best, or at which taking a card is that looks of use.
For a knock the question is whether to knock, and no answer, nor taking the card, fills more than half of its places. What seems clear in
64 worlds is judged once more in 8 times as many, from another seed: there the tempting action loses at least 2 % of the game (2 points
of a single hand) and three standard errors. Lay-offs are exact; those taken have a card that may be laid off and should not be, or one
that must come first.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch

from agents.analysis import Analyst, Decision
from agents.files import write_json
from agents.network.player import make_network
from agents.play.practice import POSITIONS
from ginenv.engine.actions import KNOCK, PASS, PHASE_NAMES, UPCARD, actions_of, parse_action
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_view
from ginenv.tables.players import make_player

# Rules by kind: in the last, players lay off by hand.
RULES = {"draw": ("eaai", "dg-standard"), "lay-off": ("ht1",)}
KINDS = ("draw", "discard", "knock", "lay-off")
HANDS, TRIES, WORLDS, TIMES, LEAST, ERRORS, IMPROBABLE, USELESS = 16, 4, 64, 8, 0.02, 3.0, 0.05, 0.002
# Positions of each kind, the first hand's seed, and lots of hands between two looks at which kinds are missing.
EACH, SEED, LOTS = 50, 1_000_000, 8


def kind_of(view: Any) -> str:
    """The kind of a decision; empty for one of none of them."""
    phase = PHASE_NAMES[int(view["phase"])]
    if phase == "discard" and view["legal"][1] and view["legal"][0]:
        return "knock"
    return {"upcard": "draw", "draw": "draw", "discard": "discard", "layoff": "lay-off"}.get(phase, "")


def is_clear(kind: str, decision: Decision, tempting: list[int], least: float, errors: float) -> bool:
    """Whether a tempting action is clearly worse than the best, and for a knock: one of the other answer."""
    best = parse_action(decision.best)
    for each in decision.candidates[1:]:
        action = parse_action(each.action)
        other = action in tempting and (kind != "knock" or (action >= KNOCK) != (best >= KNOCK))
        if other and -each.difference >= least and -each.difference > errors * each.difference_error:
            return True
    return False


def tempting(kind: str, view: np.ndarray, chosen: list[int], policy: np.ndarray) -> list[int]:
    """What bots have chosen; of draws, also to take what looks of use; of lay-offs, every card that may be laid off, and to be done."""
    if kind == "lay-off":
        legal = actions_of(view["legal"][0])
        return [action for action in legal if action != PASS] if len(legal) > 2 else []
    # The bots hardly ever take what should be left.
    return [*chosen, UPCARD] if kind == "draw" and policy[UPCARD] > USELESS else chosen


class Finder:
    """Plays hands and looks for positions."""

    def __init__(self) -> None:
        self.first, self.second = Analyst(WORLDS), Analyst(TIMES * WORLDS, seed=1)
        self.player, self.bots = make_network(temperature=1.0), [make_player("formula"), make_player("simple")]

    def find(self, seed: int, kinds: list[str]) -> list[dict[str, str]]:
        """At most one position of each of ``HANDS`` hands that are played side by side; the kind that comes first is looked for first."""
        names = list(dict.fromkeys(name for kind in kinds for name in RULES.get(kind, RULES["draw"])))
        hands = [Hand.deal(names[n % len(names)], seed=seed + n) for n in range(HANDS)]
        moments: list[list[tuple[int, str, np.ndarray, list[int]]]] = [[] for _ in hands]
        while going := [n for n, hand in enumerate(hands) if not hand.is_over]:
            views = np.concatenate([hands[n].view() for n in going])
            actions, policies = self.player.act_with_policy(views)
            chosen = np.stack([bot.act(views) for bot in self.bots], axis=1)
            for k, n in enumerate(going):
                view = views[k : k + 1].copy()
                kind = kind_of(view[0])
                # Who has declined a knock is bound to gin in the network's play, so that its policy no longer tells a good knock.
                if (
                    kind in kinds
                    and names[n % len(names)] in RULES.get(kind, RULES["draw"])
                    and not view["declined"][0]
                ):
                    others = tempting(kind, view, [int(action) for action in chosen[k]], policies[k])
                    # Only what the network would hardly play is worth the time of judging it.
                    if others and policies[k][others].min() < IMPROBABLE:
                        moments[n].append((kinds.index(kind), kind, view, others))
                hands[n].push(int(actions[k]))
        return [position for each in moments if (position := self.first_clear(each))]

    def first_clear(self, moments: list[tuple[int, str, np.ndarray, list[int]]]) -> dict[str, str] | None:
        """The first clear position among the moments of a hand, if there is one."""
        for _, kind, view, others in sorted(moments, key=lambda each: each[0])[:TRIES]:
            if best := self.best(kind, view, others):
                return {"kind": kind, "position": format_view(view[0]), "best": best}
        return None

    def best(self, kind: str, view: np.ndarray, others: list[int]) -> str:
        """The best action of a position that is clear; empty for another."""
        least = LEAST if view["rules"]["target"][0] else 100 * LEAST
        best = ""
        for analyst, errors in ((self.first, 1.0), (self.second, ERRORS)):
            decision = analyst.decision(view)
            if not is_clear(kind, decision, others, least, errors):
                return ""
            best = decision.best
        return best


def answer_of(position: dict[str, str]) -> str:
    """The kind of a position and the first word of its best action."""
    return f"{position['kind']}: {position['best'].partition(' ')[0]}"


def is_wanted(position: dict[str, str], found: list[dict[str, str]]) -> bool:
    """Whether its kind is not full, nor half of it of the same answer: take or not, knock or not."""
    if sum(one["kind"] == position["kind"] for one in found) >= EACH:
        return False
    same = sum(answer_of(one) == answer_of(position) for one in found)
    return position["kind"] not in ("draw", "knock") or same < (EACH + 1) // 2


def main() -> None:
    """Plays, judges and writes the positions."""
    torch.set_num_threads(1)
    finder, seed = Finder(), SEED
    found: list[dict[str, str]] = []
    while len(found) < EACH * len(KINDS):
        counts = Counter(one["kind"] for one in found)
        missing = sorted((kind for kind in KINDS if counts[kind] < EACH), key=lambda kind: counts[kind])
        for _ in range(LOTS):
            for position in finder.find(seed, missing):
                if is_wanted(position, found):
                    found.append(position)
            seed += HANDS
        print(f"{seed - SEED} hands: {dict(Counter(map(answer_of, found)))}", flush=True)
    about = {
        "format": 1,
        "command": "python -m benchmarks.data.practice_positions",
        "analyst": finder.second.name,
        "counts": dict(Counter(map(answer_of, found))),
    }
    write_json(POSITIONS, about | {"positions": sorted(found, key=lambda each: KINDS.index(each["kind"]))})


if __name__ == "__main__":
    main()
