import numpy as np
import pytest

from agents.arena import MatchSettings, play_match
from ginenv.engine.actions import KNOCK, PASS, UPCARD
from ginenv.engine.cards import mask_of, parse_cards
from ginenv.engine.engine import STATE, apply, deal
from ginenv.engine.rules import get_rules
from ginenv.tables.players import make_player
from ginenv.view.view import make_views

pytestmark = pytest.mark.extra


def position(text, rules="eaai"):
    """A state whose deck begins with the given cards: ten for seat 0, ten for seat 1, upcard, stock."""
    s = np.zeros(1, STATE)
    s["rules"] = get_rules(rules).block
    first = parse_cards(text)
    s["deck"][0] = first + [card for card in range(52) if card not in first]
    deal(s[0], 0)
    return s


HAND = "2S 3S 4S 7C 7D 9D KH QC JS AH"
OTHER = "AS 5C 6C 8C TC 2D 4D QD 5H 9H"


@pytest.mark.parametrize("rules", ["ht1", "gr-oklahoma", "ht2-simple"])
def test_the_simple_bot_plays_every_kind_of_rules(rules):
    pytest.importorskip("pyspiel")
    one = play_match("openspiel-simple", "simple", rules=rules, pairs=2, unit="hands")
    two = play_match("openspiel-simple", "simple", rules=rules, pairs=2, unit="hands", settings=MatchSettings(batch=1))
    assert (one.games == two.games).all()


def test_the_simple_bot_takes_what_melds_and_discards_its_worst_card():
    pytest.importorskip("pyspiel")
    player = make_player("openspiel-simple")
    s = position(f"{HAND} {OTHER} 5S")
    assert player.act(make_views(s, 0))[0] == UPCARD
    s = position(f"{HAND} {OTHER} 3C")
    assert player.act(make_views(s, 0))[0] == PASS
    apply(s[0], UPCARD)
    # Every loose card is cheaper than the kings and queens: the bot throws one of those worth 10.
    action = int(player.act(make_views(s, 0))[0])
    assert 1 << action & mask_of(parse_cards("KH QC JS"))


def test_the_simple_bot_knocks_as_soon_as_it_can():
    pytest.importorskip("pyspiel")
    s = position("2S 3S 4S 7C 7D 7H AH AD 2C KH " + "AS 5C 6C 8C TC 2D 4D QD 5H 9H" + " 5S")
    apply(s[0], UPCARD)
    assert make_player("openspiel-simple").act(make_views(s, 0))[0] == KNOCK + parse_cards("KH")[0]
