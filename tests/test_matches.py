import json
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import pytest

import evaluate
from agents.arena import MatchSettings, lockstep, play_match
from agents.arena.matches import check_names
from agents.cli.evaluate import PANEL, MatchConfig
from agents.deal_streams import Domain, deal_keys, luck_words
from agents.estimates import proportion
from agents.network.player import SHIPPED
from ginenv.engine.actions import UPCARD
from ginenv.engine.engine import STATE, shuffle
from ginenv.engine.jit import kernel
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.errors import GinError, IllegalActionError
from ginenv.tables.player_names import player_names
from ginenv.tables.players import FORFEIT, make_player
from tests.support.players import CountingPlayer
from tests.support.refusals import refuses

# With luck left in, which costs no time.
PLAIN = MatchSettings(luck=False, seed=2)


def test_the_same_seed_gives_the_same_result_at_any_batch_size_and_in_any_executor(pool):
    complete = play_match("simple", "random", pairs=30, seed=3)
    small = play_match("simple", "random", pairs=30, seed=3, settings=MatchSettings(batch=7))
    counts = []
    spread = play_match("simple", "random", pairs=30, seed=3, executor=pool, progress=counts.append)
    assert counts == sorted(counts) and len(counts) > 2 and counts[-1] == 60
    other = play_match("simple", "random", pairs=30, seed=4)
    for result in (small, spread):
        assert (result.games == complete.games).all()
        assert (result.stats == complete.stats).all()
    assert not (other.games == complete.games).all()


def test_exchanging_the_players_mirrors_the_result():
    # Both seatings of every deal are played, so the two matches hold the same games; random's luck differs by seat only.
    one = play_match("simple", "formula", pairs=50, seed=1)
    two = play_match("formula", "simple", pairs=50, seed=1)
    assert one.share.half > 0
    assert abs(one.share.mean + two.share.mean - 1) < one.share.half + two.share.half


def test_a_player_against_itself_is_even_within_its_interval():
    result = play_match("simple", "simple", pairs=500, settings=PLAIN)
    assert result.share.low - 0.01 < 0.5 < result.share.high + 0.01
    assert abs(result.points.mean) < 2 * result.points.half


def test_the_counts_of_a_match_agree_with_each_other():
    result = play_match("formula", "simple", rules="gr", pairs=50, settings=PLAIN)
    games, style = result.games, result.stats
    assert games["done"].all()
    assert style["hands"].tolist() == [games["hands"].sum()] * 2
    assert style["won"].tolist() == games["won"].sum(axis=0).tolist()
    assert (style["won"].sum() + style["drawn"][0]) == games["hands"].sum()
    assert style["undercuts_given"].tolist() == style["undercuts_taken"][::-1].tolist()
    assert (style["did_knock"] <= style["could_knock"]).all()
    assert style["did_knock"].sum() == (style["knocks"] + style["gins"]).sum()
    assert (games["points"] == games["total"]).all(), "without bonuses a game's total is the sum of its hands"
    assert (games["points"].max(axis=1) >= PRESETS["gr"].target).all()


def test_players_observe_every_finished_hand_of_their_seat():
    player = CountingPlayer("simple")
    result = play_match(player, "random", pairs=5)
    views = np.concatenate(player.ended)
    assert len(views) == result.games["hands"].sum()
    assert len(player.slots) == 10
    assert (views["winner"] == 0).sum() == result.games["won"][:, 0].sum()


def test_one_object_may_play_both_sides():
    player = CountingPlayer("simple")
    play_match(player, player, pairs=5)
    assert len(player.slots) == 20


def constant(answer, **attributes):
    """A player that answers every question alike."""
    return CountingPlayer(lambda views, slots: np.full(len(views), answer), "stubborn", **attributes)


@pytest.mark.parametrize("forfeit", ["game", "hand"])
def test_a_forfeit_costs_the_hand_or_the_game(forfeit):
    settings = MatchSettings(forfeit=forfeit)
    result = play_match(constant(FORFEIT, forfeits=True), "simple", pairs=4, settings=settings)
    assert (result.games["winner"] == 1).all()
    assert (result.games["hands"] == (1 if forfeit == "game" else 2)).all()
    assert result.games["forfeits"][:, 0].tolist() == result.games["hands"].tolist()


@pytest.mark.parametrize(
    ("answer", "error", "facts"),
    [(UPCARD, IllegalActionError, [UPCARD, "take"]), (FORFEIT, GinError, [-1]), (0.5, GinError, [4, "float64"])],
)
def test_a_player_with_an_illegal_action_is_named(answer, error, facts):
    with refuses(error, "stubborn", *facts):
        play_match(constant(answer), "simple", pairs=4)


@kernel
def _dealt(keys, states, weights, out):
    """A hash of the whole deck that each key deals."""
    s = states[0]
    for i in range(keys.shape[0]):
        s.key = keys[i]
        shuffle(s)
        for k in range(52):
            out[i] += weights[k] * np.uint64(s.deck[k])


