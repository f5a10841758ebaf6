"""Explains the search's choice in one position: its candidates and its belief, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.search.player import SearchPlayer
from ginenv.bots.hand_kernels import danger_of, fillers, live_ways
from ginenv.bots.reasons import Estimates, reason
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, STOCK, action_name, parse_action
from ginenv.engine.cards import format_cards
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError

GAME, POINTS = "chance to win the game", "points / 100"


def explain(view: np.ndarray, player: SearchPlayer, also: Sequence[int] = ()) -> dict[str, Any]:
    """What the search finds about a position, as plain values.

    Args:
        view: ``VIEW[1]`` of the seat to move.
        player: the search.
        also: legal actions to include as candidates, whatever the policy thinks of them.

    Returns:
        ``hand`` and ``deadwood``; ``action``, the one played, and ``policy_action``, that of the network without search; ``value_is``
        and ``worlds`` (0 if there is a single candidate); ``candidates``, first the one played, then by ``value``; ``belief``, the
        probability that the opponent holds each card, suits by ranks; where a knock is possible ``opponent_deadwood``, the mean of
        the opponent's sampled hands; ``reason``, which says what speaks for the action played (``reason_of``). Each candidate has
        ``action``, ``value``, ``error`` (its standard error), ``difference`` to the one played with ``difference_error``, and
        ``policy`` (its probability among the candidates). Discards also have ``deadwood`` afterwards, ``ways`` to fill what is left,
        ``lost_ways`` of the card, and ``danger``.

    Raises:
        GinError: if the seat is not to move.
    """
    v: Any = view[0]
    if not v["to_move"]:
        raise GinError("a search can be explained only for the seat to move")
    found = player.examine(view, also)
    names = [action_name(int(action), int(v["phase"])) for action in found.candidates["action"]]
    chosen = found.candidates[found.best]
    policy = np.exp(found.candidates["cost"][0] - found.candidates["cost"])
    # Worlds share the opponent hands that were drawn, so the error has a part for how few of those have weight.
    shared = float(np.sqrt(1 + int(chosen["worlds"]) * (found.weights**2).sum()))
    candidates = []
    for i, candidate in enumerate(found.candidates):
        line: dict[str, Any] = {
            "action": names[i],
            "value": round(float(candidate["value"]), 4),
            "error": round(shared * float(found.errors[i]), 4),
            "difference": round(float(candidate["value"] - chosen["value"]), 4),
            "difference_error": round(shared * float(candidate["error"]), 4),
            "policy": round(float(policy[i] / policy.sum()), 4),
        }
        if v["phase"] == PHASE_DISCARD:
            line |= _about_discard(v, int(candidate["action"]))
        candidates.append(line)
    order = sorted(range(len(candidates)), key=lambda i: (i != found.best, -candidates[i]["value"]))
    about = {
        "hand": format_cards(int(v["hand"])),
        "deadwood": int(deadwood(int(v["hand"]))),
        "action": names[found.best],
        "policy_action": names[0],
        "value_is": GAME if v["rules"]["target"] else POINTS,
        "worlds": int(chosen["worlds"]),
        "candidates": [candidates[i] for i in order],
        "belief": found.belief.reshape(4, 13).round(4).tolist(),
        "opponent_deadwood": _mean_deadwood(found.hands, found.weights) if v["legal"][1] else None,
    }
    return about | {"reason": reason_of(view, about)}


def _mean_deadwood(hands: np.ndarray, weights: np.ndarray) -> float:
    return round(float(weights @ [float(deadwood(hand)) for hand in hands]), 2)


def reason_of(view: np.ndarray, about: dict[str, Any], played: int | None = None) -> str:
    """A clause that says why the best action is better than the one played, or than the next best.

    Args:
        view: ``VIEW[1]`` of the seat to move.
        about: what ``explain`` found about it.
        played: the action that was chosen, one of the candidates.
    """
    best, worse = about["action"], [line for line in about["candidates"] if line["difference"] < 0]
    words = None if played is None else action_name(played, int(view["phase"][0]))
    compared = next((line for line in worse if words in (None, best, line["action"])), None)
    if compared is None:
        return reason(view[0], parse_action(best), None, Estimates(about["opponent_deadwood"]))
    gap = f"{-100 * compared['difference']:.1f}"
    unit = "% of the game" if about["value_is"] == GAME else "points"
    estimates = Estimates(about["opponent_deadwood"], "" if gap == "0.0" else f"{gap} {unit}")
    return reason(view[0], parse_action(best), parse_action(compared["action"]), estimates)


def _about_discard(v: Any, action: int) -> dict[str, Any]:
    card = action - KNOCK if KNOCK <= action < STOCK else action
    rest = int(v["hand"]) & ~(1 << card)
    unseen, known_cards = int(v["unseen"]), int(v["known_cards"][1])
    chance = (int(v["rules"]["hand_size"]) - known_cards.bit_count()) / max(1, unseen.bit_count())
    cold = int(v["thrown"][1]) | int(v["refused"][1])
    return {
        "deadwood": int(deadwood(rest)),
        "ways": (int(fillers(rest)) & unseen).bit_count(),
        "lost_ways": int(live_ways(card, int(v["hand"]), unseen)),
        "danger": round(float(danger_of(card, unseen, known_cards, cold, chance)), 3),
    }
