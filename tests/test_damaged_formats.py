"""Files from outside, damaged at random with a seed: each case is read or refused in one sentence, and none costs time or memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.datasets.load import Games
from agents.files import FileError
from agents.play.store import FILE, Home
from ginenv.errors import GinError
from tests.support import damaged_games, damaged_results, damaged_store
from tests.support.refusals import refuses
from tests.support.scale import SCALE

# Of each format; several seconds in total.
CASES = 500 * SCALE


@pytest.mark.parametrize("reader", [damaged_games, damaged_store, damaged_results])
def test_damaged_files_are_read_or_refused(reader: Any, tmp_path: Path) -> None:
    report = reader.check(tmp_path, 1, CASES)
    assert not report.failures and report.refused > CASES / 3, report.failures[:5]


def test_a_device_is_no_table_of_decisions() -> None:
    with refuses(GinError, "/dev/null"):
        Games("/dev/null")


@pytest.mark.parametrize("statement", damaged_store.FOREIGN)
def test_a_file_of_another_program_gets_no_tables(statement: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        file.executescript(statement)
    before = (tmp_path / FILE).read_bytes()
    with refuses(FileError, FILE):
        Home(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before
