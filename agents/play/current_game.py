"""A game in play: the moves of both sides, the order of the hand, and what is kept on disk. Nothing is shown or asked here."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from agents.play.display_names import display_opponent
from agents.play.game import Game
from agents.play.hand_order import melds_of_view, moved_card, shuffled_cards, sorted_cards, updated_order
from agents.play.moves import Turn, action_words, count
from agents.play.options import Options, variation
from agents.play.store import PlayerFile
from ginenv.engine.actions import KNOCK, PASS, PHASE_LAYOFF, PHASE_NAMES, PHASE_SPREAD, PHASE_UPCARD, STOCK, UPCARD
from ginenv.engine.cards import card_name, cards_of
from ginenv.engine.engine import NO_CARD
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.tables.players import Player, ask_player, show_hands
from ginenv.view.wording import last_draw

_SLOTS = np.zeros(1, np.int64)


class Event(NamedTuple):
    """A sentence for the person, with cards written in letters (7C).

    Attributes:
        words: the sentence.
        kind: ``opponent`` for what the opponent did, ``take`` where it took the upcard, ``warning``, or ``plain``.
    """

    words: str
    kind: str = "plain"


class Move(NamedTuple):
    """A move of either side.

    Attributes:
        mine: whether it is the person's own.
        phase: the phase of the hand in which it was made.
        action: its number.
    """

    mine: bool
    phase: str
    action: int


class CurrentGame:
    """A game in play; every action is on disk before the next can be made.

    Where the opponent is a person too, that person has the same match in a game of their own: what one plays, the other is told.

    Problems during play (a full disk, a level that cannot learn) become sentences in ``file.notices``. A method that refuses
    raises ``GinError`` with one sentence, and changes nothing.

    Args:
        file: the player's file.
        game: the game, new or resumed.
        opponent: plays the other seat, or the friend's game, which is begun with this one.

    Attributes:
        match: hands, score and rules.
        seat: the person's seat.
        names: names of seats 0 and 1.
        theirs: the opponent's name.
        friend: the friend's game, if the opponent is a person.
        moves: moves of both sides in this hand that the person has not seen yet.
    """

    def __init__(self, file: PlayerFile, game: Game, opponent: Player | CurrentGame | None) -> None:
        self.file = file
        self.game = game
        self.match, self.seat = game.match, game.seat
        self.theirs = display_opponent(game.opponent_name)
        self.names = (file.name, self.theirs) if self.seat == 0 else (self.theirs, file.name)
        self.opponent, self.friend = (None, opponent) if isinstance(opponent, CurrentGame) else (opponent, None)
        self._events: list[Event] = []
        self.moves: list[Move] = []
        if self.friend is not None:
            self.friend.friend, self.friend.opponent = self, None

    @property
    def _sides(self) -> list[CurrentGame]:
        return [self] if self.friend is None else [self, self.friend]

    @property
    def hand(self) -> Hand:
        """The hand in play, or the one that has just ended."""
        return self.match.hand

    @property
    def view(self) -> Any:
        """What the person may see now, one record of ``VIEW``."""
        return self.hand.view(self.seat)[0]

    @property
    def turn(self) -> Turn:
        """What the person may do now."""
        return Turn(self.view, self.match.rules, self.game.play_to_gin)

    @property
    def last_taken(self) -> str:
        """The last card taken in this hand and who took it: ``stock by you``, or nothing."""
        taken = last_draw(self.view)
        if taken is None:
            return ""
        seat, card = taken
        what = "stock" if card == NO_CARD else card_name(card)
        return f"{what} by {self.theirs if seat else 'you'}"

    @property
    def verdict(self) -> str:
        """Who wins the game, in a sentence to the person; empty while it is in play."""
        if not self.match.is_over:
            return ""
        winner = self.match.winner
        who = "Nobody wins" if winner is None else "You win" if winner == self.seat else f"{self.theirs} wins"
        return f"{who} the game."

    def events(self) -> list[Event]:
        """Returns the events that the person has not seen yet; the opponent's actions of a turn form one sentence."""
        events, self._events = self._events, []
        return events

    def opponent_plays(self) -> None:
        """Plays the next action of an opponent that is no person; raises ``GinError`` if it fails or its action is not legal."""
        assert self.opponent is not None
        action = int(ask_player(self.opponent, self.hand.view(1 - self.seat), _SLOTS)[0])
        try:
            self.play(action)
        except GinError as error:
            raise GinError(f"{self.theirs} chose an illegal action: {error}") from None

    def play(self, action: int) -> None:
        """Plays an action of the seat to move; a hand that ends is counted, recorded and shown to the opponent."""
        hand = self.hand
        before = hand.view(hand.turn)[0]
        self.match.push(action)
        for side in self._sides:
            side._tell(before, action)
            if hand.is_over:
                side._count_hand()
            else:
                side._lay_out()
        self.save()
        if hand.is_over and self.opponent is not None:
            # Only once the hand is on disk: if the process is killed in between, a level misses a hand rather than seeing one twice.
            self._show_opponent(self.opponent)

    def _tell(self, before: Any, action: int) -> None:
        hand, mine = self.hand, before["seat"] == self.seat
        self.moves.append(Move(mine, PHASE_NAMES[int(before["phase"])], action))
        if not mine:
            if before["phase"] == PHASE_SPREAD:
                return
            # A knock that the rules turn into a discard is the other's own affair.
            action = action % KNOCK if hand.warned else action
            words, kind = f"{action_words(action, before)}.", "take" if action == UPCARD else "opponent"
            if self._events and self._events[-1].kind in ("take", "opponent"):
                start, kind = self._events.pop()
                self._events.append(Event(f"{start[:-1]} and {words}", kind))
            else:
                self._events.append(Event(f"{self.theirs} {words}", kind))
        elif hand.warned:
            card = action - KNOCK
            left = count(int(deadwood(int(before["hand"]) & ~(1 << card))))
            words = (
                f"That was not a knock: it leaves {left}, and the limit is {int(before['limit'])}. "
                f"The {card_name(card)} is a plain discard, and play goes on."
            )
            self._events.append(Event(words, "warning"))
        elif action == STOCK and not hand.is_over:
            self._events.append(Event(f"You draw the {card_name(int(self.view['drawn']))}."))
        if before["phase"] == PHASE_UPCARD and action == PASS and hand.phase == "discard":
            who = "you draw" if hand.turn == self.seat else f"{self.theirs} draws"
            self._events.append(Event(f"Both have passed: {who} from the stock."))

    def put_back(self) -> None:
        """Undoes that the person took the upcard, as if it had never happened (see ``Turn.returns_upcard``)."""
        self.match.hand = self.hand.after(len(self.hand.history) - 1)
        self._lay_out()
        self.save()

    def next_hand(self) -> None:
        """Deals the next hand."""
        self.match.next_hand()
        for side in self._sides:
            side.game.play_to_gin = False
            side._begin(dealt=True)
        self.save()

    def begin(self) -> None:
        """Begins the game, new or resumed; called once."""
        for side in self._sides:
            side._begin(dealt=not side.game.order)
        self.save()

    def _begin(self, dealt: bool) -> None:
        self.moves.clear()
        self._lay_out(dealt)
        if not (self.hand.is_over or self.hand.history):
            starter = int(self.hand.state["starter"][0])
            self._events.append(Event("You begin." if starter == self.seat else f"{self.theirs} begins."))

    def _count_hand(self) -> None:
        outcome = self.match.outcomes[-1]
        tally = self.file.statistics.tally(variation(self.match.rules), self.game.opponent_name)
        tally.add_hand(outcome, self.seat)
        if self.match.is_over:
            tally.add_game(self.match, self.seat)
        mine, theirs = self.file.name, self.game.opponent_name
        players = (mine, theirs) if self.seat == 0 else (theirs, mine)
        self.file.write_record(self.game.name, self.match, players, self.seat)

    def _show_opponent(self, opponent: Player) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                show_hands(opponent, self.match.played[-1].view(1 - self.seat), _SLOTS)
            except GinError as error:
                self.file.notices.append(str(error))
        self.file.notices += [str(warning.message) for warning in caught]

    def save(self) -> None:
        """Puts the game on disk as it stands; if that fails, a notice says so and the game goes on."""
        for side in self._sides:
            side.file.game = None if self.match.is_over else side.game.to_json()
        self.file.save(*(side.file for side in self._sides[1:]))

    def _lay_out(self, dealt: bool = False) -> None:
        """Puts the person's cards in the order that the options ask for; a new card stays at the right during its turn."""
        options, view = self.file.options, self.view
        hand, new = int(view["hand"]), view["drawn"] != NO_CARD or view["taken"] != NO_CARD
        # Each card that is laid off may leave other melds in the hand: it is not sorted meanwhile.
        lays_off = view["phase"] == PHASE_LAYOFF
        if dealt and options.sort == "none":
            self.game.order = shuffled_cards(cards_of(hand), int(view["luck"]))
        elif options.sort != "none" and (dealt or (options.sort_when == "always" and not new and not lays_off)):
            self.game.order = self._sorted(cards_of(hand), options)
        else:
            self.game.order = updated_order(self.game.order, hand)

    def _sorted(self, cards: list[int], options: Options) -> list[int]:
        melds = melds_of_view(self.view) if options.sort == "meld" else ()
        return sorted_cards(cards, options.sort, options.direction, melds)

    def sort(self, by: str = "", direction: str = "") -> None:
        """Sorts the person's hand now; a word left out follows the options. With ``sort_when=always`` it stays sorted this way."""
        options = self.file.options
        options = options.changed("sort", by or (options.sort if options.sort != "none" else "meld"))
        if direction:
            options = options.changed("direction", direction)
        if options.sort_when == "always":
            self.file.options = options
        if options.sort != "none":
            self.game.order = self._sorted(self.game.order, options)
        self.save()

    @property
    def sorting(self) -> str:
        """How the person's hand is sorted, by the options or by chance: ``meld``, ``suit`` or ``value``, else ``none``."""
        options = self.file.options
        if options.sort_when == "always" or options.sort == "none":
            return options.sort
        lies_so = self.game.order == self._sorted(self.game.order, options)
        return options.sort if lies_so else "none"

    def move_card(self, card: int, place: int) -> bool:
        """Puts one of the person's cards at a place from 1; returns whether that stopped the sorting of the hand."""
        if card not in self.game.order:
            raise GinError(f"you do not hold the {card_name(card)}")
        self.game.order = moved_card(self.game.order, card, place)
        options = self.file.options
        stops = options.sort != "none" and options.sort_when == "always"
        if stops:
            self.file.options = options.changed("sort", "none")
        self.save()
        return stops
