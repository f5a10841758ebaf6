"""The player contract, what each built-in bot is known by, and styles drawn at random, whose leanings do what their names say."""

from __future__ import annotations

import hashlib
import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from ginenv.bots.heuristics import BOTS, NOVICES, STYLES, StylePlayer, style
from ginenv.bots.population import PopulationPlayer, draw_styles
from ginenv.bots.style_kernels import DISCARD_RULES
from ginenv.engine.actions import (
    KNOCK,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_OVER,
    PHASE_SPREAD,
    PHASE_UPCARD,
    STOCK,
    UPCARD,
)
from ginenv.engine.cards import cards_of, mask_of, parse_cards
from ginenv.engine.engine import NO_CARD, STATE, apply
from ginenv.engine.game import start_game
from ginenv.engine.melds import deadwood
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW, action_masks, make_views
from tests.support.hidden import redeal_hidden

NOVICE = "style:base=formula,draw=always,memory=3,infer=0,pairs=4,runs=2,high=-1,noise=3,blunder=0.1"
PLAYERS = [*BOTS, *(f"style:base={name}" for name in NOVICES), NOVICE]


# Presets whose hands run through different code.
CORPUS = ("eaai", "dg-standard", "gr-oklahoma", "ht1", "ht2-traditional", "gc", "openspiel")


@cache
def corpus() -> np.ndarray:
    """States in every phase, from hands that random, simple and camping players play by turns."""
    rng = np.random.default_rng(7)
    drivers = [make_player(name, 3) for name in ("random", "simple", "camper")]
    expected_cards = []
    for name in CORPUS:
        states = np.zeros(24, STATE)
        states["rules"] = PRESETS[name].block
        states["key"] = rng.integers(0, 2**63, len(states))
        states["luck"] = rng.integers(0, 2**63, (len(states), 2))
        for s in states:
            start_game(s)
        # Some lanes have one driver per seat, the others change it at every step.
        drives = rng.integers(0, 3, (len(states), 2))
        while (live := np.flatnonzero(states["phase"] != PHASE_OVER)).size:
            views = make_views(states[live], states["turn"][live])
            rare = ~np.isin(views["phase"], (PHASE_DRAW, PHASE_DISCARD))
            expected_cards.append(states[live][rare | (rng.random(len(live)) < 0.25)])
            choices = np.stack([driver.act(views) for driver in drivers])
            chosen = np.where(live % 2, drives[live, views["seat"]], rng.integers(0, 3, len(live)))
            for lane, action in zip(live, choices[chosen, np.arange(len(live))], strict=True):
                apply(states[lane], action)
    return np.concatenate(expected_cards)


@cache
def corpus_views() -> np.ndarray:
    states = corpus()
    return make_views(states, states["turn"])


def in_phase(*phases: int) -> np.ndarray:
    views = corpus_views()
    return views[np.isin(views["phase"], phases)]


def table(hand: str, upcard: str = "", taken: str = "", limit: int = 10, **fields: object) -> np.ndarray:
    """A view written by hand: of a draw where ten cards are given, of a discard where eleven are."""
    view = np.zeros(1, VIEW)
    cards = mask_of(parse_cards(hand))
    pile = parse_cards(upcard)
    view["hand"] = cards
    view["phase"] = PHASE_DRAW if len(cards_of(cards)) == 10 else PHASE_DISCARD
    view["upcard"] = pile[-1] if pile else NO_CARD
    view["pile_cards"] = mask_of(pile)
    view["pile"][0, : len(pile)] = pile
    view["num_pile"] = len(pile)
    view["unseen"] = (1 << 52) - 1 & ~(cards | mask_of(pile))
    view["taken"] = parse_cards(taken)[0] if taken else NO_CARD
    view["drawn"] = NO_CARD
    view["limit"] = limit
    view["stock"] = 31
    view["to_move"] = 1
    view["rules"] = get_rules("eaai").block
    if view["phase"][0] == PHASE_DRAW:
        view["legal"][0, 2] = 3
    else:
        knocks = [c for c in cards_of(cards) if deadwood(cards & ~(1 << c)) <= limit and c != view["taken"][0]]
        view["legal"][0] = cards & ~(mask_of(parse_cards(taken))), mask_of(knocks), 0
    for name, value in fields.items():
        view[name] = value
    return view


def with_luck(view: np.ndarray, count: int) -> np.ndarray:
    views = np.repeat(view, count)
    views["luck"] = np.random.default_rng(1).integers(0, 2**63, count)
    return views


def card(name: str) -> int:
    return parse_cards(name)[0]


# The contract, for every registered player that needs nothing from outside.


def test_corpus_holds_every_phase():
    assert set(corpus_views()["phase"]) == set(range(PHASE_OVER))


