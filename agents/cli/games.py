"""``gin games``: plays games, or reads records of games, and writes them as tables of decisions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg
from tyro.extras import SubcommandApp

from agents.arena.configs import num_games
from agents.arena.executors import open_executor
from agents.arena.matches import MatchSettings, check_names
from agents.datasets.source import PlayedGames, RecordedGames
from agents.datasets.store import INTERRUPTED, WriteResult, write_games
from agents.files import check_writable
from agents.programs.player import BotLimits, fault_text
from agents.reports.terminal import counted, plain_console, progress_bar, this_command
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, must_be
from ginenv.tables.player_names import short_name

USUAL_GAMES = 1000

app = SubcommandApp()


@app.command
def play(
    player: Annotated[str, Positional, arg(metavar="PLAYER")],
    other: Annotated[str, Positional, arg(metavar="OPPONENT")],
    games: int | None = None,
    hands: int | None = None,
    rules: str = "eaai",
    seed: int = 0,
    seconds: float = 10.0,
    out: Path = Path("runs/games.parquet"),
    workers: int = 1,
) -> str:
    """Plays games between two players, who swap seats after each, and writes every decision.

    A hand in which an outside program fails is forfeited and left out; the exit status is then 1.

    Args:
        player: name of a player.
        other: name of the other; the same one for play against itself.
        games: number of games; 1000 when neither games nor hands is given.
        hands: play this many single hands instead of games.
        rules: a preset, or one with changes (eaai,target=200).
        seed: seed of deals and players.
        seconds: time limit of an outside program for each line of questions, and the least it gets for getting ready.
        out: file to write.
        workers: number of processes.
    """
    count = num_games(games, hands, USUAL_GAMES)
    if seconds <= 0:
        raise GinError(must_be("seconds", "more than 0", seconds))
    unit, limits = "hands" if hands else "games", BotLimits.for_lines(seconds)
    settings = MatchSettings(get_rules(rules), unit, seed, limits=limits).guarded(player, other)
    check_writable(out)
    check_names(player, other)
    about = {
        "players": [short_name(player), short_name(other)],
        "rules": settings.rules.to_json(),
        "seed": seed,
        "salt": settings.salt,
        "command": this_command(),
    }
    began = time.perf_counter()
    with (
        open_executor(workers) as executor,
        progress_bar(plain_console(stderr=True), count, f"{short_name(player)} – {short_name(other)}") as tick,
    ):
        written = write_games(out, PlayedGames((player, other), count, settings, executor), about, tick)
    return _report(out, written, time.perf_counter() - began)


@app.command
def read(
    records: Annotated[list[Path], Positional, arg(metavar="RECORD ...", help_behavior_hint="")],
    out: Path = Path("runs/games.parquet"),
) -> str:
    """Reads records of hands or games, such as those of another program, and writes every decision.

    Args:
        records: files in the format of ginenv.hands.records.
        out: file to write.
    """
    if not records:
        raise GinError("no record is named; name at least one file")
    if out.resolve() in [record.resolve() for record in records]:
        raise GinError(f"--out is {out}, which is one of the records; name another file")
    check_writable(out)
    began = time.perf_counter()
    about = {
        "players": sorted({name for group in RecordedGames(records) for pair in group.players for name in pair}),
        "command": this_command(),
    }
    with progress_bar(plain_console(stderr=True), len(records), "records") as tick:
        written = write_games(out, RecordedGames(records), about, tick)
    return _report(out, written, time.perf_counter() - began)


def _report(out: Path, written: WriteResult, seconds: float) -> str:
    ended = f"; ended early: {written.interrupted}" if written.interrupted else ""
    parts = (
        f"{out}: {counted(written.games, 'game')}, {counted(written.hands, 'hand')}, {counted(written.rows, 'decision')}, "
        f"{out.stat().st_size / 1e6:.1f} MB in {seconds:.0f} s{ended}"
    )
    if written.faults:
        lost = sum(fault["forfeits"] for fault in written.faults)
        parts += f"; {counted(lost, 'hand')} forfeited and left out; {fault_text(written.faults[0])}"
    if not written.interrupted and not written.faults:
        return parts
    raise (KeyboardInterrupt if written.interrupted == INTERRUPTED else GinError)(parts)


def games(arguments: Sequence[str]) -> None:
    """Runs a command line and prints its answer.

    Raises:
        GinError: if something cannot be read, written or played; if the file ends early for it, the message says what the file holds.
        KeyboardInterrupt: after an interrupt; its message says the same.
    """
    print(app.cli(args=arguments, prog="gin games", description="Games as tables of decisions, in Parquet."))
