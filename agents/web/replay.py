"""Games viewed step by step with both hands open: two agents that play while they are watched, and records."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from agents.play.opponents import start_opponent
from ginenv.engine.rules import Rules
from ginenv.errors import GinError
from ginenv.hands.hand import Hand, Match
from ginenv.tables.players import Player, close_players, make_player

_SLOTS = np.zeros(1, np.int64)
# The number of games kept while they are watched; the one viewed longest ago is dropped first.
_MAX_KEPT = 8
# How long agents play on for one request, in seconds; the page then shows how far they have come.
MAX_SECONDS = 2.0


class Moment(NamedTuple):
    """A moment of a game.

    Attributes:
        at: its number in the game, from 0 at the deal of the first hand.
        number: number of the hand, from 1.
        hand: the hand at that moment.
        action: what is played next, or None at the end of a hand and where nothing further is known.
        last: whether nothing follows.
    """

    at: int
    number: int
    hand: Hand
    action: int | None
    last: bool


@dataclass
class Steps:
    """The moments of a game.

    Attributes:
        hands: its hands in order.
        names: names of seats 0 and 1.
        match: the game, if it is one and not a single hand.
        players: who play on when somebody steps further (see ``watched_game``); nobody does in a game that has been played.
        seed: of the deals and choices of such a game; None if every game is a different one.
    """

    hands: list[Hand]
    names: tuple[str, str]
    match: Match | None = None
    players: Sequence[Player] = ()
    seed: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether all of it has been played."""
        return not self.players or self.match is None or self.match.is_over

    def _more(self, match: Match) -> None:
        """Lets the player that is to move play, or deals the next hand."""
        if match.hand.is_over:
            match.next_hand()
            self.hands.append(match.hand)
            return
        seat = match.hand.turn
        match.push(int(self.players[seat].act(match.hand.view(seat), _SLOTS)[0]))
        if match.hand.is_over:
            self.hands[-1] = match.played[-1]
            for seat, player in enumerate(self.players):
                player.observe_hands(match.played[-1].view(seat), _SLOTS)

    def _play_until(self, reached: Callable[[], bool]) -> None:
        until = time.monotonic() + MAX_SECONDS
        while self.match is not None and not (reached() or self.is_over):
            self._more(self.match)
            if time.monotonic() > until:
                break

    def _count(self, hands: int | None = None) -> int:
        """Moments of the first hands, or of all."""
        return sum(len(hand.history) + 1 for hand in self.hands[:hands])

    def moment(self, at: int) -> Moment:
        """A moment by its number; the last one that is known if there are fewer."""
        # One moment further, so that the next action is known.
        self._play_until(lambda: self._count() > at + 1)
        at = max(min(at, self._count() - (1 if self.is_over else 2)), 0)
        number = next(n for n in range(1, len(self.hands) + 1) if at < self._count(n))
        hand, played = self.hands[number - 1], at - self._count(number - 1)
        action = hand.history[played] if played < len(hand.history) else None
        return Moment(at, number, hand.after(played), action, self.is_over and at == self._count() - 1)

    def start_of(self, number: int) -> int:
        """The moment at which a hand is dealt; the last moment if there is no such hand."""
        self._play_until(lambda: len(self.hands) >= number)
        return self._count() - 1 if number > len(self.hands) else self._count(max(number, 1) - 1)


def watched_game(specs: tuple[str, str], rules: Rules, seed: int | None) -> Steps:
    """A game of two agents, who play on when somebody steps further.

    Args:
        specs: their names in the registry.
        rules: rules of the game.
        seed: seed of deals and choices; if it is None, every game is a different one.

    Raises:
        GinError: if one of them cannot play.
    """
    if seed is not None and any(spec.startswith("cmd:") for spec in specs):
        raise GinError("a program could find out which cards a seed deals: watch it without one")
    match, players = Match(rules, seed=seed), []
    try:
        for seat, spec in enumerate(specs):
            players.append(make_player(spec, (seed or 0) * 2 + seat))
            start_opponent(players[-1], rules)
    except BaseException:
        close_players(players)
        raise
    return Steps([match.hand], specs, match, players, seed)


class Kept:
    """What one person looks at that is not stored, by number; used under the person's lock."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._number = 0

    def add(self, each: Any) -> int:
        """Keeps something; returns its number."""
        self._number += 1
        self._kept[self._number] = each
        if len(self._kept) > _MAX_KEPT:
            close_players(getattr(self._kept.popitem(last=False)[1], "players", ()))
        return self._number

    def get(self, number: int) -> Any:
        """What has a number.

        Raises:
            GinError: if it is not kept (any more).
        """
        if number not in self._kept:
            raise GinError("this game is not kept any more; begin another")
        self._kept.move_to_end(number)
        return self._kept[number]

    def close(self) -> None:
        """Ends the programs of all games."""
        for each in self._kept.values():
            close_players(getattr(each, "players", ()))
