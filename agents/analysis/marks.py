"""When a loss counts as a mistake, and what kind of mistake it is."""

from __future__ import annotations

from ginenv.engine.actions import KNOCK, PHASE_NAMES, STOCK

# Smallest loss for each mark: a fraction of the game, or points / 100 where a single hand is played.
THRESHOLDS = (("blunder", 0.04), ("error", 0.02), ("doubtful", 0.01))
MARKS = tuple(name for name, _ in THRESHOLDS[::-1])
UNCLEAR = "unclear"
# A loss within this many standard errors is too close to tell: one in forty decisions without any loss would show one as large.
ERRORS = 2.0

KINDS = ("draw", "discard", "knock too early", "knock too late", "spread", "lay-off")


def mark_of(loss: float, error: float) -> str:
    """The mark of a loss: ``blunder``, ``error``, ``doubtful``, ``unclear`` if it is within its error, or nothing.

    Args:
        loss: a fraction of the game, or points / 100.
        error: standard error of the loss.
    """
    for name, least in THRESHOLDS:
        if loss >= least:
            return name if loss > ERRORS * error else UNCLEAR
    return ""


def kind_of(phase: int, played: int, best: int) -> str:
    """What a mistake is about: one of ``KINDS``.

    Args:
        phase: phase of the decision.
        played: the action chosen.
        best: the expert's choice.
    """
    name = PHASE_NAMES[phase]
    if name in ("spread", "layoff"):
        return "lay-off" if name == "layoff" else "spread"
    if name != "discard":
        return "draw"
    knocked, knocks = (KNOCK <= action < STOCK for action in (played, best))
    if knocked == knocks:
        return "discard"
    return "knock too early" if knocked else "knock too late"
