"""The table in the terminal, in this process with scripted answers."""

import io
import os
import re
import sys

import numpy as np
import pytest
from rich.console import Console

from agents.play.game import Game
from agents.play.hand_order import moved_card, shuffled_cards, sorted_cards, updated_order
from agents.play.hints import FORMULAS, hint
from agents.play.moves import Turn
from agents.play.opponents import EasyGame
from agents.play.options import Options
from agents.play.review import shared_analyst
from agents.play.session import Session
from agents.play.statistics import Tallies
from agents.play.store import Home
from agents.play.terminal.commands import GROUPS, help_lines, parse_command
from agents.play.terminal.menu import Menu
from agents.play.terminal.replay import steps_of
from agents.play.terminal.screen import LeaveError, Terminal
from ginenv.engine.actions import KNOCK, PHASE_DISCARD
from ginenv.engine.cards import card_value, cards_of, format_cards, mask_of, parse_card, parse_cards
from ginenv.engine.melds import melded_cards
from ginenv.engine.rules import PRESETS
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.records import read_record
from ginenv.tables.players import make_player
from tests.support.refusals import refuses
from tests.support.scenes import fiftieth_card
from tests.support.session_scenes import FITS, KNOCKS, LOOSE, MANY_WAYS, NO_MELD, deck, prepared, read_game

# ---------------------------------------------------------------- the hand as it lies


def test_sorting_by_value_and_by_suit_in_both_directions():
    cards = parse_cards("KH 2S TD 2H AC KC 5D")
    assert format_cards(sorted_cards(cards, "value")) == "AC 2H 2S 5D TD KH KC"
    assert format_cards(sorted_cards(cards, "value", "descending")) == "KH KC TD 5D 2H 2S AC"
    # Suits go hearts, spades, diamonds, clubs whatever the direction.
    assert format_cards(sorted_cards(cards, "suit")) == "2H KH 2S 5D TD AC KC"
    assert format_cards(sorted_cards(cards, "suit", "descending")) == "KH 2H 2S TD 5D KC AC"


def test_a_hand_that_is_not_sorted_keeps_its_places_and_takes_new_cards_at_the_right():
    cards = parse_cards("KH 2S TD 2H AC")
    order = shuffled_cards(cards, 7)
    assert sorted(order) == sorted(cards) and order == shuffled_cards(reversed(cards), 7)
    assert {tuple(shuffled_cards(cards, word)) for word in range(40)} > {tuple(order)}
    without = [card for card in order if card != parse_card("TD")]
    assert updated_order(order, mask_of(without) | 1 << parse_card("9S")) == [*without, parse_card("9S")]
    assert moved_card(order, order[0], 3) == [order[1], order[2], order[0], *order[3:]]


def test_sorting_at_the_table(talk):
    talk.session.file.game = prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0).to_json()

    def shown() -> str:
        row = [line for line in talk.screen.getvalue().splitlines() if line.startswith("Ann    ")][-1]
        return " ".join(row.replace("*", "").split()[1:])

    talk.say("resume")
    assert shown() == "A♣ 2♥ 5♥ 6♠ 7♥ 9♣ T♥ J♦ Q♦ K♠"
    talk.say("resume", "u")
    assert shown() == "2♥ 5♥ 7♥ T♥ 6♠ K♠ J♦ Q♦ A♣ 9♣"
    talk.say("resume", "v")
    assert shown() == "A♣ 2♥ 5♥ 6♠ 7♥ 9♣ T♥ J♦ Q♦ K♠"
    talk.say("resume", "sort suit descending")
    assert shown() == "T♥ 7♥ 5♥ 2♥ K♠ 6♠ Q♦ J♦ 9♣ A♣"
    talk.say("resume", "move 7H 10")
    assert shown() == "T♥ 5♥ 2♥ K♠ 6♠ Q♦ J♦ 9♣ A♣ 7♥"
    # What was put by hand stays, after a card has come too, and over a resume.
    talk.say("resume", "p")
    assert shown() == "T♥ 5♥ 2♥ K♠ 6♠ Q♦ J♦ 9♣ A♣ 7♥ K♣"
    talk.say("set direction ascending", "set sort value", "set sort_when deal", "resume")
    assert shown() == "T♥ 5♥ 2♥ K♠ 6♠ Q♦ J♦ 9♣ A♣ 7♥ K♣"
    talk.say("resume", "v")
    assert shown() == "A♣ 2♥ 5♥ 6♠ 7♥ 9♣ T♥ J♦ Q♦ K♠ K♣"


