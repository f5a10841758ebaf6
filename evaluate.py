"""Who is better, by how much, and is it real: matches on mirrored deals, with intervals.

python evaluate.py A B --rules eaai --games 10000     a match
python evaluate.py A                                  one player against the panel
"""

from __future__ import annotations

import inspect
import os
import re
import runpy
import signal
import sys
from pathlib import Path

import tyro
from rich.console import Console

from agents.arena.configs import (
    PANEL,
    ConformConfig,
    ExploitConfig,
    MatchConfig,
    StressConfig,
    TournamentConfig,
    parse_rules,
)
from agents.arena.conform import check
from agents.arena.matches import MatchSettings, play_match
from agents.arena.results import MatchResult
from agents.arena.sequential import SequentialTest
from agents.arena.stress import run as run_stress
from agents.arena.tournament import Tournament
from agents.config import load_config
from agents.files import check_writable, write_json, write_text, writing
from agents.programs.player import BotLimits
from agents.reports.terminal import (
    match_tables,
    panel_table,
    progress_bar,
    results_document,
    standings_tables,
    this_command,
)
from agents.reports.tournament import report
from ginenv.errors import GinError


def match(arguments: list[str], console: Console) -> None:
    """Plays a match, or one player against the panel, prints tables and writes a results file."""
    config = tyro.cli(MatchConfig, prog="evaluate.py", args=arguments)
    if not 1 <= len(config.players) <= 2:
        raise GinError(f"{len(config.players)} players were named; allowed are one (it meets the panel) or two")
    first = config.players[0]
    others = config.players[1:] or PANEL
    unit, count = ("hands", config.hands) if config.hands else ("games", config.games)
    pairs = (count + 1) // 2
    test = SequentialTest(config.margin, config.alpha, config.beta) if config.until_significant else None
    settings = MatchSettings(
        parse_rules(config.rules),
        unit,
        config.seed,
        batch=config.batch,
        forfeit=config.forfeit,
        luck=config.luck,
        until=test,
    )
    check_writable(config.out)
    results: list[MatchResult] = []
    try:
        for other in others:
            with progress_bar(console, 2 * pairs, f"{first} – {other}") as tick:
                result = play_match(
                    first,
                    other,
                    pairs=pairs,
                    workers=config.workers,
                    progress=tick,
                    settings=settings,
                )
            results.append(result)
            if result.interrupted:
                console.print(f"interrupted after {result.pairs:,} of {pairs:,} pairs")
                break
    except KeyboardInterrupt:
        if not results:
            raise
        console.print(f"interrupted after {len(results)} of {len(others)} matches")
    for table in match_tables(results[0]) if len(others) == 1 else [panel_table(results)]:
        console.print(table)
    with writing(config.out):
        write_json(config.out, results_document(results))
    console.print(f"results: {config.out}")


def _rank() -> tuple[int, int]:
    """This process's number and how many there are, as torchrun says them."""
    values = []
    for name, usual in (("RANK", "0"), ("WORLD_SIZE", "1")):
        text = os.environ.get(name, usual)
        if not re.fullmatch("[0-9]{1,6}", text):
            raise GinError(f"the environment's {name} is {text!r}; allowed is a whole number from 0")
        values.append(int(text))
    rank, world = values
    if rank >= world:
        raise GinError(
            f"the environment's RANK is {rank} and its WORLD_SIZE {world}; ranks go from 0 to WORLD_SIZE - 1"
        )
    return rank, world


def tournament(arguments: list[str], console: Console) -> None:
    """Plays what is missing of a tournament and writes its results and its report."""
    if {"-h", "--help"} & set(arguments):
        usage = "usage: python evaluate.py tournament CONFIG.yaml [KEY=VALUE ...]"
        console.print(f"{usage}\n\n{inspect.getdoc(TournamentConfig)}", markup=False, highlight=False)
        return
    if not arguments:
        raise GinError("a tournament needs a configuration: python evaluate.py tournament configs/tournament.yaml")
    config = load_config(arguments[0], arguments[1:], TournamentConfig)
    rank, world = _rank()
    played = Tournament(config, rank, world)
    share = len(played.blocks()[rank::world])
    with progress_bar(console, share, f"{config.title}, blocks") as tick:
        played.play(tick)
    standings = played.standings()
    if standings.missing and world > 1:
        console.print(f"rank {rank} is done; {standings.missing} blocks of other ranks are missing still")
        return
    if not standings.matches:
        raise KeyboardInterrupt
    for table in standings_tables(standings):
        console.print(table)
    for circle in standings.circles():
        console.print(f"[bold]warning:[/] a circle: {' beats '.join([*circle, circle[0]])}")
    if standings.missing:
        console.print(f"{standings.missing} blocks have not been played; the same command goes on with them")
    with writing(config.out):
        write_json(config.out / "results.json", {"command": this_command(), **standings.to_dict()})
        write_text(config.out / "report.html", report(standings, this_command()))
    console.print(f"results: {config.out / 'results.json'}, report: {config.out / 'report.html'}")


