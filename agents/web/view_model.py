"""What the page of the table shows, as plain values for its template, all from the person's view and the messages to show."""

from __future__ import annotations

from typing import Any

from agents.play.current_game import CurrentGame
from agents.play.hand_order import in_suits, meld_names, melds_of_cards, melds_of_view
from agents.play.moves import Turn, count, gin_name
from agents.play.options import variation
from agents.web.browser_session import BrowserSession
from agents.web.pages import card_words
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import card_name, cards_of, mask_of
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import points_of
from ginenv.pictures.card_art import BACKS


def _cards(
    order: list[int | None], melds: list[int], fresh: int = NO_CARD, hinted: int = NO_CARD
) -> list[dict[str, Any] | None]:
    """Cards in the order in which they lie, each with the meld that it belongs to, and None for an empty place."""
    kinds = {card: name for meld, name in zip(melds, meld_names(melds), strict=True) for card in cards_of(meld)}
    shown: list[dict[str, Any] | None] = []
    for place, card in enumerate(order, 1):
        if card is None:
            shown.append(None)
            continue
        kind = kinds.get(card, "")
        words = [card_words(card), f"in {kind}" * bool(kind), "new" * (card == fresh), "hinted at" * (card == hinted)]
        shown.append(
            {
                "card": card,
                "name": card_name(card),
                "place": place,
                "kind": kind,
                "fresh": card == fresh,
                "hinted": card == hinted,
                "label": ", ".join(word for word in words if word),
            }
        )
    return shown


def _groups(cards: int, melds: list[int], laid: int = 0) -> list[dict[str, Any]]:
    """Melds, cards outside them and cards laid off, each with a name."""
    melds = [meld for meld in melds if meld]
    groups = [{"name": name, "cards": in_suits(meld)} for meld, name in zip(melds, meld_names(melds), strict=True)]
    if loose := in_suits(cards & ~mask_of(card for meld in melds for card in cards_of(meld))):
        groups.append({"name": f"deadwood {int(points_of(mask_of(loose)))}", "cards": loose})
    if laid:
        groups.append({"name": "laid off", "cards": in_suits(laid)})
    return groups


def _ended(view: Any) -> list[list[dict[str, Any]]]:
    """The melds of both hands at the end of a knocked hand, the person's first; of a drawn hand the person's alone."""
    knocker, laid = int(view["knocker"]), int(view["laid"])
    hands = []
    for side, cards in enumerate((int(view["hand"]), int(view["shown"]))):
        melds = [int(meld) & ~laid for meld in view["spread"]] if side == knocker else melds_of_cards(cards & ~laid)
        hands.append(_groups(cards & ~laid, melds, laid if side == 1 - knocker else 0))
    return hands if knocker in (0, 1) else [hands[0], []]


# Hands that end in a way that is felt, and how the page calls that.
_FANFARES = {End.GIN: "Gin", End.BIG_GIN: "Big gin", End.UNDERCUT: "Undercut"}


def _fanfare(live: CurrentGame) -> dict[str, Any]:
    """The word that stands across the table at the end of a hand, if any, and whether the person is the winner."""
    outcome = live.match.outcomes[-1]
    won = live.match.is_over and live.match.winner == live.seat
    return {"word": _FANFARES.get(outcome.end, ""), "mine": outcome.winner == live.seat, "won": won}


# Where the button of each command is, from 1 to 4: always in the same place.
_PLACES = {"play to gin": 1, "gin later": 1, "take": 2, "knock": 2, "gin": 2, "done": 2, "keep": 4}


def _button(do: str, words: str, key: str) -> dict[str, Any]:
    return {"do": do, "words": words, "key": key, "place": _PLACES.get(do, 3)}


def _buttons(browser: BrowserSession, turn: Turn) -> list[dict[str, Any]]:
    """What can be done now: the command, its words, its key, and its place."""
    if browser.pending_knock is not None:
        left = turn.left(browser.pending_knock)
        return [
            *([_button("gin later", "No, play to gin", "g")] if left else []),
            _button("knock", f"Knock with {count(left)}" if left else "Go gin", "y"),
            _button("just discard", "No, just discard", "n"),
            _button("keep", "Back", "Escape"),
        ]
    take = _button(
        "take", f"Take the {card_name(int(turn.view['upcard']))}" if turn.view["upcard"] != NO_CARD else "", "t"
    )
    takes = [take] if int(turn.view["legal"][2]) >> (UPCARD - STOCK) & 1 else []
    return {
        "upcard": [*takes, _button("pass", "Pass", "p")],
        "draw": [*takes, _button("stock", "Draw from the stock", "s")],
        "wall": [*takes, _button("pass", "Pass: the hand is drawn", "p")],
        "discard": _discard_buttons(turn),
        "layoff": [_button("done", "Done", "n")],
        "spread": [],
    }[turn.phase]


def _discard_buttons(turn: Turn) -> list[dict[str, Any]]:
    best, discard = turn.best_knock(), _button("discard", "Discard", "d")
    stop = [_button("play to gin", "Stop playing to gin", "g")] if turn.to_gin else []
    if best is None:
        return [*stop, discard]
    if not turn.left(best - KNOCK):
        return [*stop, _button("gin", gin_name(turn.view).capitalize(), "i"), discard]
    return [*(stop or [_button("play to gin", "Play to gin", "g"), _button("knock", "Knock", "k")]), discard]


