"""The table in the browser, asked through its forms: play, pages, and what is refused."""

import re

import numpy as np
import pytest

from ginenv.engine.cards import parse_card, parse_cards
from ginenv.engine.rules import PRESETS
from tests.support.hidden import redeal_hidden
from tests.support.session_scenes import FITS, KNOCKS, LOOSE, MANY_WAYS, NO_MELD, deck, prepared
from tests.support.web_scenes import ADDRESS, attribute, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("preset", ["gr-oklahoma", "ht1", "openspiel"])
def test_whole_games_are_played_through_the_forms(guest, preset):
    ann = guest(rules=preset if PRESETS[preset].target == 0 else f"{preset},target=40")
    ann.post("/new", sure="1")
    shown = ann.get("/table")
    while not ann.person.session.match.is_over:
        names = re.findall(r'\bid="([^"]+)"', shown)
        assert "table" in names and len(names) == len(set(names)), "no two elements have one id"
        shown = ann.move()
        assert 'class="say warning"' not in shown, plain(shown)
    match = ann.person.session.match
    assert re.search(r"(You win|Formula wins|Nobody wins) the game", shown)
    (game,) = ann.person.session.file.games()
    record = ann.people.home.record(game.id).match
    assert record is not None and record.score == match.score and ann.person.session.file.game is None
    (tally,) = ann.person.session.file.statistics.root
    points = [0 if each.winner is None else each.points * (1 - 2 * each.winner) for each in match.outcomes]
    assert ann.person.session.file.margins(tally) == points
    assert all(f"<td>{total}</td>" in shown for total in match.totals)
    shown = ann.get("/statistics")
    assert " | ".join(map(str, tally.points)) in shown and ("points per hand over time" in shown) == (tally.hands > 1)


def test_a_refused_command_says_why_and_changes_nothing(guest):
    ann = guest(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0))
    ann.get("/table")
    for fields, words in [
        ({"do": "stock"}, "take the K♦ or pass"), ({"do": "done"}, "cannot end the lay-offs"), ({"card": "KS"}, "cannot discard"),
        ({"do": "knock"}, "choose a card"), ({"do": "discard", "card": "1X"}, "a card such as"), ({"number": "99"}, "cannot spread"),
        ({"do": "frobnicate"}, "'frobnicate'"), ({}, "''"), ({"number": "x" * 300}, "a whole number"), ({"by": "colour"}, "sort"),
        ({"do": "move", "card": "KS", "place": "0"}, "0"), ({"do": "next"}, "still in play"),
    ]:  # fmt: skip
        assert words in plain(ann.do(**fields)), fields
        assert ann.person.session.hand.history == []


def test_a_hand_laid_by_hand_is_sorted_again_and_the_page_says_how_it_lies(guest):
    ann = guest(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0))

    def lies() -> tuple[str, list[str]]:
        shown = ann.get("/table")
        (pressed,) = re.findall(r'id="sort-(\w+)"[^>]*aria-pressed="true"', shown)
        return pressed, re.findall(r'id="card-(\w\w)"', shown)

    by, sorted_so = lies()
    assert by == "meld"
    first = sorted_so[0]
    ann.do(do="move", card=first, place="10")
    assert lies() == ("none", [*sorted_so[1:], first])
    ann.do(by="meld")
    assert lies() == ("meld", sorted_so)
    # Sorted at the deal alone, the hand is marked as sorted while it lies so.
    ann.post("/options", sort="meld", sort_when="deal")
    assert lies() == ("meld", sorted_so)
    ann.do(do="move", card=first, place="3")
    assert lies()[0] == "none"


def test_an_illegal_knock_is_what_the_rules_say(guest):
    cards = deck(LOOSE, NO_MELD, "KD", "KC")
    ann = guest(prepared("dg-standard", cards, 0))
    ann.get("/table")
    ann.do(do="pass")
    before = ann.person.table.mark
    assert "With the K♣ that is no knock: 70 points would be left, the limit is 10" in plain(
        ann.do(do="knock", picked="KC")
    )
    assert ann.person.table.mark == before, "nothing is played before it is asked for again"
    ann.do(do="knock", picked="KC")
    shown = plain(ann.do(do="knock", picked="KC"))
    assert "That was not a knock: it leaves 70 points, and the limit is 10" in shown
    assert parse_card("KC") in ann.person.session.hand.history
    ann.deal(prepared("eaai", cards, 0))
    ann.do(do="pass")
    assert "70 points would be left, the limit is 10" in plain(ann.do(do="knock", picked="KC"))
    assert ann.person.session.hand.phase == "discard"


