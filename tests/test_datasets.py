"""Tables of decisions: what is written is what was played, hidden columns are marked, and loaders give what a player saw."""

import itertools
import json
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from agents.arena.matches import MatchSettings
from agents.cli.games import games as gin_games
from agents.datasets import source
from agents.datasets.load import Games
from agents.datasets.schema import COLUMNS
from agents.datasets.source import PlayedGames
from agents.datasets.store import DatasetError, check_games, write_games
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.records import format_record
from ginenv.hands.text import format_position, format_positions, parse_position
from ginenv.tables.players import make_player
from ginenv.view.encoding import encode_views
from ginenv.view.view import action_masks
from tests.support.refusals import refuses
from tests.test_records import play_game


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve games of two bots, with the expert's actions."""
    path = tmp_path_factory.mktemp("games") / "games.parquet"
    gin_games(["play", "formula", "simple", "--games", "12", "--seed", "5", "--expert", "knocker", "--out", str(path)])
    return path


def test_a_table_is_the_same_in_any_executor(
    file: Path, pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(source._TOGETHER, "games", 6)
    played = PlayedGames(("formula", "simple"), 12, MatchSettings(seed=5), "knocker", pool)
    write_games(tmp_path / "there", played, {"players": []})
    assert pq.read_table(tmp_path / "there").equals(pq.read_table(file))
    assert pq.ParquetFile(tmp_path / "there").num_row_groups == 2


@pytest.mark.parametrize("rules", ["eaai", "ht1"])
def test_lines_of_a_hand_are_those_of_its_positions(rules: str) -> None:
    for hand in play_game(rules, 3, hands=2).played:
        expected = [format_position(hand.after(count)) for count in range(len(hand.history))]
        assert format_positions(hand) == expected


def test_rows_are_the_decisions_as_the_engine_sees_them(file: Path) -> None:
    rows = pq.read_table(file).to_pylist()
    assert {row["game"] for row in rows} == set(range(12))
    first = [next(row for row in rows if row["game"] == game and row["seat"] == 0)["player"] for game in range(12)]
    assert first == ["formula", "simple"] * 6
    player = make_player("knocker", seed=5)
    for row in rows[::97]:
        hand = parse_position(row["position"])
        view = hand.view()
        assert (row["seat"], row["phase"], row["ply"]) == (hand.turn, hand.phase, len(hand.history))
        assert row["cards"] == int(view["hand"][0]) and row["other_cards"] == int(hand.state["hands"][0, 1 - hand.turn])
        assert row["action"] in hand.legal_actions()
        legal = row["legal_cards"] | row["legal_knocks"] << 52 | row["legal_others"] << 104
        assert legal == sum(1 << action for action in hand.legal_actions())
        assert {row["player"], row["opponent"]} == {"formula", "simple"}
        assert row["expert_action"] == int(player.act(view)[0])


def test_outcomes_are_those_of_the_hands_and_games(file: Path) -> None:
    rows = pq.read_table(file).to_pylist()
    for first, second in itertools.pairwise(rows):
        if first["hand"] == second["hand"]:
            same = first["seat"] == second["seat"]
            assert first["end"] == second["end"] and first["points"] == (1 if same else -1) * second["points"]
            continue
        hand = parse_position(first["position"])
        hand.push(first["action"])
        outcome = hand.outcome
        assert outcome is not None and outcome.end.name.lower() == first["end"]
        assert first["points"] == (outcome.points if outcome.winner == first["seat"] else -outcome.points)
        if first["game"] == second["game"]:
            score = parse_position(second["position"]).state["score"][0] - hand.state["score"][0]
            assert score.sum() == outcome.points
        else:
            # The score of the hand that ended the game decides it.
            assert first["won"] == (1 if outcome.winner == first["seat"] else -1)


def test_hidden_columns_are_marked_and_left_out(file: Path) -> None:
    schema = pq.read_schema(file)
    hidden = {field.name for field in schema if field.metadata[b"hidden"] == b"true"}
    assert {"position", "other_cards", "points", "won", "end", "expert_action"} == hidden
    assert set(schema.metadata[b"hidden"].decode().split(",")) == hidden
    batch = next(Games(file).batches(10))
    assert not hidden & set(batch)
    assert "points" in next(Games(file).batches(10, also=["points"]))


def test_reading_back_finds_a_changed_row(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gin_games(["check", str(file)])
    assert "are what playing them again gives" in capsys.readouterr().out
    table = pq.read_table(file)
    row = 100
    values = table["points"].to_pylist()
    values[row] += 1
    place = table.schema.get_field_index("points")
    changed = table.set_column(place, table.schema.field("points"), pa.array(values, pa.int16()))
    pq.write_table(changed, tmp_path / "changed.parquet")
    with refuses(DatasetError, row, "points", values[row]):
        check_games(tmp_path / "changed.parquet")


def test_batches_hold_what_the_player_saw(file: Path) -> None:
    games = Games(file)
    rows = pq.read_table(file, columns=["position", "action", "player"]).to_pylist()
    wanted = [row for row in rows if row["player"] == "simple"]
    batches = list(games.batches(100, player="simple"))
    assert sum(len(batch["action"]) for batch in batches) == len(wanted) < len(games)
    for row, seen, mask, action in zip(
        wanted[:100:7], *(batches[0][n][::7] for n in ("observation", "mask", "action")), strict=True
    ):
        view = parse_position(row["position"]).view()
        assert np.array_equal(seen, encode_views(view)[0]) and np.array_equal(mask, action_masks(view)[0])
        assert action == row["action"]


def test_shuffled_batches_hold_the_same_rows(file: Path) -> None:
    def rows(seed: int | None) -> list[tuple[int, int]]:
        found = Games(file).batches(64, seed=seed)
        return [pair for batch in found for pair in zip(batch["hand"].tolist(), batch["ply"].tolist(), strict=True)]

    assert rows(1) != rows(None) and rows(1) == rows(1) and sorted(rows(1)) == rows(None)


def test_torch_gets_the_same_batches(file: Path) -> None:
    workers: dict[str, Any] = {"num_workers": 1, "multiprocessing_context": "spawn"}
    loader = torch.utils.data.DataLoader(Games(file).torch(64), batch_size=None, **workers)
    for tensors, arrays in zip(loader, Games(file).batches(64), strict=True):
        assert {name: tensors[name].numpy().tobytes() for name in tensors} == {n: arrays[n].tobytes() for n in arrays}


def test_records_become_the_same_kind_of_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matches = [play_game("eaai", seed, hands=3) for seed in (1, 2)]
    for number, match in enumerate(matches):
        (tmp_path / f"{number}.gin").write_text(format_record(match, ("ann", "bob")))
    # One without a decision brings no row.
    (tmp_path / "2.gin").write_text(format_record(Hand.deal("eaai", seed=1)))
    out = tmp_path / "games.parquet"
    gin_games(["read", *(str(tmp_path / f"{number}.gin") for number in range(3)), "--out", str(out)])
    assert "2 games" in capsys.readouterr().out
    rows = pq.read_table(out).to_pylist()
    played = [hand for match in matches for hand in (match.played)]
    assert [row["action"] for row in rows] == [action for hand in played for action in hand.history]
    assert all(row["player"] == ("ann", "bob")[row["seat"]] for row in rows)
    assert check_games(out).rows == len(rows)


def test_a_search_as_expert_says_what_each_action_is_worth(tmp_path: Path) -> None:
    out = tmp_path / "games.parquet"
    name = "search:worlds=8,particles=32"
    gin_games(["play", "simple", "simple", "--hands", "1", "--expert", name, "--out", str(out)])
    rows = pq.read_table(out).to_pylist()
    assert any(row["expert_actions"] for row in rows)
    for row in rows:
        assert len(row["expert_actions"]) == len(row["expert_values"])
        if row["expert_actions"]:
            assert row["expert_action"] in row["expert_actions"]
            assert set(row["expert_actions"]) <= set(parse_position(row["position"]).legal_actions())
            assert all(np.isfinite(row["expert_values"]))
    assert all(row["won"] is None for row in rows)


def test_the_card_says_how_it_was_made(file: Path) -> None:
    card = file.with_suffix(".md").read_text()
    about = json.loads(pq.read_schema(file).metadata[b"ginenv"])
    assert about["players"] == ["formula", "simple"] and about["seed"] == 5
    assert "12 games" in card and "| `other_cards` |" in card and "expert: knocker" in card


def test_games_before_an_error_are_stored(tmp_path: Path) -> None:
    def groups(games: int):
        yield from PlayedGames(("simple", "simple"), games, MatchSettings()) if games else ()
        raise GinError("player 'simple' cannot go on")

    written = write_games(tmp_path / "games.parquet", groups(2), {"players": []})
    assert (written.games, written.interrupted) == (2, "player 'simple' cannot go on")
    assert check_games(tmp_path / "games.parquet").rows == written.rows
    assert "ended early: player 'simple' cannot go on" in (tmp_path / "games.md").read_text()
    with refuses(GinError, "'simple'"):
        write_games(tmp_path / "none.parquet", groups(0), {})
    assert not (tmp_path / "none.parquet").exists()


def test_what_is_no_table_and_unknown_names_are_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no table")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    for name in ("text.parquet", "other.parquet"):
        with refuses(DatasetError, name):
            Games(tmp_path / name)
    with refuses(GinError, "'point'", "'points'"):
        next(Games(file).batches(also=["point"]))
    with refuses(GinError, "'nobody'"):
        next(Games(file).batches(player="nobody"))


def test_neither_a_table_nor_its_card_takes_the_place_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "old.md").write_text("mine")
    (tmp_path / "old.parquet").write_text("mine")
    record = tmp_path / "one.gin"
    record.write_text(format_record(play_game("eaai", 1, hands=2), ("ann", "bob")))
    before = record.read_text()
    for out, fact in (("notes.parquet", "notes.md"), ("old.parquet", "old.md"), ("table.md", "table.md")):
        with refuses(GinError, fact):
            gin_games(["play", "simple", "simple", "--games", "1", "--out", str(tmp_path / out)])
    with refuses(GinError, "one.gin"):
        gin_games(["read", str(record), "--out", str(tmp_path / "." / "one.gin")])
    assert (tmp_path / "notes.md").read_text() == "mine" and record.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.md", "old.md", "old.parquet", "one.gin"]
    # Its own it replaces, also where the table is gone.
    for _ in range(3):
        gin_games(["play", "simple", "simple", "--games", "1", "--out", str(tmp_path / "new.parquet")])
        (tmp_path / "new.parquet").unlink()


DOCS = Path(__file__).resolve().parent.parent / "docs" / "data.md"


def test_the_page_names_every_column_as_the_schema_does() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, column in COLUMNS.items():
        more = "" if column.always else " (with `--expert`)"
        assert f"| `{name}` | {column.about}{more} | {'yes' if column.hidden else ''} |" in text