def _hinted(buttons: list[dict[str, Any]], hint: tuple[int, str] | None) -> str:
    """The command whose button a hint means, if any."""
    if hint is None:
        return ""
    action, commands = hint[0], [button["do"] for button in buttons]
    if action >= STOCK:
        meant = {UPCARD: ["take"], STOCK: ["stock"], PASS: ["pass", "done"]}[action]
    else:
        # While the person is asked whether to knock, a hint to discard means no.
        meant = ["knock", "gin"] if action >= KNOCK else ["discard", "just discard"]
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


def _card_back(browser: BrowserSession) -> str:
    """The back of the cards: the player's choice, or another one for every hand."""
    options = browser.session.options
    if not options.change_back or browser.session.game is None:
        return options.card_back
    return BACKS[(BACKS.index(options.card_back) + len(browser.live.match.played)) % len(BACKS)]


def table_values(browser: BrowserSession) -> dict[str, Any]:
    """Everything that the table's template shows; there has to be a game (``seat.enter``)."""
    live, options = browser.live, browser.session.options
    over = live.hand.is_over
    view = live.match.played[-1].view(live.seat)[0] if over else live.view
    turn = live.turn
    mine = not over and live.hand.turn == live.seat
    new = int(view["drawn"]) if view["drawn"] != NO_CARD else int(view["taken"]) if mine else NO_CARD
    names_card = browser.hint is not None and browser.hint[0] < STOCK and turn.phase != "spread"
    hinted = browser.hint[0] % KNOCK if browser.hint is not None and names_card else NO_CARD
    melds = melds_of_view(view) if not over else []
    phase = "over" if over else turn.phase if mine else "waiting"
    opponent_cards = int(view["unseen"]).bit_count() - int(view["stock"])
    known_cards = in_suits(int(view["known_cards"][1])) if options.memory else []
    asks_for_card = mine and phase in ("discard", "layoff")
    buttons = _buttons(browser, turn) if mine else []
    status = f"You can {turn.possible()}." if mine else f"It is {live.theirs}’s turn."
    if browser.pending_knock is not None:
        status = (
            f"The {card_name(browser.pending_knock)} leaves {count(turn.left(browser.pending_knock))}: do you knock?"
        )
    return {
        "mark": browser.mark,
        "names": live.names,
        "name": browser.name,
        "theirs": live.theirs,
        "score": (live.match.score[live.seat], live.match.score[1 - live.seat]),
        "friend": live.friend is not None,
        "hand_number": len(live.match.played) + (not over),
        "rules": variation(live.match.rules),
        "target": live.match.rules.target,
        "phase": phase,
        "asks_for_card": asks_for_card,
        "fits": mask_of(cards_of(int(view["legal"][0]))) if phase == "layoff" else 0,
        "slots": live.match.rules.hand_size + 1,
        "motion": options.animations,
        "four_colours": options.four_colours,
        "steps": browser.take_steps(),
        "hand": _cards(browser.places(), melds if options.mark_melds else [], new, hinted) if not over else [],
        "deadwood": _deadwood(live, melds) if options.mark_melds and not over else "",
        "upcard": int(view["upcard"]) if view["upcard"] != NO_CARD else None,
        "stock": int(view["stock"]),
        "takes": mine and bool(int(view["legal"][2]) >> (UPCARD - STOCK) & 1),
        "draws": mine and bool(int(view["legal"][2]) & 1),
        "memory": _memory(view) if options.memory else [],
        "known_cards": known_cards,
        "hidden": max(opponent_cards, 0) + (0 if options.memory else int(view["known_cards"][1]).bit_count()),
        "spread": _groups(int(view["shown"]), [int(m) & ~int(view["laid"]) for m in view["spread"]], int(view["laid"]))
        if phase == "layoff"
        else [],
        "spreads": [_groups(turn.hand, way) for way in turn.spreads()] if phase == "spread" else [],
        "ended": _ended(view) if over else [],
        "fanfare": _fanfare(live) if over else None,
        "outcome": live.match.outcomes[-1].describe(live.names) if over else "",
        "verdict": live.verdict,
        "sheet": live.match.sheet(),
        "limit": _limit(view),
        "last_taken": live.last_taken,
        "status": status,
        "buttons": buttons,
        "hinted": _hinted(buttons, browser.hint),
        "pending_knock": card_name(browser.pending_knock) if browser.pending_knock is not None else "",
        "events": browser.events,
        "hint": browser.hint[1] if browser.hint is not None else "",
        "trouble": browser.trouble,
        "to_gin": live.game.play_to_gin,
        "back": _card_back(browser),
        "sorting": live.sorting,
    }


def _deadwood(live: CurrentGame, melds: list[int]) -> str:
    loose = [card for card in live.game.order if not any(meld >> card & 1 for meld in melds)]
    return f"deadwood {int(points_of(mask_of(loose)))}" if loose else "gin: no deadwood"
