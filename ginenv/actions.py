"""The one action space, ``Discrete(107)``, as numbers and as text.

| id | meaning |
|---|---|
| 0-51 | discard that card; in the lay-off phase lay it off; in the spread phase choose that arrangement |
| 52-103 | knock, discarding card ``id - 52`` |
| 104 | draw from the stock |
| 105 | take the upcard |
| 106 | pass; in the lay-off phase done |
"""

from __future__ import annotations

from ginenv.cards import NUM_CARDS, card_name, parse_card
from ginenv.errors import CardError, IllegalActionError

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
    """The action as words: ``discard 7C``, ``knock 7C``, ``draw stock``, ``take``, ``pass``.

    In the lay-off phase ``lay off 7C`` and ``done``; in the spread phase ``spread 3`` (arrangements count from 0).
    """
    action = int(action)
    if action == PASS and phase == PHASE_LAYOFF:
        return "done"
    if action in _FIXED:
        return _FIXED[action]
    if not 0 <= action < NUM_ACTIONS:
        raise IllegalActionError(f"action {action} does not exist; actions are numbered 0 to {NUM_ACTIONS - 1}")
    if phase == PHASE_SPREAD:
        return f"spread {action}"
    if phase == PHASE_LAYOFF:
        return f"lay off {card_name(action)}"
    if action >= KNOCK:
        return f"knock {card_name(action - KNOCK)}"
    return f"discard {card_name(action)}"


def parse_action(text: str) -> int:
    """The action of words as ``action_name`` writes them; case and extra blanks do not matter.

    Raises:
        IllegalActionError: if the text names no action.
    """
    words = " ".join(text.lower().split())
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
        raise IllegalActionError(f"{text!r} is no action: {error}") from None
    if verb == "spread" and rest.isdecimal() and int(rest) < NUM_CARDS:
        return int(rest)
    raise IllegalActionError(
        f"{text!r} is no action; allowed are: discard CARD, knock CARD, draw stock, take, pass, lay off CARD, done, spread N"
    )
