"""The one action space, ``Discrete(107)``, as numbers and as text.

| id | meaning |
|---|---|
| 0-51 | discard that card; in the lay-off phase lay it off; in the spread phase choose that arrangement |
| 52-103 | knock, discarding card ``id - 52`` |
| 104 | draw from the stock |
| 105 | take the upcard |
| 106 | pass; in the lay-off phase, done |
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from ginenv.engine.cards import NUM_CARDS, card_name, parse_card
from ginenv.errors import CardError, IllegalActionError, quoted

NUM_ACTIONS = 107
KNOCK = 52
STOCK = 104
UPCARD = 105
PASS = 106

# Phases of a hand.
(PHASE_UPCARD, PHASE_DRAW, PHASE_DISCARD, PHASE_SPREAD, PHASE_LAYOFF, PHASE_WALL, PHASE_OVER) = range(7)
PHASE_NAMES = ("upcard", "draw", "discard", "spread", "layoff", "wall", "over")

_FIXED = {STOCK: "draw stock", UPCARD: "take", PASS: "pass"}
_PARSED = {"draw stock": STOCK, "stock": STOCK, "draw": STOCK, "take": UPCARD, "take upcard": UPCARD, "upcard": UPCARD}


def action_name(action: int, phase: int = PHASE_DISCARD) -> str:
    """An action in words: ``discard 7C``, ``knock 7C``, ``draw stock``, ``take``, ``pass``.

    In the lay-off phase, ``lay off 7C`` and ``done``; in the spread phase, ``spread 3`` (arrangements count from 0).

    Raises:
        IllegalActionError: if the number is not that of an action.
    """
    if not isinstance(action, Integral) or not 0 <= action < NUM_ACTIONS:
        raise IllegalActionError(f"expected the number of an action, from 0 to {NUM_ACTIONS - 1}, got {quoted(action)}")
    action = int(action)
    if action == PASS and phase == PHASE_LAYOFF:
        return "done"
    if action in _FIXED:
        return _FIXED[action]
    if action >= KNOCK:
        return f"knock {card_name(action - KNOCK)}"
    if phase == PHASE_SPREAD:
        return f"spread {action}"
    if phase == PHASE_LAYOFF:
        return f"lay off {card_name(action)}"
    return f"discard {card_name(action)}"


def parse_action(text: str) -> int:
    """The action that words name, as ``action_name`` writes them; case and extra spaces do not matter.

    Raises:
        IllegalActionError: if the text is not an action.
    """
    words = " ".join(text.lower().split()) if isinstance(text, str) else ""
    if words in _PARSED:
        return _PARSED[words]
    if words in ("pass", "done"):
        return PASS
    verb, _, rest = words.rpartition(" ")
    try:
        if verb in ("discard", "lay off", "layoff"):
            return parse_card(rest)
        if verb == "knock":
            return KNOCK + parse_card(rest)
    except CardError as error:
        raise IllegalActionError(f"cannot read the action {quoted(text)}: {error}") from None
    if verb == "spread" and rest.isdecimal() and len(rest) <= 2 and int(rest) < NUM_CARDS:
        return int(rest)
    raise IllegalActionError(
        "expected an action such as 'draw stock', 'take', 'pass', 'discard 7C', 'knock 7C', 'spread 0', 'lay off 7C' or 'done', "
        f"got {quoted(text)}"
    )


def actions_of(legal: Sequence[int] | np.ndarray) -> list[int]:
    """The actions in the three masks of ``engine.legal`` and of views, in ascending order.

    Args:
        legal: cards for ids 0-51, cards for ids 52-103, and bits for 104-106.
    """
    cards, knocks, others = map(operator.index, legal)
    bits = cards | knocks << KNOCK | others << STOCK
    return [action for action in range(NUM_ACTIONS) if bits >> action & 1]


def illegal_action(action: int, legal: Sequence[int] | np.ndarray, phase: int) -> str:
    """One sentence that names an illegal action and lists the legal ones."""
    name = f"action {action}"
    if 0 <= action < NUM_ACTIONS:
        name += f" ({action_name(action, phase)})"
    names = ", ".join(f"{number} ({action_name(number, phase)})" for number in actions_of(legal))
    where = f"is not legal in the {PHASE_NAMES[phase]} phase"
    return f"{name} {where}; legal actions: {names}" if names else f"{name} {where}: it is not this seat's turn"
