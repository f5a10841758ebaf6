"""The line protocol in words, for players that read: the rules, a question, and what has happened before it.

A question holds everything that a player without a memory needs, so nothing else is said here, and no hint is given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ginenv.engine.rule_texts import RULE_TEXTS
from ginenv.engine.rules import Rules, get_rules

GAME = """\
Gin rummy. Cards are rank (A23456789TJQK) and suit (SCDH). Melds are three or four cards of a rank, or three or more of a suit in
sequence (ace low); no card counts in two. Other cards are deadwood: A 1 point, T J Q K 10, others their number. In a turn take the
upcard or draw from the stock, then discard. With little deadwood left you may knock with the discard, which ends the hand; with none it is
gin. The opponent lays off cards on the knocker's melds. The lower deadwood scores the difference; if it is not
the knocker's, that is an undercut."""

# Rules that everybody should know before the first move.
_MAIN = "discard_taken_upcard knock_limit layoff_on_gin undercut_on_tie gin_bonus undercut_bonus target".split()
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


def rules_words(rules: Rules) -> str:
    """The game, and what its rules are: those that decide most hands, and any others that differ from the 2021 challenge's."""
    values, usual = dataclasses.asdict(rules), dataclasses.asdict(get_rules("eaai"))
    lines = [GAME, "Rules:"]
    for name, value in values.items():
        if name in _MAIN or value != usual[name]:
            word = ("no", "yes")[value] if isinstance(value, bool) else value
            lines.append(f"{name} {word} ({RULE_TEXTS[name]})")
    return "\n".join(lines)


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
