"""``gin bench``: a player against six fixed opponents on fixed deals, and one file that a leaderboard can hold."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from pydantic import Field

from agents.arena.configs import Processes
from agents.arena.executors import open_executor
from agents.arena.matches import MatchSettings, check_names, play_match, read_side
from agents.arena.results import MatchResult
from agents.arena.tournament import version_of
from agents.estimates import Estimate, student
from agents.files import check_writable, new_results_file, write_json, writing
from agents.interrupts import defer_interrupts
from agents.parts import Parts
from agents.programs.player import BotLimits
from agents.reports.terminal import (
    check_forfeits,
    opponents_tables,
    plain_console,
    print_result,
    progress_bar,
    results_document,
)

# Other opponents, deals or rules would make another benchmark, with another number.
BENCH_VERSION = 1
OPPONENTS = ("simple", "formula", "knocker", "camper", "level-2:learn=false", "network")
PAIRS, SEED = 1000, 7000
# What a file says of each match; how the sides play is left out.
_KEPT = ("players", "rules", "unit", "seed", "salts", "pairs", "hands", "share", "points_per_hand", "faults")


class BenchConfig(Processes):
    """A player on the benchmark.

    Attributes:
        player: its name, a checkpoint's directory, or cmd:"PROGRAM ARGUMENTS".
        name: what a leaderboard calls it (the player when left out).
        trained_on: which of these opponents or deals it was trained or chosen on, in words ("none" if none).
        minutes: minutes of play, shared by the six matches; one that is not over then counts with the pairs that are, one at least.
        seconds: time limit of an outside program for each line of questions.
        out: JSON file for the results; by default a new one, runs/bench.json, runs/bench-2.json and so on.
    """

    player: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER")]
    name: str = ""
    trained_on: str = "not said"
    minutes: float = Field(15, gt=0)
    seconds: float = Field(10.0, gt=0)
    out: Path | None = None

    @property
    def path(self) -> Path:
        """The results file: the one that was named, or one that there is not yet."""
        return self.out or new_results_file("bench")


def bench(config: BenchConfig, details: bool = False) -> None:
    """Plays a player against six fixed opponents on fixed mirrored deals; the mean share of games, less luck, is its score.

    The figures repeat to the digit, unless the time limit ends a match; such a score compares with no other. After Ctrl-C the same command
    goes on with the matches that are left. The file of a complete run is a row of the leaderboard.

    Args:
        config: the player.
        details: also show how it plays.
    """
    check_writable(config.path)
    console = plain_console()
    # Few games at once, so that some are over when the time is.
    settings = MatchSettings(seed=SEED, batch=256, limits=BotLimits.for_lines(config.seconds))
    results: list[MatchResult] = []
    parts = Parts(
        config.path.parent / "bench.parts",
        players=[(name, version_of(read_side(name), *check_names(name))) for name in (config.player, *OPPONENTS)],
        minutes=config.minutes,
        **settings.decisive,
    )
    with defer_interrupts() as interrupts:
        with open_executor(config.workers) as executor:
            for number, opponent in enumerate(OPPONENTS):
                stored = parts.load(against=opponent)
                if stored is not None:
                    results.append(MatchResult(rules=settings.rules, **stored))
                    continue
                get_ready(config.player, opponent, settings, executor, config.workers)
                limit = TimeLimit(60 * config.minutes / len(OPPONENTS))
                with progress_bar(console, 2 * PAIRS, f"{number + 1} of {len(OPPONENTS)}: {opponent}") as tick:
                    result = _play(config.player, opponent, limit, tick, settings=settings, executor=executor)
                if interrupts.requested or (result.interrupted and not limit.is_over):
                    raise KeyboardInterrupt(
                        f"{number} of {len(OPPONENTS)} matches were finished; the same command plays the others"
                    )
                stored = {key: value for key, value in vars(result).items() if key != "rules"}
                parts.save(stored, against=opponent)
                results.append(result)
        found = score(results)
        document = results_document(results)
        document["matches"] = [{key: match[key] for key in _KEPT} for match in document["matches"]]
        cut = any(result.pairs < PAIRS for result in results)
        about = {
            "bench": BENCH_VERSION,
            "complete": not cut,
            "player": config.name or config.player,
            "trained_on": config.trained_on,
        }
        try:
            # Only now: another benchmark may have written one meanwhile.
            path = config.path
            with writing(path):
                write_json(path, document | about | {"score": found.to_dict(), "minutes": config.minutes})
            parts.remove()
        finally:
            print_result(console, opponents_tables(results), details)
    no_interval = f"{100 * found.mean:.1f} % (no interval: of a match, too few pairs are over)"
    score_text = no_interval if np.isnan(found.low) else found.text(percent=True)
    console.print(f"score: {score_text}; results: {path}", markup=False, soft_wrap=True)
    if cut:
        console.print(
            "The time limit cut matches, so this score cannot be compared with the leaderboard's rows.", soft_wrap=True
        )
    check_forfeits(results)


def get_ready(player: str, opponent: str, settings: MatchSettings, executor: Executor | None, workers: int) -> None:
    """Plays a hand or so in each process, so that networks and compiled code are loaded before the clock starts."""
    rules = "eaai,target=1"
    if play_match(player, opponent, rules=rules, pairs=workers, executor=executor, settings=settings).interrupted:
        raise KeyboardInterrupt


class TimeLimit:
    """Ends a match when its time is over.

    Args:
        seconds: from now on.

    Attributes:
        is_over: whether it has ended the match; otherwise somebody else did.
    """

    def __init__(self, seconds: float) -> None:
        self.start(seconds)

    def start(self, seconds: float) -> None:
        """Begins anew."""
        self.seconds, self.is_over = seconds, False
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        """Ends the match if it is time."""
        if time.monotonic() > self._until:
            self.is_over = True
            raise KeyboardInterrupt


def _play(player: str, opponent: str, limit: TimeLimit, tick: Callable[[int], Any], **options: Any) -> MatchResult:
    """Plays a match until its time is over, and longer if no pair is finished by then."""

    def progress(done: int) -> None:
        tick(done)
        limit.check()

    while True:
        try:
            return play_match(player, opponent, pairs=PAIRS, progress=progress, **options)
        except KeyboardInterrupt:
            if not limit.is_over:
                raise
            # Played again from the start: so much more that what is lost is little of it.
            limit.start(4 * limit.seconds)


def score(results: list[MatchResult]) -> Estimate:
    """The mean of the shares of games in all matches; no interval if a match has fewer than two independent pairs or series.

    They are played on the same deals, so their errors are added deal by deal. The few pairs of a short match say little about its error:
    this makes the interval wider (Welch, Satterthwaite).
    """
    mean = float(np.mean([result.pair_scores.mean() for result in results]))
    matches = [result.independent_scores.T for result in results]
    most, fewest = (choose(scores.shape[1] for scores in matches) for choose in (max, min))
    if fewest < 2:
        return Estimate.around(mean, float("nan"))
    errors, variances, freedoms = np.zeros(most), [], []
    for shares, pairs in matches:
        count, total = len(pairs), pairs.sum()
        error = (shares - pairs * shares.sum() / total) / (total * len(matches)) * (count / (count - 1)) ** 0.5
        errors[:count] += error
        variances.append(float(error @ error))
        freedoms.append(count - 1)
    spread = sum(variance**2 / freedom for variance, freedom in zip(variances, freedoms, strict=True))
    freedom = min(sum(variances) ** 2 / spread, most - 1) if spread else most - 1
    return Estimate.around(mean, student(freedom) * float(errors @ errors) ** 0.5).within(0.0, 1.0)
