"""One player's seat at the table in the browser: the session, the game in play, and messages to show; one request at a time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from agents.play.current_game import CurrentGame, Event, Move
from agents.play.hints import hint
from agents.play.moves import count
from agents.play.session import Session
from agents.play.store import Home, PlayerFile, link_digest
from agents.web.form_fields import integer_field
from agents.web.jobs import Jobs
from agents.web.replay_pages import Watched
from ginenv.engine.actions import KNOCK, STOCK, UPCARD
from ginenv.engine.cards import card_name, parse_card
from ginenv.errors import GinError

# Commands that change the game, and so have to name the position that they were meant for.
_MOVES = (
    "card",
    "take",
    "stock",
    "pass",
    "done",
    "spread",
    "lay off",
    "discard",
    "knock",
    "just discard",
    "gin",
    "gin later",
    "next",
    "another game",
)
# More than several windows of one player ask for at once.
_MAX_REQUESTS = 8
# Seconds that somebody who invites a friend waits for what the friend is doing.
_PATIENCE = 5.0
_BEHIND = "This window was behind: the game has gone on meanwhile (in another window, perhaps). Nothing was played; here is the table."


def _step(move: Move) -> str:
    """What everybody sees of a move, in a word for ``motion.js``; empty for a move that needs none."""
    if move.phase == "discard":
        return f"{'discard' if move.mine else 'drop'}-{card_name(move.action % KNOCK)}"
    return "" if move.mine else {STOCK: "stock", UPCARD: "take"}.get(move.action, "")


class BrowserSession:
    """A player at the table.

    Args:
        session: the player's session.

    Attributes:
        lock: held by the request that is being answered; people who play with one another share one.
        queue: how many requests may be answered or wait for the lock.
        watched: games that the player watches or steps through.
        subjects: hands to analyse that are not stored.
        jobs: work that the player waits for.
        answered: the last answer in practice, until the next position is asked for (``agents.web.practice``).
        events: what both sides did since the person's last move.
        messages: sentences to show once, as pairs of a kind (``warning`` or ``plain``) and words.
        pending_knock: the card about whose discard the person is asked whether to knock instead, or None.
        hint: the action of a hint and its words, or None.
        waits_for_game: whether a game begins as soon as the rules are compiled.
        trouble: why the opponent cannot play; empty if it can.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = threading.RLock()
        self.queue = threading.BoundedSemaphore(_MAX_REQUESTS)
        self.watched, self.subjects = Watched(), Watched()
        self.jobs = Jobs()
        self.answered: Any = None
        self.waits_for_game = False
        self.messages: list[tuple[str, str]] = []
        self._hand: tuple[str, int] | None = None
        self._places: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self.events: list[Event] = []
        self.pending_knock: int | None = None
        # The position and the card where the person was warned that a knock would be a plain discard.
        self.no_knock: tuple[str, int] | None = None
        self.hint: tuple[int, str] | None = None
        self.trouble = ""

    @property
    def name(self) -> str:
        """The player's name."""
        return self.session.file.name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock inside its block, also if it becomes another one meanwhile."""
        while True:
            lock = self.lock
            with lock:
                if lock is self.lock:
                    yield
                    return

    @property
    def live(self) -> CurrentGame:
        """The game in play.

        Raises:
            GinError: if there is none.
        """
        if self.session.game is None:
            raise GinError("there is no game in play; begin one")
        return self.session.game

    @property
    def mark(self) -> str:
        """An id of the position of the game in play; it changes whenever the position does, and only then."""
        live = self.live
        return f"{live.game.name}.{len(live.match.played)}.{len(live.hand.history)}"

    def say(self, words: str, kind: str = "plain") -> None:
        """Has a sentence shown once."""
        if words:
            self.messages.append((kind, words))

    def take_messages(self) -> list[tuple[str, str]]:
        """Returns what is to be shown once, including the session's notices."""
        for notice in self.session.notices():
            self.say(notice, "warning")
        messages, self.messages = self.messages, []
        return messages

    def take_steps(self) -> list[str]:
        """What both sides did since the last answer, in words for ``motion.js``: ``discard-7C`` by the person, ``drop-7C`` by the other."""
        steps = [_step(move) for move in self.live.moves]
        self.live.moves.clear()
        return [step for step in steps if step]

    def places(self) -> list[int | None]:
        """The person's cards from left to right; in lay-offs None where a card lay, so that the others stay where they are."""
        order = self.live.game.order
        lies_still = [card for card in self._places if card in order] == order
        if not (lies_still and self.live.hand.phase == "layoff"):
            self._places = list(order)
        return [card if card in order else None for card in self._places]

    @contextmanager
    def shows_errors(self) -> Iterator[None]:
        """Turns a refusal inside its block into a sentence to show."""
        try:
            yield
        except (GinError, OSError) as error:
            self.say(str(error), "warning")

    def enter(self) -> bool:
        """Takes the seat and continues an unfinished game; returns whether there is a game to show."""
        if self.session.game is None and self.session.file.game is not None:
            with self.shows_errors():
                self.session.resume()
                self._clear()
                self._go_on()
        return self.session.game is not None

    def begin(self) -> None:
        """Begins a new game; an unfinished one is lost."""
        self.waits_for_game = False
        self.session.leave_game()
        self.session.new_game()
        self._clear()
        self._go_on()

    def leave(self) -> None:
        """Leaves the game in play as it is saved."""
        self.session.leave_game()
        self._clear()

    def catch_up(self) -> None:
        """Takes over what a friend has done since the last answer."""
        live = self.live
        hand = live.game.name, len(live.match.played) + (not live.hand.is_over)
        if live.friend is not None and hand != self._hand:
            self._clear()
        self._hand = hand
        self.events += live.events()

    def _go_on(self) -> None:
        """Lets the opponent play until it is the person's turn; a failure of the opponent goes to ``trouble``. A friend is not asked."""
        live = self.live
        self.trouble = ""
        while live.opponent is not None and not live.hand.is_over and live.hand.turn != live.seat:
            try:
                live.opponent_plays()
            except (GinError, OSError) as error:
                self.trouble = str(error)
                break
            except Exception as error:  # an agent of anybody's making may fail in any way; the game stays
                self.trouble = f"it has failed ({type(error).__name__}: {error})."
                break
        self.catch_up()

    def _play(self, action: int) -> None:
        # The opponent's actions in its turn are shown until the person's turn ends.
        still = [events for events in self.events if events.kind in ("opponent", "take")] if action >= STOCK else []
        self._clear()
        self.events = still
        self.live.moves.clear()
        self.live.play(action)
        self._go_on()

    def command(self, do: str, values: Mapping[str, str]) -> None:
        """Carries out a command at the table; a refused one changes nothing and becomes a sentence to show.

        Args:
            do: the command, as in the terminal; ``card`` is what a card alone means now, ``gin later`` a discard, then play to gin.
            values: ``at`` (see ``mark``), and, depending on the command, ``card``, ``place``, ``number``, ``by``.
        """
        with self.shows_errors():
            live = self.live
            if do in _MOVES and values.get("at") != self.mark:
                self.say(_BEHIND, "warning")
                return
            others: dict[str, Callable[[], object]] = {
                "hint": self._hint,
                "sort": lambda: live.sort(*values.get("by", "").split()[:2]),
                "move": lambda: self._move(values),
                "play to gin": self._play_to_gin,
                "again": self._again,
                "keep": lambda: setattr(self, "pending_knock", None),
                "next": self._next_hand,
                "another game": self._another_game,
            }
            if do in others:
                others[do]()
            elif do in _MOVES:
                action = self._action(do, values)
                if action is not None:
                    self._play(action)
            else:
                raise GinError(f"there is no command {do!r} at the table")

    def _action(self, do: str, values: Mapping[str, str]) -> int | None:
        """The action of a command, or None if the person has to be asked first or the draw was undone."""
        live, turn = self.live, self.live.turn
        if live.hand.is_over:
            raise GinError("this hand is over; deal the next one")
        if live.hand.turn != live.seat:
            raise GinError(f"it is {live.theirs}'s turn")
        if do == "card":
            do = "lay off" if turn.phase == "layoff" else "discard"
        if do == "spread":
            return turn.action(do, integer_field(values, "number"))
        if do not in ("lay off", "discard", "just discard", "knock", "gin later"):
            return turn.action(do)
        if do == "knock" and not values.get("card") and (least := turn.best_knock()) is not None:
            return least
        if not values.get("card"):
            raise GinError("choose a card first")
        card = parse_card(values["card"])
        if do in ("just discard", "gin later"):
            action = turn.action("discard", card)
            live.game.play_to_gin |= do == "gin later"
            return action
        if do == "discard" and turn.returns_upcard(card):
            self._clear()
            live.put_back()
            self.say("You give the card back: the draw is undone.")
            return None
        action = turn.action(do, card)
        if do == "discard" and self.session.options.ask_knock and turn.asks_to_knock(action):
            self.pending_knock = card
            return None
        if do == "discard" and action >= KNOCK:
            self.say("Gin: the hand ends by itself.")
        if do == "knock" and not turn.may_knock(card) and self.no_knock != (self.mark, card):
            self.no_knock = self.mark, card
            left = count(turn.left(card))
            self.say(
                f"With the {card_name(card)} that is no knock: {left} would be left, the limit is {int(turn.view['limit'])}. Under these "
                "rules it would be a plain discard; knock again if you want that.",
                "warning",
            )
            return None
        return action

    def _hint(self) -> None:
        live = self.live
        if live.hand.is_over or live.hand.turn != live.seat:
            raise GinError("there is nothing to decide now")
        self.hint = hint(live.turn, self.session.options.hints)

    def _move(self, values: Mapping[str, str]) -> None:
        if self.live.move_card(parse_card(values.get("card", "")), integer_field(values, "place")):
            self.say("Your hand stays as you lay it from now on; ‘By meld’ sorts it again.")

    def _play_to_gin(self) -> None:
        live = self.live
        live.game.play_to_gin = not live.game.play_to_gin
        self.pending_knock = None
        live.save()

    def _again(self) -> None:
        """Lets an opponent that failed try again, by restarting its program."""
        self.session.leave_game()
        self.session.resume()
        self._go_on()

    def _another_game(self) -> None:
        if not self.live.match.is_over:
            raise GinError("this game is still in play")
        self.begin()

    def _next_hand(self) -> None:
        if not self.live.hand.is_over:
            raise GinError("this hand is still in play")
        self._clear()
        self.live.next_hand()
        self._go_on()


