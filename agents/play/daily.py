"""The deal of a day: one hand that is the same for everybody, and what the levels make of the same cards."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import numpy as np

from agents.deal_streams import Domain, deal_keys, luck_words
from agents.play.game import DAILY, Game
from ginenv.engine.game import start_game
from ginenv.hands.hand import Match
from ginenv.tables.players import ask_player, make_player

RULES, OPPONENT = "dg-standard,target=0", "formula"
LEVELS = ("level-1", "level-2", "level-3", "level-4")
_SLOTS = np.zeros(1, np.int64)


def daily_name(day: datetime.date) -> str:
    """What the game of a day is called among the games of a player."""
    return f"{DAILY}{day}"


def daily_game(day: datetime.date) -> Game:
    """The game of a day; its cards, its starter, and the luck and the seed of the opponent follow from the date."""
    seed, match = day.toordinal(), Match(RULES)
    match.hand.state["key"] = deal_keys(Domain.DAILY, seed, 0, 1)
    match.hand.state["luck"] = luck_words(Domain.DAILY, seed, 0, 1)
    start_game(match.hand.state[0])
    return Game(record=match, opponent=OPPONENT, easy=False, seed=seed, name=daily_name(day), order=[])


def level_results(day: datetime.date, tell: Callable[[int, int], None]) -> dict[str, int]:
    """The points that each level, as installed, wins in the person's place; below zero are those that it loses.

    Args:
        day: whose deal.
        tell: told how many of how many levels have played.
    """
    results: dict[str, int] = {}
    for name in LEVELS:
        tell(len(results), len(LEVELS))
        results[name] = _result(daily_game(day), name)
    return results


def _result(game: Game, name: str) -> int:
    match, players = game.match, [make_player(name, game.seed), make_player(game.opponent, game.seed)]
    while not match.hand.is_over:
        seat = match.hand.turn
        match.push(int(ask_player(players[seat], match.hand.view(seat), _SLOTS)[0]))
    return match.score[0] - match.score[1]
