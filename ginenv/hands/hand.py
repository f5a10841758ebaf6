"""One hand, or a game of hands, as a Python object that is played one move at a time.

``Hand`` and ``Match`` take actions as numbers or words, check them, and explain what was wrong. For thousands of games at once, use
the kernels or the vector environments.

    >>> from ginenv.hands.hand import Hand
    >>> hand = Hand.deal("eaai", seed=7)
    >>> hand.push("pass")
    >>> hand.push("take")
    >>> hand.legal_actions()[-1] < 104
    True
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ginenv.engine import melds
from ginenv.engine.actions import (
    PASS,
    PHASE_NAMES,
    PHASE_OVER,
    action_name,
    actions_of,
    illegal_action,
    parse_action,
)
from ginenv.engine.cards import cards_of, check_deck, format_cards, mask_of
from ginenv.engine.engine import NOBODY, STATE, apply, deal, is_legal, legal
from ginenv.engine.game import next_hand, next_starter, score_hand, set_keys, start_game
from ginenv.engine.jit import kernel
from ginenv.engine.outcome import Outcome, outcome_of
from ginenv.engine.rules import Rules, get_rules
from ginenv.engine.state import as_batch
from ginenv.errors import CardError, GinError, IllegalActionError, check_choice, check_integer, must_be
from ginenv.pictures.render import to_svg
from ginenv.pictures.sheet import ScoreSheet, pair_of, score_sheet
from ginenv.view.view import make_views

# In a hand, after a draw.
_MAX_CARDS = 11


def deadwood(cards: Iterable[int] | int) -> int:
    """Least deadwood of a hand of at most eleven cards (numbers, or a mask).

    Raises:
        CardError: if these are not different cards, at most eleven.
    """
    given = list(cards) if isinstance(cards, Iterable) else cards_of(cards)
    hand = mask_of(given)
    if hand.bit_count() != len(given) or len(given) > _MAX_CARDS:
        raise CardError(f"expected at most {_MAX_CARDS} different cards, got {len(given)}: {format_cards(given)}")
    return int(melds.deadwood(hand))


# From Python, a call with an array costs a tenth of one with a record, so each frequent operation is one such call.


@kernel
def _start_game(states):
    start_game(states[0])


@kernel
def _deal(states, starter):
    deal(states[0], starter)


@kernel
def _legal(states):
    return legal(states[0])


@kernel
def _push(states, action):
    s = states[0]
    if not is_legal(s, action):
        return False
    apply(s, action)
    return True


@kernel
def _push_all(states, actions, phases):
    """Plays actions until one is not legal; writes the phase in which each was played. Returns how many were played."""
    s = states[0]
    for k in range(actions.shape[0]):
        phases[k] = s.phase
        if not is_legal(s, actions[k]):
            return k
        apply(s, actions[k])
    return actions.shape[0]


class Hand:
    """One hand in play, or a position of it.

    Args:
        state: ``STATE[1]``, which the hand then owns.
        rules: the rules that the state holds; read from the state if omitted.

    Raises:
        GinError: if it is no ``STATE[1]``.
    """

    def __init__(self, state: np.ndarray, rules: Rules | None = None) -> None:
        self.state = as_batch(state, STATE, "STATE", 1)
        self.rules = Rules.from_block(self.state["rules"][0]) if rules is None else rules

    @classmethod
    def deal(
        cls,
        rules: str | Rules | dict[str, Any] = "dg-standard",
        *,
        seed: int | None = None,
        deck: Sequence[int] | str | None = None,
        starter: int | None = None,
    ) -> Hand:
        """Deals a hand.

        Args:
            rules: a preset name, rules, or a dictionary of fields.
            seed: seed of the deal and of the players' luck; if omitted, every call deals differently.
            deck: the cards in the order dealt (the starter's, the other seat's, the upcard or 11th card, the stock), as numbers
                or as text; shuffled from the seed if omitted.
            starter: the seat that starts; if omitted, the rules decide (seat 0 with a given deck).

        Raises:
            RulesError: for unknown or invalid rules.
            CardError: if the deck does not hold each card in play exactly once.
            GinError: if the seed is negative or the starter is not a seat.
        """
        chosen = get_rules(rules)
        states = np.zeros(1, STATE)
        states["rules"][0] = chosen.block
        set_keys(states, np.random.default_rng(seed if seed is None else check_integer("seed", seed, 0)))
        _start_game(states)
        if starter is not None:
            check_choice("starter", starter, (0, 1))
        if deck is not None:
            _put_deck(states, deck, chosen)
            _deal(states, starter or 0)
        elif starter is not None:
            _deal(states, starter)
        return cls(states, chosen)

    @property
    def turn(self) -> int:
        """Seat to move."""
        return int(self.state["turn"][0])

    @property
    def phase(self) -> str:
        """The phase of the hand: upcard, draw, discard, spread, layoff, wall or over."""
        return PHASE_NAMES[self._phase]

    @property
    def _phase(self) -> int:
        return int(self.state["phase"][0])

    @property
    def is_over(self) -> bool:
        """Whether the hand has ended."""
        return self._phase == PHASE_OVER

    @property
    def outcome(self) -> Outcome | None:
        """How the hand ended, or None while it is in play."""
        return outcome_of(self.state[0])

    @property
    def history(self) -> list[int]:
        """Every action of the hand in order; the starter's is the first."""
        return [int(action) for action in self.state["history"][0, : self.state["num_history"][0]]]

    @property
    def warned(self) -> bool:
        """Whether the last action was a knock that the rules do not allow, which was played as a discard."""
        return bool(self.state["warned"][0])

    def legal_actions(self) -> list[int]:
        """Numbers of the legal actions, ascending."""
        return actions_of(_legal(self.state))

    def action_text(self, action: int) -> str:
        """An action in words, as the current phase names it."""
        return action_name(action, self._phase)

    def push(self, action: int | str) -> None:
        """Plays an action of the seat to move.

        Args:
            action: a number, or words such as ``discard 7C``.

        Raises:
            IllegalActionError: if the action cannot be read or is not legal now; the hand is then unchanged.
        """
        number = parse_action(action) if isinstance(action, str) else _checked_action(action)
        if not 0 <= number <= PASS or not _push(self.state, number):
            raise IllegalActionError(self._refusal(number))

    def push_all(self, actions: Sequence[int]) -> list[int]:
        """Plays actions in order.

        Args:
            actions: the numbers of the actions.

        Returns:
            The phase in which each was played.

        Raises:
            IllegalActionError: at the first action that is not legal; those before it stay played.
        """
        # A number too large for the array is not an action anyway; 255 replaces it.
        numbers = np.array([min(max(_checked_action(action), -1), 255) for action in actions], np.int64)
        phases = np.zeros(len(numbers), np.uint8)
        played = _push_all(self.state, numbers, phases)
        if played < len(numbers):
            raise IllegalActionError(f"action {played + 1} of {len(numbers)}: {self._refusal(int(numbers[played]))}")
        return phases.tolist()

    def _refusal(self, action: int) -> str:
        if self.is_over:
            return f"action {action} is not legal: the hand is over ({self.outcome})"
        return f"seat {self.turn}: {illegal_action(action, _legal(self.state), self._phase)}"

    def view(self, seat: int | None = None) -> np.ndarray:
        """What a seat, by default the seat to move, may see: ``VIEW[1]``."""
        return make_views(self.state, self.turn if seat is None else seat)

    def copy(self) -> Hand:
        """An independent copy."""
        return Hand(self.state.copy(), self.rules)

    def after(self, actions: int) -> Hand:
        """This hand as it was after its first ``actions`` actions, at the same point of its game."""
        earlier = self.copy()
        _deal(earlier.state, int(self.state["starter"][0]))
        earlier.push_all(self.history[:actions])
        return earlier

    def _repr_svg_(self) -> str:
        """The picture for notebooks: the table as the seat to move sees it."""
        return to_svg(self.view()[0])

    def __repr__(self) -> str:
        now = str(self.outcome) if self.is_over else f"{self.phase} phase, seat {self.turn} to move"
        return f"<Hand: {len(self.history)} actions, {now}>"


