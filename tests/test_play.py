"""The table: how a hand lies, what a person may do, and games in the terminal with scripted answers."""

import dataclasses
import io
import os
import re
import sys

import numpy as np
import pytest
from rich.console import Console

from agents.levels.level import load_level
from agents.levels.memory import read_opponents
from agents.play.hand_order import moved_card, shuffled_cards, sorted_cards, updated_order
from agents.play.hints import FORMULAS, hint
from agents.play.moves import Turn
from agents.play.opponents import EasyGame
from agents.play.options import Options
from agents.play.review import shared_analyst
from agents.play.session import Session
from agents.play.statistics import Tallies
from agents.play.store import Home
from agents.play.terminal import LeaveError, Terminal, parse_move, play_games
from ginenv.engine.actions import KNOCK, PHASE_DISCARD
from ginenv.engine.cards import card_value, cards_of, format_cards, mask_of, parse_card, parse_cards
from ginenv.engine.melds import melded_cards
from ginenv.engine.rule_texts import PRESET_NAMES, PRESET_TEXTS, RULE_TEXTS
from ginenv.engine.rules import CHOICES, PRESETS, Rules
from ginenv.engine.state import same_records
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.tables.players import make_player
from tests.support.refusals import refuses
from tests.support.scenes import fiftieth_card
from tests.support.session_scenes import FITS, KNOCKS, LOOSE, MANY_WAYS, NO_MELD, Talk, deck, prepared, read_game

GIN = "3S 3C 3D 3H 8S 9S TS 4H 5H 6H"

# ---------------------------------------------------------------- the hand as it lies


def test_sorting_by_value_and_by_suit_in_both_directions():
    cards = parse_cards("KH 2S TD 2H AC KC 5D")
    assert format_cards(sorted_cards(cards, "value")) == "AC 2H 2S 5D TD KH KC"
    assert format_cards(sorted_cards(cards, "value", "descending")) == "KH KC TD 5D 2H 2S AC"
    # Suits go hearts, spades, diamonds, clubs whatever the direction.
    assert format_cards(sorted_cards(cards, "suit")) == "2H KH 2S 5D TD AC KC"
    assert format_cards(sorted_cards(cards, "suit", "descending")) == "KH 2H 2S TD 5D KC AC"


def test_a_new_card_stays_at_the_right_until_the_hand_is_sorted(talk):
    def order(*moves: str) -> list[str]:
        game = prepared("eaai", deck("3S 9S AC 3C 2H TS 3D 8S KH AD", NO_MELD, "KD", "4C"), 0)
        talk.session.file.game = game
        session = talk.session
        session.resume()
        for words in moves:
            session.play(parse_move(session.turn, words))
            session.go_on()
        order = format_cards(session.game.order).split()
        session.leave_game()
        return order

    assert order() == "3S 3D 3C 8S 9S TS AD AC 2H KH".split()
    assert order("p") == [*order(), "4C"]
    talk.session.set_option("sort", "suit")
    assert order() == "2H KH 3S 8S 9S TS AD 3D AC 3C".split()
    # Sorted with the next turn.
    assert order("p", "d KH")[-2:] == ["3C", "4C"]


def test_a_hand_that_is_not_sorted_takes_new_cards_at_the_right():
    cards = parse_cards("KH 2S TD 2H AC")
    order = shuffled_cards(cards, 7)
    assert sorted(order) == sorted(cards) and order == shuffled_cards(reversed(cards), 7) != shuffled_cards(cards, 8)
    without = [card for card in order if card != parse_card("TD")]
    assert updated_order(order, mask_of(without) | 1 << parse_card("9S")) == [*without, parse_card("9S")]
    assert moved_card(order, order[0], 3) == [order[1], order[2], order[0], *order[3:]]


# ---------------------------------------------------------------- what may be typed and chosen


@pytest.mark.parametrize(
    ("cards", "moves", "typed"),
    [
        (LOOSE, [], {"t": "take", "Take": "take", "p": "pass", "s": None, "KS": None, "foo": None, "spread 1": None, "n": None}),
        (LOOSE, ["pass", "pass"], {"kc": "discard KC", "d K♣": "discard KC", "10h": "discard TH", "dth": "discard TH", "knock KC": None}),
        (KNOCKS, ["pass", "pass"], {"k kc": "knock KC", "kkc": "knock KC", "K♣": "discard KC", "gin": None, "3H": None, "12": None}),
        (MANY_WAYS, ["pass", "pass", "knock KC"], {"1": "spread 0", "spread 2": "spread 1", "9": None, "3S": None}),
    ],
)  # fmt: skip
def test_words_and_keys(cards, moves, typed):
    hand = Hand.deal("ht1", deck=deck(cards, NO_MELD, "KD", "KC"), starter=0, seed=0)
    for words in moves:
        hand.push(words)
    turn = Turn(hand.view()[0], hand.rules)
    for text, words in typed.items():
        if words is None:
            with pytest.raises(GinError):
                parse_move(turn, text)
        else:
            assert hand.action_text(parse_move(turn, text)) == words


