"""Every sentence that a hint, a mark or practice shows is true in its position. What it says is worked out again by brute force."""

import ast
import inspect
import itertools
import re
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from agents.analysis import Analyst, Decision, deal_and_play
from agents.play import hints
from ginenv.bots import reasons
from ginenv.bots.reasons import FORMS, Estimates, reason
from ginenv.engine.actions import KNOCK, PASS, PHASE_DISCARD, action_name, parse_action
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


def useless(p: Position, card: str) -> None:
    assert p.card == parse_card(card) and not p.melds_with(p.card, p.rest() | p.unseen)


def lone(p: Position, card: str) -> None:
    assert p.card == parse_card(card)
    assert not any(p.melds_with(p.card, p.rest() | 1 << card) for card in cards_of(p.unseen))


def figure(text: str) -> int:
    """The number in some words; 0 for none."""
    return int(re.sub(r"\D", "", text) or 0)


def compares(p: Position, card: str, other: str) -> None:
    assert p.other is not None and (p.card, p.other % KNOCK) == (parse_card(card), parse_card(other))


def less(p: Position, card: str, left: str, other: str, others: str) -> None:
    compares(p, card, other)
    assert (deadwood(p.rest()), deadwood(p.rest(p.other))) == (figure(left), figure(others))
    assert figure(left) < figure(others)


def more(p: Position, card: str, left: str, other: str, others: str) -> None:
    less(Position(p.view, p.other or 0, p.action), other, others, card, left)


def least(p: Position, card: str, left: str) -> None:
    assert p.card == parse_card(card) and deadwood(p.rest()) == figure(left)
    assert figure(left) == min(deadwood(p.rest(card)) for card in cards_of(int(p.view["legal"][0])))


def more_ways(p: Position, card: str, ways: str, other: str, others: str) -> None:
    compares(p, card, other)
    assert (p.ways(p.rest()), p.ways(p.rest(p.other))) == (figure(ways), figure(others))
    assert figure(ways) > figure(others)


def fewer_ways(p: Position, card: str, ways: str, other: str, others: str) -> None:
    more_ways(Position(p.view, p.other or 0, p.action), other, others, card, ways)


def ways_alone(p: Position, card: str, ways: str) -> None:
    assert p.card == parse_card(card) and p.ways(p.rest()) == figure(ways)


def pairs_of_cards(p: Position, card: str, pairs: str, other: str, others: str) -> None:
    compares(p, card, other)
    numbers = [len(p.melds_with(parse_card(each), p.possible)) for each in (card, other)]
    assert numbers == [figure(pairs), figure(others)] and numbers[0] < numbers[1]


def safe(p: Position, card: str) -> None:
    assert p.card == parse_card(card) and not p.melds_with(p.card, p.possible)


def rather_safe(p: Position, card: str, number: str, rank: str) -> None:
    others = sum(p.possible >> each & 1 for each in range(p.card % 13, 52, 13) if each != p.card)
    assert p.card == parse_card(card) and RANK_WORDS[p.card % 13] == rank
    assert others == {"no": 0, "at most one": 1}[number] and p.melds_with(p.card, p.possible)


def collected(p: Position, other: str, taken: str) -> None:
    cards, card = [parse_card(each) for each in re.findall(CARD, taken)], parse_card(other)
    assert cards and mask_of(cards) & ~int(p.view["known_cards"][1]) == 0 and p.other == card
    assert all(any(is_meld([card, each, third]) for third in range(52) if third not in (card, each)) for each in cards)


def gin(p: Position, card: str) -> None:
    assert p.card == parse_card(card) and deadwood(p.rest()) == 0


def few_enough(p: Position, card: str, left: str) -> None:
    assert p.card == parse_card(card) and deadwood(p.rest()) == figure(left) <= p.view["limit"]


def opponent_holds(p: Position, card: str, left: str, holds: str) -> None:
    few_enough(p, card, left)
    assert p.estimates.opponent_deadwood is not None and figure(holds) == round(p.estimates.opponent_deadwood)


def would_leave(p: Position, points: str, holds: str = "") -> None:
    assert p.other is not None and p.other >= KNOCK and deadwood(p.rest(p.other)) == figure(points) > 0
    assert not holds or figure(holds) == round(p.estimates.opponent_deadwood or 0.0)


def gin_cards(p: Position, gins: str) -> None:
    drawn = [p.rest() | 1 << card for card in cards_of(p.unseen)]
    assert (
        sum(any(not deadwood(cards & ~(1 << each)) for each in cards_of(cards)) for cards in drawn) == figure(gins) > 0
    )


def falls(p: Position, card: str, now: str, after: str, joins: bool = False, low: bool = False) -> None:
    assert p.view["upcard"] == parse_card(card) and p.joins() == joins
    assert (deadwood(p.hand), p.after_take()) == (figure(now), figure(after)) and figure(after) < figure(now)
    assert low == (figure(now) > p.view["limit"] >= figure(after))


