"""A run's directory belongs to one process, and who asks for a run's end does not wait for a measurement."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import agents.training.run as runs
from agents.arena import play_match
from agents.cli.train import train as train_command
from agents.config import parse_config
from agents.network.checkpoint import load_checkpoint
from agents.network.model_card import model_card
from agents.training.run import TrainingRun
from ginenv.errors import GinError
from tests.support.faults import Killed

TINY = {
    "num_envs": 8,
    "num_steps": 8,
    "minibatch": 32,
    "decisions": 1,
    "network": {"actor": [8], "critic": [8]},
    "eval_opponents": ["random"],
    "eval_games": 2,
    "threads": 1,
    "bfloat16": "no",
}


def begun(out: Path, **changes: Any) -> TrainingRun:
    return TrainingRun(parse_config(TINY | changes), out, "a command")


def test_a_directory_in_which_somebody_trains_is_refused(tmp_path: Path) -> None:
    first = begun(tmp_path)
    with pytest.raises(GinError, match=r"^another process trains in .*; wait for its end, or choose another --out$"):
        begun(tmp_path)
    first.train()
    assert begun(tmp_path).learner.decisions == first.learner.decisions


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

    monkeypatch.setattr(runs, "play_match", signalled)
    stopped = begun(tmp_path, eval_games=200_000, decisions=10**9)
    stopped.train()
    assert 3 <= len(counts) < 10 and stopped.curve == []
    assert stopped.learner.batches == 1
    for name in ("last", "best"):
        assert load_checkpoint(tmp_path / name)[1]["about"]["decisions"] == stopped.learner.decisions
    monkeypatch.setattr(runs, "play_match", play_match)
    again = begun(tmp_path, decisions=10**9)
    assert again.learner.decisions == stopped.learner.decisions > 0


def test_a_finished_run_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that has made its decisions learns nothing more, and measures and exports nothing again."""
    begun(tmp_path).train()
    made = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.suffix in (".json", ".safetensors", ".pt")}
    capsys.readouterr()
    assert TrainingRun(parse_config(TINY), tmp_path, "another command").train()
    assert "came to its end" in capsys.readouterr().out
    assert made == {path: path.read_bytes() for path in made}


def test_a_run_that_goes_on_names_the_commands_before(tmp_path: Path) -> None:
    begun(tmp_path).train()
    first = load_checkpoint(tmp_path / "last")[1]["about"]
    TrainingRun(parse_config(TINY | {"decisions": 500}), tmp_path, "another command").train()
    about = load_checkpoint(tmp_path / "last")[1]["about"]
    assert about["decisions"] >= 500 > first["decisions"]
    assert (about["command"], about["earlier_commands"]) == ("another command", ["a command"])
    assert "- before it, the same run: `a command`" in model_card(tmp_path / "last")


def test_a_runs_settings_are_recorded_as_they_were(tmp_path: Path) -> None:
    begun(tmp_path, decisions=500).train()
    config = (tmp_path / "config.json").read_bytes()
    for changes, message in (
        ({"learning_rate": 0.5}, r"learning_rate is 0\.001 there and 0\.5 here\); choose another --out, or --fresh"),
        ({"rules": {"gc": 1.0}}, r"rules is {'eaai': 1\.0} there and {'gc': 1\.0} here"),
        ({"decisions": 1}, r"holds a run of [56]\d\d decisions; decisions is 1, and must be more"),
    ):
        with pytest.raises(GinError, match=message):
            begun(tmp_path, **{"decisions": 500} | changes)
    with pytest.raises(GinError, match=r"began from scratch, and here it is .*last; choose another --out"):
        TrainingRun(parse_config(TINY | {"decisions": 500}), tmp_path, "", start=str(tmp_path / "last"))
    assert (tmp_path / "config.json").read_bytes() == config
    begun(tmp_path, decisions=500, eval_opponents=["simple"], threads=0)


