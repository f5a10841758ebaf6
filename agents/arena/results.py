"""Results of matches: shares and points with intervals, and how each side played.

Both legs of a pair are played on the same deals, so they are not independent. Every interval is therefore clustered by pair or, where a
player learns, by series of pairs.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from agents.arena.statistics import GAME_RESULT, PLAY_STATS
from agents.estimates import Estimate, proportion, ratio
from ginenv.engine.engine import NOBODY
from ginenv.engine.rules import PRESETS, Rules
from ginenv.errors import GinError

RESULTS_VERSION = 1


def add_stats(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of ``PLAY_STATS`` arrays of the same shape, field by field."""
    parts = list(parts)
    total = np.zeros_like(parts[0])
    for key in PLAY_STATS.names or ():
        total[key] = sum(part[key] for part in parts)
    return total


def rates(stats: Any, seconds: float) -> dict[str, Any]:
    """How a side played, from its ``PLAY_STATS`` and its seconds; ``None`` for rates that had no occasion."""

    def per(key: str, of: str) -> float | None:
        return round(float(stats[key]) / float(stats[of]), 4) if stats[of] else None

    could, did, decisions = stats["could_knock"], stats["did_knock"], int(stats["decisions"])
    return {
        "hands": int(stats["hands"]),
        "hands_won": per("won", "hands"),
        "hands_drawn": per("drawn", "hands"),
        "gin_rate": per("gins", "hands"),
        "knock_rate": per("knocks", "hands"),
        "knock_deadwood": per("knock_deadwood", "knocks"),
        "knocked_when_possible": round(float(did.sum()) / float(could.sum()), 4) if could.sum() else None,
        "gin_points": per("gin_points", "hands"),
        "knock_points": per("knock_points", "hands"),
        "undercut_points": per("undercut_points", "hands"),
        "undercuts_given": int(stats["undercuts_given"]),
        "undercuts_taken": int(stats["undercuts_taken"]),
        "turns_per_hand": per("turns", "hands"),
        "upcards_taken": per("took", "offered"),
        "deadwood_when_caught": per("caught_deadwood", "caught"),
        "decisions": decisions,
        "ms_per_decision": round(1000 * seconds / decisions, 5) if decisions else None,
    }


