"""``gin rate``: what a few hands say on the ladder, how a rating goes on, and what is told of programs."""

import json
from dataclasses import asdict, replace
from itertools import islice

import numpy as np
import pytest

from agents.analysis.losses import Losses
from agents.arena.matches import MatchSettings
from agents.arena.short_rating import Block, ShortRating, play_block
from agents.cli.rate import RateConfig, rate
from agents.estimates import Estimate
from agents.rating import Ladder, shipped_ladder
from ginenv.errors import GinError
from tests.support.programs import command
from tests.support.refusals import refuses

STYLE = "style:base=simple,blunder=0.35"


def scored(ladder: Ladder, opponent: str, rating: float, pairs: int, rng: np.random.Generator) -> list[float]:
    """Points per hand as the ladder expects them of a player with this rating."""
    points, deviation = (float(np.interp(rating, ladder.grid, curve)) for curve in ladder.curves[opponent])
    return rng.normal(points, deviation, pairs).tolist()


@pytest.mark.parametrize("true", [-1000.0, 60.0])
def test_intervals_cover_and_shrink_with_the_hands(true):
    ladder, rng, covered, halves = shipped_ladder(), np.random.default_rng(5), 0, []
    for _ in range(40):
        found = ShortRating("somebody", ladder)
        for opponent, pairs in found.steps(30, 5):
            assert opponent in ladder.opponents
            points = scored(ladder, opponent, true, pairs, rng)
            found.blocks.append(Block(opponent, points, 0, 0.0))
            if found.pairs in (10, 30):
                halves.append((found.pairs, found.rating.half))
        covered += found.rating.low <= true <= found.rating.high
        assert abs(ladder.ratings[opponent] - true) < 1000
    assert covered >= 36
    early, late = (np.mean([half for pairs, half in halves if pairs == count]) for count in (10, 30))
    assert late < 0.85 * early


def test_the_rungs_named_are_those_around_the_whole_interval():
    ladder = shipped_ladder()
    for low, high in ((-803.0, 279.0), (-300.0, -100.0)):
        below, above = ladder.neighbours(Estimate(-226.0, low, high))
        assert below and ladder.ratings[below] <= low
        assert above is None or ladder.ratings[above] > high
        assert not [name for name in ladder.opponents if ladder.ratings[below] < ladder.ratings[name] <= low]
    assert ladder.neighbours(Estimate(0.0, -5000.0, 5000.0)) == (None, None)


def test_a_player_of_the_ladder_does_not_meet_itself():
    ladder = shipped_ladder()
    assert ladder.next_rung({}, 5, ladder.next_rung({}, 5)) != ladder.next_rung({}, 5)


def test_a_larger_budget_goes_on_and_keeps_what_was_played(tmp_path, capsys):
    path = tmp_path / "rating.json"
    rate(RateConfig(player=STYLE, budget="4-hands", block=4, worlds=0, out=path))
    first = json.loads(path.read_text())
    assert first["hands"] == 4 and first["decisions"] > 0 and first["illegal"] == 0 and not first["loss_per_decision"]
    rate(RateConfig(player=STYLE, budget="8", block=4, worlds=0, out=path))
    second = json.loads(path.read_text())
    assert second["hands"] == 8 and second["blocks"][:1] == first["blocks"] and len(second["blocks"]) == 2
    rating = second["rating"]
    assert rating["low"] < rating["rating"] < rating["high"] and f"{rating['rating']:+.0f}" in capsys.readouterr().out
    fresh = ShortRating(STYLE, shipped_ladder(), [Block(**block) for block in second["blocks"]])
    assert fresh.to_dict()["rating"] == rating and [asdict(block) for block in fresh.blocks] == second["blocks"]


def test_an_interrupted_rating_goes_on_to_the_same_figures(tmp_path, monkeypatch):
    def figures(name):
        rate(RateConfig(player=STYLE, budget="20-hands", block=10, worlds=0, out=tmp_path / name / "rating.json"))
        found = json.loads((tmp_path / name / "rating.json").read_text())
        return [found[key] for key in ("rating", "between", "points", "decisions")]

    complete = figures("complete")
    with monkeypatch.context() as patched:
        # Of the second block, two of five pairs are over when the interrupt comes.
        patched.setattr("agents.cli.rate.play_block", lambda *args: first_pairs(*args, 2 if args[3] else 5))
        patched.setattr("agents.cli.rate.ShortRating.steps", limited(ShortRating.steps, 2))
        assert figures("stopped") != complete
    assert figures("stopped") == complete


def first_pairs(player, opponent, settings, first, pairs, tick, finished):
    block, hands = play_block(player, opponent, settings, first, finished, tick)
    return replace(block, wanted=pairs), hands


