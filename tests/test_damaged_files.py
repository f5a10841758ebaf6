"""Configurations and checkpoints that somebody damaged, at random or on purpose: one sentence, soon, and nothing is built before."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.config import MAX_BYTES, SHIPPED, ConfigError, TrainConfig, load_config, parse_config
from agents.files import read_json
from agents.network.checkpoint import (
    METADATA,
    WEIGHTS,
    CheckpointError,
    load_checkpoint,
    load_critic,
    save_checkpoint,
)
from agents.network.nets import Actor, Critic
from agents.training.resume import parent_of, read_saved_run
from agents.training.run import check_start
from tests.support.mutations import changed_bytes, changed_values, check_reader
from tests.support.refusals import refuses

CASES = 500

# --- YAML -----------------------------------------------------------------------------------------------------------------------

PIECES = [
    "&a ", "*a", "<<: ", "!!python/name:os.system ", "!!timestamp x", "!!bool x", "!!int ''", "{", "[", "? ", "- ", "\t", "\0",
    "\ud800", "'", '"\\ud800"', "1:" * 300 + "1.5", "2020-99-99", "9" * 5000, ".nan", "1e999", "~", "key: ", "|\n",
    "%YAML 9.9\n", "--- \n", "\x85", "=", "{? [a] : 1}", "{1: 2}", "{games: {a: {b: 1}}}", "panel: [1, {}]", "players: {a: [1]}",
]  # fmt: skip


def test_damaged_configurations_are_refused_soon(tmp_path: Path) -> None:
    rng, path = random.Random(1), tmp_path / "damaged.yaml"
    texts = [file.read_text() for file in sorted(SHIPPED.glob("*.yaml"))]

    def cases() -> Iterator[tuple[str, Path]]:
        for number in range(CASES):
            text = rng.choice(texts)
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(text) + 1)
                piece = rng.choice(PIECES) * rng.choice([1, 1, 1, 2, 1000])
                text = text[:at] + piece + text[at + rng.choice([0, 0, 1, 5, 40]) :]
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            yield f"case {number}", path

    report = check_reader(cases(), load_config)
    assert not report.failures and CASES // 2 < report.refused < CASES, report.failures[:5]


_NAMES = "abcdefghijklmnopqrstuvw"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}]\n" for before, name in itertools.pairwise(_NAMES)
)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (BOMB, ["line 1"]),
        ("seed: 1\npanel: *a", ["line 2"]),
        ("seed: !!int 1", ["line 1"]),
        ("panel: " + "[" * 9999, ["nested"]),
        ("#" * (MAX_BYTES + 1), [f"{MAX_BYTES:,}"]),
    ],
)
def test_what_a_configuration_needs_not_is_refused(text: str, facts: list[Any], tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with refuses(ConfigError, *facts):
        load_config(tmp_path / "c.yaml")
    if len(text) < MAX_BYTES:
        value = text.partition(": ")[2]
        with pytest.raises(ConfigError):
            load_config(SHIPPED / "smoke.yaml", [f"panel={value}"])


# --- checkpoints ----------------------------------------------------------------------------------------------------------------


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
    about = {"command": "c", "earlier_commands": ["b"], "decisions": 5, "panel": {"random": {}}}
    about |= dict.fromkeys(("parent", "parent_sha256"))
    save_checkpoint(tmp_path / "net", Actor((2,)), (2,), about, Critic((2,)), (2,))
    # As it is in a run's directory.
    (tmp_path / "last").symlink_to("net")
    return tmp_path / "net"


def test_damaged_checkpoints_are_refused_soon(sound: Path) -> None:
    rng = np.random.default_rng(1)
    metadata, weights = read_json(sound / METADATA), (sound / WEIGHTS).read_bytes()
    config: TrainConfig = parse_config({"network": {"actor": [2]}})
    readers: list[Callable[[], object]] = [
        lambda: load_checkpoint(sound),
        lambda: load_critic(sound),
        lambda: check_start(config, str(sound)),
        lambda: read_saved_run(sound.parent, config, parent_of(None), "d"),
    ]

    def cases() -> Iterator[tuple[str, Callable[[], object]]]:
        for case in range(CASES):
            message, about = ("", metadata) if case % 2 else changed_values(metadata, rng)
            (sound / METADATA).write_text(json.dumps(about))
            (sound / WEIGHTS).write_bytes(weights)
            if case % 4 == 1:
                rewrite(sound / WEIGHTS, lambda header: changed_values(header, rng)[1])
            elif case % 4 == 3:
                # The length of the header, the header, or all.
                end = int(rng.choice([8, 400, len(weights)]))
                (sound / WEIGHTS).write_bytes(changed_bytes(weights[:end], rng) + weights[end:])
            if case % 2:
                describe(sound)
            yield from ((f"case {case}: {message}", read) for read in readers)

    report = check_reader(cases(), lambda read: read())
    assert not report.failures and CASES // 2 < report.refused < 4 * CASES, report.failures[:5]


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"widths": [8192] * 20}, [f"{19 * 8192**2:,}"]),
        ({"widths": [1] * 33}, [1, 32]),
        ({"heuristic_features": 3}, ["heuristic_features", 0, 105, 3]),
        ({"heuristic_features": False}, ["heuristic_features"]),
    ],
)
def test_no_network_is_built_that_the_weights_do_not_fit(
    changes: dict[str, Any], facts: list[Any], sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(sound, **changes)
    monkeypatch.setattr(Actor, "__init__", lambda *rest: pytest.fail("a network was built"))
    with refuses(CheckpointError, *facts):
        load_checkpoint(sound)
