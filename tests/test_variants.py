"""The rules that people ask for: worked examples of rule pages, an independent score pad, and hands scored once more by hand.

The pages: Big gin and shut-outs, ``ginrummy.com/scoring.html``. Boxes for gin and undercuts, ``rummytalk.com`` (Scoring individual
hands of a two-handed game).
"""

from __future__ import annotations

import numpy as np
import pytest

from agents.play.moves import Turn
from ginenv.engine.cards import cards_of, mask_of, parse_cards
from ginenv.engine.engine import End, deadwood
from ginenv.engine.game import next_starter
from ginenv.engine.outcome import Outcome
from ginenv.engine.rules import PRESETS, Rules, get_rules
from ginenv.engine.state import MAX_HISTORY, MAX_PILE
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record, parse_record
from ginenv.pictures.sheet import score_sheet
from tests.support.brute_melds import all_melds
from tests.support.positions import play_on, random_rules
from tests.support.scale import SCALE
from tests.support.scenes import LOOSE, MELDED, arranged, finish, knocked, to_second_turn, won
from tests.support.score_pad import keep_score

BIG_HAND, BIG_LOOSE = "AS 2S 3S 9H TH JH QH QC QD QS", "2C 4C 6C 8C TC 3D 5D 9D JD KS"


# ------------------------------------------------------------------ worked examples


def test_big_gin_pays_six_more_than_gin():
    rules = PRESETS["big-gin"]
    big = finish(knocked(rules, BIG_HAND, BIG_LOOSE))
    assert (big.end, big.winner, big.points) == (End.BIG_GIN, 1, 67 + 25 + 6)
    assert big.describe(("you", "I")).startswith("big gin by I, deadwood 0 against 67")
    # Ten cards in melds and a loose eleventh are gin.
    gin = finish(knocked(rules, f"{MELDED} 4S", LOOSE))
    assert (gin.end, gin.points - gin.deadwood[0]) == (End.GIN, 25)


def test_big_gin_is_offered_to_a_person():
    for rules, mine, theirs, words in (
        ("big-gin", BIG_HAND, BIG_LOOSE, "go big gin with the "),
        ("big-gin", f"{MELDED} 4S", LOOSE, "go gin with the "),
        ("eaai", BIG_HAND, BIG_LOOSE, "go gin with the "),
    ):
        hand = arranged(PRESETS[rules], theirs, mine, "7C", "KC KH")
        to_second_turn(hand)
        assert words in Turn(hand.view()[0], hand.rules).possible()


def test_big_gin_counts_as_gin_where_it_is_not_played():
    outcome = finish(knocked(PRESETS["eaai"], BIG_HAND, BIG_LOOSE))
    assert (outcome.end, outcome.points) == (End.GIN, 67 + 25)


def test_boxes_for_gin_and_undercuts():
    """A knocks for 12; A goes gin against 14; B undercuts by one point; a spade is turned, and A goes gin against 30."""
    rules = PRESETS["big-gin"].replace(spade_doubles=True, target=500, gin_boxes=2, undercut_boxes=1)
    outcomes = [
        won(0, 20 - 8),
        Outcome(End.GIN, winner=0, knocker=0, points=14 + 25),
        Outcome(End.UNDERCUT, winner=1, knocker=0, points=1 + 25),
        Outcome(End.GIN, winner=0, knocker=0, points=2 * (30 + 25), doubled=True),
    ]
    sheet = score_sheet(rules, outcomes)
    assert [running for _, running in sheet.rows] == [(12, 0), (51, 0), (51, 26), (161, 26)]
    # Hands won, two extra boxes for gin, four where a spade doubles; one extra box for the undercut.
    assert sheet.boxes == (3 + 2 + 4, 1 + 1)


@pytest.mark.parametrize(
    ("shutout", "closing"),
    [
        ("double-hands", [("shut-out", 110), ("bonus", 100), ("boxes", 50)]),
        ("double-before-boxes", [("bonus", 100), ("shut-out", 210), ("boxes", 50)]),
        ("double-after-boxes", [("bonus", 100), ("boxes", 50), ("shut-out", 260)]),
    ],
)
def test_a_shut_out_doubles_what_stands_above_it(shutout, closing):
    rules = PRESETS["big-gin"].replace(shutout=shutout)
    sheet = score_sheet(rules, [won(0, 60), won(0, 50)])
    assert [(label, added[0]) for label, added in sheet.closing] == closing
    assert sheet.totals == (110 + sum(added for _, added in closing), 0)


@pytest.mark.parametrize(("bonus", "points"), [(0, 2), (10, 12)])
def test_a_knock_that_wins_is_paid(bonus, points):
    rules = PRESETS["eaai"].replace(knock_bonus=bonus)
    # Deadwood 7 against 9.
    outcome = finish(knocked(rules, "AS 2S 3S 7H 8H 9H JC JD JH 7S", "4C 5C 6C QC QD QH TS TD TH 9D", turned="KD"))
    assert (outcome.end, outcome.points) == (End.KNOCK, points)