def test_the_parent_is_known_by_its_weights(tmp_path: Path) -> None:
    """The same checkpoint by another path is the same; another one at the same path is not."""
    begun(tmp_path / "first").train()
    config, start = parse_config(TINY), str(tmp_path / "first" / "last")
    TrainingRun(config, tmp_path / "second", "a command", start=start).train()
    assert TrainingRun(config, tmp_path / "second", "a command", start=f"{tmp_path}/first/../first/last").is_finished
    begun(tmp_path / "first", decisions=500).train()
    with pytest.raises(GinError, match=r"began from what .*last was then"):
        TrainingRun(config, tmp_path / "second", "a command", start=start)


def test_a_fresh_run_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    """Killed before it has saved anything, it is not continued with the other's weights."""
    begun(tmp_path, seed=1).train()
    TrainingRun(parse_config(TINY | {"seed": 2}), tmp_path, "a command", resume=False).lock.release()
    again = begun(tmp_path, seed=2)
    assert again.learner.decisions == 0 and not (tmp_path / "last").exists()


def test_settings_that_cannot_be_read_are_no_settings(tmp_path: Path) -> None:
    begun(tmp_path).train()
    (tmp_path / "config.json").write_text('{"seed": -1}')
    with pytest.raises(GinError, match=r"config\.json cannot be read, so nobody knows .*seed is -1.*or --fresh$"):
        begun(tmp_path)
    (tmp_path / "config.json").unlink()
    assert begun(tmp_path).learner.decisions > 0


def test_a_run_may_be_exported_into_its_own_directory(tmp_path: Path) -> None:
    """As ``make train`` does, twice."""
    (tmp_path / "tiny.yaml").write_text(json.dumps(TINY))
    for _ in range(2):
        train_command(tmp_path / "tiny.yaml", tmp_path / "run", export=tmp_path / "run" / "export")
    assert load_checkpoint(tmp_path / "run" / "export")[1]["about"]["decisions"] > 0


def test_other_files_are_not_written_among(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(GinError, match=r"holds other files, and is no directory of a run"):
        begun(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("device", ["cuda:99", "toaster"])
def test_a_device_that_is_not_there_is_named(tmp_path: Path, device: str) -> None:
    with pytest.raises(GinError, match=rf"device is '{device}', which torch cannot use here"):
        begun(tmp_path / "run", device=device)
    assert not (tmp_path / "run").exists()


def test_another_network_is_refused_with_what_differs(tmp_path: Path) -> None:
    begun(tmp_path).train()
    with pytest.raises(GinError, match=r"network\.actor is \[8\] there and \[9, 8\] here\); choose another --out"):
        begun(tmp_path, network={"actor": [9, 8], "critic": [8]})
    TrainingRun(parse_config(TINY | {"network": {"actor": [9], "critic": [8]}}), tmp_path, "", resume=False)


def test_a_run_that_cannot_begin_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(GinError, match="nobody"):
        begun(tmp_path / "run", pool=[{"player": "nobody"}])
    assert not (tmp_path / "run").exists()


def test_a_run_too_short_to_imitate_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun(tmp_path / "short", minutes=1e-6, decisions=10**9, imitation_decisions=10**8).train()
    assert "the time was up after" in capsys.readouterr().out
    begun(tmp_path / "whole", minutes=1e-6, decisions=10**9).train()
    assert "the time was up" not in capsys.readouterr().out


def test_a_batch_that_a_killed_run_repeats_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    begun(tmp_path).train()
    train = runs.train

    def train_until_killed(learner: Any, after_batch: Any) -> None:
        train(learner, lambda figures: after_batch(figures) and learner.batches < 4)
        raise Killed

    monkeypatch.setattr(runs, "train", train_until_killed)
    killed = begun(tmp_path, decisions=500)
    with pytest.raises(Killed):
        killed.train()
    killed.writer.close()
    killed.lock.release()
    monkeypatch.setattr(runs, "train", train)
    again = begun(tmp_path, decisions=500)
    again.train()
    read = accumulators.EventAccumulator(str(tmp_path / "tensorboard"), {"scalars": 0}).Reload()
    for tag in ("charts/gin_rate", "losses/entropy"):
        steps = [event.step for event in read.Scalars(tag)]
        assert len(steps) == again.learner.batches > 4 and max(Counter(steps).values()) == 1


def test_a_thread_may_train(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(begun(tmp_path).train).result()
    assert load_checkpoint(tmp_path / "last")[1]["about"]["decisions"] > 0