def test_options_refuse_what_they_cannot_be():
    options = Options().changed("sort", "Value").changed("memory", "on").changed("rules", "gr, target=150")
    assert (options.sort, options.memory, options.rules) == ("value", True, "gr,target=150")
    assert Options.model_validate_json(options.model_dump_json()) == options
    for name, value, allowed in [
        ("sort", "suite", "'suit'"), ("memory", "perhaps", "'on', 'off'"), ("rules", "gr,target=9999", "0 to 500"),
        ("rules", "dg-standart", "'dg-standard'"), ("colour", "red", "'colour'"),
    ]:  # fmt: skip
        with refuses(GinError, allowed):
            options.changed(name, value)


def test_every_rule_and_preset_is_explained() -> None:
    assert set(RULE_TEXTS) == {field.name for field in dataclasses.fields(Rules)}
    assert set(PRESET_TEXTS) == set(PRESET_NAMES) == set(PRESETS)
    assert all(value in RULE_TEXTS[name] for name, values in CHOICES.items() for value in values)


def test_a_target_above_500_becomes_500_under_gr_alone(talk):
    talk.session.set_option("rules", "gr,target=600")
    assert talk.session.options.rules == "gr,target=500" and "500" in talk.session.notices()[0]
    with refuses(GinError, 500, 600):
        talk.session.set_option("rules", "eaai,target=600")
    assert talk.session.options.rules == "gr,target=500"


# ---------------------------------------------------------------- a game in the terminal


@pytest.mark.parametrize(("rules", "becomes"), [("dg-standard", "discard"), ("eaai", "nothing")])
def test_an_illegal_knock_is_warned_of_and_becomes_a_discard_or_nothing_by_the_rules(talk, rules, becomes):
    shown = talk.resume(prepared(rules, deck(LOOSE, NO_MELD, "KD", "KC"), 0), "p", "knock KC")
    assert "70 points" in shown and "limit is 10" in " ".join(shown.split())
    assert ("The K♣ is a plain discard" in shown) == (becomes == "discard")
    hand = talk.match.hand
    assert not hand.is_over and parse_card("KC") + KNOCK not in hand.history
    assert (parse_card("KC") in hand.history) == (becomes == "discard") != (hand.phase == "discard" and hand.turn == 0)


def test_a_card_taken_only_to_knock_ends_playing_to_gin() -> None:
    hand = fiftieth_card("gc", "JH")
    hand.push("take")
    turn = Turn(hand.view()[0], hand.rules, to_gin=True)
    assert "knock with" in turn.possible() and hint(turn, FORMULAS)[0] in hand.legal_actions()


@pytest.mark.parametrize("source", ["search", "formulas"])
def test_hints_are_those_of_the_analysis_or_of_formulas(talk, source):
    talk.session.set_option("hints", source)
    shown = talk.resume(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0), "h", "p", "hint")
    first, second = (" ".join(each.split()) for each in shown.split("Hint: ")[1:])
    assert first.startswith("Pass. The K♦ makes no meld.") and second.startswith(
        "Knock with the K♣. Without the K♣, 6 points of deadwood are left, "
    )
    if source == "search":
        found = shared_analyst().decision(talk.match.hand.view(0))
        assert found.best == "knock KC" and not talk.session.is_playing
        assert all(each in second.replace("♣", "C") for each in found.reason.split(", "))


def test_gin_ends_the_hand_automatically_only_in_gr(talk):
    cards = deck(GIN, NO_MELD, "KD", "KC")
    assert "gin by Ann" in talk.resume(prepared("gr", cards, 0), "p", "d KC")
    talk.resume(prepared("eaai", cards, 0), "p", "d KC")
    assert not talk.match.hand.is_over


def test_hints_at_lay_offs_lead_to_the_least_deadwood(talk):
    game, answers = prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1), ["p"]
    while not talk.session.file.games():
        card, done = re.findall(r"Hint: (?:Lay off the (\S\S)|(Be done))", talk.resume(game, *answers, "h"))[-1]
        answers.append("n" if done else f"l {card}")
        talk.resume(game, *answers)
    played = read_game(talk.session).outcomes[0]
    automatic = prepared("ht1,layoff=best", deck(KNOCKS, FITS, "KD", "KC"), 1).match
    for words in ("pass", "pass", "knock KC"):
        automatic.push(words)
    for action in automatic.hand.legal_actions():
        match = automatic.copy()
        match.push(action)
        if match.outcomes[0].spread == played.spread:
            assert match.outcomes[0].deadwood[0] == played.deadwood[0]


