"""Analysis: what the analyst may see, what it says of mistakes and luck, and what is kept of it in the store."""

import json
import re
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from agents.analysis import KINDS, MARKS, Analyst, HandAnalysis, deal_and_play, read_hands
from agents.analysis.findings import GAME, NO_LOSS, POINTS, Side
from agents.analysis.marks import kind_of, mark_of
from agents.arena.hand_value import shipped_value
from agents.cli import run
from agents.play.moves import in_words
from agents.play.review import analyse_games, analysed, mistakes, mistakes_by_hand
from agents.play.store import Home
from ginenv.engine.actions import (
    KNOCK,
    PASS,
    PHASE_DISCARD,
    PHASE_DRAW,
    PHASE_LAYOFF,
    PHASE_SPREAD,
    STOCK,
    UPCARD,
    parse_action,
)
from ginenv.engine.cards import cards_of, mask_of, parse_cards
from ginenv.errors import GinError
from ginenv.hands.hand import Hand, Match
from ginenv.hands.records import format_record
from ginenv.hands.text import format_position
from ginenv.tables.players import make_player
from tests.support.hidden import redeal_hidden
from tests.support.refusals import refuses
from tests.support.session_scenes import FITS, KNOCKS, MANY_WAYS, NO_MELD, deck, store_random_game


@pytest.fixture(scope="module")
def analyst() -> Analyst:
    return Analyst(worlds=8)


@pytest.fixture(scope="module")
def hand() -> Hand:
    """A hand of random play against a good player: with mistakes, draws and a knock."""
    return deal_and_play("eaai", 5, ("random", "formula")).hands[0]


@pytest.fixture(scope="module")
def found(analyst: Analyst, hand: Hand) -> HandAnalysis:
    return analyst.hand(hand)


def moments(hand: Hand) -> list[Hand]:
    return [hand.after(k) for k in range(len(hand.history))]


def lay_off_hand(rules: str = "ht1,target=0") -> Hand:
    """The defender is to lay off by hand, and can in several ways."""
    preset, _, target = rules.partition(",target=")
    hand = Hand.deal({"preset": preset, "target": int(target)}, deck=deck(KNOCKS, FITS, "KD", "KC"), starter=0, seed=0)
    for words in ("pass", "pass", "knock KC", "spread 0"):
        if words == "spread 0" and hand.phase != "spread":
            continue
        hand.push(words)
    assert hand.phase == "layoff"
    return hand


def test_every_decision_is_observed_in_order_with_its_action(hand: Hand, found: HandAnalysis) -> None:
    assert [each.move for each in found.decisions] == list(range(1, len(hand.history) + 1))
    for each, before, action in zip(found.decisions, moments(hand), hand.history, strict=True):
        assert (each.seat, each.phase, each.played) == (before.turn, before.phase, before.action_text(action))
        assert parse_cards(each.hand) == cards_of(int(before.view()["hand"][0]))
        assert each.candidates[0].action == each.best and each.candidates[0].difference == 0
        (played,) = (candidate for candidate in each.candidates if candidate.action == each.played)
        assert each.loss == -played.difference and each.error == played.difference_error
        if len(each.candidates) > 1:
            assert played.value is not None and each.candidates[0].value is not None and each.worlds == 8
            assert played.value - each.candidates[0].value == pytest.approx(played.difference, abs=3e-4)
            assert all((c.deadwood is not None) == (each.phase == "discard") for c in each.candidates)
            assert all(bool(c.risk) == c.action.startswith("discard") for c in each.candidates)
    assert found.result == str(hand.outcome) and found.points[0] == 0 < found.points[1]


def test_the_belief_stands_beside_the_true_hand(hand: Hand, found: HandAnalysis) -> None:
    for each, before in zip(found.decisions, moments(hand), strict=True):
        belief = np.array(each.belief).ravel()
        assert belief.sum() == pytest.approx(10, abs=0.01) and np.array(each.belief).shape == (4, 13)
        view = before.view()[0]
        assert not belief[cards_of(int(view["hand"]) | int(view["pile_cards"]))].any()
        hand_cards = cards_of(int(before.state["hands"][0, 1 - before.turn]))
        assert each.opponent is not None and parse_cards(each.opponent) == hand_cards


