"""A player's skill: what a decision costs on average in the hands that have been analysed, without luck; and the rating beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.estimates import Estimate, ratio
from agents.levels.matched import person_rating
from agents.play.moves import count
from agents.play.store import Home
from ginenv.errors import GinError

# What ``agents.analysis.findings`` calls values of a game; hands played for points are left out.
_UNIT = "chance to win the game"


@dataclass(frozen=True)
class Skill:
    """The analysed hands of a player.

    Attributes:
        hands: how many.
        decisions: the player's decisions in them.
        loss: what a decision cost, as a fraction of the game, with its 95 % interval by hands.
    """

    hands: int
    decisions: int
    loss: Estimate


def skill(home: Home, player: str) -> Skill | None:
    """The skill over all analysed hands of a player's own games; None where nothing has been analysed."""
    side = "'$.sides[' || game.seat || ']"
    rows = home.database.rows(
        f"SELECT max(analyst), json_extract(found, {side}.loss') AS loss, json_extract(found, {side}.decisions') AS decisions "
        "FROM analysis JOIN game ON game.id = analysis.game JOIN player ON player.id = game.player "
        "WHERE player.name = ? AND game.seat IS NOT NULL AND json_extract(found, '$.unit') = ? GROUP BY analysis.game, analysis.hand",
        *(home.canonical_name(player), _UNIT),
    )
    played = [(row["loss"], row["decisions"]) for row in rows if row["decisions"]]
    if not played:
        return None
    losses, decisions = np.array(played, np.float64).T
    return Skill(len(played), int(decisions.sum()), ratio(losses, decisions))


def _per_cent(loss: Estimate) -> str:
    return f"{100 * loss.mean:.2f} % ({100 * loss.low:.2f} to {100 * loss.high:.2f})".replace("-", "\N{MINUS SIGN}")


def standing(home: Home, player: str) -> list[str]:
    """How well a player plays: the skill, and the rating that ``matched`` gives, in sentences; a rating that cannot be read is one, too."""
    words, total = [], skill(home, player)
    # One hand says nothing, and has no interval.
    if total is not None and total.hands > 1:
        loss, hands = _per_cent(total.loss), count(total.hands, "analysed hand")
        words.append(f"Skill: a decision costs you {loss} of the game, in {hands}; luck is no part of it.")
    try:
        rating = person_rating(home.path, home.canonical_name(player))
    except GinError as error:
        return [*words, f"Your rating cannot be read: {error}."]
    return [*words, rating.sentence("Your")] if rating else words
