"""Small arranged scenes, each of which shows one rule: a probe plays it under some rules and says what happened."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import format_cards, parse_card, parse_cards
from ginenv.engine.engine import NOBODY, STATE, End
from ginenv.engine.game import next_starter
from ginenv.engine.jit import kernel
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import PRESETS, Rules
from ginenv.errors import IllegalActionError
from ginenv.hands.hand import Hand, Match

GR = PRESETS["gr"]
# The presets, and options that the sources name beside them.
SOURCES: dict[str, Rules] = {
    **PRESETS,
    "dg-eleven": PRESETS["dg-standard"].replace(deal="eleven-ten"),
    "dg-eleven-oklahoma": PRESETS["dg-oklahoma"].replace(deal="eleven-ten"),
    "gr-eleven": GR.replace(deal="eleven-ten"),
    "gr-eleven-oklahoma": PRESETS["gr-oklahoma"].replace(deal="eleven-ten", eleven_ten_oklahoma="first-discard"),
    "gr-human-starts": GR.replace(first_upcard="either", first_starter="seat0", next_starter="seat0"),
    "gr-gin-only-oklahoma": PRESETS["gr-oklahoma"].replace(knock_limit=0),
    "gr-ace-one": PRESETS["gr-oklahoma"].replace(oklahoma_ace="one"),
    "ht1-elder": PRESETS["ht1"].replace(deal="eleven-ten"),
    "gc-chosen": PRESETS["gc"].replace(spread="chosen"),
}

MELDED = "AS 2S 3S 7H 8H 9H JC JD JH"  # nine cards in three melds, the tenth is the deadwood
LOOSE = "2C 4C 6C 8C TC 3D 5D 9D QD KS"  # ten cards without a meld, and nothing to lay off on MELDED


@kernel
def _next_starter(states):
    return next_starter(states[0])


def arranged(rules: Rules, first: str, second: str, turned: str, stock: str, starter: int = 0) -> Hand:
    """A hand with given cards for starter and other, turned card and top of the stock; the rest in order."""
    cards = [parse_cards(part) for part in (first, second, turned, stock)]
    used = [card for part in cards for card in part]
    assert len(set(used)) == len(used)
    return Hand.deal(rules, deck=used + [card for card in range(52) if card not in used], starter=starter)


def to_second_turn(hand: Hand) -> None:
    """The starter draws and throws what it drew (or its eleventh card); the other draws the stock."""
    eleventh = hand.phase == "discard"
    while hand.phase == "upcard":
        hand.push(PASS)
    if not eleventh and hand.phase == "draw":
        hand.push(STOCK)
    state = hand.state[0]
    hand.push(int(state["deck"][20]) if eleventh else int(state["drawn"]))
    hand.push(STOCK)


def knocked(rules: Rules, knocker: str, defender: str, turned: str = "7C", action: str = "knock KH") -> Hand:
    """A hand in which the second seat knocks with ten cards, throwing KH."""
    stock = "KH KC" if rules.deals_eleven else "KC KH"
    hand = arranged(rules, defender, knocker, turned, stock)
    to_second_turn(hand)
    hand.push(action)
    return hand


def at_ten(rules: Rules) -> Rules:
    """The rules, with a knock limit of ten where knocks would be rare."""
    return rules.replace(knock_limit=10, oklahoma=False) if rules.knock_limit == 0 or rules.oklahoma else rules


def finish(hand: Hand) -> Outcome:
    """Takes the first arrangement, and lays nothing off by hand."""
    while not hand.is_over:
        hand.push("done" if hand.phase == "layoff" else 0)
    outcome = hand.outcome
    assert outcome is not None
    return outcome


def deal(rules: Rules) -> Any:
    hand = arranged(rules, MELDED + " KC", LOOSE, "7C", "QS")
    counts = [int(mask).bit_count() for mask in hand.state["hands"][0]]
    return counts, int(hand.state["num_pile"][0]), hand.phase, rules.num_cards


def first_upcard(rules: Rules) -> Any:
    hand = arranged(rules, MELDED + " KC", LOOSE, "7C", "QS QH")
    if hand.phase == "discard":
        return "none"
    if hand.phase == "draw":
        return "no offer", [hand.action_text(action) for action in hand.legal_actions()]
    hand.push(PASS)
    second = hand.turn, hand.phase
    hand.push(PASS)
    # The starter must draw the stock.
    return "offer", second, hand.turn, hand.phase, format_cards([int(hand.state["drawn"][0])])


def first_turn_knock(rules: Rules) -> Any:
    if not rules.deals_eleven:
        return "draws first"
    hand = arranged(rules, MELDED + " 4S", LOOSE, "KH", "QS")
    return any(KNOCK <= action < STOCK for action in hand.legal_actions())


def first_starter_hand(rules: Rules) -> Any:
    return {Match(rules, seed=seed).hand.turn for seed in range(12)}


def next_starter_hand(rules: Rules) -> Any:
    """The next starter after seat 0 began: when it won, when it lost, when the hand was drawn, when it was worth nothing."""
    states = np.zeros(1, STATE)
    states["rules"] = rules.block
    found = []
    for starter in (0, 1):
        for winner, points in ((0, 30), (1, 30), (NOBODY, 0), (1 - starter, 0)):
            states["starter"], states["winner"], states["points"] = starter, winner, points
            found.append(int(_next_starter(states)))
    return found


def discard_taken(rules: Rules) -> Any:
    hand = arranged(rules, LOOSE, MELDED + " KC", "7C", "QS QH")
    if rules.deals_eleven:
        hand.push("discard 7C")
    hand.push("take")
    return parse_card("7C") in hand.legal_actions()


def knock_limit(rules: Rules) -> Any:
    """The most deadwood to knock with, for an ace, a seven and a king turned (or thrown first)."""
    found = []
    for turned in ("AC", "7C", "KD"):
        allowed = []
        for loose in ("4S", "AD", "2D", "3D", "4D", "5D", "6D", "7D", "8D", "9D", "TD"):
            first = "2C 4C 6C 8C TC 3C 5C 9C QD KS"
            hand = arranged(rules, first, f"{MELDED} {loose}", turned, "KH KC" if rules.deals_eleven else "KC KH")
            to_second_turn(hand)
            if parse_card("KH") + KNOCK in hand.legal_actions():
                allowed.append(0 if loose == "4S" else min(10, parse_card(loose) % 13 + 1))
        found.append(max(allowed))
    return found


def first_discard_limit(rules: Rules) -> Any:
    """With which first discards an eleven/ten starter with deadwood 5 may knock: a king, or a three."""
    if not rules.deals_eleven or not rules.first_turn_knock:
        return "none"
    found = []
    for thrown in ("KD", "3C"):
        hand = arranged(rules, f"{MELDED} 5D", LOOSE.replace("5D", "4D"), thrown, "QS")
        found.append(KNOCK + parse_card(thrown) in hand.legal_actions())
    return found


def spade(rules: Rules) -> Any:
    """Points of one gin with a club turned and with a spade turned."""
    club, turned = (finish(knocked(rules, f"{MELDED} 4S", LOOSE, turned)).points for turned in ("7C", "7S"))
    return turned / club


def with_gin(rules: Rules) -> Hand:
    """The second seat in its first turn, when it could go gin."""
    hand = arranged(rules, LOOSE, f"{MELDED} 4S", "7C", "KH KC" if rules.deals_eleven else "KC KH")
    to_second_turn(hand)
    return hand


def gin(rules: Rules) -> Any:
    """Whether a seat that could go gin may throw the card quietly, and whether it may throw another."""
    legal = with_gin(rules).legal_actions()
    return parse_card("KH") in legal, parse_card("JC") in legal


def illegal_knock(rules: Rules) -> Any:
    hand = with_gin(rules)
    masked = KNOCK + parse_card("JC") in hand.legal_actions()
    try:
        hand.push("knock JC")
    except IllegalActionError:
        return masked, "refused"
    return masked, hand.warned, hand.is_over, hand.history[-1] == parse_card("JC"), hand.turn


def to_stock_end(rules: Rules) -> Hand:
    """Draws the stock and throws the drawn card until two cards are left; nobody can knock below."""
    first, second = "2S 4S 6S 8S TC 3D 5D 9D QD KS", "2C 4C 6C 8C TS 3H 5H 9H QH KH"
    hand = arranged(rules, first, second, "7C", "")
    while not hand.is_over and int(hand.state["position"][0]) < 50:
        if hand.phase == "upcard":
            hand.push(PASS)
        elif hand.phase == "draw":
            hand.push(STOCK)
        else:
            drawn = int(hand.state["drawn"][0])
            hand.push(drawn if drawn < 52 else parse_card("7C"))
    hand.push(int(hand.state["drawn"][0]))
    return hand


def fiftieth_card(rules: str, last: str) -> Hand:
    """Every card drawn is thrown; the fiftieth is for seat 1, which has two melds and JC JD, if ``last`` is a jack."""
    deck = parse_cards("2C 4C 6C 8C TC 3D 5D 9D QD KS AS 2S 3S 7H 8H 9H JC JD 4D 5C 7C")
    rest = [card for card in range(52) if card not in (*deck, parse_card(last))]
    hand = Hand.deal(rules, deck=[*deck, *rest[:28], parse_card(last), *rest[28:]], starter=0)
    while not hand.is_over and hand.phase != "wall":
        hand.push({"upcard": PASS, "draw": STOCK}.get(hand.phase, int(hand.state["drawn"][0])))
    return hand


def stock_end(rules: Rules) -> Any:
    """What the rules say when two cards are left: the phase, what is possible, and where that leads."""
    hand = to_stock_end(rules)
    if hand.is_over:
        outcome = hand.outcome
        assert outcome is not None
        return "over", outcome.end, outcome.winner
    found: list[Any] = [hand.phase, [hand.action_text(action) for action in hand.legal_actions()]]
    for action in hand.legal_actions():
        after = hand.copy()
        after.push(action)
        outcome = after.outcome
        found.append(outcome.end if outcome else after.phase)
        if outcome is None:
            after.push(after.legal_actions()[0])
            found.append(after.phase)
    return found


def wall(rules: Rules) -> Any:
    """With two cards left and an upcard that lets the player knock: what is possible."""
    hand = to_stock_end(rules.replace(oklahoma=False))
    if hand.phase != "wall":
        return "no wall"
    top = int(hand.state["pile"][0, int(hand.state["num_pile"][0]) - 1])
    melds = [card for card in (*range(0, 3), *range(13, 16), *range(26, 29)) if card != top]
    hand_cards = [*melds, *[card for card in range(39, 42) if card != top]][:10]
    hand.state["hands"][0, hand.turn] = sum(1 << card for card in hand_cards)
    found: list[Any] = [hand.action_text(action) for action in hand.legal_actions()]
    hand.push(UPCARD)
    found.append({action // KNOCK for action in hand.legal_actions()})
    return found


# The spread is 3S 4S 5S and more; the defender's run 6S to 9S beats its eights unless 6S and 7S are laid off.
SPREAD = "3S 4S 5S JC JD JH 2H 2D 2C AD"
DEFENDER = "6S 7S 8S 9S 8C 8D QD QC AH 4H"


def lay_off(rules: Rules) -> Any:
    rules = at_ten(rules)
    hand = knocked(rules, SPREAD, DEFENDER)
    if hand.phase == "spread":
        hand.push(0)
    if hand.phase == "layoff":
        assert hand.turn == 0
        offered = [hand.action_text(action) for action in hand.legal_actions()]
        hand.push("lay off 6S")
        then = [hand.action_text(action) for action in hand.legal_actions()]
        hand.push("done")
        return "by hand", offered, then, hand.outcome.deadwood[0] if hand.outcome else None
    outcome = hand.outcome
    assert outcome is not None
    return format_cards(outcome.laid_off), outcome.deadwood[0]


def spread(rules: Rules) -> Any:
    """Three sets or three runs of nine cards: whether the knocker is asked, and that its choice must stay within the limit."""
    rules = at_ten(rules)
    hand = knocked(rules, "7S 8S 9S 7D 8D 9D 7H 8H 9H AD", "2S 4C 6C 8C TC 3D 5D JD QD KS")
    if hand.phase != "spread":
        return "automatic"
    count = len(hand.legal_actions())
    narrow = knocked(rules.replace(knock_limit=1), "7S 8S 9S 7D 8D 9D 7H 8H 9H AD", "2S 4C 6C 8C TC 3D 5D JD QD KS")
    return "chosen", count, len(narrow.legal_actions())


def layoff_on_gin(rules: Rules) -> Any:
    """4S and 5S could be laid off on AS 2S 3S; against gin they stay."""
    hand = knocked(rules, f"{MELDED} JS", LOOSE.replace("2C 4C", "4S 5S"))
    if hand.phase == "layoff":
        return "by hand"
    outcome = finish(hand)
    return outcome.end, outcome.laid_off, outcome.deadwood[0]


def undercut(rules: Rules) -> Any:
    """A knock with 7 against deadwood 8, 7 and 6: how it ends, and the points of each seat's lead."""
    rules = at_ten(rules)
    found = []
    for rest in ("8D", "7D", "6D"):
        defender = f"4C 5C 6C QC QD QH TS TD TH {rest}"
        outcome = finish(knocked(rules, "AS 2S 3S 7H 8H 9H JC JD JH 7S", defender, turned="KD"))
        found.append((outcome.end.name, outcome.points, outcome.winner))
    return found


