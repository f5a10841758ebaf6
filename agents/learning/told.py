"""What a learner is told of its opponents beside its view: the style of the one that it plays, or what is known of it, as numbers.

A network that is told the truth shows what there is to win by knowing an opponent; the one that is told what is known can be played.
"""

from __future__ import annotations

import numpy as np

from agents.arena.series import play_series
from agents.bots.heuristics import StylePlayer
from agents.bots.population import STYLE_WIDTH, PopulationPlayer, draw_styles, style_vectors
from agents.deals import Domain
from agents.learning.opponents import Opponents
from agents.learning.rollout import Rollout
from agents.opponent_model.posterior import CONTEXT_WIDTH, Knowledge
from ginenv.errors import GinError
from ginenv.players import Player, make_player

# A flag, and the numbers of a style.
TRUTH_WIDTH = 1 + STYLE_WIDTH
# One game in so many is played without being told, so that the network knows what to do then.
UNTOLD = 4
# What is known of an opponent is written down after so many hands.
HISTORIES = (1, 2, 3, 5, 8, 13, 20, 35, 60, 100, 180, 300)
# Series of hands of each style in which it is found out, and who plays them.
_SERIES, _WATCHER = 2, "network"
_HISTORIES_SEED, _STYLES_SEED, _STYLES = 31, 7, 256
# Weight of the squares of the matrix that makes numbers of a style of what is known.
_RIDGE = 10.0


class Told:
    """A context: what is told of the opponent in games against a population (see ``ContextSource``), zeros elsewhere.

    Args:
        opponents: of the run; the first of the pool that is a population is told of.
        what: ``style`` or ``known``.

    Raises:
        GinError: if the pool has no population.
    """

    def __init__(self, opponents: Opponents, what: str) -> None:
        found = [(k, player) for k, player in enumerate(opponents.pool[0]) if isinstance(player, PopulationPlayer)]
        if not found:
            raise GinError(f"told is {what!r}, but the pool has no population to tell of; add player: population")
        self.opponent, player = found[0]
        self.width = TRUTH_WIDTH if what == "style" else CONTEXT_WIDTH
        self.what, self.styles = what, player.styles
        # What may be told of each style, float32[ways, styles, width]: one truth, or what is known after several histories.
        self._table: np.ndarray | None = None

    @property
    def table(self) -> np.ndarray:
        """What may be told of each style, ``float32[ways, styles, width]``; histories are played when it is first asked for."""
        if self._table is None:
            if self.what == "style":
                self._table = told(style_vectors(self.styles))[None]
            else:
                self._table = known_of_styles(self.styles)
        return self._table

    def __call__(self, rollout: Rollout, tick: int, out: np.ndarray) -> None:
        """Writes ``float32[games, width]``."""
        slots, games, table = rollout.slots, np.arange(rollout.games), self.table
        knows = (slots["opponent"] == self.opponent) & (slots["seat"] == rollout.views["seat"])
        turns = games // len(self.styles) + slots["count"]
        knows &= turns % UNTOLD > 0
        # Games of one slot, one after the other, go through the ways.
        ways = (turns // UNTOLD + 7 * games) % len(table)
        out[:] = np.where(knows[:, None], table[ways, games % len(self.styles)], 0)


def told(vectors: np.ndarray) -> np.ndarray:
    """The contexts of ``float32[n, W]`` numbers: a flag before them."""
    return np.concatenate([np.ones((len(vectors), 1), np.float32), vectors], 1)


def known_after(
    opponent: Player, count: int, lengths: tuple[int, ...], seed: int = _HISTORIES_SEED, domain: Domain = Domain.TRAIN
) -> np.ndarray:
    """What is known of an opponent after histories of some lengths: ``float32[lengths, count, CONTEXT_WIDTH]``.

    Args:
        opponent: that is watched, in ``count`` series of hands; it may be another in each.
        count: of the series.
        lengths: of the histories, in hands, rising.
        seed: of the deals.
        domain: of the deals.
    """
    knowledge, hands = Knowledge(count), np.zeros(count, np.int64)
    found = np.zeros((len(lengths), count, CONTEXT_WIDTH), np.float32)

    def learn(views: np.ndarray, rows: np.ndarray, numbers: np.ndarray) -> None:
        knowledge.learn(views, rows)
        hands[rows] += 1
        for k, length in enumerate(lengths):
            ready = rows[hands[rows] == length]
            found[k, ready] = knowledge.context(ready)

    watcher = make_player(_WATCHER, seed)
    play_series(watcher, opponent, series=count, hands=lengths[-1], seed=seed, domain=domain, after=learn)
    return found


def known_of_styles(styles: np.ndarray) -> np.ndarray:
    """What is known of each of some styles after several histories: ``float32[histories, styles, CONTEXT_WIDTH]``."""
    # Series ``i`` is played by style ``i % len(styles)``.
    known = known_after(StylePlayer(styles), len(styles) * _SERIES, HISTORIES)
    return known.reshape(-1, len(styles), CONTEXT_WIDTH)


def style_from_known(seed: int = _STYLES_SEED) -> np.ndarray:
    """A linear guess of what ``style`` tells from what ``known`` tells: ``float32[TRUTH_WIDTH, CONTEXT_WIDTH]``."""
    styles = draw_styles(seed, _STYLES)
    known = known_of_styles(styles)
    x = known.reshape(-1, CONTEXT_WIDTH).astype(np.float64)
    y = np.tile(told(style_vectors(styles)).astype(np.float64), (len(known), 1))
    guess = np.linalg.solve(x.T @ x + _RIDGE * np.eye(CONTEXT_WIDTH), x.T @ y)
    return guess.T.astype(np.float32)