class Sessions:
    """The seats of all players at this server.

    Args:
        home: where everything is kept.
        freeze: whether levels do not learn while this server runs.
        allowed: programs and directories that may play, as the command line named them.

    Attributes:
        links: tokens of the links that were made while this server runs, by the names of the people; the store keeps no token.
    """

    def __init__(self, home: Home, freeze: bool = False, allowed: Sequence[str] = ()) -> None:
        self.home = home
        self.links: dict[str, str] = {}
        self._invited = home.invitations()
        self.freeze = freeze
        self.allowed = tuple(allowed)
        self._browser_sessions: dict[str, BrowserSession] = {}
        self._lock = threading.RLock()

    def browser_session(self, name: str) -> BrowserSession:
        """The seat of an existing player, opened at the first call.

        Raises:
            GinError: if there is no such player, or the player is at another table.
        """
        with self._lock:
            stored_name = self.home.canonical_name(name)
            if stored_name not in self._browser_sessions:
                self._browser_sessions[stored_name] = BrowserSession(self._session(self.home.open(stored_name)))
            return self._browser_sessions[stored_name]

    def _session(self, file: PlayerFile) -> Session:
        friends = partial(self._friend, file.name)
        return Session(self.home, file, freeze=self.freeze, allowed=self.allowed, friends=friends)

    def _friend(self, name: str, friend: str) -> Session:
        """The session of a friend, who from now on shares a lock with the player of this name, whose request is being answered."""
        lock, other = self.browser_session(name).lock, self.browser_session(friend)
        if other.lock is not lock:
            # Not for ever: the friend may be waiting for this player.
            if not (theirs := other.lock).acquire(timeout=_PATIENCE):
                raise GinError(f"{other.name} is busy with another page; try again in a moment")
            try:
                if theirs is not other.lock:
                    raise GinError(f"{other.name} is busy with another game; try again in a moment")
                other.session.leave_game()
                other.lock = lock
            finally:
                theirs.release()
        return other.session

    def invited(self, token: str) -> str:
        """The name of the person whose link has this token; empty where there is none."""
        return self._invited.get(link_digest(token), "")

    def is_away(self, name: str) -> bool:
        """Whether a player plays by a link, from a browser of their own."""
        return name in self._invited.values()

    def invite(self, name: str, away: bool) -> None:
        """Gives a player a link, unless there is one, or takes it back, as the player is ``away`` or plays here."""
        if away != self.is_away(name):
            token = secrets.token_hex(16) if away else ""
            self.home.invite(name, token)
            self._invited = self.home.invitations()
            self.links.pop(name, None)
            if token:
                self.links[name] = token

    def create(self, name: str) -> BrowserSession:
        """Creates a player and opens the player's seat."""
        with self._lock:
            file = self.home.create(name)
            seat = self._browser_sessions[file.name] = BrowserSession(self._session(file))
            return seat

    def free(self, name: str) -> None:
        """Closes a player's seat, so that the player can play at another table.

        Raises:
            GinError: if the player has an unfinished game with a friend.
        """
        with self._lock:
            if friend := self.browser_session(name).session.file.friend:
                raise GinError(f"{name} is in a game with {friend}; it has to end first")
        self._close(name)

    def _close(self, name: str) -> None:
        with self._lock:
            seat = self._browser_sessions.pop(name)
        with seat.locked():
            seat.session.close()
            seat.watched.close()

    def close(self) -> None:
        """Closes all seats."""
        for name in list(self._browser_sessions):
            self._close(name)