def limited(steps, count):
    return lambda *args: islice(steps(*args), count)


@pytest.mark.parametrize("changes", [{"player": "simple"}, {"seed": 3}, {"worlds": 8}])
def test_other_ratings_in_the_directory_are_left_alone(tmp_path, monkeypatch, changes):
    settings = {"player": STYLE, "budget": "2-hands", "block": 2, "worlds": 0, "out": tmp_path / "rating.json"}
    rate(RateConfig(**settings))
    monkeypatch.setattr("agents.cli.rate._play", lambda *args: "nothing was to be played")
    rate(RateConfig(**settings))
    with refuses(GinError, "nothing was"):
        rate(RateConfig(**settings | changes))


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"budget": "an hour"}, ["60-hands"]),
        ({"player": "simpel"}, ["simpel", "simple"]),
        ({"player": "level-2:learn=true"}, ["learn=true"]),
    ],
)
def test_what_cannot_be_rated_is_refused(tmp_path, changes, facts):
    path = tmp_path / "rating.json"
    with refuses(GinError, *facts):
        rate(RateConfig(**{"player": STYLE, "worlds": 0, "out": path} | changes))
    assert not path.exists()


# Draws from the stock and discards its first card. Its second argument says when it fails, and how.
PROGRAM = """
import json, sys
asked = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "ready", "protocol": 2}), flush=True)
    elif message["type"] == "act":
        answers = []
        for game in message["games"]:
            if "legal" in game:
                asked += 1
                action = game["legal"][0] if game["phase"] != "draw" else "draw stock"
                if asked == 3 and sys.argv[1] == "illegal":
                    action = "discard ZZ"
                if asked == 3 and sys.argv[1] == "crash":
                    sys.exit("the endpoint is gone")
                answers.append({"slot": game["slot"], "action": action})
        print(json.dumps({"type": "answers", "id": message["id"], "answers": answers}), flush=True)
    else:
        break
"""


@pytest.fixture
def program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    return lambda fails: command(script, fails)


def test_illegal_actions_are_counted_under_the_short_name(tmp_path, program, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rate(RateConfig(player=f"mine={program('illegal')}", budget="4-hands", block=4, worlds=0))
    path = tmp_path / "runs" / "rate" / "mine.json"
    assert "mine, 4 hands" in capsys.readouterr().out
    found = json.loads(path.read_text())
    assert found["illegal"] == found["forfeits"] == 1
    assert found["seconds_per_decision"] > 0


def test_a_program_that_breaks_costs_no_rating(tmp_path, program, monkeypatch):
    path = tmp_path / "rating.json"
    with refuses(GinError, "crash", "endpoint"):
        rate(RateConfig(player=program("crash"), budget="4-hands", block=4, worlds=0, out=path))
    assert not path.exists()
    # What was played before it broke is kept.
    with monkeypatch.context() as patched:
        patched.setattr("agents.cli.rate.play_block", lambda _, *args: play_block(STYLE, *args))
        rate(RateConfig(player=program("crash"), budget="2-hands", block=2, worlds=0, out=path))
    saved = json.loads(path.read_text())
    with refuses(GinError, "crash"):
        rate(RateConfig(player=program("crash"), budget="6-hands", block=4, worlds=0, out=path))
    assert json.loads(path.read_text())["blocks"] == saved["blocks"]


def test_a_program_whose_file_has_changed_is_rated_anew(tmp_path, program, monkeypatch):
    settings = {
        "player": program("never"),
        "budget": "2-hands",
        "block": 2,
        "worlds": 0,
        "out": tmp_path / "rating.json",
    }
    rate(RateConfig(**settings))
    monkeypatch.setattr("agents.cli.rate._play", lambda *args: "nothing was to be played")
    rate(RateConfig(**settings))
    with (tmp_path / "program.py").open("a") as script:
        script.write("# better now")
    with refuses(GinError, "nothing was"):
        rate(RateConfig(**settings))


def test_losses_add_up_over_kinds_and_are_larger_for_a_random_player():
    analysts = Losses(worlds=8)
    means = {}
    for player in ("random", "network"):
        _, hands = play_block(player, "simple", MatchSettings(unit="hands", luck=False), 0, 1, lambda done: None)
        assert len(hands) == 2
        rows = analysts.sums(hands)
        decisions = sum(hand.after(k).turn == seat for hand, seat in hands for k in range(len(hand.history)))
        assert sum(row[0] for row in rows.values()) == decisions
        means[player] = sum(row[1] for row in rows.values()) / decisions
    assert means["random"] > means["network"] + 1