def test_wrong_moves_are_explained_and_change_nothing(talk):
    game = prepared("eaai", deck(LOOSE, "3S 3C KC 8S 9S TS AD 4C 4D 2C", "KD", "3D"), 0)
    wrong = ["stock", "d KS", "done", "spread 1", "l 3C", "k 3C", "12", "frobnicate"]
    shown = " ".join(talk.resume(game, *wrong, "help").split())
    assert shown.count(" ! ") == len(wrong) and "lay off that card" in shown
    assert all(command in shown for command in ("gin analyse", "gin practice", "gin levels learned"))
    assert "you cannot draw from the stock now; you can take the K♦ or pass" in shown
    assert talk.match.hand.history == []
    # A card that was just taken stays for the turn.
    shown = talk.resume(game, "t", "d KD", "d 3S")
    assert "you took the K♦" in shown and "do not hold the 3♠" in shown and talk.match.hand.phase == "discard"


def test_the_upcard_just_taken_can_be_given_back_under_gr_alone(talk):
    cards = deck(LOOSE, NO_MELD.replace("QC", "KD"), "QC", "KC")
    assert "Discard, or give back the Q♣" in talk.resume(prepared("gr,target=150", cards, 0), "t")
    # From disk too; then everything is as it was, in the state and in the record.
    assert "Take the Q♣ or pass" in talk.say("d QC").split("You give the card back")[1]
    fresh = prepared("gr,target=150", cards, 0)
    assert same_records(talk.match.hand.state, fresh.match.hand.state)
    assert talk.stored["game"]["record"] == fresh.model_dump(by_alias=True)["record"]
    assert "so you cannot discard it now" in talk.resume(prepared("dg-standard", cards, 0), "t", "d QC")
    assert talk.match.hand.phase == "discard"


def test_a_single_hand_is_called_so(talk):
    shown = talk.resume(prepared("dg-standard,target=0", deck(LOOSE, NO_MELD, "KD", "KC"), 0))
    assert "Standard, one hand." in shown and shown.count("one hand") == 2
    assert "hand 1" not in shown and "target 0" not in shown


def test_the_pile_and_what_was_taken_are_shown_only_if_wished(talk):
    cards = deck(LOOSE.replace("QD", "3D"), "3S 3C KC 8S 7C TC AD 4C 9D 2C", "KD", "KH")
    for memory in ("off", "on"):
        talk.session.set_option("memory", memory)
        table = talk.resume(prepared("eaai", cards, 0), "p", "3D").split("Gin rummy")[-1]
        assert "Formula took 3♦" in table or "Formula takes the 3♦" in talk.screen.getvalue()
        assert ("Formula  3♦ ▒▒" in table, table.count("▒▒")) == (memory == "on", 10 - (memory == "on"))
        assert ("K♦ [" in table) == (memory == "on")


def test_a_terminal_without_symbols_shows_letters(tmp_path):
    screen = io.TextIOWrapper(io.BytesIO(), "ascii")
    terminal = Terminal(Console(file=screen, width=80), lambda prompt: pytest.fail())
    terminal.show(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0).match.hand.view(0)[0], "Bob")
    terminal.say("You draw the 7C.", "today’s deal")
    screen.flush()
    shown = screen.buffer.getvalue().decode("ascii")
    assert "[KD]" in shown and "AC 2H 5H 6S" in shown and "7C" in shown and "today's deal" in shown


class Clicker:
    """A person that does something legal at every question: now and then at random, mostly what a decent player would."""

    def __init__(self, seed: int, file) -> None:
        self.random = np.random.default_rng(seed)
        self.decent = make_player("formula")
        self.file = file

    def __call__(self, prompt: str) -> str:
        if prompt.startswith("Enter begins"):
            raise EOFError
        if prompt.startswith("Enter deals"):
            return ""
        hand = self.file.game.match.hand
        wild = self.random.random() < 0.2
        action = self.random.choice(hand.legal_actions()) if wild else self.decent.act(hand.view())[0]
        words = hand.action_text(int(action))
        return f"spread {int(words.split()[1]) + 1}" if words.startswith("spread") else words


