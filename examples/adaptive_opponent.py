"""PPO against an opponent that adapts: at every table, `level-2` keeps a record of the learner and learns from each hand.

    pip install "ginenv[train]"
    python examples/adaptive_opponent.py

The first phase is that of examples/ppo.py, against bots that never change. Then `level-2` plays at every table. It remembers earlier
hands, and shifts its choices by what it knows of this learner. At the end the script prints the strength against the
bots of `strength.py`, and what the learner wins from a level that has not met it before, in early hands and in later ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from ppo import Settings, Trainer
from strength import PolicyPlayer, report

from agents.arena.results import ratio
from agents.arena.series import play_series
from ginenv import make_player

OPPONENT = "level-2"
EARLY = 50  # hands in which a level is still getting to know a stranger


def interval(values: np.ndarray) -> str:
    """The mean over series with its 95 % interval."""
    found = ratio(values, np.ones(len(values)))
    return f"{found.mean:+.2f} ± {found.half:.2f}"


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Trains and measures; returns the shares of games won."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imitate", type=int, default=1_500_000, help="decisions of imitation, against bots")
    parser.add_argument("--decisions", type=int, default=750_000, help="decisions of PPO after it, against the level")
    parser.add_argument("--games", type=int, default=1000, help="games to measure with, against each bot")
    parser.add_argument(
        "--series", type=int, default=32, help="strangers that the level meets, for what it learns of the learner"
    )
    parser.add_argument("--hands", type=int, default=200, help="hands with each of them")
    parser.add_argument("--threads", type=int, default=2, help="of torch")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    trainer = Trainer(replace(Settings(), seed=options.seed))
    with trainer.measured():
        trainer.phase("imitating", options.imitate, imitates=True)
        trainer.envs.set_opponent(OPPONENT)
        trainer.phase(f"PPO against {OPPONENT}", options.decisions, imitates=False)
    won = report(trainer.policy, "ppo", options.games)
    points = play_series(
        PolicyPlayer(trainer.policy, "ppo"),
        make_player(OPPONENT),
        series=options.series,
        hands=options.hands,
        seed=1,
        rules="eaai",
    )
    for name, part in (
        (f"hands 1 to {EARLY}", points[:, :EARLY]),
        (f"hands {EARLY + 1} to {options.hands}", points[:, EARLY:]),
    ):
        print(f"ppo against {OPPONENT} that gets to know it, {name}: {interval(part.mean(1))} points per hand")
    return won


if __name__ == "__main__":
    main()