def takes_gin(p: Position, card: str) -> None:
    assert p.view["upcard"] == parse_card(card) and p.after_take() == 0


def takes_ways(p: Position, card: str, ways: str, others: str) -> None:
    assert p.view["upcard"] == parse_card(card) and p.ways(p.hand) == figure(others) < figure(ways)
    cards = p.hand | 1 << parse_card(card)
    assert max(p.ways(cards & ~(1 << each)) for each in cards_of(p.hand)) == figure(ways)


def no_meld(p: Position, card: str) -> None:
    assert p.view["upcard"] == parse_card(card) and not p.joins()


def no_less(p: Position, card: str) -> None:
    assert p.view["upcard"] == parse_card(card) and p.after_take() >= deadwood(p.hand)


def worth(p: Position, action: str, gap: str, than: str) -> None:
    assert p.other is not None and p.estimates.worth_more == gap and float(gap.split()[0]) > 0
    phase = int(p.view["phase"])
    for words, number in ((action, p.action), (than, p.other)):
        assert set(re.findall(CARD, words)) <= set(re.findall(CARD, action_name(number, phase)))


def lays_off(p: Position, card: str, meld: str, points: str) -> None:
    cards = mask_of(parse_cards(meld))
    assert p.action == parse_card(card)
    assert cards in [int(each) for each in p.view["spread"]] and is_meld([*cards_of(cards), p.action])
    assert deadwood(p.hand) - deadwood(p.rest()) == figure(points)


def done(p: Position) -> None:
    assert p.action == PASS
    assert all(deadwood(p.rest(card)) >= deadwood(p.hand) for card in cards_of(int(p.view["legal"][0])))


def spread(p: Position, points: str, others: str = "") -> None:
    least = Brute(p.hand).maximal(int(p.view["limit"]))
    sizes = {sum(card_value(card) for card in cards_of(p.hand & ~sum(melds))) for melds in least}
    assert figure(points) in sizes and (not others or figure(points) < figure(others) in sizes)


def nothing(p: Position) -> None:
    """Says nothing that could be wrong."""


CARD = "[A2-9TJQK][SCDH]"
# What may stand in a form, by field.
FIELDS = {
    **dict.fromkeys(("card", "other"), CARD),
    **dict.fromkeys(("points", "holds", "after"), r"\d+ points?"),
    "taken": rf"{CARD}(?:, the {CARD})*(?: and the {CARD})?",
    "rank": "|".join(RANK_WORDS),
    "number": "no|at most one",
    "left": r"1 point of deadwood is left|\d+ points of deadwood are left",
    "ways": r"no unseen card|1 unseen card|\d+ unseen cards",
    "others": r"none|\d+",
    "pairs": r"(?:no pair|1 pair) of cards that the opponent may hold makes|\d+ pairs of cards that the opponent may hold make",
    "now": r"\d+",
    "gins": r"is 1 unseen card|are \d+ unseen cards",
    "meld": rf"{CARD}(?: {CARD})+",
    "action": r"[A-Z][a-zA-Z0-9 ]*",
    "gap": r"\d+\.\d (?:% of the game|points)",
    "than": r"[a-z][a-zA-Z0-9 ]*",
}
# Every form by its name, with an example and what checks it. Somebody who had not written them has read them.
EXAMPLES: dict[str, tuple[str, Callable[..., None]]] = {
    "useless": ("The KC is useless: it can no longer be part of a meld.", useless),
    "lone": ("No unseen card would complete a meld with the KC.", lone),
    "safe": ("The KC is safe: no two cards that the opponent can hold make a meld with it.", safe),
    "rather safe": ("The KC is rather safe: the opponent can hold at most one other king.", rather_safe),
    "deadwood": ("Without the KC, 23 points of deadwood are left; without the 7C, 29.", less),
    "more deadwood": ("But without the KC, 23 points of deadwood are left; without the 7C, 20.", more),
    "least deadwood": ("Without the KC, 23 points of deadwood are left, the least possible.", least),
    "ways": ("Without the KC, 7 unseen cards would complete a meld; without the TH, 5.", more_ways),
    "fewer ways": ("But without the KC, 1 unseen card would complete a meld; without the TH, 7.", fewer_ways),
    "ways alone": ("Without the KC, 7 unseen cards would complete a meld.", ways_alone),
    "pairs": ("With the KC, 2 pairs of cards that the opponent may hold make a meld; with the TH, 5.", pairs_of_cards),
    "collected": ("The TH goes with the 9H and the JH, which the opponent took.", collected),
    "gin": ("Without the KC, no deadwood is left, which is gin.", gin),
    "few enough": ("Without the KC, 7 points of deadwood are left, few enough to knock.", few_enough),
    "opponent holds": (
        "Without the KC, 7 points of deadwood are left, and the opponent holds 23 points on average.",
        opponent_holds,
    ),
    "gin cards": ("There are 4 unseen cards that would make gin.", gin_cards),
    "knock": ("A knock would leave 5 points of deadwood.", would_leave),
    "knock and holds": (
        "A knock would leave 5 points of deadwood, and the opponent holds 12 points on average.",
        would_leave,
    ),
    "takes a meld": ("The 7C makes a meld, and the deadwood falls from 40 to 19 points.", partial(falls, joins=True)),
    "takes a meld to knock": (
        "The 7C makes a meld, and the deadwood falls from 30 to 9 points, few enough to knock.",
        partial(falls, joins=True, low=True),
    ),
    "takes": ("With the 7C, the deadwood falls from 40 to 36 points.", falls),
    "takes to knock": (
        "With the 7C, the deadwood falls from 13 to 10 points, few enough to knock.",
        partial(falls, low=True),
    ),
    "takes gin": ("The 7C makes gin.", takes_gin),
    "takes ways": ("With the 7C, 9 unseen cards would complete a meld; without it, 6.", takes_ways),
    "no meld": ("The 7C makes no meld.", no_meld),
    "no less": ("The 7C would not lower the deadwood.", no_less),
    "empty": ("The discard pile is empty.", nothing),
    "spread": ("This spread leaves 5 points of deadwood.", spread),
    "spreads": ("This spread leaves 5 points of deadwood; the other leaves 7.", spread),
    "lay-off": ("The 6S goes on the meld 3S 4S 5S and saves 6 points.", lays_off),
    "no lay-off": ("No lay-off lowers the deadwood.", done),
    "worth more": ("Discarding the KC is worth 1.3 % of the game more than discarding the 7C.", worth),
    "best": ("No other choice is worth more.", nothing),
    "way to gin": ("This discard keeps the hand on the way to gin.", nothing),
    "not yet": ("Do not knock yet.", nothing),
}


