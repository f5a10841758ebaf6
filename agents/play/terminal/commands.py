"""What can be typed at the table: words, short keys, and the help about them."""

from __future__ import annotations

import re
from typing import NamedTuple

from ginenv.errors import GinError, did_you_mean

_QUICK = re.compile(r"([dkl])\s*((?:10|[2-9atjqk])[schd♠♣♦♥]|\d{1,2})", re.IGNORECASE)
_BARE = re.compile(r"(?:10|[2-9atjqk])[schd♠♣♦♥]|\d{1,2}", re.IGNORECASE)


class Command(NamedTuple):
    """One command.

    Attributes:
        words: what can be typed for it; the first is its name, which help shows, and keys come last.
        argument: what may follow it, in words; empty where nothing may.
        about: one line of help.
    """

    words: tuple[str, ...]
    argument: str
    about: str

    @property
    def name(self) -> str:
        """What the program calls it."""
        return self.words[0]


def _command(words: str, argument: str, about: str) -> Command:
    return Command(tuple(words.split(", ")), argument, about)


PLAYING = (
    _command("take, take upcard, upcard, t", "", "take the upcard"),
    _command("stock, draw stock, draw from the stock, draw, s", "", "draw from the stock"),
    _command("pass, p", "", "refuse the upcard; when the stock is used up, end the hand in a draw"),
    _command("discard, d", "CARD", "discard a card: its name (7C, 10d, Q♥) or its number; the card alone will do"),
    _command("knock, k", "CARD", "knock, discarding that card"),
    _command("gin", "", "go gin, when you can"),
    _command("play to gin, g", "", "do not offer to knock in this hand; typed again: offer it"),
    _command("spread", "N", "spread your melds as arrangement N"),
    _command("lay off, layoff, l", "CARD", "lay off a card on the knocker's melds"),
    _command("done, n", "", "end your lay-offs"),
)
LOOKING = (
    _command("hint, h", "", "what the built-in formulas would draw, discard or lay off"),
    _command("show, table, w", "", "show the table again; so does Enter"),
    _command("sort", "value|suit [descending]", "sort your hand; v: by value, u: by suit"),
    _command("move, m", "CARD PLACE", "put a card at another place in your hand"),
    _command("score, sheet, score sheet, c", "", "the score sheet"),
    _command("next, next hand", "", "deal the next hand; so does Enter"),
)
SESSION = (
    _command("new, new game, play", "", "begin a game with the rules and the opponent you have chosen"),
    _command("resume, r", "", "go on with your unfinished game"),
    _command("menu", "", "leave the table for the menu; the game is kept"),
    _command("rules", "[PRESET[,RULE=VALUE,...]]", "choose the rules, or list them"),
    _command("rule", "[NAME VALUE]", "change one rule, or list them all"),
    _command("opponent", "[NAME]", "choose your opponent, or list them"),
    _command("options, o", "", "your options"),
    _command("set", "OPTION VALUE", "change an option"),
    _command("statistics, stats", "", "your statistics by variation and opponent"),
    _command("reset statistics, reset stats", "[WHICH]", "reset all statistics, or a variation's or opponent's"),
    _command("players", "", "list the players"),
    _command("player, switch", "NAME", "switch to another player"),
    _command("create", "NAME", "create a player and switch to it"),
    _command("remove", "NAME", "remove a player with statistics and records"),
    _command("records", "", "list your records"),
    _command("replay", "[FILE or NUMBER]", "step through a record; the last one when left out"),
    _command("learned, what did you learn", "[LEVEL]", "what a level has learned about you"),
    _command("reset", "LEVEL", "reset a level to how it was installed"),
    _command("help, ?", "", "this help"),
    _command("quit, exit, q", "", "save and leave; so do Ctrl-C and Ctrl-D"),
)
HELP_COLUMN = 36
GROUPS = (("The play", PLAYING), ("Your hand", LOOKING), ("The session", SESSION))
_SHORT = {"v": ("sort", "value"), "u": ("sort", "suit")}
# The longest words first: "reset statistics" is not "reset" with something after it.
_SPELLED = sorted(
    ((word, command) for _, group in GROUPS for command in group for word in command.words),
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
    for word, command in _SPELLED:
        if f"{lowered} ".startswith(f"{word} "):
            rest = text[len(word) + 1 :]
            if rest and not command.argument:
                raise GinError(f"{word!r} takes nothing after it, got {rest!r}; type help for all commands")
            return command.name, rest
    first = lowered.split(" ")[0]
    near = did_you_mean(first, [word for word, _ in _SPELLED if len(word) > 1])
    raise GinError(f"there is no command {first!r}{near}; type help for all of them")


def help_lines() -> list[str]:
    """Every command with its words, keys and meaning, which begins at column ``HELP_COLUMN``."""
    lines = []
    for title, group in GROUPS:
        lines += ["", title]
        for command in group:
            key = next((f"  ({word})" for word in command.words[1:] if len(word) == 1), "")
            usage = f"{command.name} {command.argument}".strip() + key
            lines.append(f"  {usage:<{HELP_COLUMN - 2}}{command.about}")
    return lines[1:]
