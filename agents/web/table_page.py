"""The page of the table, and the part of it that changes with every command: all from the person's view and what there is to say."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from agents.play.events import last_turns, remark
from agents.play.hand_order import in_suits, meld_names, melds_of_cards, melds_of_view, without_memory
from agents.web.pages import BACKS
from agents.web.request import Request
from agents.web.table import Table
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import card_name, cards_of, mask_of
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import points_of
from ginenv.view.wording import gin_name

# Hands that end in a way that is felt, and how the page calls that.
_FANFARES = {End.GIN: "Gin", End.BIG_GIN: "Big gin", End.UNDERCUT: "Undercut"}
# The commands whose button a hint means. While the person is asked whether to knock, a hint to discard means no.
_COMMANDS = {UPCARD: ("take",), STOCK: ("stock",), PASS: ("pass", "done")}
_KNOCKS, _DISCARDS = ("knock", "gin"), ("discard", "just discard")


def show(request: Request) -> Response:
    """The table, or the lobby if there is no game; an empty answer if the caller already shows the position."""
    table = _table(request)
    if not table.resume():
        return request.go("/")
    if request.invited:
        request.people.arrived.add(request.invited)
    if not request.htmx:
        return request.page("table.html", **_values(request))
    return Response(status_code=204) if request.query_params.get("at") == table.mark else _part(request)


def play(request: Request) -> Response:
    """Carries out a command and shows the table after it."""
    table, fields = _table(request), request.fields
    if not table.resume():
        return request.go("/")
    # A button that names no command is a card, a spread or a sort order.
    named = (("card", "card"), ("number", "spread"), ("by", "sort"))
    do = fields.get("do") or next((command for field, command in named if fields.get(field)), "")
    if do == "hand over":
        # Covers the table until somebody takes a seat, such as the person whose turn it is at this browser.
        request.session["next"] = table.session.theirs
        return request.go("/players")
    table.command(do, {**fields, "card": fields.get("card") or fields.get("picked", "")})
    if not table.session.is_playing:
        # An opponent that could not even start again has left the table; the lobby says why, and the game is kept.
        return request.go("/")
    return _part(request) if request.htmx else request.go(table.address)


def _table(request: Request) -> Table:
    """The table at this address: that of the game in play, or where a recorded hand is played on."""
    person = request.person
    return person.side_table if request.path == "/play-on" and person.side_table else person.table


def _part(request: Request) -> Response:
    values = _values(request)
    return request.part("table_part.html", **values, messages=request.person.take_messages())


def _values(request: Request) -> dict[str, Any]:
    person, people = request.person, request.people
    table = _table(request)
    table.catch_up()
    friend = table.session.friend
    # Two people who have no browsers of their own take turns at this one.
    turns = friend is not None and not any(map(people.is_away, (friend.file.name, person.name)))
    awaited = friend is not None and friend.file.name in people.links.keys() - people.arrived
    return table_values(table, turns, awaited)


def table_values(table: Table, turns: bool = False, awaited: bool = False) -> dict[str, Any]:
    """What the table's template shows, in which there is a game.

    Args:
        table: the person's table.
        turns: whether friends share the browser.
        awaited: whether the friend has yet to come by a link that can be shown.
    """
    session, options = table.session, table.session.options
    over = session.hand.is_over
    view = session.match.played[-1].view(session.seat)[0] if over else session.view
    turn, mine = session.turn, session.is_turn
    phase = "over" if over else turn.phase if mine else "waiting"
    seen, backs = view if options.memory else without_memory(view), len(session.match.played) * options.change_back
    shown = {
        "table": table,
        "session": session,
        "turn": turn,
        "options": options,
        "view": view,
        "turns": turns,
        "awaited": awaited,
        "phase": phase,
        "name": session.file.name,
        "sheet": session.match.sheet(),
        "steps": table.take_steps(),
        "back": BACKS[(BACKS.index(options.card_back) + backs) % len(BACKS)],
        "known_cards": in_suits(int(seen["known_cards"][1])),
        "hidden": max(int(seen["unseen"]).bit_count() - int(view["stock"]), 0),
        "pending_knock": "" if table.pending_knock is None else card_name(table.pending_knock),
        "deadwood": None,
    }
    if over:
        outcome = session.match.outcomes[-1]
        says = "" if session.friend else remark(outcome, session.seat)
        ends = "drawn" if outcome.winner is None else "scored" if outcome.winner == session.seat else "lost"
        return shown | {"ended": _ended(view), "ends": ends, "fanfare": _FANFARES.get(outcome.end, ""), "remark": says}
    melds, hint, best = melds_of_view(view) if options.mark_melds else [], table.hint, turn.best_knock()
    loose = mask_of(session.game.order) & ~mask_of(card for meld in melds for card in cards_of(meld))
    laid, others = int(view["laid"]), int(view["legal"][2]) if mine else 0
    spread = [int(meld) & ~laid for meld in view["spread"]]
    hints_at_card = hint is not None and hint[0] < STOCK and turn.phase != "spread"
    return shown | {
        "fits": cards_of(int(view["legal"][0])) if phase == "layoff" else [],
        "hand": table.places(),
        "melds": {card: name for meld, name in zip(melds, meld_names(melds), strict=True) for card in cards_of(meld)},
        "fresh": int(view["drawn"]) if view["drawn"] != NO_CARD else int(view["taken"]) if mine else NO_CARD,
        "hinted_card": hint[0] % KNOCK if hint is not None and hints_at_card else NO_CARD,
        "hinted": () if hint is None else _COMMANDS.get(hint[0], _KNOCKS if hint[0] >= KNOCK else _DISCARDS),
        "gin": gin_name(turn.view).capitalize() if best is not None and not turn.left(best - KNOCK) else "",
        "knocks": best is not None,
        "deadwood": int(points_of(loose)) if options.mark_melds else None,
        "turns_before": last_turns(view, session.theirs),
        "upcard": int(view["upcard"]) if view["upcard"] != NO_CARD else None,
        "takes": others >> (UPCARD - STOCK) & 1,
        "draws": others & 1,
        "below": [int(card) for card in view["pile"][: view["num_pile"]]][-2::-1],
        "refused": in_suits(int(view["refused"][1])),
        "spread": _groups(int(view["shown"]), spread, laid) if phase == "layoff" else [],
        "spreads": [_groups(turn.hand, way) for way in turn.spreads()] if phase == "spread" else [],
    }


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
