"""What ``gin rate`` can show: how often its interval holds the true rating, and how wide it is, after 20, 60 and 80 hands.

nice -n 5 python -m benchmarks.strength.short_ratings

The players are scripted and none of the ladder's; their true ratings are those of thousands of whole games against it. No two tries share
a deal.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena import MatchSettings, play_match
from agents.arena.ladder import Ladder, shipped_ladder
from agents.arena.results import proportion, versions
from agents.arena.short_rating import Block, ShortRating
from agents.files import write_json

RESULTS = Path(__file__).resolve().parents[1] / "results" / "short_ratings.json"
PLAYERS = (
    "style:base=camper,blunder=0.35",
    "style:base=hoards-pairs,knock=6,blunder=0.2",
    "style:base=prefers-sets",
    "style:base=formula,blunder=0.1",
    "style:base=sheds-high,knock=4",
)
TRIES, BLOCK, HANDS = 100, 5, (20, 60, 80)
# Pairs that are played in one go, and pairs of games against each opponent for the true rating.
POOL, GAMES = 250, 500
SEED = 92


class Pools:
    """Pairs of hands against each opponent, each handed out once."""

    def __init__(self, player: str) -> None:
        self.player, self._played = player, defaultdict(int)
        self._left: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def block(self, opponent: str, pairs: int) -> Block:
        """The next pairs, less luck and with it."""
        left = self._left[opponent]
        if len(left) < pairs:
            settings = MatchSettings(unit="hands", seed=1000 * SEED + self._played[opponent])
            self._played[opponent] += 1
            match = play_match(self.player, opponent, pairs=POOL, settings=settings)
            left += zip((match.margins / 2).tolist(), (match.plain.margins / 2).tolist(), strict=True)
        taken = [left.pop() for _ in range(pairs)]
        return Block(opponent, [one for one, _ in taken], [one for _, one in taken], 0, 0.0)


def true_rating(player: str, ladder: Ladder) -> dict[str, float]:
    """The rating that explains a player's games best, and its standard error."""
    points, ratings = [], []
    for opponent in ladder.opponents:
        if -900 <= ladder.rating_of(opponent) <= 150:
            match = play_match(player, opponent, pairs=GAMES, settings=MatchSettings(seed=SEED, luck=False))
            points.append(float(match.pair_scores.sum()))
            ratings.append(ladder.rating_of(opponent))
    expected = 1 / (1 + 10 ** ((np.array(ratings) - ladder.grid[:, None]) / 400))
    place = int(np.argmin(np.abs(GAMES * expected.sum(axis=1) - sum(points))))
    slope = GAMES * (expected[place] * (1 - expected[place])).sum() * np.log(10) / 400
    # Mirrored games of a pair are not more alike than independent ones, so this errs upwards.
    return {
        "rating": float(ladder.grid[place]),
        "error": round(float((slope * 400 / np.log(10) / 2) ** 0.5 / slope), 1),
    }


def measure(player: str, ladder: Ladder) -> dict[str, Any]:
    """All tries of a player."""
    true, pools = true_rating(player, ladder), Pools(player)
    found: dict[int, list[tuple[float, float, float, float]]] = {hands: [] for hands in HANDS}
    for _ in range(TRIES):
        rating = ShortRating(player, ladder)
        for opponent, pairs in rating.steps(HANDS[-1] // 2, BLOCK):
            rating.blocks.append(pools.block(opponent, pairs))
            if 2 * rating.pairs in found:
                one = rating.rating
                plain = ladder.rate(rating.played(plain=True))
                found[2 * rating.pairs].append((one.rating, one.low, one.high, plain.half))
    rows = {}
    for hands, tries in found.items():
        middle, low, high, plain_half = np.array(tries).T
        covered = (low <= true["rating"]) & (true["rating"] <= high)
        rows[str(hands)] = {
            "covered": int(covered.sum()),
            "coverage": proportion(covered.astype(float), np.ones(TRIES)).to_dict(),
            "half_width": round(float((high - low).mean() / 2), 1),
            "half_width_luck_left_in": round(float(plain_half.mean()), 1),
            "mean_error": round(float((middle - true["rating"]).mean()), 1),
            "deviation": round(float((middle - true["rating"]).std(ddof=1)), 1),
        }
    return {"player": player, "true": true, "tries": TRIES, "hands": rows}


def hands_won() -> dict[str, Any]:
    """A player that wins fewer hands than another and beats it: what counting hands hides."""
    hands = play_match("camper", "simple", pairs=2000, unit="hands", settings=MatchSettings(seed=SEED))
    games = play_match("camper", "simple", pairs=1000, settings=MatchSettings(seed=SEED, luck=False))
    return {
        "players": ["camper", "simple"],
        "hands": len(hands.games),
        "hand_share": hands.hand_share.to_dict(),
        "points": hands.points.to_dict(),
        "games": len(games.games),
        "game_share": games.share.to_dict(),
    }


def main() -> None:
    """Measures and writes after each player."""
    ladder, rows = shipped_ladder(), []
    head = {
        "command": "python -m benchmarks.strength.short_ratings",
        "seed": SEED,
        "rules": "eaai",
        "versions": versions(),
    }
    head |= {"mismatch": round(ladder.mismatch, 3), "hands_won": hands_won()}
    for player in sys.argv[1:] or PLAYERS:
        rows.append(measure(player, ladder))
        print(rows[-1], flush=True)
        write_json(RESULTS, {**head, "players": rows})


if __name__ == "__main__":
    main()
