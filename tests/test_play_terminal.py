"""What the table in the terminal tells: in 80 columns, in plain words, and under the rules that are a table's own."""

import dataclasses
import os
import re

import pytest

from agents.play.terminal.commands import GROUPS
from agents.play.terminal.lines import Face
from ginenv.engine.rule_texts import PRESET_NAMES, PRESET_TEXTS, RULE_TEXTS
from ginenv.engine.rules import CHOICES, PRESETS, Rules, get_rules
from ginenv.engine.state import same_records
from ginenv.hands.hand import Match
from tests.support.session_scenes import FITS, KNOCKS, LOOSE, MANY_WAYS, NO_MELD, Talk, deck, prepared, read_game


@pytest.fixture
def talk(talk):
    talk.menu.terminal.console.width = 80
    return talk


def answer(talk: Talk, command: str) -> list[str]:
    """The lines that a command at the menu shows."""
    shown = talk.say(command)
    return shown.split(f"menu> {command}\n")[1].rstrip("\n").splitlines()


def test_long_lines_go_on_under_their_column(talk):
    talk.say("opponent style:knock=5,late=3", "rules ht2-traditional,target=150,gin_bonus=20,box_bonus=20")
    titles = tuple(GROUPS)
    for command in ("help", "options", "rules", "rule"):
        lines = answer(talk, command)
        assert max(map(len, lines)) <= 80, command
        starts = [line for line in lines if not line.startswith("  ")]
        listed = [line for line in starts if line and not line.startswith((*titles, "* ", "'"))]
        assert listed == [], command


def test_the_help_fits_a_screen_and_explains_a_subject(talk):
    assert len(answer(talk, "help")) <= 24
    explained = " ".join(" ".join(answer(talk, "help records")).split())
    assert all(command.about in explained for command in GROUPS["Records"])
    assert "'cards'" in talk.say("help cards")


def test_a_score_sheet_and_statistics_fit_80_columns(talk):
    talk.say("set easy_game on", "opponent style:knock=5,late=3", "rules ht1,target=0")
    game = prepared("ht1,target=0", deck(MANY_WAYS, NO_MELD, "KD", "KC"), 0, "style:knock=5,late=3")
    game.easy = True
    shown = talk.resume(game, "p", "k KC", "spread 1", "statistics")
    sheet = shown.split("    hand ")[1].split("You win")[0].splitlines()
    assert max(map(len, shown.splitlines())) <= 80
    # What does not fit behind the totals goes on below where it began.
    column = len("    hand ") + sheet[0].index("how")
    below = [line for line in sheet[2:5] if "|" not in line]
    assert below and all(line.startswith(" " * column) and line[column] != " " for line in below)
    assert "Statistics of Ann" in shown and "┃ opponent" in shown


def test_every_rule_and_preset_is_explained_in_a_line(talk):
    assert set(RULE_TEXTS) == {field.name for field in dataclasses.fields(Rules)}
    assert set(PRESET_TEXTS) == set(PRESET_NAMES) == set(PRESETS)
    rules, presets = (" ".join(" ".join(answer(talk, command)).split()) for command in ("rule", "rules"))
    assert all(f"{name} " in rules and text in rules for name, text in RULE_TEXTS.items())
    assert all(value in RULE_TEXTS[name] for name, values in CHOICES.items() for value in values)
    assert all(f"{name} " in presets and text in presets for name, text in PRESET_TEXTS.items())


def test_one_point_is_singular(talk):
    shown = talk.resume(prepared("eaai", deck(MANY_WAYS, NO_MELD, "KD", "KC"), 0), "p", "h", "d KC", "no")
    assert "leave 1 point while" in " ".join(shown.split()) and any("1 point?" in prompt for prompt in talk.prompts)


def test_a_missing_card_is_requested(talk):
    shown = talk.resume(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0), "p", "d", "k", "move 3")
    assert shown.count("which card? give its name, as in 7♣, or its number") == 2


