"""One game at the terminal: the person's commands about the cards, and what is shown of both sides."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text

from agents.play.current_game import CurrentGame
from agents.play.display_names import display_rules
from agents.play.hand_order import melds_of_view
from agents.play.hints import hint
from agents.play.moves import Turn, count
from agents.play.options import Options, variation
from agents.play.session import Session
from agents.play.terminal.commands import parse_command, read_card, read_move
from agents.play.terminal.lines import LABEL, LAID_STYLE, Face, sheet_column
from agents.play.terminal.screen import MenuError, Terminal
from ginenv.engine.actions import KNOCK, STOCK
from ginenv.engine.cards import cards_of
from ginenv.engine.engine import NO_CARD
from ginenv.errors import GinError


class Table:
    """A game at the terminal.

    Args:
        terminal: where it is played.
        session: whose game it is.
        live: the game.
        command: carries out a command that is not about the cards; called with its name and what follows it.
    """

    def __init__(
        self, terminal: Terminal, session: Session, live: CurrentGame, command: Callable[[str, str], None]
    ) -> None:
        self.terminal = terminal
        self.session = session
        self.live = live
        self.command = command
        self.face = Face(terminal.symbols)

    def play(self) -> None:
        """Plays until the game is over.

        Raises:
            MenuError: when the person asks for the menu.
            LeaveError: when the person leaves the program.
            GinError: if the opponent does something illegal or fails.
        """
        live = self.live
        if live.hand.is_over:
            self._show_end()
        else:
            self._begin_hand()
        while not live.match.is_over:
            if live.hand.is_over:
                self._between()
            elif live.hand.turn == live.seat:
                self._person()
            else:
                self._play(live.opponent_plays)

    def _begin_hand(self) -> None:
        match, (mine, theirs) = self.live.match, self.live.names
        rules, rule = variation(match.rules), self.face.rule * 2
        to = f", to {match.rules.target}" if match.rules.target and "target=" not in rules else ""
        score = f"{mine} {match.score[0]}, {theirs} {match.score[1]}"
        self.terminal.say(
            "",
            Text(
                f"{rule} hand {len(match.played) + 1} {rule} {score} {rule} {display_rules(rules)}{to} {rule}", "bold"
            ),
        )

    def _between(self) -> None:
        while True:
            try:
                name, rest = parse_command(self.terminal.ask("Enter deals the next hand> ") or "next")
                if name == "next":
                    break
                if name in ("score", "show"):
                    self._show_end()
                else:
                    self._elsewhere(name, rest)
            except GinError as error:
                self.terminal.warn(error)
        self.live.next_hand()
        self._begin_hand()

    def _show_end(self) -> None:
        if hands := self.face.ended(self.live.match.played[-1].view(self.live.seat)[0], self.live.names):
            self.terminal.say("", *hands, hang=LABEL)
        self.terminal.say("")
        self._show_sheet()
        self.terminal.say("")

    def _show_sheet(self) -> None:
        names, sheet = self.live.names, self.live.match.sheet()
        self.terminal.say(*self.face.sheet(sheet, names), hang=sheet_column(sheet, names))

    def _play(self, play: Callable[[], None]) -> None:
        """Plays an action; shows the end of the hand if that ends it."""
        play()
        live = self.live
        if not live.hand.is_over:
            return
        self._show_events()
        self._show_end()
        if live.match.is_over:
            self.terminal.say(Text(live.verdict, "bold green" if live.match.winner == live.seat else "bold"))

    def _show_events(self) -> None:
        self.terminal.warn(*self.session.notices())
        for events in self.live.events():
            words = self.face.text(events.words)
            if events.kind == "warning":
                self.terminal.warn(words)
            else:
                # The person has to notice that the opponent takes a card from the pile.
                self.terminal.say(Text(words, LAID_STYLE if events.kind == "take" else "cyan"))

    def _show(self, hinted: int = NO_CARD) -> None:
        live = self.live
        rows = position_rows(
            self.face, live.turn, live.game.order, live.names, self.session.options, live.last_taken, hinted
        )
        self.terminal.say("", *rows, hang=LABEL)

    def _person(self) -> None:
        self._show_events()
        self._show()
        while True:
            try:
                text = self.terminal.ask(f"{self.live.names[0]}> ")
                name, rest = parse_command(text) if text else ("show", "")
                action = self._action(name, rest)
                if action is not None:
                    break
            except GinError as error:
                self.terminal.warn(self.face.text(str(error)))
        self._play(lambda: self.live.play(action))

    def _action(self, name: str, rest: str) -> int | None:
        """The action of a command, or None if it was not an action (it has then been carried out)."""
        live, turn = self.live, self.live.turn
        if (move := read_move(turn, name, rest, live.game.order)) is not None:
            return self._move_action(turn, *move)
        if name == "hint":
            action, words = hint(turn, self.session.options.hints)
            if action < STOCK and turn.phase != "spread":
                self._show(hinted=action % KNOCK)
            self.terminal.say(Text(f"Hint: {self.face.text(words)}", "bright_yellow"), hang=6)
            return None
        if name == "sort":
            live.sort(*rest.lower().replace("by ", "").split()[:2])
        elif name == "move":
            self._move(rest)
        elif name == "play to gin":
            live.game.play_to_gin = not live.game.play_to_gin
            live.save()
        elif name != "show":
            self._elsewhere(name, rest)
            return None
        self._show()
        return None

    def _move_action(self, turn: Turn, name: str, card: int) -> int | None:
        if name == "discard" and turn.returns_upcard(card):
            self.live.put_back()
            self.terminal.say(Text(f"You give back the {self.face.name(card)}: the draw is undone.", "cyan"))
            self._show()
            return None
        action = turn.action(name, card)
        if name == "discard" and action >= KNOCK:
            self.terminal.say("Gin: the hand ends by itself.")
        elif self.session.options.ask_knock and turn.asks_to_knock(action) and self._wants_to_knock(turn.left(card)):
            return KNOCK + card
        return action

    def _wants_to_knock(self, left: int) -> bool:
        if left == 0:
            return self.terminal.confirm("That is gin. Go gin?")
        question = f"Knock with {count(left)}? (yes/no, g: play to gin)"
        answer = self.terminal.choose(question, "yes", "no", "g", "play to gin")
        self.live.game.play_to_gin |= answer in ("g", "play to gin")
        return answer == "yes"

    def _elsewhere(self, name: str, rest: str) -> None:
        if name == "score":
            self._show_sheet()
        elif name == "next":
            raise GinError("this hand is still in play")
        elif name == "resume":
            raise GinError("this game is in play already")
        elif name == "menu":
            raise MenuError
        else:
            self.command(name, rest)

    def _move(self, rest: str) -> None:
        words = rest.split()
        if len(words) != 2 or not words[1].isdecimal():
            raise GinError("a card is moved with its name or number and a place, as in: move 7C 1")
        if self.live.move_card(read_card(words[0], self.live.game.order), int(words[1])):
            self.terminal.say("Your hand stays as it is now; 'sort suit' or 'sort value' sorts it again.")


def position_rows(
    face: Face,
    turn: Turn,
    order: list[int],
    names: tuple[str, str],
    options: Options,
    last_taken: str = "",
    hinted: int = NO_CARD,
) -> list[Text]:
    """What the person whose turn it is sees of a position.

    Args:
        face: how cards look.
        turn: the turn.
        order: the person's cards from left to right.
        names: names of the person and the opponent.
        options: what the person wants to see.
        last_taken: the last card taken, in words.
        hinted: the card that a hint names.
    """
    view, (mine, theirs) = turn.view, names
    top = face.card(int(view["upcard"])) if view["upcard"] != NO_CARD else Text("empty")
    line = Text(f"{'pile':<{LABEL}}").append(top).append(f"{face.bar}stock {int(view['stock'])} cards")
    if options.memory:
        below = [int(card) for card in view["pile"][: view["num_pile"]]][-2::-1]
        line.append(f"{face.bar}below: {face.names(below) or 'nothing'}")
        if view["known_cards"][1]:
            line.append(f"{face.bar}{theirs} took {face.names(int(view['known_cards'][1]))}", LAID_STYLE)
    rows = [line]
    if turn.phase == "layoff":
        spread = [int(meld) for meld in view["spread"] if meld]
        melded = [card for meld in spread for card in cards_of(meld)]
        loose = [card for card in cards_of(int(view["shown"])) if card not in melded]
        rows += face.hand(theirs, melded + loose, spread, laid=int(view["laid"]))
    melds = melds_of_view(view)
    new = int(view["drawn"]) if view["drawn"] != NO_CARD else int(view["taken"])
    marked = melds if options.mark_melds else []
    rows += face.hand(mine, order, marked, fresh=new, numbered=True, hinted=hinted)
    if options.mark_melds:
        rows.append(face.melds(melds, order))
    if turn.phase == "spread":
        rows += [face.melds(way, order, f"spread {n}") for n, way in enumerate(turn.spreads(), 1)]
    return [*rows, face.status(turn, last_taken)]