def test_a_game_thrown_away_is_a_blunder_and_good_play_is_not(analyst: Analyst) -> None:
    gin = deck("3S 3C 3D 3H 8S 9S TS 4H 5H 6H", NO_MELD, "KD", "KC")
    hand = Hand.deal("eaai", deck=gin, starter=0, seed=0)
    for words in ("pass", "pass", "discard 9S"):
        hand.push(words)
    (mistake,) = analyst.hand(hand, seat=0).mistakes(0)
    blunder = mistake.decision
    assert mistake.moves == (3,)
    assert (blunder.kind, blunder.mark, blunder.move) == ("knock too late", "blunder", 3)
    assert blunder.best == "knock KC" and blunder.loss is not None and blunder.loss > 0.05
    better = hand.after(2)
    better.push("knock KC")
    assert not analyst.hand(better).mistakes(0)


@pytest.mark.parametrize(
    ("loss", "error", "mark"),
    [
        (0.009, 0.0, ""), (-0.5, 0.0, ""), (0.01, 0.004, "doubtful"), (0.01, 0.006, "unclear"), (0.019, 0.0, "doubtful"),
        (0.02, 0.0, "error"), (0.039, 0.0, "error"), (0.04, 0.0, "blunder"), (0.5, 0.2, "blunder"), (0.5, 0.3, "unclear"),
    ],
)  # fmt: skip
def test_marks_follow_the_loss_and_its_error(loss: float, error: float, mark: str) -> None:
    assert mark_of(loss, error) == mark


def test_a_mistake_made_several_times_in_a_hand_is_one_entry(analyst: Analyst, found: HandAnalysis) -> None:
    marked = [each for each in found.decisions if each.kind]
    entries = found.mistakes()
    assert sorted(move for each in entries for move in each.moves) == [each.move for each in marked]
    assert len(entries) < len(marked), "nothing was repeated"
    losses = [each.decision.loss or 0.0 for each in entries]
    assert losses == sorted(losses, reverse=True)
    for entry in entries:
        same = [each for each in marked if each.move in entry.moves]
        assert entry.decision.loss == max(each.loss or 0.0 for each in same)
        assert len({(each.seat, each.kind) for each in same}) == 1
        assert entry.decision.kind.startswith("knock") or len({each.best for each in same}) == 1
    for seat, side in enumerate(found.sides):
        assert sum(side.marks[mark] for mark in ("doubtful", "error", "blunder")) == len(found.mistakes(seat))


def test_an_earlier_knock_declined_does_not_bind(analyst: Analyst) -> None:
    hand = Hand.deal("eaai", deck=deck("3S 3C 3D 8S 9S TS AC AD 2H 4C", NO_MELD, "KD", "KC KH QH"), starter=0, seed=0)
    for words in ("pass", "pass", "discard KC", "draw stock", "discard KH", "draw stock"):
        hand.push(words)
    view = hand.view()
    assert view["declined"][0] == 1 and view["legal"][0, 1]
    assert any(each.action.startswith("knock") for each in analyst.decision(view).candidates)


@pytest.mark.parametrize(
    ("phase", "played", "best", "kind"),
    [
        (PHASE_DRAW, STOCK, UPCARD, "draw"), (PHASE_DISCARD, 3, 4, "discard"), (PHASE_DISCARD, KNOCK + 3, 4, "knock too early"),
        (PHASE_DISCARD, 3, KNOCK + 4, "knock too late"), (PHASE_DISCARD, KNOCK + 3, KNOCK + 4, "discard"),
        (PHASE_LAYOFF, PASS, 3, "lay-off"), (PHASE_SPREAD, 0, 1, "spread"),
    ],
)  # fmt: skip
def test_kinds_of_mistakes(phase: int, played: int, best: int, kind: str) -> None:
    assert kind_of(phase, played, best) == kind and kind in KINDS


def test_only_the_seat_to_move_decides(analyst: Analyst, hand: Hand) -> None:
    now = hand.after(5)
    with pytest.raises(GinError):
        analyst.decision(now.view(1 - now.turn))


def best_points(hand: Hand) -> int:
    """The points of the defender, at best, by playing everything."""
    if hand.is_over:
        assert hand.outcome is not None
        return hand.outcome.points * (-1 if hand.outcome.winner == 0 else 1)
    points = []
    for action in hand.legal_actions():
        after = hand.copy()
        after.push(action)
        points.append(best_points(after))
    return max(points)


def test_lay_offs_are_valued_exactly(analyst: Analyst) -> None:
    hand = lay_off_hand()
    for action in hand.legal_actions():
        after = hand.copy()
        after.push(action)
        decision = analyst.decision(hand.view(), action)
        assert decision.loss == best_points(hand) - best_points(after) and decision.error == 0
        assert (decision.kind == "lay-off") == ((decision.loss or 0.0) > 0)
    worst = analyst.decision(hand.view(), PASS)
    assert worst.loss is not None and worst.loss >= 15 and worst.mark == "blunder"
    assert worst.candidates[0].value == best_points(hand)


