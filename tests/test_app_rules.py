"""The example in TypeScript plays by the engine's rules, and its script is what its sources give."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.app_games import game_lines

APP = Path("examples/app")
PRESETS = ("dg-standard", "gr-oklahoma", "gc")


def node(*arguments: str | Path) -> dict:
    """What a command of the example prints; skips the test where there is no node."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed; the distribution's package is called nodejs")
    done = subprocess.run([path, APP / "check.mjs", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("hands", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_whole_games_are_as_in_the_engine(tmp_path: Path, preset: str, hands: int) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("\n".join(game_lines(preset, hands, seed=11)))
    played = node("replay", path)
    assert played["hands"] >= hands and played["steps"] > 10 * hands


@pytest.mark.parametrize("command", ["check", "build"])
def test_scripts_are_what_the_sources_give(tmp_path: Path, command: str) -> None:
    if not (APP / "node_modules").is_dir():
        pytest.skip("the compiler is not installed; npm install in examples/app")
    committed = {name: (APP / name).read_text() for name in ("gin.js", "page.js")}
    copy = tmp_path / "app"
    shutil.copytree(APP, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to((APP / "node_modules").resolve())
    done = subprocess.run(["npm", "run", "--silent", command], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: (copy / name).read_text() for name in committed} == committed
