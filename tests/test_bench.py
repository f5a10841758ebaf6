"""The benchmark: one file, the same to the digit, whatever the number of processes; and what a time limit leaves."""

import json
import signal
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from agents import cli
from agents.arena import matches
from agents.cli import bench
from agents.estimates import ratio


def run(out: Path, *more: str) -> dict:
    cli.run("gin", "bench", ["easy", "--name", "mine", "--trained-on", "none", "--out", str(out), *more])
    return json.loads(out.read_text())


def test_a_score_repeats_to_the_digit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "PAIRS", 6)
    monkeypatch.setattr(bench, "OPPONENTS", ("simple", "camper"))
    first, again = run(tmp_path / "a.json"), run(tmp_path / "b.json")
    del first["command"], again["command"]
    assert first == again
    shares = [match["share"]["mean"] for match in first["matches"]]
    assert first["score"]["mean"] == pytest.approx(sum(shares) / 2, abs=2e-6)
    assert (first["player"], first["trained_on"], first["bench"]) == ("mine", "none", bench.BENCH_VERSION)
    assert first["complete"] is True
    assert [match["players"][1] for match in first["matches"]] == ["simple", "camper"]


def test_a_time_limit_leaves_the_pairs_that_are_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "OPPONENTS", ("simple",))
    # A clock that counts half-moves of the tables.
    monkeypatch.setattr(matches, "_PROGRESS_SECONDS", -1)
    monkeypatch.setattr(bench, "time", SimpleNamespace(monotonic=count().__next__))
    found = run(tmp_path / "short.json", "--minutes", "10")
    assert 0 < found["matches"][0]["pairs"] < bench.PAIRS and found["complete"] is False
    assert "leaderboard" in capsys.readouterr().out
    # Too little for any: it goes on until there is one.
    assert run(tmp_path / "slow.json", "--minutes", "0.1")["matches"][0]["pairs"] >= 1


def test_loading_players_is_no_time_of_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "PAIRS", 3)
    monkeypatch.setattr(bench, "OPPONENTS", ("simple", "camper"))
    monkeypatch.setattr(matches, "_PROGRESS_SECONDS", -1)
    seconds, loaded = [0.0], set()

    def loading(player: str, opponent: str, **options: object) -> object:
        if opponent not in loaded:
            loaded.add(opponent)
            seconds[0] += 1000
        return matches.play_match(player, opponent, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(bench, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr(bench, "play_match", loading)
    assert run(tmp_path / "all.json", "--minutes", "1")["complete"] is True


def test_the_interval_holds_what_a_short_match_leaves_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long, short = (matches.play_match("easy", "simple", pairs=pairs, seed=1) for pairs in (60, 3))
    assert bench.score([long, short]).half > 0.45 * ratio(short.pair_scores, np.ones(3)).half
    monkeypatch.setattr(bench, "PAIRS", 2)
    monkeypatch.setattr(bench, "OPPONENTS", ("simple", "camper"))

    def cut(player: str, opponent: str, pairs: int, **options: object) -> object:
        return matches.play_match(player, opponent, pairs=1 if opponent == "camper" else pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(bench, "play_match", cut)
    assert run(tmp_path / "one.json")["score"]["low"] is None
    assert "no interval" in capsys.readouterr().out.splitlines()[-2]


def test_a_match_that_was_cut_counts_as_much_as_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "PAIRS", 8)
    monkeypatch.setattr(bench, "OPPONENTS", ("simple", "camper"))

    def cut(player: str, opponent: str, pairs: int, **options: object) -> object:
        return matches.play_match(player, opponent, pairs=5 if opponent == "camper" else pairs, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(bench, "play_match", cut)
    found = run(tmp_path / "cut.json")
    shares = [match["share"]["mean"] for match in found["matches"]]
    assert found["score"]["mean"] == pytest.approx(sum(shares) / 2, abs=2e-6)
    # The two matches' errors add up as those of independent samples would, or less where their deals agree.
    halves = [match["share"]["high"] - match["share"]["mean"] for match in found["matches"]]
    assert 0 < found["score"]["high"] - found["score"]["mean"] < sum(halves)


def test_an_interrupt_in_a_match_ends_the_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "OPPONENTS", ("simple", "camper"))
    monkeypatch.setattr(matches, "_PROGRESS_SECONDS", -1)
    reports = count()
    # Late enough that some pairs are finished.
    interrupt = lambda limit: signal.raise_signal(signal.SIGINT) if next(reports) == 600 else None  # noqa: E731
    monkeypatch.setattr(bench.TimeLimit, "check", interrupt)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        run(tmp_path / "stopped.json")
    assert next(reports) < 700 and not (tmp_path / "stopped.json").exists()


def test_an_interrupted_benchmark_goes_on_to_the_same_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "PAIRS", 4)
    monkeypatch.setattr(bench, "OPPONENTS", ("simple", "camper"))
    complete = run(tmp_path / "a.json")
    played: list[str] = []

    def stopping(player: str, opponent: str, **options: object) -> object:
        if played == ["simple"]:
            raise KeyboardInterrupt
        played.append(opponent)
        return matches.play_match(player, opponent, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(bench, "play_match", stopping)
    monkeypatch.setattr(bench, "get_ready", lambda *arguments: None)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        run(tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()
    played.clear()
    again = run(tmp_path / "b.json")
    # The first match was kept; afterwards, nothing is left of the parts.
    assert played == ["camper"] and [path.name for path in sorted(tmp_path.iterdir())] == ["a.json", "b.json"]
    del complete["command"], again["command"]
    assert again == complete


def test_results_are_not_written_over_those_of_another_player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "PAIRS", 1)
    monkeypatch.setattr(bench, "OPPONENTS", ("simple",))
    for name in ("first", "second"):
        bench.bench(bench.BenchConfig(player="formula", name=name))
    assert [json.loads(Path("runs", file).read_text())["player"] for file in ("bench.json", "bench-2.json")] == [
        "first",
        "second",
    ]
