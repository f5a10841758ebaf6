"""What a level has learned, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.levels.level import Level
from agents.levels.plans import TURNS, better
from agents.levels.profile import profile_path, read_learned


def plan_in_words(plan: int) -> str:
    """A plan: "knocks as soon as it may", "knocks in its first 4 turns, then plays for gin"."""
    turns = TURNS[plan]
    if turns == 0:
        return "plays for gin"
    return "knocks as soon as it may" if turns > 20 else f"knocks in its first {turns} turns, then plays for gin"


def _plans_in_words(belief: np.ndarray, default: int) -> str:
    best = int(np.argmax(belief["mean"][0]))
    if best == default:
        return f"the level {plan_in_words(default)}, as installed"
    gain, doubt = better(belief, best, default)
    return (
        f"the level now {plan_in_words(best)}: {gain:+.1f} ± {1.96 * doubt:.1f} points a hand over its plan as installed"
        f" ({plan_in_words(default)})"
    )


def _opponent_in_words(level: Level, name: str, record: np.ndarray) -> list[str]:
    hands = int(record["hands"][0])
    if hands == 0:
        return [f"{name}: no hand seen yet."]
    counted, points = record["plans"][0].sum(0)
    return [
        f"{name}: {hands} hand{'s' if hands != 1 else ''} seen, {points / max(counted, 1):+.1f} points a hand.",
        f"  {_plans_in_words(record, level.nothing_learned().default)}",
    ]


def what_did_you_learn(home: Path, level: Level, opponent: str | None = None) -> str:
    """What a level has learned of an opponent (of all when left out), and what it expects of strangers.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    if not level.learns:
        return f"{level.name} learns nothing: it plays everybody as installed."
    learned = read_learned(profile_path(home, level.name), level)
    names = [opponent] if opponent is not None else sorted(learned.opponents)
    lines = [line for name in names for line in _opponent_in_words(level, name, learned.record_of(name))]
    if not names:
        lines.append(f"{level.name} has learned nothing yet; it plays as installed.")
    prior = learned.prior
    if prior.hands:
        lines.append(
            f"From {prior.hands} hands in all: against a stranger {_plans_in_words(prior.belief, prior.default)}."
        )
        if prior.promoted == prior.default and int(np.argmax(prior.belief["mean"][0])) != prior.default:
            lines.append("  not certain enough yet: strangers meet the level as installed")
    return "\n".join(lines)
