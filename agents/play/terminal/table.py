"""One game played at the terminal: the person's turns, the opponent's, and what is shown of both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.text import Text

from agents.bots.heuristics import hint
from agents.files import write_text
from agents.play.arrange import kept_order, melds_of_view, moved_card, shuffled_cards, sorted_cards
from agents.play.game import FROM_STOCK, HUMAN, Game
from agents.play.options import variation
from agents.play.store import PlayerFile
from agents.play.terminal.commands import parse_command
from agents.play.terminal.screen import Terminal
from agents.play.terminal.show import LABEL, LAID_STYLE, Face
from ginenv.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_SPREAD,
    PHASE_UPCARD,
    STOCK,
    UPCARD,
)
from ginenv.cards import cards_of, mask_of, parse_card
from ginenv.engine import NO_CARD, End
from ginenv.errors import GinError
from ginenv.melds import MAX_ARRANGEMENTS, deadwood, nth_arrangement
from ginenv.players import Player

OPPONENT = 1 - HUMAN
_SLOTS = np.zeros(1, np.int64)


class MenuError(Exception):
    """The person leaves the table for the menu.

    Args:
        then: a command that the menu is to carry out, and what follows it.
    """

    def __init__(self, then: tuple[str, str] | None = None) -> None:
        super().__init__("to the menu")
        self.then = then


class Table:
    """A game at the terminal; every action is on disk before the next is asked for.

    Args:
        terminal: where it is played.
        file: the player's file.
        game: the game, new or resumed.
        opponent: who sits across.
        desk: carries out a command that is not about the cards; is called with its name and what follows it.
    """

    def __init__(
        self, terminal: Terminal, file: PlayerFile, game: Game, opponent: Player, desk: Callable[[str, str], None]
    ) -> None:
        self.terminal = terminal
        self.file = file
        self.game = game
        self.opponent = opponent
        self.desk = desk
        self.face = Face(terminal.symbols)
        self._news: list[tuple[bool, str]] = []

    @property
    def names(self) -> tuple[str, str]:
        """The person's name and the opponent's."""
        return self.file.name, self.game.opponent_name

    def play(self) -> None:
        """Plays until the game is over.

        Raises:
            MenuError: when the person asks for the menu.
            LeaveError: when the person leaves the program.
            GinError: if the opponent does something illegal or fails.
        """
        game = self.game
        if game.match.hand.is_over:
            self._show_end()
            self._between()
        else:
            self._begin_hand()
        while True:
            hand = game.match.hand
            if hand.is_over:
                self._close_hand()
                if game.match.is_over:
                    return
                self._between()
            elif hand.turn == HUMAN:
                self._human_turn()
            else:
                self._opponent_turn()

    # ---------------------------------------------------------------- hands

    def _view(self) -> Any:
        return self.game.match.hand.view(HUMAN)[0]

    def _begin_hand(self) -> None:
        match = self.game.match
        if not self.game.order:
            self._lay_out(self._view(), dealt=True)
        target = match.rules.target
        parts = [
            f"hand {len(match.played) + 1}",
            f"{self.names[0]} {match.score[0]}, {self.names[1]} {match.score[1]}",
            f"{variation(match.rules)}, to {target}" if target else variation(match.rules),
        ]
        line = f"{self.face.rule * 2} " + f" {self.face.rule * 2} ".join(parts) + f" {self.face.rule * 2}"
        self.terminal.say("", Text(line, "bold"))
        starter = int(match.hand.state["starter"][0])
        if not match.hand.history:
            self._tell("You begin." if starter == HUMAN else f"{self.names[1]} begins.")
        self.save()

    def _between(self) -> None:
        while True:
            try:
                text = self.terminal.ask("Enter deals the next hand> ")
                if not text:
                    break
                name, rest = parse_command(text)
                if name == "next":
                    break
                if name in ("score", "show"):
                    self._show_end()
                else:
                    self._elsewhere(name, rest)
            except GinError as error:
                self.terminal.warn(error)
        self.game.next_hand()
        self._begin_hand()

    def _close_hand(self) -> None:
        """Books the hand that ended, keeps its record, shows it; then the opponent may learn from it."""
        match = self.game.match
        outcome = match.outcomes[-1]
        tally = self.file.statistics.tally(variation(match.rules), self.game.opponent_name)
        tally.add_hand(outcome, HUMAN)
        if match.is_over:
            tally.add_game(match, HUMAN)
        try:
            write_text(self.file.records / f"{self.game.name}.gin", self.game.record(self.file.name))
        except OSError as error:
            self.terminal.warn(f"The record of this hand cannot be written: {error.strerror or error}.")
        # Once the hand is booked on disk: killed in between, a level misses a hand rather than seeing one twice.
        self.save()
        self._tell_news()
        self._show_end()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.opponent.observe_hands(match.played[-1].view(OPPONENT), _SLOTS)
        for warning in caught:
            self.terminal.warn(warning.message)
        if match.is_over:
            won = match.winner == HUMAN
            words = (
                "Nobody wins the game."
                if match.winner is None
                else f"{'You win' if won else self.names[1] + ' wins'} the game."
            )
            self.terminal.say(Text(words, "bold green" if won else "bold"))

    def _show_end(self) -> None:
        match = self.game.match
        self.terminal.say(*self.face.ended(match.played[-1].view(HUMAN)[0], self.names))
        self.terminal.say("", self._sheet(), "")

    def _sheet(self) -> str:
        return self.face.text(self.game.match.sheet().to_text(self.names))

    def save(self) -> None:
        """Puts the game on disk as it stands; a failure is shown, and the game goes on."""
        self.file.game = None if self.game.match.is_over else self.game.to_json()
        try:
            self.file.save()
        except OSError as error:
            self.terminal.warn(f"The game cannot be saved: {error.strerror or error}; what was saved before stays.")

    # ---------------------------------------------------------------- news of the opponent

    def _tell(self, words: str, by_opponent: bool = False) -> None:
        """Notes something to be told: a sentence, or what the opponent does, which becomes one sentence a turn."""
        if by_opponent and self._news and self._news[-1][0]:
            self._news[-1] = (True, f"{self._news[-1][1]} and {words}")
        else:
            self._news.append((by_opponent, words))

    def _tell_news(self) -> None:
        for by_opponent, words in self._news:
            # That the opponent takes a card from the pile is what one has to see.
            style = LAID_STYLE if by_opponent and words.startswith("takes") else "cyan"
            self.terminal.say(Text(f"{self.names[1]} {words}." if by_opponent else words, style))
        self._news = []

    def _opponent_turn(self) -> None:
        hand = self.game.match.hand
        view = hand.view(OPPONENT)
        action = int(self.opponent.act(view, _SLOTS)[0])
        try:
            self._push(action)
        except GinError as error:
            raise GinError(f"{self.names[1]} did what the rules do not allow: {error}") from None

    def _push(self, action: int) -> None:
        """Plays an action of whoever is to move, and notes what the person should know of it."""
        game, hand = self.game, self.game.match.hand
        seat, phase, before = hand.turn, int(hand.state["phase"][0]), hand.view(hand.turn)[0]
        # The card that lies open may be anybody's to see; what was drawn is only in the view of who drew it.
        upcard = int(before["upcard"])
        game.match.push(action)
        if action == UPCARD:
            game.last_taken = (seat, self.face.name(upcard))
        elif action == STOCK:
            game.last_taken = (seat, FROM_STOCK)
        if seat == OPPONENT:
            self._tell(self._words(action, phase, upcard), by_opponent=True)
        if phase == PHASE_UPCARD and action == PASS and not hand.is_over:
            now = hand.view(hand.turn)[0]
            if now["phase"] == PHASE_DISCARD:
                game.last_taken = (hand.turn, FROM_STOCK)
                who = "you draw" if hand.turn == HUMAN else f"{self.names[1]} draws"
                self._tell(f"Both have passed: {who} from the stock.")
        self.save()

    def _words(self, action: int, phase: int, upcard: int) -> str:
        if action == PASS:
            return "lays off no more" if phase == PHASE_LAYOFF else f"passes on the {self.face.name(upcard)}"
        if action == UPCARD:
            return f"takes the {self.face.name(upcard)} from the pile"
        if action == STOCK:
            return "draws from the stock"
        if phase == PHASE_SPREAD:
            return "chooses how to spread"
        if phase == PHASE_LAYOFF:
            return f"lays off the {self.face.name(action)}"
        if action >= KNOCK:
            outcome = self.game.match.hand.outcome
            verb = "goes gin" if outcome is not None and outcome.end == End.GIN else "knocks"
            return f"{verb} with the {self.face.name(action - KNOCK)}"
        return f"discards the {self.face.name(action)}"

    # ---------------------------------------------------------------- the person's turn

    def _human_turn(self) -> None:
        self._tell_news()
        self._lay_out(self._view())
        self._show_table()
        while True:
            try:
                text = self.terminal.ask(f"{self.file.name}> ")
                if not text:
                    self._show_table()
                    continue
                name, rest = parse_command(text)
                action = self._action(name, rest)
            except GinError as error:
                self.terminal.warn(error)
                continue
            if action is not None:
                self._play(action)
                return

    def _play(self, action: int) -> None:
        hand = self.game.match.hand
        view = self._view()
        phase = int(view["phase"])
        self._push(action)
        if hand.warned:
            card = self.face.name(action - KNOCK)
            left = int(deadwood(int(view["hand"]) & ~(1 << (action - KNOCK))))
            self.terminal.warn(
                f"That was no knock: {left} points are left and the limit is {int(view['limit'])}. "
                f"The {card} is a plain discard, and play goes on."
            )
        if hand.is_over or hand.turn != HUMAN:
            return
        now = self._view()
        if phase == PHASE_DRAW and now["drawn"] != NO_CARD:
            self.terminal.say(Text(f"You draw the {self.face.name(int(now['drawn']))}.", "cyan"))

    def _lay_out(self, view: Any, dealt: bool = False) -> None:
        """Puts the person's cards in the order that the options ask for."""
        options = self.file.options
        cards = cards_of(int(view["hand"]))
        if dealt and options.sort == "none":
            self.game.order = shuffled_cards(cards, int(view["luck"]))
        elif options.sort != "none" and (dealt or options.sort_when == "always"):
            self.game.order = sorted_cards(cards, options.sort, options.direction)
        else:
            self.game.order = kept_order(self.game.order, int(view["hand"]))

    def _show_table(self, hinted: int = NO_CARD) -> None:
        view, face, game = self._view(), self.face, self.game
        top = face.card(int(view["upcard"])) if view["upcard"] != NO_CARD else Text("empty")
        pile = [int(card) for card in view["pile"][: view["num_pile"]]]
        line = Text(f"{'pile':<{LABEL}}").append(top).append(f"{face.bar}stock {int(view['stock'])} cards")
        if self.file.options.memory:
            line.append(f"{face.bar}below: {face.names(pile[-2::-1]) or 'nothing'}")
            if view["known"][1]:
                line.append(f"{face.bar}{self.names[1]} took {face.names(int(view['known'][1]))}", LAID_STYLE)
        rows = [line]
        if view["phase"] == PHASE_LAYOFF:
            rows += self._spread_rows(view)
        melds = melds_of_view(view)
        fresh = int(view["drawn"]) if view["drawn"] != NO_CARD else int(view["taken"])
        rows += face.hand(self.names[0], game.order, melds, fresh=fresh, numbered=True, hinted=hinted)
        loose = int(view["hand"]) & ~mask_of(card for meld in melds for card in cards_of(meld))
        rows.append(Text(" " * LABEL).append(face.melds(melds, loose)))
        if view["phase"] == PHASE_SPREAD:
            rows += self._arrangement_rows(view)
        rows.append(face.status(view, self._last_taken(), game.play_to_gin))
        self.terminal.say("", *rows)

    def _last_taken(self) -> str:
        if self.game.last_taken is None:
            return ""
        seat, what = self.game.last_taken
        return f"{what} by {'you' if seat == HUMAN else self.names[1]}"

    def _spread_rows(self, view: Any) -> list[Text]:
        melds = [int(meld) for meld in view["spread"] if meld]
        laid = int(view["laid"])
        order = [card for meld in melds for card in cards_of(meld)]
        loose = [card for card in cards_of(int(view["shown"])) if card not in order]
        return self.face.hand(self.names[1], order + loose, melds, laid=laid)

    def _arrangement_rows(self, view: Any) -> list[Text]:
        hand, limit = int(view["hand"]), int(view["limit"])
        count = min(int(nth_arrangement(hand, limit, 0)[0]), MAX_ARRANGEMENTS)
        rows = []
        for n in range(count):
            melds = [int(meld) for meld in nth_arrangement(hand, limit, n)[1:] if meld]
            loose = hand & ~mask_of(card for meld in melds for card in cards_of(meld))
            rows.append(Text(f"{'spread ' + str(n + 1):<{LABEL}}").append(self.face.melds(melds, loose)))
        return rows

    # ---------------------------------------------------------------- commands

    def _action(self, name: str, rest: str) -> int | None:
        """The action of a command, or None where it was no action (and has been carried out)."""
        view = self._view()
        phase = int(view["phase"])
        if name == "card":
            name = {PHASE_LAYOFF: "lay off", PHASE_SPREAD: "spread"}.get(phase, "discard")
        if name in ("take", "stock", "pass"):
            return self._checked(view, {"take": UPCARD, "stock": STOCK, "pass": PASS}[name], name)
        if name == "done":
            return self._checked(view, PASS, name, PHASE_LAYOFF)
        if name == "spread":
            return self._arrangement(view, rest)
        if name == "lay off":
            return self._checked(view, self._card(rest), name, PHASE_LAYOFF)
        if name in ("discard", "knock", "gin"):
            if phase != PHASE_DISCARD:
                raise GinError(f"you cannot {name} now: {self.face.possible(view, self.game.play_to_gin)}")
            if name == "discard":
                return self._discard(view, self._card(rest))
            return self._knock(view, self._card(rest)) if name == "knock" else self._gin(view)
        if name == "hint":
            self._hint(view)
        elif name == "show":
            self._show_table()
        elif name == "sort":
            self._sort(rest)
        elif name == "move":
            self._move(rest)
        elif name == "play to gin":
            self.game.play_to_gin = not self.game.play_to_gin
            self.save()
            self._show_table()
        else:
            self._elsewhere(name, rest)
        return None

    def _elsewhere(self, name: str, rest: str) -> None:
        if name == "score":
            self.terminal.say(self._sheet())
        elif name == "next":
            raise GinError("this hand is still in play")
        elif name == "menu":
            raise MenuError
        else:
            self.desk(name, rest)

    def _card(self, text: str) -> int:
        """The card of a name, or of its number in the hand."""
        if text.isdecimal():
            if not 1 <= int(text) <= len(self.game.order):
                raise GinError(f"there is no card number {text}; your cards are numbered 1 to {len(self.game.order)}")
            return self.game.order[int(text) - 1]
        return parse_card(text)

    def _checked(self, view: Any, action: int, name: str, phase: int | None = None) -> int:
        mask, bit = (view["legal"][2], action - STOCK) if action >= STOCK else (view["legal"][0], action)
        if not int(mask) >> bit & 1 or (phase is not None and view["phase"] != phase):
            raise GinError(f"you cannot {name} now: {self.face.possible(view, self.game.play_to_gin)}")
        return action

    def _arrangement(self, view: Any, rest: str) -> int:
        count = int(view["legal"][0]).bit_count()
        if view["phase"] != PHASE_SPREAD:
            raise GinError(f"you cannot spread now: {self.face.possible(view, self.game.play_to_gin)}")
        if not rest.isdecimal() or not 1 <= int(rest) <= count:
            raise GinError(f"spread {rest!r} is none of the ways shown; they are numbered 1 to {count}")
        return int(rest) - 1

    def _held(self, view: Any, card: int) -> None:
        if not int(view["hand"]) >> card & 1:
            raise GinError(f"you do not hold the {self.face.name(card)}")
        if card == view["taken"] and not int(view["legal"][0]) >> card & 1:
            raise GinError(
                f"the {self.face.name(card)} was just taken from the pile: it cannot be discarded in this turn"
            )

    def _discard(self, view: Any, card: int) -> int:
        self._held(view, card)
        discards, knocks = int(view["legal"][0]) >> card & 1, int(view["legal"][1]) >> card & 1
        if not discards:
            if knocks and deadwood(int(view["hand"]) & ~(1 << card)) == 0:
                self.terminal.say("Gin: the hand ends by itself.")
                return KNOCK + card
            raise GinError(f"you cannot discard now: {self.face.possible(view, self.game.play_to_gin)}")
        if knocks and self._wants_to_knock(view, card):
            return KNOCK + card
        return card

    def _wants_to_knock(self, view: Any, card: int) -> bool:
        left = int(deadwood(int(view["hand"]) & ~(1 << card)))
        if not self.file.options.ask_knock or (self.game.play_to_gin and left):
            return False
        if left == 0:
            return self.terminal.confirm("That is gin. Go gin?")
        while True:
            answer = self.terminal.ask(f"Knock with {left} points? (yes/no, g: play to gin) ").lower()
            if answer in ("g", "play to gin"):
                self.game.play_to_gin = True
                return False
            if answer in ("y", "yes", "n", "no"):
                return answer[0] == "y"
            hinted = answer in ("h", "hint")
            self.terminal.warn(
                "There is no hint for a yes or no: that is for you to decide."
                if hinted
                else "Please answer yes, no or g."
            )

    def _knock(self, view: Any, card: int) -> int:
        self._held(view, card)
        if int(view["legal"][1]) >> card & 1:
            return KNOCK + card
        if self.game.match.rules.illegal_knock == "discard" and int(view["legal"][0]) >> card & 1:
            return KNOCK + card
        left = int(deadwood(int(view["hand"]) & ~(1 << card)))
        if left > int(view["limit"]):
            raise GinError(
                f"you cannot knock with the {self.face.name(card)}: {left} points would be left, the limit is {int(view['limit'])}"
            )
        raise GinError(f"you cannot knock now: {self.face.possible(view, self.game.play_to_gin)}")

    def _gin(self, view: Any) -> int:
        hand = int(view["hand"])
        ways = [card for card in cards_of(int(view["legal"][1])) if deadwood(hand & ~(1 << card)) == 0]
        if not ways:
            raise GinError(
                f"you have no gin: at best {self._least(view)} points are left; 'play to gin' (g) stops the asking to knock"
            )
        # Which of several cards goes makes no difference to the score.
        return KNOCK + max(ways, key=lambda card: card % 13)

    def _least(self, view: Any) -> int:
        hand = int(view["hand"])
        return min(int(deadwood(hand & ~(1 << card))) for card in cards_of(hand))

    def _hint(self, view: Any) -> None:
        phase = int(view["phase"])
        if phase not in (PHASE_DRAW, PHASE_DISCARD):
            what = {PHASE_UPCARD: "whether to take the first upcard is a yes or no that is yours"}.get(
                phase, "not here"
            )
            raise GinError(f"there is a hint for a draw and for a discard: {what}")
        action, reason = hint(view)
        if action >= STOCK:
            self.terminal.say(Text(f"Hint: {self._plainly(action)}: {self.face.text(reason)}.", "bright_yellow"))
            return
        card = action % KNOCK
        if action >= KNOCK and self.game.play_to_gin and deadwood(int(view["hand"]) & ~(1 << card)):
            action, reason = card, "on the way to gin"
        self._show_table(hinted=card)
        self.terminal.say(Text(f"Hint: {self._plainly(action)}: {self.face.text(reason)}.", "bright_yellow"))

    def _plainly(self, action: int) -> str:
        if action >= STOCK:
            return "take the upcard" if action == UPCARD else "draw from the stock"
        return f"{'knock with' if action >= KNOCK else 'discard'} the {self.face.name(action % KNOCK)}"

    def _sort(self, rest: str) -> None:
        """Sorts the hand now; where it is kept sorted always, that becomes the way."""
        words = rest.lower().replace("by ", "").split()
        options = self.file.options
        by = words[0] if words else options.sort if options.sort != "none" else "suit"
        options = options.changed("sort", by)
        if len(words) > 1:
            options = options.changed("direction", words[1])
        if self.file.options.sort_when == "always":
            self.file.options = options
        if options.sort != "none":
            self.game.order = sorted_cards(self.game.order, options.sort, options.direction)
        self.save()
        self._show_table()

    def _move(self, rest: str) -> None:
        words = rest.split()
        if len(words) != 2 or not words[1].isdecimal():
            raise GinError("a card is moved with its name or number and a place, as in: move 7C 1")
        card, place = self._card(words[0]), int(words[1])
        self._held_card(card)
        if not 1 <= place <= len(self.game.order):
            raise GinError(f"there is no place {place}; places are numbered 1 to {len(self.game.order)}")
        if self.file.options.sort != "none" and self.file.options.sort_when == "always":
            # Otherwise the next card would put it back.
            self.file.options = self.file.options.changed("sort", "none")
            self.terminal.say("Your hand stays as you put it now; 'sort suit' or 'sort value' sorts it again.")
        self.game.order = moved_card(self.game.order, card, place)
        self.save()
        self._show_table()

    def _held_card(self, card: int) -> None:
        if card not in self.game.order:
            raise GinError(f"you do not hold the {self.face.name(card)}")
