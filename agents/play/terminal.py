"""``gin play`` and ``gin practice``: a picture of the cards and a question, answered with a word, in any terminal."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text
from tyro.conf import arg

from agents.display_names import display_rules
from agents.play.hand_order import without_memory
from agents.play.hints import load_analyst
from agents.play.moves import Turn, count, in_words
from agents.play.options import variation
from agents.play.session import Session
from agents.play.skill import standing
from agents.play.store import Home, PlayerFile, default_home
from ginenv.engine.actions import PHASE_OVER
from ginenv.engine.cards import SUIT_SYMBOLS, SUITS, card_name, cards_of, format_cards, parse_card
from ginenv.engine.melds import points_of
from ginenv.engine.rules import Rules
from ginenv.errors import GinError, check_integer, must_be
from ginenv.pictures.render import to_text

with contextlib.suppress(ImportError):
    # With it, input() edits lines and remembers them; it does not exist on every system.
    import readline  # noqa: F401

_HELP = """\
t  take the upcard       s  draw from the stock       p  pass
7C  discard that card    k 7C  knock with it          gin  go gin
spread 2  spread so      l 7C  lay off that card      n  done laying off
In a game, h: a hint, Enter: the table again.
q leaves, and what has been played is kept. Then: gin analyse (what your moves cost), gin practice (positions
to play again), gin levels learned (what a level has learned); records, statistics and options: gin web."""
# The moves of ``Turn.action`` that need no card, by what may be typed for them.
_MOVES = {
    "t": "take",
    "take upcard": "take",
    "s": "stock",
    "draw": "stock",
    "draw stock": "stock",
    "p": "pass",
    "n": "done",
}
_MOVES |= {name: name for name in ("take", "stock", "pass", "done", "gin")}
_VERBS = {"d": "discard", "k": "knock", "l": "lay off"}
_WITH_CARD = re.compile(r"(?:([dkl])(?:iscard|nock|ay ?off)?\s*)?((?:10|[2-9atjqk])[scdh♠♣♦♥])")
_SPREAD = re.compile(r"(?:spread\s*)?(\d{1,3})")
_LEAVE, _HELPS = ("q", "quit", "exit"), ("?", "help")
_CARD = re.compile(r"\b[A2-9TJQK][SCDH]\b")
# Where the terminal has no symbols for suits, hidden cards and apostrophes.
_PLAIN = str.maketrans(f"{SUIT_SYMBOLS}▒…’", f"{SUITS}#~'")


class LeaveError(Exception):
    """The person leaves: end of input, or a word for it."""


class Terminal:
    """Shows lines and asks for lines.

    Args:
        console: where lines go; standard output when left out.
        read: called with a prompt; returns a line, or raises ``EOFError``; ``input`` when left out.
    """

    def __init__(self, console: Console | None = None, read: Callable[[str], str] | None = None) -> None:
        self.console = console or Console(highlight=False, emoji=False)
        self._symbols = (self.console.encoding or "").lower().startswith("utf")
        self._read = read or input

    def _spelled(self, text: str) -> str:
        """A text whose cards are written with symbols, or with letters where the terminal has no symbols."""
        if not self._symbols:
            return text.translate(_PLAIN)
        return _CARD.sub(lambda found: card_name(parse_card(found[0]), symbols=True), text)

    def say(self, *lines: object, style: str | None = None) -> None:
        """Shows lines of plain text."""
        for line in lines:
            self.console.print(self._spelled(str(line)), style=style, markup=False)

    def warn(self, *lines: object) -> None:
        """Shows lines that say what was or went wrong."""
        self.say(*(f"! {line}" for line in lines), style="bold yellow")

    def show(self, view: Any, opponent: str) -> None:
        """Shows the table as the seat of a view (one record of ``VIEW``) sees it."""
        lines = to_text(view, opponent).splitlines()
        # What can be done is left to the question, which names the cards.
        shown = lines if view["phase"] == PHASE_OVER else lines[:-1]
        self.console.print("", Text.from_ansi(self._spelled("\n".join(shown))), sep="\n")

    def ask(self, question: str) -> str:
        """Asks; returns the answer without outer blanks, after help where that is asked for.

        Raises:
            LeaveError: at the end of input, or if the person leaves here.
        """
        while True:
            sys.stdout.flush()
            try:
                answer = self._read(f"{self._spelled(question)}> ").strip()
            except EOFError:
                self.say("")
                raise LeaveError from None
            if answer.lower() in _LEAVE:
                raise LeaveError
            if answer.lower() not in _HELPS:
                return answer
            self.say(_HELP)


def _question(turn: Turn) -> str:
    possible = turn.possible()
    return possible[0].upper() + possible[1:]


def parse_move(turn: Turn, text: str) -> int:
    """The action that a person has typed.

    Raises:
        GinError: if it is no move, or not possible now.
    """
    text = text.lower()
    if text in _MOVES:
        return turn.action(_MOVES[text])
    if turn.phase == "spread" and (number := _SPREAD.fullmatch(text)):
        return turn.action("spread", int(number[1]))
    if not (found := _WITH_CARD.fullmatch(text)):
        raise GinError(f"{text!r} is no move; you can {turn.possible()} ('help' says how)")
    name = _VERBS[found[1]] if found[1] else "lay off" if turn.phase == "layoff" else "discard"
    return turn.action(name, parse_card(found[2]))


def play_games(terminal: Terminal, session: Session, new: bool = False) -> None:
    """Plays a person's unfinished game, or a new one, and further games until the person leaves.

    Raises:
        LeaveError: when the person leaves.
        GinError: if the game cannot go on, or the opponent fails; the game is kept.
    """
    if not new and (unfinished := session.unfinished()):
        terminal.say(f"Your unfinished game goes on: {unfinished}. ('--new' begins another.)")
        session.resume()
    else:
        session.new_game()
    while True:
        _play_game(terminal, session)
        terminal.ask("Enter begins another game")
        session.new_game()


def _play_game(terminal: Terminal, session: Session) -> None:
    _announce(terminal, session)
    while True:
        if session.hand.is_over:
            _show_events(terminal, session)
            _show_view(terminal, session, session.match.played[-1].view(session.seat)[0])
            terminal.say("", session.match.sheet().to_text(session.names), "")
            if session.match.is_over:
                terminal.say(session.verdict, style="bold")
                return
            terminal.ask("Enter deals the next hand")
            session.next_hand()
            _announce(terminal, session)
        elif session.is_turn:
            _person(terminal, session)
        else:
            session.go_on()


def _announce(terminal: Terminal, session: Session) -> None:
    terminal.say("", f"Against {session.theirs}. {session.rules_words}.", style="bold")


def _person(terminal: Terminal, session: Session) -> None:
    """Asks for the person's move until there is one, and plays it."""
    turn = session.turn
    _show_events(terminal, session)
    _show(terminal, session, turn)
    while True:
        try:
            text = terminal.ask(_question(turn)).lower()
            if text in ("h", "hint"):
                terminal.say(f"Hint: {session.hint()[1]}", style="bright_yellow")
            elif text and (found := _WITH_CARD.fullmatch(text)) and turn.returns_upcard(parse_card(found[2])):
                terminal.say("You give the card back: the draw is undone.")
                session.put_back()
                return
            elif text:
                action = parse_move(turn, text)
                break
            else:
                _show(terminal, session, turn)
        except GinError as error:
            terminal.warn(error)
    session.play(action)


