"""Fits the prior for unknown opponents that ships, ``agents/data/opponent_model.json``, from styles of the training population.

python -m benchmarks.data.opponent_prior
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.arena.lockstep import Lockstep, Observer, make_jobs
from agents.deal_streams import Domain, deal_keys, luck_words
from agents.files import write_json
from agents.opponent_model.fit import fit_prior
from agents.opponent_model.posterior import PRIOR
from ginenv.bots.heuristics import StylePlayer
from ginenv.bots.population import draw_styles
from ginenv.engine.rules import get_rules
from ginenv.tables.kernels import SERIES
from ginenv.tables.players import make_player

# Styles, hands of each, and their seed: the training population's.
_STYLES, _HANDS, _DRAW = 512, 48, 1
# Series of a style that are played at the same time.
_LANES = 4
# Of the likelihood of one hand, in the fit (docs/log).
_TEMPERED = 0.3


class _FinishedHands(Observer):
    """Keeps the final views of side 0, the decks, and how much of them was dealt."""

    def __init__(self) -> None:
        self.parts: list[tuple[np.ndarray, ...]] = []

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        states, hands = play.states[rows], play.tables["episode"][rows] - 1
        stored_results = (play.jobs_at[rows], hands, views[0], states["deck"], states["position"].astype(np.int64))
        self.parts.append(tuple(part.copy() for part in stored_results))


def play_hands(styles: np.ndarray, hands: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Plays hands of each style against the network, sorted by style.

    Returns:
        ``VIEW[n]``, decks ``uint8[n, 52]``, positions in them ``int64[n]``, and styles ``int64[n]``.
    """
    count, each = len(styles), -(-hands // _LANES)
    number = count * _LANES
    keys, luck = deal_keys(Domain.SELECT, seed, 0, number), luck_words(Domain.SELECT, seed, 0, number)
    jobs = make_jobs(keys, luck, np.arange(2 * number).reshape(number, 2) // 2)
    finished = _FinishedHands()
    sides = (make_player("network", seed), StylePlayer(styles, seed))
    Lockstep(sides, get_rules("eaai"), jobs, len(jobs), SERIES, each, observers=[finished]).run()
    job, hand, views, decks, positions = (np.concatenate(parts) for parts in zip(*finished.parts, strict=True))
    order = np.lexsort((hand, job // count, job % count))
    return views[order], decks[order], positions[order], job[order] % count


def main() -> None:
    """Fits the prior and writes it into the package."""
    hands = play_hands(draw_styles(_DRAW, _STYLES), _HANDS, 11)
    prior, logs = fit_prior(*hands, tempered=_TEMPERED)
    print("log-likelihood by round: " + ", ".join(f"{log:,.0f}" for log in logs))
    about = {"command": "python -m benchmarks.data.opponent_prior", "log_likelihood": logs}
    write_json(PRIOR, about | prior.to_dict())


if __name__ == "__main__":
    main()
