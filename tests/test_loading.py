"""What a program loads, read from ``sys.modules`` in a process of its own: the import contracts do not see names in a registry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents import cli
from tests.support.refusals import refuses

ROOT = Path(__file__).parent.parent
IN_HAND_ENV = """
import gymnasium as gym, ginenv
env = gym.make("Gin/Hand-v0", opponent={opponent!r})
_, info = env.reset(seed=3)
for _ in range(4):
    _, _, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
    if terminated:
        _, info = env.reset()
"""
IN_VECTOR_ENV = """
import gymnasium as gym, ginenv
env = gym.make_vec("Gin/Hand-v0", num_envs=2, opponent={opponent!r})
_, info = env.reset(seed=3)
env.step(info["action_mask"].argmax(1))
"""
MATCH = """
import sys
sys.argv = ["evaluate.py", {player!r}, "simple", "--hands", "2", "--out", {out!r}]
import evaluate
evaluate.main()
"""


def loaded(code: str) -> set[str]:
    """The modules that are loaded after some code, in a fresh process."""
    code += "\nimport sys, json\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def rooms(modules: set[str]) -> set[str]:
    """The rooms of ``agents`` that modules stand in."""
    return {name.split(".")[1] for name in modules if name.startswith("agents.")}


def test_importing_ginenv_is_light() -> None:
    heavy = {"agents", "numba", "pettingzoo", "tensorboard", "torch"}
    assert not heavy & loaded("import ginenv")


def test_a_bot_as_opponent_loads_bots_alone() -> None:
    modules = loaded((IN_HAND_ENV + IN_VECTOR_ENV).format(opponent="simple"))
    assert not rooms(modules) and "torch" not in modules


@pytest.mark.parametrize(
    ("opponent", "needed", "others"),
    [("network", "network", {"levels", "programs", "search"}), ("level-1", "levels", set())],
)
def test_an_opponent_loads_no_training_no_matches_and_no_table(opponent: str, needed: str, others: set[str]) -> None:
    found = rooms(loaded((IN_HAND_ENV + IN_VECTOR_ENV).format(opponent=opponent)))
    assert needed in found
    assert not found & (others | {"arena", "cli", "training", "play", "reports"})


@pytest.mark.parametrize(("player", "network"), [("network", True), ("formula", False)])
def test_a_match_loads_no_training_no_levels_and_no_table(player: str, network: bool, tmp_path: Path) -> None:
    out = tmp_path / "match.json"
    modules = loaded(MATCH.format(player=player, out=str(out)))
    assert "arena" in rooms(modules)
    assert not rooms(modules) & {"training", "levels", "play"}
    assert ("network" in rooms(modules), "torch" in modules) == (network, network)
    assert json.loads(out.read_text())["matches"][0]["players"] == [player, "simple"]


def test_own_module_named_agents_breaks_no_environment_and_is_named_otherwise(tmp_path: Path) -> None:
    (tmp_path / "agents.py").touch()
    code = IN_HAND_ENV.format(opponent="simple") + "print('played')\nginenv.make_player('network')"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "played\n"
    last = done.stderr.splitlines()[-1]
    assert "GinError" in last and str(tmp_path / "agents") in last


# What Python lacks on Windows; the libraries are imported before, since they look at the platform's name.
WITHOUT_POSIX = """
import os, signal, sys, time
import gymnasium, multiprocessing, numba, numpy, subprocess, tempfile, PIL.Image
numba.njit(lambda: 0)()
for name in ("chown", "fork", "geteuid", "getgid", "getuid", "kill", "killpg", "lchown", "mkfifo", "openpty", "register_at_fork", "setsid"):
    delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "alarm", "pthread_sigmask", "setitimer"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
"""


def test_environments_play_without_posix() -> None:
    """As on Windows."""
    assert "ginenv.envs.env" in loaded(WITHOUT_POSIX + IN_HAND_ENV.format(opponent="simple") + "env.close()")


def test_commands_without_posix_name_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with refuses(SystemExit, "Linux", "macOS"):
        cli.run("gin", "evaluate", ["simple", "formula"])
