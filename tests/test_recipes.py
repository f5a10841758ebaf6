"""The recipes of what ships, as the Makefile holds them."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from agents.config import TrainConfig, load_config, override, parse_config
from agents.levels.fit_responses import FitConfig
from agents.network.checkpoint import METADATA

ROOT = Path(__file__).resolve().parents[1]
# What a step may take of an earlier run.
RUN_HOLDS = ("last", "best", "curve.json")

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def recipe(target: str) -> list[list[str]]:
    """The steps of a target, as lists of words."""
    command = ["make", "--no-print-directory", "-n", target]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # Where the environment is older than pyproject.toml, its installation is shown as well.
    lines = [line for line in shown.replace("\\\n", " ").splitlines() if line.startswith((".venv/bin/", "cp "))]
    return [shlex.split(line) for line in lines if " -m pip " not in line]


def options(words: list[str], name: str) -> list[str]:
    """What stands behind an option, up to the next one."""
    found: list[str] = []
    for word in words[words.index(name) + 1 :] if name in words else []:
        if word.startswith("--"):
            break
        found.append(word)
    return found


@pytest.mark.parametrize(("target", "steps"), [("network", 9), ("levels", 10)])
def test_every_step_is_valid_and_begins_from_what_there_is(target: str, steps: int) -> None:
    made: set[str] = set()
    commands = recipe(target)
    assert len(commands) == steps
    for words in commands:
        if "train.py" in words:
            config = load_config(options(words, "--config")[0], options(words, "--set"))
            assert isinstance(config, TrainConfig) and config.decisions >= 20_000_000
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
