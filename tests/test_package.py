"""What the project says about itself: data files, versions, extras; and what a program loads."""

import ast
import importlib.metadata
import importlib.resources
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import ginenv
from agents.arena.configs import TournamentConfig
from agents.cli import EXTRAS
from agents.config import SHIPPED, ConfigError, load_config
from agents.programs.process import BotFault, LineProcess
from tests.support.refusals import refuses

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMED = PROJECT["project"]["optional-dependencies"]


def test_one_version_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert citation["version"] == ginenv.__version__
    assert f"version = {{{ginenv.__version__}}}" in (ROOT / "docs" / "cite.md").read_text()
    assert newest[1] in (ginenv.__version__, "Unreleased")
    assert citation["authors"] == PROJECT["project"]["authors"]


def test_a_configuration_that_ships_is_found_where_there_is_none(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config("configs/smoke.yaml") == load_config(ROOT / "configs" / "smoke.yaml")
    with refuses(ConfigError, "configs/nowhere.yaml", "smoke") as refused:
        load_config("configs/nowhere.yaml")
    assert "tournament" not in str(refused.value)
    with refuses(ConfigError, "known: tournament"):
        load_config("configs/nowhere.yaml", model=TournamentConfig)
    # One's own of that name comes first.
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "smoke.yaml").write_text("decisions: 77\n")
    assert load_config("configs/smoke.yaml").decisions == 77
    assert {path.name for path in SHIPPED.iterdir()} == {path.name for path in (ROOT / "configs").iterdir()}


# Imported by name, and always there with what needs them.
PARTS = {"llvmlite": "numba", "markupsafe": "jinja2", "pydantic_core": "pydantic", "h11": "uvicorn"}


def _distributions(requirements: list[str]) -> set[str]:
    """The names of distributions, those of the extras that are named among them too, as they are compared."""
    found = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement).groups()  # type: ignore[union-attr]
        found.add(re.sub(r"[-_.]+", "-", name).lower())
        for extra in filter(None, (extras or "").split(",")):
            found |= _distributions(NAMED[extra])
    return found


def _imports(package: str) -> set[str]:
    """What the modules of a package import from outside, those imports inside of functions included."""
    found: set[str] = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                # Its writer needs the package of that name.
                module = str(node.module)
                found.add("tensorboard" if module.endswith("tensorboard") else module)
    top = {name.partition(".")[0] for name in found}
    return top - set(sys.stdlib_module_names) - {"ginenv", "agents"}


def test_every_import_is_in_the_base_or_in_the_extra_that_its_absence_names() -> None:
    base = _distributions(PROJECT["project"]["dependencies"])
    assert base == {"gymnasium", "numba", "numpy", "pillow"}
    of_module = importlib.metadata.packages_distributions()

    def names(module: str) -> set[str]:
        module = PARTS.get(module, module)
        return {re.sub(r"[-_.]+", "-", name).lower() for name in of_module.get(module, [module])}

    for module in _imports("agents"):
        if not names(module) & base:
            assert names(module) & _distributions(NAMED[EXTRAS.get(PARTS.get(module, module), "match")]), module
    # The environments need the base alone, and an adapter what it adapts to.
    adapted = {"pettingzoo", "stable_baselines3", "tensordict", "torch", "torchrl"}
    assert {module for module in _imports("ginenv") if not names(module) & base} == adapted


# Hides modules, as if they were not installed, and runs a command.
HIDING = """
import sys
hidden = set(sys.argv.pop(1).split(","))
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
from agents.cli import main
main()
"""


def gin_without(hidden: set[str], *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDING, ",".join(hidden), *words]
    return subprocess.run(command, cwd=cwd, input="quit\n", capture_output=True, text=True)


def _modules_of(distributions: set[str]) -> set[str]:
    of_module = importlib.metadata.packages_distributions()
    return {module for module, names in of_module.items() if {name.lower() for name in names} & distributions}


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "simple", "formula", "--hands", "2"),
        ("play", "--new", "--player", "Ann", "--opponent", "simple", "--home", "home"),
        ("tournament", "configs/tournament.yaml", 'players={"a": "simple", "b": "random"}', "pairs=2", "block=2", "out=x"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_formula_bots_play_with_the_small_extra(words: tuple[str, ...], tmp_path: Path) -> None:
    larger = _distributions(["ginenv[train,web,data]"]) - _distributions(["ginenv[match]"])
    done = gin_without(_modules_of(larger), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_missing_library_names_the_extra_that_the_command_needs(tmp_path: Path) -> None:
    for missing, extra, words in (
        ("pydantic", "match", ("evaluate", "simple", "formula")),
        ("pydantic", "match,data", ("games", "read", "x")),
        ("torch", "train", ("train",)),
        ("uvicorn", "web", ("web", "--home", "home")),
    ):
        done = gin_without({missing}, *words, cwd=tmp_path)
        assert done.returncode == 1 and missing in done.stderr and f"[{extra}]" in done.stderr


def test_an_adapter_without_its_library_names_the_extra() -> None:
    code = "import sys; sys.modules['stable_baselines3'] = None; import ginenv.adapters.sb3"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "'ginenv[sb3]'" in done.stderr.strip().splitlines()[-1]


# --- what a program loads, in a process of its own: the import contracts do not see names in a registry

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


def test_an_opponent_loads_no_training_no_matches_and_no_table() -> None:
    found = rooms(loaded((IN_HAND_ENV + IN_VECTOR_ENV).format(opponent="network")))
    assert "network" in found
    assert not found & {"arena", "cli", "levels", "play", "programs", "reports", "search", "training"}


def test_a_match_of_bots_loads_no_training_no_levels_and_no_network(tmp_path: Path) -> None:
    out = tmp_path / "match.json"
    modules = loaded(MATCH.format(player="formula", out=str(out)))
    assert "arena" in rooms(modules)
    assert not rooms(modules) & {"training", "levels", "network", "play"} and "torch" not in modules
    assert json.loads(out.read_text())["matches"][0]["players"] == ["formula", "simple"]


# What Python lacks on Windows; the libraries are imported before, since they look at the platform's name.
WITHOUT_POSIX = """
import os, select, signal, sys, time
import gymnasium, multiprocessing, numba, numpy, subprocess, tempfile, PIL.Image, filelock, platformdirs
numba.njit(lambda: 0)()
platformdirs.user_data_path()
LISTED = "chown fork geteuid getgid getuid kill killpg lchown mkfifo openpty register_at_fork sched_getaffinity setsid"
for name in LISTED.split():
    delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "alarm", "pthread_sigmask", "setitimer"):
    delattr(signal, name)
del select.poll
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
"""


def test_environments_play_without_posix() -> None:
    """As on Windows."""
    assert "ginenv.envs.env" in loaded(WITHOUT_POSIX + IN_HAND_ENV.format(opponent="simple") + "env.close()")


@pytest.mark.parametrize(
    ("words", "library"),
    [
        (("evaluate", "simple", "formula", "--hands", "2"), "rich"),
        (("play", "--new", "--player", "Ann", "--opponent", "simple", "--home", "home"), "rich"),
        (("train", "--config", "smoke", "--set", "decisions=9000", "eval_games=20"), "torch.utils.tensorboard"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_commands_run_without_posix(words: tuple[str, ...], library: str, tmp_path: Path) -> None:
    code = (
        f"import {library}, torch.distributed\n" * (library != "rich")
        + WITHOUT_POSIX
        + "from agents.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        input="quit\n",
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr


def test_a_program_without_posix_names_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("select.poll")
    with refuses(BotFault, "Linux", "macOS"):
        LineProcess("program")
