"""Compiled code is never stale: an edit of a kernel, or of a helper that it uses by way of another module, shows at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba
import pytest

import ginenv
from agents.cli import warm
from ginenv.engine import kernel_cache
from ginenv.engine.shipped_kernels import LEVELS, machine_levels
from ginenv.errors import GinError
from tests.support.compiled import COMPILED
from tests.support.refusals import refuses

PACKAGE = Path(ginenv.__file__).parent

# Three modules in a row: only the last one defines what is edited.
OUTER = """
from ginenv.engine.jit import kernel
from ginenv import middle
from ginenv.middle import through

@kernel
def outer(x):
    return through(x) + 1000
"""
MIDDLE = """
from ginenv.engine.jit import kernel
from ginenv.helper import (
    helped,
)

@kernel
def through(x):
    return helped(x) + 100
"""
HELPER = """
from ginenv.engine.jit import kernel

@kernel
def helped(x):
    return x + 1
"""


def start(root: Path, code: str, cache: Path | None = None) -> subprocess.Popen[str]:
    """A program that imports the copied package, with a cache of its own."""
    places = {"GINENV_CACHE_DIR": str(cache or root / "cache"), "HOME": str(root), "TMPDIR": str(root)}
    environment = {**os.environ, "PYTHONPATH": str(root), **places, "XDG_CACHE_HOME": ""}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-B", "-c", code], env=environment, cwd=root, **pipes)


def run(root: Path, code: str, cache: Path | None = None) -> str:
    """What such a program prints."""
    process = start(root, code, cache)
    message, errors = process.communicate()
    assert process.returncode == 0 and "Traceback" not in errors, errors
    return message.strip()


def copy_package(root: Path) -> Path:
    """The package with three small modules beside it, so that nothing else has to be compiled."""
    target = root / "ginenv"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in (("outer", OUTER), ("middle", MIDDLE), ("helper", HELPER)):
        (target / f"{name}.py").write_text(text)
    return root


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of its own."""
    return copy_package(tmp_path)


PROGRAM = "import ginenv.outer; print(ginenv.outer.outer({})); print(ginenv.outer.outer.stats.cache_hits)"
HELPED = PROGRAM.format(5)


def test_edits_anywhere_below_a_kernel_are_seen(copied):
    helper = copied / "ginenv" / "helper.py"
    assert run(copied, HELPED).splitlines() == MISSED
    # Unchanged, the compiled code is used again.
    assert run(copied, HELPED).splitlines() == HIT
    (copied / "ginenv" / "middle.py").write_text(MIDDLE.replace("+ 100", "+ 200"))
    helper.write_text(HELPER.replace("x + 1", "x + 3"))
    assert run(copied, HELPED).splitlines()[0] == "1208"
    # Same size, same second: neither decides.
    stamp = helper.stat().st_mtime_ns
    helper.write_text(HELPER.replace("x + 1", "x + 4"))
    os.utime(helper, ns=(stamp, stamp))
    assert run(copied, HELPED).splitlines()[0] == "1209"


MISSED, HIT = ["1106", "Counter()"], ["1106", "Counter({(int64,): 1})"]


LEVEL = machine_levels()[-1] if machine_levels() else ""
SHIP = f"""
import os
os.environ |= {{"NUMBA_CPU_NAME": {LEVELS[LEVEL].cpu if LEVEL else ""!r}, "NUMBA_CPU_FEATURES": ""}}
from ginenv.outer import outer
from ginenv.engine import shipped_kernels as shipped
outer(5)
made = [(outer.py_func, *compiled) for compiled in outer.overloads.items()]
shipped.write_shipped(shipped.COMPILED / {LEVEL!r}, made)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled code of one of the modules, made by a copy elsewhere."""
    if not LEVEL:
        pytest.skip("this processor has none of the levels that are known")
    root = copy_package(tmp_path_factory.mktemp("compiled"))
    shutil.rmtree(root / "ginenv" / "compiled", ignore_errors=True)
    run(root, SHIP, root / "made")
    return root / "ginenv" / "compiled"


@pytest.fixture
def shipped(copied: Path, compiled: Path) -> Path:
    """Where the copied package holds it."""
    shutil.rmtree(copied / "ginenv" / "compiled", ignore_errors=True)
    shutil.copytree(compiled, copied / "ginenv" / "compiled")
    return copied / "ginenv" / "compiled" / LEVEL


def test_shipped_code_is_used_and_nothing_is_written(copied, shipped):
    assert run(copied, HELPED).splitlines() == HIT
    assert not list((copied / "cache").rglob("outer*.nb*"))
    # Other arguments are compiled as ever, and kept.
    assert run(copied, PROGRAM.format(5.5)).splitlines() == ["1106.5", "Counter()"]
    assert list((copied / "cache").rglob("*.nbc"))


