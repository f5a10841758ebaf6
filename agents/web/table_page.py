"""The page of the table, and the part of it that changes with every command: all from the person's view and what there is to say."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import Response

from agents.play.current_game import CurrentGame
from agents.play.hand_order import in_suits, meld_names, melds_of_cards, melds_of_view
from agents.play.moves import Turn, count, gin_name
from agents.play.options import Options, variation
from agents.web.request import Request
from agents.web.table import Table
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import card_name, cards_of, mask_of
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import points_of
from ginenv.pictures.card_art import BACKS

# Hands that end in a way that is felt, and how the page calls that.
_FANFARES = {End.GIN: "Gin", End.BIG_GIN: "Big gin", End.UNDERCUT: "Undercut"}
# Where the button of each command is, from 1 to 4: always in the same place. Those that are missing are in the third.
_PLACES = {"play to gin": 1, "gin later": 1, "take": 2, "knock": 2, "gin": 2, "done": 2, "keep": 4}


def show(request: Request) -> Response:
    """The table, or the lobby if there is no game; an empty answer if the caller already shows the position."""
    table = request.person.table
    if not table.resume():
        return request.go("/")
    if not request.htmx:
        return request.page("table.html", **_values(request))
    return Response(status_code=204) if request.query_params.get("at") == table.mark else _part(request)


def play(request: Request) -> Response:
    """Carries out a command and shows the table after it."""
    table, fields = request.person.table, request.fields
    if not table.resume():
        return request.go("/")
    # A button that names no command is a card, a spread or a sort order.
    named = (("card", "card"), ("number", "spread"), ("by", "sort"))
    do = fields.get("do") or next((command for field, command in named if fields.get(field)), "")
    if do == "hand over":
        # Covers the table until somebody takes a seat, such as the person whose turn it is at this browser.
        request.session["next"] = table.game.theirs
        return request.go("/players")
    table.command(do, {**fields, "card": fields.get("card") or fields.get("picked", "")})
    if table.session.game is None:
        # An opponent that could not even start again has left the table; the lobby says why, and the game is kept.
        return request.go("/")
    return _part(request) if request.htmx else request.go("/table")


def _part(request: Request) -> Response:
    values = _values(request)
    return request.part("table_part.html", **values, messages=request.person.take_messages())


def _values(request: Request) -> dict[str, Any]:
    person, people = request.person, request.people
    person.table.catch_up()
    friend = person.session.friend
    # Two people who have no browsers of their own take turns at this one.
    turns = friend is not None and not any(map(people.is_away, (friend.file.name, person.name)))
    return table_values(person.table, turns)


def table_values(table: Table, turns: bool = False) -> dict[str, Any]:
    """What the table's template shows, in which there is a game; ``turns`` says whether friends share the browser."""
    game, options = table.game, table.session.options
    over = game.hand.is_over
    view = game.match.played[-1].view(game.seat)[0] if over else game.view
    turn, mine = game.turn, not over and game.hand.turn == game.seat
    phase = "over" if over else turn.phase if mine else "waiting"
    known = in_suits(int(view["known_cards"][1]))
    shown = {
        "table": table,
        "game": game,
        "options": options,
        "view": view,
        "turns": turns,
        "phase": phase,
        "name": table.session.file.name,
        "rules": variation(game.match.rules),
        "sheet": game.match.sheet(),
        "steps": table.take_steps(),
        "back": _card_back(game, options),
        "pending_knock": "",
        "deadwood": "",
        "hand_number": len(game.match.played) + (not over),
        "known_cards": known if options.memory else [],
        "hidden": max(int(view["unseen"]).bit_count() - int(view["stock"]), 0) + len(known) * (not options.memory),
    }
    if over:
        return shown | {"ended": _ended(view), "fanfare": _FANFARES.get(game.match.outcomes[-1].end, "")}
    melds, hint = melds_of_view(view) if options.mark_melds else [], table.hint
    buttons = _buttons(table, turn) if mine else []
    hints_at_card = hint is not None and hint[0] < STOCK and turn.phase != "spread"
    laid, others = int(view["laid"]), int(view["legal"][2]) if mine else 0
    return shown | {
        "asks_for_card": phase in ("discard", "layoff"),
        "fits": cards_of(int(view["legal"][0])) if phase == "layoff" else [],
        "hand": [card if card is None else (card, _meld_of(card, melds)) for card in table.places()],
        "fresh": int(view["drawn"]) if view["drawn"] != NO_CARD else int(view["taken"]) if mine else NO_CARD,
        "hinted_card": hint[0] % KNOCK if hint is not None and hints_at_card else NO_CARD,
        "hinted": _hinted(buttons, hint),
        "pending_knock": "" if table.pending_knock is None else card_name(table.pending_knock),
        "deadwood": _deadwood(game.game.order, melds) if options.mark_melds else "",
        "upcard": int(view["upcard"]) if view["upcard"] != NO_CARD else None,
        "takes": others >> (UPCARD - STOCK) & 1,
        "draws": others & 1,
        "memory": _memory(view) if options.memory else [],
        "spread": _groups(int(view["shown"]), [int(meld) & ~laid for meld in view["spread"]], laid)
        if phase == "layoff"
        else [],
        "spreads": [_groups(turn.hand, way) for way in turn.spreads()] if phase == "spread" else [],
        "limit": _limit(view),
        "advice": _advice(table, turn) if mine else f"It is {game.theirs}’s turn.",
        "buttons": buttons,
    }