def gin_bonus(rules: Rules) -> Any:
    outcome = finish(knocked(rules, f"{MELDED} 4S", LOOSE))
    return outcome.end, outcome.points - outcome.deadwood[0], outcome.winner


def big_gin(rules: Rules) -> Any:
    """Gin that discards the KH of a run, all eleven cards melded: what it is called, and its points."""
    outcome = finish(knocked(rules, "AS 2S 3S 9H TH JH QH QC QD QS", "2C 4C 6C 8C TC 3D 5D 9D JD KS"))
    return outcome.end, outcome.points - outcome.deadwood[0], outcome.winner


def endless_upcards(rules: Rules) -> Any:
    """Both take every upcard and throw another card: how many are taken, and how the hand ends."""
    if rules.gin == "automatic" or rules.deals_eleven:
        rules = rules.replace(gin="declared", deal="traditional")
    hand = arranged(rules, "2S 4S 6S 8S TC 3D 5D 9D QD KS", "2C 4C 6C 8C TS 3H 5H 9H QH KH", "7C", "")
    if hand.phase == "upcard":
        hand.push(PASS)
        hand.push(PASS)
        hand.push(int(hand.state["drawn"][0]))
    while not hand.is_over:
        if hand.phase == "draw":
            hand.push(UPCARD)
        else:
            taken = int(hand.state["taken"][0])
            plain = [action for action in hand.legal_actions() if action < KNOCK and action != taken]
            hand.push(max(plain, key=lambda card: (card % 13, card)))
    outcome = hand.outcome
    assert outcome is not None
    return outcome.end, int(hand.state["upcards"][0]), outcome.winner