def _show(terminal: Terminal, session: Session, turn: Turn) -> None:
    _show_view(terminal, session, session.view)
    if turn.phase == "spread":
        for number, melds in enumerate(turn.spreads(), 1):
            words = " | ".join(format_cards(cards_of(meld)) for meld in melds)
            left = int(points_of(turn.hand & ~sum(melds)))
            terminal.say(f"  spread {number}: {words}, deadwood {left}")


def _show_view(terminal: Terminal, session: Session, view: Any) -> None:
    terminal.show(view if session.options.memory else without_memory(view), session.theirs)


def _show_events(terminal: Terminal, session: Session) -> None:
    terminal.warn(*session.notices())
    for event in session.events():
        if event.kind == "warning":
            terminal.warn(event.words)
        else:
            # It has to be noticed that the opponent takes a card from the pile.
            terminal.say(event.words, style="bright_red" if event.kind == "take" else "cyan")


@contextmanager
def _seat(terminal: Terminal, home: Path | None, name: str) -> Iterator[PlayerFile]:
    """The player of this name, new or not, or who played last, or whose name is typed."""
    with Home(default_home() if home is None else home) as store:
        chosen = name or store.last_player or terminal.ask("Your name") or "Player"
        with closing(store.open(chosen) if store.find(chosen) else store.create(chosen)) as file:
            yield file


