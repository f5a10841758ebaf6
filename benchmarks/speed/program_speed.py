"""Decisions per second of an outside program, in processor time of the arena's process and the program together.

`python -m benchmarks.speed.program_speed "./build/cpp-bot"` (after the first lines of docs/bots.md) or, for 64 games at once,
`--batch 64 "java -cp host.jar:THEIRS.jar Host their.Player"`. It prints a line for each round of games against `simple`:
processor time (not wall-clock time) per decision of the program, of the arena's process (engine, opponent, protocol) and of
the program (including its start and a Java machine's compiler). The best round is the one that was disturbed least.
"""

from __future__ import annotations

import argparse
import resource
import time

from agents.arena import MatchSettings, play_match
from agents.programs.player import BotLimits, OutsidePlayer
from ginenv.errors import GinError


def _seconds() -> tuple[float, float]:
    """Processor time so far: of this process, and of its child processes that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), ended.ru_utime + ended.ru_stime


def measure(command: str, games: int, batch: int) -> tuple[int, float, float]:
    """Plays games against ``simple``; returns the program's decisions and the seconds of both processes.

    Raises:
        GinError: if the program fails.
    """
    player = OutsidePlayer(command, limits=BotLimits(start_seconds=60, seconds=60))
    before = _seconds()
    result = play_match(player, "simple", pairs=games // 2, settings=MatchSettings(batch=batch))
    player.close()
    after = _seconds()
    for fault in [*result.faults, *player.take_faults()]:
        raise GinError(f"the program failed: {fault['first']}")
    return int(result.stats["decisions"][0]), after[0] - before[0], after[1] - before[1]


def main() -> None:
    """Prints the rounds and the best."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the program and its arguments, without cmd:")
    parser.add_argument("--games", type=int, default=400, help="in each round")
    parser.add_argument("--batch", type=int, default=2048, help="games at once")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    # Compiles the kernels and fills the text caches.
    measure(arguments.command, 100, arguments.batch)
    best = 0.0
    for _ in range(arguments.rounds):
        decisions, arena, program = measure(arguments.command, arguments.games, arguments.batch)
        best = max(best, decisions / (arena + program))
        print(
            f"{decisions:,} decisions: arena {1e6 * arena / decisions:.1f} µs, program {1e6 * program / decisions:.1f} µs each, "
            f"{decisions / (arena + program):,.0f} a second"
        )
    print(f"best: {best:,.0f} decisions a second of both processes' time")


if __name__ == "__main__":
    main()
