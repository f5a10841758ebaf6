"""The search: honest worlds, its belief, determinism, settings and legality, and variety."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from agents.config import ConfigError, parse_config
from agents.network.checkpoint import read_metadata, save_checkpoint
from agents.network.nets import Actor, Critic
from agents.search.belief import HandModel, save_hand_model
from agents.search.candidates import CANDIDATE, choose
from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer, make_search
from agents.search.worlds import draw_hands, draw_worlds
from benchmarks.data import hand_model_fit
from ginenv.bots.heuristics import make_simple, make_style
from ginenv.engine.actions import (
    KNOCK,
    NUM_ACTIONS,
    PHASE_DISCARD,
    PHASE_OVER,
    STOCK,
    UPCARD,
    parse_action,
)
from ginenv.engine.cards import cards_of, mask_of, parse_card, parse_cards
from ginenv.engine.engine import STATE, apply, deal, is_legal, shuffle
from ginenv.engine.game import next_hand, score_hand, start_game
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.errors import GinError
from ginenv.view.view import VIEW, make_views
from tests.support.hidden import redeal_hidden
from tests.support.refusals import refuses

SMALL_SEARCH = {"worlds": 8, "particles": 16}


def states_of(rules="eaai", count=1, key=5):
    states = np.zeros(count, STATE)
    states["rules"] = get_rules(rules).block
    states["key"] = np.arange(count) + key
    states["luck"] = [[1, 2]]
    for i in range(count):
        start_game(states[i])
    return states


def mid_hand(count=40, rules="eaai", moves=(3, 25)):
    """States some way into a hand between two simple players."""
    states = states_of(rules, count)
    player = make_simple()
    for i in range(count):
        for _ in range(moves[0] + i % (moves[1] - moves[0])):
            before = states[i].copy()
            view = make_views(states[i : i + 1], int(states["turn"][i]))
            apply(states[i], int(player.act(view)[0]))
            if states["phase"][i] == PHASE_OVER:
                states[i] = before
                break
    return states


def worlds_of(view, count=32):
    """Worlds that fit a view, and the hands of the opponent that they were drawn from."""
    belief = np.random.default_rng(1).normal(size=52).astype(np.float32)
    hands, worlds = np.zeros(64, np.int64), np.zeros(count, STATE)
    stream = np.uint64(draw_hands(view[0], belief, hands, view["luck"][0]))
    draw_worlds(view[0], hands, np.full(64, 1 / 64), worlds, stream)
    return worlds, hands


def test_permuting_the_hidden_cards_changes_no_world():
    rng = np.random.default_rng(0)
    for state in mid_hand(12):
        seat = int(state["turn"])
        changed = redeal_hidden(np.array([state]), int(state["turn"]), rng)[0]
        assert (changed["hands"] != state["hands"]).any()
        one, two = (worlds_of(make_views(np.array([each]), seat)) for each in (state, changed))
        assert one[0].tobytes() == two[0].tobytes() and one[1].tobytes() == two[1].tobytes()


@pytest.mark.parametrize("rules", ["eaai", "ht2-simple"])
def test_the_seat_cannot_tell_a_world_from_the_truth(rules):
    for state in mid_hand(16, rules):
        seat = int(state["turn"])
        view = make_views(np.array([state]), seat)
        worlds, _ = worlds_of(view)
        seen = make_views(worlds, seat)
        for name in VIEW.names:
            if name not in ("luck", "hand_luck"):
                assert (seen[name] == view[name][0]).all(), name
        for world in worlds[:4]:
            stock = world["deck"][world["position"] : get_rules(rules).num_cards]
            assert mask_of(stock.tolist()) | int(world["hands"][1 - seat]) == int(
                view["unseen"][0] | view["known_cards"][0, 1]
            )
            assert int(world["hands"][1 - seat]).bit_count() == 10
            assert world["echoed"] == state["echoed"]


def played(starter, hands, upcard, actions, drawn=()):
    """A state after some actions from a given deal; ``drawn`` lies on top of the stock."""
    state = states_of()
    first, second = (parse_cards(hand) for hand in hands)
    front = [*first, *second, parse_card(upcard), *parse_cards(" ".join(drawn))]
    state["deck"][0] = front + [card for card in range(52) if card not in front]
    deal(state[0], starter)
    for action in actions:
        number = parse_action(action)
        assert is_legal(state[0], number), action
        apply(state[0], number)
    return state


def test_the_belief_knows_more_than_even_chances():
    gain = 0.0
    player = make_search(0, particles=512, worlds=8)
    states = mid_hand(30, moves=(12, 22))
    for state in states:
        seat = int(state["turn"])
        view = make_views(np.array([state]), seat)
        chances = player.examine(view).belief
        assert np.isclose(chances.sum(), 10)
        unseen = int(view["unseen"][0])
        even = (10 - int(view["known_cards"][0, 1]).bit_count()) / unseen.bit_count()
        hand_cards = np.array([int(state["hands"][1 - seat]) >> card & 1 for card in cards_of(unseen)])
        guess = chances[cards_of(unseen)]
        gain += np.sum((hand_cards - even) ** 2) - np.sum((hand_cards - guess) ** 2)
    assert gain / len(states) > 0.05


def views_of(count=24):
    states = mid_hand(count)
    return make_views(states, states["turn"])


def test_a_batch_changes_nothing():
    views, player = views_of(), make_search(3, **SMALL_SEARCH)
    complete = player.act(views)
    assert (complete == [player.act(views[i : i + 1])[0] for i in range(len(views))]).all()
    assert (complete == make_search(3, **SMALL_SEARCH).act(views)).all()


def values_of(player, views):
    return [player.examine(views[i : i + 1]).candidates["value"].tolist() for i in range(len(views))]


def test_another_seed_samples_other_worlds_and_a_reset_takes_a_new_seed():
    views = views_of(12)
    player = make_search(3, **SMALL_SEARCH)
    first = values_of(player, views)
    assert first != values_of(make_search(4, **SMALL_SEARCH), views)
    player.reset(4)
    assert values_of(player, views) == values_of(make_search(4, **SMALL_SEARCH), views) != first


def test_the_policy_counts_by_its_weight():
    views = views_of(60)
    free, loyal = make_search(0, policy_weight=0, **SMALL_SEARCH), make_search(0, policy_weight=1, **SMALL_SEARCH)
    for i in range(len(views)):
        found = free.examine(views[i : i + 1])
        assert found.best == found.candidates["value"].argmax()
        found = loyal.examine(views[i : i + 1])
        cost = found.candidates["cost"] - found.candidates["cost"].min()
        assert found.best == (found.candidates["value"] - cost).argmax()
    assert (free.act(views) != loyal.act(views)).any()


def test_unusable_values_are_reported():
    for error, facts, options in (
        (GinError, "nowhere checkpoint.json", {"network": "nowhere"}), (ConfigError, "search 'judge' worlds", {"judge": "playouts"}),
        (ConfigError, "worlds 0", {"worlds": 0}),
    ):  # fmt: skip
        with refuses(error, *facts.split()):
            make_search(**options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A network with a critic and a model of whole hands, all of random weights."""
    path = tmp_path_factory.mktemp("trained") / "net"
    torch.manual_seed(4)
    critic = Critic((16,))
    torch.nn.init.normal_(critic.value.layer.pooled.weight)
    save_checkpoint(path, Actor((16,)), (16,), {}, critic, (16,))
    model = HandModel()
    for weight in (model.out.weight, model.single.weight, model.by_turn.weight):
        torch.nn.init.normal_(weight, std=0.3)
    save_hand_model(path, model, read_metadata(path)["weights_sha256"], {})
    return str(path)


