"""Hints: what the analyst, or the fixed formulas of an old card program, would do, and why, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.play.moves import Turn
from ginenv.bots.heuristics import make_formula
from ginenv.bots.reasons import FORMS, reason
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD, parse_action
from ginenv.engine.cards import card_name
from ginenv.errors import GinError

if TYPE_CHECKING:
    from agents.analysis import Analyst

# What the option ``hints`` can be.
SEARCH, FORMULAS = "search", "formulas"


def load_analyst() -> Analyst:
    """The analyst of this process.

    Raises:
        GinError: if what it needs is not installed.
    """
    try:
        from agents.play.review import shared_analyst
    except ModuleNotFoundError as error:
        raise GinError(
            f"hints by search need {error.name}: pip install 'ginenv[agents]' installs it, or set hints to {FORMULAS}"
        ) from None
    return shared_analyst()


def hint(turn: Turn, source: str = SEARCH) -> tuple[int, str]:
    """What a person might do now.

    Args:
        turn: the person's turn.
        source: ``search`` or ``formulas``.

    Returns:
        An action, and sentences that say what it is and why, such as ``Pass. The 7C makes no meld.``
    """
    action, why = _by_formulas(turn) if source == FORMULAS else _by_search(turn)
    later = f" {FORMS['not yet']}" if turn.phase == "discard" and action < KNOCK and turn.offers_knock else ""
    command = _command(action, turn.phase)
    return action, f"{command[0].upper()}{command[1:]}. {why}{later}"


def _by_search(turn: Turn) -> tuple[int, str]:
    found = load_analyst().decision(turn.view.reshape(1))
    best = parse_action(found.best)
    if not turn.declines(best):
        return best, found.reason
    others = [parse_action(each.action) for each in found.candidates]
    return next((each for each in others if not turn.declines(each)), best % KNOCK), FORMS["way to gin"]


def _by_formulas(turn: Turn) -> tuple[int, str]:
    action = int(make_formula().act(turn.view.reshape(1))[0])
    if turn.declines(action):
        return action - KNOCK, FORMS["way to gin"]
    return action, reason(turn.view, action)


def _command(action: int, phase: str) -> str:
    """An action as an instruction."""
    if action >= STOCK:
        passing = "be done" if phase == "layoff" else "pass"
        return {UPCARD: "take the upcard", STOCK: "draw from the stock", PASS: passing}[action]
    if phase == "spread":
        return f"spread {action + 1}"
    verb = "lay off" if phase == "layoff" else "knock with" if action >= KNOCK else "discard"
    return f"{verb} the {card_name(action % KNOCK)}"
