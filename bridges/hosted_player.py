"""A seat at another program's table: its events become one of our views, and a player of ours decides.

Every bridge turns what its host shows into the events of the line protocol (docs/protocol.md). From these the engine says where the cards
are and what is legal, so no bridge knows the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agents.programs.events import legal_texts
from agents.programs.messages import GameEntry
from agents.programs.responder import Hands, answer_texts
from agents.programs.views import read_views
from ginenv.engine.melds import best_layoff, best_spread, deadwood, nth_arrangement
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import GinError
from ginenv.tables.players import Player, ask_player, make_player

Event = dict[str, Any]


class HostedPlayer:
    """One player at one table. It plays as installed: it learns nothing about its opponent.

    Args:
        player: a player's name with options, a checkpoint's or a level's directory, or a ``Player``.
        rules: what the host plays: a preset with or without changes, or ``Rules``.
        seed: what the player leaves to chance follows from it and from the hand.

    Raises:
        GinError: if there is no such player, or no such rules.
    """

    def __init__(self, player: str | Player = "network", rules: str | Rules = "openspiel", seed: int = 0) -> None:
        self.player = make_player(player, seed, learn=False)
        self._hands = Hands(get_rules(rules), seed)

    def push(self, events: list[Event]) -> None:
        """Adds events; a deal begins another hand.

        Raises:
            GinError: if they cannot come next under the rules.
        """
        self._hands.read([GameEntry.model_validate({"slot": 0, "events": events})])

    def view(self) -> np.ndarray:
        """What the seat sees, ``VIEW[1]``; raises ``GinError`` if it is not to move."""
        return self._hands.readers[0].view()

    def decide(self, allows: Callable[[str], bool] = lambda action: True) -> str:
        """The player's action, such as ``"discard 7C"``.

        Args:
            allows: whether the host allows an action that the rules allow.

        Raises:
            GinError: if the seat is not to move, or the host allows none of its actions.
        """
        by_rules = legal_texts(read_views(self.view())[0])
        legal = [action for action in by_rules if allows(action)]
        if not legal:
            raise GinError(f"the host allows none of the actions that the rules allow: {', '.join(by_rules)}")
        if len(legal) == 1:
            return legal[0]
        question = self._hands.read([GameEntry(slot=0, events=[], legal=legal)])  # type: ignore[call-arg]
        actions = ask_player(self.player, question.views, question.slots)
        return answer_texts(question.views, question.slots, actions)[0]["action"]


def knock_melds(view: np.ndarray, card: int) -> list[int]:
    """The melds, as masks, that the engine lays out for a seat that knocks with a card in this view (``VIEW[1]``)."""
    seen = view[0]
    known_cards = int(seen["known_cards"][1])
    hidden = int(seen["rules"]["hand_size"]) - known_cards.bit_count()
    cards = int(seen["hand"]) & ~(1 << card)
    return [int(meld) for meld in best_spread(cards, int(seen["unseen"]), known_cards, hidden) if meld]


def cards_to_lay_off(hand: int, melds: list[int]) -> int:
    """The cards of a defender that go to the knocker's melds, so that it is left with the least deadwood; all are masks."""
    return int(best_layoff(hand, *[*melds, 0, 0, 0][:3])[0])


def least_deadwood_melds(hand: int) -> list[int]:
    """Melds, as masks, that leave the least deadwood of a hand."""
    return [int(meld) for meld in nth_arrangement(hand, deadwood(hand), 0)[1:] if meld]
