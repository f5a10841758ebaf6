"""Our players at other programs' tables: whole games there, and each decision is that of the same player here."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from tests.support.compilers import HOST, JAVA, PATIENT, ROOT, STAND_INS, build_host, build_players
from tests.support.programs import SALT

pytestmark = pytest.mark.extra


def play_here(deck, players):
    """The points of seat 0 in a hand under OpenSpiel's rules."""
    hand = Hand.deal("openspiel", deck=deck, seed=0)
    while not hand.is_over:
        hand.push(int(players[hand.turn].act(hand.view(hand.turn))[0]))
    points, winner = int(hand.state["points"][0]), int(hand.state["winner"][0])
    return 0 if winner > 1 else points if winner == 0 else -points


def play_in_openspiel(game, deck, bots):
    """The same in OpenSpiel."""
    state, rest = game.new_initial_state(), iter(deck)
    while not state.is_terminal():
        state.apply_action(next(rest) if state.is_chance_node() else bots[state.current_player()].step(state))
    return int(state.returns()[0])


# None of them leaves anything to chance. Between them: early and late knocks, gin, lay-offs, undercuts and the wall.
PAIRS = [("formula", "knocker"), ("camper", "formula"), ("knocker", "camper")]


def test_hands_in_openspiel_end_like_the_same_hands_here():
    pyspiel = pytest.importorskip("pyspiel")
    from bridges.openspiel_bot import OpenSpielBot

    game, rng = pyspiel.load_game("gin_rummy"), np.random.default_rng(7)
    tables = [
        ([OpenSpielBot(game, seat, name) for seat, name in enumerate(pair)], [make_player(name) for name in pair])
        for pair in PAIRS
    ]
    for number in range(60):
        deck, (bots, players) = rng.permutation(52).tolist(), tables[number % len(tables)]
        assert play_in_openspiel(game, deck, bots) == play_here(deck, players)


@pytest.mark.parametrize("parameters", [{}, {"oklahoma": True}, {"knock_card": 3, "gin_bonus": 20}])
def test_a_bot_plays_openspiel_games_of_other_parameters_to_their_end(parameters):
    pyspiel = pytest.importorskip("pyspiel")
    from bridges.openspiel_bot import OpenSpielBot

    game, rng = pyspiel.load_game("gin_rummy", parameters), np.random.default_rng(8)
    bot = OpenSpielBot(game, 0, "simple")
    simple = pyspiel.make_simple_gin_rummy_bot(game.get_parameters(), 1)
    for _ in range(6):
        simple.restart()
        play_in_openspiel(game, rng.permutation(52).tolist(), [bot, simple])
    with pytest.raises(GinError, match="num_ranks"):
        OpenSpielBot(pyspiel.load_game("gin_rummy", {"num_ranks": 10}), 0, "simple")


def test_hidden_cards_change_no_decision_in_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    from bridges.openspiel_bot import OpenSpielBot, seen_events

    game, rng = pyspiel.load_game("gin_rummy"), np.random.default_rng(9)
    bots = [OpenSpielBot(game, seat, "simple") for seat in (0, 1)]
    for _ in range(8):
        state, deck = game.new_initial_state(), rng.permutation(52).tolist()
        while not state.is_terminal() and not any(state.knocked()):
            if state.is_chance_node():
                state.apply_action(deck.pop(0))
                continue
            seat = state.current_player()
            history = [(each.player, each.action) for each in state.full_history()]
            secret = [card for card in state.hands()[1 - seat] if card not in state.known_cards()[1 - seat]]
            swap = dict(zip(secret + deck, rng.permutation(secret + deck).tolist(), strict=True))
            # Cards that the opponent once held and has shown keep their places.
            other = [(who, swap.get(action, action) if who < 0 else action) for who, action in history]
            assert seen_events(other, seat) == seen_events(history, seat)
            state.apply_action(bots[seat].step(state))


def test_our_java_player_for_the_challenge_decides_like_the_player_itself(tmp_path):
    theirs = tmp_path / "theirs"
    host = build_host(tmp_path / "host")
    build_players(theirs, [*STAND_INS.glob("ginrummy/*.java"), HOST / "GinBot.java"])
    gin = tmp_path / "gin"
    gin.write_text(f"#!{sys.executable}\nfrom agents.cli import main\n\nmain()\n", encoding="utf-8")
    gin.chmod(0o700)
    settings = MatchSettings(unit="hands", batch=1, seed=6, salt=SALT, limits=replace(PATIENT, start_seconds=300))
    java = f"{JAVA} -Dgin.player=formula -Dgin.command={gin} -cp {host}:{theirs} Host --one-object GinBot"
    there = play_match(f"cmd:{java}", "simple", pairs=25, settings=settings)
    assert not there.faults
    assert (there.games == play_match("formula", "simple", pairs=25, settings=settings).games).all()


BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "bridges.md").read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split()[1])
def test_the_pages_examples_play(block):
    pytest.importorskip("pyspiel")
    exec(block, {})