def test_the_critic_evaluates_without_hidden_cards(trained):
    """The same view with other hidden cards gives the same values, candidate by candidate."""
    rng = np.random.default_rng(2)
    player = make_search(0, network=trained, **SMALL_SEARCH)
    for state in mid_hand(8):
        seat = int(state["turn"])
        view = make_views(np.array([state]), seat)
        changed = redeal_hidden(np.array([state]), int(state["turn"]), rng)[0]
        one, two = player.examine(view), player.examine(make_views(np.array([changed]), seat))
        assert one.candidates.tobytes() == two.candidates.tobytes()
        assert (one.weights == two.weights).all() and np.isclose(one.weights.sum(), 1)


def without_hand_model(path):
    for file in ("hand_model.json", "hand_model.safetensors"):
        (path / file).unlink()
    return str(path)


def test_the_model_of_whole_hands_decides_what_is_believed(trained, tmp_path):
    view = views_of(12)[11:12]
    with_model = make_search(0, network=trained, **SMALL_SEARCH).examine(view)
    plain = without_hand_model(shutil.copytree(trained, tmp_path / "net"))
    without = make_search(0, network=plain, **SMALL_SEARCH).examine(view)
    assert len(set(with_model.weights)) > 1 and len(set(without.weights)) == 1
    assert (with_model.hands == without.hands).all()


