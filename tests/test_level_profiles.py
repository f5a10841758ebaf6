"""What levels learn, on disk: found again, told apart, written by several, and never lost."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.levels.level import LEVEL, Level, copy_level, load_level
from agents.levels.memory import (
    Memory,
    Profile,
    profile_path,
    read_learned,
    read_milestones,
    read_opponents,
    reset_level,
    write_points,
)
from agents.levels.player import LevelPlayer
from agents.levels.sentences import describe_learning, strength_in_words, what_is_learned
from ginenv.bots.heuristics import make_formula, make_simple, make_style
from ginenv.errors import GinError, UnknownNameError
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses


def learned_hands(home: Path, level: Level, opponent: str = "anna") -> int:
    """How many hands of an opponent a level has on record."""
    (memory,) = read_opponents(home, level, opponent).values()
    return int(memory.opponents.records["hands"][0])


def play_with_profile(level: Level, home: Path, hands: int, opponent: str = "anna", seed: int = 5) -> np.ndarray:
    player = LevelPlayer(level, 1, profile=Profile(home, level, opponent))
    return play_series(player, make_style(2, "takes-all", pairs=4.0, knock=7, late=7), series=1, hands=hands, seed=seed)


def test_learning_is_reloaded_described_and_reset(level: Level, tmp_path: Path) -> None:
    home = tmp_path / "a"
    before = play_with_profile(level, home, 25)
    description = describe_learning(home, level)
    (anna,) = what_is_learned(home, level, "anna")
    assert anna.sentences and all(str(sentence) in description for sentence in anna.sentences)
    assert anna.coached in description and json.loads(json.dumps(anna.to_json()))["coached"] == anna.coached
    assert "ben: no hand shown yet" in describe_learning(home, level, "ben")
    learned = read_learned(home, level)
    assert learned is not None and learned.hands == sum(count for count, _ in learned.agreement) == anna.hands
    # Somebody new is played by what everybody's hands have taught, and by nothing else.
    (ben,) = what_is_learned(home, level, "ben")
    assert (ben.hands_shown, ben.hands, ben.sentences) == (0, anna.hands, [])
    stranger = LevelPlayer(level, 1, profile=Profile(home, level, "ben")).manner(None, 1)[1][0]
    np.testing.assert_allclose(stranger, learned.mean)
    assert np.abs(stranger - level.settings.biases).max() > 0
    sentence = reset_level(home, level)
    assert level.digest in sentence and load_level(str(level.directory)).digest == level.digest
    assert "nothing yet" in describe_learning(home, level)
    assert (play_with_profile(level, home, 25) == before).all()
    assert "nothing" in reset_level(tmp_path / "b", level)


def test_points_of_milestones_stay_whoever_writes_those_of_others(level: Level, tmp_path: Path) -> None:
    play_with_profile(level, tmp_path, 25)
    first, then = read_milestones(tmp_path, level)
    found = [(1.0, 0.5, 1.5), (2.0, 1.5, 2.5)]
    measured = [one.model_copy(update={"points": points}) for one, points in zip((first, then), found, strict=True)]
    write_points(tmp_path, level, measured[:1])
    # Whoever has read them before measures another one.
    write_points(tmp_path, level, [first, measured[1]])
    assert [one.points for one in read_milestones(tmp_path, level)] == found
    # The last figure is after 20 hands.
    words = strength_in_words(read_milestones(tmp_path, level))
    assert "+2.00 (+1.50 to +2.50) after 20 hands" in words and "after 50 hands" in words and " wins" not in words


def test_a_level_that_has_learned_is_copied_loaded_and_goes_on(level: Level, tmp_path: Path) -> None:
    play_with_profile(level, tmp_path / "home", 12)
    learned = read_learned(tmp_path / "home", level)
    copy = copy_level(str(level.directory), tmp_path / "copy", learned)
    assert copy.digest != level.digest and load_level(str(copy.directory)).learned == learned
    players = LevelPlayer(level, 1, profile=Profile(tmp_path / "home", level, "new")), LevelPlayer(copy, 1, learn=False)
    biases = [player.memory.biases(np.zeros(1, np.int64)) for player in players]
    np.testing.assert_allclose(biases[0], biases[1])
    np.testing.assert_allclose(players[1].manner(None, 1)[1], biases[0])
    # It goes on from there, and is reset to it.
    play_with_profile(copy, tmp_path / "home", 5)
    after = read_learned(tmp_path / "home", copy)
    assert learned is not None and after is not None and after.hands == learned.hands + 5
    assert reset_level(tmp_path / "home", copy) and read_learned(tmp_path / "home", copy) is None


def test_everybodys_hands_teach_the_game(level: Level, tmp_path: Path) -> None:
    for name, hands in (("anna", 8), ("ben", 5)):
        play_with_profile(level, tmp_path, hands, name)
    learned = read_learned(tmp_path, level)
    assert learned is not None and learned.hands == 13
    shown = {name: learned_hands(tmp_path, level, name) for name in read_opponents(tmp_path, level)}
    assert list(shown) == ["anna", "ben"] and sum(shown.values()) <= 13


def test_an_opponent_that_is_not_there_is_an_error(level, tmp_path, capsys):
    learned, home = ["learned", str(level.directory), "--home"], tmp_path / "home"
    home.mkdir()
    levels([*learned, str(home)])
    assert "has learned nothing yet" in capsys.readouterr().out
    play_with_profile(level, home, 3)
    with refuses(UnknownNameError, "'ann'", "'anna'"):
        levels([*learned, str(home), "--opponent", "ann", "--as-json"])
    with refuses(GinError, 1, 20):
        make_player(f"{level.directory}:profile={home},opponent={'x' * 21}")


def test_neither_the_case_of_letters_nor_blanks_tell_people_apart(level, tmp_path, capsys):
    play_with_profile(level, tmp_path, 3, "Anna Lee")
    player: Any = make_player(f"{level.directory}:profile={tmp_path},opponent= aNNA  lee ")
    play_series(player, make_simple(2), series=1, hands=2, seed=6)
    assert list(read_opponents(tmp_path, level)) == ["Anna Lee"]
    learned, shown = read_learned(tmp_path, level), learned_hands(tmp_path, level, "ANNA LEE")
    assert learned is not None and learned.hands == 5 >= shown > 0
    levels(["learned", str(level.directory), "--home", str(tmp_path), "--opponent", " anna lee "])
    assert f"Anna Lee: {shown} hand" in capsys.readouterr().out


def test_a_profile_and_a_slot_learn_the_same(level: Level, tmp_path: Path) -> None:
    views = np.array(hands_of(make_simple(1), make_formula(2), 6), VIEW)
    stored, slot = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna")), LevelPlayer(level, 1)
    for k in range(len(views)):
        for player in (stored, slot):
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    # Without a profile row 0 is nobody's.
    means = [player.memory.opponents.records["mean"][row] for player, row in ((stored, 0), (slot, 1))]
    np.testing.assert_allclose(means[0], means[1])
    again, other = (LevelPlayer(level, 1, profile=Profile(tmp_path, level, name)) for name in ("anna", "ben"))
    np.testing.assert_array_equal(means[0], again.memory.opponents.records["mean"][0])
    assert other.memory.opponents.records.tobytes() == Memory(level.skill).opponents.records.tobytes()
    assert (means[0] != other.memory.opponents.records["mean"][0]).any()


def test_two_writers_both_count(level: Level, tmp_path: Path) -> None:
    players = [LevelPlayer(level, k, profile=Profile(tmp_path, level, name)) for k, name in enumerate("aab")]
    views = np.array(hands_of(make_simple(1), make_formula(2), 4), VIEW)
    for k in range(4):
        for player in players:
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    shown = learned_hands(tmp_path, level, "b")
    assert learned_hands(tmp_path, level, "a") == 2 * shown > 0
    assert sorted(read_opponents(tmp_path, level)) == ["a", "b"]


def test_levels_of_one_name_keep_what_they_learn_apart(level: Level, tmp_path: Path) -> None:
    home, same = tmp_path / "home", tmp_path / "elsewhere" / level.directory.name
    play_with_profile(level, home, 5)
    shutil.copytree(level.directory, same)
    assert read_learned(home, load_level(str(same))) == read_learned(home, level)
    values = json.loads((same / LEVEL).read_text())
    values["settings"]["hand_taste"] = 0.5
    (same / LEVEL).write_text(json.dumps(values))
    other, installed = load_level(str(same)), load_level("level-2")
    assert other.name == level.name and read_learned(home, other) is None
    reset_level(home, other)
    assert read_learned(home, level) is not None
    copied = copy_level("level-2", tmp_path / "level-2")
    assert profile_path(tmp_path, copied) != profile_path(tmp_path, installed) == tmp_path / "levels" / "level-2.json"


def test_a_disk_that_takes_nothing_ends_no_game(level, tmp_path, monkeypatch):
    play_with_profile(level, tmp_path, 3)
    before = profile_path(tmp_path, level).read_bytes()

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agents.levels.memory.write_json", full)
    with pytest.warns(UserWarning, match="No space left"):
        play_with_profile(level, tmp_path, 2, seed=6)
    assert profile_path(tmp_path, level).read_bytes() == before
