import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import torch

import evaluate
from agents.arena import play_match
from agents.arena.configs import TournamentConfig
from agents.arena.executors import process_pool
from agents.arena.matches import play_part
from agents.arena.tournament import Tournament
from agents.estimates import proportion
from agents.network.checkpoint import save_checkpoint
from agents.network.nets import Actor
from agents.programs.player import BotLimits
from agents.rating import bradley_terry, fit
from agents.reports.tournament import report
from agents.search.config import SearchConfig
from ginenv.engine.rules import PRESETS
from ginenv.errors import GinError
from tests.support.refusals import refuses

ROOT = Path(__file__).parent.parent


def config(out, **changes):
    values = {"players": {"easy": "easy", "the <simple> one": "simple", "formula": "formula"}, "out": out}
    return TournamentConfig(**(values | {"pairs": 20, "block": 10, "seed": 3, "resamples": 50} | changes))


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """A tournament played to its end."""
    tournament = Tournament(config(tmp_path_factory.mktemp("complete")))
    assert tournament.play()
    return tournament


def test_ratings_are_those_that_made_the_games():
    rng = np.random.default_rng(1)
    true = np.array([150.0, 40.0, -30.0, -160.0])
    scores = {}
    for i in range(4):
        for j in range(i + 1, 4):
            chance = 1 / (1 + 10 ** ((true[j] - true[i]) / 400))
            scores[i, j] = np.stack([rng.binomial(2, chance, 3000) / 2, np.ones(3000)], axis=1)
    found = bradley_terry(scores, 4, 200, 0)
    assert all(one.low < rating < one.high for one, rating in zip(found, true, strict=True))
    assert np.abs([one.mean for one in found] - true).max() < 15
    assert sum(one.mean for one in found) == pytest.approx(0, abs=1e-6)
    # Whoever won all of ten pairs is not sure to be better by exactly what ten pairs say.
    one, _ = bradley_terry({(0, 1): np.ones((10, 2))}, 2, 500, 0)
    assert 0 < one.low < one.mean - 30 and one.high >= one.mean
    # Two players: the rating is the odds, but for the one shared game that keeps ratings finite.
    won = np.array([[0, 75.0], [25.0, 0]])
    assert np.diff(fit(won))[0] == pytest.approx(-400 * np.log10(75.5 / 25.5), abs=0.01)


def test_what_one_series_taught_makes_a_rating_no_surer():
    rng = np.random.default_rng(1)
    series = rng.binomial(2, 0.6, 40) / 2
    one_each = np.stack([series, np.ones(40)], axis=1)
    alike = np.stack([25 * series, np.full(40, 25.0)], axis=1)
    independent = np.stack([np.repeat(series, 25), np.ones(1000)], axis=1)
    rated = [bradley_terry({(0, 1): scores}, 2, 500, 0)[0] for scores in (one_each, alike, independent)]
    width = [one.high - one.low for one in rated]
    assert width[1] == pytest.approx(width[0], rel=0.1) and width[1] > 4 * width[2]


def test_a_tournament_with_a_level_that_learns_counts_its_series(tmp_path):
    players = {"pupil": "level-1:learn=true", "easy": "easy", "simple": "simple"}
    with refuses(GinError, "level-1:learn=true", 10, 2):
        Tournament(config(tmp_path, players=players))
    assert not (tmp_path / "parts").exists()
    tournament = Tournament(config(tmp_path, players=players, block=2, unit="hands"))
    assert tournament.play()
    standings = tournament.standings()
    assert [result.series_pairs for result in standings.matches.values()] == [2, 2, 0]
    learned = standings.matches[0, 1].plain
    assert learned.share == proportion(learned.pair_scores.reshape(10, 2).sum(axis=1), np.full(10, 2.0))


def test_a_tournament_holds_the_same_matches_as_played_alone(complete):
    standings = complete.standings()
    assert standings.missing == 0 and len(standings.matches) == 3
    alone = play_match("easy", "simple", pairs=20, seed=3)
    assert (standings.matches[0, 1].games == alone.games).all()
    share, rest = standings.share(0, 1), standings.share(1, 0)
    assert share == alone.share and rest is not None and rest.mean == pytest.approx(1 - alone.share.mean)
    hands = [int(standings.matches[0, other].games["hands"].sum()) for other in (1, 2)]
    assert standings.rates(0)["hands"] == sum(hands)


def test_a_stopped_tournament_goes_on_where_it_was_in_any_executor(complete, tmp_path, pool):
    stopped = Tournament(config(tmp_path))

    class Stop(Exception):
        pass

    def stop(done):
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        stopped.play(stop)
    assert stopped.standings().missing == len(stopped.blocks()) - 2
    seen = []
    again = Tournament(config(tmp_path, batch=7))
    assert again.play(seen.append, pool) and seen == [2, 3, 4, 5, 6]
    for one, other in zip(complete.standings().matches.values(), again.standings().matches.values(), strict=True):
        assert (one.games == other.games).all() and (one.luck == other.luck).all() and (one.stats == other.stats).all()
    assert again.standings().ratings == complete.standings().ratings


