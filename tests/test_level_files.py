"""Levels on disk: profiles that survive, and levels that travel as directories."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.bots.heuristics import make_formula, make_simple
from agents.cli.levels import run as command
from agents.levels import profile as profiles
from agents.levels.bench.opponents import habitual
from agents.levels.level import LEVEL, NAMES, Level, LevelError, load_level
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile, profile_path, read_learned, reset_level
from agents.levels.words import what_did_you_learn
from agents.network.checkpoint import WEIGHTS
from ginenv.errors import GinError
from ginenv.players import make_player
from ginenv.view import VIEW
from tests.support.level_scenes import hands_of

# --- on disk --------------------------------------------------------------------------------------------------------------------


def learned_hands(home: Path, level: Level, opponent: str = "anna") -> int:
    record = read_learned(profile_path(home, level.name), level).opponents.get(opponent)
    return 0 if record is None else int(record["hands"][0])


def play_with_profile(level: Level, home: Path, hands: int, opponent: str = "anna", seed: int = 5) -> np.ndarray:
    player = LevelPlayer(level, 1, profile=Profile.open(home, level, opponent))
    return play_series(player, habitual("collector", 2), series=1, hands=hands, seed=seed)


def test_what_was_learned_is_found_again_told_in_words_and_reset(level: Level, tmp_path: Path) -> None:
    before = play_with_profile(level, tmp_path / "a", 25)
    assert learned_hands(tmp_path / "a", level) == 25
    told = what_did_you_learn(tmp_path / "a", level)
    assert "anna: 25 hands seen" in told and "others" in told and "%" in told and "As a whole, from 25 hands" in told
    assert "ben: no hand seen yet" in what_did_you_learn(tmp_path / "a", level, "ben")
    sentence = reset_level(tmp_path / "a", level)
    assert level.digest in sentence and load_level(str(level.directory)).digest == level.digest
    assert "nothing yet" in what_did_you_learn(tmp_path / "a", level)
    assert (play_with_profile(level, tmp_path / "a", 25) == before).all()
    assert "nothing" in reset_level(tmp_path / "b", level)


def test_two_writers_both_count(level: Level, tmp_path: Path) -> None:
    players = [LevelPlayer(level, k, profile=Profile.open(tmp_path, level, name)) for k, name in enumerate("aab")]
    views = np.array(hands_of(make_simple(1), make_formula(2), 4), VIEW)
    for k in range(4):
        for player in players:
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    assert learned_hands(tmp_path, level, "a") == 8 and learned_hands(tmp_path, level, "b") == 4
    assert read_learned(profile_path(tmp_path, level.name), level).whole["hands"] == [12]


LEARNER = """
import sys
from pathlib import Path
from agents.bots.heuristics import make_simple
from agents.levels.level import load_level
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile
from agents.arena.series import play_series
level = load_level(sys.argv[1])
player = LevelPlayer(level, 1, profile=Profile.open(Path(sys.argv[2]), level, "anna"))
print("ready", flush=True)
play_series(player, make_simple(2), series=1, hands=100000, seed=5)
"""


def test_a_killed_process_leaves_a_whole_profile(level: Level, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    hands = 0
    for _ in range(2):
        arguments = [sys.executable, "-c", LEARNER, str(level.directory), str(tmp_path)]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
        assert process.stdout is not None and process.stdout.readline()
        deadline = time.time() + 240
        while learned_hands(tmp_path, level) == hands and time.time() < deadline:
            time.sleep(rng.uniform(0.01, 0.1))
        process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()
        more = learned_hands(tmp_path, level)
        assert more > hands
        hands = more
    play_with_profile(level, tmp_path, 1)
    assert learned_hands(tmp_path, level) == hands + 1


def test_a_full_disk_is_one_sentence_and_the_game_goes_on(
    level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_with_profile(level, tmp_path, 3)
    before = profile_path(tmp_path, level.name).read_bytes()

    def full(path: Path, values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(profiles, "write_json", full)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        play_with_profile(level, tmp_path, 2, seed=6)
    assert any("No space left on device" in str(warning.message) for warning in told)
    assert profile_path(tmp_path, level.name).read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "list", "number"])
def test_a_damaged_profile_is_one_sentence_and_stays_as_it_is(level: Level, tmp_path: Path, damage: str) -> None:
    play_with_profile(level, tmp_path, 2)
    path = profile_path(tmp_path, level.name)
    text = path.read_text()
    values = json.loads(text)
    values["opponents"]["anna"]["hits"][0] = "many"
    values["checksum"] = profiles._checksum(values)
    broken = {
        "cut": text[: len(text) // 2], "flip": text.replace("1", "2", 1), "empty": "", "list": "[]",
        "number": json.dumps(values),
    }[damage]  # fmt: skip
    path.write_text(broken)
    with pytest.raises(LevelError) as raised:
        Profile.open(tmp_path, level, "anna")
    assert path.name in str(raised.value) and "\n" not in str(raised.value)
    assert path.read_text() == broken
    reset_level(tmp_path, level)
    assert Profile.open(tmp_path, level, "anna").record["hands"][0] == 0


# --- export and import ----------------------------------------------------------------------------------------------------------


def test_a_level_travels_as_a_directory(directory: Path, level: Level, tmp_path: Path) -> None:
    assert "sha256" in command(["export", str(directory), str(tmp_path / "out")])
    assert load_level(str(tmp_path / "out")).digest == level.digest
    assert "was checked" in command(["import", str(tmp_path / "out"), str(tmp_path / "in")])
    player = make_player(str(tmp_path / "in"), seed=3)
    assert (
        play_series(player, make_simple(2), series=2, hands=4, seed=5)
        == play_series(LevelPlayer(level, 3), make_simple(2), series=2, hands=4, seed=5)
    ).all()
    with pytest.raises(LevelError, match="already"):
        command(["export", str(directory), str(tmp_path / "out")])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 9}, "format"),
        ({"weights_sha256": "0"}, "other weights"),
        ({"foresight": {}}, "foresight"),
        ({"settings": {"title": "x", "memory": 99}}, "memory"),
        ({"settings": {"title": "x", "memorie": 3}}, "did you mean"),
        ({"secret": 1}, "unknown key"),
        ({"population": {}}, "population"),
    ],
)
def test_an_import_is_checked_and_leaves_nothing_behind(
    directory: Path, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    command(["export", str(directory), str(tmp_path / "bad")])
    values = json.loads((tmp_path / "bad" / LEVEL).read_text())
    (tmp_path / "bad" / LEVEL).write_text(json.dumps(values | change))
    with pytest.raises(GinError, match=words):
        command(["import", str(tmp_path / "bad"), str(tmp_path / "in")])
    assert os.listdir(tmp_path) == ["bad"]


def test_truncated_weights_are_refused(directory: Path, tmp_path: Path) -> None:
    command(["export", str(directory), str(tmp_path / "bad")])
    weights = (tmp_path / "bad" / WEIGHTS).read_bytes()
    (tmp_path / "bad" / WEIGHTS).write_bytes(weights[:-10])
    with pytest.raises(GinError, match="truncated"):
        command(["import", str(tmp_path / "bad"), str(tmp_path / "in")])


def test_a_level_that_does_not_exist_suggests_one() -> None:
    with pytest.raises(LevelError, match="level-3"):
        load_level("levl-3")
    shown = command(["show"])
    assert all(shown.count(f'"name": "{name}",') == 1 for name in NAMES)
