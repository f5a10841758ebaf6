"""Every command of docs/bots.md runs, in its order, with stand-ins for a challenge's repository and fewer games."""

import re
import shutil
import subprocess

import pytest

from tests.support.compilers import ROOT, STAND_INS, need
from tests.support.pages import run_gin

BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / "bots.md").read_text(encoding="utf-8"), re.M | re.S)


def test_every_command_of_the_page_runs(tmp_path, monkeypatch, capfd):
    need("java", "javac", "jar", "rustc", "g++")
    shutil.copytree(STAND_INS, tmp_path / "THEIRS")
    for folder in ("examples", "bridges"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    commands = [line for block in BLOCKS for line in block.splitlines() if line]
    assert sum("gin " in line for line in commands) >= 4
    for line in commands:
        smaller = line.replace("--games 200", "--games 4").replace("gin conform", "gin conform --hands 2")
        smaller = smaller.replace("their.Player", "players.Simple")
        if not run_gin(smaller):
            subprocess.run(smaller, shell=True, check=True, timeout=300)
        printed = capfd.readouterr().out
        assert "illegal" not in printed and "crash" not in printed, printed


@pytest.mark.parametrize(
    "option", ["--card", "--interface", "--one-object", "--own-classes", "--shared-classes", "--max-batch"]
)
def test_the_page_and_the_host_name_the_same_options(option):
    page = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
    host = (ROOT / "bridges" / "eaai" / "Host.java").read_text(encoding="utf-8")
    assert f"`{option}" in page and f'equals("{option}")' in host
