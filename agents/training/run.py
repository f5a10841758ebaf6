"""A training run in a directory: TensorBoard, measurements, progress, resume files, and the best and last checkpoint."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from agents.config import TrainConfig
from agents.files import JsonError, check_own, check_writable, read_json, write_json, writing
from agents.interrupts import leave_terminal, stops_handled
from agents.network.checkpoint import CheckpointError, load_checkpoint, load_critic, read_metadata, save_checkpoint
from agents.network.player import PLAYED, NetworkPlayer, network_directory
from agents.reports.terminal import LINE_SECONDS, plain_console
from agents.training.evaluation import BASELINE, BEST, LAST, decisions_of, measure_panel, play_best
from agents.training.learner import Learner
from agents.training.legend import LEGEND, figures_text
from agents.training.ppo import train
from agents.training.resume import CONFIG, parent_of, read_saved_run
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError

# Figures of a batch that TensorBoard shows under ``losses``, like those whose names end in ``_loss``; all others are under ``charts``.
_LOSSES = ("entropy", "kl", "clip_fraction", "explained_variance")
# Between two resume files, if no measurement comes in between.
_SAVE_SECONDS = 300.0
_CURVE = "curve.json"


def begin(config: TrainConfig, out: Path | None, start: str | None) -> Learner:
    """A learner that begins from a checkpoint's weights, if one is given.

    Args:
        config: of the run.
        out: directory for resume files; ``None`` writes none.
        start: directory of the checkpoint, or ``network``.

    Raises:
        CheckpointError: if the checkpoint cannot be used.
    """
    if start is None:
        return Learner(config, out)
    check_start(config, start)
    start = network_directory(start)
    metadata = read_metadata(start)
    learner = Learner(config, out, load_checkpoint(start)[0])
    if (metadata.get("critic") or {}).get("widths") == list(config.network.critic):
        # With a fresh critic the policy would unlearn. A critic of the other reward will do, since both have the same scale.
        learner.critic.load_state_dict(load_critic(start).state_dict())
    return learner


def check_start(config: TrainConfig, start: str) -> None:
    """Checks that a run's network can begin from a checkpoint.

    Raises:
        CheckpointError: if it cannot be read or has other widths.
    """
    found = read_metadata(network_directory(start))
    if found["widths"] != (wanted := list(config.network.actor)):
        raise CheckpointError(
            f"checkpoint {start}: widths is {found['widths']}; this configuration begins from {wanted}"
        )


class TrainingRun:
    """A training run in a directory: config, curves, resume files, best and last checkpoint.

    Args:
        config: of the run.
        out: its directory.
        command: how it was started, for the checkpoints' metadata.
        start: checkpoint whose weights it begins from.
        resume: whether to continue from a resume file there.
    """

    def __init__(
        self, config: TrainConfig, out: Path, command: str, start: str | None = None, resume: bool = True
    ) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.config, self.out, self.command = config, out, command
        self.console = plain_console()
        if start is not None:
            check_start(config, start)
        self.parent = parent_of(start)
        made = not out.exists()
        check_own(out, "directory of a run", CONFIG, "lock", "resume*.pt*")
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
            check_writable(out / CONFIG)
        try:
            self.learner = begin(config, out, start)
        except (GinError, MemoryError):
            if made:
                # Nothing was trained. Another process of the run may have removed it already.
                shutil.rmtree(out, ignore_errors=True)
            raise
        self.main = self.learner.rank == 0
        self.lock = FileLock(out / "lock", blocking=False)
        if self.main:
            try:
                self.lock.acquire()
            except Timeout:
                raise GinError(f"another process trains in {out}; wait for its end, or choose another --out") from None
        with ExitStack() as undo:
            # An error must not keep the directory locked for as long as its traceback lives.
            undo.callback(self.lock.release)
            if self.main and not resume:
                self._remove_earlier()
            is_there = resume and bool(list(out.glob("resume*.pt*")))
            self.earlier, measured = read_saved_run(out, config, self.parent, command) if is_there else ([], 0)
            resumed = resume and self.learner.resume()
            self._check_decisions()
            # A run that was killed before it was measured has not come to its end.
            self.is_finished = self.learner.decisions >= config.decisions and measured == self.learner.decisions
            self.curve: list[dict[str, Any]] = []
            if self.main and not self.is_finished:
                with writing(out):
                    write_json(out / CONFIG, config.model_dump(mode="json"))
                if resumed and (out / _CURVE).exists():
                    try:
                        self.curve = read_json(out / _CURVE)
                    except JsonError as error:
                        raise GinError(
                            f"{out / _CURVE} does not hold JSON ({error}); without it the curve begins again"
                        ) from None
                    self.console.print(f"resumed at {self.learner.decisions:,} decisions")
                # What was written after the state that is continued happens again.
                self.writer = SummaryWriter(str(out / "tensorboard"), purge_step=self.learner.decisions + 1)
            self.stopping = self.has_baseline = False
            self.began = time.time()
            self.first_decisions, self.first_batches = self.learner.decisions, self.learner.batches
            self.last_print = self.last_save = self.last_evaluation = time.time()
            undo.pop_all()

    def train(self) -> bool:
        """Trains to the end, or until Ctrl-C or a termination signal, then saves the state and exports the average.

        Returns:
            Whether it came to its end and was measured there.
        """
        with stops_handled(self._ask_to_stop):
            try:
                if not self.is_finished:
                    return self._train()
                if self.main:
                    self.console.print(
                        f"{self.out} came to its end at {self.learner.decisions:,} decisions; more of them (--set decisions=...) go on",
                        markup=False,
                        soft_wrap=True,
                    )
                return True
            finally:
                self.lock.release()
                self.learner.workers.close()

    def _train(self) -> bool:
        learner = self.learner
        if self.main:
            print(LEGEND, flush=True)
            self._keep_baseline()
        elif os.environ.get("LOCAL_RANK") == "0":
            print(
                f"rank {learner.rank} of {learner.workers.world} trains; rank 0 prints the course of the run",
                flush=True,
            )
        train(learner, self._after_batch)
        learner.save()
        if self.main:
            self._end()
            self.writer.close()
        return not self.stopping

    def _end(self) -> None:
        """Measures the last network and exports it."""
        learner = self.learner
        if learner.is_to_imitate and not self.stopping:
            self.console.print(
                f"the run ended after {learner.decisions:,} decisions, before the {self.config.imitation_decisions:,} that "
                "imitate another player: this network can hardly play; give it more time"
            )
        self._evaluate(is_last=True)
        if self.stopping:
            # An interrupted run does not wait for a measurement.
            self._export(LAST, self._about({}))
        elif learner.is_to_imitate:
            self._export(BEST, self._about(self.curve[-1]["panel"]))

    def _keep_baseline(self, is_measured: bool = False) -> None:
        """Keeps the network with which self-play begins: the first ``best``, and what later ones are compared with.

        A run that begins with nothing keeps the first network that is measured: games between two that know nothing have no end.
        """
        knows_nothing = self.parent["parent"] is None and not self.config.imitation_decisions
        if self.has_baseline or self.learner.is_to_imitate or (knows_nothing and not is_measured):
            return
        about = self._about({})
        for name in (BEST, BASELINE):
            # What a run has that ended while it imitated is no network to compare with.
            if decisions_of(self.out / name) < self.config.imitation_decisions:
                self._export(name, about)
        self.has_baseline = True

    def _remove_earlier(self) -> None:
        """Removes the earlier run, so that none of its files is taken for this run's, whenever this run is killed."""
        with writing(self.out):
            for path in (*self.out.glob("resume*.pt*"), *self.out.glob(_CURVE)):
                path.unlink()
            for name in (LAST, BEST, BASELINE, "tensorboard"):
                if (self.out / name).exists():
                    shutil.rmtree(self.out / name)

    def _check_decisions(self) -> None:
        """Raises if a run has made more decisions than it is asked for, not counting the batch in which it came to its end."""
        batch = self.config.num_envs * self.config.num_steps
        if self.learner.decisions >= self.config.decisions + batch * self.learner.workers.world:
            raise GinError(
                f"{self.out} holds a run of {self.learner.decisions:,} decisions; decisions is {self.config.decisions:,}, and must be more"
            )

    def _break_off(self) -> None:
        if self.stopping:
            raise KeyboardInterrupt

    def _ask_to_stop(self, number: int, frame: object) -> None:
        """The first signal ends the run after its batch, in all processes; a second one ends this process at once.

        A closed terminal may send several hang-ups, which count as one.
        """
        leave_terminal(number)
        if self.stopping and number in (signal.SIGINT, signal.SIGTERM):
            sys.exit("stopped at once; the run can be continued from its last resume file")
        self.stopping = True

    def _after_batch(self, figures: dict[str, float]) -> bool:
        learner, now = self.learner, time.time()
        minutes = (now - self.began) / 60
        if self.main:
            self._keep_baseline()
            for name, value in figures.items():
                group = "losses" if name in _LOSSES or name.endswith("_loss") else "charts"
                self.writer.add_scalar(f"{group}/{name}", value, learner.decisions)
            speed = (learner.decisions - self.first_decisions) / max(1e-9, now - self.began)
            self.writer.add_scalar("charts/decisions_per_second", speed, learner.decisions)
            for name, seconds in learner.budget.items():
                self.writer.add_scalar(
                    f"budget/{name}", seconds / (learner.batches - self.first_batches), learner.decisions
                )
            if now - self.last_print > (10 if self.console.is_terminal else LINE_SECONDS):
                self.last_print = now
                self._progress(figures, speed, minutes)
        time_is_up = self.config.minutes > 0 and minutes >= self.config.minutes
        ends = self.stopping or time_is_up or learner.decisions >= self.config.decisions
        # The end is measured in any case.
        is_due = self.main and not ends and now - self.last_evaluation > self.config.eval_every * 60
        # Saved before it is measured: a run that goes on after a kill is at no point of the curve for a second time.
        # The other processes wait here while the panel is measured; all save the same batch.
        if learner.workers.any(is_due or now - self.last_save > _SAVE_SECONDS):
            learner.save()
            self.last_save = time.time()
        if is_due:
            self._evaluate()
            self.last_evaluation = time.time()
        if self.stopping and self.main:
            print("interrupted; saving", flush=True)
        return not (self.stopping or time_is_up)

    def _progress(self, figures: dict[str, float], speed: float, minutes: float) -> None:
        learner, config = self.learner, self.config
        left = (config.decisions - learner.decisions) / max(1.0, speed) / 60
        if config.minutes:
            left = min(left, config.minutes - minutes)
        total = sum(learner.budget.values()) or 1.0
        shares = " ".join(f"{name} {100 * value / total:.0f}%" for name, value in learner.budget.items())
        print(
            f"{learner.decisions / 1e6:8.1f}M decisions  {speed / 1e3:5.1f}k/s  {max(0.0, left):5.1f} min left  "
            f"{figures_text(figures)}  [{shares}]",
            flush=True,
        )

    def _evaluate(self, is_last: bool = False) -> None:
        """Measures the averaged actor, extends the curve, and exports it as the last checkpoint and, if it is better, the best.

        A request to stop breaks the measurement off, without a point on the curve.
        """
        learner, config = self.learner, self.config
        self._keep_baseline(is_measured=True)
        player = NetworkPlayer(learner.averaged(), seed=7, temperature=PLAYED)
        try:
            panel = measure_panel(player, learner.decisions, config, self.out, self._break_off)
            choice = play_best(player, learner.decisions, config, self.out, self._break_off, is_last)
        except KeyboardInterrupt:
            return
        for name, each in panel.items():
            self.writer.add_scalar(f"panel/{name}", each["games_won"], learner.decisions)
        point = {"decisions": learner.decisions, "minutes": learner.seconds / 60, "panel": panel}
        self.curve.append(point)
        write_json(self.out / _CURVE, self.curve)
        results = "  ".join(f"{name} {100 * each['games_won']:.1f}%" for name, each in panel.items())
        print(f"games won at {learner.decisions / 1e6:.1f}M decisions: {results}", flush=True)
        about = self._about(panel) | ({"against_best": asdict(choice)} if choice else {})
        if choice is not None:
            verdict = "it takes its place" if choice.is_better else "which stays"
            print(
                f"best: {choice.text()} of {choice.games:,} games against that of {choice.decisions:,} decisions, {verdict}"
            )
            if choice.is_better:
                self._export(BEST, about)
        # Last, since it shows that the run came to its end.
        self._export(LAST, about)

    def _export(self, name: str, about: dict[str, Any]) -> None:
        network, learner, reward = self.config.network, self.learner, self.config.reward
        save_checkpoint(self.out / name, learner.ema, network.actor, about, learner.critic, network.critic, reward)

    def _about(self, panel: dict[str, Any]) -> dict[str, Any]:
        return {
            "command": self.command,
            "earlier_commands": self.earlier,
            **self.parent,
            "config": self.config.model_dump(mode="json"),
            "rules": {name: get_rules(name).hash for name in self.config.rules},
            "decisions": self.learner.decisions,
            "minutes": round(self.learner.seconds / 60, 1),
            "panel": panel,
            "curve": [{key: entry[key] for key in ("decisions", "minutes", "panel")} for entry in self.curve],
            "versions": {name: importlib.metadata.version(name) for name in ("ginenv", "torch")}
            | {"python": platform.python_version()},
        }
