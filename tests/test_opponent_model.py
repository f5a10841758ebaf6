"""Knowing an opponent: choices are read off shown hands as they were made, and what is learned of them foretells more."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from agents.levels.features import FEATURES, NUM_WEIGHTS
from agents.levels.opponents import WORKSPACE, Posteriors, before_turn, learn_hand, shipped_prior, shown_hand
from benchmarks.data.opponent_prior import drawn_cards
from ginenv.bots.heuristics import StylePlayer, make_simple, style
from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from ginenv.view.turns import MAX_TURNS, TURN, read_turns
from tests.support.level_scenes import hands_of


def play(rules: str, seed: int) -> tuple[Hand, list[tuple[int, int, int, int]]]:
    """A hand between two styles, and what seat 1 saw and did: its cards, the upcard, the card drawn and the action, by decision."""
    hand = Hand.deal(rules, seed=seed)
    names = "style:base=simple,knock=6,late=6", "style:base=takes-all,blunder=0.1"
    players = [make_player(name, seed) for name in names]
    seen = []
    while not hand.is_over:
        view = hand.view()
        action = int(players[hand.turn].act(view)[0])
        if hand.turn == 1:
            seen.append((int(view["hand"][0]), int(view["upcard"][0]), int(view["drawn"][0]), action))
        hand.push(action)
    return hand, seen


@pytest.mark.parametrize("rules", ["eaai", "gc"])
def test_the_true_cards_lead_back_through_every_choice_as_it_was_made(rules):
    shown, choices = 0, 0
    for seed in range(16):
        hand, seen = play(rules, seed)
        view = hand.view(0)[0]
        cards = int(shown_hand(view))
        if not cards:
            continue
        shown += 1
        turns, drawn = np.zeros(MAX_TURNS, TURN), np.zeros(MAX_TURNS, np.int64)
        count = read_turns(view, turns)
        drawn_cards(view, hand.state["deck"][0], int(hand.state["position"][0]), drawn)
        # Lay-offs and the choice of a spread come after the turns.
        discards = [
            (hand_cards, action % KNOCK, action >= KNOCK)
            for hand_cards, _, _, action in seen
            if hand_cards.bit_count() == 11
        ]
        drawing = [one for one in seen if one[3] in (STOCK, UPCARD, PASS) and one[0].bit_count() == 10]
        offers = [(upcard, action == UPCARD) for _, upcard, _, action in drawing]
        read_discards, read_offers = [], []
        for k in range(count - 1, -1, -1):
            t = turns[k]
            if t["discarded"] >= 0:
                eleven = cards | 1 << int(t["discarded"])
                read_discards.append((eleven, int(t["discarded"]), bool(t["knocked"])))
                if t["drew"]:
                    # What came from the stock is one of the cards among which it is looked for.
                    assert eleven & ~int(t["before"]) & 1 << int(drawn[k])
            cards = int(before_turn(cards, t, drawn[k]))
            assert cards.bit_count() in (10, 11) and int(t["before"]) & ~cards == 0
            if t["top"] >= 0:
                read_offers.append((int(t["top"]), bool(t["took"])))
        assert read_discards[::-1] == [d for d in discards if d[1] < 52]
        assert read_offers[::-1] == offers[: len(read_offers)]
        choices += len(read_discards)
    assert shown > 5 and choices > 15


@cache
def met(base: str) -> tuple[np.void, ...]:
    """Final views of 60 hands of a style against ``simple``."""
    return tuple(hands_of(make_simple(1), StylePlayer(style(base)), 3, seed=4, series=20))


def posteriors_of(base: str) -> Posteriors:
    views = np.array(met(base))
    posteriors = Posteriors(1)
    posteriors.learn(views, np.zeros(len(views), np.int64))
    return posteriors


def weight(posteriors: Posteriors, feature: str, row: int = 0) -> float:
    return float(posteriors.records["mean"][row, FEATURES.index(feature)])


def test_different_people_are_distinguished():
    takes, never = posteriors_of("takes-all"), posteriors_of("takes-none")
    assert weight(takes, "any upcard") > weight(never, "any upcard") + 2
    wants = [weight(one, "makes a meld") + weight(one, "any upcard") for one in (takes, never)]
    assert wants[0] > 0 > wants[1]
    pairs, runs = posteriors_of("hoards-pairs"), posteriors_of("prefers-runs")
    assert weight(pairs, "has another of its rank") < weight(runs, "has another of its rank") - 1
    assert weight(runs, "has a neighbour in its suit") < weight(pairs, "has a neighbour in its suit") - 0.5


def test_a_stranger_is_at_no_distance_and_certainty_grows():
    posteriors, views = Posteriors(3), np.array(met("hoards-pairs"))
    traces = []
    for part in (views[:0], views[:5], views[5:]):
        posteriors.learn(part, np.ones(len(part), np.int64))
        distances = posteriors.distances(np.arange(3))
        assert distances.shape == (3, NUM_WEIGHTS) and not distances[[0, 2]].any()
        assert distances[1].any() == bool(traces)
        traces.append(np.trace(np.linalg.inv(posteriors.records["precision"][1])))
    assert traces[0] > traces[1] > traces[2]


def test_hands_that_were_not_shown_teach_nothing():
    views = np.array(met("hoards-pairs")).copy()
    views["shown"], views["laid"] = 0, 0
    posteriors = Posteriors(1)
    posteriors.learn(views, np.zeros(len(views), np.int64))
    assert posteriors.records.tobytes() == Posteriors(1).records.tobytes()


def test_a_batch_teaches_what_its_hands_teach_one_by_one():
    views = np.concatenate([np.array(met("hoards-pairs"))[:6], np.array(met("takes-all"))[:6]])
    rows = np.repeat([0, 1], 6)
    order = np.arange(12).reshape(2, 6).T.ravel()
    together, alone = Posteriors(2), Posteriors(2)
    together.learn(views[order], rows[order])
    for view, row in zip(views, rows, strict=True):
        alone.learn(view.reshape(1), np.array([row]))
    assert np.array_equal(together.records["mean"], alone.records["mean"])


def test_a_shown_hand_counts_once_as_the_prior_says() -> None:
    views = next(view for seed in range(16) if shown_hand((view := play("eaai", seed)[0].view(0))[0]))
    known, prior = Posteriors(1), shipped_prior()
    known.learn(views, np.zeros(1, np.int64))
    alone = prior.stranger[0]
    assert learn_hand(views[0], alone["mean"], alone["precision"], np.zeros(1, WORKSPACE)[0], prior.tempered)
    assert np.array_equal(known.records["mean"][0], alone["mean"]) and known.records["hands"][0] == 1
