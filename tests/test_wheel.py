"""The package as a stranger gets it: built, installed where there is no checkout, and used there."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.compiled import COMPILED
from tests.support.pages import blocks_of

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLASSIFIED = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
# What lies in a developer's tree and is no source.
EXCLUDED = ".git .venv* runs build dist _build __pycache__ *.egg-info .*_cache .hypothesis LOG-*".split()
PIP = ["-m", "pip", "--disable-pip-version-check", "--quiet"]


class Built(NamedTuple):
    """What was built, in a directory of its own."""

    wheel: Path
    sdist: Path


def run(*command: object, cwd: Path, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program that knows nothing of the checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert not check or done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def interpreter(version: str) -> Path | None:
    """A Python of a version that is at hand, or nothing."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [path / "bin" / "python" for path in sorted(versions.glob(f"{version}.*"))]
    found = shutil.which(f"python{version}")
    for candidate in [*candidates, *([Path(found)] if found else [])]:
        done = subprocess.run(
            [candidate, "-c", "import sys, venv; print(sys.version_info[:2])"], capture_output=True, text=True
        )
        if done.stdout.strip() == str(tuple(map(int, version.split(".")))):
            return candidate
    return None


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Source distribution, and the wheel that is built from it."""
    place = tmp_path_factory.mktemp("built")
    shutil.copytree(ROOT, place / "sources", symlinks=True, ignore=shutil.ignore_patterns(*EXCLUDED))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place, place / "sources", cwd=place)
    return Built(next(place.glob("*.whl")), next(place.glob("*.tar.gz")))


@pytest.fixture(scope="module")
def borrowed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that holds the wheel, and sees the libraries of the one that runs the tests."""
    place = tmp_path_factory.mktemp("borrowed")
    run(sys.executable, "-m", "venv", "venv", cwd=place)
    programs = place / "venv" / "bin"
    run(programs / "python", *PIP, "install", "--no-deps", built.wheel, cwd=place)
    library = next((place / "venv" / "lib").glob("python3*/site-packages"))
    # A line with a path: the files of an editable install in there are not followed.
    (library / "libraries.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")) + "\n")
    return programs


