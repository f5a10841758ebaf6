"""Any player of ours as an agent of RLCard's gin rummy (``pip install "ginenv[agents,rlcard]"``).

    env = rlcard.make("gin-rummy")
    env.set_agents([RLCardAgent("level-2"), GinRummyNoviceRuleAgent()])
    env.run(is_training=False)

RLCard's game is not quite gin rummy: nobody lays off or undercuts, and a knock pays the same whatever the opponent holds. ``RULES`` is the
nearest of ours, which the player believes to be playing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridges.hosted_player import Event, HostedPlayer
from ginenv.engine.cards import card_name, parse_card
from ginenv.engine.rules import Rules, get_rules
from ginenv.tables.players import Player

DRAW, TAKE, DEAD_HAND, DISCARD, KNOCK = 2, 3, 4, 6, 58
RULES: Rules = get_rules("openspiel").replace(
    deal="eleven-ten",
    discard_taken_upcard=False,
    gin="automatic",
    stock_end="last-upcard",
    undercut_bonus=0,
    first_starter="chance",
)
# RLCard's suits are in the order spades, hearts, diamonds, clubs; ours are spades, clubs, diamonds, hearts. It is its own inverse.
_SUITS = (0, 3, 2, 1)


def swap_suits(card: int) -> int:
    """Our number of RLCard's card, or RLCard's of ours."""
    return 13 * _SUITS[card // 13] + card % 13


def _names(plane: np.ndarray) -> set[str]:
    return {card_name(swap_suits(card)) for card in np.flatnonzero(plane).tolist()}


class Observer:
    """Reads what happened in RLCard's gin rummy from one seat's observations, which hold no history.

    Args:
        player: as for ``bridges.hosted_player.HostedPlayer``.
        seed: likewise.
    """

    def __init__(self, player: str | Player = "network", seed: int = 0) -> None:
        self._seat = HostedPlayer(player, RULES, seed)
        self._hand: set[str] = set()
        self._upcard, self._action, self._num_taken = "", "", 0

    def decide(self, planes: np.ndarray, legal: list[int]) -> int:
        """The action for an observation.

        Args:
            planes: ``[4 or more, 52]``: the seat's hand, the top of the pile, the rest of the pile, the opponent's known cards.
            legal: RLCard's legal actions.
        """
        hand, top = _names(planes[0]), "".join(_names(planes[1]))
        if hand and min(legal) >= DRAW:
            events = self._events(hand, top, _names(planes[3]))
            self._seat.push(events)
            self._hand, self._upcard = hand, top
        self._action = ""
        if len(legal) == 1:
            return legal[0]
        self._action = self._seat.decide(lambda text: _action_of(text, legal) in legal)
        return _action_of(self._action, legal)

    def _events(self, hand: set[str], top: str, opponent_cards: set[str]) -> list[Event]:
        """What has happened since the last observation; a deal where it does not follow from that one."""
        word, _, card = self._action.partition(" ")
        events: list[Event] = []
        if word == "draw" and self._hand < hand:
            events = [{"event": "draw", "who": "you", "card": "".join(hand - self._hand)}]
        elif word == "take" and hand == self._hand | {self._upcard}:
            events = [{"event": "take", "who": "you", "card": self._upcard}]
        elif word == "discard" and hand == self._hand - {card}:
            # What the opponent takes it may not discard in the same turn.
            draw = {"event": "take", "card": card} if card in opponent_cards else {"event": "draw"}
            events = [{"event": "discard", "who": "you", "card": card}, draw | {"who": "opponent"}]
            events.append({"event": "discard", "who": "opponent", "card": top})
        self._num_taken += sum(event["event"] == "take" for event in events)
        if events and self._num_taken < RULES.max_upcards:
            return events
        # Another hand, or one so long that our rules would end it: that one begins again with what is seen.
        self._num_taken = 0
        deal: Event = {"event": "deal", "starts": "you" if len(hand) == 11 else "opponent", "cards": sorted(hand)}
        return [deal] if len(hand) == 11 else [deal, {"event": "discard", "who": "opponent", "card": top}]


def _action_of(text: str, legal: list[int]) -> int:
    """RLCard's action for one in the protocol's words."""
    word, _, card = text.partition(" ")
    if word == "draw":
        return DRAW if DRAW in legal else DEAD_HAND
    return TAKE if word == "take" else (DISCARD if word == "discard" else KNOCK) + swap_suits(parse_card(card))


class RLCardAgent:
    """A player of ours for one seat of ``rlcard.make("gin-rummy")``; arguments as for ``Observer``."""

    use_raw = False

    def __init__(self, player: str | Player = "network", seed: int = 0) -> None:
        self._observer = Observer(player, seed)

    def step(self, state: dict[str, Any]) -> int:
        """The action in a state."""
        return self._observer.decide(state["obs"], list(state["legal_actions"]))

    def eval_step(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The action in a state, and nothing about others."""
        return self.step(state), {}
