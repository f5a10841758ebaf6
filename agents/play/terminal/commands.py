"""What can be typed at the table: words, short keys, and the help about them."""

from __future__ import annotations

import re
from typing import NamedTuple

from agents.play.hand_order import card_at
from agents.play.moves import Turn
from ginenv.engine.cards import parse_card
from ginenv.errors import GinError, did_you_mean, unknown_name

_QUICK = re.compile(r"([dkl])\s*((?:10|[2-9atjqk])[schd♠♣♦♥]|\d{1,2})", re.IGNORECASE)
_BARE = re.compile(r"(?:10|[2-9atjqk])[schd♠♣♦♥]|\d{1,2}", re.IGNORECASE)


class Command(NamedTuple):
    """One command.

    Attributes:
        words_text: what can be typed for it, separated by commas; the first is its name, which help shows, and keys come last.
        argument: what may follow it, in words; empty where nothing may.
        about: one line of help.
    """

    words_text: str
    argument: str
    about: str

    @property
    def words(self) -> list[str]:
        """What can be typed for it, its name first."""
        return self.words_text.split(", ")


# All commands by subject.
GROUPS: dict[str, tuple[Command, ...]] = {
    "Draw": (
        Command("take, take upcard, upcard, t", "", "take the upcard"),
        Command("stock, draw stock, draw from the stock, draw, s", "", "draw from the stock"),
        Command("pass, p", "", "refuse the upcard; when the stock is used up, end the hand in a draw"),
    ),
    "Discard": (
        Command("discard, d", "CARD", "discard a card: its name (7C, 10d, Q♥) or its number; the card alone will do"),
    ),
    "Knock": (
        Command("knock, k", "CARD", "knock, discarding that card"),
        Command("gin", "", "go gin, when you can"),
        Command("play to gin, g", "", "do not offer to knock in this hand; typed again: offer it"),
    ),
    "After a knock": (
        Command("spread", "N", "spread your melds as arrangement N"),
        Command("lay off, layoff, l", "CARD", "lay off a card on the knocker's melds"),
        Command("done, n", "", "end your lay-offs"),
    ),
    "Your hand": (
        Command("hint, h", "", "what the expert (or, with set hints formulas, fixed formulas) would do, and why"),
        Command(
            "sort",
            "meld|suit|value",
            "sort your hand; u: by suit, v: by value; with descending, from the other end",
        ),
        Command("move, m", "CARD PLACE", "put a card at another place in your hand"),
    ),
    "The table": (
        Command("show, table, w", "", "show the table again; so does Enter"),
        Command("score, sheet, score sheet, c", "", "the score sheet"),
        Command("next, next hand", "", "deal the next hand; so does Enter"),
    ),
    "Games": (
        Command("new, new game, play", "", "begin a game with the rules and the opponent you have chosen"),
        Command("resume, r", "", "go on with your unfinished game"),
        Command(
            "practice, practise",
            "[KIND]",
            "play positions again: your mistakes and a set for everybody; draw, discard, knock, lay-off",
        ),
        Command("menu", "", "leave the table for the menu; the game is kept"),
    ),
    "Rules": (
        Command("rules", "[PRESET[,RULE=VALUE,...]]", "choose the rules, or list them"),
        Command("rule", "[NAME VALUE]", "change one rule, or list them all"),
    ),
    "Opponent": (
        Command("opponent", "[NAME]", "choose your opponent, or list them"),
        Command("learned, what did you learn", "[LEVEL]", "what a level has learned about you"),
        Command("reset", "LEVEL", "reset a level to how it was installed"),
    ),
    "Options": (
        Command("options, o", "", "your options"),
        Command("set", "OPTION VALUE", "change an option"),
    ),
    "Players": (
        Command("players", "", "list the players"),
        Command("player, switch", "NAME", "switch to another player"),
        Command("create", "NAME", "create a player and switch to it"),
        Command("remove", "NAME", "remove a player with statistics and records"),
    ),
    "Statistics": (
        Command("statistics, stats", "", "your statistics by variation and opponent"),
        Command("reset statistics, reset stats", "[WHICH]", "reset all statistics, or a variation's or opponent's"),
    ),
    "Records": (
        Command("records", "", "list your records"),
        Command("replay", "[FILE or NUMBER]", "step through a record; the last one when left out"),
        Command("export", "NUMBER FILE", "write one of your records to a file"),
        Command("import", "FILE", "add the record of a file to yours"),
    ),
    "Leave": (
        Command("help, ?", "[SUBJECT]", "what can be typed"),
        Command("quit, exit, q", "", "save and leave; so do Ctrl-C and Ctrl-D"),
    ),
}
HELP_COLUMN = 15
_SHORT = {"v": ("sort", "value"), "u": ("sort", "suit")}
# The longest words first: "reset statistics" is not "reset" with something after it.
_COMMANDS = sorted(
    ((word, command) for group in GROUPS.values() for command in group for word in command.words),
    key=lambda pair: -len(pair[0]),
)