def test_a_knock_bonus_is_no_bonus_for_gin_or_an_undercut():
    rules = PRESETS["eaai"].replace(knock_bonus=10)
    gin = finish(knocked(rules, f"{MELDED} 4S", LOOSE))
    assert gin.points - gin.deadwood[0] == 25
    undercut = finish(knocked(rules, "AS 2S 3S 7H 8H 9H JC JD JH 7S", "4C 5C 6C QC QD QH TS TD TH 6D", turned="KD"))
    assert (undercut.end, undercut.points) == (End.UNDERCUT, 1 + 25)


@pytest.mark.parametrize("layoff", ["best", "deadwood-only", "by-hand"])
def test_cards_are_laid_off_on_gin(layoff):
    """4S and 5S go on AS 2S 3S, and gin keeps its bonus."""
    rules = PRESETS["eaai"].replace(layoff=layoff, layoff_on_gin=True)
    hand = knocked(rules, f"{MELDED} JS", LOOSE.replace("2C 4C", "4S 5S"))
    for card in ("4S", "5S") if layoff == "by-hand" else ():
        hand.push(f"lay off {card}")
    outcome = finish(hand)
    assert (outcome.end, outcome.points) == (End.GIN, 61 + 25)
    assert (list(outcome.laid_off), outcome.deadwood[0]) == (parse_cards("4S 5S"), 61)


def test_gin_beats_a_defender_who_lays_off_everything():
    rules = PRESETS["eaai"].replace(layoff_on_gin=True)
    outcome = finish(knocked(rules, f"{MELDED} JS", "4S 5S 6S TH 7C 7D 4C 4D 4H 7S", turned="KD"))
    assert (outcome.end, outcome.winner, outcome.points, outcome.deadwood) == (End.GIN, 1, 25, (0, 0))


@pytest.mark.parametrize(("rule", "starter"), [("loser", 0), ("winner", 1), ("alternate", 1), ("seat0", 0)])
def test_who_starts_after_a_win_of_seat_1(rule, starter):
    hand = knocked(get_rules(f"eaai,next_starter={rule}"), f"{MELDED} 4S", LOOSE)
    assert hand.outcome is not None and (hand.outcome.starter, hand.outcome.winner) == (0, 1)
    assert next_starter(hand.state[0]) == starter


@pytest.mark.parametrize("base", ["dg-standard", "eaai"])
def test_a_spade_doubles_without_oklahoma(base):
    rules = PRESETS[base].replace(spade_doubles=True)
    points = [finish(knocked(rules, f"{MELDED} 4S", LOOSE, turned)).points for turned in ("7C", "7S")]
    assert points[1] == 2 * points[0]


def test_seven_cards_are_dealt_from_the_whole_deck():
    hand = Hand.deal("eaai,hand_size=7", deck=[*range(52)], starter=0)
    assert hand.view()["hand"][0] == mask_of(range(7)) and hand.view()["stock"][0] == 37
    hand.push("pass")
    hand.push("pass")
    # AS to 7S, and the starter draws the 3C.
    hand.push("knock 3C")
    assert str(hand.outcome).startswith("gin by seat 0, deadwood 0 against ")


def test_the_longest_hand_of_the_smallest_hands_fits_its_record():
    """Stock and upcards are used up as slowly as can be: 43 draws, 49 upcards."""
    rules = Rules(hand_size=3, knock_limit=0, stock_end="last-upcard", shutout="none")
    hand = Hand.deal(rules, deck=np.random.default_rng(1).permutation(52).tolist(), starter=0)
    hand.push("pass")
    hand.push("pass")
    while not hand.is_over:
        if hand.phase == "draw":
            # The stock first, so that the pile grows as high as it can.
            hand.push("take" if int(hand.view()["stock"][0]) <= 2 else "draw stock")
        else:
            plain = [action for action in hand.legal_actions() if action < 52]
            hand.push(plain[0])
    assert hand.outcome is not None and hand.outcome.end == End.UPCARD_LIMIT
    assert int(hand.state["num_pile"][0]) == MAX_PILE and len(hand.history) == MAX_HISTORY - 6


# ------------------------------------------------------------------ the independent score pad


def random_outcome(rng: np.random.Generator) -> Outcome:
    """A hand's end of any kind, with a winner four times in five."""
    if rng.random() < 0.2:
        return Outcome(End.TIE if rng.random() < 0.5 else End.STOCK)
    end = End(int(rng.choice([End.GIN, End.KNOCK, End.KNOCK, End.UNDERCUT, End.BIG_GIN])))
    lead = int(rng.integers(2))
    points = int(
        rng.choice([0, rng.integers(1, 12), rng.integers(10, 90), rng.integers(90, 260)], p=(0.02, 0.3, 0.58, 0.1))
    )
    return Outcome(end, winner=lead, knocker=lead, points=points, doubled=bool(rng.random() < 0.2))


def game_rules(rng: np.random.Generator) -> Rules:
    """A preset, or rules with every option of games drawn again."""
    return PRESETS[str(rng.choice(list(PRESETS)))] if rng.random() < 0.2 else random_rules(rng)


