"""``like``: a player made of the hands that somebody has shown."""

from pathlib import Path

import numpy as np

from agents.arena.matches import MatchSettings, play_match
from agents.arena.series import play_series
from agents.datasets.source import PlayedGames
from agents.datasets.store import write_games
from agents.levels.level import load_level
from agents.levels.like import Imitation, full_weights
from agents.levels.memory import Profile
from agents.levels.opponents import Posteriors, shipped_prior
from agents.play.allowed import check_allowed
from ginenv.bots.heuristics import StylePlayer, style
from ginenv.errors import GinError
from ginenv.hands.hand import Match
from ginenv.hands.records import format_record
from ginenv.tables.players import BasePlayer, Player, make_player
from tests.support.level_scenes import hands_of
from tests.support.refusals import refuses

HANDS = 60


def hands_against(opponent: Player) -> np.ndarray:
    return np.array(hands_of(make_player("knocker", 1), opponent, 1, seed=5, series=HANDS))


def taken(views: np.ndarray) -> float:
    """Upcards that both seats took, a hand; one of them always plays the same."""
    return float(views["upcards"].mean())


def imitation(base: str) -> Imitation:
    views = hands_against(StylePlayer(style(base), 2))
    posteriors = Posteriors(1)
    posteriors.learn(views, np.zeros(len(views), np.int64))
    return Imitation(full_weights(posteriors.records, shipped_prior()), 3)


def test_an_imitation_takes_upcards_as_its_model_does():
    all_of_them, none = (taken(hands_against(imitation(base))) for base in ("takes-all", "takes-none"))
    assert all_of_them > none + 2


def test_the_compiled_player_chooses_as_the_other():
    player = Imitation(full_weights(Posteriors(1).records, shipped_prior()), 0)

    class Slow(BasePlayer):
        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            return player.act(views, slots)

    results = [play_series(one, make_player("simple"), series=20, hands=2, seed=3) for one in (player, Slow())]
    assert np.array_equal(results[0], results[1]) and results[0].any()


def test_it_plays_whole_games_under_other_rules(tmp_path):
    play_match(f"like:record={record(tmp_path)}", "simple", pairs=1, unit="games", rules="big-gin", seed=1)


def record(directory: Path) -> Path:
    """A file of a hand in which Ann's cards were shown."""
    match = Match("eaai", seed=0)
    for seed in range(20):
        match = Match("eaai", seed=seed)
        players = make_player("style:base=takes-all", 1), make_player("knocker", 1)
        while not match.hand.is_over:
            match.push(int(players[match.hand.turn].act(match.hand.view())[0]))
        if match.played[0].view(1)["shown"][0]:
            break
    file = directory / "hand.gin"
    file.write_text(format_record(match, ("Ann", "Bob")))
    return file


def test_a_profile_is_read_and_left_as_it_is(tmp_path):
    level = load_level("level-1")
    profile = Profile(tmp_path, level, "Ann")
    profile.learn(hands_against(StylePlayer(style("takes-all"))))
    before = profile.path.read_bytes()
    player = make_player(f"like:profile={tmp_path},opponent=ann")
    assert taken(hands_against(player)) > taken(hands_against(imitation("takes-none"))) + 2
    assert profile.path.read_bytes() == before


def test_what_shows_no_hand_is_refused(tmp_path):
    file = record(tmp_path)
    with refuses(GinError, "profile", "record"):
        make_player("like")
    with refuses(GinError, "opponent"):
        make_player(f"like:profile={tmp_path}")
    with refuses(GinError, "Ann"):
        make_player(f"like:profile={tmp_path},opponent=Ann")
    Profile(tmp_path, load_level("level-1"), "Bob").learn(hands_against(make_player("simple"))[:1])
    with refuses(GinError, "Ann", "Bob"):
        make_player(f"like:profile={tmp_path},opponent=Ann")
    with refuses(GinError, "Cid", "Ann", "Bob"):
        make_player(f"like:record={file},opponent=Cid")


def test_a_table_of_games_shows_both_players(tmp_path):
    file, names = tmp_path / "games.parquet", ("style:base=takes-all", "style:base=takes-none")
    write_games(file, PlayedGames(names, HANDS, MatchSettings(unit="hands")), {"players": names})
    first, second = (
        taken(hands_against(make_player(f"like:record={file}{of}"))) for of in ("", f",opponent={names[1].upper()}")
    )
    assert first > second + 2
    with refuses(GinError, "Cid", *names):
        make_player(f"like:record={file},opponent=Cid")


def test_a_stranger_names_no_path(tmp_path):
    name = f"like:record={record(tmp_path)}"
    with refuses(GinError, "record"):
        check_allowed(name, [])
    check_allowed(name, [name])