WORDS = {
    "t": "take|", "Take  Upcard": "take|", "draw stock": "stock|", "S": "stock|", "discard 7C": "discard|7C", "d 3": "discard|3",
    "d10": "discard|10", "k10c": "knock|10c", "7♣": "card|7♣", "11": "card|11", "lay off 7c": "lay off|7c", "?": "help|",
    "play to gin": "play to gin|", "play": "new|", "sort by suit": "sort|by suit", "u": "sort|suit", "reset level-2": "reset|level-2",
    "reset stats gr": "reset statistics|gr", "player Ann Lee": "player|Ann Lee",
    "reset statistics gr, target=50": "reset statistics|gr, target=50",
}  # fmt: skip


@pytest.mark.parametrize(("text", "command"), WORDS.items())
def test_words_and_keys(text, command):
    assert "|".join(parse_command(text)) == command


def test_every_word_leads_to_its_command_and_is_in_the_help():
    shown = "\n".join(help_lines())
    words = [word for group in GROUPS.values() for command in group for word in command.words]
    assert len(words) == len(set(words))
    for subject, group in GROUPS.items():
        assert help_lines(subject) == help_lines(group[0].words[-1])
        for command in group:
            assert command.words[0] in shown and command.about in "\n".join(help_lines(subject))
            assert all(parse_command(word)[0] == command.words[0] for word in command.words)


@pytest.mark.parametrize(
    ("line", "facts"), [("discrd 7C", ["'discrd'", "'discard'"]), ("foo", ["'foo'"]), ("statistics reset", ["'statistics'", "'reset'"])]
)  # fmt: skip
def test_an_unknown_command_is_answered_with_the_nearest(line, facts):
    with refuses(GinError, *facts):
        parse_command(line)


def test_options_refuse_what_they_cannot_be():
    options = Options().changed("sort", "Value").changed("memory", "on").changed("rules", "gr, target=150")
    assert (options.sort, options.memory, options.rules) == ("value", True, "gr,target=150")
    assert Options.read(options.model_dump()) == options
    for name, value, allowed in [
        ("sort", "suite", "'suit'"), ("memory", "perhaps", "'on', 'off'"), ("rules", "gr,target=9999", "0 to 500"),
        ("rules", "dg-standart", "'dg-standard'"), ("colour", "red", "'colour'"),
    ]:  # fmt: skip
        with refuses(GinError, allowed):
            options.changed(name, value)


@pytest.mark.parametrize(("rules", "becomes"), [("dg-standard", "discard"), ("eaai", "nothing")])
def test_an_illegal_knock_is_warned_of_and_becomes_a_discard_or_nothing_by_the_rules(talk, rules, becomes):
    shown = talk.resume(prepared(rules, deck(LOOSE, NO_MELD, "KD", "KC"), 0), "p", "knock KC")
    assert "70 points" in shown and "limit is 10" in shown.replace("\n", " ")
    assert ("The K♣ is a plain discard" in shown) == (becomes == "discard")
    hand = talk.match.hand
    assert not hand.is_over and parse_card("KC") + KNOCK not in hand.history
    assert (parse_card("KC") in hand.history) == (becomes == "discard") != (hand.phase == "discard" and hand.turn == 0)


