"""What matches tell of levels, and that it is said of no other level than the one that played them."""

import itertools
import json
import shutil
from pathlib import Path

import pytest

from agents.arena import tournament
from agents.arena.configs import TournamentConfig
from agents.levels import level as levels
from agents.levels.bench.rating import RATING, rate_levels, read_rating
from agents.levels.level import load_level
from agents.levels.package import export_level, import_level
from agents.search.config import SearchConfig
from ginenv.errors import GinError
from tests.support.refusals import refuses

PLAYERS = {"bot": "simple", "beginner": "level-1:learn=false"}


@pytest.fixture
def installed(tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small level in the place of level 1."""
    shutil.copytree(directory, tmp_path / "levels" / "level-1")
    monkeypatch.setattr(levels, "INSTALLED", tmp_path / "levels")
    return tmp_path / "levels" / "level-1"


def played(tmp_path: Path, players: dict[str, str]) -> Path:
    config = TournamentConfig(players=players, pairs=6, block=6, resamples=20, out=tmp_path / "tournament")  # pyright: ignore[reportCallIssue]
    match = tournament.Tournament(config)
    match.play()
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"command": "a command", **match.standings().to_dict()}))
    return results


def test_a_tournament_puts_rating_and_style_on_a_levels_card(installed: Path, tmp_path: Path) -> None:
    assert read_rating(load_level("level-1")) is None
    digest = load_level("level-1").digest
    results = played(tmp_path, PLAYERS)
    assert rate_levels(results)[0].startswith("level-1: ")
    shown = read_rating(load_level("level-1"))
    assert shown is not None
    document = json.loads(results.read_text())
    assert shown["rating"] == document["ratings"]["beginner"]
    assert shown["field"] == {"bot": document["ratings"]["bot"]}
    assert shown["games"] == 12 and shown["command"] == "a command"
    assert 0 < shown["style"]["upcards_taken"] <= 1
    # What is measured of a level is no part of it.
    assert load_level("level-1").digest == digest
    export_level("level-1", tmp_path / "out")
    assert read_rating(load_level(str(tmp_path / "out"))) == shown
    import_level(tmp_path / "out", tmp_path / "in")
    assert read_rating(load_level(str(tmp_path / "in"))) == shown


def test_installed_levels_say_how_strong_they_are_and_rise() -> None:
    found = [read_rating(load_level(name)) for name in levels.NAMES]
    assert all(rating is not None and rating["style"]["gin_rate"] > 0 for rating in found), "rate them again"
    bounds = [(rating["rating"]["low"], rating["rating"]["high"]) for rating in found if rating]
    assert all(low > high for (_, high), (low, _) in itertools.pairwise(bounds))


def test_a_rating_belongs_to_its_level_only(installed: Path, tmp_path: Path) -> None:
    results = played(tmp_path, PLAYERS)
    rate_levels(results)
    values = json.loads((installed / "level.json").read_text())
    values["settings"]["temperature"] = 0.1
    (installed / "level.json").write_text(json.dumps(values))
    assert read_rating(load_level("level-1")) is None
    with refuses(GinError, "level-1"):
        rate_levels(results)


class Bolder(SearchConfig):
    """The search with another default."""

    policy_weight: float = 0.5


def test_a_rating_belongs_to_its_search_only(installed, tmp_path, monkeypatch):
    values = json.loads((installed / "level.json").read_text())
    values["settings"]["worlds"] = 2
    (installed / "level.json").write_text(json.dumps(values))
    results = played(tmp_path, PLAYERS)
    rate_levels(results)
    shown = read_rating(load_level("level-1"))
    assert shown is not None and shown["search"]["worlds"] == 2
    monkeypatch.setattr("agents.search.config.SearchConfig", Bolder)
    assert read_rating(load_level("level-1")) is None
    rating = json.loads((installed / RATING).read_text())
    del rating["search"]
    (installed / RATING).write_text(json.dumps(rating))
    assert read_rating(load_level("level-1")) is None, "it does not say of which search it is"
    with refuses(GinError, "level-1"):
        rate_levels(results)
    document = json.loads(results.read_text())
    del document["searches"]
    results.write_text(json.dumps(document))
    with refuses(GinError, "results.json", "searches"):
        rate_levels(results)


def test_what_is_no_result_or_no_rating_is_named(installed: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    with refuses(GinError, "bad.json"):
        rate_levels(bad)
    for content in ("[]", "{}", "no json"):
        bad.write_text(content)
        with refuses(GinError, "bad.json"):
            rate_levels(bad)
    with refuses(GinError, "level"):
        rate_levels(played(tmp_path, {"a": "simple", "b": "easy"}))
    for other in ("level-1", "level-1:learn=false,worlds=4"):
        shutil.rmtree(tmp_path / "tournament")
        with refuses(GinError, "b", f"'{other}'", "level-1:learn=false"):
            rate_levels(played(tmp_path, {"a": "simple", "b": other}))
    shutil.rmtree(tmp_path / "tournament")
    complete = json.loads(played(tmp_path, PLAYERS).read_text())
    for change in ({"blocks_missing": 1}, {"config": complete["config"] | {"unit": "hands"}}):
        bad.write_text(json.dumps(complete | change))
        with refuses(GinError, "bad.json"):
            rate_levels(bad)
    assert not (installed / RATING).exists()
    (installed / RATING).write_text("{")
    with refuses(GinError, "rating.json"):
        read_rating(load_level("level-1"))
    with refuses(GinError, "rating.json"):
        import_level(installed, tmp_path / "in")
