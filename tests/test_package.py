"""What an installed package says about itself."""

from __future__ import annotations

import importlib.resources
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())


@pytest.mark.parametrize("package", ["ginenv", "agents"])
def test_type_checkers_find_the_marker_of_a_typed_package(package: str) -> None:
    assert (importlib.resources.files(package) / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["*"]
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]


def test_the_cache_of_compiled_code_is_where_it_is_asked_for(tmp_path: Path) -> None:
    script = "from ginenv.jit import cache_root; print(cache_root())"
    found = []
    for variables in ({"XDG_CACHE_HOME": f"{tmp_path}/user"}, {"GINENV_CACHE_DIR": f"{tmp_path}/chosen"}, {}):
        environment = {"HOME": f"{tmp_path}/home", "PYTHONPATH": ":".join(sys.path), **variables}
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        found.append(run.stdout.strip())
    default = "Library/Caches" if sys.platform == "darwin" else ".cache"
    assert found[1:] == [f"{tmp_path}/chosen", f"{tmp_path}/home/{default}/ginenv"]
    assert sys.platform == "darwin" or found[0] == f"{tmp_path}/user/ginenv"