def test_deals_of_many_seeds_and_purposes_are_all_different():
    """Seeds and indices in the same range, so that a key that took one for the other would repeat itself."""
    keys = np.concatenate([deal_keys(domain, seed, 0, 1000) for domain in Domain for seed in range(200)])
    states = np.zeros(1, STATE)
    states["rules"] = get_rules("eaai").block
    weights = np.random.default_rng(1).integers(0, 2**64, 52, np.uint64)
    decks = np.zeros(len(keys), np.uint64)
    _dealt(keys, states, weights, decks)
    assert len(keys) == len(Domain) * 200_000 == len(np.unique(keys)) == len(np.unique(decks))
    # The highest bits name the purpose, and an index means the same whatever it is asked with.
    assert set(np.unique(keys >> np.uint64(60)).tolist()) == {int(domain) for domain in Domain}
    assert deal_keys(Domain.EVAL, 1, 500, 10).tolist() == deal_keys(Domain.EVAL, 1, 0, 600)[500:510].tolist()
    assert luck_words(Domain.EVAL, 1, 7, 2).tolist() == luck_words(Domain.EVAL, 1, 0, 10)[7:9].tolist()
    lucks = np.concatenate([luck_words(Domain.EVAL, seed, 0, 1000).ravel() for seed in range(200)])
    assert len(np.unique(lucks)) == len(lucks)
    assert not np.isin(lucks, keys).any()


def test_bad_settings_are_refused():
    for arguments, facts in (
        ({"unit": "matches"}, ["games", "hands", "matches"]),
        ({"pairs": 0}, ["pairs", 1, 0]),
        ({"rules": "eaia"}, ["eaia", "eaai"]),
        ({"rules": {"preset": []}}, ["[]"]),
        ({"a": "simpel"}, ["simpel", "simple"]),
    ):
        with refuses(GinError, *facts):
            play_match(**{"a": "random", "b": "random"} | arguments)
    with refuses(GinError, "game", "hand", "match"):
        MatchSettings(forfeit="match")
    for seed in ("a", -1, 1.5, True):
        with refuses(GinError, "seed", seed):
            MatchSettings(seed=seed)


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["evaluate.py", *(str(argument) for argument in arguments)])
    evaluate.main()


def printed_on_a_screen(capsys):
    """What was printed, which fits on a screen of usual size."""
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= 24 and max(map(len, printed.splitlines())) <= 80
    return printed


def test_the_program_prints_a_table_and_writes_what_repeats_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    out = Path("results.json")
    run(monkeypatch, "simple", "random", "--games", 20, "--seed", 9, "--out", out)
    assert "games won" in printed_on_a_screen(capsys)
    document = json.loads(out.read_text(encoding="utf-8"))
    match = document["matches"][0]
    assert match["players"] == ["simple", "random"] and match["pairs"] == 10 and match["seed"] == 9
    again = play_match("simple", "random", rules=match["rules"] and json.loads(match["rules"]), pairs=10, seed=9)
    assert again.share.to_dict() == match["share"]
    assert document["versions"]["ginenv"] and document["command"].startswith("python evaluate.py simple random")


def test_without_out_an_earlier_result_is_never_written_over(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    for seed, path in enumerate(("runs/evaluate.json", "runs/evaluate-2.json", "runs/evaluate-3.json")):
        run(monkeypatch, "simple", "random", "--games", 2, "--seed", seed)
        assert f"results: {path};" in capsys.readouterr().out
    seeds = {path.name: json.loads(path.read_text())["matches"][0]["seed"] for path in Path("runs").iterdir()}
    assert seeds == {"evaluate.json": 0, "evaluate-2.json": 1, "evaluate-3.json": 2}


def test_one_player_meets_several_in_one_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    words = ["simple", "--games", 4, "--out", "results.json", "--against", "camper", "simple", "easy"]
    run(monkeypatch, *words)
    short = printed_on_a_screen(capsys)
    run(monkeypatch, *words, "--details")
    assert "hands drawn" in capsys.readouterr().out and "hands drawn" not in short
    met = [match["players"] for match in json.loads(Path("results.json").read_text(encoding="utf-8"))["matches"]]
    assert met == [["simple", other] for other in words[-3:]] and all(other in short for other in words[-3:])


def test_all_opponents_are_those_that_ship():
    opponents = MatchConfig(players=("camper",), against=("all",)).opponents
    assert {*PANEL, "network", "level-4"} < {*opponents} <= {*player_names()} - {"camper"}
    for wrong in ({"players": ("camper", "simple"), "against": ("easy",)}, {"players": ()}):
        with refuses(GinError, len(wrong["players"])):
            _ = MatchConfig(**wrong).opponents


def test_a_result_has_a_short_repr():
    result = play_match("simple", "style:gin=1", pairs=3)
    assert "simple" in repr(result) and result.share.text(percent=True) in repr(result) and len(repr(result)) < 200


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({"players": ("simle", "random")}, ["simle", "simple"]),
        ({"--rules": "eaai,target=x"}, ["target", "x"]),
    ],
)
def test_bad_arguments_end_the_program_before_anything_is_written(changes, facts, monkeypatch, tmp_path, capsys):
    options = {"players": ("simple", "random"), "--out": tmp_path / "x.json"} | changes
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *options.pop("players"), *(word for option in options.items() for word in option))
    message = " ".join((str(ended.value.code) + capsys.readouterr().err).replace("│", " ").split())
    assert ended.value.code and all(str(fact) in message for fact in facts) and "pydantic" not in message
    assert not list(tmp_path.iterdir())


