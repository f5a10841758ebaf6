"""Scores: worked examples of rule pages, an independent score pad, and hands scored once more by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from ginenv.engine.cards import mask_of, parse_cards
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
from tests.support.refusals import refuses
from tests.support.scale import SCALE
from tests.support.scenes import LOOSE, MELDED, finish, knocked, won

BIG_HAND, BIG_LOOSE = "AS 2S 3S 9H TH JH QH QC QD QS", "2C 4C 6C 8C TC 3D 5D 9D JD KS"


# ------------------------------------------------------------------ worked examples


def test_the_example_score_sheet_comes_out_at_158():
    """DG's own example: 36 | 38, 78 | 38, 78 | 75, 108 | 75; 283 | 125; net 158."""
    hands = [(0, 36), (1, 38), (0, 42), (1, 37), (0, 30)]
    outcomes = [won(seat, points) for seat, points in hands]
    outcomes[2] = dataclasses.replace(outcomes[2], laid_off=tuple(parse_cards("7C 8C")))
    sheet = score_sheet(PRESETS["dg-standard"], outcomes)
    assert [running for _, running in sheet.rows] == [(36, 0), (36, 38), (78, 38), (78, 75), (108, 75)]
    assert sheet.closing == (("bonus", (100, 0)), ("boxes", (75, 50)))
    assert (sheet.totals, sheet.winner, sheet.net) == ((283, 125), 0, 158)
    text = sheet.to_text(("You", "Formula"))
    assert "283 |      125" in text and text.splitlines()[-2:] == ["won by You, net 158", "laid off in hand 3: 7C 8C"]
    with refuses(ValueError, 6, 5):
        score_sheet(PRESETS["dg-standard"], [*outcomes, won(0, 1)])


def test_who_starts_after_a_win_of_seat_1():
    for rule, starter in ("loser", 0), ("winner", 1), ("alternate", 1), ("seat0", 0):
        hand = knocked(get_rules(f"eaai,next_starter={rule}"), f"{MELDED} 4S", LOOSE)
        assert hand.outcome is not None and (hand.outcome.starter, hand.outcome.winner) == (0, 1)
        assert next_starter(hand.state[0]) == starter


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


def keep_score(rules: Rules, hands: list[Outcome]) -> dict[str, Any] | None:
    """A pad kept by hand, from the rules alone: points, boxes, totals, winner and net of a game, or None if the hands do not end it."""
    points: tuple[list[int], list[int]] = ([], [])
    boxes, drawn, ender, over = [0, 0], 0, None, False
    extra = {End.GIN: rules.gin_boxes, End.BIG_GIN: rules.big_gin_boxes, End.UNDERCUT: rules.undercut_boxes}
    for hand in hands:
        assert not over
        seat = hand.winner
        drawn = drawn + 1 if seat is None else 0
        if seat is not None:
            points[seat].append(hand.points)
            boxes[seat] += extra.get(hand.end, 0) * (2 if hand.doubled else 1) + 1
            ender = seat if sum(points[seat]) >= rules.target else None
        over = ender is not None or drawn == rules.max_drawn_hands
    if not over:
        return None
    totals = [sum(points[0]), sum(points[1])]
    winner = ender
    if ender is not None:
        whitewash = not points[1 - ender]
        if whitewash and rules.shutout == "double-hands":
            totals[ender] += totals[ender]
        totals[ender] += rules.game_bonus
        if whitewash and rules.shutout == "double-before-boxes":
            totals[ender] += totals[ender]
        totals[0] += rules.box_bonus * boxes[0]
        totals[1] += rules.box_bonus * boxes[1]
        if whitewash and rules.shutout == "double-after-boxes":
            totals[ender] += totals[ender]
        if whitewash and rules.shutout == "bonus":
            totals[ender] += rules.shutout_bonus
    if ender is None or rules.winner == "total":
        winner = None if totals[0] == totals[1] else int(totals[1] > totals[0])
    net = totals[winner] - totals[1 - winner] if rules.net_score and winner is not None else None
    expected = {"points": (sum(points[0]), sum(points[1])), "boxes": tuple(min(n, 255) for n in boxes)}
    return expected | {"totals": tuple(totals), "winner": winner, "net": net}


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


def test_an_independent_score_pad_agrees():
    """The same games end, with the same points and winners."""
    rng = np.random.default_rng(51)
    presets = list(PRESETS.values())
    for number in range(150 * SCALE):
        rules = presets[number % len(presets)] if number % 5 == 0 else random_rules(rng)
        if rng.random() < 0.9:
            rules = rules.replace(max_drawn_hands=50)
        hands: list[Outcome] = []
        while (expected := keep_score(rules, hands)) is None:
            hands.append(random_outcome(rng))
        sheet = score_sheet(rules, hands)
        assert sheet.is_over and not (len(hands) > 1 and score_sheet(rules, hands[:-1]).is_over)
        seen = {"points": sheet.rows[-1][1], "boxes": sheet.boxes, "totals": sheet.totals}
        assert seen | {"winner": sheet.winner, "net": sheet.net} == expected


def test_a_played_game_is_scored_as_its_sheet_is():
    """The state's totals, winner and boxes, and the record that is read back."""
    rng = np.random.default_rng(52)
    for name in (
        "dg-oklahoma,target=30,shutout=double-hands",
        "ht2-traditional,target=100",
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
        assert format_record(again) == text and again.sheet() == sheet


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
    for _ in range(100 * SCALE):
        rules = random_rules(rng).replace(big_gin_bonus=0 if rng.random() < 0.3 else 31)
        hand = Hand.deal(rules, seed=int(rng.integers(2**31)))
        while not hand.is_over:
            play_on(hand, rng)
        outcome = hand.outcome
        assert outcome is not None and hand.view(0)["points"][0] == -hand.view(1)["points"][0]
        if outcome.knocker is not None:
            assert (outcome.end, outcome.winner, outcome.points) == points_by_hand(rules, hand)
            assert not outcome.laid_off or outcome.end == End.KNOCK or rules.layoff_on_gin or outcome.deadwood != (0, 0)
            seen.add(outcome.end)
    assert {End.GIN, End.KNOCK, End.UNDERCUT} <= seen
