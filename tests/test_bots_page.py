"""Every command of docs/bots.md runs, in its order, with stand-ins for a challenge's repository and fewer games."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.support.compilers import ROOT, STAND_INS, need

BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "bots.md").read_text(encoding="utf-8"), re.M | re.S)


def test_every_command_of_the_page_runs(tmp_path):
    need("java", "javac", "jar", "rustc", "g++")
    shutil.copytree(STAND_INS, tmp_path / "THEIRS")
    for folder in ("examples", "bridges"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    # The command `gin` of this checkout, wherever it was installed from.
    gin = tmp_path / "gin"
    gin.write_text(
        f"#!/bin/sh\nexec '{sys.executable}' -c 'from agents.cli import main; main()' \"$@\"\n", encoding="utf-8"
    )
    gin.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    commands = [line for block in BLOCKS for line in block.splitlines() if line]
    assert sum("gin " in line for line in commands) >= 4
    for line in commands:
        smaller = line.replace("--games 200", "--games 4").replace("gin conform", "gin conform --hands 2")
        smaller = smaller.replace("their.Player", "players.Simple")
        done = subprocess.run(
            smaller, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "illegal" not in done.stdout and "crash" not in done.stdout, done.stdout


@pytest.mark.parametrize(
    "option", ["--card", "--interface", "--one-object", "--own-classes", "--shared-classes", "--max-batch"]
)
def test_the_page_and_the_host_name_the_same_options(option):
    page = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
    host = (ROOT / "bridges" / "eaai" / "Host.java").read_text(encoding="utf-8")
    assert f"`{option}" in page and f'equals("{option}")' in host