def play(
    player: str = "",
    opponent: str = "",
    rules: str = "",
    set: Annotated[tuple[str, ...], arg(help_behavior_hint="")] = (),
    new: bool = False,
    seed: int | None = None,
    home: Path | None = None,
) -> None:
    """A game in the terminal, the unfinished one or a new one. Every move is saved; 'help' lists what can be typed.

    Args:
        player: who plays, by name, known or new; who played last when left out.
        opponent: matched, level-1 to level-4, or any player's name; the one chosen before when left out.
        rules: a preset, and changes to it, as in dg-standard,target=150; those chosen before when left out.
        set: options that are to change, as name=value (hints=formulas easy_game=on learning=off).
        new: begin a new game; the points of an unfinished one are lost.
        seed: deal the same cards every time, in the first new game.
        home: directory of players, games and records; $GINENV_HOME if that is set.
    """
    if seed is not None:
        check_integer("--seed", seed, 0)
    changes = {name: value for name, value in (("opponent", opponent), ("rules", rules)) if value}
    for text in set:
        name, equals, changes[name] = text.partition("=")
        if not equals:
            raise GinError(must_be("--set", "name=value, as in hints=formulas", text))
    terminal, session = Terminal(), None
    try:
        with _seat(terminal, home, player) as file:
            # What was typed here may play; what the store names may not.
            session = Session(file, seed, allowed=[changes[name] for name in ("opponent",) if name in changes])
            try:
                resumes = file.game is not None and not new
                for name, value in changes.items():
                    changed = session.set_option(name, value)
                    # A new game is announced with its opponent and rules.
                    if resumes or name not in ("opponent", "rules"):
                        terminal.say(changed)
                play_games(terminal, session, new)
            finally:
                session.leave_game()
    except (LeaveError, KeyboardInterrupt):
        unfinished = session is not None and session.file.game is not None
        terminal.say("", "The game is kept; 'gin play' goes on with it." if unfinished else "Good-bye.")


def practise(terminal: Terminal, home: Home, player: str, kind: str = "", whose: str = "") -> None:
    """Asks about one position after the other until the person leaves, or nothing is due.

    Raises:
        GinError: if the kind does not exist, or something that practice needs is not installed.
    """
    load_analyst()
    from agents.play.practice import Practice, wait_words

    practice = Practice(home, player, load_analyst)
    practice.add_new()
    with contextlib.suppress(LeaveError):
        while (exercise := practice.next(kind, whose)) is not None:
            view = exercise.view[0]
            turn = Turn(view, Rules.from_block(view["rules"]))
            origin = "a mistake of yours" if exercise.mine else "from the set"
            terminal.say("", f"{exercise.kind}, {origin}. {display_rules(variation(turn.rules))}.", style="bold")
            terminal.show(view, "Opponent")
            while True:
                try:
                    answer = practice.answer(exercise, parse_move(turn, terminal.ask(_question(turn))))
                    break
                except GinError as error:
                    terminal.warn(error)
            decision = answer.decision
            verdict = "Right" if answer.right else f"Not the best: {decision.played}"
            cost = f", which costs {answer.cost}" * bool(answer.cost)
            terminal.say(f"{verdict}{cost}. The expert: {in_words(decision.best, view)}. {decision.reason}")
            terminal.say(f"It comes again in {wait_words(answer.due)}.")
        terminal.say("Nothing is due now.")
    progress = practice.progress()
    answers = f"{count(progress.reviews, 'answer')} so far, {progress.correct} right"
    terminal.say(f"{answers}; {progress.due} due now, {progress.new} new.", *standing(home, player))


def practice(kind: str = "", whose: str = "", player: str = "", home: Path | None = None) -> None:
    """Positions to play again: your own mistakes and a set for everybody, each at growing intervals.

    Args:
        kind: draw, discard, knock or lay-off; all when left out.
        whose: mine or everybody (the set); both when left out.
        player: who practises, by name; the player who played last when left out.
        home: directory of the store; $GINENV_HOME if that is set.
    """
    terminal = Terminal()
    with contextlib.suppress(LeaveError, KeyboardInterrupt):
        with _seat(terminal, home, player) as file:
            practise(terminal, file.home, file.name, kind, whose)
