"""PPO against an opponent that adapts: at every table, `level-2` keeps a record of the learner and learns from each hand.

    pip install ".[train]"
    python examples/adaptive_opponent.py

The first phase is that of examples/ppo.py, against bots that never change. Then `level-2` plays at every table. It remembers earlier
hands, and shifts its choices by what it knows of this learner. At the end the script prints the strength against the
bots of `strength.py`, and what the learner wins from a level that has not met it before, in early hands and in later ones.
"""

from __future__ import annotations

import numpy as np
import tyro
from ppo import Settings, Trainer
from strength import PolicyPlayer, clock, report, speed

from agents.arena.series import play_series
from agents.estimates import ratio
from ginenv import make_player

OPPONENT = "level-2"
EARLY = 50  # hands in which a level is still getting to know a stranger


def interval(values: np.ndarray) -> str:
    """The mean over series with its 95 % interval."""
    found = ratio(values, np.ones(len(values)))
    return f"{found.mean:+.2f} ± {found.half:.2f}"


def main(
    imitate: int = 1_500_000,
    decisions: int = 750_000,
    games: int = 1000,
    series: int = 32,
    hands: int = 200,
    seed: int = 0,
) -> dict[str, float]:
    """Trains and measures; returns the shares of games won.

    Args:
        imitate: decisions of imitation, against bots.
        decisions: decisions of PPO after it, against the level.
        games: games to measure with, against each bot.
        series: strangers that the level meets, for what it learns of the learner.
        hands: hands with each of them.
        seed: seed of the run.
    """
    trainer, began = Trainer(Settings(seed=seed)), clock()
    trainer.phase("imitating", imitate, imitates=True)
    trainer.envs.set_opponent(OPPONENT)
    trainer.phase(f"PPO against {OPPONENT}", decisions, imitates=False)
    print(speed(trainer.done, began))
    won = report(trainer.policy, "ppo", games)
    points = play_series(
        PolicyPlayer(trainer.policy, "ppo"),
        make_player(OPPONENT),
        series=series,
        hands=hands,
        seed=1,
        rules="eaai",
    )
    for name, part in (
        (f"hands 1 to {EARLY}", points[:, :EARLY]),
        (f"hands {EARLY + 1} to {hands}", points[:, EARLY:]),
    ):
        print(f"ppo against {OPPONENT} that gets to know it, {name}: {interval(part.mean(1))} points per hand")
    return won


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