UNLIKE = {
    "a damaged file": lambda shipped: next(shipped.glob("*.nbc")).write_bytes(b"x" + next(shipped.glob("*.nbc")).read_bytes()[1:]),
    "another numba": lambda shipped: (shipped / "index.json").write_text(
        (shipped / "index.json").read_text().replace(f"numba {numba.__version__}", "numba 0.1")
    ),
    "other sources": lambda shipped: (shipped.parents[1] / "helper.py").write_text(HELPER + "# changed\n"),
}  # fmt: skip


@pytest.mark.parametrize("change", UNLIKE.values(), ids=UNLIKE.keys())
def test_shipped_code_that_does_not_fit_is_compiled_instead(change, copied, shipped):
    change(shipped)
    assert run(copied, HELPED).splitlines() == MISSED


def test_shipped_code_is_for_machines_of_its_level(copied, shipped):
    lower = "import llvmlite.binding as llvm; llvm.get_host_cpu_features = type(llvm.get_host_cpu_features())"
    assert run(copied, f"{lower}\n{HELPED}").splitlines() == MISSED


def replace_by_link(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))
    directory.symlink_to(directory.with_name("elsewhere"))


@pytest.mark.parametrize(
    "expose",
    [lambda directory: directory.chmod(0o770), replace_by_link, None],
    ids=["others may write", "link", "another owner"],
)
def test_cache_that_others_can_write_is_not_used(expose, tmp_path, monkeypatch):
    """What is loaded from there is executed."""
    for name, value in (("GINENV_CACHE_DIR", "chosen"), ("HOME", "home"), ("XDG_CACHE_HOME", "home/user")):
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    candidates = [tmp_path / "chosen", tmp_path / "home/user/ginenv", tmp_path / f"ginenv-{os.getuid()}"]
    for candidate in candidates:
        assert kernel_cache.cache_root() == candidate and candidate.stat().st_mode & 0o777 == 0o700
        if expose:
            expose(candidate)
        else:
            # A directory that somebody else made there before.
            found = os.lstat(candidate)
            others = os.stat_result((*found[:4], os.getuid() + 1, *found[5:]))
            answers = {candidate: others}
            then = Path.lstat
            monkeypatch.setattr(Path, "lstat", lambda path, a=answers, then=then: a[path] if path in a else then(path))
    assert kernel_cache.cache_root() is None


def test_directories_below_the_cache_are_private_whatever_the_umask(copied):
    cache = copied / "above" / "cache"
    assert run(copied, f"import os; os.umask(0)\n{HELPED}", cache).splitlines() == MISSED
    made = [cache.parent, *(path for path in cache.parent.rglob("*") if path.is_dir())]
    assert len(made) > 3 and {path.stat().st_mode & 0o777 for path in made} == {0o700}
    assert run(copied, HELPED, cache).splitlines() == HIT
    # What somebody else could have changed is not loaded.
    (exposed,) = cache.glob("outer-*/*")
    exposed.chmod(0o770)
    assert run(copied, HELPED, cache).splitlines() == MISSED


# --- gin warm compiles what others use, and says what it did

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
import tempfile
from pathlib import Path
from agents.play.practice import Practice
from agents.play.review import analysed, shared_analyst
from agents.play.session import Session
from agents.play.store import Home
from ginenv.tables.players import make_player
person = make_player("formula")
for opponent, rules in (("level-2", "dg-standard"), ("matched", "ht1")):
    with tempfile.TemporaryDirectory() as folder, Home(Path(folder)) as home:
        session = Session(home.create("Ann"), seed=3)
        session.set_option("opponent", opponent)
        session.set_option("rules", rules)
        session.new_game()
        for hand in range(2):
            while not session.hand.is_over:
                if session.is_turn:
                    session.play(int(person.act(session.hand.view(session.seat))[0]))
                session.go_on()
            session.next_hand()
        session.leave_game()
        session.resume()
        (game,) = home.games("Ann")
        analysed(home, game.id, 1, shared_analyst())
        practice = Practice(home, "Ann", shared_analyst)
        practice.add_new()
        practice.next().view
        session.close()
"""


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=1200)


@pytest.mark.slow
def test_after_it_nothing_is_left_to_compile() -> None:
    command = "-c", "import sys; from agents.cli import main; sys.argv = ['gin', 'warm']; main()"
    cache = kernel_cache.cache_root()
    for _ in range(2):
        done = python(*command)
        assert done.returncode == 0 and str(cache) in done.stdout.splitlines()[-1], done.stderr
        assert "left out" not in done.stdout
    assert "already" in done.stdout and not re.search(r"\d+ functions? compiled", done.stdout)
    done = python("-c", COMPILED + USE)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_what_needs_a_missing_library_is_left_out(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "agents.analysis.analyst", None)
    assert warm.take("analysis") == (0, "agents.analysis.analyst")
    monkeypatch.setitem(warm.STEPS, "levels", lambda: (_ for _ in ()).throw(GinError("broken")))
    with refuses(GinError, "broken"):
        warm.take("levels")
