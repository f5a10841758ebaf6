"""Long series of hands between two players, thousands of series in lock-step.

With any players, hand ``h`` of series ``i`` has the same deal, the same starter (the seats take turns) and the same luck of both players.
So two versions of a player meet the same opponents on the same cards. The score is 0:0 before every hand.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from agents.arena.lockstep import FORFEIT_POINTS, Lockstep, Observer, make_jobs
from agents.arena.luck import LuckMeter
from agents.deal_streams import Domain, deal_keys, luck_words
from agents.programs.player import fault_text, forfeiting
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import GinError
from ginenv.tables.kernels import SERIES
from ginenv.tables.players import BasePlayer, Player

# Called with the player's final views, the series, and the numbers of the hands that ended.
AfterHands = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class PlayersBySeries(BasePlayer):
    """Several players, each with series of its own.

    Args:
        players: the players.
        which: the number of the player of each series, ``int64[series]``.
    """

    name = "players by series"

    def __init__(self, players: Sequence[Player], which: np.ndarray) -> None:
        super().__init__()
        self.players, self.which = players, which

    @property
    def forfeits(self) -> bool:
        """Whether a program among the players forfeits hands."""
        return any(getattr(player, "forfeits", False) for player in self.players)

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Asks each player about its own series."""
        if slots is None:
            raise GinError("slots are missing; players by series need the series of each view")
        actions = np.empty(len(views), np.int64)
        for player, rows in self._rows_of(slots):
            actions[rows] = player.act(views[rows], slots[rows])
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Shows each player the hands of its own series that ended."""
        if slots is None:
            raise GinError("slots are missing; players by series need the series of each hand")
        for player, rows in self._rows_of(slots):
            player.observe_hands(views[rows], slots[rows])

    def _rows_of(self, slots: np.ndarray) -> Iterator[tuple[Player, np.ndarray]]:
        numbers = self.which[slots]
        for k in np.unique(numbers):
            yield self.players[k], numbers == k


class _Points(Observer):
    def __init__(self, series: int, hands: int, after: AfterHands | None, meter: LuckMeter | None):
        self.meter = meter
        self.points = np.zeros((series, hands), np.float32)
        self.after = after

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        series, hands = play.jobs_at[rows], play.tables["episode"][rows] - 1
        self.points[series, hands] = views[0]["points"]
        if self.meter is not None:
            self.points[series, hands] -= self.meter.points[series]
            self.meter.points[series] = 0.0
        if self.after is not None:
            self.after(views[0], series, hands)


def play_series(
    player: Player,
    opponent: Player,
    *,
    series: int,
    hands: int,
    seed: int,
    rules: str | Rules = "eaai",
    domain: Domain = Domain.SESSION,
    after: AfterHands | None = None,
    starts: Sequence[int] = (0,),
    same_deal: bool = False,
    less_luck: bool = False,
) -> np.ndarray:
    """Plays series of hands; each player observes every hand that ends, with the series as its slot.

    Args:
        player: sits in seat 0.
        opponent: sits in seat 1.
        series: number of series, all played at once.
        hands: number of hands in each series.
        seed: seed of the deals; series ``i`` does not depend on the other series.
        rules: the rules.
        domain: which stream the deals come from.
        after: called after hands end (see ``AfterHands``).
        starts: numbers from which series are played on, equally many from each.
        same_deal: every series gets the deals of the first and the same luck of the opponent; only the player's own luck differs.
        less_luck: luck is measured and subtracted (``agents.arena.luck``).

    Returns:
        ``float32[series, hands]``, the player's points in every hand.

    A program's faults cost it hands, each worth ``FORFEIT_POINTS`` to the other side, and are told in a warning.

    Raises:
        IllegalActionError: if a player that is no program answers with an action that is not legal.
    """
    each = series // len(starts)
    keys = np.concatenate([deal_keys(domain, seed, start, each) for start in starts])
    luck = np.concatenate([luck_words(domain, seed, start, each) for start in starts])
    if same_deal:
        keys[:], luck[:, 1] = keys[0], luck[0, 1]
    jobs = make_jobs(keys, luck, np.arange(2 * series).reshape(series, 2) // 2)
    meter = LuckMeter(series, True) if less_luck else None
    points = _Points(series, hands, after, meter)
    observers = [meter, points] if meter else [points]
    players, rules = (player, opponent), get_rules(rules)
    with forfeiting(players) as programs:
        Lockstep(players, rules, jobs, series, SERIES, hands, forfeit_points=FORFEIT_POINTS, observers=observers).run()
    for fault in (fault for program in programs for fault in program.take_faults()):
        warnings.warn(f"{fault['forfeits']} hands were forfeited; {fault_text(fault)}", stacklevel=2)
    return points.points