def test_a_killed_process_ends_a_tournament(tmp_path):
    tournament = Tournament(config(tmp_path, players={"easy": "easy", "simple": "simple"}, pairs=400))
    # Those of the pool that tests share go on.
    others = set(multiprocessing.active_children())

    def kill(done):
        for child in set(multiprocessing.active_children()) - others if done else ():
            child.kill()

    with process_pool(2) as pool:
        # The second time, the executor refuses the first task.
        for _ in range(2):
            with refuses(GinError, "ended from outside"):
                tournament.play(kill, pool)
    assert 0 < tournament.standings().missing < 40


def missing(out, **changes):
    return Tournament(config(out, **changes)).standings().missing


def test_blocks_are_of_their_settings_and_players_alone(complete):
    out = complete.config.out
    assert missing(out) == 0 and missing(out, title="another", resamples=20, batch=3) == 0
    # More pairs or players leave what was played; another seed or rules have blocks of their own.
    assert missing(out, pairs=30) == 3 and missing(out, players={**complete.config.players, "camper": "camper"}) == 6
    assert missing(out, seed=4) == missing(out, rules="gc") == missing(out, unit="hands") == 6
    # A changed program is known by a new name.
    assert missing(out, players={"easy": "easy", "another": "simple", "formula": "formula"}) == 4
    first = next(iter(sorted((out / "parts").iterdir())))
    content = first.read_bytes()
    first.write_bytes(content[:100])
    assert missing(out) == 1
    first.write_bytes(content)


def test_a_directory_of_other_files_is_refused(tmp_path):
    with refuses(GinError, 2, "players"):
        Tournament(config(tmp_path / "other", players={"easy": "easy"}))
    (tmp_path / "file").touch()
    for out in (tmp_path, tmp_path / "file" / "out"):
        with refuses(GinError, out):
            Tournament(config(out))


def save(path, seed):
    torch.manual_seed(seed)
    save_checkpoint(path, Actor((8,)), (8,), {})
    return str(path)


@pytest.mark.parametrize(
    ("player", "change"),
    [
        ("CHECKPOINT", lambda patch, path: save(path, 2)),
        ("search:worlds=2", lambda patch, path: patch.setattr("agents.search.player.SearchConfig", Bolder)),
        ("easy", lambda patch, _: patch.setitem(PRESETS, "eaai", PRESETS["eaai"].replace(gin_bonus=20))),
    ],
)
def test_blocks_of_a_player_or_rules_that_have_changed_are_not_found(player, change, tmp_path, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    players = {"simple": "simple", "other": player.replace("CHECKPOINT", str(checkpoint))}
    save(checkpoint, 1)
    tournament = Tournament(config(tmp_path / "out", players=players))
    # How a block was played does not matter here.
    for block in tournament.blocks():
        tournament.save(block, play_part(("random", "random"), tournament.settings, block.first, block.pairs))
    save(checkpoint, 1)
    assert missing(tmp_path / "out", players=players) == 0
    change(monkeypatch, checkpoint)
    assert missing(tmp_path / "out", players=players) == len(tournament.blocks())


class Bolder(SearchConfig):
    """The search with another default."""

    policy_weight: float = 0.5


def test_the_report_is_one_file_that_fetches_nothing_and_escapes_names(complete):
    text = report(complete.standings(), "python evaluate.py tournament x.yaml")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in text
    assert "the &lt;simple&gt; one" in text and "<simple>" not in text
    assert text.count("<svg") == text.count("</svg>") == 1


def test_the_program_plays_a_tournament_from_a_config(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    changes = ["pairs=4", "block=4", f"out={out}", "resamples=20"]
    monkeypatch.setattr("sys.argv", ["evaluate.py", "tournament", str(ROOT / "configs" / "tournament.yaml"), *changes])
    evaluate.main()
    assert "knocker" in capsys.readouterr().out
    assert (out / "report.html").is_file()
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert set(results["ratings"]) == {"random", "easy", "simple", "formula", "knocker", "camper"}
    assert len(results["matches"]) == 15 and results["blocks_missing"] == 0


def test_a_tournament_takes_programs_with_a_limit_of_time_and_names_who_forfeited(tmp_path, monkeypatch, capsys):
    path, out = tmp_path / "t.yaml", tmp_path / "out"
    path.write_text(
        "{players: {a: easy, Ann Lee: 'cmd:sleep 100'}, pairs: 2, block: 2, resamples: 20}\n", encoding="utf-8"
    )
    monkeypatch.setattr(BotLimits, "start_seconds", 0.1)
    monkeypatch.setattr("sys.argv", ["evaluate.py", "tournament", str(path), f"out={out}", "seconds=0.3"])
    with refuses(SystemExit, "Ann Lee", "timeout", 0.3):
        evaluate.main()
    assert "results:" in capsys.readouterr().out
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [fault["player"] for fault in results["faults"]] == ["Ann Lee"] and results["config"]["seconds"] == 0.3
