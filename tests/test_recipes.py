"""The recipes of what ships, as the Makefile holds them, down to their last step."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.config import TrainConfig, load_config, override, parse_config
from agents.levels.answers import ANSWERS
from agents.levels.fit_answers import FitConfig
from agents.levels.level import load_level
from agents.network.checkpoint import METADATA, WEIGHTS, read_metadata

ROOT = Path(__file__).resolve().parents[1]
# A step's settings where the recipe is only to be gone through.
TINY = {
    "train": [
        *("decisions=3000", "games=32", "ticks=8", "minibatch=64", "clone_decisions=1000", "settle_decisions=500"),
        *("panel_games=2", "threads=1", "bfloat16=no"),
    ],
    "fit": ["styles=16", "strong=0.25", "series=60", "hands=2", "rounds=2"],
}

# What a step may take of an earlier run.
RUN_HOLDS = ("last", "best", "curve.json")

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def recipe(target: str) -> list[list[str]]:
    """The steps of a target, as lists of words."""
    command = ["make", "--no-print-directory", "-n", target]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # Where the environment is older than pyproject.toml, its installation is shown as well.
    lines = [line for line in shown.replace("\\\n", " ").splitlines() if line.startswith((".venv/bin/", "cp "))]
    return [words for words in map(shlex.split, lines) if "train.py" in words or words[0].endswith(("/gin", "cp"))]


def options(words: list[str], name: str) -> list[str]:
    """What stands behind an option, up to the next one."""
    found: list[str] = []
    for word in words[words.index(name) + 1 :] if name in words else []:
        if word.startswith("--"):
            break
        found.append(word)
    return found


def with_settings(words: list[str], settings: list[str]) -> list[str]:
    """A step with some of its settings replaced."""
    if "--set" not in words:
        return [*words, "--set", *settings]
    ours, names = options(words, "--set"), {each.split("=")[0] for each in settings}
    at = words.index("--set") + 1
    return words[:at] + settings + [each for each in ours if each.split("=")[0] not in names] + words[at + len(ours) :]


@pytest.mark.parametrize(("target", "steps"), [("network", 7), ("level-4", 5)])
def test_every_step_is_valid_and_begins_from_what_there_is(target: str, steps: int) -> None:
    made: set[str] = set()
    commands = recipe(target)
    assert len(commands) == steps
    for words in commands:
        if "train.py" in words:
            config = load_config(options(words, "--config")[0], options(words, "--set"))
            assert isinstance(config, TrainConfig) and config.decisions >= 30_000_000
        elif "fit" in words:
            parse_config(override({}, options(words, "--set")), FitConfig)
        # What a step reads is in the repository, or an earlier step wrote it.
        out = options(words, "--out")
        for word in words[1:]:
            path = word.removesuffix("/")
            if path.startswith("runs/") and word not in out:
                assert any(path in (each, *(f"{each}/{name}" for name in RUN_HOLDS)) for each in made), (words, word)
            elif path.startswith("agents/"):
                assert (ROOT / path / METADATA).is_file()
        made.update(out)


@pytest.mark.slow
def test_both_recipes_can_be_gone_through_twice(tmp_path: Path) -> None:
    """With few decisions; the second time no training is repeated, and all ends as it was."""
    weights: list[list[str]] = []
    written: list[list[int]] = []
    answers: list[dict[str, object]] = []
    for _ in range(2):
        for words in recipe("network") + recipe("level-4"):
            kind = "train" if "train.py" in words else "fit" if "fit" in words else ""
            command = [word.replace("runs/", f"{tmp_path}/") if word.startswith("runs/") else word for word in words]
            if kind:
                command = with_settings(command, TINY[kind])
            if "fit-hand-model" in command:
                command += ["--rounds", "1"]
            if command[0] != "cp":
                command[0] = str(Path(sys.executable).parent / Path(command[0]).name)
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, (command, done.stderr)
        trained = [tmp_path / name / "last" for name in ("strong", "finish", "finish2", "teacher", "teacher2")]
        networks = [*trained, tmp_path / "network", tmp_path / "told"]
        weights.append([read_metadata(network)["weights_sha256"] for network in networks])
        written.append([(network / WEIGHTS).stat().st_mtime_ns for network in trained])
        answers.append(json.loads((tmp_path / "level-4" / ANSWERS).read_text()) | {"about": None})
    assert weights[0] == weights[1] and len(set(weights[0])) == len(weights[0])
    assert written[0] == written[1] and answers[0] == answers[1]
    assert (tmp_path / "network" / "curve.json").is_file()
    assert load_level(tmp_path / "level-4").learns
