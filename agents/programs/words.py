"""The line protocol in words, for players that read: the rules, a question, and what has happened before it.

A question holds everything that a player without a memory needs, so nothing else is said here, and no hint is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ginenv.engine.rules import Rules

GAME = """\
Gin rummy. Cards are rank (A23456789TJQK) and suit (SCDH). Melds are three or four cards of a rank, or three or more of a suit in
sequence (ace low); no card counts in two. Other cards are deadwood: A 1 point, T J Q K 10, others their number. In a turn take the
upcard or draw from the stock, then discard. With little deadwood left you may knock with the discard, which ends the hand; with none it is
gin. The opponent lays off cards on the knocker's melds. The lower deadwood scores the difference; if it is not
the knocker's, that is an undercut."""

_PHASES = {
    "upcard": "You are offered the first upcard {upcard}: take it, or pass.",
    "draw": "Take the upcard {upcard}, or draw from the stock.",
    "discard": "Discard a card, or knock where that is legal.",
    "spread": "You knocked. Choose the melds that you lay out:",
    "layoff": "The opponent knocked. Lay off a card on its melds, or be done.",
    "wall": "Two cards are left in the stock: take the upcard {upcard} and knock, or pass, which ends the hand without points.",
}
_VERBS = {
    "pass": "{who} passed.",
    "draw": "{who} drew {card} from the stock.",
    "take": "{who} took {card}.",
    "discard": "{who} discarded {card}.",
    "knock": "{who} knocked with {card}.",
    "spread": "{who} laid out {melds}, and had the deadwood {deadwood}.",
    "lay off": "{who} laid off {cards}.",
    "done": "{who} laid off no more.",
    "shown": "{who} ended with {cards}, deadwood {deadwood}.",
}


_STOCK_ENDS = {
    "void": "With two cards left in the stock the hand is void.",
    "last-upcard": "With two cards left in the stock the upcard may be taken; a draw voids the hand.",
    "wall": "With two cards left in the stock the upcard may be taken for a knock alone.",
}
_SHUT_OUTS = {
    "double-hands": "doubles the winner's points of hands",
    "double-before-boxes": "doubles all other points",
    "double-after-boxes": "doubles the winner's points",
    "bonus": "gives the winner {} more",
}


def _play_words(rules: Rules) -> Iterator[str]:
    """A sentence for each rule of the play that applies."""
    usual = Rules()
    if (rules.ranks, rules.suits, rules.hand_size) != (usual.ranks, usual.suits, usual.hand_size):
        yield f"The deck has {rules.ranks} ranks, from the ace up, in {rules.suits} suits; each player gets {rules.hand_size} cards."
    if not rules.discard_taken_upcard:
        yield "You may not discard the upcard just taken."
    if rules.deal == "eleven-ten":
        no_knock = "" if rules.first_turn_knock else ", which is no knock"
        yield f"The starter gets a card more and discards first{no_knock}."
    if not rules.knock_limit:
        yield "Only gin ends a hand."
    elif rules.oklahoma:
        ace = "; an ace asks for gin" if rules.oklahoma_ace == "gin" else ""
        yield f"Knock with at most the first upcard's value, up to {rules.knock_limit}{ace}."
    else:
        yield f"Knock with at most {rules.knock_limit} points."
    if rules.gin == "automatic":
        yield "Gin ends the hand by itself."
    if rules.spread == "chosen":
        yield "The knocker chooses the melds to lay out."
    if rules.layoff == "by-hand":
        yield "You lay off card by card."
    if rules.layoff == "deadwood-only":
        yield "Who lays off fixes the own melds first."
    yield "Cards are laid off on gin too." if rules.layoff_on_gin else "Nothing is laid off on gin."
    yield _STOCK_ENDS[rules.stock_end]
    if rules.max_upcards < usual.max_upcards:
        yield f"The attempt to take {rules.max_upcards} upcards draws the hand."
    if rules.repeated_upcard_draw:
        yield "A hand is drawn when both take and discard the same upcard."


