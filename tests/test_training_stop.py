"""A run's directory: who may train there, what goes on, what an interrupt or a kill leaves, and which network is handed over."""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import agents.training.evaluation as evaluation
from agents.arena import play_match
from agents.cli.train import train as train_command
from agents.config import parse_config
from agents.deal_streams import Domain
from agents.estimates import Estimate
from agents.network.checkpoint import load_checkpoint
from agents.network.model_card import model_card
from agents.training.run import TrainingRun
from ginenv.errors import GinError

TINY = {
    "num_envs": 8,
    "num_steps": 8,
    "minibatch": 32,
    "decisions": 1,
    "network": {"actor": [8], "critic": [8]},
    "eval_games": 2,
    "threads": 1,
}


def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away what most of the time of a tiny run goes into: games of networks that know nothing."""
    monkeypatch.setattr(
        evaluation, "play_match", lambda *players, **options: SimpleNamespace(share=Estimate.around(0.5, 0.1))
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    _quickly(monkeypatch)


def begun(out: Path, command: str = "a command", start: Path | None = None, **changes: Any) -> TrainingRun:
    return TrainingRun(parse_config(TINY | changes), out, command, None if start is None else str(start))


def made_of(checkpoint: Path) -> dict[str, Any]:
    return load_checkpoint(checkpoint)[1]["about"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that came to its end, trained by a thread."""
    out = tmp_path_factory.mktemp("made") / "run"
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        _quickly(patch)
        assert pool.submit(begun(out).train).result()
    return out


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "run"))


def test_a_directory_in_which_somebody_trains_is_refused(run: Path) -> None:
    first = begun(run)
    with pytest.raises(GinError, match=r"^another process trains in .*; wait for its end, or choose another --out$"):
        begun(run)
    first.lock.release()
    assert begun(run).learner.decisions == first.learner.decisions


def test_a_signal_breaks_off_a_measurement_and_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel that would take minutes; the run goes on from where it was."""
    counts = []

    def signalled(*players: Any, progress: Any, **options: Any) -> Any:
        def tick(done: int) -> None:
            counts.append(done)
            if len(counts) == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            progress(done)

        return play_match(*players, progress=tick, **options)

    monkeypatch.setattr(evaluation, "play_match", signalled)
    stopped = begun(tmp_path, eval_games=200_000, decisions=10**9, eval_every=1e-9)
    assert not stopped.train()
    assert 3 <= len(counts) < 10 and stopped.curve == []
    assert stopped.learner.batches == 1
    for name in ("last", "best"):
        assert made_of(tmp_path / name)["decisions"] == stopped.learner.decisions
    assert begun(tmp_path, decisions=10**9).learner.decisions == stopped.learner.decisions


def test_a_finished_run_stays_as_it_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that has made its decisions learns nothing more, measures and exports nothing again, and may be exported into itself."""
    made = {path: path.read_bytes() for path in run.rglob("*") if path.suffix in (".json", ".safetensors", ".pt")}
    assert begun(run, "another command").train()
    assert "came to its end" in capsys.readouterr().out
    assert made == {path: path.read_bytes() for path in made}
    (run.parent / "tiny.yaml").write_text(json.dumps(TINY))
    for _ in range(2):
        train_command(run.parent / "tiny.yaml", run, export=run / "export")
    assert made_of(run / "export") == made_of(run / "best")


def test_a_run_that_goes_on_names_the_commands_before_and_keeps_its_settings(run: Path) -> None:
    first = made_of(run / "last")
    with pytest.raises(GinError, match=r"began from scratch, and here it is .*last; choose another --out"):
        begun(run, start=run / "last", decisions=200)
    assert begun(run, "another command", decisions=200, eval_games=4, threads=0).train()
    about = made_of(run / "last")
    assert about["decisions"] >= 200 > first["decisions"]
    assert (about["command"], about["earlier_commands"]) == ("another command", ["a command"])
    assert "- before it, the same run: `a command`" in model_card(run / "last")
    config = (run / "config.json").read_bytes()
    for changes, message in (
        (
            {"learning_rate": 0.5},
            r"learning_rate is \[0\.001, 0\.0001\] there and \[0\.5, 0\.5\] here\); choose another --out, or --fresh",
        ),
        ({"rules": {"gc": 1.0}}, r"rules is {'eaai': 1\.0} there and {'gc': 1\.0} here"),
        ({"decisions": 1}, r"holds a run of 2\d\d decisions; decisions is 1, and must be more"),
        (
            {"network": {"actor": [9, 8], "critic": [8]}},
            r"network\.actor is \[8\] there and \[9, 8\] here\); choose another --out",
        ),
    ):
        with pytest.raises(GinError, match=message):
            begun(run, **{"decisions": 200} | changes)
    assert (run / "config.json").read_bytes() == config
    for path in (run / "config.json", run / "curve.json"):
        content = path.read_bytes()
        for damaged in ("{broken", *(["[]"] if path.name == "config.json" else [])):
            path.write_text(damaged)
            with pytest.raises(GinError, match=path.name):
                begun(run, decisions=400)
        path.write_bytes(content)