@pytest.mark.parametrize("preset", ["dg-standard", "ht1", "gr-oklahoma", "gc"])
def test_a_game_can_be_played_to_its_end(preset, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    home = Home(tmp_path)
    screen = io.StringIO()
    session = Session(home.create("Clicker"), seed=11)
    terminal = Terminal(Console(file=screen, width=80), Clicker(5, session.file))
    session.set_option("rules", f"{preset},target=1")
    session.set_option("opponent", "simple")
    with pytest.raises(LeaveError):
        play_games(terminal, session)
    assert "\n! " not in screen.getvalue()
    (game,) = session.file.games()
    match = read_game(session)
    assert game.over and (game.hands, game.score, game.winner) == (len(match.outcomes), match.score, match.winner)
    assert match.is_over and session.file.game is None
    (tally,) = session.file.statistics.root
    assert tally.opponent == "simple" and tally.hands == len(match.outcomes)
    points = [sum(o.points for o in match.outcomes if o.winner == seat) for seat in (0, 1)]
    assert tally.points == points
    assert tally.won == [int(match.winner == seat) for seat in (0, 1)]
    assert tally.best == [match.totals[seat] if match.winner == seat else 0 for seat in (0, 1)]
    session.close()


def test_easy_game_changes_discards_only(monkeypatch):
    states = [Hand.deal("eaai", seed=seed) for seed in range(20)]
    inner = make_player("camper", 3)
    easy, seen = EasyGame(inner, 3), 0
    for hand in states:
        for _ in range(12):
            if hand.is_over:
                break
            view = hand.view()
            mine, theirs = int(easy.act(view)[0]), int(inner.act(view)[0])
            if view["phase"][0] == PHASE_DISCARD and theirs < KNOCK:
                hand_cards = int(view["hand"][0])
                loose = cards_of(hand_cards & ~int(melded_cards(hand_cards)) & int(view["legal"][0, 0]))
                if loose and mine < KNOCK:
                    assert card_value(mine) == max(card_value(card) for card in loose)
                    seen += mine != theirs
            else:
                assert mine == theirs
            hand.push(mine)
    assert seen > 5


def test_statistics_follow_the_games_and_can_be_reset(talk):
    one_hand = "eaai,target=0"
    shown = talk.resume(prepared(one_hand, deck(KNOCKS, NO_MELD, "KD", "KC"), 0), "p", "k KC")
    assert "You win the game." in shown
    tally = talk.session.file.statistics.tally(one_hand, "formula")
    points = read_game(talk.session).outcomes[0].points
    assert (tally.hands, tally.points, tally.won, tally.best) == (1, [points, 0], [1, 0], [points, 0])
    # They are on disk, by variation and opponent, and only those asked for are reset.
    assert Tallies.model_validate(talk.stored["statistics"]).tally(one_hand, "formula") == tally
    for name in ("gr", "gr,target=50"):
        talk.session.file.statistics.tally(name, "easy").hands = 4
    talk.session.reset_statistics("gr, target=50")
    with refuses(GinError, "gc"):
        talk.session.reset_statistics("gc")
    talk.session.reset_statistics("formula")
    assert [tally.variation for tally in talk.session.file.statistics.root] == ["gr"]
    talk.session.reset_statistics()
    assert talk.stored["statistics"] == []


def test_a_program_that_does_not_exist_is_refused_at_once(talk):
    talk.session.allowed |= {"cmd:nowhere-to-be-found --fast", "cmd:", "cmd:'x"}
    for name, fact in (
        ("cmd:nowhere-to-be-found --fast", "'nowhere-to-be-found'"),
        ("cmd:", "'cmd:'"),
        ("cmd:'x", "x"),
    ):
        with refuses(GinError, fact):
            talk.session.set_option("opponent", name)
    assert talk.session.options.opponent == "formula"


def test_a_program_that_cannot_play_leaves_no_game_behind(talk):
    program = f"cmd:{sys.executable} -c 'print(0)'"
    talk.session.allowed.add(program)
    talk.session.set_option("opponent", program)
    with refuses(GinError, "cannot go on"):
        talk.say(new=True)
    assert talk.session.file.game is None and talk.stored["game"] is None


def test_a_level_learns_of_who_plays_it_unless_it_is_frozen(tmp_path, monkeypatch, level="level-1"):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def hands(freeze: bool = False, **options: str) -> int:
        """Plays a hand; returns how many the level has seen."""
        talk = Talk(tmp_path, freeze=freeze)
        for name, value in options.items():
            talk.session.set_option(name, value)
        # The hand ends before the level has a choice, whatever it would choose.
        rules = {"preset": "eaai", "deal": "eleven-ten"}
        talk.resume(prepared(rules, deck(KNOCKS, NO_MELD, "KC"), 0, level), "k KC")
        talk.session.close()
        learned = read_opponents(tmp_path, load_level(level))
        return int(learned["Ann"].opponents.records["hands"][0]) if "Ann" in learned else 0

    assert hands(freeze=True) == 0
    assert hands(freeze=True, learning="on") == 1
    assert hands(learning="off") == 1
    assert hands(learning="on") == 2
    (profile,) = (tmp_path / "levels").glob("*.json")
    profile.write_text("{")
    with refuses(GinError, "level-1.json", "reset level-1"):
        hands()
