"""What it learns, for a person: beside typical people and the levels, with certainty; and where a level now plays otherwise."""

import json

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.levels.describe import Learned, what_is_learned
from agents.levels.level import NAMES
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile
from agents.levels.traits import level_weights, traits_of
from agents.opponent_model.habits import COUNTS
from agents.opponent_model.posterior import Posteriors
from ginenv.bots.heuristics import make_style
from ginenv.bots.population import PopulationPlayer
from ginenv.engine.actions import PHASE_DISCARD, action_name
from ginenv.hands.hand import Hand

EARLY, LATE, MANY, GIN = (
    {"knock": 10, "late": 10},
    {"knock": 0, "late": 0},
    "knocks with many points",
    "plays on for gin",
)


def learned(level, home, hands, options) -> Learned:
    """What a level learns of somebody who plays a style."""
    name = f"{'late' if options is LATE else 'early'} {hands}"
    player = LevelPlayer(level, 1, profile=Profile(home, level, name))
    play_series(player, make_style(2, **options), series=1, hands=hands, seed=3)
    (found,) = what_is_learned(home, level, name)
    return found


def sorted_traits(traits):
    return sorted(traits, key=lambda each: each.name)


def trait(found: Learned, name: str):
    return next(each for each in found.traits if each.name == name)


def test_who_knocks_at_once_and_who_waits_for_gin_are_described_so_after_a_few_hands(level, tmp_path):
    early, late = (learned(level, tmp_path, 8, options) for options in (EARLY, LATE))
    assert "more often" in trait(early, MANY).words and "more often" in trait(late, GIN).words
    assert "more often" not in trait(late, MANY).words and "more often" not in trait(early, GIN).words
    assert trait(early, MANY).own[0] > trait(late, MANY).own[0]


def test_people_are_on_average_typical(level):
    count, people = 48, PopulationPlayer(2, 48, draw=77)
    posteriors, habits = Posteriors(count), np.zeros(count, COUNTS)
    for hands in (6, 40):
        play_series(
            make_style(1), people, series=count, hands=hands, seed=hands,
            after=lambda views, slots, numbers: posteriors.learn(views, slots),
        )  # fmt: skip
        shares = [
            [each.share for each in sorted_traits(traits_of(*row))]
            for row in zip(posteriors.records, habits, strict=True)
        ]
        assert np.abs(np.mean(shares, axis=0) - 0.5).max() < 0.15


def test_the_first_hand_gives_a_finding_and_certainty_grows(level, tmp_path):
    found = [learned(level, tmp_path, hands, LATE) for hands in (2, 8, 60)]
    assert found[0].hands_shown == 1 and found[0].clear_traits
    for name in (each.name for each in found[0].traits):
        left = [trait(each, name).left for each in found]
        assert left[0] > left[1] > left[2]
    gin = [trait(each, GIN) for each in found]
    assert gin[2].sure > gin[0].sure and np.ptp(gin[2].own) < np.ptp(gin[0].own)


@pytest.fixture
def hand() -> Hand:
    """A finished hand: both draw from the stock and discard what leaves the least deadwood."""
    hand = Hand.deal("gr", seed=5)
    while not hand.is_over:
        hand.push(make_style(1).act(hand.view())[0])
    return hand


def test_the_position_shown_is_one_in_which_the_level_now_chooses_otherwise(level, tmp_path, hand):
    name = learned(level, tmp_path, 20, LATE).opponent
    (found,) = what_is_learned(tmp_path, level, name, lambda name: [(7, 1, 0, hand)])
    at = found.position
    assert at is not None and (at.game, at.hand) == (7, 1) and at.installed != at.now and at.now in found.difference
    before = hand.after(at.move - 1)
    view = before.view()
    assert before.turn == 1 and view["phase"][0] <= PHASE_DISCARD
    player = LevelPlayer(
        level.with_settings(temperature=0, draw_temperature=0, hand_taste=0), 1, profile=Profile(tmp_path, level, name)
    )
    for action, bias in ((at.installed, None), (at.now, player.logit_bias(None, 1))):
        assert action_name(int(player.choose(view, bias)[0]), int(view["phase"][0])) == action
    (none,) = what_is_learned(tmp_path, level, name, lambda name: [])
    assert none.position is None and name in none.difference


def test_the_command_says_the_same_as_json(level, tmp_path, capsys):
    found = learned(level, tmp_path, 8, EARLY)
    command = ["learned", str(level.directory), "--home", str(tmp_path)]
    levels(command)
    text = capsys.readouterr().out
    levels([*command, "--as-json"])
    (shown,) = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in shown["traits"]] == [each.name for each in found.traits]
    assert shown["difference"] in text and all(each.words in text for each in found.clear_traits)


def test_the_installed_levels_were_measured_as_they_are():
    # After a change to the levels: python -m benchmarks.data.level_weights
    assert list(level_weights()) == list(NAMES)
