"""The example in TypeScript plays by the engine's rules and as exported levels do, and its scripts are what its sources give."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from agents.levels.app_export import export_app
from agents.levels.level import load_level
from tests.support.app_games import game_lines

APP = Path("examples/app")
PRESETS = ("dg-standard", "gr-oklahoma", "gc")


def node(*arguments: str | Path) -> dict:
    """What a command of the example prints; skips the test where there is no node."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed; the distribution's package is called nodejs")
    done = subprocess.run([path, APP / "cli.mjs", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("preset", PRESETS)
def test_whole_games_are_as_in_the_engine(tmp_path: Path, preset: str) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("\n".join(game_lines(preset, 40, seed=11)))
    played = node("replay", path)
    assert played["hands"] >= 40 and played["steps"] > 400


def test_golden_positions_of_an_export_are_reproduced(tmp_path: Path) -> None:
    export_app(load_level("level-2"), tmp_path / "app", 60.0, 5, lambda share: None)
    found = node("golden", tmp_path / "app")
    # The command itself fails where an input or an action differs.
    assert found["positions"] == 500 and found["knocks"] == 200
    assert found["logits"] < 1e-4 and found["probabilities"] < 1e-4


def test_levels_of_the_page_behave_as_those_that_are_installed() -> None:
    lines = (APP / "levels.js").read_text().splitlines()
    found = [json.JSONDecoder().raw_decode(line.removeprefix("gin.addLevel("))[0] for line in lines]
    assert [level["name"] for level in found] == ["level-1", "level-2", "level-3"]
    for level in found:
        settings = load_level(level["name"]).settings
        assert level["title"] == settings.title
        behaviour = dict(level["behaviour"])
        # An export may vary less than its level.
        assert 0 < behaviour.pop("max_logit_gap") <= settings.max_logit_gap
        assert behaviour == {name: getattr(settings, name) for name in behaviour}


def test_levels_are_in_their_order_in_node_too() -> None:
    found = node("match", "level-1", "level-3", "dg-standard", "100")
    assert found["hands"] == 100 and found["points"] < -2 * found["standardError"]


def test_scripts_are_what_the_sources_give(tmp_path: Path) -> None:
    if not (APP / "node_modules").is_dir():
        pytest.skip("the compiler is not installed; npm install in examples/app")
    committed = {name: (APP / name).read_text() for name in ("gin.js", "page.js")}
    copy = tmp_path / "app"
    shutil.copytree(APP, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to((APP / "node_modules").resolve())
    done = subprocess.run(["npm", "run", "--silent", "build"], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: (copy / name).read_text() for name in committed} == committed