def test_a_discard_asks_to_knock_and_playing_to_gin_stops_that(guest):
    game = prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0)
    ann = guest(game)
    ann.get("/table")
    ann.do(do="pass")
    shown = plain(ann.do(card="KC"))
    assert "leaves 6 points: do you knock?" in shown and "Knock with 6 points" in shown
    assert not ann.person.session.hand.is_over
    # Another window shows the question too, and either answers it.
    assert "do you knock?" in plain(ann.get("/table"))
    assert "do you knock?" not in plain(ann.do(do="keep"))
    ann.do(card="KC")
    ann.do(do="gin later", picked="KC")
    assert ann.person.session.file.game.play_to_gin is True and not ann.person.session.hand.is_over
    ann.deal(game)
    ann.do(do="pass")
    ann.do(card="KC")
    assert "knock by Ann, deadwood 6 against" in plain(ann.do(do="knock", picked="KC"))


def test_spreads_are_chosen_and_cards_laid_off_by_hand(guest):
    ann = guest(prepared("ht1", deck(MANY_WAYS, NO_MELD, "KD", "KC"), 0))
    ann.get("/table")
    ann.do(do="pass")
    shown = plain(ann.do(do="knock", picked="KC"))
    assert {"deadwood 1", "deadwood 10"} <= set(re.findall(r"deadwood \d+", shown))
    assert "they are numbered 1 to" in plain(ann.do(number="9"))
    assert "knock by Ann" in plain(ann.do(number="1"))
    ann.deal(prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1))
    shown = ann.do(do="pass")
    assert "Formula has knocked" in shown and shown.count(" fits") == 3
    ann.do(card="3H")
    assert "you cannot lay off that card now; you can lay off the 7♠ or J♠" in plain(ann.do(card="9H"))
    ann.do(card="JS")
    ann.do(do="done")
    assert set(ann.person.session.match.outcomes[0].laid_off) == set(parse_cards("3H JS"))


@pytest.mark.parametrize(
    ("hands", "do", "word"),
    [
        (("3S 3C 3D 3H 8S 9S TS 4H 5H 6H", NO_MELD), "gin", "gin"),
        ((KNOCKS, "4D 5D 6D QC QD QH JC JD JH 2S"), "", "undercut"),
    ],
    ids=["gin", "undercut"],
)
def test_gin_and_an_undercut_stand_across_the_table(guest, hands, do, word):
    """And the button of a knock is there only where it means something."""
    game = prepared("eaai", deck(*hands, "KD", "KC"), int(not do))
    game.begun = "2001-02-03T04:05:06"
    ann = guest(game)
    assert 'id="do-knock"' not in ann.get("/table")
    shown = ann.do(do="pass")
    assert re.findall(r'id="do-(gin|knock)"', shown) == [do] * bool(do)
    shown = ann.do(do=do) if do else shown
    assert ann.person.session.hand.is_over
    assert re.findall(r'class="fanfare ([a-z]+) mine"', shown) == [word] * bool(word)
    assert "2001-02-03 04:05:06" in ann.get("/records"), "when it began, not when its first hand ended"


def test_melds_are_marked_if_wished_and_a_hint_says_why_and_marks_the_card(guest):
    ann = guest(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0), hints="formulas")
    shown = ann.get("/table")
    assert 'aria-label="8 of spades, in run' in shown and "deadwood 6" in plain(shown)
    assert re.findall(r'<li class="(\w+) begins"', shown).count("set") == shown.count(" begins") - 1 > 0
    ann.person.session.set_option("mark_melds", "off")
    ann.do(do="pass")
    shown = ann.do(do="hint")
    assert "in run" not in shown
    assert "Hint: Knock with the K♣" in plain(shown)
    assert re.search(r'hinted"><button class="card" id="card-KC"', shown)
    # The button that the hint means stands out, not the first one.
    assert re.findall(r'id="do-(\w+)"[^>]*class="place-\d hinted"', shown) == ["knock"]


def test_the_pile_and_what_was_taken_are_shown_only_if_wished(guest):
    ann = guest(prepared("eaai", deck(LOOSE.replace("QD", "3D"), "3S 3C KC 8S 7C TC AD 4C 9D 2C", "KD", "KH"), 0))
    ann.get("/table")
    ann.do(do="pass")
    shown = plain(ann.do(card="3D"))
    assert "Formula takes the 3♦ from the pile and discards" in shown and "last: Formula took the 3♦" in shown
    assert "taken by the opponent" not in shown
    ann.person.session.set_option("memory", "on")
    shown = ann.get("/table")
    assert "3 of diamonds, taken by the opponent" in shown and "refused by the opponent" in shown


