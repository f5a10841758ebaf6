"""Levels on disk: profiles that survive, and levels that travel as directories."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer, make_formula, make_simple, make_style, style
from agents.cli.levels import levels
from agents.levels import profile as profiles
from agents.levels.answers import ANSWERS, Answers
from agents.levels.level import LEVEL, NAMES, Level, LevelError, digest_of, load_level
from agents.levels.package import (
    build_level,
    check_plays,
    convert_level,
    export_level,
    import_level,
)
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile, profile_path, read_learned, reset_level
from agents.levels.words import findings, what_did_you_learn
from agents.network.card import CARD
from agents.network.checkpoint import METADATA, WEIGHTS, save_checkpoint
from agents.network.inputs import NUM_HEURISTIC_FEATURES
from agents.network.nets import Actor
from agents.play.store import Home
from ginenv.encoding import OBSERVATION_SIZE
from ginenv.errors import GinError, UnknownNameError
from ginenv.players import make_player
from ginenv.view import VIEW
from tests.support.level_scenes import checksum, hands_of

# --- on disk --------------------------------------------------------------------------------------------------------------------


def learned_hands(home: Path, level: Level, opponent: str = "anna") -> int:
    """How many hands of an opponent a level has on record."""
    (known,) = read_learned(home, level, opponent).values()
    return int(known.counts["could"][0, 0])


def play_with_profile(level: Level, home: Path, hands: int, opponent: str = "anna", seed: int = 5) -> np.ndarray:
    player = LevelPlayer(level, 1, profile=Profile(home, level, opponent))
    return play_series(player, make_style(2, "takes-all", pairs=4.0, knock=7, late=7), series=1, hands=hands, seed=seed)


def test_what_was_learned_is_found_again_told_in_words_and_reset(level: Level, tmp_path: Path) -> None:
    before = play_with_profile(level, tmp_path / "a", 25)
    assert learned_hands(tmp_path / "a", level) == 25
    told = what_did_you_learn(tmp_path / "a", level)
    assert "anna: " in told and "hands shown" in told and "takes many upcards" in told
    assert re.search(r"It [^(]* \(certainty \d+ %\)", told)
    assert "takes the upcard: " in told and "Against it the level" in told
    (found,) = findings(tmp_path / "a", level, "anna")
    assert json.loads(json.dumps(found)) == found and 0 < found["hands_shown"] <= 25
    taken = next(habit for habit in found["habits"] if habit["habit"] == "takes the upcard")
    assert 0.8 * taken["could"] < taken["did"] <= taken["could"] and taken["others"] is None
    assert "ben: no hand shown yet" in what_did_you_learn(tmp_path / "a", level, "ben")
    # Where nothing depends on whom, the words say so.
    assert level.answers is not None and found["by_whom"] and "plays everybody" not in told
    alike = np.vstack([level.answers.matrix[:1], np.zeros_like(level.answers.matrix[1:])])
    same = replace(level, answers=Answers(alike, {}))
    assert not findings(tmp_path / "a", same, "anna")[0]["by_whom"]
    assert "; it plays everybody in this way." in what_did_you_learn(tmp_path / "a", same)
    # Somebody new is played by what holds against anybody, learned from the others' hands.
    assert (
        f"After {found['hands_shown']} hands of everybody it plays 100 % of what it was fitted to do against anybody"
        in told
    )
    (ben,) = findings(tmp_path / "a", level, "ben")
    assert (ben["hands_shown"], ben["hands_of_all"]) == (0, found["hands_shown"])
    stranger = LevelPlayer(level, 1, profile=Profile(tmp_path / "a", level, "ben")).leanings(None, 1)
    assert stranger is not None
    np.testing.assert_allclose(stranger[0], level.answers.matrix[0])
    sentence = reset_level(tmp_path / "a", level)
    assert level.digest in sentence and load_level(str(level.directory)).digest == level.digest
    assert "nothing yet" in what_did_you_learn(tmp_path / "a", level)
    assert (play_with_profile(level, tmp_path / "a", 25) == before).all()
    assert "nothing" in reset_level(tmp_path / "b", level)


def test_hands_of_all_opponents_count_once_each_for_what_holds_against_anybody(level: Level, tmp_path: Path) -> None:
    paced = level.with_settings(pace=45.0)
    sessions = {}
    for name, hands in (("anna", 25), ("ben", 12), ("cy", 6)):
        play_with_profile(paced, tmp_path, hands, name)
    shown = {name: int(known.known["hands"][0]) for name, known in read_learned(tmp_path, paced).items()}
    assert list(shown) == ["anna", "ben", "cy"] and len({*shown.values()}) == 3
    for name in (*shown, "somebody new"):
        player = sessions[name] = LevelPlayer(paced, 1, profile=Profile(tmp_path, paced, name))
        own, general = player.hands_shown(None, 1)
        assert (own.tolist(), general.tolist()) == ([shown.get(name, 0)], [sum(shown.values())])
    leanings = sessions["somebody new"].leanings(None, 1)
    assert level.answers is not None and leanings is not None
    np.testing.assert_allclose(leanings[0], level.answers.matrix[0] * general[0] / (general[0] + 45))
    # What others teach the level meanwhile is seen with the next hand of one's own.
    play_series(sessions["ben"], make_simple(2), series=1, hands=8, seed=7)
    play_series(sessions["anna"], make_simple(2), series=1, hands=8, seed=7)
    now = {name: int(known.known["hands"][0]) for name, known in read_learned(tmp_path, paced).items()}
    assert now["anna"] > shown["anna"] and now["ben"] > shown["ben"]
    assert [int(part[0]) for part in sessions["anna"].hands_shown(None, 1)] == [now["anna"], sum(now.values())]


def test_an_opponent_and_a_home_that_are_not_there_are_errors(
    level: Level, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned, home = ["learned", str(level.directory), "--home"], tmp_path / "home"
    for command in (learned, ["reset", *learned[1:]]):
        with pytest.raises(GinError, match=r"home .*nowhere does not exist; name the directory that holds"):
            levels([*command, str(tmp_path / "nowhere")])
    home.mkdir()
    with pytest.raises(UnknownNameError, match=r"^unknown opponent 'ann': .* has learned of nobody yet$"):
        levels([*learned, str(home), "--opponent", "ann"])
    levels([*learned, str(home)])
    assert "has learned nothing yet" in capsys.readouterr().out
    play_with_profile(level, home, 3)
    play_with_profile(level, home, 3, "ben")
    for more in ([], ["--as-json"]):
        with pytest.raises(
            UnknownNameError, match=r"^unknown opponent 'ann' \(did you mean 'anna'\?\); known: anna, ben$"
        ):
            levels([*learned, str(home), "--opponent", "ann", *more])
    levels([*learned, str(home), "--opponent", "anna"])
    assert "anna: " in capsys.readouterr().out


def test_the_case_of_letters_tells_nobody_apart(
    level: Level, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play_with_profile(level, tmp_path, 3, "Anna")
    play_with_profile(level, tmp_path, 2, "anna", seed=6)
    assert list(read_learned(tmp_path, level)) == ["Anna"] and learned_hands(tmp_path, level, "ANNA") == 5
    shown = int(read_learned(tmp_path, level, "Anna")["Anna"].known["hands"][0])
    player: Any = make_player(f"{level.directory}:profile={tmp_path},opponent=aNNA")
    assert player.hands_shown(None, 1)[0][0] == shown
    levels(["learned", str(level.directory), "--home", str(tmp_path), "--opponent", "anna"])
    assert f"Anna: {shown} hand" in capsys.readouterr().out


def test_blanks_around_a_name_tell_nobody_apart(
    level: Level, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    player: Any = make_player(f"{level.directory}:profile={tmp_path},opponent= Ann  Lee ")
    play_series(player, make_simple(2), series=1, hands=3, seed=5)
    assert list(read_learned(tmp_path, level)) == ["Ann Lee"]
    levels(["learned", str(level.directory), "--home", str(tmp_path), "--opponent", " ann lee "])
    assert "Ann Lee: " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["x" * 21, "a|b", "a\x07b"])
def test_an_opponents_name_is_one_that_the_tables_take(name: str, level: Level, tmp_path: Path) -> None:
    spec = f"{level.directory}:profile={tmp_path},opponent={name}"
    with pytest.raises(GinError, match="cannot be an opponent's name: a name has 1 to 20 printable characters"):
        make_player(spec)
    assert not list(tmp_path.iterdir())
    # Whom an earlier version took is still known.
    play_with_profile(level, tmp_path, 3, name)
    known: Any = make_player(spec)
    assert known.hands_shown(None, 1)[0][0] == read_learned(tmp_path, level)[name].known["hands"][0] > 0


def test_a_file_in_the_place_of_a_directory_is_said_alike_everywhere(level: Level, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    said = f"{file} is a file; it must be a directory, which may be a new one$"
    with pytest.raises(GinError, match=f"^profile {said}"):
        make_player(f"{level.directory}:profile={file}")
    for command in ("learned", "reset"):
        with pytest.raises(GinError, match=f"^home {said}"):
            levels([command, str(level.directory), "--home", str(file)])
    with pytest.raises(GinError, match=f"^home {said}"):
        Home(file)


def test_a_profile_and_a_slot_learn_the_same(level: Level, tmp_path: Path) -> None:
    views = np.array(hands_of(make_simple(1), make_formula(2), 6), VIEW)
    kept, slot = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna")), LevelPlayer(level, 1)
    for k in range(len(views)):
        for player in (kept, slot):
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    again = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna"))
    contexts = [player.contexts(np.zeros(1, np.int64), 1)[0] for player in (kept, slot, again)]
    assert contexts[0].any()
    np.testing.assert_allclose(contexts[0], contexts[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(contexts[0], contexts[2])
    others = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "ben"))
    assert not others.contexts(np.zeros(1, np.int64), 1).any()


def test_two_writers_both_count(level: Level, tmp_path: Path) -> None:
    players = [LevelPlayer(level, k, profile=Profile(tmp_path, level, name)) for k, name in enumerate("aab")]
    views = np.array(hands_of(make_simple(1), make_formula(2), 4), VIEW)
    for k in range(4):
        for player in players:
            player.observe_hands(views[k : k + 1], np.zeros(1, np.int64))
    assert learned_hands(tmp_path, level, "a") == 8 and learned_hands(tmp_path, level, "b") == 4
    assert sorted(read_learned(tmp_path, level)) == ["a", "b"]


@pytest.mark.parametrize(
    ("draws", "refuted"),
    [("takes-all", r"(?i)takes few|leaves|does not take"), ("takes-none", r"(?i)takes (?!few)|takes many")],
)
def test_what_a_level_believes_agrees_with_what_it_counted(
    level: Level, tmp_path: Path, draws: str, refuted: str
) -> None:
    player = LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna"))
    play_series(player, StylePlayer(style(draws)), series=1, hands=150, seed=5)
    (found,) = findings(tmp_path, level, "anna")
    taken = next(habit for habit in found["habits"] if habit["habit"] == "takes the upcard")
    share = taken["did"] / taken["could"]
    assert share > 0.9 if draws == "takes-all" else share < 0.1
    assert found["beliefs"]
    assert not [belief for belief in found["beliefs"] if re.match(refuted, belief["words"])]


def test_levels_of_one_name_keep_what_they_learn_apart(level: Level, tmp_path: Path) -> None:
    play_with_profile(level, tmp_path / "home", 5)
    same = tmp_path / "elsewhere" / level.directory.name
    shutil.copytree(level.directory, same)
    assert learned_hands(tmp_path / "home", load_level(str(same))) == 5
    answers = json.loads((same / ANSWERS).read_text())
    (same / ANSWERS).write_text(json.dumps(answers, indent=3))
    other = load_level(str(same))
    assert other.name == level.name and learned_hands(tmp_path / "home", other) == 0
    reset_level(tmp_path / "home", other)
    assert learned_hands(tmp_path / "home", level) == 5
    installed = load_level("level-2")
    assert profile_path(tmp_path, installed) == tmp_path / "levels" / "level-2.json"
    shutil.copytree(installed.directory, tmp_path / "level-2")
    assert profile_path(tmp_path, load_level(str(tmp_path / "level-2"))) != profile_path(tmp_path, installed)


LEARNER = """
import sys
from pathlib import Path
from agents.bots.heuristics import make_simple
from agents.levels.level import load_level
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile
from agents.arena.series import play_series
level = load_level(sys.argv[1])
player = LevelPlayer(level, 1, profile=Profile(Path(sys.argv[2]), level, "anna"))
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
    before = profile_path(tmp_path, level).read_bytes()

    def full(path: Path, values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(profiles, "write_json", full)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        play_with_profile(level, tmp_path, 2, seed=6)
    assert any("No space left on device" in str(warning.message) for warning in told)
    assert profile_path(tmp_path, level).read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "list", "number"])
