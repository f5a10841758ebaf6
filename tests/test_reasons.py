"""Every sentence that a hint, a mark or practice shows is true in its position. What it says is worked out again by brute force."""

import itertools
import re
from typing import Any

import pytest

from agents.analysis import Analyst, Decision, deal_and_play
from ginenv.bots.reasons import Estimates, reason
from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, parse_action
from ginenv.engine.cards import card_value, cards_of, mask_of, parse_card, parse_cards
from ginenv.hands.hand import Hand
from ginenv.hands.hand import deadwood as engine_deadwood
from ginenv.tables.players import make_player
from tests.support.brute_melds import Brute, is_meld
from tests.support.scale import SCALE
from tests.support.session_scenes import FITS, KNOCKS, MANY_WAYS, NO_MELD, deck

RANK_WORDS = "ace two three four five six seven eight nine ten jack queen king".split()


def deadwood(cards: int) -> int:
    return Brute(cards).deadwood()


class Position:
    """What sentences are about, by brute force."""

    def __init__(self, view: Any, action: int, other: int | None = None, estimates: Estimates | None = None) -> None:
        self.view, self.action, self.other, self.estimates = view, action, other, estimates or Estimates()
        self.hand, self.unseen = int(view["hand"]), int(view["unseen"])
        self.possible = self.unseen | int(view["known_cards"][1])
        self.card = action % KNOCK

    def rest(self, action: int | None = None) -> int:
        return self.hand & ~(1 << (self.action if action is None else action) % KNOCK)

    def melds_with(self, card: int, cards: int) -> list[tuple[int, int]]:
        return [pair for pair in itertools.combinations(cards_of(cards & ~(1 << card)), 2) if is_meld([card, *pair])]

    def ways(self, rest: int) -> int:
        return sum(bool(self.melds_with(card, rest)) for card in cards_of(self.unseen))

    def after_take(self) -> int:
        card = int(self.view["upcard"])
        return min(deadwood((self.hand | 1 << card) & ~(1 << each)) for each in cards_of(self.hand))

    def joins(self) -> bool:
        return bool(self.melds_with(int(self.view["upcard"]), self.hand))


def useless(p: Position, rank: str, ranks: str) -> None:
    assert RANK_WORDS[p.card % 13] == rank and ranks in (rank + "s", rank + "es")
    assert not p.melds_with(p.card, p.rest() | p.unseen)


def lone(p: Position, card: str) -> None:
    assert p.card == parse_card(card)
    assert not any(p.melds_with(p.card, p.rest() | 1 << card) for card in cards_of(p.unseen))


def number(word: str) -> int:
    return 0 if word == "no" else int(word)


def leaves(p: Position, but: str, left: str, card: str, others: str) -> None:
    mine, theirs = deadwood(p.rest()), deadwood(p.rest(parse_card(card)))
    assert p.other is not None and (mine, theirs) == (int(left), int(others)) and p.other % KNOCK == parse_card(card)
    assert mine > theirs if but else mine < theirs


def least(p: Position, left: str) -> None:
    assert deadwood(p.rest()) == int(left) == min(deadwood(p.rest(card)) for card in cards_of(int(p.view["legal"][0])))


def waits(p: Position, start: str, ways: str, card: str = "", others: str = "") -> None:
    assert p.ways(p.rest()) == number(ways)
    if card:
        assert p.ways(p.rest(parse_card(card))) == int(others)
        assert number(ways) < int(others) if start == "But a" else number(ways) > int(others)


def pairs(p: Position, mine: str, theirs: str, card: str) -> None:
    assert p.other == parse_card(card)
    assert [len(p.melds_with(each, p.possible)) for each in (p.card, p.other)] == [number(mine), int(theirs)]
    assert number(mine) < int(theirs)


def safe(p: Position, rather: str, count: str, ranks: str) -> None:
    same = [card for card in range(p.card % 13, 52, 13) if card != p.card]
    gone = sum(not p.possible >> card & 1 for card in same)
    assert gone == {"two": 2, "three": 3}[count] and ranks.startswith(RANK_WORDS[p.card % 13])
    assert bool(p.melds_with(p.card, p.possible)) == bool(rather)


