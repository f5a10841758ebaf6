"""Stepping through a record at the terminal, with both hands open and every action in words."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from agents.play.display_names import display_opponent
from agents.play.hand_order import in_suits, melds_of_cards
from agents.play.moves import action_words
from agents.play.terminal.lines import LABEL, Face, sheet_column
from agents.play.terminal.screen import Terminal
from ginenv.engine.engine import NO_CARD
from ginenv.hands.hand import Hand
from ginenv.hands.records import Record
from ginenv.hands.text import format_position

_KEYS = ("Enter: next step, b: back, n: next hand, NUMBER: go to that step,", "p: the position as text, q: leave")


class Step(NamedTuple):
    """A moment of a record: the number of the hand (from 1), the hand then, and the next action (None at the end)."""

    number: int
    hand: Hand
    action: int | None


def steps_of(record: Record) -> list[Step]:
    """Every moment of a record in order."""
    return [
        Step(number, hand.after(played), action)
        for number, hand in enumerate(record.hands, 1)
        for played, action in enumerate([*hand.history, None])
    ]


def _lines(face: Face, step: Step, names: tuple[str, str], place: str) -> list[Text]:
    hand, state = step.hand, step.hand.state[0]
    lines = [Text(f"{face.rule * 2} hand {step.number}, {place} {face.rule * 2}", "bold")]
    if hand.is_over:
        lines += face.ended(hand.view(0)[0], names)
        lines.append(Text(face.text(hand.outcome.describe(names) if hand.outcome else ""), "bold"))
        return lines
    for seat, name in enumerate(names):
        cards = int(state["hands"][seat])
        fresh = {int(state["drawn"]), int(state["taken"])} - {NO_CARD} if seat == hand.turn else set()
        lines += face.hand(name, in_suits(cards), melds_of_cards(cards), fresh=next(iter(fresh), NO_CARD))
    pile = state["pile"][: state["num_pile"]].tolist()
    lines.append(Text(f"{'pile':<{LABEL}}{face.names(pile) or 'empty'}"))
    words = "The record ends here."
    if step.action is not None:
        words = f"{names[hand.turn]} {face.text(action_words(step.action, hand.view()[0]))}."
    return [*lines, Text(words, "reverse")]


def replay(terminal: Terminal, name: str, record: Record) -> None:
    """Steps through a record, shown under a name, until the person leaves it."""
    names = display_opponent(record.names[0]), display_opponent(record.names[1])
    steps, at, face = steps_of(record), 0, Face(terminal.symbols)
    terminal.say(f"{name}: {names[0]} against {names[1]}.", *_KEYS)
    if record.note:
        terminal.say(record.note)
    while True:
        terminal.say(*_lines(face, steps[at], names, f"step {at + 1} of {len(steps)}"), hang=LABEL)
        if record.match is not None and at == len(steps) - 1:
            sheet = record.match.sheet()
            terminal.say(*face.sheet(sheet, names), hang=sheet_column(sheet, names))
        while True:
            word = terminal.ask("replay> ").lower()
            if word in ("q", "quit", "leave"):
                return
            if word in ("p", "position"):
                terminal.say_unwrapped(format_position(steps[at].hand))
            elif (place := _next_place(steps, at, word)) is None:
                terminal.warn(f"{word!r} means nothing here; use:")
                terminal.say(*_KEYS)
            elif place == at:
                terminal.say("There is no further step.")
            else:
                at = place
                break


def _next_place(steps: list[Step], at: int, word: str) -> int | None:
    if word in ("n", "next"):
        return next((k for k in range(at, len(steps)) if steps[k].number > steps[at].number), len(steps) - 1)
    places = {"": at + 1, "on": at + 1, "b": at - 1, "back": at - 1}
    place = int(word) - 1 if word.isdecimal() else places.get(word)
    return None if place is None else min(max(place, 0), len(steps) - 1)