def parse_command(text: str) -> tuple[str, str]:
    """A command's name and what follows it; a card or number alone is the command ``card``.

    Raises:
        GinError: if the text begins with no command, or something follows one that takes nothing.
    """
    text = " ".join(text.split())
    lowered = text.lower()
    if lowered in _SHORT:
        return _SHORT[lowered]
    if _BARE.fullmatch(text):
        return "card", text
    if quick := _QUICK.fullmatch(text):
        return {"d": "discard", "k": "knock", "l": "lay off"}[quick[1].lower()], quick[2]
    for word, command in _COMMANDS:
        if f"{lowered} ".startswith(f"{word} "):
            rest = text[len(word) + 1 :]
            if rest and not command.argument:
                raise GinError(f"{word!r} takes nothing after it, got {rest!r}; type help for all commands")
            return command.words[0], rest
    first = lowered.split(" ")[0]
    near = did_you_mean(first, [word for word, _ in _COMMANDS if len(word) > 1])
    raise GinError(f"there is no command {first!r}{near}; type help for all of them")


def read_card(text: str, order: list[int]) -> int:
    """The card with a name, or with a number in a hand.

    Raises:
        GinError: if there is no such card.
    """
    if not text:
        raise GinError("which card? give its name, as in 7C, or its number")
    return card_at(order, int(text)) if text.isdecimal() else parse_card(text)


def read_move(turn: Turn, name: str, rest: str, order: list[int]) -> tuple[str, int] | None:
    """What ``Turn.action`` takes for a command, or None if the command is no move.

    Args:
        turn: the turn.
        name: of the command, as ``parse_command`` gives it.
        rest: what follows it.
        order: the person's cards from left to right.

    Raises:
        GinError: if it names no card of the deck, or no place of the hand.
    """
    if name == "card":
        name = {"layoff": "lay off", "spread": "spread"}.get(turn.phase, "discard")
    if name in ("take", "stock", "pass", "done", "gin"):
        return name, 0
    if name == "spread":
        return name, int(rest) if rest.isdecimal() else 0
    return (name, read_card(rest, order)) if name in ("lay off", "discard", "knock") else None


def _usage(command: Command) -> str:
    key = next((f"({word})" for word in command.words[1:] if len(word) == 1), "")
    return " ".join(filter(None, (command.words[0], command.argument, key)))


def help_lines(about: str = "") -> list[str]:
    """What can be typed, a line for each subject, continued at column ``HELP_COLUMN``; or each command of one subject explained.

    Args:
        about: a subject, or a command of it; all subjects when left out.

    Raises:
        GinError: if there is no such subject or command.
    """
    if not about:
        lines = [f"{title:<{HELP_COLUMN}}{', '.join(map(_usage, group))}" for title, group in GROUPS.items()]
        return [*lines, "'help SUBJECT' or 'help COMMAND' explains, as in: help knock"]
    for title, group in GROUPS.items():
        if about.lower() in (title.lower(), *(word for command in group for word in command.words)):
            return [f"{_usage(command)}: {command.about}" for command in group]
    raise GinError(unknown_name("subject or command", about, [title.lower() for title in GROUPS]))
