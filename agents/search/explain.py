"""Explains the search's choice in one position: its candidates and its belief.

gin explain ginview1 rules=eaai ...               a view
gin explain gin1 rules=eaai ...                   a position, as the replay at the table prints it
gin explain ... --player search:worlds=1024       a search with other settings
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import tyro
from pydantic import Field
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.config import Config
from agents.search.player import SearchPlayer
from ginenv.bots.hand_kernels import danger_of, fillers, live_ways
from ginenv.bots.reasons import Estimates, reason
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, STOCK, action_name, parse_action
from ginenv.engine.cards import RANKS, SUIT_SYMBOLS, format_cards
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError, TextError
from ginenv.hands.text import parse_position, parse_view
from ginenv.tables.players import make_player

GAME, POINTS = "chance to win the game", "points / 100"


class ExplainConfig(Config):
    """Explains what the search plays in a position, and its belief about the opponent's hand.

    Attributes:
        position: a view (ginview1 ...) or a position (gin1 ...).
        player: the search, with its settings, as in search:worlds=1024.
        seed: seed of the sampled worlds.
        as_json: print JSON instead of tables.
    """

    position: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="POSITION ...")]
    player: str = "search"
    seed: int = Field(0, ge=0)
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False


def read_view(text: str) -> np.ndarray:
    """The view of the seat to move, ``VIEW[1]``, from the text of a view or of a position.

    Raises:
        TextError: if the text cannot be read, or no seat is to move.
    """
    kind = text.partition(" ")[0]
    if kind == "ginview1":
        return parse_view(text)
    if kind != "gin1":
        raise TextError(f"{text[:60]!r} is not a view (ginview1 ...) or a position (gin1 ...)")
    hand = parse_position(text)
    if hand.is_over:
        raise TextError(f"no seat is to move: the hand is over ({hand.outcome})")
    return hand.view()


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


def tables(about: dict[str, Any]) -> list[Table]:
    """The result of ``explain`` as tables of the candidates and of the belief (suits by ranks, in percent)."""
    title = f"{about['hand']} · {about['deadwood']} deadwood · {about['action']}: {about['reason']}"
    candidates = Table(title=title, box=box.SIMPLE, pad_edge=False)
    candidates.add_column("", no_wrap=True)
    for heading in ("value", "difference", "policy", "deadwood", "ways", "lost", "danger"):
        candidates.add_column(heading, justify="right", no_wrap=True)
    for line in about["candidates"]:
        value = f"{100 * line['value']:.2f}", f"{100 * line['difference']:+.2f} ± {100 * line['difference_error']:.2f}"
        candidates.add_row(
            line["action"] + (" ←" if line["action"] == about["action"] else ""),
            *(value if about["worlds"] else ("", "")),
            f"{100 * line['policy']:.1f} %",
            *(str(line.get(key, "")) for key in ("deadwood", "ways", "lost_ways", "danger")),
        )
    candidates.caption = (
        f"value: {about['value_is']}, in hundredths, in {about['worlds']} worlds; ways: unseen cards that would fill what is left"
        if about["worlds"]
        else "a single candidate needs no search"
    )
    belief = Table("", title="the opponent holds, %", box=box.SIMPLE)
    for rank in RANKS:
        belief.add_column(rank, justify="right")
    for suit, row in zip(SUIT_SYMBOLS, about["belief"], strict=True):
        belief.add_row(suit, *map(_shaded, row))
    return [candidates, belief]


def _shaded(chance: float) -> Text:
    if chance == 0:
        return Text("·", style="dim")
    level = int(35 + 150 * chance)
    return Text(f"{100 * chance:.0f}", style=f"white on rgb({level},60,{max(40, 150 - level)})")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command ``gin explain``.

    Args:
        arguments: command-line arguments, without the program's name (default: those of this process).

    Raises:
        GinError: if the position cannot be read, or the player cannot be made or is not a search.
    """
    config = tyro.cli(ExplainConfig, prog="gin explain", args=arguments)
    view = read_view(" ".join(config.position))
    player = make_player(config.player, config.seed)
    if not isinstance(player, SearchPlayer):
        raise GinError(f"player {config.player!r} cannot be explained; it must be search, with or without settings")
    about = explain(view, player)
    if config.as_json:
        print(json.dumps(about, indent=2))
    else:
        for table in tables(about):
            Console().print(table)
