"""What a package says about itself: its data files, its versions, and which extra brings what."""

import ast
import importlib.metadata
import importlib.resources
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
from tests.support.refusals import refuses

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMED = PROJECT["project"]["optional-dependencies"]


@pytest.mark.parametrize("package", ["ginenv", "agents"])
def test_type_checkers_find_the_marker_of_a_typed_package(package: str) -> None:
    assert (importlib.resources.files(package) / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"][package]
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


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
    larger = _distributions(["ginenv[train,web,data,onnx]"]) - _distributions(["ginenv[match]"])
    done = gin_without(_modules_of(larger), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_missing_library_names_the_extra_that_the_command_needs(tmp_path: Path) -> None:
    for missing, extra, words in (
        ("pydantic", "match", ("evaluate", "simple", "formula")),
        ("pydantic", "match,data", ("games", "check", "x")),
        ("torch", "agents", ("evaluate", "network", "formula", "--hands", "2")),
        ("torch", "train", ("train",)),
        ("torch", "agents", ("play", "--player", "Ann", "--opponent", "level-1", "--home", "home")),
        ("uvicorn", "web", ("web", "--home", "home")),
    ):
        done = gin_without({missing}, *words, cwd=tmp_path)
        assert done.returncode == 1 and missing in done.stderr and f"[{extra}]" in done.stderr


@pytest.mark.parametrize(
    ("extra", "library"), [("pettingzoo", "pettingzoo"), ("sb3", "stable_baselines3"), ("torchrl", "torchrl")]
)
def test_an_adapter_without_its_library_names_the_extra(extra: str, library: str) -> None:
    code = f"import sys; sys.modules['{library}'] = None; import ginenv.adapters.{extra}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert f"'ginenv[{extra}]'" in done.stderr.strip().splitlines()[-1]
