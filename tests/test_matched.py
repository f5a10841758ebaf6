"""``matched``: a dial over the whole range of strength, an estimate of whom it plays, and ratings that people see."""

from pathlib import Path

import numpy as np
import pytest

from agents.arena.series import play_series
from agents.cli.levels import levels
from agents.cli.networks import export
from agents.estimates import Estimate
from agents.levels.dial import GRID, NUM_PLACES, STRANGER, shipped_dial
from agents.levels.level import MATCHED, load_level
from agents.levels.matched import MatchedPlayer, PersonRating, own_luck, person_rating
from agents.levels.memory import Profile, reset_level
from agents.network.metadata import read_metadata
from agents.network.player import SHIPPED
from ginenv.bots.heuristics import make_simple
from ginenv.engine.actions import PHASE_DISCARD
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from tests.support.refusals import refuses
from tests.support.web_scenes import plain

TOP = NUM_PLACES - 1


class Watched(MatchedPlayer):
    """Collects the points of hands, and the same without its own luck."""

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        assert slots is not None
        self.hands = [*getattr(self, "hands", []), *zip(views["points"], self.margins(views, slots), strict=True)]


def matched(home: Path | None = None, person: str = "Ann") -> MatchedPlayer:
    level = load_level(MATCHED)
    return MatchedPlayer(level, 1, profile=None if home is None else Profile(home, level, person))


def test_the_dial_belongs_to_the_network_that_ships_and_rises():
    dial, network = shipped_dial(), read_metadata(SHIPPED)["weights_sha256"]
    assert dial.network == network, "python -m benchmarks.data.dial calibrates it again"
    assert dial.points.shape == (NUM_PLACES, len(GRID)) and len(dial.deviations) == NUM_PLACES
    assert (np.diff(dial.points, axis=0) >= 0).all() and (np.diff(dial.points, axis=1) <= 0).all()
    # From random play to the network.
    assert dial.ratings[0] < -2000 and dial.ratings[-1] > 100


def test_results_move_the_estimate_and_the_dial():
    dial = shipped_dial()
    (start,) = dial.even_places(STRANGER[None])
    lost, won = STRANGER[None], STRANGER[None]
    for _ in range(20):
        lost = dial.updated(lost, dial.even_places(lost), np.array([-25.0]))
        won = dial.updated(won, dial.even_places(won), np.array([25.0]))
    assert dial.even_places(won)[0] < start < dial.even_places(lost)[0]
    assert dial.rating(won[0]).mean < dial.rating(STRANGER).mean < dial.rating(lost[0]).mean
    np.testing.assert_allclose([won.sum(), lost.sum()], 1)
    # A result that no rating explains is no evidence.
    assert np.isfinite(dial.updated(won, np.zeros(1), np.array([1e6]))).all()


@pytest.mark.parametrize("rating", [-1500.0, 50.0])
def test_the_interval_holds_the_true_rating_and_the_expected_result_is_even(rating):
    dial, rng, series = shipped_dial(), np.random.default_rng(5), 100
    true = int(np.argmin(np.abs(GRID - rating)))
    strengths, expected = np.repeat(STRANGER[None], series, 0), []
    for hand in range(150):
        places = dial.even_places(strengths)
        mean = dial.expected(places)[:, true]
        expected.append(mean.mean() if hand >= 40 else 0.0)
        strengths = dial.updated(strengths, places, mean + rng.normal(0, 28, series))
    found = [dial.rating(strength) for strength in strengths]
    assert sum(each.low <= rating <= each.high for each in found) >= 88
    assert abs(sum(expected) / 110) < 1.5


def test_own_luck_is_zero_on_average_and_explains_results():
    player = Watched(load_level(MATCHED), 1, place=8.0)
    play_series(player, make_simple(2), series=100, hands=6, seed=3)
    points, margins = np.array(player.hands, float).T
    luck = points - margins
    assert abs(luck.mean()) < 3 * luck.std() / len(luck) ** 0.5
    assert 0.05 < 1 - np.var(margins) / np.var(points) < 0.6
    # The seats' results and their order matter: luck of other hands explains nothing.
    assert np.var(points - np.roll(luck, 1)) > np.var(margins)


