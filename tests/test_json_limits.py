"""JSON that others wrote: whatever stands in it, every reader refuses it in one short sentence, or reads it."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arena.configs import TournamentConfig, read_rules_argument
from agents.arena.tournament import Tournament
from agents.files import MAX_DEPTH, JsonError, parse_json, read_json
from agents.levels.level import LEVEL, Level, LevelError, load_level
from agents.levels.package import build_level
from agents.levels.player import LevelPlayer
from agents.levels.profile import Profile, profile_path, read_learned
from agents.levels.responses import RESPONSES, read_responses
from agents.network.checkpoint import METADATA, load_checkpoint, load_critic
from agents.opponent_model.features import NUM_WEIGHTS
from agents.opponent_model.habits import NUM_HABITS
from agents.programs.player import BotLimits, OutsidePlayer
from agents.reports.curves import read_curve
from agents.search.belief import METADATA as HAND_MODEL
from agents.search.belief import load_hand_model
from ginenv.errors import GinError
from tests.support.refusals import refuses

DEEP = "[" * 100_000 + "]" * 100_000
NASTY = {
    "deep": DEEP,
    "deep in objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deep inside": '{"format": ' + DEEP + "}", "deeper than the limit": "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    "digits": "9" * 5000, "digits inside": '{"format": ' + "9" * 5000 + ', "checksum": ""}', "no text": b"\xff\xfe\x00",
    "half a character": '{"format": "\\ud800", "\\udfff": 1}', "nothing": "", "cut": '{"format":', "a list": "[]", "a text": '"x"',
    "a number": "1e400", "null": "null", "not a number": "NaN", "an object": "{}",
    "lists for values": '{"format": 1, "checksum": [], "settings": [], "opponents": [], "config": [], "player": [], "widths": {}}',
    "long": json.dumps({"format": "x" * 900_000, "y" * 900_000: 1, "player": "z" * 900_000}),
}  # fmt: skip
# Each gets a directory with a level in it, in which it finds or writes its file.
Reader = Callable[[Path, bytes], object]


def written(place: Path, content: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def _tournament(directory: Path, content: bytes) -> object:
    written(directory / "out" / "tournament.json", content)
    return Tournament(TournamentConfig(players={"a": "simple", "b": "random"}, out=directory / "out"))


READERS: dict[str, Reader] = {
    "level": lambda directory, content: load_level(str(written(directory / LEVEL, content).parent)),
    "checkpoint": lambda directory, content: load_checkpoint(written(directory / METADATA, content).parent),
    "critic": lambda directory, content: load_critic(written(directory / METADATA, content).parent),
    "hand model": lambda directory, content: load_hand_model(written(directory / HAND_MODEL, content).parent),
    "responses": lambda directory, content: read_responses(written(directory / RESPONSES, content), "a level"),
    "profile": lambda directory, content: read_learned(
        written(profile_path(directory, load_level(str(directory))), content).parents[1], load_level(str(directory))
    ),
    "curve": lambda directory, content: read_curve(written(directory / "curve.json", content)),
    "rules": lambda directory, content: read_rules_argument("{" + content.decode("latin-1")),
    "tournament": _tournament,
}


@pytest.mark.parametrize("reader", READERS)
def test_nasty_json_is_one_short_sentence(reader: str, directory: Path, tmp_path: Path) -> None:
    for kind, content in NASTY.items():
        place = tmp_path / kind
        shutil.copytree(directory, place)
        try:
            READERS[reader](place, content if isinstance(content, bytes) else content.encode())
        except GinError as error:
            words = str(error)
            assert "\n" not in words and len(words) < 1200 + len(str(place)), (kind, len(words))
            words.encode()


@pytest.mark.parametrize("kind", [kind for kind in NASTY if kind not in ("an object", "lists for values", "long")])
def test_a_program_with_hostile_json_is_at_fault(kind: str, tmp_path: Path) -> None:
    content = NASTY[kind]
    (tmp_path / "line").write_bytes((content if isinstance(content, bytes) else content.encode()) + b"\n")
    player = OutsidePlayer(f"cat {tmp_path / 'line'} -", limits=BotLimits(restarts=0, end_seconds=0.1))
    with refuses(GinError, "cat"):
        player.start(read_rules_argument("eaai"))
    player.close()


def test_the_reader_reads_what_json_can_hold() -> None:
    values = {"a": [1, -2.5, True, None, "ä🂡"], "b": {"c": 2**64 - 1}, "d": float("inf")}
    assert parse_json(json.dumps(values)) == values == parse_json(json.dumps(values, ensure_ascii=False).encode())
    for text in ("[" * MAX_DEPTH + "]" * MAX_DEPTH, "9" * 40):
        assert parse_json(text) == json.loads(text)
    for text in ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "9" * 41, '"\\udc00"', b"\xff"):
        with pytest.raises(JsonError):
            parse_json(text)


def test_what_is_no_file_is_refused_and_does_not_hang(level: Level, tmp_path: Path) -> None:
    """A pipe into which nobody writes; a device without an end."""
    path = profile_path(tmp_path, level)
    path.parent.mkdir()
    os.mkfifo(path)
    with refuses(LevelError, path.name):
        Profile(tmp_path, level, "anna")
    for place in ("/dev/zero", tmp_path):
        with refuses(OSError):
            read_json(place)
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with refuses(OSError, "64 MiB"):
        read_json(tmp_path / "huge")


def signed(values: dict[str, Any]) -> bytes:
    content = {key: value for key, value in values.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return json.dumps(content | {"checksum": digest}).encode()


PRECISION = np.eye(NUM_WEIGHTS)[np.tril_indices(NUM_WEIGHTS)].tolist()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("hands", number) for number in (-5, 1e300, float("nan"), 10**30, "many", [3])),
        ("mean", [float("inf")] * NUM_WEIGHTS),
        ("mean", [1e300] * NUM_WEIGHTS),
        ("mean", [0.0] * 3),
        ("precision", [0.0] * len(PRECISION)),
        ("precision", [1.0] * len(PRECISION)),
        ("precision", [0.0] * 7),
        ("precision", None),
        ("did", {}),
        ("could", [-1.0] * NUM_HABITS),
    ],
)
def test_a_profile_with_a_right_checksum_and_absurd_values_is_refused(key, value, level, tmp_path):
    record = {"hands": 3, "mean": [0.0] * NUM_WEIGHTS, "precision": PRECISION}
    record |= {"did": [0.0] * NUM_HABITS, "could": [2.0] * NUM_HABITS}
    plain = {"format": 3, "level": level.name, "opponents": {"anna": record | {key: value}}}
    path = written(profile_path(tmp_path, level), signed(plain))
    with refuses(LevelError, path.name) as raised:
        Profile(tmp_path, level, "anna")
    assert "\n" not in str(raised.value)
    path.write_bytes(signed(plain | {"opponents": {"anna": record}}))
    assert read_learned(tmp_path, level, "anna")["anna"].records["hands"][0] == 3
    for missing in ("format", "level", "opponents"):
        path.write_bytes(signed({name: part for name, part in plain.items() if name != missing}))
        with refuses(LevelError, path.name):
            LevelPlayer(level, 1, profile=Profile(tmp_path, level, "anna"))


def test_a_checkpoint_that_describes_itself_wrongly_is_refused(directory: Path, tmp_path: Path) -> None:
    shutil.copytree(directory, place := tmp_path / "level")
    metadata = json.loads((place / METADATA).read_text())
    for key, value in (
        ("critic", {"widths": [10**9, 10**9]}), ("critic", []), ("widths", [10**9]), ("about", []), ("weights_sha256", None),
        ("widths", None),
    ):  # fmt: skip
        (place / METADATA).write_text(json.dumps(metadata | {key: value}))
        with refuses(GinError, "checkpoint", key):
            build_level(tmp_path / "new", load_level(str(directory)).settings, place)
        assert not (tmp_path / "new").exists()
