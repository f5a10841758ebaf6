"""``gin exploit``: what can be won against a player."""

from __future__ import annotations

from agents.arena.configs import ExploitConfig, Processes
from agents.arena.executors import open_executor
from agents.cli import INTERRUPTED
from agents.files import check_writable, write_json, writing
from agents.reports.terminal import (
    counted,
    match_tables,
    plain_console,
    print_result,
    progress_bar,
    results_document,
)


def exploit(config: ExploitConfig, details: bool = False) -> int | None:
    """Trains best responses against a frozen player and prints how much the best of them wins; a better one may exist.

    After Ctrl-C, SIGTERM or SIGHUP, what was measured, if anything, is written and shown, and the exit status is 130.

    Args:
        config: what is trained and measured.
        details: also show the learning curves, and how both sides play.
    """
    from agents.training.exploit import exploit as train_and_measure

    check_writable(config.path)
    console = plain_console()
    with (
        open_executor(config.workers) as executor,
        progress_bar(console, config.seeds * config.decisions, "training best responses, decisions") as tick,
    ):
        result, began, responses = train_and_measure(config, tick, executor)
    document = {
        "config": config.model_dump(mode="json", exclude={*Processes.model_fields}),
        "curves": {r.seed: r.curve for r in responses},
    }
    gained = None if began is None else result.points_over(began)
    document["gained"] = None if gained is None else gained.to_dict()
    path = config.path
    with writing(path):
        write_json(path, document | results_document([result, *([began] if began else [])]))
    console.print(f"results: {path}", markup=False, soft_wrap=True)
    for response in responses if details else []:
        curve = "  ".join(f"{done / 1e6:.2f}M {points:+.2f} ± {half:.2f}" for done, points, half in response.curve)
        console.print(f"seed {response.seed}, points per hand on deals kept for choosing: {curve}", highlight=False)
    print_result(console, match_tables(result), details)
    over = "" if gained is None else f", {gained.text()} more than the network that it began from, on the same deals"
    console.print(
        f"the best of {counted(config.seeds, 'response')} trained with {config.decisions:,} decisions wins "
        f"{result.share.text(percent=True)} of the games and {result.points.text()} points per hand against {config.agent}{over}",
        highlight=False,
        markup=False,
    )
    # If one of the two matches was interrupted, the second is left out.
    return INTERRUPTED if began is None else None
