"""Practice at the terminal: a position, the person's move, and what would have been better and why."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from agents.play.display_names import display_rules
from agents.play.hand_order import melds_of_view, sorted_cards
from agents.play.hints import load_analyst
from agents.play.moves import Turn, count
from agents.play.options import Options, variation
from agents.play.skill import standing
from agents.play.store import Home, default_home
from agents.play.terminal.app import choose_player, until_left
from agents.play.terminal.commands import parse_command, read_move
from agents.play.terminal.lines import LABEL, Face
from agents.play.terminal.screen import Terminal
from agents.play.terminal.table import position_rows
from ginenv.engine.cards import cards_of
from ginenv.engine.rules import Rules
from ginenv.errors import GinError

if TYPE_CHECKING:
    from agents.play.practice import Practice

_OPTIONS = Options().changed("memory", "on")


@dataclass
class Arguments:
    """Positions to play again: your own mistakes and a set for everybody, each at growing intervals.

    Attributes:
        kind: draw, discard, knock or lay-off; all when left out.
        whose: mine or everybody (the set); both when left out.
        player: who practises; the player who played last when left out.
        home: directory of the store; $GINENV_HOME if that is set.
    """

    kind: str = ""
    whose: str = ""
    player: str | None = None
    home: Path = field(default_factory=default_home)


def _action(turn: Turn, text: str, order: list[int]) -> int:
    name, rest = parse_command(text)
    if (move := read_move(turn, name, rest, order)) is None:
        raise GinError(f"{name!r} is no move here; you can {turn.possible()}, or 'quit'")
    return turn.action(*move)


def practise(terminal: Terminal, home: Home, player: str, kind: str = "", whose: str = "") -> None:
    """Shows one position after the other until the person leaves, or nothing is due.

    Raises:
        GinError: if the kind does not exist, or something that practice needs is not installed.
        LeaveError: at the end of input.
    """
    load_analyst()
    from agents.play.practice import Practice, wait_words

    practice, face = Practice(home, player, load_analyst), Face(terminal.symbols)
    practice.add_new()
    while (exercise := practice.next(kind, whose)) is not None:
        view = exercise.view[0]
        turn = Turn(view, Rules.from_block(view["rules"]))
        order = sorted_cards(cards_of(int(view["hand"])), "meld", melds=melds_of_view(view))
        origin = "a mistake of yours" if exercise.mine else "from the set"
        heading = f"{face.rule * 2} {exercise.kind}, {origin} {face.rule * 2} {display_rules(variation(turn.rules))} {face.rule * 2}"
        rows = position_rows(face, turn, order, ("You", "Opponent"), _OPTIONS)
        terminal.say("", heading, *rows, hang=LABEL)
        while True:
            text = terminal.ask("your move> ")
            try:
                if text.lower() in ("q", "quit", "menu", "leave"):
                    _close(terminal, practice)
                    return
                answer = practice.answer(exercise, _action(turn, text or "show", order))
                break
            except GinError as error:
                terminal.warn(face.text(str(error)))
        found = answer.decision
        verdict = "Right" if answer.right else f"Not the best: {found.played}"
        cost = f", which costs {answer.cost}" * bool(answer.cost)
        again = wait_words(answer.due)
        terminal.say(
            face.text(f"{verdict}{cost}. The expert: {found.best}: {found.reason}."), f"It comes again in {again}."
        )
    terminal.say("Nothing is due now.")
    _close(terminal, practice)


def _close(terminal: Terminal, practice: Practice) -> None:
    progress = practice.progress()
    terminal.say(
        f"{count(progress.reviews, 'answer')} so far, {progress.correct} right; {progress.due} due now, {progress.new} new.",
        *standing(practice.home, practice.player).words,
    )


def run(arguments: Sequence[str], program: str = "gin practice") -> None:
    """Practises until the person leaves.

    Raises:
        GinError: if an argument cannot be used, or a file cannot be read or written.
    """
    chosen, terminal = tyro.cli(Arguments, prog=program, args=arguments), Terminal()
    with until_left(terminal), Home(chosen.home) as home:
        with closing(choose_player(terminal, home, chosen.player, may_create=True)) as file:
            practise(terminal, home, file.name, chosen.kind, chosen.whose)