def test_a_spread_is_valued_by_its_lay_offs(analyst: Analyst) -> None:
    hand = Hand.deal("ht1", deck=deck(MANY_WAYS, NO_MELD, "KD", "KC"), starter=0, seed=0)
    for words in ("pass", "pass", "knock KC"):
        hand.push(words)
    assert hand.phase == "spread"
    losses = [analyst.decision(hand.view(), action).loss or 0.0 for action in hand.legal_actions()]
    assert min(losses) == 0 < max(losses)


def test_luck_is_that_of_every_draw_from_the_stock(analyst: Analyst, hand: Hand, found: HandAnalysis) -> None:
    after = [*moments(hand)[1:], hand]
    drew = [k for k, each in enumerate(after) if each.phase == "discard" and each.state["drawn"][0] < 52]
    assert [draw.move for draw in found.draws] == [k + 1 for k in drew] and len(drew) > 4
    for draw, k in zip(found.draws, drew, strict=True):
        assert draw.seat == after[k].turn and draw.card in found.decisions[k + 1].hand
        drawn, mean = shipped_value().draws(after[k].state)[0]
        assert draw.points == pytest.approx(drawn[0] - mean[0], abs=0.01)
        # No draw wins a game.
        assert abs(draw.luck) < 0.5
    for seat, side in enumerate(found.sides):
        assert side.luck == pytest.approx(sum(draw.luck for draw in found.draws if draw.seat == seat), abs=1e-3)
        losses = [each.loss or 0.0 for each in found.decisions if each.seat == seat]
        assert side.loss == pytest.approx(sum(losses), abs=1e-3)
    assert found.sides[0].loss > found.sides[1].loss


def test_a_discard_that_completes_a_meld_is_taken_and_lets_the_opponent_knock(analyst: Analyst) -> None:
    # The opponent has taken a queen and holds low sets: it waits for another queen.
    cards = deck("QD 9S 7C 5H 2D JC 8H KS 6D 4S", "AS AC 2S 2C 3S 3C QS AD 2H 3D", "QC", "KH")
    hand = Hand.deal("eaai", deck=cards, starter=0, seed=0)
    for words in ("pass", "take", "discard 3D"):
        hand.push(words)
    hand.push("stock")
    risks = {}
    for words in ("discard QD", "discard KS"):
        candidates = analyst.decision(hand.view(), parse_action(words)).candidates
        (risks[words],) = (each for each in candidates if each.action == words)
    queen, king = risks.values()
    assert queen.taken is not None and king.taken is not None and queen.taken > king.taken + 0.3
    assert (queen.knock or 0.0) > (king.knock or 0.0)
    for each in risks.values():
        assert each.taken is not None and each.knock is not None and 0 <= each.knock <= each.taken <= 1
        assert f"{100 * each.taken:.0f} %" in each.risk and f"{100 * each.knock:.0f} %" in each.risk


def test_a_single_hand_is_valued_in_points(analyst: Analyst) -> None:
    one = deal_and_play("eaai,target=0", 5, ("random", "formula")).hands[0]
    in_points = analyst.hand(one)
    assert in_points.unit == "points" and in_points.sides[0].loss > 5
    assert all(draw.luck == pytest.approx(draw.points, abs=0.01) for draw in in_points.draws)
    assert in_points.mistakes(0)


def test_an_analysis_is_plain_values_and_always_the_same(analyst: Analyst, hand: Hand, found: HandAnalysis) -> None:
    assert HandAnalysis.from_json(json.loads(json.dumps(found.to_json()))) == found
    calls: list[tuple[int, int]] = []
    assert Analyst(worlds=8).hand(hand, progress=lambda *numbers: calls.append(numbers)) == found
    assert calls == [(k, len(hand.history)) for k in range(1, len(hand.history) + 1)]
    assert Analyst(worlds=8, seed=1).name != analyst.name


def test_hidden_cards_change_no_evaluation(analyst: Analyst, hand: Hand) -> None:
    rng = np.random.default_rng(2)
    for before in [*moments(hand)[2:12], lay_off_hand("ht1,target=100")]:
        changed = Hand(redeal_hidden(before.state, before.turn, rng))
        assert (changed.state["deck"] != before.state["deck"]).any()
        action = before.legal_actions()[-1]
        assert analyst.decision(before.view(), action) == analyst.decision(changed.view(), action)