def test_an_independent_score_pad_agrees():
    """Thousands of games (300 here; 3,000 with GINENV_TEST_SCALE=10): the same games end, with the same points and winners."""
    rng = np.random.default_rng(51)
    ends = 0
    for _ in range(300 * SCALE):
        rules = game_rules(rng)
        if rng.random() < 0.9:
            rules = rules.replace(max_drawn_hands=50)
        hands: list[Outcome] = []
        while (pad := keep_score(rules, hands)) is None:
            hands.append(random_outcome(rng))
        sheet = score_sheet(rules, hands)
        assert sheet.is_over and not (len(hands) > 1 and score_sheet(rules, hands[:-1]).is_over)
        assert sheet.rows[-1][1] == pad.points and sheet.boxes == tuple(min(n, 255) for n in pad.boxes)
        assert (sheet.totals, sheet.winner, sheet.net) == (pad.totals, pad.winner, pad.net)
        ends += len(hands)
    assert ends > 1000 * SCALE


def test_a_played_game_is_scored_as_its_sheet_is():
    """The state's totals, winner and boxes, and the record that is read back."""
    rng = np.random.default_rng(52)
    for name in (
        "dg-oklahoma,target=30,shutout=double-hands",
        "ht2-traditional,target=40",
        "big-gin,target=30",
    ):
        match = Match(name, seed=int(rng.integers(2**31)))
        while not match.is_over:
            if match.hand.is_over:
                match.next_hand()
            while not match.hand.is_over:
                play_on(match, rng)
        sheet = match.sheet()
        assert sheet.is_over and (sheet.winner, sheet.rows[-1][1]) == (match.winner, match.score)
        if match.rules.net_score and sheet.winner is not None:
            assert match.totals[sheet.winner] == sheet.net and match.totals[1 - sheet.winner] == 0
        else:
            assert match.totals == sheet.totals
        text = format_record(match)
        again = parse_record(text).match
        assert again is not None and format_record(again) == text and again.sheet() == sheet


# ------------------------------------------------------------------ hands, scored once more


def partitions_into_melds(cards: int) -> bool:
    """Whether all cards can be put into melds, tried in every way."""
    if not cards:
        return True
    lowest = cards & -cards
    return any(partitions_into_melds(cards & ~meld) for meld in all_melds(cards) if meld & lowest)


def points_by_hand(rules: Rules, hand: Hand) -> tuple[End, int | None, int]:
    """How a knocked hand ended by its cards and lay-offs: the end, the winner and the points."""
    outcome, state = hand.outcome, hand.state[0]
    assert outcome is not None and outcome.knocker is not None
    knocker = outcome.knocker
    laid_out = [card for meld in outcome.spread for card in meld]
    mine = deadwood(np.int64(int(state["hands"][knocker]) & ~mask_of(laid_out)))
    theirs = deadwood(state["hands"][1 - knocker])
    thrown = 1 << int(state["pile"][int(state["num_pile"]) - 1])
    factor = 2 if rules.spade_doubles and first_card(hand) < 13 else 1
    if mine == 0:
        if rules.big_gin_bonus and partitions_into_melds(int(state["hands"][knocker]) | thrown):
            return End.BIG_GIN, knocker, factor * (theirs + rules.big_gin_bonus)
        return End.GIN, knocker, factor * (theirs + rules.gin_bonus)
    if theirs > mine:
        return End.KNOCK, knocker, factor * (theirs - mine + rules.knock_bonus)
    if theirs < mine or rules.undercut_on_tie:
        return End.UNDERCUT, 1 - knocker, factor * (mine - theirs + rules.undercut_bonus)
    return End.TIE, None, 0


def first_card(hand: Hand) -> int:
    """The first upcard, or the first discard of an eleven/ten deal."""
    if hand.rules.deals_eleven:
        return hand.history[0] % 52
    return int(hand.state["deck"][0, 2 * hand.rules.hand_size])


def test_played_hands_score_what_their_cards_say():
    rng = np.random.default_rng(53)
    seen: set[End] = set()
    for _ in range(150 * SCALE):
        rules = random_rules(rng).replace(big_gin_bonus=0 if rng.random() < 0.3 else 31)
        hand = Hand.deal(rules, seed=int(rng.integers(2**31)))
        while not hand.is_over:
            play_on(hand, rng)
        outcome = hand.outcome
        assert outcome is not None
        if outcome.knocker is not None:
            assert (outcome.end, outcome.winner, outcome.points) == points_by_hand(rules, hand)
            assert not outcome.laid_off or outcome.end == End.KNOCK or rules.layoff_on_gin or outcome.deadwood != (0, 0)
            seen.add(outcome.end)
    assert {End.GIN, End.KNOCK, End.UNDERCUT} <= seen


def test_cards_of_the_spread_are_the_knockers():
    """Big gin spreads ten cards; the eleventh lies on the pile."""
    outcome = finish(knocked(PRESETS["big-gin"], BIG_HAND, BIG_LOOSE))
    spread = mask_of(card for meld in outcome.spread for card in meld)
    assert len(cards_of(spread)) == 10 and sorted(map(len, outcome.spread)) == [3, 3, 4]
