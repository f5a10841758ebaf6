"""One line of text for a position, like FEN for chess, and one for what a seat knows of it.

A position holds everything, including the whole stock, so a bug report is one line that can be replayed:

    gin1 rules=eaai@9d2f… starter=1 deck=7C8C…KD actions=pps4Dt7H hand_no=3 score=36:38 boxes=1:1 key=… luck=…:… check=5f0c2a11

``gin1`` is followed by ``name=value`` fields in any order; fields with their usual value are left out.

=========  ==============================================================================================================
rules      a preset, then the rules that differ as ``,field=value``, then ``@`` and their hash (the hash may be left out)
starter    seat that began the hand
deck       the cards in the order dealt: the starter's, the other seat's, the upcard (or the starter's 11th card), the stock
actions    every action in order, without separators: ``p`` pass or done, ``s`` draw the stock, ``t`` take the upcard, ``7C``
           discard, ``k7C`` knock, ``a03`` spread arrangement 3, ``+7C`` lay off. A knock above the limit that became a
           discard is written as a discard, or as a knock where it is the last action.
hand_no    hands dealt before this one in the game; score, boxes (hands won): both seats'; drawn_hands: hands drawn in a row
game       for a game that is over ``over:WINNER:TOTAL:TOTAL`` (``-`` when nobody won), else ``on:…``
key, luck  the game's key and the seats' luck, hexadecimal
check      at the end, CRC-32 of the line up to here, so that a damaged line is not read as another position; ``-`` in a line
           made by hand
=========  ==============================================================================================================

A view (``ginview1``) holds what one seat knows, and nothing that is hidden from it. ``rules``, ``seat``, ``starter`` and ``hand`` are
always there, the others where they have a value:

=========  ==============================================================================================================
rules      as above
seat       whose view it is
starter    seat that began the hand
up         the first upcard; always there unless the rules deal eleven cards to the starter
hand       the seat's cards now, laid-off ones too
drawn      the card that it drew from the stock in this turn; always there in such a turn
actions    as above
shown      the opponent's cards, laid-off ones too, if they are shown
declined   turns in which the seat could have knocked and did not; warned: 1 after a knock that became a discard
hand_no    hands dealt before this one in the game; score, boxes: its own first; drawn_hands: hands drawn in a row
luck       the decision's random word, hexadecimal; hand_luck: the hand's
check      as above
=========  ==============================================================================================================

A view is written for the seat to move, and at the end of the hand for both seats.

Reading replays every action. A position or view that cannot come up in play raises ``TextError`` with one sentence.
"""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np

from ginenv.engine.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_LAYOFF,
    PHASE_NAMES,
    PHASE_OVER,
    PHASE_SPREAD,
    STOCK,
    UPCARD,
)
from ginenv.engine.cards import card_name, format_cards, mask_of, parse_card, parse_cards
from ginenv.engine.engine import NO_CARD, NOBODY
from ginenv.engine.rules import PRESETS, Rules, get_rules
from ginenv.engine.state import as_batch
from ginenv.errors import GinError, TextError, must_be, quoted
from ginenv.hands.hand import Hand
from ginenv.view.history import M_FORCED_DRAW, M_LAY_OFF, M_SPREAD, read_moves
from ginenv.view.replay import Replay, SeatCards
from ginenv.view.view import VIEW

_CARD = "[A2-9TJQK][SCDH]"
_TOKEN = re.compile(rf"p|s|t|[k+]?{_CARD}|a\d\d")
_FIXED = {PASS: "p", STOCK: "s", UPCARD: "t"}
_FIXED_ACTIONS = {token: action for action, token in _FIXED.items()}
# Numbers and pairs of a game, by their names in a line, which are those in the record.
_GAME_NUMBERS = ("hand_no", "score", "boxes", "drawn_hands")
_KEYS = ("key", "luck")
_VIEW_NUMBERS = ("declined", "warned", *_GAME_NUMBERS, "luck", "hand_luck")


