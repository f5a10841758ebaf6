"""A stress test of many bad bots against a good one: the arena must finish, name each fault, and leave no process behind."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from agents.arena.matches import MatchSettings, play_match
from agents.programs.player import BotLimits
from agents.programs.process import marked

_MARK = "GINENV_STRESS"
_LIMITS = BotLimits(start_seconds=6.0, seconds=2.0, restarts=0, end_seconds=2.0)


@dataclass
class StressResult:
    """The result of a stress test.

    Attributes:
        faults: how often each fault was named, by kind of bot.
        unnamed: kinds of the bots for which no fault was named.
        remaining_processes: number of processes that outlived their match.
        seconds: duration of the whole test.
    """

    faults: dict[str, Counter[str]]
    unnamed: list[str]
    remaining_processes: int
    seconds: float


def run(script: Path, kinds: list[str], bots: int, threads: int, tick: Callable[[int], None]) -> StressResult:
    """Plays a match with each of many bad bots, several matches at once (they mostly wait).

    Args:
        script: a program that takes a kind and a seed.
        kinds: kinds of bots, taken in turn.
        bots: number of bots.
        threads: number of matches at once.
        tick: called with the number of bots that are done.
    """
    began = time.perf_counter()
    token = secrets.token_hex(8)
    os.environ[_MARK] = token
    faults: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    unnamed = []

    def play(number: int) -> tuple[str, list[str]]:
        kind = kinds[number % len(kinds)]
        command = shlex.join([sys.executable, str(script), kind, str(number)])
        result = play_match(
            f"cmd:{command}", "simple", pairs=2, seed=number, settings=MatchSettings(limits=_LIMITS, luck=False)
        )
        assert result.games["done"].all()
        return kind, [fault["kind"] for fault in result.faults]

    with ThreadPoolExecutor(threads) as pool:
        for done, (kind, named) in enumerate(pool.map(play, range(bots)), 1):
            faults[kind].update(named)
            if not named:
                unnamed.append(kind)
            tick(done)
    return StressResult(faults, unnamed, len(marked(_MARK, token)), time.perf_counter() - began)
