import json
from pathlib import Path

import numpy as np
import pytest

import evaluate
from agents.arena import play_match
from agents.arena.configs import TournamentConfig
from agents.arena.ratings import circles, fit, ratings
from agents.arena.report import report
from agents.arena.tournament import Tournament
from ginenv.errors import GinError

ROOT = Path(__file__).parent.parent


def config(out, **changes):
    values = {
        "players": {"easy": "easy", "the <simple> one": "simple", "formula": "formula"},
        "pairs": 20,
        "block": 10,
        "seed": 3,
        "out": out,
        "resamples": 50,
    }
    return TournamentConfig(**(values | changes))


def test_ratings_are_those_that_made_the_games():
    rng = np.random.default_rng(1)
    true = np.array([150.0, 40.0, -30.0, -160.0])
    scores = {}
    for i in range(4):
        for j in range(i + 1, 4):
            chance = 1 / (1 + 10 ** ((true[j] - true[i]) / 400))
            scores[i, j] = rng.binomial(2, chance, 3000) / 2
    found = ratings(scores, 4, 200, 0)
    assert np.abs(found[:, 0] - true).max() < 15
    assert ((found[:, 1] < true) & (true < found[:, 2])).all()
    assert found[:, 0].sum() == pytest.approx(0, abs=1e-6)
    # Two players: the rating is the odds, but for the one shared game that keeps ratings finite.
    won = np.array([[0, 75.0], [25.0, 0]])
    assert np.diff(fit(won))[0] == pytest.approx(-400 * np.log10(75.5 / 25.5), abs=0.01)


def test_a_circle_is_found_and_an_order_is_none():
    beats = np.zeros((4, 4), bool)
    beats[0, 1] = beats[1, 2] = beats[2, 0] = True
    assert circles(beats) == [(0, 1, 2)]
    beats[2, 0] = False
    beats[0, 2] = True
    assert circles(beats) == []


def test_a_tournament_holds_the_same_matches_as_played_alone(tmp_path):
    tournament = Tournament(config(tmp_path))
    tournament.play()
    standings = tournament.standings()
    assert standings.missing == 0 and len(standings.matches) == 3
    alone = play_match("easy", "simple", pairs=20, seed=3)
    assert (standings.matches[0, 1].games == alone.games).all()
    assert standings.share(0, 1)[0] == pytest.approx(alone.share.mean)
    assert standings.share(1, 0)[0] == pytest.approx(1 - alone.share.mean)
    assert standings.style(0)["hands"] == sum(
        int(standings.matches[key].games["hands"].sum()) for key in ((0, 1), (0, 2))
    )


def test_a_stopped_tournament_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = Tournament(config(tmp_path / "whole"))
    whole.play()
    stopped = Tournament(config(tmp_path / "stopped"))
    blocks = stopped.blocks()

    class Stop(Exception):
        pass

    def stop(done):
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        stopped.play(stop)
    assert stopped.standings().missing == len(blocks) - 2
    seen = []
    again = Tournament(config(tmp_path / "stopped", workers=1, batch=7))
    again.play(seen.append)
    assert seen == [3, 4, 5, 6]
    assert again.standings().to_dict()["ratings"] == whole.standings().to_dict()["ratings"]


def test_shares_of_several_machines_add_up(tmp_path):
    whole = Tournament(config(tmp_path / "whole"))
    whole.play()
    for rank in range(3):
        Tournament(config(tmp_path / "shared"), rank, 3).play()
    shared = Tournament(config(tmp_path / "shared")).standings()
    assert shared.missing == 0
    for key, result in whole.standings().matches.items():
        assert (shared.matches[key].games == result.games).all()


def test_a_directory_with_another_tournament_is_refused(tmp_path):
    Tournament(config(tmp_path))
    with pytest.raises(GinError, match="holds another tournament"):
        Tournament(config(tmp_path, seed=4))
    with pytest.raises(GinError, match="at least 2 players"):
        Tournament(config(tmp_path / "other", players={"easy": "easy"}))


def test_the_report_is_one_file_that_fetches_nothing_and_escapes_names(tmp_path):
    tournament = Tournament(config(tmp_path))
    tournament.play()
    text = report(tournament.standings(), "python evaluate.py tournament x.yaml")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in text
    assert "the &lt;simple&gt; one" in text and "<simple>" not in text
    assert text.count("<svg") == text.count("</svg>") == 4


def test_the_program_plays_a_tournament_from_a_config(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    arguments = [
        "tournament",
        str(ROOT / "configs" / "tournament.yaml"),
        "pairs=4",
        "block=4",
        f"out={out}",
        "resamples=20",
    ]
    monkeypatch.setattr("sys.argv", ["evaluate.py", *arguments])
    evaluate.main()
    assert "knocker" in capsys.readouterr().out
    assert (out / "report.html").is_file()
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert set(results["ratings"]) == {"random", "easy", "simple", "formula", "knocker", "camper"}
    assert len(results["matches"]) == 15 and results["blocks_missing"] == 0


def test_a_misspelt_key_is_named(tmp_path, monkeypatch):
    path = tmp_path / "t.yaml"
    path.write_text("{players: {a: simple, b: easy}, piars: 3}\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["evaluate.py", "tournament", str(path)])
    with pytest.raises(SystemExit, match=r"unknown key 'piars' \(did you mean 'pairs'\?\)"):
        evaluate.main()