def repeated_upcard(rules: Rules) -> Any:
    """Both in turn take the upcard and throw it again."""
    hand = arranged(rules, LOOSE, "2S 4S 6S 8S TS 3H 5H 9C QH KH", "7C", "QS QC")
    if not rules.discard_taken_upcard or hand.phase != "upcard":
        return "never"
    hand.push(PASS)
    hand.push(PASS)
    hand.push("discard QS")
    for _ in range(2):
        hand.push(UPCARD)
        hand.push("discard QS")
    return hand.outcome.end if hand.outcome else "goes on"


def won(seat: int, points: int) -> Outcome:
    return Outcome(End.KNOCK, winner=seat, knocker=seat, points=points)


PROBES: dict[str, Callable[[Rules], Any]] = {
    "deal": deal, "first upcard": first_upcard, "first turn at eleven/ten": first_turn_knock,
    "who goes first": first_starter_hand, "who goes next": next_starter_hand,
    "discarding the upcard just taken": discard_taken, "knock limit": knock_limit,
    "eleven/ten with Oklahoma": first_discard_limit, "spade turned": spade, "knocking is": gin,
    "illegal knock": illegal_knock, "stock end": stock_end, "wall": wall,
    "laying off": lay_off, "knocker's melds": spread, "lay-off on gin": layoff_on_gin,
    "undercut when": undercut, "gin bonus": gin_bonus, "big gin": big_gin, "endless upcards": endless_upcards,
    "repeated upcard": repeated_upcard,
}  # fmt: skip