@pytest.mark.parametrize("name", PLAYERS)
def test_actions_are_legal_and_follow_from_view_and_seed_alone(name):
    """In every phase: not from the batch, and not from hidden cards."""
    states = corpus()[::2]
    views = make_views(states, states["turn"])
    player = make_player(name, 1)
    actions = player.act(views)
    assert actions.shape == views.shape and actions.dtype == np.int64
    assert action_masks(views)[np.arange(len(views)), actions].all()
    order = np.random.default_rng(2).permutation(len(views))
    assert (player.act(views[order]) == actions[order]).all()
    assert (np.concatenate([player.act(part) for part in np.array_split(views, 7)]) == actions).all()
    player.reset(1)
    assert (player.act(views) == actions).all()
    assert (player.act(make_views(redealt(), states["turn"])) == actions).all()


@cache
def redealt() -> np.ndarray:
    """The same states with everything other that the seat to move cannot see."""
    states = corpus()[::2]
    permuted = redeal_hidden(states, states["turn"], np.random.default_rng(5))
    assert (permuted["hands"] != states["hands"]).any(axis=1).mean() > 0.5
    return permuted


def test_a_seed_changes_what_is_left_to_chance():
    views = corpus_views()
    for name in ("random", "simple", NOVICE):
        assert (make_player(name, 1).act(views) != make_player(name, 2).act(views)).any(), name


def test_spread_leaves_least_deadwood_and_layoff_is_best():
    player = make_player("simple")
    states = corpus()[corpus()["phase"] == PHASE_SPREAD]
    views = make_views(states, states["turn"])
    for s, action in zip(states.copy(), player.act(views), strict=True):
        knocker, least = int(s["turn"]), deadwood(s["hands"][s["turn"]])
        apply(s, action)
        assert s["deadwood"][knocker] == least
    states = corpus()[corpus()["phase"] == PHASE_LAYOFF].copy()
    assert len(states) > 20
    for s in states:
        free = s.copy()
        seat = int(s["turn"])
        while s["phase"] == PHASE_LAYOFF:
            apply(s, int(player.act(make_views(s, seat))[0]))
        assert s["deadwood"][seat] == least_by_search(free, seat)


def least_by_search(s: Any, seat: int) -> int:
    """Deadwood after the best sequence of lay-offs, by trying all."""
    if s["phase"] == PHASE_OVER:
        return int(s["deadwood"][seat])
    found = []
    for action in np.flatnonzero(action_masks(make_views(s, seat))[0]):
        after = s.copy()
        apply(after, int(action))
        found.append(least_by_search(after, seat))
    return min(found)


# random


def test_random_is_uniform():
    view = table("2S 3S 4S 6D 6H 6C AS AD AH AC KC")
    legal = np.flatnonzero(action_masks(view)[0])
    assert (legal >= KNOCK).sum() > 3
    counts = np.bincount(make_player("random").act(with_luck(view, 20_000)), minlength=107)
    assert counts.sum() == counts[legal].sum()
    expected = 20_000 / len(legal)
    chi = ((counts[legal] - expected) ** 2 / expected).sum()
    assert chi < 3 * len(legal)


# simple


def melds_with(hand: int, new: int) -> bool:
    """Whether a card makes a meld with cards of a hand, by trying all threes."""
    for pair in itertools.combinations(cards_of(hand), 2):
        three = sorted([*pair, new])
        ranks = [c % 13 for c in three]
        run = three[0] // 13 == three[2] // 13 and ranks[1] == ranks[0] + 1 and ranks[2] == ranks[1] + 1
        if run or len(set(ranks)) == 1:
            return True
    return False


def test_simple_takes_exactly_the_upcards_that_become_part_of_a_meld():
    views = in_phase(PHASE_UPCARD, PHASE_DRAW)
    views = views[views["upcard"] != NO_CARD]
    takes = make_player("simple").act(views) == UPCARD
    expected = [melds_with(int(v["hand"]), int(v["upcard"])) for v in views]
    assert takes.tolist() == expected
    assert 0.05 < takes.mean() < 0.5


def test_simple_discards_any_card_that_leaves_least_deadwood_and_knocks_when_it_can():
    views = in_phase(PHASE_DISCARD)
    actions = make_player("simple").act(views)
    assert (views["legal"][:, 1] != 0).sum() > 50
    for v, action in zip(views, actions, strict=True):
        hand, taken = int(v["hand"]), int(v["taken"])
        thrown = action % KNOCK
        allowed = [c for c in cards_of(int(v["legal"][0] | v["legal"][1])) if c != taken]
        assert (action >= KNOCK) == any(v["legal"][1] >> c & 1 for c in allowed)
        assert thrown != taken
        least = min(deadwood(hand & ~(1 << c)) for c in allowed)
        if not v["thrown"][0] >> taken & 1 if taken != NO_CARD else True:
            assert deadwood(hand & ~(1 << thrown)) == least