@pytest.mark.slow
def test_the_wheel_holds_what_is_tracked_and_two_packages_alone(built: Built) -> None:
    names = zipfile.ZipFile(built.wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ginenv", "agents"}
    expected = {
        str(path.relative_to(ROOT))
        for package in ("ginenv", "agents")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    } | {f"agents/configs/{path.name}" for path in (ROOT / "configs").iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert built.wheel.stat().st_size <= 12_000_000


@pytest.mark.slow
@pytest.mark.parametrize("version", CLASSIFIED)
def test_an_empty_environment_plays_the_first_lines(version: str, built: Built, tmp_path: Path) -> None:
    """On the Pythons that the package names: those at hand; of the others, that everything it needs comes as wheels."""
    python = interpreter(version)
    if python is None:
        options = ["install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--python-version", version]
        run(sys.executable, *PIP, *options, "--target", tmp_path, built.wheel, cwd=tmp_path)
        pytest.skip(f"Python {version} was not tried: no interpreter is found; its dependencies come as wheels")
    run(python, "-m", "venv", "venv", cwd=tmp_path)
    programs = tmp_path / "venv" / "bin"
    run(programs / "python", *PIP, "install", "--only-binary", ":all:", built.wheel, cwd=tmp_path)
    # Only the interpreter changes the compiled code, so each has a cache of its own.
    cache = {"GINENV_CACHE_DIR": str(tmp_path / "cache")}
    first = next(block for block in blocks_of(ROOT / "README.md") if block.language == "python")
    done = run(programs / "python", "-c", first.text, cwd=tmp_path, **cache)
    assert "compiling" in done.stderr
    assert not run(programs / "python", "-c", first.text, cwd=tmp_path, **cache).stderr
    assert run(programs / "python", "-c", "import train", cwd=tmp_path, check=False).returncode == 1


USES = (
    next(block for block in blocks_of(ROOT / "README.md") if block.language == "python").text,
    "from agents.play.rehearsal import rehearse; [rehearse(f'level-{n}', lambda _: None, 'eaai,target=20') for n in (1, 2, 3, 4)]",
    "from agents.arena.matches import play_match; play_match('knocker', 'population', pairs=2)",
)
# What compiled code computes: bots, views and points in an environment, networks and worlds in matches.
RESULTS = """
import hashlib
import gymnasium as gym
import ginenv
from agents.arena.matches import play_match
seen = hashlib.sha256()
envs = gym.make_vec("Gin/Hand-v0", num_envs=32, opponent="population", rules="dg-standard")
envs.reset(seed=3)
for _ in range(300):
    observations, rewards, *_ = envs.step(envs.unwrapped.action_masks().argmax(1))
    seen.update(observations.tobytes() + rewards.tobytes())
print(seen.hexdigest())
for players in (("level-4", "formula"), ("search:worlds=16", "level-1")):
    print(play_match(*players, pairs=3, unit="hands").points)
"""


@pytest.mark.slow
def test_a_wheel_for_a_platform_needs_no_compiler(built: Built, borrowed: Path, tmp_path: Path) -> None:
    """And what was compiled for one level of processors plays as what was compiled for another."""
    shutil.copy(built.wheel, tmp_path)
    shown = run(sys.executable, ROOT / ".ci" / "wheels.py", tmp_path / built.wheel.name, cwd=tmp_path).stdout
    (made,) = set(tmp_path.glob("*.whl")) - {tmp_path / built.wheel.name}
    assert str(made) in shown and made.stat().st_size <= 16_000_000
    run(borrowed / "python", *PIP, "install", "--no-deps", "--force-reinstall", made, cwd=tmp_path)
    cache = {"GINENV_CACHE_DIR": str(tmp_path / "cache")}
    for use in USES:
        assert not run(borrowed / "python", "-c", COMPILED + use, cwd=tmp_path, **cache).stderr
    (package,) = (borrowed.parent / "lib").glob("python3*/site-packages/ginenv")
    assert not list((tmp_path / "cache").rglob("*.nbc"))
    results = []
    for directory in sorted((package / "compiled").iterdir(), reverse=True):
        done = run(borrowed / "python", "-c", COMPILED + RESULTS, cwd=tmp_path, **cache)
        assert not done.stderr, directory.name
        results.append(done.stdout)
        shutil.rmtree(directory)
    assert len(results) > 1 and len(set(results)) == 1


@pytest.mark.slow
def test_programs_work_outside_of_a_checkout(borrowed: Path, tmp_path: Path) -> None:
    code = "import ginenv, agents; print(ginenv.__file__, agents.__file__)"
    where = run(borrowed / "python", "-c", code, cwd=tmp_path)
    assert str(ROOT) not in where.stdout
    assert "level-4" in run(borrowed / "gin", "levels", "show", cwd=tmp_path).stdout
    done = run(borrowed / "gin", "evaluate", "network", "simple", "--hands", 20, cwd=tmp_path)
    assert "results: runs/evaluate.json" in done.stdout and (tmp_path / "runs" / "evaluate.json").is_file()
    played = subprocess.run(
        [borrowed / "gin", "play", "--new", "--player", "Ann", "--opponent", "simple", "--home", "home", "--seed", "9"],
        input="gin\n" * 3 + "quit\n", cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert played.returncode == 0 and "deadwood" in played.stdout, played.stderr
    changes = ['players={"a": "simple", "b": "random"}', "pairs=2", "block=2", "out=out"]
    done = run(borrowed / "gin", "tournament", "configs/tournament.yaml", *changes, cwd=tmp_path)
    assert "results: " in done.stdout


@pytest.mark.slow
def test_what_was_built_from_can_be_tested(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    sources = next(tmp_path.iterdir())
    missing = {
        str(path.relative_to(ROOT))
        for top in ("tests", "docs", "configs", "examples", "benchmarks", "bridges", "ginenv", "agents", ".ci")
        for path in (ROOT / top).rglob("*")
        if path.is_file()
        and not {"__pycache__", "_build"} & set(path.parts)
        and path.suffix != ".pyc"
        and not (sources / path.relative_to(ROOT)).is_file()
    }
    assert not missing
    quick = ["tests/test_rules.py", "tests/test_package.py", "tests/test_melds.py", "tests/test_cache.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    done = run(*command, *quick, cwd=sources, PYTHONPATH=str(sources))
    assert " passed" in done.stdout
