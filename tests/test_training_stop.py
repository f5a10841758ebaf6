"""A run's directory belongs to one process, and who asks for a run's end does not wait for a measurement."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import agents.learning.run as runs
from agents.arena import play_match
from agents.config import parse_config
from agents.learning.run import TrainingRun
from agents.network.checkpoint import load_checkpoint
from ginenv.errors import GinError

TINY = {
    "games": 8,
    "ticks": 8,
    "minibatch": 32,
    "decisions": 1,
    "network": {"actor": [8], "critic": [8]},
    "panel": ["random"],
    "panel_games": 2,
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
    told = []

    def signalled(*players: Any, progress: Any, **options: Any) -> Any:
        def tick(done: int) -> None:
            told.append(done)
            if len(told) == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            progress(done)

        return play_match(*players, progress=tick, **options)

    monkeypatch.setattr(runs, "play_match", signalled)
    stopped = begun(tmp_path, panel_games=200_000, decisions=10**9)
    stopped.train()
    assert 3 <= len(told) < 10 and stopped.curve == []
    assert stopped.learner.batches == 1
    for name in ("last", "best"):
        assert load_checkpoint(tmp_path / name)[1]["about"]["decisions"] == stopped.learner.decisions
    monkeypatch.setattr(runs, "play_match", play_match)
    again = begun(tmp_path)
    assert again.learner.decisions == stopped.learner.decisions > 0


def test_another_network_is_refused_with_what_differs(tmp_path: Path) -> None:
    begun(tmp_path).train()
    with pytest.raises(GinError, match=r"network\.actor is \[8\] there and \[9, 8\] here\); choose another --out"):
        begun(tmp_path, network={"actor": [9, 8], "critic": [8]})
    TrainingRun(parse_config(TINY | {"network": {"actor": [9], "critic": [8]}}), tmp_path, "", resume=False)


def test_a_run_that_cannot_begin_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(GinError, match="told is 'style'"):
        begun(tmp_path / "run", told="style")
    assert not (tmp_path / "run").exists()


def test_a_run_too_short_to_imitate_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun(tmp_path / "short", minutes=1e-6, decisions=10**9, clone_decisions=10**8).train()
    assert "the time was up after" in capsys.readouterr().out
    begun(tmp_path / "whole", minutes=1e-6, decisions=10**9).train()
    assert "the time was up" not in capsys.readouterr().out
