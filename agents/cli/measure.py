"""``gin exploit`` and ``gin adaptation``: what can be won against a player, and what a level gains by learning."""

from __future__ import annotations

from agents.arena.configs import ExploitConfig, Processes
from agents.arena.executors import open_executor
from agents.arena.series import counting_hands
from agents.cli import INTERRUPTED
from agents.files import check_writable, write_json, write_text, writing
from agents.interrupts import defer_interrupts
from agents.levels.bench.adaptation import AdaptationConfig, hands_to_play, level_of, partial_results, run
from agents.reports.adaptation import adaptation_tables, report_adaptation
from agents.reports.terminal import (
    counted,
    match_tables,
    plain_console,
    print_result,
    progress_bar,
    results_document,
    this_command,
)


def exploit(config: ExploitConfig, details: bool = False) -> int | None:
    """Trains best responses against a frozen player and prints how much the best of them wins; a better one may exist.

    After Ctrl-C or SIGTERM, what was measured, if anything, is written and shown, and the exit status is 130.

    Args:
        config: what is trained and measured.
        details: also show the learning curves, and how both sides play.
    """
    from agents.training.exploit import exploit as train_and_measure

    check_writable(config.out)
    console = plain_console()
    with (
        open_executor(config.workers, config.ray) as executor,
        progress_bar(console, config.seeds * config.budget, "training best responses, decisions") as tick,
    ):
        result, began, responses = train_and_measure(config, tick, executor)
    document = {
        "config": config.model_dump(mode="json", exclude={*Processes.model_fields}),
        "curves": {r.seed: r.curve for r in responses},
    }
    gained = None if began is None else result.points_over(began)
    document["gained"] = None if gained is None else gained.to_dict()
    with writing(config.out):
        write_json(config.out, document | results_document([result, *([began] if began else [])]))
    console.print(f"results: {config.out}", markup=False, soft_wrap=True)
    for response in responses if details else []:
        curve = "  ".join(f"{done / 1e6:.2f}M {points:+.2f} ± {half:.2f}" for done, points, half in response.curve)
        console.print(f"seed {response.seed}, points per hand on deals kept for choosing: {curve}", highlight=False)
    print_result(console, match_tables(result), details)
    over = "" if gained is None else f", {gained.text()} more than the network that it began from, on the same deals"
    console.print(
        f"the best of {counted(config.seeds, 'response')} trained with {config.budget:,} decisions wins "
        f"{result.share.text(percent=True)} of the games and {result.points.text()} points per hand against {config.agent}{over}",
        highlight=False,
        markup=False,
    )
    # If one of the two matches was interrupted, the second is left out.
    return INTERRUPTED if began is None else None


def adaptation(config: AdaptationConfig, details: bool = False) -> None:
    """Measures what a level gains by learning from its opponents.

    After Ctrl-C or SIGTERM, what was played is kept, the same command continues with it, and the exit status is 130.

    Args:
        config: what is measured.
        details: also show the gains against each opponent.
    """
    check_writable(config.out / "results.json")
    console = plain_console()
    parts = partial_results(config, level_of(config))
    with defer_interrupts():
        try:
            with (
                open_executor(config.workers, config.ray) as executor,
                progress_bar(console, hands_to_play(config), f"{config.level}, hands") as tick,
                counting_hands(tick),
            ):
                show = lambda words: console.print(f"{config.level}: {words}", markup=False)  # noqa: E731
                document = run(config, show, parts, executor)
        except KeyboardInterrupt:
            if not len(parts):
                raise
            raise KeyboardInterrupt(
                f"interrupted; what has been played is kept in {parts.directory}, and the same command continues with it"
            ) from None
        with writing(config.out):
            write_json(config.out / "results.json", {"command": this_command(), **document})
            write_text(config.out / "report.html", report_adaptation(document, this_command()))
            parts.drop()
        places = f"results: {config.out / 'results.json'}, report: {config.out / 'report.html'}"
        console.print(places, markup=False, soft_wrap=True)
        print_result(console, adaptation_tables(document), details)