def _score_words(rules: Rules) -> Iterator[str]:
    """A sentence for each rule of the score that applies."""
    yield "Equal deadwood is an undercut." if rules.undercut_on_tie else "Equal deadwood scores nothing."
    bonuses = {
        "gin": rules.gin_bonus,
        "gin with eleven cards": rules.big_gin_bonus,
        "an undercut": rules.undercut_bonus,
        "another knock that wins": rules.knock_bonus,
    }
    if any(bonuses.values()):
        yield f"Added points: {', '.join(f'{points} for {what}' for what, points in bonuses.items() if points)}."
    if rules.spade_doubles:
        yield "A first upcard of spades doubles the hand."
    if not rules.target:
        return
    bonus = f" (then {rules.game_bonus} more)" if rules.game_bonus else ""
    yield f"The game: {rules.target} points{bonus}."
    if rules.box_bonus:
        yield f"Each hand won earns {rules.box_bonus} at its end."
        for what, boxes in (
            ("Gin", rules.gin_boxes),
            ("Gin with eleven cards", rules.big_gin_boxes),
            ("An undercut", rules.undercut_boxes),
        ):
            if boxes:
                yield f"{what} counts as {boxes} more hands."
    if rules.shutout != "none":
        yield f"A loser without a hand {_SHUT_OUTS[rules.shutout].format(rules.shutout_bonus)}."
    if rules.winner == "total":
        yield "The higher total wins."


def rules_words(rules: Rules) -> str:
    """The game, and a sentence for each rule that applies."""
    return f"{GAME}\n{' '.join([*_play_words(rules), *_score_words(rules)])}"


def _cards(cards: Iterable[str]) -> str:
    return " ".join(cards) or "nothing"


def _melds(melds: Iterable[Iterable[str]]) -> str:
    return ", ".join(map(_cards, melds)) or "no melds"


def _event_words(event: dict[str, Any]) -> str:
    """An event as a sentence."""
    if event["event"] == "deal":
        upcard = f"; the upcard is {event['upcard']}" if event["upcard"] else ""
        starts = "you start" if event["starts"] == "you" else "the opponent starts"
        return f"A new hand is dealt{upcard}; {starts}."
    if event["event"] == "hand over":
        winner = {"you": "you score", "opponent": "the opponent scores"}.get(event["winner"], "nobody scores")
        points = f" {event['points']}" if event["winner"] != "nobody" else ""
        return f"The hand is over ({event['end']}): {winner}{points}."
    values = dict(event)
    values["who"] = "You" if event["who"] == "you" else "The opponent"
    values["card"] = event.get("card") or "a card"
    for name, words in (("melds", _melds), ("cards", _cards)):
        if name in event:
            values[name] = words(event[name])
    if event["event"] == "spread":
        values["deadwood"] = _cards(event["deadwood"])
    return _VERBS[event["event"]].format(**values)


def _known(about: dict[str, list[str]], who: str, verb: str) -> str:
    took = f"{who} took {_cards(about['took'])}" + (f" and still {verb} {_cards(about['holds'])}" * bool(about["took"]))
    return f"{took}; refused {_cards(about['refused'])}; discarded {_cards(about['discarded'])}."


def _score(game: dict[str, Any]) -> str:
    own, other = game["score"]
    boxes = " (hands won: {} to {})".format(*game["boxes"]) if any(game["boxes"]) else ""
    return f"Score: you {own}, the opponent {other}{boxes}."


def question_words(game: dict[str, Any]) -> str:
    """A question (an entry of an ``act`` message that asks) in words.

    Args:
        game: the entry, as ``agents.programs.events.question`` writes it.
    """
    limit = f"at most {game['limit']} points of deadwood" if game["limit"] else "gin only"
    lines = [
        f"Your cards: {_cards(game['hand'])}.",
        f"Discard pile, from the bottom to the upcard: {_cards(game['pile'])}. Stock: {game['stock']} cards.",
        _known(game["opponent"], "The opponent", "holds"),
        _known(game["you"], "You", "hold"),
        f"Limit for a knock: {limit}.{' The points of this hand count twice.' if game['doubled'] else ''} {_score(game)}",
        _PHASES[game["phase"]].format(upcard=game["upcard"] or "(there is none)"),
    ]
    if game["phase"] == "layoff":
        lines.append(f"The knocker's melds: {_melds(game['melds'])}. Its deadwood: {_cards(game['deadwood'])}.")
    lines += [f"spread {number}: {_melds(each)}" for number, each in enumerate(game.get("arrangements", ()))]
    return "\n".join([*lines, f"Legal: {', '.join(game['legal'])}"])


def entry_words(game: dict[str, Any]) -> str:
    """What has happened, and the question if there is one."""
    news = " ".join(map(_event_words, game["events"]))
    return "\n".join(filter(None, [news, question_words(game) if "legal" in game else ""]))