@cache
def rules_text(rules: Rules) -> str:
    """Rules as the nearest preset's name, the fields that differ, and the hash: ``eaai,target=150@0123456789ab``."""
    mine = dataclasses.asdict(rules).items()
    changes = {
        name: [each for each in mine if each not in dataclasses.asdict(preset).items()]
        for name, preset in PRESETS.items()
    }
    nearest = min(changes, key=lambda name: len(changes[name]))
    return (
        ",".join([nearest, *(f"{field}={str(value).lower()}" for field, value in changes[nearest])]) + f"@{rules.hash}"
    )


@lru_cache(maxsize=256)
def parse_rules(text: str) -> Rules:
    """Parses rules as ``rules_text`` writes them: ``PRESET,field=value,field=value@HASH``; the hash may be missing.

    Raises:
        RulesError: for an unknown preset or rule, or an invalid value.
        TextError: if the hash does not match.
    """
    body, separator, digest = text.partition("@")
    rules = get_rules(body)
    if separator and digest != rules.hash:
        raise TextError(f"the rules {quoted(body)} have the hash {rules.hash} in this version, not {quoted(digest)}")
    return rules


def _token(action: int, phase: int) -> str:
    if action in _FIXED:
        return _FIXED[action]
    if phase == PHASE_SPREAD:
        return f"a{action:02d}"
    if phase == PHASE_LAYOFF:
        return f"+{card_name(action)}"
    return f"k{card_name(action - KNOCK)}" if action >= KNOCK else card_name(action)


def _split_tokens(text: str) -> list[str]:
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        place = 0
        while place < len(text) and (match := _TOKEN.match(text, place)):
            place = match.end()
        raise TextError(f"actions cannot be read from {text[place : place + 8]!r} on")
    return tokens


def _action(token: str) -> int:
    if token in _FIXED_ACTIONS:
        return _FIXED_ACTIONS[token]
    if token[0] == "a":
        return int(token[1:])
    return parse_card(token[-2:]) + (KNOCK if token[0] == "k" else 0)


def _check_token(token: str, phase: int) -> None:
    """Checks that a token is of the kind that its phase asks for; discards, lay-offs and arrangements share numbers."""
    kind = token[0] if token[0] in "a+" else ""
    if token not in _FIXED_ACTIONS and kind != {PHASE_SPREAD: "a", PHASE_LAYOFF: "+"}.get(phase, ""):
        raise TextError(f"{token!r} cannot be played in the {PHASE_NAMES[phase]} phase")


def actions_text(hand: Hand) -> str:
    """Every action of a hand as compact text, in the form of the ``actions`` field."""
    tokens = _tokens(hand)
    if hand.state["warned"][0]:
        tokens[-1] = f"k{tokens[-1]}"
    return "".join(tokens)


def _tokens(hand: Hand) -> list[str]:
    """Every action as text; a knock above the limit as the discard that it became."""
    phases = hand.after(0).push_all(hand.history)
    return [_token(action, phase) for action, phase in zip(hand.history, phases, strict=True)]


def push_text(hand: Hand, text: str) -> None:
    """Plays the actions of a compact text.

    Raises:
        TextError: if one of them cannot be read; those before it may have been played.
        IllegalActionError: at the first that is not legal; those before it stay played.
    """
    tokens = _split_tokens(text)
    for token, phase in zip(tokens, hand.push_all([_action(token) for token in tokens]), strict=True):
        _check_token(token, phase)


