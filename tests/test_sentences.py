"""What a level has learned, for a person: how strong it has become, sentences that are true, and a position in which it plays otherwise."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.levels.level import load_level
from agents.levels.memory import Profile
from agents.levels.opponents import Posteriors
from agents.levels.player import LevelPlayer
from agents.levels.sentences import Learning, measure_strength, most_often, sentences_about, what_is_learned
from agents.play.session import Session
from agents.play.store import Home
from ginenv.bots.heuristics import make_style
from ginenv.bots.population import PopulationPlayer
from ginenv.engine.actions import PHASE_DISCARD, action_name
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from ginenv.view.wording import what_it_does, what_to_do

EARLY, LATE = {"knock": 10, "late": 10}, {"knock": 0, "late": 0}


def learned(level, home, hands, options) -> Learning:
    """What a level learns of somebody who plays a style."""
    name = f"{'late' if options is LATE else 'early'} {hands}"
    player = LevelPlayer(level, 1, profile=Profile(home, level, name))
    play_series(player, make_style(2, **options), series=1, hands=hands, seed=3)
    (found,) = what_is_learned(home, level, name)
    return found


def test_who_knocks_at_once_and_who_waits_for_gin_are_described_so(level, tmp_path):
    early, late = (learned(level, tmp_path, 40, options).sentences for options in (EARLY, LATE))
    assert any((one.text.startswith("knocks") and "more points" in one.text) or "earlier" in one.text for one in early)
    assert any("plays on for gin more often" in one.text and one.sure for one in late)
    assert not {one.text for one in early} & {one.text for one in late if "knock" in one.text or "gin" in one.text}
    assert len(early) <= 5 >= len(late)


def test_of_typical_people_little_is_said_to_be_sure():
    count = 48
    posteriors = Posteriors(count)
    play_series(
        make_style(1), PopulationPlayer(2, count, draw=77), series=count, hands=40, seed=40,
        after=lambda views, slots, numbers: posteriors.learn(views, slots),
    )  # fmt: skip
    said = [sentence.text for record in posteriors.records for sentence in sentences_about(record)]
    counts = {text: said.count(text) for text in said}
    # Whoever is unlike the others is so in either direction: nothing is said of most of them.
    assert max(counts.values()) < 0.6 * count


@pytest.fixture
def hand() -> Hand:
    """A finished hand: both draw from the stock and discard what leaves the least deadwood."""
    hand = Hand.deal("gr", seed=5)
    while not hand.is_over:
        hand.push(make_style(1).act(hand.view())[0])
    return hand


def test_the_position_shown_is_one_in_which_the_level_now_chooses_otherwise(level, tmp_path, hand):
    name = learned(level, tmp_path, 40, LATE).opponent
    (found,) = what_is_learned(tmp_path, level, name, lambda name: [(7, 1, 0, hand)])
    at = found.position
    assert at is not None and (at.game, at.hand) == (7, 1) and at.installed != at.now
    assert f"would most often {at.would} here" in found.difference and found.difference.endswith(f"it now {at.does}.")
    before = hand.after(at.move - 1)
    view = before.view()
    assert before.turn == 1 and view["phase"][0] <= PHASE_DISCARD
    player = LevelPlayer(level, 1, profile=Profile(tmp_path, level, name))
    for action, biases in ((at.installed, level.skill["mean"]), (at.now, player.memory.biases(np.zeros(1, np.int64)))):
        chosen = int(most_often(player, view, biases)[0][0])
        assert action_name(chosen, int(view["phase"][0])) == action
        words = what_to_do(chosen, view[0]) if action == at.installed else what_it_does(chosen, view[0])
        assert words in found.difference
    (none,) = what_is_learned(tmp_path, level, name, lambda name: [])
    assert none.position is None and name in none.difference
    # Of whom nothing can be said, no position is said to be played otherwise either.
    name = learned(level, tmp_path, 1, LATE).opponent
    (little,) = what_is_learned(tmp_path, level, name, lambda name: [(7, 1, 0, hand)])
    assert not little.sentences and little.position is None and not little.difference


def test_the_coach_is_quoted_once_there_are_two_periods_to_compare() -> None:
    def told(*agreement: tuple[int, float]) -> str:
        return Learning("level-1", "Ann", 99, list(agreement), [], 0, None, [], None).coached

    both = told((20, 0.85), (20, 0.9), (3, 0.5))
    assert "85 %" in both and "90 %" in both and "50 %" not in both
    assert "coach" not in told((20, 0.85)) and "coach" not in told((20, 0.85), (3, 0.5))


def test_the_command_says_the_same_as_json(level, tmp_path, capsys):
    found = learned(level, tmp_path, 8, EARLY)
    command = ["learned", str(level.directory), "--home", str(tmp_path)]
    levels(command)
    text = capsys.readouterr().out
    levels([*command, "--as-json"])
    (shown,) = json.loads(capsys.readouterr().out)
    assert [each["text"] for each in shown["sentences"]] == [each.text for each in found.sentences]
    assert shown["difference"] in text and all(each.text in text for each in found.sentences)


def at_the_table(home: Path, bot: str, hands: int) -> Learning:
    """What level 2 has learned of somebody who plays some hands at the table as a bot does."""
    session, player = Session(Home(home).create("Ann"), seed=5), make_player(bot, 3)
    session.set_option("rules", "eaai")
    session.set_option("opponent", "level-2")
    for _ in range(hands):
        if session.is_playing and not session.match.is_over:
            session.next_hand()
        else:
            session.new_game()
        session.go_on()
        while session.is_turn:
            session.play(int(player.act(session.hand.view())[0]))
            session.go_on()
    session.close()
    (found,) = what_is_learned(home, load_level("level-2"), "Ann")
    return found


@pytest.mark.slow  # twice 300 hands, each move saved as at the table, and thousands that measure strength
def test_a_persons_habit_is_named_nobody_elses_is_and_the_level_has_become_stronger(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    takes_all, plain = (at_the_table(tmp_path / bot, bot, 300) for bot in ("style:base=takes-all", "formula"))
    habit = "picks up cards that make no meld more often than most people"
    assert any(one.text == habit and one.sure for one in takes_all.sentences)
    assert not any(one.text == habit for one in plain.sentences)
    first, *_, last = measure_strength(tmp_path / "formula", load_level("level-2"))
    assert (first.hands, last.hands) == (0, 200) and first.points and last.points
    assert last.points[0] > first.points[0] + 0.3
