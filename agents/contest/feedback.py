"""What an analysis finds of a bot's play: the decisions that cost most in some hands, the same deals for every bot."""

from __future__ import annotations

from functools import cache
from typing import Any

from agents.analysis import MARKS, Analyst
from agents.analysis.sources import play_out
from agents.programs.player import BotLimits, OutsidePlayer
from ginenv.engine.rules import Rules
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_position
from ginenv.tables.players import close_players, make_player

HANDS, WORLDS, OPPONENT = 10, 64, "formula"
_SHOWN = 3
_FIRST_SEED = 20_000


@cache
def _analyst() -> Analyst:
    return Analyst(WORLDS)


def dearest_decisions(player: str, rules: Rules, seconds: float) -> dict[str, Any]:
    """Plays some hands against ``OPPONENT`` and judges the player's decisions.

    Args:
        player: the name of a program.
        rules: the rules.
        seconds: its time limit for getting ready, and for a decision.

    Returns:
        JSON values: ``decisions`` and their ``loss`` in sum, in the ``unit`` of the analysis; the ``dearest`` of those that are certainly
        mistakes, each with its position; and ``trouble``, a sentence, if the player could not go on.
    """
    found: dict[str, Any] = {"decisions": 0, "loss": 0.0, "unit": "", "dearest": [], "trouble": ""}
    for number in range(HANDS):
        hand, seat = Hand.deal(rules, seed=_FIRST_SEED + number), number % 2
        seats = [make_player(player if each == seat else OPPONENT, number) for each in (0, 1)]
        if isinstance(bot := seats[seat], OutsidePlayer):
            bot.limits = BotLimits(start_seconds=seconds, seconds=seconds)
        try:
            play_out(hand, seats)
        except GinError as error:
            found["trouble"] = str(error)
            break
        finally:
            close_players(seats)
        analysis = _analyst().hand(hand, number + 1, seat)
        found["unit"] = analysis.unit
        for each in analysis.decisions:
            found["decisions"] += 1
            found["loss"] += each.loss or 0.0
            if each.mark in MARKS:
                shown = {
                    name: getattr(each, name) for name in ("kind", "mark", "hand", "played", "best", "loss", "error")
                }
                found["dearest"].append({**shown, "position": format_position(hand.after(each.move - 1))})
    found["dearest"] = sorted(found["dearest"], key=lambda each: -each["loss"])[:_SHOWN]
    return found