def _meld_of(card: int, melds: list[int]) -> str:
    """The name of the meld that a card belongs to; empty for deadwood."""
    return next((name for meld, name in zip(melds, meld_names(melds), strict=True) if meld >> card & 1), "")


def _groups(cards: int, melds: list[int], laid: int = 0) -> list[tuple[str, list[int]]]:
    """Melds, cards outside them and cards laid off, each with a name."""
    melds = [meld for meld in melds if meld]
    groups = [(name, in_suits(meld)) for meld, name in zip(melds, meld_names(melds), strict=True)]
    if loose := in_suits(cards & ~mask_of(card for meld in melds for card in cards_of(meld))):
        groups.append((f"deadwood {int(points_of(mask_of(loose)))}", loose))
    return [*groups, ("laid off", in_suits(laid))] if laid else groups


def _ended(view: Any) -> list[list[tuple[str, list[int]]]]:
    """The melds of both hands at the end of a knocked hand, the person's first; of a drawn hand the person's alone."""
    knocker, laid = int(view["knocker"]), int(view["laid"])
    hands = []
    for side, cards in enumerate((int(view["hand"]), int(view["shown"]))):
        melds = [int(meld) & ~laid for meld in view["spread"]] if side == knocker else melds_of_cards(cards & ~laid)
        hands.append(_groups(cards & ~laid, melds, laid if side == 1 - knocker else 0))
    return hands if knocker in (0, 1) else [hands[0], []]


class _Button(NamedTuple):
    """A command, the words on its button, and its key."""

    do: str
    words: str
    key: str

    @property
    def place(self) -> int:
        """Where it is."""
        return _PLACES.get(self.do, 3)


def _buttons(table: Table, turn: Turn) -> list[_Button]:
    """What can be done now."""
    if table.pending_knock is not None:
        left = turn.left(table.pending_knock)
        return [
            *([_Button("gin later", "No, play to gin", "g")] if left else []),
            _Button("knock", f"Knock with {count(left)}" if left else "Go gin", "y"),
            _Button("just discard", "No, just discard", "n"),
            _Button("keep", "Back", "Escape"),
        ]
    takes = []
    if int(turn.view["legal"][2]) >> (UPCARD - STOCK) & 1:
        takes = [_Button("take", f"Take the {card_name(int(turn.view['upcard']))}", "t")]
    return {
        "upcard": [*takes, _Button("pass", "Pass", "p")],
        "draw": [*takes, _Button("stock", "Draw from the stock", "s")],
        "wall": [*takes, _Button("pass", "Pass: the hand is drawn", "p")],
        "discard": _discard_buttons(turn),
        "layoff": [_Button("done", "Done", "n")],
        "spread": [],
    }[turn.phase]


def _discard_buttons(turn: Turn) -> list[_Button]:
    best, discard = turn.best_knock(), _Button("discard", "Discard", "d")
    stop = [_Button("play to gin", "Stop playing to gin", "g")] if turn.to_gin else []
    if best is None:
        return [*stop, discard]
    if not turn.left(best - KNOCK):
        return [*stop, _Button("gin", gin_name(turn.view).capitalize(), "i"), discard]
    return [*(stop or [_Button("play to gin", "Play to gin", "g"), _Button("knock", "Knock", "k")]), discard]


def _hinted(buttons: list[_Button], hint: tuple[int, str] | None) -> str:
    """The command whose button a hint means, if any."""
    if hint is None:
        return ""
    # While the person is asked whether to knock, a hint to discard means no.
    meant = ["knock", "gin"] if hint[0] >= KNOCK else ["discard", "just discard"]
    meant = {UPCARD: ["take"], STOCK: ["stock"], PASS: ["pass", "done"]}.get(hint[0], meant)
    commands = [button.do for button in buttons]
    return next((do for do in meant if do in commands), "")


def _memory(view: Any) -> list[tuple[str, list[int]]]:
    """What a good memory holds: the pile, and what both have taken and refused."""
    below = [int(card) for card in view["pile"][: view["num_pile"]]][-2::-1]
    return [
        ("below the upcard", below),
        ("taken by the opponent", in_suits(int(view["known_cards"][1]))),
        ("refused by the opponent", in_suits(int(view["refused"][1]))),
    ]


def _limit(view: Any) -> str:
    if view["rules"]["first_discard_limit"] and not view["num_history"]:
        words = "the limit is what is discarded first"
    else:
        words = f"limit {int(view['limit'])}" if view["limit"] else "gin only"
    return words + (", counts double" if view["doubled"] else "")


def _card_back(game: CurrentGame, options: Options) -> str:
    """The back of the cards: the player's choice, or another one for every hand."""
    hands = len(game.match.played) if options.change_back else 0
    return BACKS[(BACKS.index(options.card_back) + hands) % len(BACKS)]


def _deadwood(order: list[int], melds: list[int]) -> str:
    loose = [card for card in order if not any(meld >> card & 1 for meld in melds)]
    return f"deadwood {int(points_of(mask_of(loose)))}" if loose else "gin: no deadwood"


def _advice(table: Table, turn: Turn) -> str:
    card = table.pending_knock
    if card is None:
        return f"You can {turn.possible()}."
    return f"The {card_name(card)} leaves {count(turn.left(card))}: do you knock?"