def collected(p: Position, taken: str, card: str) -> None:
    cards = parse_cards(taken.replace(" and ", " "))
    assert cards and mask_of(cards) & ~int(p.view["known_cards"][1]) == 0 and p.other == parse_card(card)
    assert all(
        any(is_meld([p.other, each, third]) for third in range(52) if third not in (p.other, each)) for each in cards
    )


def gin(p: Position) -> None:
    assert deadwood(p.rest()) == 0


def knocks(p: Position, left: str, holds: str = "") -> None:
    assert deadwood(p.rest()) == int(left) <= p.view["limit"]
    assert not holds or (p.estimates.opponent_deadwood is not None and holds == f"{p.estimates.opponent_deadwood:.0f}")


def knocks_with(p: Position, left: str, card: str, others: str) -> None:
    assert p.other == KNOCK + parse_card(card)
    assert (deadwood(p.rest()), deadwood(p.rest(p.other))) == (int(left), int(others)) and int(left) < int(others)


def would_leave(p: Position, left: str, holds: str = "") -> None:
    assert p.other is not None and p.other >= KNOCK and deadwood(p.rest(p.other)) == int(left) > 0
    assert not holds or holds == f"{p.estimates.opponent_deadwood:.0f}"


def gins(p: Position, count: str) -> None:
    drawn = [p.rest() | 1 << card for card in cards_of(p.unseen)]
    assert sum(any(not deadwood(cards & ~(1 << each)) for each in cards_of(cards)) for cards in drawn) == int(count) > 0


def falls(p: Position, card: str, now: str, after: str, low: str) -> None:
    assert p.view["upcard"] == parse_card(card) and (deadwood(p.hand), p.after_take()) == (int(now), int(after))
    assert bool(low) == (int(now) > p.view["limit"] >= int(after)) and int(after) < int(now)


def makes_meld(p: Position, card: str, now: str, after: str, low: str) -> None:
    falls(p, card, now, after, low)
    assert p.joins()


def takes_gin(p: Position, card: str) -> None:
    assert p.view["upcard"] == parse_card(card) and p.after_take() == 0


def more_ways(p: Position, card: str, ways: str, without: str) -> None:
    assert p.view["upcard"] == parse_card(card) and p.ways(p.hand) == int(without) < int(ways)
    cards = p.hand | 1 << parse_card(card)
    assert max(p.ways(cards & ~(1 << each)) for each in cards_of(p.hand)) == int(ways)


def no_meld(p: Position, card: str) -> None:
    assert p.view["upcard"] == parse_card(card) and not p.joins()


def no_less(p: Position, card: str) -> None:
    assert p.view["upcard"] == parse_card(card) and p.after_take() >= deadwood(p.hand)


def worth(p: Position, gap: str) -> None:
    assert p.other is not None and p.estimates.worth_more == gap and float(gap.split()[0]) > 0


def lays_off(p: Position, cards: str, points: str) -> None:
    meld = mask_of(parse_cards(cards))
    assert meld in [int(each) for each in p.view["spread"]] and is_meld([*cards_of(meld), p.action])
    assert deadwood(p.hand) - deadwood(p.rest()) == int(points)


def done(p: Position) -> None:
    assert p.action == PASS
    assert all(deadwood(p.rest(card)) >= deadwood(p.hand) for card in cards_of(int(p.view["legal"][0])))


def spread(p: Position, left: str, other: str = "") -> None:
    least = Brute(p.hand).maximal(int(p.view["limit"]))
    sizes = {sum(card_value(card) for card in cards_of(p.hand & ~sum(melds))) for melds in least}
    assert int(left) in sizes and (not other or int(left) < int(other) in sizes)


