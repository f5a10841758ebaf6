"""What runs where the project is published: workflows, and addresses that its owner fills in."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_can_be_run_at_home(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for script in (step["run"] for step in steps if "run" in step):
        target = re.fullmatch(r"make ([\w-]+)", script)
        files = re.findall(r"\.ci/[\w.]+", script)
        assert (target and f"\n{target[1]}:" in makefile) or (files and all((ROOT / f).is_file() for f in files)) or (
            script.startswith("rm dist/")
        ), script  # fmt: skip
    # A tag may be moved to other code, a commit not.
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)


def test_the_owner_fills_in_every_address(tmp_path: Path) -> None:
    for name in (".ci/address.py", "pyproject.toml", "README.md", "CITATION.cff", "examples/look_inside.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    def fill_in(repository: str) -> int:
        return subprocess.run([sys.executable, tmp_path / ".ci" / "address.py", repository], check=False).returncode

    assert fill_in("somebody") != 0
    # Named anew, everything names the new place, and nothing the old one.
    assert fill_in("somebody/cards") == fill_in("else/ginenv") == 0
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Issues"] == "https://github.com/else/ginenv/issues" and project["scripts"]
    assert yaml.safe_load((tmp_path / "CITATION.cff").read_text())["repository-code"] == project["urls"]["Source"]
    notebook = json.loads((tmp_path / "examples" / "look_inside.ipynb").read_text())
    assert "else/ginenv/blob/main/examples/look_inside.ipynb" in "".join(notebook["cells"][0]["source"])
    assert (tmp_path / "README.md").read_text().count("else/ginenv") == 2
    assert not any("somebody/" in path.read_text() for path in tmp_path.rglob("*.*") if path.is_file())
