"""What subtracting luck is worth: whether it biases anything, how much shorter intervals are, whether they cover, and what it costs.

python -m benchmarks.strength.luck_off --hands 50000
python -m benchmarks.strength.luck_off --hands 10000 --games 1000       a fifth of it

Every match is played once, on mirrored deals that nothing was tuned on; its intervals with luck left in and subtracted are compared. Time
is processor time, in turns with and without luck. Coverage is that of the true difference, 0, by 400 short matches between equal players.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro

from agents.arena import MatchSettings, play_match
from agents.arena.results import Estimate, MatchResult, ratio, versions
from agents.files import write_json
from ginenv.tables.players import close_players, make_player

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "luck_off.json"
PROGRAM = f"cmd:{shlex.join([sys.executable, str(ROOT / 'examples' / 'template_bot.py')])}"
EARLIER = "benchmarks/checkpoints/stages"
# Two networks, a network and a level, of whose choices only the second's are drawn by chance; players of unknown probabilities.
MATCHES = (
    ("network", EARLIER, "hands"),
    ("network", "level-3", "hands"),
    ("network", "knocker", "hands"),
    ("formula", "camper", "hands"),
    ("network", PROGRAM, "hands"),
    ("network", EARLIER, "games"),
    ("network", "knocker", "games"),
)
# Equal players, whose mirrored hands differ by what chance lets them do; matches, and pairs in each.
EQUAL, REPEATED, PAIRS = "style:base=knocker,blunder=0.1", 400, 15
SEED = 90
# Pairs of a measurement of time, and how often it is repeated.
TIMED, ROUNDS = {"hands": 50, "games": 5}, 2


def _bias(match: MatchResult, column: int) -> dict[str, float | None]:
    """Corrected less plain: a mean of zero within its interval."""
    assert match.luck is not None
    luck = match.luck[:, column].reshape(-1, 2).sum(axis=1)
    of = match.games["hands"].reshape(-1, 2).sum(axis=1) if column == 0 else np.full(match.pairs, 2.0)
    return ratio(-luck, of.astype(np.float64)).to_dict()


def _shorter(one: Estimate, plain: Estimate) -> float:
    return round(1 - one.half / plain.half, 4)


def _seconds(a: str, b: str, unit: str) -> float:
    """Processor time with luck subtracted, as a multiple of that without; the players are made beforehand."""
    spent = np.zeros(2)
    players = make_player(a, 1, learn=False), make_player(b, 2, learn=False)
    for number in range(ROUNDS + 1):
        for luck in (False, True):
            began = time.process_time()
            play_match(*players, pairs=TIMED[unit], unit=unit, settings=MatchSettings(seed=SEED + number, luck=luck))
            # The first round compiles.
            spent[int(luck)] += time.process_time() - began if number else 0.0
    close_players(players)
    return round(float(spent[1] / spent[0]), 3)


def compare(a: str, b: str, unit: str, jobs: int) -> dict[str, Any]:
    """One row: bias, shortening and time."""
    match = play_match(a, b, pairs=jobs // 2, unit=unit, settings=MatchSettings(seed=SEED))
    return {
        "players": [a, "cmd:examples/template_bot.py" if b == PROGRAM else b],
        "unit": unit,
        "jobs": len(match.games),
        "hands": int(match.games["hands"].sum()),
        "points": match.points.to_dict(),
        "points_luck_left_in": match.plain.points.to_dict(),
        "share": match.share.to_dict(),
        "share_luck_left_in": match.plain.share.to_dict(),
        "points_difference": _bias(match, 0),
        "share_difference": _bias(match, 1),
        "points_shorter": _shorter(match.points, match.plain.points),
        "share_shorter": _shorter(match.share, match.plain.share),
        # A program's own time is not ours to count.
        "time_ratio": None if b == PROGRAM else _seconds(a, b, unit),
        "value_function": match.value_version,
    }


def coverage() -> dict[str, Any]:
    """How often the interval of a short match between equal players holds 0."""
    match = play_match(EQUAL, EQUAL, pairs=REPEATED * PAIRS, unit="hands", settings=MatchSettings(seed=SEED + 1))
    covered = {}
    for name, each in (("points", match), ("points_luck_left_in", match.plain)):
        margins, hands = each.margins.reshape(REPEATED, PAIRS), each.games["hands"].reshape(REPEATED, -1, 2).sum(axis=2)
        found = [ratio(one, count.astype(np.float64)) for one, count in zip(margins, hands, strict=True)]
        covered[name] = float(np.mean([one.low <= 0 <= one.high for one in found]))
    return {"player": EQUAL, "matches": REPEATED, "pairs": PAIRS, **covered}


def main(hands: int = 50_000, games: int = 5_000) -> None:
    """Measures and writes."""
    torch.set_num_threads(1)
    command = f"python -m benchmarks.strength.luck_off --hands {hands} --games {games}"
    found = {"command": command, "coverage": coverage(), "seed": SEED, "rules": "eaai", "versions": versions()}
    print(found["coverage"], flush=True)
    rows = []
    for a, b, unit in MATCHES:
        rows.append(compare(a, b, unit, hands if unit == "hands" else games))
        print(
            {key: rows[-1][key] for key in ("players", "unit", "points_shorter", "share_shorter", "time_ratio")},
            flush=True,
        )
        write_json(RESULTS, {**found, "matches": rows})


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
