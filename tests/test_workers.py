"""Several processes that train one network: the same learning as one with twice the batch, and what a lost process does to the others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.config import parse_config
from agents.training import ppo
from agents.training.distributed import Workers
from agents.training.learner import Learner
from agents.training.resume import NO_BATCHES, ResumeFiles
from ginenv.errors import GinError

WORKER = Path(__file__).parent / "support" / "training_worker.py"
BATCHES = 5
GAMES = 16


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes wrote that trained together."""
    out = tmp_path_factory.mktemp("together")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(WORKER), str(out), str(BATCHES)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(WORKER.parents[2])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def flat(saved: dict) -> torch.Tensor:
    return torch.cat([saved[name][key].reshape(-1) for name in ("actor", "critic", "ema") for key in saved[name]])


@pytest.mark.slow
def test_all_processes_hold_the_same_network_and_play_different_deals(together: Path) -> None:
    zero, one = (torch.load(together / f"end-{rank}.pt", weights_only=True) for rank in (0, 1))
    assert torch.equal(flat(zero), flat(one))
    for name in ("decisions", "lr_factor", "batches"):
        assert zero[name] == one[name]
    assert zero["batches"] == BATCHES and zero["lr_factor"] != 1
    first = [np.load(together / f"first-{rank}.npz") for rank in (0, 1)]
    dealt = [{row.tobytes() for row in each["inputs"]["observation"]["cells"][0, :, :52]} for each in first]
    assert not dealt[0] & dealt[1]
    learned = [torch.load(together / f"resume{name}.pt", weights_only=True)["decisions"] for name in ("", "-1")]
    assert learned[0] == learned[1] > 2 * int(first[0]["steps"]["learns"].sum())


@pytest.mark.slow
def test_two_processes_learn_what_one_learns_from_both_batches(together: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same gradient, up to rounding: advantages are normalised over both, and gradients are means over both."""
    from tests.support.training_worker import CONFIG

    monkeypatch.setattr(ppo, "BELIEF_COEF", 0.0)
    first = [np.load(together / f"first-{rank}.npz") for rank in (0, 1)]
    count = 2 * int(first[0]["steps"]["learns"].sum())
    learner = Learner(parse_config({**CONFIG, "num_envs": 2 * GAMES, "minibatch": count}))
    for name in ("steps", "inputs"):
        getattr(learner.batch, name)[:] = np.concatenate([each[name] for each in first], axis=1)
    ppo.update(learner)
    moments = [learner.optimisers[name].state[p]["exp_avg"].reshape(-1) for name in ("actor", "critic") for p in
               getattr(learner, name).parameters() if p in learner.optimisers[name].state]  # fmt: skip
    alone = torch.cat(moments)
    both = torch.load(together / "gradient-0.pt", weights_only=True)
    assert alone.abs().max() > 1e-3
    assert torch.allclose(alone, both, atol=1e-5 * float(alone.abs().max()), rtol=1e-3)


TINY = {
    "num_envs": 8,
    "num_steps": 8,
    "minibatch": 32,
    "network": {"actor": [8], "critic": [8]},
    "threads": 1,
}


class Pair(Workers):
    """Pretends to be one of two processes, the other of which has kept the batches that it is given."""

    def __init__(self, other: list[int]) -> None:
        super().__init__("cpu")
        self.other, self.world = other, 2

    def gather(self, numbers):
        return [list(numbers), self.other]


def test_the_latest_common_batch_is_chosen(tmp_path: Path) -> None:
    learner = Learner(parse_config(TINY), tmp_path)
    for _ in range(3):
        target = learner.batches + 1
        ppo.train(learner, lambda figures, target=target: learner.batches < target)
        learner.save()
    for other, expected in (([3, 2, 1], "resume.pt"), ([2, 1, NO_BATCHES], "resume.pt.1"), ([4, 3, 2], "resume.pt")):
        assert ResumeFiles(tmp_path, Pair(other)).find() == tmp_path / expected
    (tmp_path / "resume.pt").write_bytes(b"half")
    assert ResumeFiles(tmp_path, Pair([3, 2, 1])).find() == tmp_path / "resume.pt.1"
    with pytest.raises(GinError):
        ResumeFiles(tmp_path, Pair([NO_BATCHES] * 3)).find()


def machine(rank: int, port: int, out: Path, *settings: str) -> subprocess.Popen[str]:
    """The process of one of two machines, as torchrun would start it there, without torchrun's care for its neighbours."""
    environment = os.environ | {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "OMP_NUM_THREADS": "1"}
    environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    sizes = [
        *(f"{key}={value}".replace("'", "") for key, value in TINY.items()),
        "eval_every=0.001",
        *settings,
    ]
    command = [sys.executable, "train.py", "--config", "configs/smoke.yaml", "--out", str(out), "--set", *sizes]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=WORKER.parents[2], env=environment, **pipes)  # type: ignore[call-overload]


@pytest.mark.slow
def test_a_lost_machine_ends_the_other_and_the_same_commands_continue(tmp_path: Path) -> None:
    outs = [tmp_path / "first", tmp_path / "second"]
    first, second = (machine(rank, 29541, out, "decisions=100000000") for rank, out in enumerate(outs))
    files = [outs[0] / "resume.pt", outs[1] / "resume-1.pt"]
    try:
        until = time.monotonic() + 300
        while not all(path.exists() for path in files):
            assert time.monotonic() < until and first.poll() is None and second.poll() is None
            time.sleep(0.2)
        second.kill()
        said = first.communicate(timeout=120)[0]
        assert first.returncode == 1
        assert said.count("the same command on all machines continues") == 1 and "Traceback" not in said
        saved = int(torch.load(files[1], weights_only=True)["decisions"])
        both = [machine(rank, 29542, out, f"decisions={saved + 1}") for rank, out in enumerate(outs)]
        ends = [process.communicate(timeout=300)[0] for process in both]
    finally:
        for process in (first, second):
            process.kill()
    assert [process.returncode for process in both] == [0, 0], ends
    assert "resumed at" in ends[0]
    # Each machine's terminal says what runs there.
    assert "rank 1 of 2 trains" in ends[1]