class _Fields:
    """The fields of a line; each is taken once, and any left over at the end are unknown."""

    def __init__(self, text: str, version: str) -> None:
        if not isinstance(text, str) or not text.isascii():
            raise TextError("a line holds letters, digits and signs of ASCII alone")
        words = text.split()
        if not words or words[0] != version:
            raise TextError(f"expected a line that begins with {version!r}, got {quoted(words[0] if words else '')}")
        self.values: dict[str, str] = {}
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if not equals or not value:
                raise TextError(f"expected a field such as name=value, got {quoted(word)}")
            if name in self.values:
                raise TextError(f"field {quoted(name)} is given twice")
            self.values[name] = value
        if not words[-1].startswith("check="):
            raise TextError("the line does not end with its check field")
        if self.values.pop("check") not in ("-", _check(" ".join(words[:-1]))):
            raise TextError(
                "the line was changed: it does not agree with its check field (check=- for one made by hand)"
            )

    def take(self, name: str, default: str | None = None) -> str:
        value = self.values.pop(name, default)
        if value is None:
            raise TextError(f"field {name!r} is missing")
        return value

    def seat(self, name: str, default: str | None = None) -> int:
        return self._number(name, self.take(name, default), 1)

    def into(self, record: Any, name: str) -> None:
        """Takes numbers, 0 if they are missing, into a record's field of that name; the field's type limits their size."""
        dtype = record.dtype[name]
        most, base = int(np.iinfo(dtype.base).max), 16 if dtype.base == np.uint64 else 10
        size = dtype.itemsize // dtype.base.itemsize
        parts = self.take(name, _zeros(size)).split(":")
        if len(parts) != size:
            kind = "one number" if size == 1 else "a pair such as 36:38"
            raise TextError(must_be(f"field {name!r}", kind, ":".join(parts)))
        numbers = [self._number(name, part, most, base) for part in parts]
        record[name] = np.array(numbers, dtype.base).reshape(dtype.shape)

    def _number(self, name: str, text: str, most: int, base: int = 10) -> int:
        digits = "[0-9a-f]+" if base == 16 else "-?[0-9]+"
        if len(text) > 20 or not re.fullmatch(digits, text) or not 0 <= int(text, base) <= most:
            kind, limit = ("hexadecimal", f"{most:x}") if base == 16 else ("whole", most)
            raise TextError(must_be(f"field {name!r}", f"a {kind} number from 0 to {limit}", text))
        return int(text, base)

    def finish(self) -> None:
        if self.values:
            raise TextError(f"unknown field {quoted(next(iter(self.values)))}")


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _line(version: str, fields: list[tuple[str, str, str]]) -> str:
    """A line of (name, value, usual value) fields, without those that have their usual value, and with its check field."""
    body = " ".join([version] + [f"{name}={value}" for name, value, usual in fields if value != usual])
    return f"{body} check={_check(body)}"


def _game_text(state: np.void) -> str:
    winner = "-" if state["game_winner"] == NOBODY else str(state["game_winner"])
    return f"{'over' if state['game_over'] else 'on'}:{winner}:{state['total'][0]}:{state['total'][1]}"


