"""``gin warm`` compiles what others use, and says what it did."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agents.cli import warm
from ginenv.engine.kernel_cache import cache_root
from ginenv.errors import GinError
from tests.support.compiled import COMPILED
from tests.support.refusals import refuses

USE = """
import gymnasium as gym
import ginenv
env = gym.make("Gin/Game-v0", opponent="camper")
_, info = env.reset(seed=3)
over = False
while not over:
    _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
from agents.arena.matches import play_match
play_match("level-2", "formula", rules="dg-standard,target=20", pairs=2, unit="games")
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=1200)


@pytest.mark.slow
def test_after_it_nothing_is_left_to_compile() -> None:
    command = "-c", "import sys; from agents.cli import main; sys.argv = ['gin', 'warm']; main()"
    cache = cache_root()
    for _ in range(2):
        done = run(*command)
        assert done.returncode == 0 and str(cache) in done.stdout.splitlines()[-1], done.stderr
        assert "left out" not in done.stdout
    assert "already" in done.stdout and not re.search(r"\d+ functions? compiled", done.stdout)
    done = run("-c", COMPILED + USE)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_what_needs_a_missing_library_is_left_out(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "agents.analysis.analyst", None)
    assert warm.take("analysis") == (0, "agents.analysis.analyst")
    monkeypatch.setitem(warm.STEPS, "levels", lambda: (_ for _ in ()).throw(GinError("broken")))
    with refuses(GinError, "broken"):
        warm.take("levels")


def test_without_a_place_to_keep_it_nothing_is_compiled(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(warm, "cache_root", lambda: None)
    with refuses(GinError, "GINENV_CACHE_DIR"):
        warm.warm()