def test_a_damaged_profile_is_one_sentence_and_stays_as_it_is(level: Level, tmp_path: Path, damage: str) -> None:
    play_with_profile(level, tmp_path, 2)
    path = profile_path(tmp_path, level)
    text = path.read_text()
    values = json.loads(text)
    values["opponents"]["anna"]["mean"][0] = "many"
    values["checksum"] = checksum(values)
    broken = {
        "cut": text[: len(text) // 2], "flip": text.replace("1", "2", 1), "empty": "", "list": "[]",
        "number": json.dumps(values),
    }[damage]  # fmt: skip
    path.write_text(broken)
    with pytest.raises(LevelError) as raised:
        Profile(tmp_path, level, "anna")
    assert path.name in str(raised.value) and "\n" not in str(raised.value)
    assert path.read_text() == broken
    reset_level(tmp_path, level)
    assert learned_hands(tmp_path, level) == 0


# --- export and import ----------------------------------------------------------------------------------------------------------


def test_a_level_travels_as_a_directory(directory: Path, level: Level, tmp_path: Path) -> None:
    assert export_level(str(directory), tmp_path / "out").directory == tmp_path / "out"
    assert load_level(str(tmp_path / "out")).digest == level.digest
    assert import_level(tmp_path / "out", tmp_path / "in").digest == level.digest
    player = make_player(str(tmp_path / "in"), seed=3)
    assert (
        play_series(player, make_simple(2), series=2, hands=4, seed=5)
        == play_series(LevelPlayer(level, 3), make_simple(2), series=2, hands=4, seed=5)
    ).all()
    with pytest.raises(LevelError, match="already"):
        export_level(str(directory), tmp_path / "out")


def test_a_level_travels_as_one_file(directory: Path, level: Level, tmp_path: Path) -> None:
    export_level(str(directory), tmp_path / "a.zip")
    assert import_level(tmp_path / "a.zip", tmp_path / "in").digest == level.digest
    said = (
        f"is a file, not a directory .*; gin levels import {tmp_path}/a.zip DIRECTORY makes a level's directory of it"
    )
    for name in (str(tmp_path / "a.zip"), f"{tmp_path}/a.zip:learn=false"):
        with pytest.raises(UnknownNameError, match=said):
            make_player(name)
    with pytest.raises(LevelError, match=said):
        load_level(str(tmp_path / "a.zip"))
    export_level(str(tmp_path / "in"), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "a.zip").read_bytes()
    with pytest.raises(LevelError, match="already"):
        export_level(str(directory), tmp_path / "a.zip")


def _packed(**members: bytes) -> bytes:
    with io.BytesIO() as content:
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return content.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no archive", "not a level that was exported"),
        (_packed(**{"../level.json": b"{}"}), "holds '../level.json'"),
        (_packed(**{"evil.pth": b"import os"}), "holds 'evil.pth'"),
        (_packed(**{LEVEL: b"{}"}), "bad.zip"),
        (_packed(**{WEIGHTS: b"0" * (65 << 20)}), "64 MiB"),
        (_packed(**{LEVEL: b"{}" * 1000})[:-30], "not a level that was exported"),
    ],
)
def test_a_file_that_is_no_level_is_refused_in_one_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(LevelError) as raised:
        import_level(tmp_path / "bad.zip", tmp_path / "in")
    assert words in str(raised.value) and "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == ["bad.zip"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 9}, "format"),
        ({"weights_sha256": "0"}, "other weights"),
        ({"settings": {"title": "x", "plans": [0, -1]}}, "unknown key 'plans'"),
        ({"settings": {"title": "x", "memory": 99}}, "memory"),
        ({"settings": {"title": "x", "memorie": 3}}, "did you mean"),
        ({"secret": 1}, "unknown key"),
    ],
)
def test_an_import_is_checked_and_leaves_nothing_behind(
    directory: Path, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    export_level(str(directory), tmp_path / "bad")
    values = json.loads((tmp_path / "bad" / LEVEL).read_text())
    (tmp_path / "bad" / LEVEL).write_text(json.dumps(values | change))
    with pytest.raises(GinError, match=words):
        import_level(tmp_path / "bad", tmp_path / "in")
    assert os.listdir(tmp_path) == ["bad"]


def test_truncated_weights_are_refused(directory: Path, tmp_path: Path) -> None:
    export_level(str(directory), tmp_path / "bad")
    weights = (tmp_path / "bad" / WEIGHTS).read_bytes()
    (tmp_path / "bad" / WEIGHTS).write_bytes(weights[:-10])
    with pytest.raises(GinError, match="truncated"):
        import_level(tmp_path / "bad", tmp_path / "in")


def test_a_level_that_does_not_exist_suggests_one() -> None:
    with pytest.raises(LevelError, match="level-3"):
        load_level("levl-3")
    assert [load_level(k).name for k in range(1, 5)] == list(NAMES)


def test_a_directory_that_is_no_level_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(
        LevelError, match=r"is not a level's directory: it has no level\.json; gin levels build makes one"
    ):
        load_level(str(tmp_path))


# --- built and converted ----------------------------------------------------------------------------------------------------------


def test_a_level_is_built_of_a_run_or_any_checkpoint_plays_and_travels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(1)
    checkpoint = tmp_path / "run" / "best"
    save_checkpoint(checkpoint, Actor((16,), 0, NUM_HEURISTIC_FEATURES), (16,), {"decisions": 5, "config": {"seed": 7}})
    # How strong the network was says nothing of a level, which errs.
    metadata = json.loads((checkpoint / METADATA).read_text(encoding="utf-8"))
    (checkpoint / METADATA).write_text(json.dumps(metadata | {"measured": ["a match"]}), encoding="utf-8")
    levels(
        [
            "build",
            str(checkpoint.parent),
            "--out",
            str(tmp_path / "out" / "mine"),
            "--like",
            "level-2",
            "--set",
            "worlds=0",
        ]
    )
    built = load_level(str(tmp_path / "out" / "mine"))
    assert built.answers is not None and built.learns
    assert built.name == "mine" and built.settings == load_level("level-2").settings
    assert built.about["decisions"] == 5 and built.about["seed"] == 7
    assert "measured" not in json.loads((built.directory / METADATA).read_text(encoding="utf-8"))
    check_plays(built, ["eaai"])
    assert "gone" not in capsys.readouterr().out
    again = ["build", str(checkpoint), "--out", str(built.directory), "--like", "level-2", "--set", "worlds=0"]
    with pytest.raises(LevelError, match=r"mine holds a level already; name another directory, or .* \(--replace\)"):
        levels([*again, "grabs=1"])
    assert load_level(str(built.directory)).digest == built.digest
    levels([*again, "--replace"])
    assert f"The level that was there (sha256 {built.digest}) is gone." in capsys.readouterr().out
    levels(["export", str(built.directory), str(tmp_path / "exported")])
    levels(["import", str(tmp_path / "exported"), str(tmp_path / "imported")])
    for directory in (built.directory, tmp_path / "exported", tmp_path / "imported"):
        assert "## Limits" in (directory / CARD).read_text(encoding="utf-8")
    points = [
        play_series(make_player(str(path), 3), make_simple(2), series=2, hands=4, seed=5)
        for path in (built.directory, tmp_path / "imported")
    ]
    assert (points[0] == points[1]).all() and points[0].any()
    with pytest.raises(GinError, match="level-2 is installed; gin levels export level-2"):
        levels(["fit", "level-2"])
    with pytest.raises(GinError, match="opponent must be a name, not empty"):
        levels(["learned", str(built.directory), "--opponent", "", "--home", str(tmp_path / "out")])
    # Built again it takes the place of the old one where that is asked for, and of nothing else.
    other = built.settings.model_copy(update={"grabs": 1.0})
    with pytest.raises(LevelError, match="holds a level already"):
        build_level(built.directory, other, checkpoint, built.answers)
    assert load_level(str(built.directory)).digest == built.digest
    replaced = build_level(built.directory, other, checkpoint, built.answers, replace=True)
    assert replaced.digest != built.digest and replaced.settings == other
    assert build_level(built.directory, built.settings, checkpoint, built.answers, replace=True).digest == built.digest
    for place, words in ((tmp_path / "run", "not an empty directory"), (tmp_path / "new", "is not the directory of a")):
        source = checkpoint if place.exists() else tmp_path / "nowhere"
        with pytest.raises(LevelError, match=words):
            build_level(place, built.settings, source, replace=True)
    assert sorted(os.listdir(tmp_path)) == ["exported", "imported", "out", "run"]


def test_a_directory_that_is_named_like_an_installed_level_is_the_directory(
    level: Level, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    levels(["build", str(directory), "--out", "level-2", "--like", "level-1"])
    built = load_level(Path("level-2"))
    assert built.digest != load_level("level-2").digest
    assert f"level-2 is in level-2 (sha256 {built.digest})." in capsys.readouterr().out
    levels(["build", str(directory), "--out", "level-2", "--replace"])
    assert f"(sha256 {built.digest}) is gone" in capsys.readouterr().out
    built = load_level(Path("level-2"))
    levels(["import", "level-2", "level-3"])
    assert f"is in level-3 (sha256 {built.digest})." in capsys.readouterr().out
    assert export_level("./level-2", Path("level-4")).digest == built.digest
    assert convert_level(Path("level-4")) == "level-2 has format 3 already."


HABITS = 40
OLD_SETTINGS = {"answers": False, "heeds": 0.0, "insight": 0.0, "bot": False, "noise": 0.0}


def in_format_1(level: Level, directory: Path, **settings: object) -> None:
    """The same level as an older version wrote it, with a network that reads habits."""
    shutil.copytree(level.directory, directory)
    (directory / ANSWERS).unlink(missing_ok=True)
    weights = load_file(directory / WEIGHTS)
    first = weights["trunk.layers.0.weight"]
    habits, at = torch.randn(len(first), HABITS).to(first.dtype), OBSERVATION_SIZE + 1
    weights["trunk.layers.0.weight"] = torch.cat([first[:, :at], habits, first[:, at:]], 1)
    save_file(weights, directory / WEIGHTS)
    digest = hashlib.sha256((directory / WEIGHTS).read_bytes()).hexdigest()
    metadata = json.loads((directory / METADATA).read_text()) | {"habits": HABITS, "weights_sha256": digest}
    metadata.pop("context")
    metadata["advice"] = metadata.pop("heuristic_features")
    (directory / METADATA).write_text(json.dumps(metadata))
    values = json.loads((directory / LEVEL).read_text())
    values |= {"format": 1, "weights_sha256": digest, "population": {}, "foresight": {}}
    values["settings"] |= OLD_SETTINGS | settings
    (directory / LEVEL).write_text(json.dumps(values))


def test_a_level_of_format_1_is_converted_once_and_plays_as_before(level: Level, tmp_path: Path) -> None:
    torch.manual_seed(2)
    save_checkpoint(tmp_path / "network", Actor((16,), 0, NUM_HEURISTIC_FEATURES), (16,), {})
    level = build_level(tmp_path / "new", level.settings, tmp_path / "network")
    in_format_1(level, tmp_path / "old")
    with pytest.raises(LevelError, match="gin convert"):
        load_level(str(tmp_path / "old"))
    assert "plays as before" in convert_level(tmp_path / "old")
    converted = load_level(str(tmp_path / "old"))
    assert converted.settings == level.settings and not converted.learns
    points = [play_series(LevelPlayer(one, 1), make_simple(2), series=4, hands=8, seed=5) for one in (level, converted)]
    assert (points[0] == points[1]).all()
    assert "already" in convert_level(tmp_path / "old") and load_level(str(tmp_path / "old")).digest == converted.digest


def test_what_a_converted_level_does_no_longer_is_said(level: Level, tmp_path: Path) -> None:
    in_format_1(level, tmp_path / "plans", plans=[0, -1, -2, -3, -4], doubt=3.0)
    assert "plans, doubt is gone" in convert_level(tmp_path / "plans")
    in_format_1(level, tmp_path / "search", worlds=8, slack=0.02)
    assert "slack is gone; its search now goes by its own network" in convert_level(tmp_path / "search")
    assert load_level(str(tmp_path / "search")).settings.slack == 0
    shutil.rmtree(tmp_path / "search")
    in_format_1(level, tmp_path / "bot", bot=True)
    before = digest_of(tmp_path / "bot")
    with pytest.raises(LevelError, match="bot is true"):
        convert_level(tmp_path / "bot")
    assert digest_of(tmp_path / "bot") == before and sorted(os.listdir(tmp_path)) == ["bot", "plans"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_profile_of_an_earlier_format_is_kept_beside_the_new_one(level: Level, tmp_path: Path, number: int) -> None:
    """What it counted, levels do no more."""
    path = profile_path(tmp_path, level)
    path.parent.mkdir(parents=True)
    values = {"format": number, "level": "small", "opponents": {"anna": {"hands": [5], "mean": [0.0] * 5}}}
    path.write_text(json.dumps(values | {"checksum": checksum(values)}))
    written = path.read_bytes()
    assert learned_hands(tmp_path, level) == 0 and path.read_bytes() == written
    with pytest.warns(UserWarning, match="what small learned before cannot be read by this version"):
        play_with_profile(level, tmp_path, 1)
    assert path.with_suffix(".json.old").read_bytes() == written
    assert json.loads(path.read_text())["format"] == 3 and learned_hands(tmp_path, level) == 1
