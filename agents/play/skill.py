"""A player's skill: what a decision costs on average in the hands that have been analysed, without luck; and the rating beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from agents.estimates import Estimate, ratio
from agents.levels.matched import person_rating
from agents.play.moves import count
from agents.play.store import Home
from ginenv.errors import GinError

# Hands of each figure over time, and how many of the last figures are put in words.
WINDOW, _SHOWN = 50, 5
# What ``agents.analysis.findings`` calls values of a game; hands played for points are left out.
_UNIT = "chance to win the game"


@dataclass(frozen=True)
class Skill:
    """Some hands of a player, in the order in which they were played.

    Attributes:
        hands: how many.
        decisions: the player's decisions in them.
        loss: what a decision cost, as a fraction of the game, with its 95 % interval by hands.
    """

    hands: int
    decisions: int
    loss: Estimate


def skill(home: Home, player: str, window: int) -> tuple[Skill | None, list[Skill]]:
    """The skill over all analysed hands of a player's own games, and in each window of hands, the oldest first.

    Args:
        home: the store.
        player: whose.
        window: hands in each window; the last one may have fewer.

    Returns:
        The skill over all, None where nothing has been analysed; and the windows.
    """
    side = "'$.sides[' || game.seat || ']"
    rows = home.database.rows(
        f"SELECT max(analyst), json_extract(found, {side}.loss') AS loss, json_extract(found, {side}.decisions') AS decisions "
        "FROM analysis JOIN game ON game.id = analysis.game JOIN player ON player.id = game.player "
        "WHERE player.name = ? AND game.seat IS NOT NULL AND json_valid(found) AND json_extract(found, '$.unit') = ? "
        "GROUP BY analysis.game, analysis.hand ORDER BY game.begun, game.id, analysis.hand",
        *(home.canonical_name(player), _UNIT),
    )
    played = [(row["loss"], row["decisions"]) for row in rows if row["decisions"]]
    windows = [_skill(played[start : start + window]) for start in range(0, len(played), window)]
    return (_skill(played) if played else None), windows


def _skill(rows: list[tuple[float, int]]) -> Skill:
    losses, decisions = np.array(rows, np.float64).T
    return Skill(len(rows), int(decisions.sum()), ratio(losses, decisions))


def _per_cent(loss: Estimate) -> str:
    interval = "" if np.isnan(loss.half) else f" ({100 * loss.low:.2f} to {100 * loss.high:.2f})"
    return f"{100 * loss.mean:.2f} %{interval}".replace("-", "\N{MINUS SIGN}")


class Standing(NamedTuple):
    """How well a player plays.

    Attributes:
        words: the skill, how it has moved, and the rating that ``matched`` gives, in sentences; empty where nothing is known.
        windows: the skill in each window of hands.
        ratings: the rating after each of the last hands.
    """

    words: list[str]
    windows: list[Skill]
    ratings: list[int]


def standing(home: Home, player: str) -> Standing:
    """What is known of how well a player plays; a rating that cannot be read is a sentence."""
    (total, windows), words = skill(home, player, WINDOW), []
    # One hand says nothing, and has no interval.
    if total is not None and total.hands > 1:
        loss, hands = _per_cent(total.loss), count(total.hands, "analysed hand")
        words.append(f"Skill: a decision costs you {loss} of the game, in {hands}; luck is no part of it.")
    if len(windows) > 1:
        losses = ", ".join(_per_cent(each.loss) for each in windows[-_SHOWN:])
        words.append(f"Every {WINDOW} hands, the last {windows[-1].hands} at the end: {losses}.")
    rating = None
    try:
        rating = person_rating(home.path, home.canonical_name(player))
    except GinError as error:
        words.append(f"Your rating cannot be read: {error}.")
    return Standing(words + ([rating.sentence("Your")] if rating else []), windows, rating.past if rating else [])