def test_a_window_that_is_behind_plays_nothing(guest):
    ann = guest(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0))
    before = attribute(ann.get("/table"), "data-at")
    ann.do(do="pass")
    history = ann.person.session.hand.history
    shown = ann.do(do="take", at=before)
    assert "This window was behind" in shown and ann.person.session.hand.history == history
    # A window learns that there is something new, and only then.
    now = attribute(shown, "data-at")
    asks = {"headers": {"HX-Request": "true", "Origin": ADDRESS}}
    assert ann.client.get(f"/table?at={now}", **asks).status_code == 204
    assert ann.client.get(f"/table?at={before}", **asks).status_code == 200
    # Where the game is gone, the whole window is led to the lobby.
    ann.person.session.leave_game()
    ann.person.session.file.game = None
    gone = ann.client.post("/table", data={"do": "pass", "at": now}, **asks), ann.client.get(f"/table?at={now}", **asks)
    assert all(answer.status_code == 204 and answer.headers["HX-Redirect"] == "/" for answer in gone)


def test_a_new_game_is_warned_of_while_another_is_unfinished(guest):
    ann = guest(prepared("eaai", deck(LOOSE, NO_MELD, "KD", "KC"), 0))
    assert "There is an unfinished game: Ann 0, Formula 0 after 0 hands." in plain(ann.get("/"))
    assert "points of the unfinished game will be lost" in plain(ann.post("/new"))
    assert ann.person.session.file.game.name == "prepared"
    ann.post("/new", sure="1")
    assert ann.person.session.file.game.name != "prepared"


# The last of them draw charts, which takes long, so they are asked once a game.
PAGES = ["/table", "/table?at=x", "/", "/rules", "/options", "/records", "/players", "/mistakes"]
PAGES += ["/statistics", "/learned"]
CHARTS = 2


def test_no_answer_holds_what_the_person_may_not_see(guest):
    """Everything hidden is dealt again: every byte that is sent stays the same."""
    ann = guest(rules="ht1", memory="on")
    rng = np.random.default_rng(5)
    ann.post("/new", sure="1")
    asks = {"HX-Request": "true", "Origin": ADDRESS}

    def sent(pages: list[str]) -> list[bytes]:
        ann.person.table.hint = None
        answers = [ann.client.get(path).content for path in pages]
        hint, sort, done = {"do": "hint"}, {"by": "suit"}, {"do": "done"}
        for fields in (hint, sort, done, {"do": "discard", "card": "7C"}, {"do": "take", "at": "x"}):
            answer = ann.client.post("/table", data=fields, headers=asks)
            # Of the cookie what it says, without the time at which that was signed.
            said = sorted((name, value.partition(".")[0]) for name, value in answer.headers.items())
            answers.append(answer.content + repr(said).encode())
        return answers

    looked = 0
    for step in range(45):
        live = ann.person.session
        if step % 7 == 3 or live.hand.phase in ("layoff", "spread"):
            events = list(ann.person.table.events)
            pages = PAGES[: None if looked == 2 else -CHARTS]
            sent(["/table"])  # sorts the hand, and says what there is to say once
            ann.person.table.events = events
            first = sent(pages)
            state = live.hand.state
            live.hand.state = redeal_hidden(state, 0, rng)
            changed = int(live.hand.state["hands"][0, 1] != state["hands"][0, 1])
            # What lies on disk is never sent, but has to be able to be written.
            live.file.save, live.save = lambda: None, lambda: None
            ann.person.table.events = events
            assert sent(pages) == first
            live.hand.state = state
            del live.file.save, live.save
            looked += changed
        ann.move()
        if ann.person.session.match.is_over or looked == 4:
            break
    assert looked >= 3


def test_the_record_of_the_game_in_play_is_not_given_away(guest):
    """Its keys say what the next hands are dealt from."""
    ann = guest(rules="eaai")
    ann.post("/new", sure="1")
    while not ann.person.session.match.played:
        ann.move()
    (key,) = re.findall(r"\bkey=(\w+)", ann.people.home.record_text(ann.person.session.file.games()[0].id))
    answer = ann.client.get("/records/1.gin")
    assert answer.status_code == 400 and "still in play" in answer.text and key not in answer.text
    assert key not in ann.get("/replay?record=1")
    while not ann.person.session.match.is_over:
        ann.move()
    assert "ginrecord 2 game" in ann.get("/records/1.gin")