def test_the_parent_is_known_by_its_weights(run: Path, tmp_path: Path) -> None:
    """The same checkpoint by another path is the same; another one at the same path is not."""
    begun(tmp_path / "second", start=run / "last").train()
    assert begun(tmp_path / "second", start=tmp_path / "second" / ".." / "run" / "last").is_finished
    begun(run, decisions=200).train()
    with pytest.raises(GinError, match=r"began from what .*last was then"):
        begun(tmp_path / "second", start=run / "last")


def test_a_fresh_run_leaves_nothing_of_the_one_before(run: Path) -> None:
    """Killed before it has saved anything, it is not continued with the other's weights."""
    TrainingRun(parse_config(TINY | {"seed": 2}), run, "a command", resume=False).lock.release()
    assert begun(run, seed=2).learner.decisions == 0
    assert not [name for name in ("best", "last", "baseline") if (run / name).exists()]


def test_other_files_are_not_written_among(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(GinError, match=r"holds other files, and is no directory of a run"):
        begun(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_run_that_cannot_begin_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(GinError, match="device is 'cuda:99', which torch cannot use here"):
        begun(tmp_path / "run", device="cuda:99")
    assert not (tmp_path / "run").exists()


def test_a_run_that_ends_before_it_has_imitated_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It hands over what there is; a run whose last batch was the end of its imitation is none of these."""
    begun(tmp_path / "short", minutes=1e-6, decisions=10**9, imitation_decisions=10**8).train()
    assert "before the 100,000,000 that imitate" in capsys.readouterr().out
    assert made_of(tmp_path / "short" / "best") == made_of(tmp_path / "short" / "last")
    assert not (tmp_path / "short" / "baseline").exists()
    begun(tmp_path / "whole", minutes=1e-6, decisions=10**9, imitation_decisions=1).train()
    assert "that imitate" not in capsys.readouterr().out


@pytest.mark.parametrize("is_better", [False, True])
def test_best_is_the_network_that_no_later_one_has_beaten(
    is_better: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is chosen by matches against it alone, always on the same deals, and never while another player is imitated.

    The last network is tried in a longer match, in which more than half of the games is enough.
    """
    played: list[tuple[bool, int, Domain]] = []
    # Of the matches against the best, measured after every batch; the third one decides.
    shares = [(0.55, 0.06), (0.49, 0.06), (0.58, 0.06), (0.54, 0.06), (0.51 if is_better else 0.40, 0.06)]

    def fake(player: Any, opponent: Any, *, seed: int, settings: Any, pairs: int, **options: Any) -> Any:
        choosing = pairs > 1
        played.append((choosing, seed, settings.domain))
        share = shares[sum(one for one, *_ in played) - 1] if choosing else (1.0, 0.0)
        return SimpleNamespace(share=Estimate.around(*share))

    monkeypatch.setattr(evaluation, "play_match", fake)
    (tmp_path / "tiny.yaml").write_text(
        json.dumps(TINY | {"imitation_decisions": 70, "decisions": 400, "eval_every": 1e-9})
    )
    out = tmp_path / "run"
    train_command(tmp_path / "tiny.yaml", out)
    curve = [point["decisions"] for point in json.loads((out / "curve.json").read_text())]
    # Two batches imitate; the network that they leave is the first best, and is not compared with itself.
    assert len(curve) == 7 and sum(one for one, *_ in played) == 5
    assert made_of(out / "baseline")["decisions"] == curve[1] > 70 > curve[0]
    best, last = made_of(out / "best"), made_of(out / "last")
    taken, before = (6, 4) if is_better else (4, 1)
    assert (best["decisions"], best["against_best"]["decisions"]) == (curve[taken], curve[before])
    assert (last["decisions"], last["against_best"]["decisions"]) == (curve[6], curve[4])
    assert [match["games"] for match in (best["against_best"], last["against_best"])] == [20 if is_better else 8, 20]
    deals = {
        choosing: {deal for one, *deal_ in played if one == choosing for deal in [tuple(deal_)]}
        for choosing in (True, False)
    }
    assert len(deals[True]) == len(deals[False]) == 1 and not deals[True] & deals[False]
    assert {domain for *_, domain in played} == {Domain.SELECT}
    end = capsys.readouterr().out
    assert f"{out / 'best'}, the best of the run, after {curve[taken]:,} decisions" in end
    assert ("won 40.0 ± 6.0 %" in end) == (not is_better)
    assert f"{51 if is_better else 58}.0 ± 6.0 %" in model_card(out / "best")


def test_seeds_are_runs_of_their_own(run: Path) -> None:
    """One after the other, each in its directory; a seed whose run has come to its end stays."""
    (run.parent / "tiny.yaml").write_text(json.dumps(TINY | {"seed": 7}))
    seeds = run.parent / "seeds"
    train_command(run.parent / "tiny.yaml", seeds, seeds=2)
    assert [made_of(seeds / f"seed-{seed}" / "best")["config"]["seed"] for seed in (1, 2)] == [1, 2]
    with pytest.raises(GinError, match="one run"):
        train_command(run.parent / "tiny.yaml", seeds, seeds=2, export=run.parent / "export")