def interrupting(batches=10**9, decisions=10**12):
    """A player that is stopped from the keyboard after so many batches or decisions."""

    def act(views, slots):
        if len(player.calls) > batches or sum(player.calls) > decisions:
            raise KeyboardInterrupt
        return simple.act(views, slots)

    simple, player = make_player("simple"), CountingPlayer(act, "interrupting")
    return player


def test_a_slow_match_finishes_some_games_first(monkeypatch):
    """So that an interrupt finds something to save; which games come first changes no result."""
    monkeypatch.setattr(lockstep, "_SLOW_SECONDS", 0.0)
    stopped = play_match(interrupting(decisions=20_000), "simple", pairs=1000, seed=3)
    assert stopped.interrupted and 5 < stopped.pairs < 200
    monkeypatch.undo()
    complete = play_match(interrupting(), "simple", pairs=stopped.pairs, seed=3)
    assert (complete.games == stopped.games).all()


class Pupil(CountingPlayer):
    """Plays ``simple`` until it has met an opponent in 20 hands, then like a gin hunter."""

    learns = True

    def __init__(self):
        super().__init__("simple")
        self.later, self.met = make_player("knocker"), {}

    def act(self, views, slots=None):
        knows = np.array([self.met.get(slot, 0) >= 20 for slot in slots.tolist()])
        return np.where(knows, self.later.act(views), super().act(views, slots))

    def observe_hands(self, views, slots=None):
        for slot in slots.tolist():
            self.met[slot] = self.met.get(slot, 0) + 1


def test_a_player_that_learns_remembers_through_a_series_and_no_further():
    pupil, other = Pupil(), CountingPlayer("simple")
    result = play_match(pupil, other, unit="hands", pairs=1000, settings=PLAIN)
    # Twenty series of fifty pairs; its opponent learns nothing, and every game is another one to it.
    assert list(pupil.met.values()) == [100] * 20 and len(other.slots) == 2000
    assert result.to_dict()["series_pairs"] == 50
    assert [row[1] for row in result.summary() if row[0] == "series"] == ["20"]
    series = result.pair_scores.reshape(20, 50).sum(1)
    assert result.share == proportion(series, np.full(20, 50.0)) != proportion(result.pair_scores, np.ones(1000))
    # Four fifths of its hands come after the lesson.
    assert result.points.low > play_match("simple", "simple", unit="hands", pairs=1000, settings=PLAIN).points.mean


def test_a_level_that_learns_does_so_in_any_executor(pool):
    alone = play_match("level-1:learn=true", "simple", unit="hands", pairs=20, seed=5)
    spread = play_match("level-1:learn=true", "simple", unit="hands", pairs=20, seed=5, executor=pool)
    assert (alone.games == spread.games).all() and alone.series_pairs == spread.series_pairs == 1
    assert play_match("level-1", "simple", unit="hands", pairs=20, seed=5).series_pairs == 0


def test_a_profile_is_no_part_of_a_match(tmp_path: Path, pool: Executor) -> None:
    """What one run writes would change the next one, and series would not be independent."""
    spec = f"level-1:learn=true,profile={tmp_path / 'kept'},opponent=Ann"
    for executor in (None, pool):
        with refuses(GinError, "profile"):
            play_match(spec, "simple", unit="hands", pairs=1, executor=executor)
    assert not (tmp_path / "kept").exists()
    with refuses(GinError, "profile", "Ann"):
        play_match(make_player(spec), "simple", unit="hands", pairs=1)
    with refuses(GinError, "profile"):
        check_names("camper:profile=x")


def test_a_player_with_a_state_of_its_own_is_not_copied_into_tasks(pool: Executor) -> None:
    for player in (make_player("level-1:learn=true"), make_player("cmd:cat")):
        with refuses(GinError, player.name, "executor"):
            play_match(player, "simple", pairs=1, executor=pool)
    plain = make_player(str(SHIPPED))
    assert (
        play_match(plain, "simple", pairs=2, executor=pool).games == play_match(plain, "simple", pairs=2).games
    ).all()