class Match:
    """A game: hands until a seat has reached the target, with the score sheet.

    Args:
        rules: a preset name, rules, or a dictionary of fields.
        seed: seed of all deals and of the players' luck; if omitted, another one at every call.
        deck: the cards of the first hand, as in ``Hand.deal``; ``next_hand`` takes those of later hands.
        starter: the seat that starts the first hand; if omitted, the rules decide.

    Attributes:
        hand: the hand in play. Play it through the match's ``push``, which scores a finished hand.
        played: the hands that have ended, in order.
    """

    def __init__(
        self,
        rules: str | Rules | dict[str, Any] = "dg-standard",
        *,
        seed: int | None = None,
        deck: Sequence[int] | str | None = None,
        starter: int | None = None,
    ) -> None:
        self.hand = Hand.deal(rules, seed=seed, deck=deck, starter=starter)
        self.rules = self.hand.rules
        self.played: list[Hand] = []

    def push(self, action: int | str) -> None:
        """Plays an action of the seat to move; if that ends the hand, scores it.

        Raises:
            IllegalActionError: if the action is not legal now, or the hand is over and the next one has not been dealt.
        """
        self.hand.push(action)
        if self.hand.is_over:
            self.go_on_with(self.hand)

    def go_on_with(self, hand: Hand) -> None:
        """Puts a position of the hand in play in its place, and scores it if it is over."""
        self.hand = hand
        if hand.is_over:
            self.played.append(hand.copy())
            score_hand(hand.state[0])

    def next_hand(self, deck: Sequence[int] | str | None = None) -> None:
        """Deals the next hand; the rules decide who starts.

        Args:
            deck: its cards in the order dealt; shuffled from the game's key if omitted.

        Raises:
            GinError: if the hand is still in play, or the game is over.
            CardError: if the deck does not hold each card in play exactly once.
        """
        if not self.hand.is_over:
            raise GinError("the next hand cannot be dealt: this one is still in play")
        if self.is_over:
            raise GinError("the next hand cannot be dealt: the game is over")
        if deck is None:
            next_hand(self.hand.state[0])
            return
        states = self.hand.state.copy()
        starter = next_starter(states[0])
        states["hand_no"] += 1
        _put_deck(states, deck, self.rules)
        _deal(states, starter)
        self.hand = Hand(states, self.rules)

    @property
    def outcomes(self) -> list[Outcome]:
        """How the hands ended so far."""
        return [outcome for hand in self.played if (outcome := hand.outcome) is not None]

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.hand.state["game_over"][0])

    @property
    def score(self) -> tuple[int, int]:
        """Points of hands so far, by seat."""
        return pair_of(self.hand.state["score"])

    @property
    def boxes(self) -> tuple[int, int]:
        """Boxes won so far, by seat."""
        return pair_of(self.hand.state["boxes"])

    @property
    def totals(self) -> tuple[int, int]:
        """Final totals by seat, bonuses and net score included; (0, 0) while the game is in play."""
        return pair_of(self.hand.state["total"])

    @property
    def winner(self) -> int | None:
        """Seat that won the game; None while it is in play, and for a game that nobody won."""
        seat = int(self.hand.state["game_winner"][0])
        return None if seat == NOBODY else seat

    def sheet(self) -> ScoreSheet:
        """The score sheet so far."""
        return score_sheet(self.rules, self.outcomes)

    def copy(self) -> Match:
        """An independent copy."""
        twin = copy.copy(self)
        twin.hand, twin.played = self.hand.copy(), [hand.copy() for hand in self.played]
        return twin

    def _repr_svg_(self) -> str:
        return self.hand._repr_svg_()

    def __repr__(self) -> str:
        return f"<Match: {len(self.played)} hands played, score {self.score[0]} | {self.score[1]}, {self.hand!r}>"


def _put_deck(states: np.ndarray, deck: Sequence[int] | str, rules: Rules) -> None:
    checked = check_deck(deck, rules.ranks, rules.suits)
    states["deck"] = 0
    states["deck"][0, : len(checked)] = checked


def _checked_action(action: int) -> int:
    if isinstance(action, bool) or not isinstance(action, int | np.integer):
        raise IllegalActionError(must_be("action", f"a number from 0 to {PASS} or words", action))
    return int(action)