def test_a_model_of_whole_hands_that_is_damaged_or_of_other_weights_is_named(trained, tmp_path):
    broken, stale = (shutil.copytree(trained, tmp_path / name) for name in ("broken", "stale"))
    (broken / "hand_model.safetensors").write_bytes(b"no tensors")
    save_checkpoint(stale, Actor((16,)), (16,), {}, Critic((16,)), (16,))
    for path, fact in ((broken, "hand_model.safetensors"), (stale, "hand_model.json")):
        with refuses(GinError, fact) as refused:
            make_search(network=str(path))
        assert str(refused.value).count("checkpoint ") == 1
    make_search(network=without_hand_model(stale))


def test_a_critic_of_points_is_refused(tmp_path):
    save_checkpoint(tmp_path / "net", Actor((16,)), (16,), {}, Critic((16,)), (16,), "points")
    with refuses(GinError, "'points'"):
        make_search(network=str(tmp_path / "net"))


def test_a_trained_model_of_whole_hands_is_written_beside_its_network(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(hand_model_fit, "OPPONENTS", {"simple": 40})
    net = Path(without_hand_model(shutil.copytree(trained, tmp_path / "net")))
    hand_model_fit.main(str(net), 1, 1)
    assert json.loads((net / "hand_model.json").read_text())["about"]["command"].endswith("--rounds 1 --seed 1")
    assert len(set(make_search(0, network=str(net), **SMALL_SEARCH).examine(views_of(12)[11:12]).weights)) > 1


def test_values_are_chances_to_win_the_game(trained):
    """Who needs one point more with gin in hand is all but home; what the critic adds is scaled to chances."""
    states = mid_hand(6)
    player = make_search(0, network=trained, **SMALL_SEARCH)
    states["score"] = [[90, 0]]
    ahead = [player.examine(make_views(states[i : i + 1], int(states["turn"][i]))) for i in range(6)]
    states["score"] = [[0, 90]]
    behind = [player.examine(make_views(states[i : i + 1], int(states["turn"][i]))) for i in range(6)]
    for i in range(6):
        first = float(ahead[i].candidates["value"].mean()), float(behind[i].candidates["value"].mean())
        better, worse = first if int(states["turn"][i]) == 0 else first[::-1]
        assert better > worse + 0.3


def test_the_model_of_whole_hands_is_shown_the_hidden_hand():
    views, hidden = hand_model_fit.positions(make_simple(), make_simple(), 40, 5)
    assert all(cards.bit_count() == 10 for cards in hidden.tolist())
    # Whatever is hidden is either unseen or was taken from the pile before everybody's eyes.
    assert np.array_equal(hidden & ~views["unseen"], views["known_cards"][:, 1])
    assert not (hidden & (views["hand"] | views["pile_cards"])).any()


def test_a_model_of_whole_hands_learns_from_fresh_hands(trained, monkeypatch):
    monkeypatch.setattr(hand_model_fit, "OPPONENTS", {"itself": 200, "simple": 200})
    model, curve = hand_model_fit.fit(trained, 4, 1, Console(file=io.StringIO()))
    assert abs(curve[0] - np.log(33)) < 0.3 and curve[-1] < curve[0] - 0.05
    assert sum(weight.numel() for weight in model.parameters()) > 100_000


@pytest.mark.parametrize("rules", ["ht1", "dg-standard", "openspiel"])
def test_every_action_is_legal(rules):
    # Chances to win a short game are soon computed.
    states = states_of(f"{rules},target=30" if PRESETS[rules].target else rules, 3, key=11)
    # Two that let hands go on for long, so that the end of the stock is reached, and one that knocks.
    players = (make_search(1, **SMALL_SEARCH), make_style(2, "camper" if rules == "openspiel" else "simple"))
    phases = set()
    for i in range(3):
        for _ in range(2):
            while states["phase"][i] != PHASE_OVER:
                seat = int(states["turn"][i])
                phases.add(int(states["phase"][i]))
                action = int(players[(seat + i) % 2].act(make_views(states[i : i + 1], seat))[0])
                assert is_legal(states[i], action)
                apply(states[i], action)
            score_hand(states[i])
            if states["game_over"][i]:
                break
            next_hand(states[i])
    assert len(phases) >= 2


def test_spreads_and_lay_offs_by_hand_are_decided():
    rules = get_rules({"preset": "ht1", "hand_size": 10})
    states = np.zeros(1, STATE)
    states["rules"] = rules.block
    player = make_search(0, **SMALL_SEARCH)
    spreads = lay_offs = 0
    for key in range(400):
        states["key"] = key
        states["hand_no"] = 0
        shuffle(states[0])
        deal(states[0], 0)
        knocker = make_style(key, "simple")
        while states["phase"][0] != PHASE_OVER:
            seat = int(states["turn"][0])
            view = make_views(states, seat)
            by_hand = view["phase"][0] in (3, 4)
            action = int((player if by_hand else knocker).act(view)[0])
            assert is_legal(states[0], action)
            spreads += view["phase"][0] == 3
            lay_offs += view["phase"][0] == 4
            apply(states[0], action)
        if spreads and lay_offs:
            break
    assert spreads and lay_offs


def test_gin_is_declared_and_a_won_game_is_taken():
    hands = ("AS 2S 3S 4S 5D 6D 7D 9C 9H 9D", "KD KC QH JS TC 8S 8C 6H 4H 2H")
    state = played(0, hands, "KH", ("pass", "pass"), ("QS",))
    assert make_search(0, **SMALL_SEARCH).act(make_views(state, 0))[0] == KNOCK + parse_card("QS")
    # One point is enough at 99 to 99, and two deadwood in the first turn are hardly ever undercut.
    hands = ("AS 3S 4S 5S 5D 6D 7D 9C 9H 9D", "KD KC QH JS TC 8S 8C 6H 4H 2H")
    state = played(0, hands, "KH", ("pass", "pass"), ("QC",))
    state["score"] = 99
    found = make_search(0, worlds=64, particles=64).examine(make_views(state, 0), [parse_card("QC")])
    assert found.candidates["action"][found.best] == KNOCK + parse_card("QC")
    assert found.candidates["value"][found.best] > 0.9


# --- choosing among what is nearly as good ----------------------------------------------------------------------------------------


def candidates() -> tuple[np.ndarray, np.ndarray]:
    """Three discards and two knocks, with the values that two worlds give them."""
    found = np.zeros(5, CANDIDATE)
    found["action"] = [3, 7, 9, KNOCK + 3, KNOCK + 7]
    values = np.array([[0.50, 0.52], [0.50, 0.50], [0.30, 0.32], [0.40, 0.42], [0.40, 0.41]])
    return found, values.reshape(-1)


def shares(slack: float, found: np.ndarray, values: np.ndarray, draws: int = 20000) -> np.ndarray:
    counts = np.zeros(len(found))
    for word in np.random.default_rng(1).integers(0, 2**64, draws, dtype=np.uint64):
        counts[choose(found, values, 0.0, slack, word)] += 1
    return counts / draws


def test_discards_equal_to_the_best_are_chosen_as_often() -> None:
    found, values = candidates()
    assert shares(0.0, found, values).tolist() == [1, 0, 0, 0, 0]
    # The second is worse by 0.01, with a standard error of 0.01; the third is worse for certain.
    assert shares(0.9, found, values).tolist() == [1, 0, 0, 0, 0]
    assert shares(1.1, found, values)[:3] == pytest.approx([0.5, 0.5, 0], abs=0.015)


def test_neither_draws_nor_whether_to_knock_are_left_to_chance() -> None:
    found, values = candidates()
    assert shares(10.0, found, values)[3:].sum() == 0
    best_knocks = values.reshape(5, 2).copy()
    best_knocks[3] += 0.3
    drawn = shares(10.0, found, best_knocks.reshape(-1))
    assert drawn.tolist() == [0, 0, 0, 1, 0]
    draws = np.zeros(2, CANDIDATE)
    draws["action"] = [STOCK, UPCARD]
    assert shares(10.0, draws, np.array([0.5, 0.5, 0.49, 0.5]), 200).tolist() == [1, 0]


def test_a_search_that_varies_looks_at_what_its_policy_hardly_ever_plays() -> None:
    """A policy that is sure of a discard leaves nothing to search; where chance is to decide, it does."""
    states = mid_hand(60)
    views = make_views(states, states["turn"])
    views = views[(views["phase"] == PHASE_DISCARD) & (views["legal"][:, 1] == 0)][:8]

    def sure(views: np.ndarray, slots: np.ndarray | None) -> np.ndarray:
        logits = np.zeros((len(views), NUM_ACTIONS), np.float32)
        logits[np.arange(len(views)), firsts] = 15
        return logits

    firsts = np.array([cards_of(int(discards))[0] for discards in views["legal"][:, 0]])
    config = parse_config(SMALL_SEARCH, SearchConfig, "a test")
    varied = config.model_copy(update={"slack": 10.0, "policy_weight": 0.0})
    assert len(views) == 8
    np.testing.assert_array_equal(SearchPlayer(config, 1, sure).act(views), firsts)
    assert (SearchPlayer(varied, 1, sure).act(views) != firsts).sum() > 3