CARD = r"([A2-9TJQK][SCDH])"
# Every form, with an example, and what checks it.
SENTENCES = [
    (
        "The king is useless: no two other kings can come, nor a run.",
        r"The (\w+) is useless: no two other (\w+) can come, nor a run",
        useless,
    ),
    ("No single card makes a meld of the KC.", rf"No single card makes a meld of the {CARD}", lone),
    (
        "It leaves 23 deadwood; discarding the 7C leaves 29.",
        rf"(But it)?(?:It)? leaves (\d+) deadwood; discarding the {CARD} leaves (\d+)",
        leaves,
    ),
    ("It leaves the least deadwood, 23.", r"It leaves the least deadwood, (\d+)", least),
    (
        "But after it, 5 unseen cards would complete a meld; after the TH, 7.",
        rf"(But a|A)fter it, (no|\d+) unseen cards? would complete a meld; after the {CARD}, (\d+)",
        waits,
    ),
    (
        "After it, 7 unseen cards would complete a meld.",
        r"After it(), (no|\d+) unseen cards? would complete a meld",
        waits,
    ),
    (
        "The opponent may hold 2 pairs of cards that make a meld with it, and 5 with the TH.",
        rf"The opponent may hold (no|\d+) pairs? of cards that make a meld with it, and (\d+) with the {CARD}",
        pairs,
    ),
    (
        "It is safe: three other kings are gone, and no run is left.",
        r"It is ()safe: (two|three) other (\w+) are gone, and no run is left",
        safe,
    ),
    ("It is rather safe: two other kings are gone.", r"It is (rather) safe: (two|three) other (\w+) are gone", safe),
    (
        "The opponent took the 9H and JH, which the TH goes with.",
        rf"The opponent took the ((?:{CARD[1:-1]}(?: and )?)+), which the {CARD} goes with",
        collected,
    ),
    ("It is gin.", r"It is gin", gin),
    ("It leaves 7 points, few enough to knock.", r"It leaves (\d+) points?, few enough to knock", knocks),
    (
        "It leaves 7 points, and the opponent holds 23 on average.",
        r"It leaves (\d+) points?, and the opponent holds (\d+) on average",
        knocks,
    ),
    (
        "It leaves 1 point; knocking with the 7C leaves 4.",
        rf"It leaves (\d+) points?; knocking with the {CARD} leaves (\d+)",
        knocks_with,
    ),
    (
        "A knock would leave 5 points, and the opponent holds 12 on average.",
        r"A knock would leave (\d+) points?(?:, and the opponent holds (\d+) on average)?",
        would_leave,
    ),
    (
        "There are 4 cards that can come and make gin.",
        r"There (?:is|are) (\d+) cards? that can come and makes? gin",
        gins,
    ),
    (
        "The 7C makes a meld, and the deadwood falls from 40 to 9, few enough to knock.",
        rf"The {CARD} makes a meld, and the deadwood falls from (\d+) to (\d+)(, few enough to knock)?",
        makes_meld,
    ),
    (
        "With the 7C the deadwood falls from 40 to 36.",
        rf"With the {CARD} the deadwood falls from (\d+) to (\d+)(, few enough to knock)?",
        falls,
    ),
    ("The 7C makes gin.", rf"The {CARD} makes gin", takes_gin),
    (
        "With the 7C, 9 unseen cards would complete a meld; without it, 6.",
        rf"With the {CARD}, (\d+) unseen cards? would complete a meld; without it, (\d+)",
        more_ways,
    ),
    ("The 7C makes no meld.", rf"The {CARD} makes no meld", no_meld),
    ("The 7C leaves no less deadwood.", rf"The {CARD} leaves no less deadwood", no_less),
    ("The pile is empty.", r"The pile is empty", lambda p: None),
    ("It is worth 1.3 % of the game more.", r"It is worth (\d+\.\d (?:% of the game|points)) more", worth),
    ("It goes on 3S 4S 5S and saves 6 points.", r"It goes on (.+) and saves (\d+) points?", lays_off),
    ("No lay-off lowers your deadwood.", r"No lay-off lowers your deadwood", done),
    ("It leaves 5 deadwood, and the other 7.", r"It leaves (\d+) deadwood(?:, and the other (\d+))?", spread),
]
OPEN = ("It is the best of what is possible here.", "Nothing else is worth more here.")


def check(words: str, position: Position) -> list[str]:
    """Checks each sentence of a reason; returns their patterns."""
    found = []
    for sentence in re.findall(r"[^.]+(?:\.\d[^.]*)*\.", words):
        matches = [
            (m, pattern, asked)
            for _, pattern, asked in SENTENCES
            if (m := re.fullmatch(pattern, sentence.strip()[:-1]))
        ]
        assert len(matches) == 1, f"{sentence!r} of {words!r} is said by {len(matches)} forms"
        (match, pattern, asked) = matches[0]
        asked(position, *(group or "" for group in match.groups()))
        found.append(pattern)
    return found


