"""A person at a table: a match, what may be done in it now, hints and statistics, all of it saved after every accepted move.

Every table is a face of it: the browser's, the terminal's, and those of ``gin serve``. It shows nothing and asks nothing; what there is
to be shown it returns. A method that refuses raises ``GinError`` with one sentence, and changes nothing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from agents.display_names import display_day, display_opponent, display_rules
from agents.play.allowed import check_allowed, names_for_all
from agents.play.events import Event, tell
from agents.play.game import Game
from agents.play.hand_order import by_options, laid_out, moved_card
from agents.play.hints import hint
from agents.play.moves import Turn, count
from agents.play.opponents import make_opponent, start_opponent
from agents.play.options import FRIEND, GR, Options, friend_of, preset_of, variation
from agents.play.store import Home, PlayerFile
from ginenv.engine.actions import PHASE_NAMES
from ginenv.engine.cards import card_name
from ginenv.engine.engine import NO_CARD
from ginenv.errors import GinError
from ginenv.hands.hand import Hand, Match
from ginenv.hands.text import parse_rules
from ginenv.tables.player_names import parse_player
from ginenv.tables.players import Player, ask_player, close_players, show_hands
from ginenv.view.wording import last_draw

# The highest target at the table under the presets of ``GR``.
_HIGHEST_TARGET = 500
_SLOTS = np.zeros(1, np.int64)


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


class Session:
    """A person at a table.

    Where the opponent is a person too, that person has a session with the same match: what one plays, the other is told. Problems during
    play (a full disk, a level that cannot learn) become notices.

    Args:
        file: what is kept of the person.
        seed: seed of the first new game; when left out, every game is a different one.
        freeze: levels do not learn in this session, whatever the player's option says, until the option is set.
        allowed: programs and directories that may play; the person named them, not the store.
        friends: gives the session of another person at the same place, whom nobody else asks for anything meanwhile; without it nobody
            can play a friend here.

    Attributes:
        opponent: plays the other seat; None where a friend does, or whoever calls ``play`` for it.
        friend: the friend's session, while a game with a friend is in play.
        moves: moves of both sides in this hand that the person has not seen yet.
    """

    def __init__(
        self,
        file: PlayerFile,
        seed: int | None = None,
        freeze: bool = False,
        allowed: Iterable[str] = (),
        friends: Callable[[str], Session] | None = None,
    ) -> None:
        self.file = file
        self.freeze = freeze
        self.allowed = set(allowed)
        self.friends = friends
        self._game: Game | None = None
        self.opponent: Player | None = None
        self.friend: Session | None = None
        self.moves: list[Move] = []
        self._events: list[Event] = []
        self._seed = seed

    # ------------------------------------------------------------------ the person

    @property
    def home(self) -> Home:
        """The store."""
        return self.file.home

    @property
    def options(self) -> Options:
        """What the player has chosen."""
        return self.file.options

    def notices(self) -> list[str]:
        """Returns the sentences that the person has not been shown yet."""
        notices, self.file.notices = self.file.notices, []
        return notices

    def check_player(self, name: str) -> None:
        """Refuses a player that may not play here (see ``check_allowed``)."""
        check_allowed(name, self.allowed)

    def set_option(self, name: str, value: str) -> str:
        """Changes an option; returns a sentence. Under the presets of ``GR`` a target above 500 becomes 500."""
        name = name.strip().lower().replace("-", "_")
        target = re.search(r"target=(\d+)", value)
        if name == "rules" and preset_of(value) in GR and target and int(target[1][:9]) > _HIGHEST_TARGET:
            value = value.replace(target[0], f"target={_HIGHEST_TARGET}")
            self.file.notices.append(f"The target is at most {_HIGHEST_TARGET} under these rules.")
        options = self.options.changed(name, value)
        if name == "opponent" and options.opponent not in names_for_all():
            # Made once, so that a wrong name is refused now and not at the next game. The others are right, and may take long to load.
            close_players([self._make_opponent(options.opponent)])
        elif name == "learning":
            self.freeze = False
        self.file.options = options
        self.file.save()
        if self.is_playing and name in ("sort", "direction", "sort_when") and options.sort != "none":
            self.sort()
        words = {
            "rules": f"The rules are {display_rules(options.rules)}.",
            "opponent": f"Your opponent is {display_opponent(options.opponent_name)}.",
        }
        later = self.file.game is not None and name in ("rules", "opponent", "easy_game", "learning")
        return (
            words.get(name, f"{name} is now {options.text(name)}.") + later * " This takes effect with the next game."
        )

    def choose_friend(self, name: str) -> None:
        """Chooses another person of this place as the opponent of the next game."""
        friend = self.home.canonical_name(name)
        if friend == self.file.name:
            raise GinError(f"{friend!r} is playing at this table; name another player")
        self.file.options = self.options.model_copy(update={"opponent": FRIEND + friend})
        self.file.save()

    def reset_statistics(self, name: str = "") -> str:
        """Resets the statistics of a variation or an opponent, or all of them; returns a sentence."""
        name = name.replace(", ", ",")
        if not self.file.statistics.reset(name):
            raise GinError(f"there are no statistics of {name}" if name else "there are no statistics yet")
        self.file.save()
        return "The statistics are reset."

    # ------------------------------------------------------------------ beginning and leaving a game

    def unfinished(self) -> str:
        """The unfinished game in words, such as ``Ann 36, Formula 0 after 2 hands``; empty where there is none."""
        game = self.file.game
        if game is None:
            return ""
        if game.day:
            return f"{display_day(game.day)}, which is dealt only once"
        mine, theirs = game.match.score[game.seat], game.match.score[1 - game.seat]
        score = f"{self.file.name} {mine}, {display_opponent(game.opponent_name)} {theirs}"
        return f"{score} after {count(len(game.match.played), 'hand')}"

    @property
    def loss(self) -> str:
        """What is lost when another game begins, in a sentence; empty where there is no unfinished game."""
        if self.file.game is None:
            return ""
        if day := self.file.game.day:
            return f"{display_day(day).capitalize()} will be given up for good"
        return "The points of the unfinished game will be lost"

    def new_game(self, given: Game | None = None) -> None:
        """Begins a game, with the chosen rules and opponent unless one is given; an unfinished one is lost if the opponent can play."""
        options, lost = self.options, self.file.game
        if self._seed is not None and parse_player(options.opponent).kind == "cmd":
            raise GinError("a program could find out which cards a seed deals: play against it without --seed")
        game = given or Game.begin(parse_rules(options.rules), options.opponent, options.easy_game, self._seed)
        if friend_of(game.opponent):
            other = self._friend_in(game)
            if other.file.game is not None and (lost is None or other.file.game.name != lost.name):
                raise GinError(f"{other.file.name} has an unfinished game; it has to end first")
            # So that either of them can begin another one.
            theirs = {"opponent": FRIEND + self.file.name, "rules": options.rules}
            other.file.options = other.options.model_copy(update=theirs)
            self._join(game, other, game.facing(self.file.name))
        else:
            self._play_against_player(game)
        self._seed = None
        if lost is not None and friend_of(lost.opponent):
            self._end_for_friend(lost)

    def resume(self) -> None:
        """Continues the unfinished game."""
        game = self.file.game
        if game is None:
            raise GinError("there is no unfinished game")
        if not friend_of(game.opponent):
            return self._play_against_player(game)
        other = self._friend_in(game)
        theirs = other.file.game
        if theirs is None or theirs.name != game.name:
            self.file.game = None
            self.file.save()
            raise GinError(f"{other.file.name} has begun another game; this one has ended")
        theirs.match, theirs.seat = game.match, 1 - game.seat
        self._join(game, other, theirs)

    def begin(self, game: Game, opponent: Player | None = None) -> None:
        """Begins a game, new or resumed; its opponent, if there is one, is ended by ``leave_game``."""
        lost = self.file.game
        if lost is not None and lost.day and lost.name != game.name:
            # On record, so that its cards, which are known now, are not dealt again.
            self._record(lost)
            self.file.notices.append(f"The deal of {lost.day} is given up; it is dealt only once.")
        self._game, self.opponent = game, opponent
        for side in self._sides:
            side._begin_hand(dealt=not side.game.order)
        self.save()

    def leave_game(self) -> None:
        """Leaves the game in play as it is saved; does nothing where there is none."""
        if self.opponent is not None:
            close_players([self.opponent])
        for side in self._sides:
            side._game = side.opponent = side.friend = None

    def close(self) -> None:
        """Ends the session; then another process can open the player."""
        self.leave_game()
        self.file.close()

    def _make_opponent(self, spec: str, easy: bool = False, seed: int = 0) -> Player:
        self.check_player(spec)
        learns = self.options.learning and not self.freeze
        return make_opponent(spec, easy, seed, self.file.name, self.home.path, learns)

    def _play_against_player(self, game: Game) -> None:
        opponent = self._make_opponent(game.opponent, game.easy, game.seed)
        try:
            # Before anything of the game is saved: an opponent that cannot play leaves no unfinished game behind.
            start_opponent(opponent, game.match.rules)
            self.begin(game, opponent)
        except BaseException:
            close_players([opponent])
            raise

    def _friend_in(self, game: Game) -> Session:
        name = friend_of(game.opponent)
        if self.friends is None:
            raise GinError(f"a game with {name} is played in the browser: gin web")
        return self.friends(name)

    def _join(self, game: Game, other: Session, theirs: Game) -> None:
        other.leave_game()
        self.friend, other.friend = other, self
        other._game = theirs
        self.begin(game)

    def _end_for_friend(self, lost: Game) -> None:
        """Ends an unfinished game that another one has replaced for the friend, too; without the browser the friend finds out there."""
        if self.friends is not None:
            with suppress(GinError):
                file = (other := self.friends(friend_of(lost.opponent))).file
                if file.game is not None and file.game.name == lost.name:
                    other.leave_game()
                    file.game = None
                    file.notices.append(f"{self.file.name} has begun another game; this one has ended.")
                    file.save()

    # ------------------------------------------------------------------ the game in play

    @property
    def _sides(self) -> list[Session]:
        return [self] if self.friend is None else [self, self.friend]

    @property
    def is_playing(self) -> bool:
        """Whether there is a game in play, which may be over; all that follows needs one."""
        return self._game is not None

    @property
    def game(self) -> Game:
        """The game in play.

        Raises:
            GinError: if there is none.
        """
        if self._game is None:
            raise GinError("there is no game in play; begin one")
        return self._game

    @property
    def match(self) -> Match:
        """Hands, score and rules."""
        return self.game.match

    @property
    def rules_words(self) -> str:
        """The rules as they are shown, such as ``Standard, to 100``, and whether the hand is the deal of a day."""
        target, rules = self.match.rules.target, variation(self.match.rules)
        to = f", to {target}" if target and "target=" not in rules else ""
        return display_rules(rules, self.game.day) + to

    @property
    def seat(self) -> int:
        """The person's seat."""
        return self.game.seat

    @property
    def theirs(self) -> str:
        """The opponent's name, as it is shown."""
        return display_opponent(self.game.opponent_name)

    @property
    def names(self) -> tuple[str, str]:
        """Names of seats 0 and 1."""
        return (self.file.name, self.theirs) if self.seat == 0 else (self.theirs, self.file.name)

    @property
    def hand(self) -> Hand:
        """The hand in play, or the one that has just ended."""
        return self.match.hand

    @property
    def view(self) -> Any:
        """What the person may see now, one record of ``VIEW``."""
        return self.hand.view(self.seat)[0]

    @property
    def is_turn(self) -> bool:
        """Whether the person is to move."""
        return not self.hand.is_over and self.hand.turn == self.seat

    @property
    def turn(self) -> Turn:
        """What the person may do now."""
        return Turn(self.view, self.match.rules, self.game.play_to_gin)

    def hint(self) -> tuple[int, str]:
        """What the person might do now: an action, and a sentence that says why (see ``agents.play.hints.hint``)."""
        if not self.is_turn:
            raise GinError("there is nothing to decide now")
        return hint(self.turn, self.options.hints)

    @property
    def last_taken(self) -> str:
        """The last card taken in this hand and by whom: ``you drew from the stock``, ``Formula took the 7C``, or nothing."""
        taken = last_draw(self.view)
        if taken is None:
            return ""
        seat, card = taken
        what = "drew from the stock" if card == NO_CARD else f"took the {card_name(card)}"
        return f"{self.theirs if seat else 'you'} {what}"

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

    def go_on(self) -> None:
        """Lets an opponent that is no person play until it is the person's turn; raises ``GinError`` if it fails."""
        while self.opponent is not None and not self.hand.is_over and not self.is_turn:
            action = int(ask_player(self.opponent, self.hand.view(1 - self.seat), _SLOTS)[0])
            try:
                self.play(action)
            except GinError as error:
                raise GinError(f"{self.theirs} chose an illegal action: {error}") from None

    def play(self, action: int) -> None:
        """Plays an action of the seat to move; a hand that ends is counted, recorded and shown to the opponent."""
        if not self.file.is_at_table:
            # Nothing is kept, and whoever shows the game tells the person in words of its own.
            return self.match.push(action)
        hand = self.hand
        before = hand.view(hand.turn)[0]
        self.match.push(action)
        for side in self._sides:
            side.moves.append(Move(before["seat"] == side.seat, PHASE_NAMES[int(before["phase"])], action))
            tell(side._events, before, action, hand, side.seat, side.theirs)
            if hand.is_over:
                side._count_hand()
            else:
                side._lay_out()
        self.save()
        if hand.is_over and self.opponent is not None:
            # Only once the hand is on disk: if the process is killed in between, a level misses a hand rather than seeing one twice.
            self._show_opponent(self.opponent)

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
            side._begin_hand(dealt=True)
        self.save()

    def _begin_hand(self, dealt: bool) -> None:
        self.moves.clear()
        self._lay_out(dealt)
        if not (self.hand.is_over or self.hand.history):
            starter = int(self.hand.state["starter"][0])
            self._events.append(Event("You begin." if starter == self.seat else f"{self.theirs} begins."))

    def _count_hand(self) -> None:
        game, match = self.game, self.match
        tally = self.file.statistics.tally(variation(match.rules), game.opponent_name)
        tally.add_hand(match.outcomes[-1], game.seat)
        if match.is_over:
            tally.add_game(match, game.seat)
        self._record(game)

    def _record(self, game: Game) -> None:
        mine, theirs = self.file.name, game.opponent_name
        players = (theirs, mine) if game.seat else (mine, theirs)
        self.file.write_record(game.name, game.match, players, game.seat, game.begun)

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
            side.file.game = None if side.game.is_over else side.game
        self.file.save(*(side.file for side in self._sides[1:]))

    # ------------------------------------------------------------------ the order in which the person's cards lie

    def _lay_out(self, dealt: bool = False) -> None:
        self.game.order = laid_out(self.game.order, self.view, self.options, dealt)

    def sort(self, by: str = "", direction: str = "") -> None:
        """Sorts the person's hand now; a word left out follows the options. With ``sort_when=always`` it stays sorted this way."""
        options = self.options
        options = options.changed("sort", by or (options.sort if options.sort != "none" else "meld"))
        if direction:
            options = options.changed("direction", direction)
        if options.sort_when == "always":
            self.file.options = options
        if options.sort != "none":
            self.game.order = by_options(self.game.order, self.view, options)
        self.save()

    @property
    def sorting(self) -> str:
        """How the person's hand is sorted, by the options or by chance: ``meld``, ``suit`` or ``value``, else ``none``."""
        options, order = self.options, self.game.order
        if options.sort == "none" or options.sort_when == "always" or order == by_options(order, self.view, options):
            return options.sort
        return "none"

    def move_card(self, card: int, place: int) -> bool:
        """Puts one of the person's cards at a place from 1; returns whether that stopped the sorting of the hand."""
        self.game.order = moved_card(self.game.order, card, place)
        stops = self.options.sort != "none" and self.options.sort_when == "always"
        if stops:
            self.file.options = self.options.changed("sort", "none")
        self.save()
        return stops