@pytest.mark.parametrize("by", ["suit", "value"])
def test_deadwood_stands_in_the_order_of_the_hand(talk, by):
    talk.say(f"set sort {by}")
    shown = talk.resume(prepared("eaai", deck(KNOCKS, LOOSE.replace("AC", "4C").replace("2H", "4H"), "KD", "KC"), 0))
    row = next(line for line in shown.splitlines() if line.startswith("Ann  ")).split()[1:]
    loose = shown.split("deadwood 6: ")[1].splitlines()[0].split()
    assert len(loose) == 4 and loose == [card for card in row if card in loose]
    if by == "suit":
        assert "set 3♠ 3♦ 3♣" in shown


def test_a_new_card_stays_at_the_right_until_the_hand_is_sorted(talk):
    game = prepared("eaai", deck(LOOSE, NO_MELD, "KD", "3C"), 0)

    def row(*answers: str) -> list[str]:
        lines = [line for line in talk.resume(game, *answers).splitlines() if line.startswith("Ann  ")]
        return lines[-1].split()[1:]

    talk.say("set sort suit")
    assert row()[0] == "2♥"
    assert row("p")[-1] == "3♣*" and row("p")[:-1] == row()
    assert row("p", "u")[-3:] == ["A♣", "3♣*", "9♣"]
    # Sorted with the next turn, and the card that comes then is at the right.
    assert row("p", "d 9C")[-2:] == ["A♣", "3♣"]


def test_a_hand_sorted_by_meld_has_its_sets_and_runs_together(talk):
    game = prepared("eaai", deck("3S 9S AC 3C 2H TS 3D 8S KH AD", NO_MELD, "KD", "KC"), 0)
    row = next(line for line in talk.resume(game).splitlines() if line.startswith("Ann  "))
    assert row.split()[1:] == "3♠ 3♦ 3♣ 8♠ 9♠ T♠ A♦ A♣ 2♥ K♥".split()
    row = next(
        line for line in talk.resume(game, "sort meld descending").splitlines()[::-1] if line.startswith("Ann  ")
    )
    assert row.split()[1:] == "3♠ 3♦ 3♣ T♠ 9♠ 8♠ K♥ 2♥ A♦ A♣".split()


def test_melds_are_not_marked_where_the_player_does_not_want_it(talk):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    assert "set 3♠ 3♦ 3♣ │ run 8♠ 9♠ T♠ │ deadwood 6" in talk.resume(game)
    talk.say("set mark_melds off")
    shown = talk.resume(game, "p", "h")
    assert not re.search(r"\b(set|run|deadwood)\b", shown.split("hand 1")[1])
    assert "Your turn: discard, or knock with" in shown


def test_the_sheet_underlines_who_won_a_hand_and_counts_boxes():
    cards = deck(KNOCKS, LOOSE.replace("AC", "4C").replace("2H", "4H"), "KD", "KC")
    match = prepared("dg-standard,target=20", cards, 0).match
    for words in ("pass", "pass", "knock KC"):
        match.push(words)
    lines = Face(True).sheet(match.sheet(), ("Ann", "formula"))
    spans = [(line.plain, span) for line in lines for span in line.spans if span.style == "underline"]
    assert [text[span.start : span.end] for text, span in spans] == [str(match.outcomes[0].points)]
    (boxes,) = (line.plain for line in lines if "boxes" in line.plain)
    assert boxes.split() == ["boxes", "1", "(25)", "|", "0", "(0)"]


