"""Styles drawn at random: the same for a seed, different from each other, and their leanings do what their names say."""

from __future__ import annotations

import hashlib

import numpy as np

from ginenv.bots.heuristics import STYLES, StylePlayer, style
from ginenv.bots.population import PopulationPlayer, draw_styles
from ginenv.bots.style_kernels import DISCARD_RULES
from ginenv.engine.actions import KNOCK, UPCARD
from ginenv.tables.players import make_player
from ginenv.view.view import action_masks
from tests.test_players import card, corpus_views, table, with_luck

# What the built-in styles do on the corpus; it changes with the presets and their rules.
ACTIONS = "de35e3a557d0e5b122dd1adf8b118ff88e2f40655cb14bd59a9118169558693e"


def test_built_in_styles_play_as_they_did():
    views, digest = corpus_views(), hashlib.sha256()
    for name in STYLES:
        digest.update(StylePlayer(style(name), 5).act(views).astype(np.int16).tobytes())
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
    for shift in range(3):
        rows = np.arange(len(views)) + 100 * shift
        np.testing.assert_array_equal(StylePlayer(styles).act(views, rows), StylePlayer(everything).act(views, rows))


def share(view, wanted, **logit_bias):
    """How often a style without other habits does something."""
    actions = StylePlayer(style("simple", **logit_bias)).act(with_luck(view, 400))
    return np.isin(actions, wanted).mean()


HAND = "2S 2H 4D 6C 7C 9H TD JS QC KD"


def test_upcards_tempt():
    pair, run, low = table(HAND, upcard="9S"), table(HAND, upcard="8C"), table(HAND, upcard="3S")
    assert share(pair, UPCARD) == 0 and 0.3 < share(pair, UPCARD, pair_bait=0.4) < 0.5
    # The 8 of clubs makes a meld of 6, 7 and 8; the king of hearts stands near no heart.
    assert share(run, UPCARD) == 1 and 0.55 < share(run, UPCARD, overlook=0.4) < 0.65
    assert share(table(HAND, upcard="9C"), UPCARD, run_bait=1.0) == 1
    assert share(table(HAND, upcard="KH"), UPCARD, run_bait=1.0) == 0
    assert share(low, UPCARD, low_bait=2) == 0 and share(low, UPCARD, low_bait=3) == 1


def test_a_knocker_with_patience_waits_and_one_with_nerves_does_not():
    eleven = "2S 3S 4S 6D 6H 6C TS TD TC 2D 9C"
    knocks = [KNOCK + card("9C")]
    assert share(table(eleven), knocks) == 1 and 0.45 < share(table(eleven), knocks, patience=0.5) < 0.55
    threatened = table(eleven, known_cards=[[0, 1 << card("KH") | 1 << card("KD")]])
    assert share(threatened, knocks, knock=0, late=0) == 0
    assert share(threatened, knocks, knock=0, late=0, nerve=3) == 0
    assert share(threatened, knocks, knock=0, late=0, nerve=2) == 1


def discards(**logit_bias):
    """What a style that goes by cost throws from a hand of loose cards, when the opponent threw the 9 of clubs."""
    view = table("AS 3H 5D 7C 9H JS QD KC 2C 4S 6H", thrown=[[0, 1 << card("9C")]], pile_cards=1 << card("9C"))
    view["pile"][0, 0], view["num_pile"] = card("9C"), 1
    return int(StylePlayer(style("simple", discard="cost", memory=32, **logit_bias)).act(view)[0])


def test_pair_and_safety_biases_decide_a_discard():
    assert discards() in [card(name) for name in ("JS", "QD", "KC")]
    assert discards(kings=5.0) == card("JS")
    assert discards(kings=5.0, follow=9.0) == card("9H")
    assert discards(high=-2.0) in [card(name) for name in ("JS", "QD", "KC")] and discards(high=3.0) == card("AS")


def test_what_was_taken_is_clung_to():
    expected_cards = dict(known_cards=[[1 << card("KC"), 0]])
    view = table("AS 3H 5D 7C 9H 8S TD KC 2C 4S 6H", **expected_cards)
    player = style("simple", discard="cost", high=-1.0)
    assert StylePlayer(player).act(view)[0] in (card("KC"), card("TD"))
    player["clings"] = 5.0
    assert StylePlayer(player).act(view)[0] == card("TD")


def test_who_fears_no_runs_feeds_them():
    # The opponent holds 8 and 9 of clubs: the 10 of clubs makes a run, the 10 of hearts nothing.
    view = table(
        "AS 2D 4H 5C TC TH QS QD QC 7S 7D",
        known_cards=[[0, 1 << card("8C") | 1 << card("9C")]],
        legal=[1 << card("TC") | 1 << card("TH"), 0, 0],
    )
    afraid = style("simple", discard="cost", danger=9.0, infer=1, memory=32)
    assert StylePlayer(afraid).act(view)[0] == card("TH")
    bold = style("simple", discard="cost", danger=9.0, infer=1, memory=32, unafraid="no-runs", kings=0.0, high=0.0)
    bold["noise"] = 0.01
    assert set(StylePlayer(bold).act(with_luck(view, 50))) == {card("TC"), card("TH")}
