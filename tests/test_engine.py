"""The hand as a state machine: cards are conserved, masks are the law, and nothing hidden can be seen."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PASS, PHASE_NAMES, STOCK
from ginenv.engine.bits import nth_bit, nth_bit_by_words
from ginenv.engine.cards import parse_cards
from ginenv.engine.engine import MAX_HISTORY, MAX_PILE, STATE, End, is_legal
from ginenv.engine.jit import kernel
from ginenv.engine.melds import deadwood
from ginenv.engine.perft import NUM_COUNTS, Policy, play_hands
from ginenv.engine.state import same_records
from ginenv.errors import GinError, IllegalActionError
from ginenv.hands.hand import Hand, Match
from ginenv.view.view import action_masks, make_views
from tests.support.hidden import redeal_hidden
from tests.support.positions import ALL_RULES, eager, play_on, positions
from tests.support.refusals import refuses
from tests.support.scenes import fiftieth_card

SEEDS = 4


@kernel
def _is_legal(states, action):
    return is_legal(states[0], action)


def bits(mask: int | np.integer) -> int:
    return int(mask).bit_count()


def stock(hand: Hand) -> list[int]:
    state = hand.state[0]
    return state["deck"][int(state["position"]) : hand.rules.num_cards].tolist()


def check_cards(hand: Hand) -> None:
    """Every card is in exactly one place."""
    state = hand.state[0]
    places = [int(state["hands"][0]), int(state["hands"][1]), int(state["pile_cards"]), int(state["laid"])]
    places.append(sum(1 << card for card in stock(hand)))
    together = 0
    for place in places:
        assert together & place == 0
        together |= place
    deck = {13 * suit + rank for suit in range(hand.rules.suits) for rank in range(hand.rules.ranks)}
    assert together == sum(1 << card for card in deck)
    pile = state["pile"][: state["num_pile"]].tolist()
    assert sum(1 << card for card in pile) == int(state["pile_cards"]) and len(set(pile)) == len(pile)
    assert len(pile) <= MAX_PILE and state["num_history"] <= MAX_HISTORY
    for seat in (0, 1):
        assert int(state["known_cards"][seat]) & ~int(state["hands"][seat]) == 0
        holds_eleven = hand.phase == "discard" and hand.turn == seat
        laid = bits(state["laid"]) if state["knocker"] == 1 - seat else 0
        assert bits(state["hands"][seat]) + laid == hand.rules.hand_size + holds_eleven


@pytest.mark.parametrize("rules", ALL_RULES)
def test_cards_are_conserved_and_masks_agree(rules):
    rng = np.random.default_rng(1)
    for seed in range(SEEDS):
        hand = Hand.deal(ALL_RULES[rules], seed=seed)
        while True:
            check_cards(hand)
            legal = hand.legal_actions()
            views = make_views(hand.state, 0), make_views(hand.state, 1)
            masks = [np.flatnonzero(action_masks(view)[0]).tolist() for view in views]
            assert sorted(masks[0] + masks[1]) == legal
            assert bool(legal) != hand.is_over
            if hand.is_over:
                break
            assert masks[hand.turn] == legal
            assert [bool(view["to_move"][0]) for view in views] == [hand.turn == 0, hand.turn == 1]
            if rng.random() < 0.15:
                accepted = {action for action in range(-2, NUM_ACTIONS + 3) if _is_legal(hand.state, action)}
                lenient = hand.rules.illegal_knock == "discard" and hand.phase == "discard"
                assert accepted == {*legal, *(KNOCK + card for card in legal if lenient and card < KNOCK)}
            play_on(hand, rng)


def test_copies_are_independent_and_a_state_is_the_whole_hand():
    hand = Hand.deal("eaai", seed=3)
    twin, state = hand.copy(), hand.state.copy()
    for played in (hand, Hand(state.copy())):
        rng = np.random.default_rng(3)
        while not played.is_over:
            play_on(played, rng)
    assert same_records(twin.state, state) and same_records(played.state, hand.state)


def test_a_batch_is_a_row_of_single_hands():
    """Records side by side do not touch one another, whatever their rules."""
    names = list(ALL_RULES)
    together = np.zeros(len(names), STATE)
    for row, name in enumerate(names):
        together["rules"][row] = ALL_RULES[name].block
    counts = np.zeros(NUM_COUNTS, np.int64)
    play_hands(together, np.uint64(5), 0, len(names), int(Policy.EAGER), False, counts)
    for row, name in enumerate(names):
        alone = np.zeros(1, STATE)
        alone["rules"] = ALL_RULES[name].block
        play_hands(alone, np.uint64(5), row, row + 1, int(Policy.EAGER), False, counts)
        assert same_records(alone, together[row : row + 1])


def test_what_is_hidden_changes_no_view_in_any_phase():
    rng, phases = np.random.default_rng(4), set()
    for rules in ALL_RULES:
        for hand in positions(rules, 40, seed=7, chance=0.08):
            phases.add(hand.phase)
            for seat in (0, 1):
                seen = make_views(hand.state, seat).tobytes()
                hidden = redeal_hidden(hand.state, seat, rng)
                assert make_views(hidden, seat).tobytes() == seen, (rules, hand.phase, seat)
    assert phases == set(PHASE_NAMES)


def test_the_layoff_phase_shows_the_spread_to_the_defender_and_no_hand_to_the_knocker():
    seen = 0
    for hand in positions("gc", 60, seed=9, chance=0):
        if hand.phase != "layoff":
            continue
        seen += 1
        knocker = 1 - hand.turn
        assert hand.view(hand.turn)["shown"][0] == hand.state["hands"][0, knocker]
        assert hand.view(knocker)["shown"][0] == 0
        # The knocker cannot tell the defender's cards from the stock, except for those that it saw taken.
        hidden = int(hand.state["hands"][0, hand.turn]) & ~int(hand.state["known_cards"][0, hand.turn])
        unseen = int(hand.view(knocker)["unseen"][0])
        assert hidden & ~unseen == 0 and bits(unseen) == bits(hidden) + len(stock(hand))
    assert seen > 10


def test_unseen_cards_are_the_stock_and_the_hidden_hand():
    for rules in ("ht1", "eaai", "gr-oklahoma"):
        for hand in positions(rules, 40, seed=10):
            for seat in (0, 1):
                other = 1 - seat
                view = hand.view(seat)
                hidden = int(hand.state["hands"][0, other] & ~hand.state["known_cards"][0, other] & ~view["shown"][0])
                assert int(view["unseen"][0]) == sum(1 << card for card in stock(hand)) | hidden


def test_an_illegal_action_names_itself_and_the_legal_ones_and_changes_nothing():
    hand = Hand.deal("eaai", seed=1)
    before = hand.state.copy()
    for action in ("discard 7C", "draw stock", 0, 104, 107, -1, 10**30, "spread 3", "fly", True, None, 1.5):
        with pytest.raises(IllegalActionError):
            hand.push(action)  # type: ignore[arg-type]
        assert same_records(hand.state, before)
    with refuses(IllegalActionError, 104, "draw stock", 105, "take", 106, "pass"):
        hand.push(104)
    rng = np.random.default_rng(0)
    while not hand.is_over:
        play_on(hand, rng)
    with pytest.raises(IllegalActionError):
        hand.push(104)


def test_a_hand_is_dealt_as_requested():
    first, again, other = (Hand.deal("eaai", seed=seed).state for seed in (8, 8, 9))
    assert same_records(first, again) and not same_records(first, other)
    assert Hand.deal("eaai", seed=8, starter=1).turn == 1 and Hand.deal("eaai", seed=8, starter=0).turn == 0
    deck = np.random.default_rng(1).permutation(52).tolist()
    hand = Hand.deal("gr", deck=deck, starter=1)
    assert [card for card in range(52) if int(hand.state["hands"][0, 1]) >> card & 1] == sorted(deck[:10])
    assert int(hand.state["pile"][0, 0]) == deck[20]
    hand.push("pass")
    hand.push("pass")
    assert int(hand.state["drawn"][0]) == deck[21]
    for wrong, fact in ((deck[:51], 51), ([0] * 52, "AS"), (["x"] * 52, "x"), ("7C", 1)):
        with refuses(GinError, fact):
            Hand.deal("eaai", deck=wrong)  # type: ignore[arg-type]
    with refuses(GinError, "starter", 0, 1, 2):
        Hand.deal("eaai", starter=2)
    with refuses(GinError, "seed", 0, -1):
        Hand.deal("eaai", seed=-1)


def test_all_deals_are_equally_likely():
    """Positions of cards, and of pairs of neighbours, over many decks; bounds far out in the tail."""
    decks = []
    states = np.zeros(1, STATE)
    states["rules"] = ALL_RULES["eaai"].block
    for seed in range(4000):
        play_hands(states, np.uint64(seed), 0, 1, int(Policy.RANDOM), False, np.zeros(NUM_COUNTS, np.int64))
        decks.append(states["deck"][0].copy())
    cards = np.array(decks, np.int64)
    expected = len(cards) / 52
    for place in (0, 9, 10, 20, 21, 50, 51):
        counts = np.bincount(cards[:, place], minlength=52)
        # Chi-square with 51 degrees of freedom: above 120 once in ten million.
        assert ((counts - expected) ** 2 / expected).sum() < 120, place
    steps = np.bincount((cards[:, 21] - cards[:, 22]) % 52, minlength=52)[1:]
    assert ((steps - len(cards) / 51) ** 2 / (len(cards) / 51)).sum() < 120


def test_a_game_deals_on_after_each_hand_until_it_is_over():
    match, rng = Match("dg-standard", seed=2), np.random.default_rng(2)
    with pytest.raises(GinError):
        match.next_hand()
    while not match.is_over:
        if match.hand.is_over:
            match.next_hand()
            outcome = match.outcomes[-1]
            assert match.hand.turn == (outcome.starter if outcome.winner is None else 1 - outcome.winner)
        match.push(eager(match.hand, rng))
    with pytest.raises(GinError):
        match.next_hand()
    with pytest.raises(IllegalActionError):
        match.push(STOCK)
    copy = match.copy()
    assert max(match.score) >= 100 and copy.score == match.score and copy.sheet() == match.sheet()


def test_declined_counts_the_turns_in_which_a_legal_knock_was_not_made() -> None:
    rng = random.Random(1)
    declines = 0
    for seed in range(100):
        hand = Hand.deal("eaai" if seed % 2 else "ht2-simple", seed=seed)
        expected = [0, 0]
        while actions := hand.legal_actions():
            plain = [action for action in actions if not KNOCK <= action < STOCK]
            draws = [action for action in plain if action in (STOCK, PASS)]
            view = make_views(hand.state, int(hand.state["turn"][0]))[0]
            if view["legal"][1] and plain and view["num_history"]:
                expected[int(view["seat"])] += 1
            hand.push(rng.choice(draws or plain or actions))
        assert hand.state["declined"][0].tolist() == expected
        declines += sum(expected)
    assert declines > 3


@pytest.mark.parametrize(("last", "outcome"), [("JH", (End.KNOCK, 1, 63)), ("QC", (End.STOCK, None, 0))])
def test_the_discard_after_the_fiftieth_card_may_be_taken_to_knock(last: str, outcome: Any) -> None:
    hand = fiftieth_card("gc", last)
    actions = [hand.action_text(action) for action in hand.legal_actions()]
    assert actions == (["take", "pass"] if last == "JH" else ["pass"])
    passed = hand.copy()
    passed.push("pass")
    assert passed.outcome.end == End.STOCK
    hand.push(actions[0])
    if last == "JH":
        assert "knock 5C" in [hand.action_text(action) for action in hand.legal_actions()]
        assert all(action >= KNOCK for action in hand.legal_actions())
        hand.push("knock 5C")
    assert (hand.outcome.end, hand.outcome.winner, hand.outcome.points) == outcome


def test_a_knock_above_the_limit_declines_the_knock_that_was_possible() -> None:
    # Seat 0 holds three runs and a card, and draws another: it may knock with either of the two, and asks to with neither.
    runs, rest = "2S 3S 4S 2C 3C 4C 2D 3D 4D", "JH QH KS"
    deck = parse_cards(f"{runs} KH 6S 8S TS 6C 8C TC 6D 8D TD 6H {rest}")
    deck += [card for card in range(52) if card not in deck]
    for action, declined in (("discard KH", 1), ("knock 2S", 1), ("knock KH", 0)):
        hand = Hand.deal("dg-standard", deck=deck, starter=0)
        for first in ("pass", "pass", action):
            hand.push(first)
        assert hand.state["declined"][0].tolist() == [declined, 0], action
        assert hand.warned == (action == "knock 2S")


def test_a_lenient_knock_is_for_the_discard_alone() -> None:
    rules = {"preset": "gc", "illegal_knock": "discard"}
    found = 0
    for seed in range(80):
        hand = Hand.deal(rules, seed=seed)
        rng = np.random.default_rng(seed)
        while not hand.is_over and hand.phase != "layoff":
            legal = hand.legal_actions()
            hand.push(int(rng.choice([action for action in legal if KNOCK <= action < STOCK] or legal)))
        if hand.is_over:
            continue
        found += 1
        for action in hand.legal_actions()[:-1]:
            with refuses(IllegalActionError, KNOCK + action, "layoff"):
                hand.copy().push(KNOCK + action)
    assert found > 0


def test_a_hand_goes_back_to_what_it_was_after_any_number_of_actions() -> None:
    hand, rng, snapshots = Hand.deal("dg-standard", seed=3), np.random.default_rng(4), []
    while not hand.is_over:
        snapshots.append(hand.copy())
        legal = hand.legal_actions()
        hand.push(int(rng.choice([action for action in legal if not KNOCK <= action < STOCK] or legal)))
    assert len(snapshots) == len(hand.history) > 20
    for count, snapshot in enumerate(snapshots):
        assert same_records(hand.after(count).state, snapshot.state)


@pytest.mark.parametrize("found", [nth_bit, nth_bit_by_words], ids=["here", "anywhere"])
def test_the_nth_card_of_a_mask_on_every_processor(found: Any) -> None:
    rng = np.random.default_rng(4)
    drawn = (rng.integers(1, 1 << 52, 500) & rng.integers(1, 1 << 52, 500) | 1).tolist()
    for mask in [1, 1 << 51, (1 << 52) - 1, *drawn]:
        cards = [card for card in range(52) if mask >> card & 1]
        assert [found(mask, n) for n in range(len(cards))] == cards


def test_a_hand_called_far_from_knocking_is() -> None:
    far = near = 0
    for hand in (hand for rules in ALL_RULES for hand in positions(rules, 60, seed=3, chance=0.3)):
        state = hand.state[0]
        if hand.phase != "discard" or not state["far"]:
            near += hand.phase == "discard"
            continue
        cards, far = int(state["hands"][state["turn"]]), far + 1
        left = min(deadwood(cards & ~(1 << card)) for card in range(52) if cards >> card & 1)
        assert left > state["limit"]
    assert far > 100 and near > 50
