"""Any player of ours as a bot in OpenSpiel's gin rummy (``pip install "ginenv[agents]" open_spiel==2.0.2``).

    game = pyspiel.load_game("gin_rummy")
    bots = [OpenSpielBot(game, 0, "level-2"), pyspiel.make_simple_gin_rummy_bot(game.get_parameters(), 1)]
    pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)

A state of OpenSpiel holds every card. The bot reads the actions that both players have seen, the melds and its own cards, nothing else.
"""

from __future__ import annotations

from typing import Any

import pyspiel

from bridges.hosted_player import Event, HostedPlayer, cards_to_lay_off, knock_melds, least_deadwood_melds
from ginenv.engine.cards import card_name, cards_of, mask_of, parse_card
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import GinError
from ginenv.tables.players import Player

UPCARD, STOCK, PASS, KNOCK, MELDS = 52, 53, 54, 55, 56
_ACTIONS = {"take": UPCARD, "draw": STOCK, "pass": PASS, "knock": KNOCK}
_DEALT, _HAND = 21, 10
_MELDS = pyspiel.gin_rummy.GinRummyUtils(13, 4, _HAND)
# Our rules that are parameters of OpenSpiel's game.
_PARAMETERS = {"knock_limit": "knock_card", "gin_bonus": "gin_bonus", "undercut_bonus": "undercut_bonus"}


def rules_of(parameters: dict[str, Any]) -> Rules:
    """Our rules for the parameters of OpenSpiel's game.

    Raises:
        GinError: for another deck than 52 cards, or hands of another size.
    """
    size = tuple(parameters[name] for name in ("num_ranks", "num_suits", "hand_size"))
    if size != (13, 4, _HAND):
        raise GinError(f"num_ranks, num_suits and hand_size are {size}; the bot plays with (13, 4, {_HAND})")
    changes = {ours: parameters[theirs] for ours, theirs in _PARAMETERS.items()}
    oklahoma = {"oklahoma": True, "oklahoma_ace": "gin"} if parameters["oklahoma"] else {}
    return get_rules("openspiel").replace(**changes, **oklahoma)


def seen_events(history: list[tuple[int, int]], seat: int) -> list[Event]:
    """The events of the line protocol that a seat has seen, up to a knock.

    Args:
        history: all actions, as pairs of player (below 0: chance) and action.
        seat: the seat.
    """
    dealt = [action for _, action in history[:_DEALT]]
    cards, upcard = map(card_name, dealt[seat * _HAND : (seat + 1) * _HAND]), dealt[-1]
    starts = "opponent" if seat else "you"
    events = [{"event": "deal", "seat": seat, "starts": starts, "cards": [*cards], "upcard": card_name(upcard)}]
    for player, action in history[_DEALT:]:
        who = "you" if player == seat else "opponent"
        at_wall = action == KNOCK and events[-1]["event"] == "discard"
        if player < 0:
            if events[-1]["who"] == "you":
                events[-1]["card"] = card_name(action)
        elif action == UPCARD or at_wall:
            events.append({"event": "take", "who": who, "card": card_name(upcard)})
        elif action == STOCK:
            events.append({"event": "draw", "who": who})
        elif action == PASS:
            events.append({"event": "pass", "who": who})
        elif action < UPCARD:
            events.append({"event": "discard", "who": who, "card": card_name(action)})
            upcard = action
        if action == KNOCK:
            break
    return events


def meld_actions(melds: list[int]) -> list[int]:
    """OpenSpiel's actions for melds, given as masks; runs of six and more go as two."""
    actions = []
    for cards in map(cards_of, melds):
        half = len(cards) // 2 if len(cards) > 5 else len(cards)
        actions += [MELDS + _MELDS.meld_to_int(part) for part in (cards[:half], cards[half:]) if part]
    return actions


class OpenSpielBot(pyspiel.Bot):
    """A player of ours in one seat. It keeps nothing from one decision to the next.

    Args:
        game: OpenSpiel's game, with its parameters.
        seat: 0 or 1.
        player: as for ``bridges.hosted_player.HostedPlayer``.
        seed: likewise.

    Raises:
        GinError: for parameters that the bot does not play, or an unknown player.
    """

    def __init__(self, game: Any, seat: int, player: str | Player = "network", seed: int = 0) -> None:
        super().__init__()
        self.number, self.seat = seat, HostedPlayer(player, rules_of(game.get_parameters()), seed)

    def restart_at(self, state: Any) -> None:
        """Nothing to do."""

    def step(self, state: Any) -> int:
        """The action in a state in which the seat is to move."""
        legal = state.legal_actions()
        if len(legal) == 1:
            return legal[0]
        self.seat.push(seen_events([(each.player, each.action) for each in state.full_history()], self.number))
        if any(state.knocked()) and max(legal) >= PASS:
            return next((action for action in self._laid_open(state) if action in legal), PASS)
        phase = state.current_phase().name

        def action_of(text: str) -> int:
            word, _, card = text.partition(" ")
            if word == "discard" or (phase == "KNOCK" and word == "knock"):
                return parse_card(card)
            # At the wall the upcard can be taken only to knock.
            return KNOCK if phase == "WALL" and word == "take" else _ACTIONS[word]

        return action_of(self.seat.decide(lambda text: action_of(text) in legal))

    def _laid_open(self, state: Any) -> list[int]:
        """What to lay down after a knock, in order: the knocker's melds, the defender's single cards, the defender's melds."""
        if state.knocked()[self.number]:
            return meld_actions(knock_melds(self.seat.view(), state.discard_pile()[-1]))
        hand = mask_of(state.hands()[self.number])
        if state.finished_layoffs():
            return meld_actions(least_deadwood_melds(hand))
        melds = [mask_of(_MELDS.int_to_meld[number]) for number in state.layed_melds()[1 - self.number]]
        laid = mask_of(state.layoffs())
        return cards_of(cards_to_lay_off(hand | laid, melds) & ~laid)