def test_a_discard_asks_to_knock_and_play_to_gin_stops_that(talk):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    shown = talk.resume(game, "p", "d KC", "perhaps", "no")
    assert sum(prompt.startswith("Knock with 6 points?") for prompt in talk.prompts) == 2
    assert "Please answer" in shown
    assert not talk.match.hand.is_over
    talk.prompts.clear()
    shown = talk.resume(game, "p", "g", "d KC")
    assert not any("Knock" in prompt for prompt in talk.prompts) and "playing to gin" in shown
    assert "knock with" not in shown.split("playing to gin")[0].splitlines()[-1]
    talk.prompts.clear()
    talk.resume(game, "p", "d KC", "g")
    assert talk.stored["game"]["play_to_gin"] is True and not talk.match.hand.is_over
    shown = talk.resume(game, "p", "d KC", "y")
    assert "knock by Ann, deadwood 6 against" in shown


def test_a_card_taken_only_to_knock_ends_playing_to_gin() -> None:
    hand = fiftieth_card("gc", "JH")
    hand.push("take")
    turn = Turn(hand.view()[0], hand.rules, to_gin=True)
    assert "knock with" in turn.possible() and hint(turn, FORMULAS)[0] in hand.legal_actions()


def test_gin_ends_the_hand_automatically_only_in_gr(talk):
    gin = deck("3S 3C 3D 3H 8S 9S TS 4H 5H 6H", NO_MELD, "KD", "KC")
    shown = talk.resume(prepared("gr", gin, 0), "p", "d KC")
    assert "Gin: the hand ends by itself." in shown and "gin by Ann" in shown
    talk.prompts.clear()
    talk.resume(prepared("eaai", gin, 0), "p", "g", "d KC", "yes")
    assert "That is gin. Go gin? (yes/no) " in talk.prompts
    assert "gin by Ann" in talk.resume(prepared("eaai", gin, 0), "p", "gin")


@pytest.mark.parametrize("source", ["search", "formulas"])
def test_hints_are_those_of_the_analysis_or_of_formulas(talk, source):
    talk.session.set_option("hints", source)
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    shown = talk.resume(game, "h", "p", "h", "g", "hint")
    first, second, third = shown.split("Ann> ")[1], shown.split("Ann> ")[3], shown.split("Ann> ")[5]
    assert "Hint: pass: the K♦ makes no meld." in first
    assert "Hint: knock with the K♣: leaves 6 points, " in second
    # Playing to gin, a knock is not offered.
    assert "Hint: discard the K♣" in third
    if source == "search":
        found = shared_analyst().decision(talk.match.hand.view(0))
        assert found.best == "knock KC" and talk.session.game is None
        assert all(each in second.replace("♣", "C") for each in found.reason.split(", "))


def test_wrong_moves_are_explained_and_change_nothing(talk):
    game = prepared("eaai", deck(LOOSE, "3S 3C KC 8S 9S TS AD 4C 4D 2C", "KD", "3D"), 0)
    wrong = ["stock", "d KS", "done", "spread 1", "l 3C", "k 3C", "next", "d 12", "frobnicate", "menu"]
    shown = talk.resume(game, *wrong)
    assert shown.count("\n! ") == len(wrong) - 1
    assert "you cannot draw from the stock now; you can take the K♦ or pass" in shown
    assert "you cannot end the lay-offs now" in shown and "you cannot spread your melds now" in shown
    assert talk.match.hand.history == []
    # A card that was just taken stays for the turn.
    shown = talk.resume(game, "t", "d KD", "d 3S", "12")
    assert all(words in shown for words in ("you took the K♦", "do not hold the 3♠", "no card number 12"))
    assert talk.match.hand.phase == "discard"


def test_spreads_are_chosen_and_the_opponent_lays_off_by_hand(talk):
    shown = talk.resume(prepared("ht1", deck(MANY_WAYS, NO_MELD, "KD", "KC"), 0), "p", "k KC", "spread 9", "spread 1")
    ways = re.findall(r"^spread (\d) .*deadwood (\d+)", shown, re.MULTILINE)
    assert len(ways) >= 2 and {points for _, points in ways} >= {"1", "10"}
    assert "there is no spread 9; they are numbered 1 to" in shown
    chosen = dict(ways)["1"]
    assert f"knock by Ann, deadwood {chosen} against" in shown
    assert "Formula lays off the J♠" in shown and "off" in shown