def test_a_hand_in_play_reveals_nothing_hidden(analyst: Analyst, hand: Hand) -> None:
    now = hand.after(9)
    seat = now.turn
    # Another deal of which the seat has seen the same: cards that it never saw change places.
    seen = (
        int(now.view()["hand"][0]) | mask_of(a for a in now.history if a < KNOCK) | int(now.view()["known_cards"][0, 1])
    )
    cards = now.state["deck"][0].tolist()
    seen |= 1 << cards[20] | int(hand.after(0).view(seat)["hand"][0])
    hidden = [place for place, card in enumerate(cards) if not seen >> card & 1]
    other = list(cards)
    for place, source in zip(hidden, np.random.default_rng(1).permutation(hidden), strict=True):
        other[place] = cards[source]
    twin = Hand.deal("eaai", deck=other, starter=int(now.state["starter"][0]), seed=0)
    twin.state["key"], twin.state["luck"] = now.state["key"], now.state["luck"]
    twin.push_all(now.history)
    assert (twin.state["hands"] != now.state["hands"]).any() and len(hidden) > 20
    one, two = analyst.hand(now), analyst.hand(twin)
    assert json.dumps(one.to_json()) == json.dumps(two.to_json())
    assert {each.seat for each in one.decisions} == {seat} and one.decisions[-1].played is None
    assert not one.draws and all(each.opponent is None for each in one.decisions)
    assert one.sides[0].luck is None and one.result is None


def test_hands_are_read_from_records_and_positions(hand: Hand, tmp_path: Path) -> None:
    match = Match("eaai", seed=1)
    player = make_player("simple")
    for _ in range(2):
        while not match.hand.is_over:
            match.push(int(player.act(match.hand.view())[0]))
        match.next_hand()
    text = format_record(match, ("Ann", "Bob"))
    (tmp_path / "game.gin").write_text(text, encoding="utf-8")
    for source in (text, str(tmp_path / "game.gin")):
        subject = read_hands(source)
        assert subject.names == ("Ann", "Bob") and [bool(each.history) for each in subject.hands] == [True, True, False]
    (again,) = read_hands(format_position(hand)).hands
    assert again.history == hand.history
    for bad in ("", "nowhere.gin", "gin1 nonsense", "ginrecord 2 nonsense"):
        with pytest.raises(GinError):
            read_hands(bad)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create("Ann").close()
    store_random_game(home, "20260101-000000-0001", 3)
    return home


class Tired(Analyst):
    """An analyst who must not be asked anything new."""

    def decision(self, *arguments: object, **others: object) -> NoReturn:
        raise AssertionError("this has been analysed before")


def test_findings_are_stored(analyst: Analyst, home: Home) -> None:
    (game,) = home.games("Ann")
    first = analysed(home, game.id, 1, analyst)
    assert analysed(Home(home.path), game.id, 1, Tired(worlds=8)) == first
    for worlds in (7, 9):
        with pytest.raises(AssertionError):
            analysed(home, game.id, 1, Tired(worlds=worlds))
    with refuses(GinError, "hand 99", "1 to"):
        analysed(home, game.id, 99, analyst)
    with refuses(GinError, 99):
        analysed(home, 99, 1, analyst)


def test_the_list_of_mistakes_is_ones_own_over_all_games(analyst: Analyst, home: Home) -> None:
    assert mistakes(home, "Ann") == []
    count = home.games("Ann")[0].hands
    assert analyse_games(home, "ann", analyst) == count and analyse_games(home, "Ann", analyst) == 0
    store_random_game(home, "20260102-000000-0002", 4)
    second = home.games("Ann")[1]
    assert analyse_games(home, "Ann", analyst) == second.hands
    listed = mistakes(home, "Ann")
    wanted = []
    for game in reversed(home.games("Ann")):
        for number in range(1, game.hands + 1):
            marked = analysed(home, game.id, number, analyst).mistakes(0)
            wanted += [
                (game.id, number, m.move, m.kind, m.mark, m.played, m.best, m.reason, len(each.moves), m.loss)
                for each in marked
                for m in (each.decision,)
            ]
    assert len(wanted) > 5
    wanted.sort(key=lambda row: (-row[-1], -row[0], row[1:3]))
    assert [
        (m.game, m.hand, m.move, m.kind, m.mark, m.played, m.best, m.reason, m.times, m.loss) for m in listed
    ] == wanted
    assert listed[0].opponent == "formula" and json.dumps(listed[0].to_json())
    for kind in KINDS:
        assert mistakes(home, "Ann", kind) == [each for each in listed if each.kind == kind]
    lines = mistakes_by_hand(home, "Ann")
    assert list(lines) == ["draws", "discards", "knocks"] and {len(each) for each in lines.values()} == {
        count + second.hands
    }
    early = [
        each for each in listed if each.game == home.games("Ann")[0].id and each.hand == 1 and each.kind == "discard"
    ]
    assert lines["discards"][0] == len(early) > 0 and sum(lines["draws"]) == len(mistakes(home, "Ann", "draw"))
    assert sum(lines["knocks"]) == sum(each.kind.startswith("knock") for each in listed)
    with refuses(GinError, "kind", *KINDS):
        mistakes(home, "Ann", "blunder")
    each = listed[0]
    before = home.record(each.game).hands[each.hand - 1].after(each.move - 1)
    assert before.turn == 0 and parse_action(each.played) in before.legal_actions()


