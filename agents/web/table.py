"""The table in the browser: what the person has been told and asked since the last move, and what each command does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.play.events import Event
from agents.play.game import Game
from agents.play.moves import count
from agents.play.session import Move, Session
from agents.web.form_fields import integer_field
from ginenv.engine.actions import KNOCK, STOCK, UPCARD
from ginenv.engine.cards import card_name, parse_card
from ginenv.errors import GinError

# Commands that mean the same at every position; the others have to name the position that they were meant for.
_ANYTIME = ("hint", "sort", "sounds", "move", "play to gin", "again", "keep")
_BEHIND = "This window was behind: the game has gone on meanwhile (in another window, perhaps). Nothing was played; here is the table."


def _step(move: Move) -> str:
    """What everybody sees of a move, in a word for ``motion.js``; empty for a move that needs none."""
    if move.phase == "discard":
        return f"{'discard' if move.mine else 'drop'}-{card_name(move.action % KNOCK)}"
    return "" if move.mine else {STOCK: "stock", UPCARD: "take"}.get(move.action, "")


class Table:
    """A person's table.

    Args:
        session: the person's session.
        say: has a sentence shown once, as a ``warning`` if its kind says so.

    Attributes:
        events: what both sides did since the person's last move.
        pending_knock: the card about whose discard the person is asked whether to knock instead, or None.
        hint: the action of a hint and its words, or None.
        trouble: why the opponent cannot play; empty if it can.
    """

    # Address of its page; and, where a recorded hand is played on, how that hand ended.
    address, recorded = "/table", ""

    def __init__(self, session: Session, say: Callable[..., None]) -> None:
        self.session, self.say = session, say
        self._hand: tuple[str, int] | None = None
        self._places: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self.events: list[Event] = []
        self.pending_knock: int | None = None
        # The position and the card where the person was warned that a knock would be a plain discard.
        self._no_knock: tuple[str, int] | None = None
        self.hint: tuple[int, str] | None = None
        self.trouble = ""

    @property
    def mark(self) -> str:
        """An id of the position of the game in play; it changes whenever the position does, and only then."""
        session = self.session
        return f"{session.game.name}.{len(session.match.played)}.{len(session.hand.history)}"

    def take_steps(self) -> list[str]:
        """What both sides did since the last answer, in words for ``motion.js``: ``discard-7C`` by the person, ``drop-7C`` by the other."""
        steps = [_step(move) for move in self.session.moves]
        self.session.moves.clear()
        return [step for step in steps if step]

    def places(self) -> list[int | None]:
        """The person's cards from left to right; in lay-offs None where a card lay, so that the others stay where they are."""
        order = self.session.game.order
        lies_still = [card for card in self._places if card in order] == order
        if not (lies_still and self.session.hand.phase == "layoff"):
            self._places = list(order)
        return [card if card in order else None for card in self._places]

    def resume(self) -> bool:
        """Continues an unfinished game; returns whether there is a game to show."""
        if not self.session.is_playing and self.session.file.game is not None:
            try:
                self.session.resume()
                self._go_on()
            except (GinError, OSError) as error:
                self.say(str(error), "warning")
        return self.session.is_playing

    def begin(self, game: Game | None = None) -> None:
        """Begins a new game, as the options say or a given one; an unfinished one is lost."""
        self.session.leave_game()
        self.session.new_game(game)
        self._go_on()

    def catch_up(self) -> None:
        """Takes over what a friend has done since the last answer."""
        session = self.session
        hand = session.game.name, len(session.match.played) + (not session.hand.is_over)
        if session.friend is not None and hand != self._hand:
            self._clear()
        self._hand = hand
        self.events += session.events()

    def _go_on(self, events: list[Event] | None = None) -> None:
        """Lets the opponent play until it is the person's turn, and says what it did; some events before stay on the page."""
        self._clear()
        self.events = events or []
        try:
            self.session.go_on()
        except (GinError, OSError) as error:
            self.trouble = str(error)
        except Exception as error:  # an agent of anybody's making may fail in any way; the game stays
            self.trouble = f"it has failed ({type(error).__name__}: {error})."
        self.catch_up()

    def command(self, do: str, values: Mapping[str, str]) -> None:
        """Carries out a command at the table; a refused one changes nothing and becomes a sentence to show.

        Args:
            do: the command, as in the terminal; ``card`` is what a card alone means now, ``gin later`` a discard, then play to gin.
            values: ``at`` (see ``mark``), and, depending on the command, ``card``, ``place``, ``number``, ``by``.
        """
        try:
            if do in _ANYTIME or values.get("at") == self.mark:
                self._command(do, values)
            else:
                self.say(_BEHIND, "warning")
        except (GinError, OSError) as error:
            self.say(str(error), "warning")

    def _command(self, do: str, values: Mapping[str, str]) -> None:
        session = self.session
        if do == "hint":
            self.hint = session.hint()
        elif do == "sort":
            session.sort(*values.get("by", "").split()[:2])
        elif do == "sounds":
            session.set_option("sounds", "off" if session.options.sounds else "on")
        elif do == "move":
            if session.move_card(parse_card(values.get("card", "")), integer_field(values, "place")):
                self.say("Your hand stays as you lay it from now on; ‘By meld’ sorts it again.")
        elif do == "play to gin":
            session.game.play_to_gin = not session.game.play_to_gin
            self.pending_knock = None
            session.save()
        elif do == "keep":
            self.pending_knock = None
        elif do == "again":
            # By restarting its program.
            session.leave_game()
            session.resume()
            self._go_on(self.events)
        elif do == "next":
            if not session.hand.is_over:
                raise GinError("this hand is still in play")
            session.next_hand()
            self._go_on()
        elif do == "another game":
            if not session.match.is_over:
                raise GinError("this game is still in play")
            self.begin()
        elif (action := self._action(do, values)) is not None:
            # The opponent's actions in its turn are shown until the person's turn ends.
            still = [event for event in self.events if event.kind in ("opponent", "take")] if action >= STOCK else []
            session.moves.clear()
            session.play(action)
            self._go_on(still)

    def _action(self, do: str, values: Mapping[str, str]) -> int | None:
        """The action of a command, or None if the person has to be asked first or the draw was undone."""
        session, turn = self.session, self.session.turn
        if session.hand.is_over:
            raise GinError("this hand is over; deal the next one")
        if not session.is_turn:
            raise GinError(f"it is {session.theirs}'s turn")
        if do == "card":
            do = "lay off" if turn.phase == "layoff" else "discard"
        if do == "spread":
            return turn.action(do, integer_field(values, "number"))
        if do in ("take", "stock", "pass", "done", "gin"):
            return turn.action(do)
        if do not in ("lay off", "discard", "just discard", "gin later", "knock"):
            raise GinError(f"there is no command {do!r} at the table")
        if do == "knock" and not values.get("card") and (least := turn.best_knock()) is not None:
            return least
        if not values.get("card"):
            raise GinError("choose a card first")
        return self._action_with(do, parse_card(values["card"]))

    def _action_with(self, do: str, card: int) -> int | None:
        session, turn = self.session, self.session.turn
        if do in ("just discard", "gin later"):
            action = turn.action("discard", card)
            session.game.play_to_gin |= do == "gin later"
            return action
        if do == "discard" and turn.returns_upcard(card):
            self._clear()
            session.put_back()
            self.say("You give the card back: the draw is undone.")
            return None
        action = turn.action(do, card)
        if do == "discard" and session.options.ask_knock and turn.asks_to_knock(action):
            self.pending_knock = card
            return None
        if do == "discard" and action >= KNOCK:
            self.say("Gin: the hand ends by itself.")
        if do == "knock" and not turn.may_knock(card) and self._no_knock != (self.mark, card):
            self._no_knock = self.mark, card
            self.say(
                f"With the {card_name(card)} that is no knock: {count(turn.left(card))} would be left, the limit is "
                f"{int(turn.view['limit'])}. Under these rules it would be a plain discard; knock again if you want that.",
                "warning",
            )
            return None
        return action