def test_cards_are_laid_off_by_name_and_number(talk):
    game = prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1)
    shown = talk.resume(game, "p", "l 3h", "lay off 9h", "JS", "done")
    assert "Formula knocks with the K♣" in shown
    assert "you cannot lay off that card now; you can lay off the 7♠ or J♠, or be done" in shown
    outcome = read_game(talk.session).outcomes[0]
    assert set(outcome.laid_off) == set(parse_cards("3H JS"))


def test_the_opponents_take_is_shown(talk):
    # The starter throws the 3D that makes the other's third three.
    game = prepared("eaai", deck(LOOSE.replace("QD", "3D"), "3S 3C KC 8S 7C TC AD 4C 9D 2C", "KD", "KH"), 0)
    shown = talk.resume(game, "p", "d 3D")
    assert "Formula takes the 3♦ from the pile and discards" in shown
    assert "last taken: 3♦ by Formula" in shown


class Clicker:
    """A person that does something legal at every prompt: now and then at random, mostly what a decent player would."""

    def __init__(self, seed: int, sessions: list[Session]) -> None:
        self.random = np.random.default_rng(seed)
        self.decent = make_player("formula")
        self.sessions = sessions

    def __call__(self, prompt: str) -> str:
        if prompt.startswith("menu"):
            raise EOFError
        if "yes/no" in prompt:
            return str(self.random.choice(["yes", "no"]))
        if "next hand" in prompt:
            return ""
        game = self.sessions[0].file.game
        assert game is not None
        hand = Game.read(game).match.hand
        wild = self.random.random() < 0.2
        action = self.random.choice(hand.legal_actions()) if wild else self.decent.act(hand.view())[0]
        words = hand.action_text(int(action))
        if words.startswith("spread"):
            return f"spread {int(words.split()[1]) + 1}"
        return words


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_played(preset, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    home, sessions = Home(tmp_path), []
    screen = io.StringIO()
    terminal = Terminal(Console(file=screen, width=80), Clicker(5, sessions))
    session = Session(home, home.create("Clicker"), seed=11)
    sessions.append(session)
    session.set_option("rules", f"{preset},target=1")
    session.set_option("opponent", "simple")
    with pytest.raises(LeaveError):
        Menu(terminal, session).run("new")
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
    states = [Hand.deal("eaai", seed=seed) for seed in range(60)]
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
    assert seen > 20


def test_statistics_follow_the_games_and_can_be_reset(talk):
    one_hand = "eaai,target=0"
    shown = talk.resume(prepared(one_hand, deck(KNOCKS, NO_MELD, "KD", "KC"), 0), "p", "k KC", "statistics")
    assert "You win the game." in shown
    tally = talk.session.file.statistics.tally(one_hand, "formula")
    record = read_game(talk.session)
    points = record.outcomes[0].points
    assert (tally.hands, tally.points, tally.won, tally.best) == (1, [points, 0], [1, 0], [points, 0])
    assert tally.average == (points, 0.0)
    row = [line for line in shown.splitlines() if "Tournament 2021" in line][-1]
    assert f"{points} | 0" in row and f"{points}.0 | 0.0" in row and "Formula" in row and "formula" not in row
    # They are on disk, by variation and opponent, and only those asked for are reset.
    assert Tallies.model_validate(talk.stored["statistics"]).tally(one_hand, "formula") == tally
    for name in ("gr", "gr,target=50"):
        talk.session.file.statistics.tally(name, "easy").hands = 4
    talk.say("reset statistics gr, target=50", "yes")
    assert "no statistics of gc" in talk.say("reset statistics gc", "yes")
    talk.say("reset statistics formula", "no")
    assert len(talk.session.file.statistics.root) == 2
    talk.say("reset statistics formula", "yes")
    assert [tally.variation for tally in talk.session.file.statistics.root] == ["gr"]
    talk.say("reset stats", "yes")
    assert talk.stored["statistics"] == []


def test_players_have_their_own_options_games_and_statistics(talk):
    talk.say("set sort value", "new")
    shown = talk.say("create Bob", "options", "players", "resume")
    assert "no unfinished game" in shown and "* Bob" in shown and re.search(r"sort +meld", shown)
    says = ["create bob", "player Zoe", "player Bob", "remove Bob", "player ANN", "remove Bob", "yes", "players"]
    shown = talk.say(*says)
    assert "already" in shown and "unknown player 'Zoe'" in shown and "'Bob' is playing at this table" in shown
    assert talk.home.names() == ["Ann"] and talk.session.file.options.sort == "value" and talk.session.file.game
    assert talk.home.last_player == "Ann"


def test_a_program_that_does_not_exist_is_refused_at_once(talk):
    shown = talk.say("opponent cmd:nowhere-to-be-found --fast", "opponent cmd:", "set opponent cmd:'x")
    assert "the program 'nowhere-to-be-found' of the opponent" in shown and shown.count("does not name a program") == 2
    assert talk.session.options.opponent == "formula"


def test_a_program_that_cannot_play_leaves_no_game_behind(talk):
    shown = talk.say(f"opponent cmd:{sys.executable} -c 'print(0)'", "new")
    assert "cannot go on" in shown and "You begin" not in shown
    assert talk.session.file.game is None and "no unfinished game" in talk.say("resume")


def test_an_unfinished_game_waits_or_goes_on_by_itself(talk):
    assert "hand 1" in talk.say("new")
    assert "hand 1" not in talk.say("help")
    talk.say("set always_resume on")
    assert "hand 1" in talk.say()


def test_a_new_game_asks_before_it_drops_the_old_one(talk):
    talk.say("new")
    before = talk.stored["game"]
    talk.say("new", "no")
    assert talk.stored["game"] == before
    # From the table too.
    talk.say("resume", "new", "yes")
    assert talk.stored["game"]["name"] != before["name"]


def test_a_record_can_be_stepped_through(talk):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    shown = talk.resume(game, "p", "k KC", "replay", "", "b", "p", "3", "n", "q")
    assert "step 2 of" in shown and "gin1 rules=eaai" in shown and "Formula passes on the K♦." in shown
    path = talk.home.path / "game.gin"
    path.write_text(talk.home.record_text(1), encoding="utf-8")
    record = read_record(path)
    assert record.players == ("Ann", "formula")
    steps = steps_of(record)
    assert [step.action for step in steps[:-1]] == read_game(talk.session).played[0].history
    assert steps[-1].action is None and steps[-1].hand.outcome == read_game(talk.session).outcomes[0]
    assert talk.session.record("1")[1].match.outcomes == record.match.outcomes
    shown = talk.say(f"replay {path}", "x", "9999", "q", "records", "replay 7", "replay nowhere.gin")
    assert "means nothing here" in shown and "knock by Ann" in shown
    assert f"Ann {steps[-1].hand.outcome.points}, Formula 0, 1 hand" in shown
    assert "no record 7" in shown and "nowhere.gin" in shown


def test_a_level_learns_of_who_plays_it_and_is_put_back(talk, level="level-1"):
    def play(*more: str) -> str:
        # The hand ends before the level has a choice, whatever it would choose.
        rules = {"preset": "eaai", "deal": "eleven-ten"}
        return talk.resume(prepared(rules, deck(KNOCKS, NO_MELD, "KC"), 0, level), "k KC", *more)

    assert "Ann: no hand shown yet." in talk.say(f"opponent {level}", "learned")
    assert "Ann: 1 hand shown" in play("learned")
    assert "Ann: 1 hand shown" in (talk.say("set learning off") and play("learned"))
    talk.say("set learning on")
    # It knows Ann again at another table, and nobody else.
    assert "Ann: 2 hands shown" in play("learned")
    assert "Bob: no hand shown yet." in talk.say("create Bob", f"learned {level}")
    (profile,) = (talk.home.path / "levels").glob("*.json")
    shown = talk.say(f"reset {level}", "no", f"reset {level}", "yes", "player Ann", "learned", "reset formula")
    assert "level-1 is as installed (sha256" in shown and "Ann: no hand shown yet." in shown
    assert "'formula' is not a level" in shown and not profile.exists()
    profile.write_text("{")
    shown = play()
    assert "level-1.json is damaged" in shown and "reset level-1" in shown and "hand 1" not in shown