def test_gin_analyse_prints_what_was_found(home, hand, tmp_path, capsys):
    common = ["--home", str(home.path), "--worlds", "8"]
    run("gin", "analyse", [*common, "--hand", "1", "--json"])
    (shown,) = json.loads(capsys.readouterr().out)["hands"]
    (game,) = home.games("Ann")
    assert HandAnalysis.from_json(shown) == analysed(home, game.id, 1, Tired(worlds=8))
    run("gin", "analyse", [*common, "--hand", "1"])
    printed = capsys.readouterr().out
    text = " ".join(printed.split())
    assert "hand 1, Ann 0, Formula 0" in text and "percent of the game" in text and "luck of the draws" in text
    # A decision is one line of the table, even of 80 columns, and begins with its move.
    rows = re.split(r"\n *\n", re.split("─ *\n", printed)[1])[0].splitlines()
    choices = [each for each in HandAnalysis.from_json(shown).decisions if len(each.candidates) > 1]
    assert [int(row.split()[0]) for row in rows] == [each.move for each in choices]
    assert "seat " not in text and "formula" not in text
    assert re.search(
        r"Discard the [2-9TJQKA][SHCD]: taken in \d+ % of the opponent's possible hands, for a knock or gin in \d+ %",
        text,
    )
    # As the browser says it, with the card that is taken or passed on.
    ended = next(hand for hand in home.record(game.id).hands if hand.is_over)
    for each in (mistake.decision for mistake in HandAnalysis.from_json(shown).mistakes()):
        view = ended.after(each.move - 1).view(each.seat)[0]
        assert f": {in_words(str(each.played), view)} (" in text and f"Better: {in_words(each.best, view)}. " in text
    run("gin", "analyse", [*common, "--mistakes"])
    text = capsys.readouterr().out
    assert "discard (" in text and "Ann: " in text
    run("gin", "analyse", [*common, "--mistakes", "--json"])
    assert json.loads(capsys.readouterr().out) == [each.to_json() for each in mistakes(home, "Ann")]
    match, path = Match("eaai", seed=5), tmp_path / "hand.gin"
    match.push("pass")
    path.write_text(format_record(match))
    run("gin", "analyse", [str(path), "--worlds", "8", "--json"])
    assert json.loads(capsys.readouterr().out)["hands"]


def test_a_total_below_nothing_is_said_to_be_chance() -> None:
    """It is the error of the estimates: no decision can be better than the best."""
    below, nothing, above = (Side(13, loss, dict.fromkeys(MARKS, 0), None) for loss in (-0.025, 0.0, 0.025))
    assert [below.loss_text(unit, " of all") for unit in (GAME, POINTS)] == [NO_LOSS, NO_LOSS]
    assert nothing.loss_text(GAME) == "0.0" and above.loss_text(GAME, " %") == "2.5 %"


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ("nowhere.gin", "'nowhere.gin' gin1"), ("--game 1 --mistakes", "--game --mistakes"), ("--hand 99", "99 1"),
    ],
)  # fmt: skip
def test_what_gin_analyse_cannot_do_is_one_sentence(home: Home, arguments: str, facts: str) -> None:
    with refuses(SystemExit, "gin analyse", *facts.split()):
        run("gin", "analyse", ["--home", str(home.path), "--worlds", "8", *arguments.split()])


def test_whoever_has_not_finished_a_hand_is_told_so(tmp_path: Path) -> None:
    ann = Home(tmp_path).create("Ann")
    ann.import_record("begun", format_record(Match("eaai", seed=5)))
    ann.close()
    with refuses(SystemExit, "gin analyse", "finished"):
        run("gin", "analyse", ["--home", str(tmp_path)])
