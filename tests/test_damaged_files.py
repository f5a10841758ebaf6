"""Configurations and checkpoints that somebody damaged, at random or on purpose: one sentence, soon, and nothing is built before."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents.training.continued import parent_of, read_held

from agents.config import MOST_BYTES, SHIPPED, ConfigError, TrainConfig, load_config, parse_config
from agents.files import read_json
from agents.network.checkpoint import (
    CRITIC,
    METADATA,
    WEIGHTS,
    CheckpointError,
    load_checkpoint,
    load_critic,
    save_checkpoint,
)
from agents.network.nets import Actor, Critic
from agents.training.run import check_start
from ginenv.errors import GinError

CASES = 500
# Seconds that one case may take on a busy machine.
SOON = 5.0


def refused(read: Callable[[], object]) -> bool:
    """Whether a file is refused, which has to be in one sentence of text, and soon."""
    began = time.perf_counter()
    try:
        read()
        return False
    except GinError as error:
        assert "\n" not in str(error) and len(str(error)) < 3000 and str(error).encode()
        return True
    finally:
        assert time.perf_counter() - began < SOON


# --- YAML -----------------------------------------------------------------------------------------------------------------------

PIECES = [
    "&a ", "*a", "<<: ", "!!python/name:os.system ", "!!timestamp x", "!!bool x", "!!int ''", "{", "[", "? ", "- ", "\t", "\0",
    "\ud800", "'", '"\\ud800"', "1:" * 300 + "1.5", "2020-99-99", "9" * 5000, ".nan", "1e999", "~", "key: ", "|\n",
    "%YAML 9.9\n", "--- \n", "\x85", "=", "{? [a] : 1}", "{1: 2}", "{games: {a: {b: 1}}}", "panel: [1, {}]", "players: {a: [1]}",
]  # fmt: skip


def test_damaged_configurations_are_refused_soon(tmp_path: Path) -> None:
    rng, path, count = random.Random(1), tmp_path / "damaged.yaml", 0
    texts = [file.read_text() for file in sorted(SHIPPED.glob("*.yaml"))]
    for _ in range(CASES):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text) + 1)
            piece = rng.choice(PIECES) * rng.choice([1, 1, 1, 2, 1000])
            text = text[:at] + piece + text[at + rng.choice([0, 0, 1, 5, 40]) :]
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        count += refused(lambda: load_config(path))
    assert CASES // 2 < count < CASES


_NAMES = "abcdefghijklmnopqrstuvw"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}]\n" for before, name in itertools.pairwise(_NAMES)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "line 1 .*alias"),
        ("seed: 1\npanel: *a", "line 2 .*alias"),
        ("seed: !!int 1", "line 1 .*tag"),
        ("panel: " + "[" * 99, "line 1 .*16 deep"),
        ("#" * (MOST_BYTES + 1), f"{MOST_BYTES:,}"),
    ],
)
def test_what_a_configuration_needs_not_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_config(tmp_path / "c.yaml")
    if len(text) < MOST_BYTES:
        value = text.partition(": ")[2]
        with pytest.raises(ConfigError):
            load_config(SHIPPED / "smoke.yaml", [f"panel={value}"])


# --- checkpoints ----------------------------------------------------------------------------------------------------------------

VALUES = [
    None, True, False, -1, 0, 3, 2**63, 1.5, 1e300, float("nan"), "", "x" * 10_000, "\ud800", [], {}, [[]], [8192] * 20, [0], [True],
    [8] * 50_000, {"widths": [8192] * 20}, {"a": {"b": []}}, "F64", "I8", [2**62, 2**62], [4, 2], [8],
]  # fmt: skip


def damaged(value: Any, rng: random.Random) -> Any:
    """A JSON value with another one somewhere in it, or with something missing."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return rng.choice(VALUES)
    key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    copy = value.copy()
    if rng.random() < 0.1:
        del copy[key]
    else:
        copy[key] = damaged(value[key], rng)
    return copy


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    """Changes the header of a file of weights."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.dumps(change(json.loads(content[8 : 8 + length]))).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + length :])


def describe(directory: Path, **changes: Any) -> None:
    """Writes the metadata again, with the hashes of the files beside it."""
    metadata = read_json(directory / METADATA) | changes
    metadata["weights_sha256"] = hashlib.sha256((directory / WEIGHTS).read_bytes()).hexdigest()
    (directory / METADATA).write_text(json.dumps(metadata))


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    about = {
        "command": "c",
        "earlier_commands": ["b"],
        "decisions": 5,
        "panel": {"random": {}},
        "parent": None,
        "parent_sha256": None,
    }
    save_checkpoint(tmp_path / "net", Actor((2,)), (2,), about, Critic((2,)), (2,))
    # As it is in a run's directory.
    (tmp_path / "last").symlink_to("net")
    return tmp_path / "net"


def test_damaged_checkpoints_are_refused_soon(sound: Path) -> None:
    rng, count = random.Random(1), 0
    metadata, files = read_json(sound / METADATA), {name: (sound / name).read_bytes() for name in (WEIGHTS, CRITIC)}
    config: TrainConfig = parse_config({"network": {"actor": [2]}})
    readers: list[Callable[[], object]] = [
        lambda: load_checkpoint(sound),
        lambda: load_critic(sound),
        lambda: check_start(config, str(sound)),
        lambda: read_held(sound.parent, config, parent_of(None), "d"),
    ]
    for case in range(CASES):
        (sound / METADATA).write_text(json.dumps(metadata if case % 2 else damaged(metadata, rng)))
        (sound / WEIGHTS).write_bytes(files[WEIGHTS])
        if case % 4 == 1:
            rewrite(sound / WEIGHTS, lambda header: damaged(header, rng))
        elif case % 4 == 3:
            content = bytearray(files[WEIGHTS])
            content[rng.choice([rng.randrange(8), rng.randrange(len(content))])] ^= 1 << rng.randrange(8)
            (sound / WEIGHTS).write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
        if case % 2:
            describe(sound)
        count += any([refused(read) for read in readers])
    assert CASES // 2 < count < CASES


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"widths": [8192] * 20}, f"too few for layers of {19 * 8192**2:,}"),
        ({"widths": [1] * 33}, "1 to 32 widths"),
        ({"heuristic_features": 3}, "heuristic_features must be 0 or 105, got 3"),
        ({"heuristic_features": False}, "heuristic_features"),
        ({"context": True}, "context"),
    ],
)
def test_no_network_is_built_that_the_weights_do_not_fit(
    changes: dict[str, Any], said: str, sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(sound, **changes)
    monkeypatch.setattr(Actor, "__init__", lambda *rest: pytest.fail("a network was built"))
    with pytest.raises(CheckpointError, match=said):
        load_checkpoint(sound)
