"""What a program can find out about the deals: it knows this package's source, is told what the protocol tells, and guesses."""

import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.configs import TournamentConfig
from agents.arena.matches import read_side
from agents.arena.tournament import Tournament
from agents.deal_streams import Domain, deal_keys, salted
from agents.play.terminal import play
from agents.programs.player import OutsidePlayer
from ginenv.engine.cards import parse_cards
from ginenv.engine.engine import STATE, shuffle
from ginenv.engine.jit import kernel
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError
from ginenv.tables.players import make_player
from tests.support.programs import LOGGER
from tests.support.refusals import refuses

PAIRS = 8
SEED = 31


@pytest.fixture
def program(logger, tmp_path):
    """Passes, draws from the stock and throws what it drew; writes down every line that it is told, of several matches too."""
    found = logger()
    (tmp_path / "logger.py").write_text(LOGGER.replace('"w"', '"a"'), encoding="utf-8")
    return found


def first_deals(lines):
    """Cards of the first hand of every slot, as (starter's?, own cards as a mask, upcard)."""
    deals = {}
    for line in lines:
        for game in line.get("games", ()):
            for event in game["events"]:
                if event["event"] == "deal" and event["hand"] == 1:
                    cards = parse_cards(" ".join(event["cards"]))
                    mask = sum(1 << card for card in cards)
                    deals[game["slot"]] = (event["starts"] == "you", mask, parse_cards(event["upcard"])[0])
    return deals


@kernel
def _deal(keys, states, hands, upcards):
    s = states[0]
    for i in range(keys.shape[0]):
        s.key = keys[i]
        shuffle(s)
        for k in range(20):
            hands[i, k // 10] |= np.int64(1) << np.int64(s.deck[k])
        upcards[i] = s.deck[20]


def guess(lines, seeds):
    """Slots whose cards are dealt by one of these seeds, and by which seed and pair."""
    keys = np.concatenate([deal_keys(Domain.EVAL, seed, 0, PAIRS) for seed in seeds])
    states = np.zeros(1, STATE)
    states["rules"] = get_rules("eaai").block
    hands, upcards = np.zeros((len(keys), 2), np.int64), np.zeros(len(keys), np.int64)
    _deal(keys, states, hands, upcards)
    found = {}
    for slot, (starts, mask, upcard) in first_deals(lines).items():
        for i in np.flatnonzero((hands[:, 0 if starts else 1] == mask) & (upcards == upcard)):
            found[slot] = (i // PAIRS, i % PAIRS)
    return found


def test_a_program_that_guesses_seeds_and_pairs_by_its_cards_finds_nothing(program):
    spec, lines = program
    # Made by the caller, it is told no more.
    player = OutsidePlayer(spec.removeprefix("cmd:"), SEED)
    result = play_match(player, "simple", pairs=PAIRS, unit="hands", seed=SEED)
    player.close()
    sent_seed = lines()[0]["seed"]
    assert len(first_deals(lines())) == 2 * PAIRS and sent_seed != SEED
    assert guess(lines(), [*range(2001), sent_seed]) == {}
    # The same attack by somebody who knows the salt finds every deal.
    found = guess(lines(), [salted(result.salts[0], "deals", seed) for seed in range(2001)])
    assert len(found) == 2 * PAIRS and {seed for seed, _ in found.values()} == {SEED}
    # Neither the numbers of slots nor the order of games in a line says which deal is whose.
    assert [pair for _, (_, pair) in sorted(found.items())] != [pair for pair in range(PAIRS) for _ in range(2)]
    assert not {slot // 4 for slot in found} & set(range(PAIRS))
    for line in lines():
        if line["type"] == "act":
            slots = [game["slot"] for game in line["games"] if "legal" in game]
            assert slots == sorted(slots)


def test_a_match_with_a_program_is_played_again_with_its_salt(program):
    spec, lines = program
    first = play_match(spec, "random", pairs=3, seed=5)
    sent = lines()
    again = play_match(spec, "random", pairs=3, seed=5, settings=MatchSettings(salt=first.salts[0]))
    assert lines()[len(sent) :] == sent and (again.games == first.games).all()
    assert again.to_dict()["salts"] == first.salts and len(first.salts) == 1
    other = play_match(spec, "random", pairs=3, seed=5)
    assert other.salts != first.salts and not (other.games == first.games).all()
    assert play_match("simple", "random", pairs=3, seed=5).salts == []
    with refuses(GinError, "'abc'", 32):
        play_match(spec, "random", pairs=3, settings=MatchSettings(salt="abc"))


def test_blocks_of_a_tournament_have_salts_of_their_own_and_built_in_players_none(program, tmp_path):
    spec, lines = program
    players = {"bot": spec, "simple": "simple", "random": "random"}
    config = TournamentConfig(players=players, unit="hands", pairs=6, block=3, seed=3, out=tmp_path / "out")
    played = Tournament(config)
    played.play()
    matches = played.standings().matches
    salts = [salt for match in matches.values() for salt in match.salts]
    assert matches[1, 2].salts == [] and len(set(salts)) == len(salts) == 4
    assert guess(lines(), range(2001)) == {}
    assert guess(lines(), [salted(salt, "deals", 3) for salt in salts])


def test_no_seeded_game_at_the_table_against_a_program(program, tmp_path):
    spec, _ = program
    with refuses(GinError, "--seed"):
        play(home=tmp_path / "home", player="Ann", opponent=spec, seed=5)


def test_whoever_names_a_program_gets_a_salt():
    """As text, parsed or as an object: without a salt it could compute the other's cards."""
    named = "mine=cmd:cat"
    for player in (named, read_side(named), make_player(named)):
        assert MatchSettings().guarded("simple", player).salt and not MatchSettings().guarded("simple").salt