def test_every_form_is_a_whole_sentence() -> None:
    """They were read by somebody who had not written them."""
    for example, pattern, _ in SENTENCES:
        assert example[0].isupper() and example.endswith(".") and re.fullmatch(pattern, example[:-1]), example


@pytest.fixture(scope="module")
def analyst() -> Analyst:
    return Analyst(worlds=8)


def estimates(analyst: Analyst, decision: Decision, view: Any) -> Estimates:
    """What the analyst's samples say, worked out again."""
    theirs = None
    if view["legal"][0, 1]:
        found = analyst._search.examine(view)
        theirs = sum(w * engine_deadwood(int(hand)) for hand, w in zip(found.hands, found.weights, strict=True))
    unit = "points" if decision.candidates and view["rules"]["target"][0] == 0 else "% of the game"
    gap = next(each for each in decision.candidates if each.action == decision.played).difference
    return Estimates(theirs, f"{-(1 if unit == 'points' else 100) * gap:.1f} {unit}")


def test_every_marked_decision_has_a_reason_that_is_true(analyst: Analyst) -> None:
    marked, seen = 0, set()
    for seed in itertools.count():
        rules = ("eaai", "gr-oklahoma", "ht1,target=0")[seed % 3]
        players = ("random", "style:base=blunderer")[seed % 2], "formula"
        (hand,) = deal_and_play(rules, seed, players).hands
        for each in analyst.hand(hand, seat=0).decisions:
            if not each.kind:
                continue
            marked += 1
            view = hand.after(each.move - 1).view()
            assert each.played is not None and each.reason not in OPEN, f"{each.played}, not {each.best}: {each.reason}"
            sampled = estimates(analyst, each, view)
            position = Position(view[0], parse_action(each.best), parse_action(each.played), sampled)
            seen |= set(check(each.reason, position))
        if marked >= 60 * SCALE:
            break
    assert len(seen) >= 10, seen


def test_formulas_give_reasons_too(analyst: Analyst) -> None:
    seen, player = set(), make_player("formula")
    for seed in range(12):
        hand = Hand.deal("ht1" if seed % 2 else "dg-standard", seed=seed)
        while not hand.is_over:
            action = int(player.act(hand.view())[0])
            words = reason(hand.view()[0], action)
            if words not in OPEN:
                seen |= set(check(words, Position(hand.view()[0], action)))
            hand.push(action)
    assert len(seen) >= 8, seen


def test_an_ace_that_cannot_meld_is_called_useless() -> None:
    # The other aces and the 2S, which a run would need, are gone.
    view = Hand.deal("eaai", seed=1).view()[0].copy()
    view["phase"], view["hand"] = PHASE_DISCARD, mask_of(parse_cards("AS 5S 5C 5D 9H TH JH 8C 8D KC KD"))
    view["unseen"] = mask_of(parse_cards("AC 3S 4S KH"))
    words = reason(view, parse_card("AS"), parse_card("KC"))
    assert "ace is useless: no two other aces can come" in words
    view["unseen"] |= mask_of(parse_cards("AD"))
    assert "useless" not in reason(view, parse_card("AS"), parse_card("KC"))


def test_spreads_and_lay_offs_have_reasons() -> None:
    hand = Hand.deal("ht1", deck=deck(MANY_WAYS, NO_MELD, "KD", "KC"), starter=0, seed=0)
    for words in ("pass", "pass", "knock KC"):
        hand.push(words)
    view = hand.view()[0]
    words = {reason(view, action, other) for action in (0, 1) for other in (0, 1) if action != other}
    assert any("deadwood" in each for each in words)
    hand = Hand.deal("ht1", deck=deck(KNOCKS, FITS, "KD", "KC"), starter=0, seed=0)
    for words in ("pass", "pass", "knock KC"):
        hand.push(words)
    if hand.phase == "spread":
        hand.push("spread 0")
    for action in hand.legal_actions():
        if (words := reason(hand.view()[0], action)) not in OPEN:
            check(words, Position(hand.view()[0], action))