def test_own_luck_of_a_draw_is_that_of_the_card():
    hand = Hand.deal(get_rules("eaai"), seed=5)
    hand.push("pass")
    hand.push("pass")
    luck = {}
    view = hand.view()
    assert view["phase"][0] == PHASE_DISCARD
    real = int(view["drawn"][0])
    others = int(view["hand"][0]) & ~(1 << real)
    for card in (real, *(card for card in range(52) if int(view["unseen"][0]) >> card & 1)):
        changed = view.copy()
        changed["drawn"], changed["hand"] = card, others | 1 << card
        changed["unseen"] = (int(view["unseen"][0]) | 1 << real) & ~(1 << card)
        luck[card] = float(own_luck(changed, np.zeros(1, np.int64), 1)[0])
    assert max(luck.values()) > 2 and min(luck.values()) < 0
    assert abs(np.mean(list(luck.values()))) < 1


def test_it_comes_down_to_a_weak_opponent_and_up_to_a_strong_one():
    player = matched()
    ends = {}
    for name in ("random", "network"):
        player.reset(5)
        play_series(player, make_player(name, 2), series=5, hands=20, seed=7)
        ends[name] = player.places(np.arange(5), 5)
        # Somebody new in the slot is a stranger.
        player.forget(np.arange(1))
        assert player.places(np.arange(1), 1)[0] == shipped_dial().even_places(STRANGER[None])[0]
    assert ends["random"].max() < 3.5 < np.median(ends["network"]) <= TOP


def test_a_fixed_rating_stays_and_options_that_contradict_are_refused(tmp_path):
    weak, strong = make_player("matched:rating=-2000", 1), make_player("matched:rating=50", 1)
    points = play_series(weak, strong, series=8, hands=3, seed=2)
    assert points.mean() < -20
    with refuses(GinError, "rating", 9000):
        make_player("matched:rating=9000")
    with refuses(GinError, "adapt=false"):
        make_player(f"matched:adapt=false,profile={tmp_path}")
    with refuses(GinError, "rating"):
        make_player(f"matched:rating=0,profile={tmp_path}")
    with refuses(GinError, MATCHED):
        export(MATCHED, tmp_path / "out")


def test_a_person_is_known_again_rated_and_reset(tmp_path, capsys):
    level = load_level(MATCHED)
    assert person_rating(tmp_path, "Ann") is None
    player = matched(tmp_path)
    play_series(player, make_player("random", 2), series=1, hands=6, seed=7)
    again = matched(tmp_path)
    np.testing.assert_allclose(again.places(None, 1), player.places(None, 1), atol=1e-4)
    assert matched(tmp_path, "Bob").places(None, 1)[0] == matched().places(None, 1)[0] > again.places(None, 1)[0]
    found = person_rating(tmp_path, "ann")
    assert found is not None and found.hands == 6 and len(found.past) == 6
    assert found.rating.low < found.rating.mean < found.rating.high and abs(found.rating.mean - found.past[-1]) < 1
    levels(["learned", MATCHED, "--home", str(tmp_path)])
    assert str(found) in capsys.readouterr().out and "level" in str(found)
    assert str(PersonRating(Estimate(-100, -160, -40), 60, [])) == "rating −100 (−160 to −40)"
    reset_level(tmp_path, level)
    assert person_rating(tmp_path, "Ann") is None
    assert matched(tmp_path).places(None, 1)[0] == matched().places(None, 1)[0]


def test_it_is_the_lobbys_first_choice_and_the_person_sees_a_rating(guest):
    ann = guest(rules="openspiel", opponent=MATCHED)
    shown = ann.get("/")
    assert shown.index('value="matched"') < shown.index('value="level-1"')
    ann.play_game()
    found = person_rating(ann.person.session.home.path, "Ann")
    assert found is not None and f"{found} after {found.hands} hand" in plain(ann.get("/learned?level=matched"))
    assert str(found) in plain(ann.get("/"))
