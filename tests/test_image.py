"""What others build from: the Dockerfile, whose steps are taken here in empty environments, and the settings of the hosted site."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, with the words after each."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M).replace("\\\n", "")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in text.splitlines() if line.strip()]


class Stage:
    """A directory that stands for a stage's file system, and an environment for the Python of its base."""

    def __init__(self, place: Path) -> None:
        self.place = self.here = place
        subprocess.run([sys.executable, "-m", "venv", place / "usr"], check=True)
        names = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.environment = names | {"PATH": f"{place / 'usr' / 'bin'}:{os.environ['PATH']}", "HOME": str(place)}

    def work_in(self, folder: str) -> None:
        self.here = self.place / folder
        self.here.mkdir(parents=True)
        self.environment |= {"HOME": str(self.here)}

    def copy(self, words: list[str], stages: dict[str, Stage]) -> None:
        *sources, target = words
        origin = ROOT
        if sources[0].startswith("--from="):
            origin = stages[sources.pop(0).removeprefix("--from=")].place
        left_out = (ROOT / ".dockerignore").read_text().replace("**/", "").splitlines() if origin == ROOT else ()
        for source in sources:
            if (origin / source).is_dir():
                ignore = shutil.ignore_patterns(*left_out)
                shutil.copytree(origin / source, self.here / target, symlinks=True, ignore=ignore, dirs_exist_ok=True)
            else:
                shutil.copy(origin / source, self.here / target)

    def run(self, command: str) -> str:
        # Nobody is made a user of this machine.
        script = f"set -euo pipefail; useradd() {{ :; }}\n{command}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.here, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.mark.slow
def test_the_recipe_of_the_image_ends_in_a_table_to_play_at(tmp_path: Path) -> None:
    stages: dict[str, Stage] = {}
    entry, command = [], []
    for instruction, rest in instructions():
        words = shlex.split(rest)
        if instruction == "FROM":
            stages[words[-1]] = Stage(tmp_path / str(len(stages)))
        stage = list(stages.values())[-1]
        if instruction == "FROM":
            continue
        if instruction == "ARG":
            stage.environment |= [rest.split("=", 1)]
        elif instruction == "WORKDIR":
            stage.work_in(rest)
        elif instruction == "COPY":
            stage.copy(words, stages)
        elif instruction == "RUN":
            stage.run(rest)
        elif instruction == "ENTRYPOINT":
            entry = json.loads(rest)
        elif instruction == "CMD":
            command = json.loads(rest)
        else:
            assert instruction in ("USER", "EXPOSE"), instruction
    # On this machine's own address alone.
    command[command.index("--host") + 1] = "127.0.0.1"
    table = subprocess.Popen(
        [*entry, *command, "--port", "0"], cwd=stage.here, env=stage.environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert table.stdout is not None
        address = next(found[0] for line in table.stdout if (found := re.search(r"http://\S+", line)))
        jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = jar.open(address).read().decode()
    finally:
        table.terminate()
        table.wait()
    assert "gin rummy" in page.lower()
    # Compiled ahead: a match has nothing to wait for.
    match = subprocess.run(
        [*entry, "evaluate", "simple", "formula", "--hands", "20"], cwd=stage.here, env=stage.environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "compiling" not in match.stderr


def test_the_site_is_hosted_as_it_is_built_here() -> None:
    settings = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text())
    assert (ROOT / settings["sphinx"]["configuration"]).is_file() and settings["sphinx"]["fail_on_warning"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (install,) = settings["python"]["install"]
    assert (ROOT / install["path"] / "pyproject.toml").is_file()
    assert set(install["extra_requirements"]) <= set(project["optional-dependencies"])
    assert any(word.endswith(f":: {settings['build']['tools']['python']}") for word in project["classifiers"])


def test_the_image_runs_as_a_user_and_names_no_host() -> None:
    steps = instructions()
    assert [rest for instruction, rest in steps if instruction == "USER"] == ["gin"]
    assert steps.index(("USER", "gin")) < steps.index(("RUN", "gin warm"))
    assert not re.search(r"://", "".join(rest for _, rest in steps))