@dataclass
class MatchResult:
    """A match between two sides.

    Attributes:
        names: names of the players.
        rules: the rules.
        unit: ``games`` or ``hands``.
        seed: seed of the deals and of the players.
        games: ``GAME_RESULT[2 * pairs]``, the finished jobs, in whole pairs only.
        stats: ``PLAY_STATS[2]``, how both sides played.
        seconds: time spent in each side's decisions.
        luck: ``float[2 * pairs, 2]``, what luck gave side 0 in each job: points, and chance to win the job; or ``None`` where it was not
            measured. It is subtracted from shares and points; ``plain`` is the result without that.
        value_version: names the value function by which luck was measured.
        faults: faults of outside programs: player, kind, count, forfeits, and the first case in words.
        wanted: pairs asked for; fewer are played after an interrupt.
        elapsed: duration of the whole match in seconds.
        interrupted: whether the match was interrupted.
        salts: salts mixed into the seed where outside programs played; several where a tournament's blocks were played separately.
        series_pairs: pairs in a series, over which a player that learns keeps its memory; 0 where no player learns.
    """

    names: tuple[str, str]
    rules: Rules
    unit: str
    seed: int
    games: np.ndarray
    stats: np.ndarray
    seconds: tuple[float, float] = (0.0, 0.0)
    luck: np.ndarray | None = None
    value_version: str = ""
    faults: list[dict[str, Any]] = field(default_factory=list)
    wanted: int = 0
    elapsed: float = 0.0
    interrupted: bool = False
    salts: list[str] = field(default_factory=list)
    series_pairs: int = 0

    def __post_init__(self) -> None:
        """Checks the arrays' types."""
        assert self.games.dtype == GAME_RESULT and self.stats.dtype == PLAY_STATS

    @property
    def pairs(self) -> int:
        """Number of finished pairs."""
        return len(self.games) // 2

    def _by_pair(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values, np.float64).reshape(-1, 2).sum(axis=1)

    @property
    def plain(self) -> MatchResult:
        """The same match with luck left in."""
        return replace(self, luck=None, value_version="")

    @property
    def pair_scores(self) -> np.ndarray:
        """Side 0's share of each pair, less luck; a job that nobody won counts as half a win: ``float[pairs]``."""
        won = np.where(self.games["winner"] == 0, 1.0, np.where(self.games["winner"] == NOBODY, 0.5, 0.0))
        return self._by_pair(won if self.luck is None else won - self.luck[:, 1]) / 2

    def _ratio(self, numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
        """A ratio of sums over pairs; its interval is over independent units: pairs, or series of pairs."""
        return ratio(self._independent(numerator), self._independent(denominator))

    def _proportion(self, numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
        """The same for a ratio between 0 and 1."""
        return proportion(self._independent(numerator), self._independent(denominator))

    def _independent(self, values: np.ndarray) -> np.ndarray:
        """Sums the pairs' values over each series where a player learns, because pairs of one series depend on each other."""
        if self.series_pairs > 1 and self.pairs:
            return np.add.reduceat(values, np.arange(0, self.pairs, self.series_pairs))
        return values

    @property
    def share(self) -> Estimate:
        """Side 0's share of the games (or of single hands; a drawn hand counts half), less luck."""
        if self.luck is None:
            return self._proportion(self.pair_scores, np.ones(self.pairs))
        return self._ratio(self.pair_scores, np.ones(self.pairs)).within(0.0, 1.0)

    @property
    def hand_share(self) -> Estimate:
        """Side 0's share of the hands that somebody won."""
        return self._proportion(self._by_pair(self.games["won"][:, 0]), self._by_pair(self.games["won"].sum(axis=1)))

    @property
    def margins(self) -> np.ndarray:
        """Side 0's points less its opponent's and less luck, of each pair: ``float[pairs]``."""
        margins = self.games["points"][:, 0] - self.games["points"][:, 1]
        return self._by_pair(margins if self.luck is None else margins - self.luck[:, 0])

    @property
    def points(self) -> Estimate:
        """Side 0's points per hand, less its opponent's and less luck."""
        return self._ratio(self.margins, self._by_pair(self.games["hands"]))

    def points_over(self, other: MatchResult) -> Estimate:
        """Side 0's points per hand less those of side 0 in another match; the interval (linearised) is over pairs, matched by deal.

        Args:
            other: a match against the same opponent on the same deals.

        Raises:
            GinError: if the two matches were not played on the same deals.
        """
        played, others = ((match.seed, match.pairs, match.unit, match.rules) for match in (self, other))
        if played != others:
            raise GinError("two matches can be compared by deals only where seed, pairs, unit and rules are the same")
        residuals = []
        for match in (self, other):
            hands = match._by_pair(match.games["hands"])
            residuals.append((match.margins - match.points.mean * hands) / hands.mean())
        gained = self._ratio(residuals[0] - residuals[1], np.ones(self.pairs))
        return Estimate.around(self.points.mean - other.points.mean, gained.half)

    @property
    def independent_scores(self) -> np.ndarray:
        """Sums of ``pair_scores`` over independent units (pairs, or series of pairs), and the pairs in each: ``float[n, 2]``."""
        return np.stack([self._independent(self.pair_scores), self._independent(np.ones(self.pairs))], axis=1)

    def summary(self) -> list[tuple[str, str, str]]:
        """The result in rows for people: what, the figure, a remark."""
        hands = f", {int(self.games['hands'].sum()):,} hands" if self.unit == "games" else ""
        rules = next((name for name, preset in PRESETS.items() if preset == self.rules), self.rules.hash)
        played = f"{self.pairs:,} mirrored pair{'' if self.pairs == 1 else 's'}, rules {rules}, seed {self.seed}"
        rows = [
            ("played", f"{len(self.games):,} {self.unit}{hands}", played),
            (f"{self.unit} won", self.share.text(percent=True), "draws count half"),
        ]
        if self.series_pairs:
            learned = f"up to {2 * self.series_pairs:,} {self.unit} each; a learner begins each with nothing known"
            rows.insert(1, ("series", f"{-(-self.pairs // self.series_pairs):,}", learned))
        plain = None if self.luck is None else self.plain
        if plain is not None:
            rows.append((f"{self.unit} won, luck left in", plain.share.text(percent=True), ""))
        if self.unit == "games":
            rows.append(("hands won", self.hand_share.text(percent=True), "of those that somebody won"))
        rows.append(("points per hand", self.points.text(), ""))
        if plain is not None:
            rows.append(("points per hand, luck left in", plain.points.text(), ""))
        return rows

    def __repr__(self) -> str:
        won = f"{self.share.text(percent=True)} of {len(self.games):,} {self.unit} won"
        return f"<MatchResult {self.names[0]} against {self.names[1]}: {won}, {self.points.text()} points per hand>"

    def rates_of(self, side: int) -> dict[str, Any]:
        """How a side played, as rates."""
        return rates(self.stats[side], self.seconds[side])

    def to_dict(self) -> dict[str, Any]:
        """Everything about the match, as JSON values."""
        plain = None
        if self.luck is not None:
            found = self.plain
            plain = {"share": found.share.to_dict(), "points_per_hand": found.points.to_dict()}
        return {
            "players": list(self.names),
            "rules": self.rules.to_json(),
            "rules_hash": self.rules.hash,
            "unit": self.unit,
            "seed": self.seed,
            "salts": self.salts,
            "pairs": self.pairs,
            "pairs_wanted": self.wanted,
            "series_pairs": self.series_pairs,
            "jobs": len(self.games),
            "hands": int(self.games["hands"].sum()),
            "share": self.share.to_dict(),
            "share_of_decisive_hands": self.hand_share.to_dict(),
            "points_per_hand": self.points.to_dict(),
            "luck_left_in": plain,
            "value_function": self.value_version or None,
            "forfeited_hands": self.games["forfeits"].sum(axis=0).tolist(),
            "faults": self.faults,
            "style": [self.rates_of(0), self.rates_of(1)],
            "elapsed_seconds": round(self.elapsed, 3),
        }


def versions(*others: str) -> dict[str, str]:
    """Versions of everything that a result depends on; of other packages, too, that are named."""
    found = {"python": platform.python_version(), "results_format": str(RESULTS_VERSION)}
    for name in ("ginenv", "numpy", "numba", "torch", *others):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
