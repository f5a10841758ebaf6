"""Tables of decisions: what is written is what was played, hidden columns are marked, and loaders give what a player saw."""

import itertools
import json
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agents.arena.matches import MatchSettings
from agents.cli.games import games as gin_games
from agents.datasets import source
from agents.datasets.load import Games
from agents.datasets.schema import COLUMNS
from agents.datasets.source import PlayedGames
from agents.datasets.store import DatasetError, write_games
from ginenv.errors import GinError
from ginenv.hands.hand import Match
from ginenv.hands.records import format_record
from ginenv.hands.text import format_position, format_positions, parse_position
from ginenv.view.encoding import encode_views
from ginenv.view.view import action_masks
from tests.support.refusals import refuses
from tests.test_records import play_game


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve games of two bots."""
    path = tmp_path_factory.mktemp("games") / "games.parquet"
    gin_games(["play", "formula", "simple", "--games", "12", "--seed", "5", "--out", str(path)])
    return path


def test_a_table_is_the_same_in_any_executor(
    file: Path, pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(source._TOGETHER, "games", 6)
    played = PlayedGames(("formula", "simple"), 12, MatchSettings(seed=5), pool)
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
    for row in rows[::97]:
        hand = parse_position(row["position"])
        view = hand.view()
        assert (row["seat"], row["phase"], row["ply"]) == (hand.turn, hand.phase, len(hand.history))
        assert row["cards"] == int(view["hand"][0]) and row["other_cards"] == int(hand.state["hands"][0, 1 - hand.turn])
        assert row["action"] in hand.legal_actions()
        legal = row["legal_cards"] | row["legal_knocks"] << 52 | row["legal_others"] << 104
        assert legal == sum(1 << action for action in hand.legal_actions())
        assert {row["player"], row["opponent"]} == {"formula", "simple"}


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
    about = json.loads(schema.metadata[b"ginenv"])
    assert about["players"] == ["formula", "simple"] and about["seed"] == 5
    hidden = {field.name for field in schema if field.metadata[b"hidden"] == b"true"}
    assert {"position", "other_cards", "points", "won", "end"} == hidden
    assert set(schema.metadata[b"hidden"].decode().split(",")) == hidden
    batch = next(Games(file).batches(10))
    assert not hidden & set(batch)
    assert "points" in next(Games(file).batches(10, also=["points"]))


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


def test_records_become_the_same_kind_of_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matches = [play_game("eaai", seed, hands=3) for seed in (1, 2)]
    for number, match in enumerate(matches):
        (tmp_path / f"{number}.gin").write_text(format_record(match, ("ann", "bob")))
    # One without a decision brings no row.
    (tmp_path / "2.gin").write_text(format_record(Match("eaai", seed=1)))
    out = tmp_path / "games.parquet"
    gin_games(["read", *(str(tmp_path / f"{number}.gin") for number in range(3)), "--out", str(out)])
    assert "2 games" in capsys.readouterr().out
    rows = pq.read_table(out).to_pylist()
    played = [hand for match in matches for hand in (match.played)]
    assert [row["action"] for row in rows] == [action for hand in played for action in hand.history]
    assert all(row["player"] == ("ann", "bob")[row["seat"]] for row in rows)
    assert sum(len(batch["action"]) for batch in Games(out).batches()) == len(rows)


def test_games_before_an_error_are_stored(tmp_path: Path) -> None:
    def groups(games: int):
        yield from PlayedGames(("simple", "simple"), games, MatchSettings()) if games else ()
        raise GinError("player 'simple' cannot go on")

    written = write_games(tmp_path / "games.parquet", groups(2), {"players": []})
    assert (written.games, written.interrupted) == (2, "player 'simple' cannot go on")
    assert len(Games(tmp_path / "games.parquet")) == written.rows
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


DOCS = Path(__file__).resolve().parent.parent / "docs" / "data.md"


def test_the_page_names_every_column_as_the_schema_does() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name, column in COLUMNS.items():
        assert f"| `{name}` | {column.about} | {'yes' if column.hidden else ''} |" in text
