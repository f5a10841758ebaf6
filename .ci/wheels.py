"""Wheels that carry compiled kernels, so that a first hand needs no compiler: ``python .ci/wheels.py WHEEL``.

Beside a wheel for any platform it writes one for this platform and this Python. It installs nothing: the wheel is unpacked, and what
``gin warm`` uses is compiled from there for each level of processors that this machine has.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

WHEEL = [sys.executable, "-m", "wheel"]


def compile_into(directory: Path) -> None:
    """Compiles everything, in this process, and writes it as a level's directory."""
    from numba.core.caching import FunctionCache
    from numba.core.registry import CPUDispatcher

    from agents.cli import warm
    from ginenv.engine.shipped_kernels import write_shipped

    for step in warm.STEPS:
        compiled, missing = warm.take(step)
        if missing:
            sys.exit(f"{missing} is not installed; what needs it would be missing in the wheel")
        print(f"{directory.name}: {step}, {compiled} functions", flush=True)
    kernels = [
        each for each in gc.get_objects() if type(each) is CPUDispatcher and isinstance(each._cache, FunctionCache)
    ]
    results = [(each.py_func, *compiled) for each in kernels for compiled in each.overloads.items()]
    write_shipped(directory, [each for each in results if each[0].__module__.partition(".")[0] in ("ginenv", "agents")])


def main(wheel: Path) -> None:
    """Makes the wheel for this platform."""
    from ginenv.engine.shipped_kernels import LEVELS, machine_levels

    # The platform for which Numba's own wheel was built: the code calls no library that Numba does not.
    tags = [
        line.split()[1].split("-")
        for line in str(distribution("numba").read_text("WHEEL")).splitlines()
        if line.startswith("Tag:")
    ]
    python, abi, platforms = tags[0][0], tags[0][1], ".".join(sorted({tag[2] for tag in tags}))
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([*WHEEL, "unpack", wheel, "--dest", place], check=True)
        (unpacked,) = Path(place).iterdir()
        running = []
        for level in machine_levels():
            chosen = {
                "NUMBA_CPU_NAME": LEVELS[level].cpu,
                "NUMBA_CPU_FEATURES": "",
                # A library of another vendor, which may be missing elsewhere.
                "NUMBA_DISABLE_INTEL_SVML": "1",
                "GINENV_CACHE_DIR": str(Path(place, "cache", level)),
                "PYTHONPATH": str(unpacked),
                "OMP_NUM_THREADS": "1",
            }
            target = unpacked / "ginenv" / "compiled" / level
            command = [sys.executable, __file__, "--level", str(target)]
            running.append(subprocess.Popen(command, env=os.environ | chosen, cwd=place))
        if any([process.wait() for process in running]):
            sys.exit("a level could not be compiled")
        subprocess.run([*WHEEL, "pack", unpacked, "--dest-dir", place], check=True)
        named = ["--python-tag", python, "--abi-tag", abi, "--platform-tag", platforms]
        made = subprocess.run(
            [*WHEEL, "tags", *named, "--remove", Path(place, wheel.name)], check=True, capture_output=True, text=True
        ).stdout.split()[-1]
        shutil.move(Path(place, made), wheel.parent / made)
        print(f"{wheel.parent / made}: {(wheel.parent / made).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if sys.argv[1] == "--level":
        compile_into(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]))