def conform(arguments: list[str], console: Console) -> None:
    """Plays a program through every phase and says what is wrong."""
    config = tyro.cli(ConformConfig, prog="evaluate.py conform", args=arguments)
    limits = BotLimits(start_seconds=config.seconds, seconds=config.seconds)
    with console.status("playing through every phase …"):
        found = check(config.program.removeprefix("cmd:"), config.hands, limits)
    asked = ", ".join(f"{phase} {count:,}" for phase, count in found.asked.items())
    console.print(f"decisions asked: {asked}; {found.ms_per_decision:.3f} ms each")
    for note in found.notes:
        console.print(f"note: {note}", highlight=False)
    for sentence in found.wrong:
        console.print(f"wrong: {sentence}", highlight=False)
    if found.wrong:
        number = "1 finding" if len(found.wrong) == 1 else f"{len(found.wrong)} findings"
        sys.exit(f"evaluate.py: the program does not conform ({number})")
    console.print("the program conforms")


def stress(arguments: list[str], console: Console) -> None:
    """Plays matches against many bad programs and says whether all were survived."""
    config = tyro.cli(StressConfig, prog="evaluate.py stress", args=arguments)
    script = Path(__file__).parent / "examples" / "bad_bots.py"
    kinds = list(runpy.run_path(str(script))["KINDS"])
    with progress_bar(console, config.bots, "bad bots") as tick:
        result = run_stress(script, [kind for kind in kinds if kind != "noise"], config.bots, config.threads, tick)
    for kind, named in result.faults.items():
        console.print(
            f"{kind:16} {', '.join(f'{name} {count}' for name, count in named.most_common()) or '–'}", highlight=False
        )
    summary = (
        f"{config.bots:,} bad bots in {result.seconds:.0f} s: {len(result.unnamed)} without a fault named, "
        f"{result.left_behind} processes left behind"
    )
    if result.unnamed or result.left_behind:
        sys.exit(f"evaluate.py: {summary}; unnamed: {', '.join(sorted(set(result.unnamed)))}")
    console.print(summary)


def adaptation(arguments: list[str], console: Console) -> None:
    """Measures what a level gains by learning, and writes figures and a report."""
    # Levels need torch, which takes a second to import and no other command needs.
    from agents.levels.bench.adaptation import AdaptationConfig, run
    from agents.reports.adaptation import adaptation_tables, report_adaptation

    config = tyro.cli(AdaptationConfig, prog="evaluate.py adaptation", args=arguments)
    check_writable(config.out / "results.json")
    document = run(config, lambda words: console.print(f"{config.level}: {words}"))
    for table in adaptation_tables(document):
        console.print(table)
    with writing(config.out):
        write_json(config.out / "results.json", {"command": this_command(), **document})
        write_text(config.out / "report.html", report_adaptation(document, this_command()))
    console.print(f"results: {config.out / 'results.json'}, report: {config.out / 'report.html'}")


def exploit(arguments: list[str], console: Console) -> None:
    """Trains best responses against a frozen player and reports what the best of them wins on fresh deals."""
    # Learning needs torch, which the other commands can do without.
    from agents.learning.exploit import exploit as train_and_measure

    config = tyro.cli(ExploitConfig, prog="evaluate.py exploit", args=arguments)
    check_writable(config.out)
    with progress_bar(console, config.seeds * config.budget, "training best responses") as tick:
        result, responses = train_and_measure(config, tick)
    for response in responses:
        curve = "  ".join(f"{done / 1e6:.2f}M {points:+.2f} ± {half:.2f}" for done, points, half in response.curve)
        console.print(f"seed {response.seed}, points a hand on deals kept for choosing: {curve}", highlight=False)
    for table in match_tables(result):
        console.print(table)
    console.print(
        f"a best response trained with {config.budget:,} decisions wins {result.points.text()} points a hand and "
        f"{result.share.text(percent=True)} of the games against {config.agent}: a lower bound of what can be won",
        highlight=False,
    )
    document = {"config": config.model_dump(mode="json"), "curves": {r.seed: r.curve for r in responses}}
    with writing(config.out):
        write_json(config.out, document | results_document([result]))
    console.print(f"results: {config.out}")


COMMANDS = {
    "adaptation": adaptation,
    "tournament": tournament,
    "conform": conform,
    "stress": stress,
    "exploit": exploit,
}


def main() -> None:
    """Runs what the command line asks for; an error is one sentence and a non-zero exit."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        # Both print what there is. Set anew, since a shell starts background jobs with interrupts ignored.
        signal.signal(stop, signal.default_int_handler)
    name, rest = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if name != "exploit":
        # Players meet small batches, for which threads that wait for each other take longer than one; more work is for more processes.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        if name in COMMANDS:
            COMMANDS[name](rest, Console())
        else:
            match(sys.argv[1:], Console())
    except GinError as error:
        sys.exit(f"evaluate.py: {error}")
    except KeyboardInterrupt:
        sys.exit("evaluate.py: interrupted before anything was finished")


if __name__ == "__main__":
    main()