def _numbers(record: Any, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Fields of a record as fields of a line; random words are hexadecimal."""
    lines = []
    for name in names:
        base = "x" if record[name].dtype == np.uint64 else "d"
        numbers = np.ravel(record[name])
        lines.append((name, ":".join(f"{int(number):{base}}" for number in numbers), _zeros(len(numbers))))
    return lines


def _zeros(size: int) -> str:
    return ":".join("0" * size)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turns every error of bad input into one ``TextError``."""
    try:
        yield
    except GinError as error:
        raise TextError(f"cannot read the {what}: {error}") from None


def format_position(hand: Hand | np.ndarray) -> str:
    """One line that holds a whole state, the game's fields included.

    Args:
        hand: a hand, or ``STATE[1]``.
    """
    hand = hand if isinstance(hand, Hand) else Hand(hand)
    return _line("gin1", _position_fields(hand, actions_text(hand), _game_text(hand.state[0])))


def format_positions(hand: Hand) -> list[str]:
    """The lines of a hand's positions before each of its actions, all at the same point of its game."""
    fields = _position_fields(hand, "", "on:-:0:0")
    place = [name for name, _, _ in fields].index("actions")
    tokens = _tokens(hand)
    lines = []
    for count in range(len(tokens)):
        fields[place] = ("actions", "".join(tokens[:count]), "")
        lines.append(_line("gin1", fields))
    return lines


def _position_fields(hand: Hand, actions: str, game: str) -> list[tuple[str, str, str]]:
    rules, state = hand.rules, cast(Any, hand.state[0])
    return [
        ("rules", rules_text(rules), ""),
        ("starter", str(state["starter"]), "0"),
        ("deck", format_cards(state["deck"][: rules.num_cards].tolist(), separator=""), ""),
        ("actions", actions, ""),
        *_numbers(state, _GAME_NUMBERS),
        ("game", game, "on:-:0:0"),
        *_numbers(state, _KEYS),
    ]


@_reading("position")
def parse_position(text: str) -> Hand:
    """Parses a line of ``format_position`` into its hand.

    Raises:
        TextError: if the line does not stand for a position that can come up in play.
    """
    fields = _Fields(text, "gin1")
    rules = parse_rules(fields.take("rules"))
    starter = fields.seat("starter", "0")
    hand = Hand.deal(rules, deck=fields.take("deck"), starter=starter, seed=0)
    push_text(hand, fields.take("actions", ""))
    state: Any = hand.state[0]
    for name in (*_GAME_NUMBERS, *_KEYS):
        fields.into(state, name)
    game = re.fullmatch(r"(over|on):([01-]):(-?\d{1,9}):(-?\d{1,9})", fields.take("game", "on:-:0:0"))
    if game is None:
        raise TextError("field 'game' must be written over:WINNER:TOTAL:TOTAL")
    state["game_over"] = game[1] == "over"
    state["game_winner"] = NOBODY if game[2] == "-" else int(game[2])
    state["total"] = (int(game[3]), int(game[4]))
    fields.finish()
    return hand


# ---------------------------------------------------------------- views


def format_view(view: np.ndarray) -> str:
    """One line for what a seat knows, made from its view alone.

    Args:
        view: ``VIEW[1]`` of a seat that is to move, or at the end of a hand.

    Raises:
        TextError: for the view of a seat that waits, since it does not show what the opponent is about to do.
        GinError: if it is no ``VIEW[1]``.
    """
    view = as_batch(view, VIEW, "VIEW", 1)
    v: Any = view[0]
    if not v["to_move"] and v["phase"] != PHASE_OVER:
        raise TextError("a view is written for the seat to move, or at the end of a hand")
    seat = int(v["seat"])
    laid = int(v["laid"])
    # The defender is the seat that did not knock; the cards laid off came out of its hand.
    mine = int(v["hand"]) | (laid if v["knocker"] == 1 else 0)
    shown = int(v["shown"]) | (laid if v["knocker"] == 0 else 0)
    return _line(
        "ginview1",
        [
            ("rules", rules_text(Rules.from_block(v["rules"])), ""),
            ("seat", str(seat), ""),
            ("starter", str(seat if v["started"] else 1 - seat), ""),
            ("up", "" if v["first_upcard"] == NO_CARD else card_name(int(v["first_upcard"])), ""),
            ("hand", format_cards(mine, separator=""), ""),
            ("drawn", "" if v["drawn"] == NO_CARD else card_name(int(v["drawn"])), ""),
            ("actions", "".join(_tokens_of(view)), ""),
            ("shown", format_cards(shown, separator=""), ""),
            *_numbers(v, _VIEW_NUMBERS),
        ],
    )


def _tokens_of(view: np.ndarray) -> Iterator[str]:
    phases = {M_SPREAD: PHASE_SPREAD, M_LAY_OFF: PHASE_LAYOFF}
    public = [move for move in read_moves(view)[0] if move.kind != M_FORCED_DRAW]
    for move, action in zip(public, view["history"][0].tolist(), strict=False):
        yield _token(action, phases.get(move.kind, PHASE_DISCARD))


@_reading("view")
def parse_view(text: str) -> np.ndarray:
    """Parses a line of ``format_view`` into its view, ``VIEW[1]``.

    Raises:
        TextError: if the line does not stand for a view that can come up in play.
    """
    fields = _Fields(text, "ginview1")
    rules = parse_rules(fields.take("rules"))
    seat = fields.seat("seat")
    starter = fields.seat("starter")
    upcard = NO_CARD if rules.block["eleven_ten"] else parse_card(fields.take("up"))
    drawn = fields.take("drawn", "")
    seat_cards = SeatCards(
        seat,
        mask_of(parse_cards(fields.take("hand"))),
        mask_of(parse_cards(fields.take("shown", ""))),
        parse_card(drawn) if drawn else NO_CARD,
    )
    replay = Replay(rules, starter, upcard, seat_cards)
    for token in _split_tokens(fields.take("actions", "")):
        _check_token(token, replay.phase)
        replay.push(_action(token), token)
    view = replay.view()
    v: Any = view[0]
    for name in _VIEW_NUMBERS:
        fields.into(v, name)
    if v["warned"] > 1:
        raise TextError(must_be("field 'warned'", "a whole number from 0 to 1", str(v["warned"])))
    fields.finish()
    return view