def pattern(form: str) -> str:
    """What the sentences of a form look like."""
    parts = re.split(r"\{(\w+)\}", FORMS[form])
    return "".join(rf"(?P<{part}>{FIELDS[part]})" if k % 2 else re.escape(part) for k, part in enumerate(parts))


def forms_of(sentence: str) -> dict[str, dict[str, str]]:
    """The forms that a sentence can be of, and what stands in them."""
    return {form: match.groupdict() for form in FORMS if (match := re.fullmatch(pattern(form), sentence))}


def check(words: str, position: Position) -> list[str]:
    """Checks each sentence of a reason; returns their forms."""
    found = []
    for sentence in re.findall(r"[^.]+(?:\.\d[^.]*)*\.", words):
        ((form, fields),) = forms_of(sentence.strip()).items()
        EXAMPLES[form][1](position, **fields)
        found.append(form)
    return found


def test_every_form_has_an_example_and_is_a_whole_sentence() -> None:
    assert list(EXAMPLES) == list(FORMS)
    for form, (example, _) in EXAMPLES.items():
        assert list(forms_of(example)) == [form] and example[0].isupper(), example


@pytest.mark.parametrize("module", [reasons, hints])
def test_no_sentence_is_said_beside_the_forms(module: ModuleType) -> None:
    tree = ast.parse(inspect.getsource(module))
    texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documented = {ast.get_docstring(each, clean=False) for each in ast.walk(tree) if isinstance(each, kinds)}
    sentences = {each.strip() for each in texts - documented if each.strip().endswith(".") and " " in each.strip()}
    assert sentences <= set(FORMS.values())


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
            assert each.played is not None and each.reason != FORMS["best"], (
                f"{each.played}, not {each.best}: {each.reason}"
            )
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
            seen |= set(check(words, Position(hand.view()[0], action)))
            hand.push(action)
    assert len(seen) >= 8, seen


def test_an_ace_that_cannot_meld_is_called_useless() -> None:
    # The other aces and the 2S, which a run would need, are gone.
    view = Hand.deal("eaai", seed=1).view()[0].copy()
    view["phase"], view["hand"] = PHASE_DISCARD, mask_of(parse_cards("AS 5S 5C 5D 9H TH JH 8C 8D KC KD"))
    view["unseen"] = mask_of(parse_cards("AC 3S 4S KH"))
    words = reason(view, parse_card("AS"), parse_card("KC"))
    assert "The AS is useless" in words
    view["unseen"] |= mask_of(parse_cards("AD"))
    assert "useless" not in reason(view, parse_card("AS"), parse_card("KC"))


def test_a_discard_that_no_fact_tells_from_the_other_has_the_reason_that_is_true_of_it_alone() -> None:
    view = Hand.deal("eaai", seed=1).view()[0].copy()
    view["phase"], view["hand"] = PHASE_DISCARD, mask_of(parse_cards("AS 5S 5C 5D 9H TH JH 8C 8D KC KD"))
    view["unseen"] = mask_of(parse_cards("AC 3S"))
    view["legal"][0] = view["hand"]
    assert reason(view, parse_card("KC"), parse_card("KD")) == FORMS["useless"].format(card="KC")


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
        check(reason(hand.view()[0], action), Position(hand.view()[0], action))
