"""What levels learn, on disk: found again, told apart, written by several, and never lost."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.levels.describe import describe_learning, what_is_learned
from agents.levels.dial import GRID, STRANGER
from agents.levels.level import Level, LevelError, load_level
from agents.levels.opponent_memory import OpponentMemory
from agents.levels.player import LevelPlayer
from agents.levels.profile import (
    Profile,
    export_opponent,
    import_opponent,
    profile_path,
    read_learned,
    reset_level,
)
from agents.levels.responses import RESPONSES
from agents.opponent_model.features import NUM_WEIGHTS
from ginenv.bots.heuristics import make_formula, make_simple, make_style
from ginenv.errors import GinError, UnknownNameError
from ginenv.tables.players import make_player
from ginenv.view.view import VIEW
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses


def learned_hands(home: Path, level: Level, opponent: str = "anna") -> int:
    """How many hands of an opponent a level has on record."""
    (memory,) = read_learned(home, level, opponent).values()
    return int(memory.counts["could"][0, 0])


def pooled(player: LevelPlayer) -> int:
    """Hands that count for the growth of a player with a profile."""
    return int(player.opponents.hands_learned(np.zeros(1, np.int64))[0])


def play_with_profile(level: Level, home: Path, hands: int, opponent: str = "anna", seed: int = 5) -> np.ndarray:
    player = LevelPlayer(level, 1, profile=Profile(home, level, opponent))
    return play_series(player, make_style(2, "takes-all", pairs=4.0, knock=7, late=7), series=1, hands=hands, seed=seed)


def test_learning_is_reloaded_described_and_reset(level: Level, tmp_path: Path) -> None:
    home = tmp_path / "a"
    before = play_with_profile(level, home, 25)
    assert learned_hands(home, level) == 25
    description = describe_learning(home, level)
    (anna,) = what_is_learned(home, level, "anna")
    assert anna.clear_traits and all(trait.words in description for trait in anna.clear_traits)
    assert json.loads(json.dumps(anna.to_json()))["traits"][0]["words"] == anna.traits[0].words
    assert "ben: no hand shown yet" in describe_learning(home, level, "ben")
    # Where nothing depends on whom, the words say so.
    assert level.responses is not None and anna.depends_on_opponent and "everybody alike" not in description
    same = replace(level, responses=replace(level.responses, specific=np.zeros((NUM_WEIGHTS, NUM_WEIGHTS))))
    assert "everybody alike" in describe_learning(home, same)
    # Somebody new is played by what holds against anybody, learned from the others' hands.
    gained = level.gained(anna.hands_shown)
    assert f"After {anna.hands_shown} hands of everybody it plays about {gained:.1f} points" in description
    assert anna.gained == round(gained, 2) > 0
    (ben,) = what_is_learned(home, level, "ben")
    assert (ben.hands_shown, ben.hands_of_all, ben.traits) == (0, anna.hands_shown, [])
    stranger = LevelPlayer(level, 1, profile=Profile(home, level, "ben")).logit_bias(None, 1)
    assert stranger is not None
    np.testing.assert_allclose(stranger[0], np.interp(gained, *level.responses.gains.T[::-1]) * level.responses.general)
    sentence = reset_level(home, level)
    assert level.digest in sentence and load_level(str(level.directory)).digest == level.digest
    assert "nothing yet" in describe_learning(home, level)
    assert (play_with_profile(level, home, 25) == before).all()
    assert "nothing" in reset_level(tmp_path / "b", level)


def test_hands_of_all_opponents_count_once_each_for_growth(level: Level, tmp_path: Path) -> None:
    sessions = {}
    for name, hands in (("anna", 25), ("ben", 12), ("cy", 6)):
        play_with_profile(level, tmp_path, hands, name)
    shown = {name: int(memory.records["hands"][0]) for name, memory in read_learned(tmp_path, level).items()}
    assert list(shown) == ["anna", "ben", "cy"] and len({*shown.values()}) == 3
    for name in (*shown, "somebody new"):
        player = sessions[name] = LevelPlayer(level, 1, profile=Profile(tmp_path, level, name))
        assert pooled(player) == sum(shown.values())
    # What others teach the level meanwhile is seen with the next hand of one's own.
    play_series(sessions["ben"], make_simple(2), series=1, hands=8, seed=7)
    play_series(sessions["anna"], make_simple(2), series=1, hands=8, seed=7)
    now = {name: int(memory.records["hands"][0]) for name, memory in read_learned(tmp_path, level).items()}
    assert now["anna"] > shown["anna"] and now["ben"] > shown["ben"]
    assert pooled(sessions["anna"]) == sum(now.values())


def test_an_opponent_and_a_home_that_are_not_there_are_errors(level, tmp_path, capsys):
    learned, home = ["learned", str(level.directory), "--home"], tmp_path / "home"
    for command in (learned, ["learned", str(level.directory), "--reset", "--home"]):
        with refuses(GinError, "home", tmp_path / "nowhere"):
            levels([*command, str(tmp_path / "nowhere")])
    home.mkdir()
    with refuses(UnknownNameError, "'ann'"):
        levels([*learned, str(home), "--opponent", "ann"])
    levels([*learned, str(home)])
    assert "has learned nothing yet" in capsys.readouterr().out
    play_with_profile(level, home, 3)
    play_with_profile(level, home, 3, "ben")
    for more in ([], ["--as-json"]):
        with refuses(UnknownNameError, "'ann'", "'anna'", "ben"):
            levels([*learned, str(home), "--opponent", "ann", *more])
    levels([*learned, str(home), "--opponent", "anna"])
    assert "anna: " in capsys.readouterr().out


def test_the_case_of_letters_tells_nobody_apart(level, tmp_path, capsys):
    play_with_profile(level, tmp_path, 3, "Anna")
    play_with_profile(level, tmp_path, 2, "anna", seed=6)
    assert list(read_learned(tmp_path, level)) == ["Anna"] and learned_hands(tmp_path, level, "ANNA") == 5
    shown = int(read_learned(tmp_path, level, "Anna")["Anna"].records["hands"][0])
    player: Any = make_player(f"{level.directory}:profile={tmp_path},opponent=aNNA")
    assert player.opponents.records["hands"][0] == shown
    levels(["learned", str(level.directory), "--home", str(tmp_path), "--opponent", "anna"])
    assert f"Anna: {shown} hand" in capsys.readouterr().out
    # Nor do blanks around a name.
    player = make_player(f"{level.directory}:profile={tmp_path},opponent= Ann  Lee ")
    play_series(player, make_simple(2), series=1, hands=3, seed=5)
    assert list(read_learned(tmp_path, level)) == ["Ann Lee", "Anna"]
    levels(["learned", str(level.directory), "--home", str(tmp_path), "--opponent", " ann lee "])
    assert "Ann Lee: " in capsys.readouterr().out


def test_an_opponents_name_is_one_that_the_tables_take(level: Level, tmp_path: Path) -> None:
    with refuses(GinError, 1, 20):
        make_player(f"{level.directory}:profile={tmp_path},opponent={'x' * 21}")
    assert not list(tmp_path.iterdir())


def test_a_profile_and_a_slot_learn_the_same(level: Level, tmp_path: Path) -> None:
    views = np.array(hands_of(make_simple(1), make_formula(2), 6), VIEW)
    stored, slot = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna")), LevelPlayer(level, 1)
    for k in range(len(views)):
        for player in (stored, slot):
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    again = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna"))
    # Without a profile row 0 is nobody's.
    means = [player.opponents.records["mean"][row] for player, row in ((stored, 0), (slot, 1), (again, 0))]
    stranger = OpponentMemory().records
    assert (means[0] != stranger["mean"][0]).any()
    np.testing.assert_allclose(means[0], means[1])
    np.testing.assert_array_equal(means[0], means[2])
    others = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "ben"))
    assert others.opponents.records.tobytes() == stranger.tobytes()


def test_two_writers_both_count(level: Level, tmp_path: Path) -> None:
    players = [LevelPlayer(level, k, profile=Profile(tmp_path, level, name)) for k, name in enumerate("aab")]
    views = np.array(hands_of(make_simple(1), make_formula(2), 4), VIEW)
    for k in range(4):
        for player in players:
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    assert learned_hands(tmp_path, level, "a") == 8 and learned_hands(tmp_path, level, "b") == 4
    assert sorted(read_learned(tmp_path, level)) == ["a", "b"]


def test_levels_of_one_name_keep_what_they_learn_apart(level: Level, tmp_path: Path) -> None:
    play_with_profile(level, tmp_path / "home", 5)
    same = tmp_path / "elsewhere" / level.directory.name
    shutil.copytree(level.directory, same)
    assert learned_hands(tmp_path / "home", load_level(str(same))) == 5
    responses = json.loads((same / RESPONSES).read_text())
    (same / RESPONSES).write_text(json.dumps(responses, indent=3))
    other = load_level(str(same))
    assert other.name == level.name and learned_hands(tmp_path / "home", other) == 0
    reset_level(tmp_path / "home", other)
    assert learned_hands(tmp_path / "home", level) == 5
    installed = load_level("level-2")
    assert profile_path(tmp_path, installed) == tmp_path / "levels" / "level-2.json"
    shutil.copytree(installed.directory, tmp_path / "level-2")
    assert profile_path(tmp_path, load_level(str(tmp_path / "level-2"))) != profile_path(tmp_path, installed)


def test_a_disk_that_takes_nothing_ends_no_game(level, tmp_path, monkeypatch):
    play_with_profile(level, tmp_path, 3)
    before = profile_path(tmp_path, level).read_bytes()

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agents.levels.profile.write_json", full)
    with pytest.warns(UserWarning, match="No space left"):
        play_with_profile(level, tmp_path, 2, seed=6)
    assert profile_path(tmp_path, level).read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "other level", "number"])
def test_a_damaged_profile_is_one_sentence_and_stays_as_it_is(level: Level, tmp_path: Path, damage: str) -> None:
    play_with_profile(level, tmp_path, 2)
    path = profile_path(tmp_path, level)
    text = path.read_text()
    values = json.loads(text)
    values["opponents"]["anna"]["mean"][0] = "many"
    broken = {
        "cut": text[: len(text) // 2], "other level": text.replace(f'"{level.name}"', '"level-1"'), "number": json.dumps(values),
    }[damage]  # fmt: skip
    path.write_text(broken)
    with refuses(LevelError, level.name, path) as raised:
        Profile(tmp_path, level, "anna")
    assert "\n" not in str(raised.value)
    assert path.read_text() == broken
    reset_level(tmp_path, level)
    assert learned_hands(tmp_path, level) == 0


def _largest(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a schema lets through, at its edges."""
    diagonal = np.diag([1e12, *[1e-3] * (NUM_WEIGHTS - 1)])[np.tril_indices(NUM_WEIGHTS)].tolist()
    yield {"hands": 2**31}
    yield {"could": [2.0**31] * len(record["could"])}
    yield {"mean": [1e12] * NUM_WEIGHTS}
    yield {"precision": diagonal}
    yield {"strength": {"posterior": [0.0] * len(GRID), "ratings": [], "hands": 5}}
    yield {"strength": {"posterior": STRANGER.tolist(), "ratings": [], "hands": 2**31}}


def test_hands_can_be_added_to_whatever_memory_was_taken(level: Level, tmp_path: Path) -> None:
    play_with_profile(level, tmp_path, 3)
    values = export_opponent(tmp_path, level, "anna")
    [record] = values["opponents"].values()
    for change in ({}, *_largest(record)):
        changed = json.dumps(values | {"opponents": {"x": record | change}}).encode()
        if change:
            with refuses(LevelError):
                import_opponent(tmp_path, level, "ben", changed)
        else:
            import_opponent(tmp_path, level, "ben", changed)
        play_with_profile(level, tmp_path, 1, "ben")
    assert learned_hands(tmp_path, level, "ben") == 3 + 7
