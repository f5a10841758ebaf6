"""Files that others wrote, levels and tables of decisions among them: read, or refused in one short sentence, soon, and nothing is run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arena.matches import MatchSettings
from agents.config import ConfigError, load_config
from agents.datasets.load import Games
from agents.datasets.source import PlayedGames
from agents.datasets.store import write_games
from agents.files import read_json
from agents.levels.level import LEVEL, load_level
from agents.network.checkpoint import METADATA, WEIGHTS, CheckpointError, load_checkpoint, save_checkpoint
from agents.network.nets import Actor
from ginenv.errors import GinError
from tests.support.mutations import changed_bytes, check_reader
from tests.support.refusals import refuses
from tests.support.scale import SCALE

CASES = 30 * SCALE
DEEP = "[" * 100_000 + "]" * 100_000
NASTY = {
    "deep": DEEP, "digits": '{"format": ' + "9" * 5000 + "}", "no text": b"\xff\xfe\x00", "a list": "[]",
    "lists for values": '{"format": 1, "settings": [], "widths": {}}',
    "long": json.dumps({"format": "x" * 900_000, "y" * 900_000: 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", [LEVEL, METADATA])
def test_nasty_json_in_a_level_is_one_short_sentence(name: str, directory: Path, tmp_path: Path) -> None:
    for kind, content in NASTY.items():
        place = tmp_path / kind
        shutil.copytree(directory, place)
        (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(GinError) as raised:
            load_level(place)
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 1200 + len(str(place)), kind


def test_what_is_no_file_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    """A pipe into which nobody writes; a device without an end."""
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with refuses(OSError):
            read_json(place)
        with refuses(ConfigError, place):
            load_config(place)
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with refuses(OSError, "64 MiB"):
        read_json(tmp_path / "huge")


@pytest.mark.parametrize("text", ["seed: !!python/name:os.system x", "a: " + "[" * 9999, "a: 2020-99-99", "1: 2"])
def test_yaml_that_is_no_configuration_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with refuses(ConfigError, tmp_path / "c.yaml") as raised:
        load_config(tmp_path / "c.yaml")
    assert "\n" not in str(raised.value)


def test_tables_of_decisions_that_were_changed_are_refused(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "games.parquet"
    about = {"players": ["simple", "formula"]}
    write_games(path, PlayedGames(("simple", "formula"), 2, MatchSettings(unit="hands")), about)
    content, table = path.read_bytes(), pq.read_table(path)
    place, described = table.column_names.index("action"), json.loads(table.schema.metadata[b"ginenv"])

    def with_actions(values: Any) -> Any:
        return table.set_column(place, "action", values)

    def telling(**changes: Any) -> Any:
        return table.replace_schema_metadata({"ginenv": json.dumps(described | changes)})

    for changed in (
        table.drop_columns(["action"]),
        table.append_column("action", table["action"]),
        with_actions(pa.array(["x"] * len(table))),
        with_actions(pa.nulls(len(table), table["action"].type)),
        with_actions(pa.array([120] * len(table), table["action"].type)),
        table.take(pa.array(range(len(table))[::-1])),
        table.slice(0, 0),
        telling(format=10**30),
        telling(players=[None]),
        table.replace_schema_metadata({"ginenv": DEEP}),
    ):
        pq.write_table(changed, path)
        with pytest.raises(GinError):
            list(Games(path).batches())

    def read(content: bytes) -> None:
        path.write_bytes(content)
        for batch in Games(path).batches(64, player="simple", seed=1):
            assert batch["observation"].shape == (len(batch["action"]), 520)

    rng = np.random.default_rng(1)
    report = check_reader((("bytes", changed_bytes(content, rng)) for _ in range(CASES)), read)
    assert not report.failures and report.refused > CASES / 3, report.failures[:5]


# --- checkpoints ----------------------------------------------------------------------------------------------------------------


def describe(directory: Path, **changes: Any) -> None:
    """Writes the metadata again, with the hashes of the files beside it."""
    metadata = read_json(directory / METADATA) | changes
    metadata["weights_sha256"] = hashlib.sha256((directory / WEIGHTS).read_bytes()).hexdigest()
    (directory / METADATA).write_text(json.dumps(metadata))


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    about = {"command": "c", "decisions": 5, "minutes": 3.5, "panel": {"random": {"games_won": 0.5, "half_width": 0.1}}}
    save_checkpoint(tmp_path / "net", Actor((2,)), (2,), about)
    return tmp_path / "net"


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"widths": [8192] * 20}, [f"{19 * 8192**2:,}"]),
        ({"widths": [1] * 33}, [1, 32]),
        ({"heuristic_features": 3}, ["heuristic_features", 105, 3]),
    ],
)
def test_no_network_is_built_that_the_weights_do_not_fit(
    changes: dict[str, Any], facts: list[Any], sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(sound, **changes)
    monkeypatch.setattr(Actor, "__init__", lambda *rest: pytest.fail("a network was built"))
    with refuses(CheckpointError, *facts):
        load_checkpoint(sound)
