"""Tables that the server keeps: it deals, asks the person at the table as a program is asked, and lets a player of ours answer."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from agents.programs.events import HandEvents, legal_texts, may_play, question
from agents.programs.views import read_views
from ginenv.engine.actions import parse_action
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, quoted
from ginenv.hands.hand import Match

PERSON, OPPONENT = 0, 1
Decide = Callable[[np.ndarray], Awaitable[int]]
Observe = Callable[[np.ndarray], Awaitable[None]]


class Table:
    """A game between a person in seat 0 and a player of ours.

    Args:
        rules: the rules.
        decide: the player's action for a view.
        observe: shows the player the final view of a hand.
        one_hand: whether it ends with its first hand.
    """

    def __init__(self, rules: Rules, decide: Decide, observe: Observe, one_hand: bool = False) -> None:
        self.match, self._one_hand = Match(rules, seed=secrets.randbits(63)), one_hand
        self._decide, self._observe = decide, observe
        self._hand_events: HandEvents | None = None
        # Since the last accepted action, and whether they have been part of an answer.
        self._events: list[dict[str, Any]] = []
        self._answered = False

    @property
    def is_over(self) -> bool:
        """Whether the game, or the only hand, has ended."""
        return self.match.is_over or bool(self._one_hand and self.match.played)

    def legal(self) -> list[str]:
        """The actions that the person may choose from, in words."""
        return legal_texts(read_views(self.match.hand.view(PERSON))[0])

    def _tell(self, view: np.ndarray) -> None:
        [seen] = read_views(view)
        if self._hand_events is None:
            self._hand_events = HandEvents(seen)
        self._hand_events.update(seen)
        self._events += self._hand_events.unsent()

    async def go_on(self) -> None:
        """Plays the opponent's moves until the person is to move or the game is over."""
        match = self.match
        while not self.is_over:
            if match.hand.is_over:
                match.next_hand()
            elif match.hand.turn == PERSON:
                return
            else:
                await self._push(await self._decide(match.hand.view(OPPONENT)))

    async def play(self, action: str) -> None:
        """Plays the person's action in words, and what follows.

        Raises:
            GinError: if it is not legal, or the game is over.
        """
        if self.is_over:
            raise GinError("the game is over; a new table begins another one")
        await self.go_on()
        [seen] = read_views(self.match.hand.view(PERSON))
        number = parse_action(action)
        if not may_play(seen, number):
            raise GinError(f"{quoted(action)} is not legal; legal are: {', '.join(self.legal())}")
        if self._answered:
            self._events, self._answered = [], False
        await self._push(number)
        await self.go_on()

    async def _push(self, action: int) -> None:
        match = self.match
        match.push(action)
        if match.hand.is_over:
            played = match.played[-1]
            self._tell(played.view(PERSON))
            self._hand_events = None
            await self._observe(played.view(OPPONENT))

    def entry(self) -> dict[str, Any]:
        """What has happened since the person's last action, with the question, as an entry of an ``act`` message.

        The same as long as no action is accepted: an answer may get lost.
        """
        self._answered = True
        if self.is_over:
            return {"slot": 0, "events": self._events}
        view = self.match.hand.view(PERSON)
        self._tell(view)
        return {"slot": 0, "events": self._events, **question(read_views(view)[0])}
