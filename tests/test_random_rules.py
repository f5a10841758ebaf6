"""Whatever valid rules are chosen, every face plays them: random rules, with the least and the most that each can be."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ginenv
from agents.arena import MatchSettings, play_match
from agents.programs.events import HandEvents, legal_texts
from agents.programs.views import read_views
from ginenv.engine.actions import PHASE_NAMES, parse_action
from ginenv.engine.cards import mask_of, parse_card
from ginenv.engine.rules import Rules
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_position, format_view, parse_position, parse_rules, parse_view, rules_text
from ginenv.pictures.render import to_image, to_text
from tests.support.positions import play_on, random_rules
from tests.support.rebuilt_hands import rebuild
from tests.support.scale import SCALE

ROOT = Path(__file__).parent.parent
TEMPLATE = "cmd:" + shlex.join([sys.executable, str(ROOT / "examples" / "template_bot.py")])
# Rules that a face once could not play.
MENDED = ("eaai,first_upcard=either,max_upcards=1",)


def drawn(count: int, seed: int) -> list[Rules]:
    """Random rules, after those that once did not work."""
    rng = np.random.default_rng(seed)
    return [*map(parse_rules, MENDED), *(random_rules(rng) for _ in range(count))]


def test_rules_are_written_and_read_back():
    for rules in drawn(50 * SCALE, 1):
        assert parse_rules(rules_text(rules)) == rules
        assert Rules.from_block(rules.block).block.tobytes() == rules.block.tobytes()


def check_protocol(hand: Hand, encoders: list[HandEvents | None], events: list[list[dict[str, Any]]]) -> None:
    """What programs are told: legal actions that are those of the hand, and events of moves as they happen."""
    for seat in range(2):
        if not hand.is_over and seat != hand.turn:
            continue
        view = read_views(hand.view(seat))[0]
        encoder = encoders[seat]
        if encoder is None:
            encoder = encoders[seat] = HandEvents(view)
        assert encoder.continues(view)
        encoder.update(view)
        events[seat] += encoder.unsent()
        [rebuilt] = rebuild(events[seat])
        assert mask_of(map(parse_card, rebuilt["cards"])) == hand.state["hands"][0, seat]
        assert (rebuilt["over"] is not None) == hand.is_over
        assert [parse_action(text) for text in legal_texts(view)] == hand.legal_actions()


def check_text(hand: Hand) -> None:
    """Lines and records are read back, and pictures and words are made."""
    line = format_position(hand)
    assert format_position(parse_position(line)) == line
    for seat in range(2):
        if hand.is_over or seat == hand.turn:
            assert format_view(parse_view(format_view(hand.view(seat)))) == format_view(hand.view(seat))
        assert to_text(hand.view(seat)[0])


def test_a_hand_round_trips_under_any_rules():
    rng = np.random.default_rng(2)
    phases = set()
    for rules in drawn(20 * SCALE, 3):
        hand, encoders, events = Hand.deal(rules, seed=int(rng.integers(2**31))), [None, None], [[], []]
        while True:
            phases.add(hand.phase)
            check_protocol(hand, encoders, events)
            if rng.random() < 0.1 or hand.is_over:
                check_text(hand)
            if hand.is_over:
                break
            play_on(hand, rng)
        to_image(hand.view(0)[0])
    # Several arrangements to choose among are rare; the presets' tests have them.
    assert {*PHASE_NAMES} - phases <= {"spread"}


def test_environments_play_any_rules():
    rng = np.random.default_rng(4)
    for rules in drawn(2 * SCALE, 5):
        batch = ginenv.SelfPlayBatch(8, rules, "game")
        vectors = [ginenv.GameVectorEnv(8, opponent, rules) for opponent in ("random", "formula")]
        batch.reset(seed=1)
        masks = [vector.reset(seed=1)[1]["action_mask"] for vector in vectors]
        for _ in range(60):
            batch.step(chosen(batch.masks, rng))
            for k, vector in enumerate(vectors):
                *_, info = vector.step(chosen(masks[k], rng))
                masks[k] = info["action_mask"]
                assert masks[k].any(axis=1).all()
        single = ginenv.HandEnv("simple", rules, render_mode="ansi")
        _, info = single.reset(seed=2)
        over = False
        while not over:
            *_, over, _, info = single.step(int(chosen(info["action_mask"][None], rng)[0]))
            single.render()
        assert info["outcome"]


def chosen(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random legal action of each row."""
    return (masks * rng.random(masks.shape)).argmax(axis=1)


@pytest.mark.parametrize(
    ("players", "unit"),
    [
        (("simple", "formula"), "games"),
        # A level solves the chances of a game under its rules, which takes long.
        (("level-2:learn=false", "network"), "hands"),
        ((TEMPLATE, "simple"), "games"),
    ],
)
def test_matches_come_to_an_end_under_any_rules(players, unit):
    for rules in drawn(2 * SCALE, 6):
        result = play_match(*players, pairs=1, unit=unit, settings=MatchSettings(rules))
        assert result.games["done"].all() and not result.faults
        assert np.isfinite(result.points.mean)