def test_simple_does_not_repeat_a_draw_and_discard():
    # It took the ten and threw the queen; the queen comes back, and the ten would be its discard.
    view = table("2S 3S 4S 6D 6H 6C QD QH QS TC AD", taken="QS", limit=0, thrown=[[1 << card("QS"), 0]])
    assert set(make_player("simple").act(with_luck(view, 50))) == {card("TC")}
    history = [card("TC"), UPCARD, card("QS"), STOCK, card("5C"), STOCK, card("9D"), STOCK, card("QS"), UPCARD]
    view["history"][0, : len(history)] = history
    view["num_history"] = len(history)
    assert set(make_player("simple").act(with_luck(view, 50))) == {card("AD")}


# camper


def test_camper_never_knocks_below_gin():
    views = in_phase(PHASE_DISCARD)
    actions = make_player("camper").act(views)
    could = 0
    for v, action in zip(views, actions, strict=True):
        if v["legal"][0] and v["legal"][1]:
            left = min(deadwood(v["hand"] & ~(1 << c)) for c in cards_of(int(v["legal"][1])))
            could += left > 0
            assert (action >= KNOCK) == (left == 0)
            assert action < KNOCK or deadwood(v["hand"] & ~(1 << (action - KNOCK))) == 0
    assert could > 30


# formula


KNOWN_JACKS, KNOWN_QUEENS = ([[0, mask_of(parse_cards(cards))]] for cards in ("JD JS", "QD QS"))


@pytest.mark.parametrize(
    ("hand", "seen", "thrown"),
    [
        # The pair whose cards are dead goes.
        ("TS TD QC QH AD", {"upcard": "TC TH"}, "TS TD"),
        ("TS TD QC QH AD", {"upcard": "QS QD"}, "QC QH"),
        # Two-ended runs are better than inside and one-ended ones.
        ("9D TD QC KC AH", {}, "QC KC"),
        ("TD JD TC QC AH", {}, "QC"),
        # What the opponent collects is held back.
        ("QC JH AD AH 9S", {"known_cards": KNOWN_JACKS}, "QC AD AH 9S"),
        ("QC JH AD AH 9S", {"known_cards": KNOWN_QUEENS}, "JH AD AH 9S"),
    ],
)
def test_formula_throws_what_is_worth_least(hand, seen, thrown):
    view = table(f"2S 3S 4S 6D 6H 6C {hand}", limit=0, **seen)
    assert make_player("formula").act(view)[0] in parse_cards(thrown)


# What the built-in styles and four hundred drawn ones, which have every leaning, do on the corpus.
ACTIONS = "dfc7407ac7ed3a0063fe67d952c241d30f11a4645acb7eda56a1b4bc47f03ffb"


def test_styles_play_as_they_did():
    views, digest = corpus_views(), hashlib.sha256()
    for name in STYLES:
        digest.update(StylePlayer(style(name), 5).act(views).astype(np.int16).tobytes())
    digest.update(StylePlayer(draw_styles(9, 400), 5).act(views, np.arange(len(views))).astype(np.int16).tobytes())
    assert digest.hexdigest() == ACTIONS


def test_a_seed_draws_the_same_legal_styles_and_many_begin_as_few():
    styles = draw_styles(3, 200)
    assert len(np.unique(styles)) == 200
    assert (draw_styles(3, 20) == styles[:20]).all()
    assert not np.isin(draw_styles(4, 200), styles).any()
    views = corpus_views()
    actions = StylePlayer(styles).act(views, np.arange(len(views)))
    assert action_masks(views)[np.arange(len(views)), actions].all()


def test_a_population_seats_another_style_in_every_game():
    assert (PopulationPlayer(count=8, draw=2).styles == draw_styles(2, 8)).all()
    views = corpus_views()[:64]
    slots = np.arange(len(views))
    named = make_player("population:count=8,draw=2", 5).act(views, slots)
    styles = draw_styles(2, 8)
    alone = np.concatenate([StylePlayer(styles[k % 8 : k % 8 + 1], 5).act(views[k : k + 1]) for k in slots])
    assert (named == alone).all()


def test_discards_that_are_not_looked_at_are_none_that_would_be_played():
    """A weight ahead so small that no cost changes by it keeps every discard in the running."""
    styles = draw_styles(7, 300)
    styles["discard"], styles["blunder"], styles["ahead"] = DISCARD_RULES.index("cost"), 0, 0
    everything = styles.copy()
    everything["ahead"] = 1e-300
    views = corpus_views()
    rows = np.arange(len(views))
    np.testing.assert_array_equal(StylePlayer(styles).act(views, rows), StylePlayer(everything).act(views, rows))
