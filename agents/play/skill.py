"""A player's skill: what a decision costs on average in the hands that have been analysed. Luck is no part of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.arena.results import Estimate, ratio
from agents.play.store import Home

# Hands of each figure over time.
WINDOW = 50
# What ``agents.analysis.findings`` calls values of a game; hands played for points are left out.
_UNIT = "chance to win the game"


@dataclass(frozen=True)
class Skill:
    """Some hands of a player, in the order in which they were played.

    Attributes:
        hands: how many.
        decisions: the player's decisions in them.
        loss: what a decision cost, as a fraction of the game, with its 95 % interval by hands.
        since: when the first of their games began, in UTC.
        until: when the last one did.
    """

    hands: int
    decisions: int
    loss: Estimate
    since: str
    until: str


def skill(home: Home, player: str, window: int = WINDOW) -> tuple[Skill | None, list[Skill]]:
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
        f"SELECT max(analyst), game.begun, json_extract(found, {side}.loss') AS loss, json_extract(found, {side}.decisions') AS decisions "
        "FROM analysis JOIN game ON game.id = analysis.game JOIN player ON player.id = game.player "
        "WHERE player.name = ? AND game.seat IS NOT NULL AND json_valid(found) AND json_extract(found, '$.unit') = ? "
        "GROUP BY analysis.game, analysis.hand ORDER BY game.begun, game.id, analysis.hand",
        *(home.canonical_name(player), _UNIT),
    )
    played = [(row["begun"], row["loss"], row["decisions"]) for row in rows if row["decisions"]]
    windows = [_skill(played[start : start + window]) for start in range(0, len(played), window)]
    return (_skill(played) if played else None), windows


def _skill(rows: list[tuple[str, float, int]]) -> Skill:
    begun, losses, decisions = zip(*rows, strict=True)
    found = ratio(np.array(losses, np.float64), np.array(decisions, np.float64))
    return Skill(len(rows), int(sum(decisions)), found, begun[0], begun[-1])


def loss_words(loss: Estimate) -> str:
    """What a decision costs, in words: ``0.42 % of the game (0.31 to 0.53)``."""
    interval = "" if np.isnan(loss.half) else f" ({100 * loss.low:.2f} to {100 * loss.high:.2f})"
    return f"{100 * loss.mean:.2f} % of the game{interval}"


def skill_words(home: Home, player: str) -> list[str]:
    """The skill in sentences; empty where nothing has been analysed."""
    total, windows = skill(home, player)
    if total is None:
        return []
    lines = [
        f"Skill: a decision costs you {loss_words(total.loss)}, in {total.hands} analysed hands; luck is no part of it."
    ]
    if len(windows) > 1:
        lines.append(f"In the last {windows[-1].hands} of them: {loss_words(windows[-1].loss)}.")
    return lines
