"""Compiled code is never stale: an edit of a kernel, or of a helper that it uses by way of another module, shows at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ginenv
from ginenv.jit import sources_of

PACKAGE = Path(ginenv.__file__).parent

# Three modules in a row: only the last one defines what is edited.
OUTER = """
from ginenv.jit import kernel
from ginenv import middle
from ginenv.middle import through

@kernel
def outer(x):
    return through(x) + 1000
"""
MIDDLE = """
from ginenv.jit import kernel
from ginenv.helper import (
    helped,
)

@kernel
def through(x):
    return helped(x) + 100
"""
HELPER = """
from ginenv.jit import kernel

@kernel
def helped(x):
    return x + 1
"""


def run(root: Path, code: str) -> str:
    """The output of a program that imports the copied package, with a cache of its own."""
    environment = {**os.environ, "PYTHONPATH": str(root), "GINENV_CACHE_DIR": str(root / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=root, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package with three small modules beside it, so that nothing else has to be compiled."""
    target = tmp_path / "ginenv"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in (("outer", OUTER), ("middle", MIDDLE), ("helper", HELPER)):
        (target / f"{name}.py").write_text(text)
    return tmp_path


PROGRAM = "import ginenv.outer; print(ginenv.__file__); print(ginenv.outer.outer(5)); print(ginenv.outer.outer.stats.cache_hits)"


def test_edits_anywhere_below_a_kernel_are_seen(copied):
    def result() -> tuple[int, str]:
        lines = run(copied, PROGRAM).splitlines()
        assert Path(lines[0]).is_relative_to(copied)
        return int(lines[1]), lines[2]

    helper = copied / "ginenv" / "helper.py"
    assert result() == (1106, "Counter()")
    # Unchanged, the compiled code is used again.
    value, hits = result()
    assert value == 1106 and hits == "Counter({(int64,): 1})"
    helper.write_text(HELPER.replace("x + 1", "x + 2"))
    assert result()[0] == 1107
    (copied / "ginenv" / "middle.py").write_text(MIDDLE.replace("+ 100", "+ 200"))
    assert result()[0] == 1207
    # Same size, same second: neither decides.
    helper.write_text(HELPER.replace("x + 1", "x + 3"))
    stamp = helper.stat().st_mtime_ns
    helper.write_text(HELPER.replace("x + 1", "x + 4"))
    os.utime(helper, ns=(stamp, stamp))
    assert result()[0] == 1209


def test_a_kernel_depends_on_all_that_it_imports():
    root = PACKAGE.parent
    below = {path.name for path in sources_of(PACKAGE / "game.py", root)}
    assert {"game.py", "engine.py", "state.py", "melds.py", "rules.py", "jit.py", "actions.py", "cards.py"} <= below
    assert "hand.py" not in below
    assert {"melds.py", "jit.py"} <= {path.name for path in sources_of(PACKAGE / "melds.py", root)}


def test_an_edited_helper_of_the_engine_changes_what_the_engine_does(copied):
    """The case that stale caches got wrong: ``cards`` edited, ``engine`` asked."""
    program = (
        "import numpy as np; from ginenv.engine import limit_with, STATE; s = np.zeros(1, STATE); s['rules'] = 10; "
    )
    program += "print(limit_with(s[0], 6))"
    assert run(copied, program) == "7"
    cards = copied / "ginenv" / "cards.py"
    text = cards.read_text()
    assert "return min(10, card % 13 + 1)" in text
    cards.write_text(text.replace("return min(10, card % 13 + 1)", "return min(10, card % 13 + 2)"))
    assert run(copied, program) == "8"


# Signals itself in the middle of a compilation, where the compiler calls Python back, and would drop what is raised there.
SIGNALLED = """
import os, signal, time
from numba.core import codegen
hook = codegen.CPUCodeLibrary._object_compiled_hook
def signalling(*arguments):
    if not signalled:
        signalled.append(True)
        os.kill(os.getpid(), signal.SIGTERM)
    return hook(*arguments)
signalled = []
codegen.CPUCodeLibrary._object_compiled_hook = staticmethod(signalling)
from ginenv.jit import interrupt, mix
signal.signal(signal.SIGTERM, interrupt)
try:
    mix(5)
    time.sleep(5)
except KeyboardInterrupt:
    print("interrupted" if signalled else "too early")
print(mix(5) == mix(5))
"""


def test_an_interrupt_while_kernels_are_compiled_waits_for_the_kernel(copied):
    assert run(copied, SIGNALLED).splitlines() == ["interrupted", "True"]
