"""What a level has learned, in words and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.levels.habits import HABITS
from agents.levels.kinds import KINDS
from agents.levels.level import Level
from agents.levels.memory import counts_of, foretells
from agents.levels.plans import TURNS, better
from agents.levels.population import Population
from agents.levels.profile import Learned, profile_path, read_learned

# A habit is worth telling when the opponent is this many standard deviations from others, after shrinking.
_TELLING = 0.5
_MOST = 12


def _value(habit: str, rate: float) -> str:
    if " / 10" in habit:
        return f"{10 * rate:.1f}"
    if " / 25" in habit:
        return f"{25 * rate:.1f}"
    return f"{100 * rate:.0f} %"


def habits_in_words(population: Population, record: np.ndarray, most: int = _MOST) -> list[str]:
    """The most telling habits of an opponent (``RECORD[1]``), strongest first: "takes upcards later: 31 %, others 12 % (in 40)"."""
    counts = counts_of(record)
    features, rates = population.features(counts)[0], population.rates(counts)[0]
    lines = []
    for k in np.argsort(-np.abs(features))[:most]:
        if abs(features[k]) < _TELLING:
            break
        name = HABITS[k].removesuffix(" / 10").removesuffix(" / 25")
        seen = float(counts["chances"][0, k])
        own, others = _value(HABITS[k], float(rates[k])), _value(HABITS[k], float(population.mean[k]))
        lines.append(f"  {name}: {own}, others {others} (seen {seen:.0f} times)")
    return lines


def plan_in_words(plan: int, answers: bool = False) -> str:
    """A plan: "knocks as soon as it may", "knocks in its first 4 turns, then plays for gin"; or one of a level that has answers."""
    if answers:
        return f"plays its answer to who {KINDS[plan - 1]}" if plan else "plays as it plays anybody"
    turns = TURNS[plan]
    if turns == 0:
        return "plays for gin"
    return "knocks as soon as it may" if turns > 20 else f"knocks in its first {turns} turns, then plays for gin"


def plans_in_words(belief: np.ndarray, default: int, answers: bool = False) -> str:
    """What is believed of plans (a ``BELIEF[1]`` or ``RECORD[1]``)."""
    best = int(np.argmax(belief["mean"][0]))
    if best == default:
        return f"the level {plan_in_words(default, answers)}, as installed"
    gain, doubt = better(belief, best, default)
    return (
        f"the level now {plan_in_words(best, answers)}: {gain:+.1f} ± {1.96 * doubt:.1f} points a hand over its plan as installed"
        f" ({plan_in_words(default, answers)})"
    )


def opponent_in_words(level: Level, name: str, record: np.ndarray) -> list[str]:
    """What is known of one opponent."""
    population = level.population
    hands = int(record["hands"][0])
    counted, points = record["plans"][0].sum(0)
    brought = f"{points / counted:+.1f} points a hand" if counted else "points not counted"
    if 0 < counted < hands:
        brought += f" in the last {counted:.0f}"
    lines = [f"{name}: {hands} hand{'s' if hands != 1 else ''} seen, {brought}."]
    lines.append(f"  {plans_in_words(record, level.nothing_learned().default, level.settings.answers)}")
    habits = habits_in_words(population, record)
    lines += habits or ["  nothing yet that sets this opponent apart from others"]
    if not foretells(record[0]):
        lines.append("  of late it has not played as foretold, so its habits are left out of account")
    if record["failures"][0]:
        lines.append(f"  it changed its ways, or seemed to, {int(record['failures'][0])} times")
    return lines


def what_did_you_learn(home: Path, level: Level, opponent: str | None = None) -> str:
    """What a level has learned of an opponent (of everybody when left out), and as a whole.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    learned: Learned = read_learned(profile_path(home, level.name), level)
    names = [opponent] if opponent is not None else sorted(learned.opponents)
    lines: list[str] = []
    for name in names:
        record = learned.record_of(name, level)
        if record["hands"][0] == 0:
            lines.append(f"{name}: no hand seen yet.")
        else:
            lines += opponent_in_words(level, name, record)
    if not names:
        lines.append(f"{level.name} has learned nothing yet; it plays as installed.")
    whole = learned.whole_of(level)
    if whole.hands:
        lines.append(
            f"As a whole, from {whole.hands} hands: against a stranger "
            f"{plans_in_words(whole.belief, whole.default, level.settings.answers)}."
        )
        if whole.promoted == whole.default and int(np.argmax(whole.belief["mean"][0])) != whole.default:
            lines.append("  not certain enough yet: strangers meet the level as installed")
    return "\n".join(lines)
