"""Files from outside, damaged at random with a seed: each case is read or refused in one sentence, and none costs time or memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agents.datasets.load import Games
from agents.files import FileError
from agents.network.onnx_player import load_onnx
from agents.play.store import FILE, Home
from ginenv.errors import GinError
from tests.support import damaged_games, damaged_onnx, damaged_results, damaged_store

# Of each format; several seconds in total.
CASES = 500


def test_networks_in_onnx(tmp_path: Path) -> None:
    report = damaged_onnx.check(tmp_path, 1, CASES)
    assert not report.failures and report.refused > CASES / 2, report.failures[:5]


@pytest.mark.parametrize("kind", damaged_onnx.WHOLE)
def test_a_graph_of_another_shape_or_without_bounds_is_no_player(kind: str, tmp_path: Path) -> None:
    graph = damaged_onnx.WHOLE[kind]().SerializeToString()
    with pytest.raises(GinError, match=r"network\.onnx"):
        load_onnx(str(damaged_onnx.write(tmp_path, graph)))


@pytest.mark.parametrize("kind", ["not a number", "infinite", "outside"])
def test_weights_that_are_no_numbers_or_in_another_file_are_refused(kind: str, tmp_path: Path) -> None:
    model = damaged_onnx.network()
    (tmp_path / "network.data").write_bytes(model.graph.initializer[0].raw_data)
    damaged_onnx.TENSORS[kind](model.graph.initializer[0])
    with pytest.raises(GinError, match=r"network\.onnx"):
        load_onnx(str(damaged_onnx.write(tmp_path, model.SerializeToString())))


def test_tables_of_decisions(tmp_path: Path) -> None:
    report = damaged_games.check(tmp_path, 1, CASES)
    assert not report.failures and report.refused > CASES / 2, report.failures[:5]
    with pytest.raises(GinError, match="is no file"):
        Games("/dev/null")


def test_stores(tmp_path: Path) -> None:
    report = damaged_store.check(tmp_path, 1, CASES)
    assert not report.failures and report.refused > CASES / 3, report.failures[:5]


@pytest.mark.parametrize("statement", damaged_store.FOREIGN)
def test_a_file_of_another_program_gets_no_tables(statement: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        file.executescript(statement)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(FileError, match=FILE):
        Home(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_results_for_a_card(tmp_path: Path) -> None:
    report = damaged_results.check(tmp_path, 1, CASES)
    assert not report.failures and report.refused > CASES / 2, report.failures[:5]