def test_there_is_a_hint_at_lay_offs(talk):
    game = prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1)
    shown = talk.resume(game, "p", "h", "l JS", "h", "7S", "h", "3H", "hint")
    hints = re.findall(r"Hint: (.*)", shown)
    assert hints[0].startswith("lay off the ") and "saves" in hints[0]
    assert all(hint.startswith(("lay off the ", "be done")) for hint in hints) and len(hints) >= 3
    # Followed to the end, the hints lay off whatever lowers the deadwood.
    answers = ["p"]
    while not talk.session.file.games():
        last = re.findall(r"Hint: (?:lay off the (\S\S)|(be done))", talk.resume(game, *answers, "h"))[-1]
        answers.append(f"l {last[0]}" if last[0] else "done")
        talk.resume(game, *answers)
    played = read_game(talk.session).outcomes[0]
    automatic = Match(get_rules("ht1").replace(layoff="best"), seed=1, deck=deck(KNOCKS, FITS, "KD", "KC"), starter=1)
    for words in ("pass", "pass", "knock KC"):
        automatic.push(words)
    arrangements = []
    for action in automatic.hand.legal_actions():
        arrangements.append(automatic.copy())
        arrangements[-1].push(action)
    best = [match.outcomes[0] for match in arrangements if match.outcomes[0].spread == played.spread]
    assert [outcome.deadwood[0] for outcome in best] == [played.deadwood[0]]


@pytest.mark.parametrize("rules", ["gr", "gr-oklahoma", "gr,target=150"])
def test_the_upcard_just_taken_can_be_given_back_under_gr(talk, rules):
    cards = deck(LOOSE, NO_MELD.replace("QC", "KD"), "QC", "KC")
    assert "discard, or give back the Q♣" in talk.resume(prepared(rules, cards, 0), "t")
    assert len(talk.match.hand.history) == 1
    # From disk too; then everything is as it was, in the state and in the record, and something else can be chosen.
    shown = talk.say("resume", "d QC")
    assert "You give back the Q♣" in shown and "take the Q♣ or pass" in shown
    fresh = prepared(rules, cards, 0)
    assert same_records(talk.match.hand.state, fresh.match.hand.state)
    assert talk.stored["game"]["record"] == fresh.to_json()["record"]
    talk.say("resume", "p")
    hand = talk.match.hand
    fresh.match.hand.push("pass")
    assert hand.history[0] == fresh.match.hand.history[0] and hand.turn == 0 and hand.phase == "discard"


@pytest.mark.parametrize("rules", ["eaai", "dg-standard", "gc"])
def test_elsewhere_the_upcard_just_taken_stays(talk, rules):
    game = prepared(rules, deck(LOOSE, NO_MELD.replace("QC", "KD"), "QC", "KC"), 0)
    shown = talk.resume(game, "t", "d QC")
    assert "so you cannot discard it now" in shown and "give back" not in shown
    assert talk.match.hand.phase == "discard"


def test_a_target_above_500_becomes_500_under_gr_alone(talk):
    talk.say("rules gr,target=600")
    assert talk.session.options.rules == "gr,target=500"
    talk.say("rule target 90", "rule target 1000")
    assert talk.session.options.rules == "gr,target=500"
    talk.session.set_option("rules", "gr-oklahoma,target=501")
    assert "from 0 to 500, got 600" in " ".join(talk.say("rules eaai,target=600").split())
    assert talk.session.options.rules == "gr-oklahoma,target=500"


def test_a_new_game_warns_with_the_points_that_are_lost(talk):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    shown = talk.resume(game, "p", "k KC", "new", "no")
    assert re.search(r"unfinished game: Ann [1-9]\d*, Formula 0 after 1 hand\.", shown)
    assert any("Its points are lost when you begin another. Begin?" in prompt for prompt in talk.prompts)
    assert talk.match.score[0] > 0


def test_freeze_is_for_one_session_and_can_be_undone(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def play(freeze: bool, *before: str) -> str:
        talk = Talk(tmp_path, freeze=freeze)
        # The hand ends before the level has a choice, whatever it would choose.
        rules = {"preset": "eaai", "deal": "eleven-ten"}
        talk.session.file.game = prepared(rules, deck(KNOCKS, NO_MELD, "KC"), 0, "level-1").to_json()
        shown = talk.say(*before, "resume", "k KC", "learned level-1")
        talk.session.close()
        return shown

    assert "Ann: no hand shown yet." in play(True)
    assert "Ann: 1 hand shown" in play(True, "set learning on")
    assert "Ann: 2 hands shown" in play(False)
