"""The host plays with players of the 2021 EAAI challenge as the challenge would, and a bad one forfeits by name."""

import re
from dataclasses import replace

import pytest

from agents.arena import MatchSettings, play_match
from agents.arena.conformance import check
from tests.support.compilers import JAVA, PATIENT, STAND_INS, build_host, build_players

SALT = f"{5:032x}"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return build_host(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="module")
def classes(host, tmp_path_factory):
    theirs = build_players(tmp_path_factory.mktemp("theirs"), sorted(STAND_INS.glob("*/*.java")))
    return f"{host}:{theirs}"


@pytest.fixture
def play(classes):
    def play(player, *, opponent="simple", pairs=4, seconds=60.0, java="", **settings):
        spec = f"cmd:{JAVA} {java} -cp {classes} Host {player}"
        settings = MatchSettings(salt=SALT, limits=replace(PATIENT, seconds=seconds), **settings)
        return play_match(spec, opponent, pairs=pairs, settings=settings)

    return play


def the_fault(result, kind="illegal move"):
    [fault] = result.faults
    assert fault["kind"] == kind
    return fault["first"]


def test_a_hosted_player_conforms(classes):
    found = check(f"{JAVA} -cp {classes} Host players.Simple", hands=6, limits=PATIENT)
    assert not found.wrong
    assert not any("plays differently" in note for note in found.notes)


def calls(path):
    """What a recorder was told, as lists of words, hand by hand."""
    lines = [line.replace(" -> ", " ").split(" ") for line in path.read_text(encoding="utf-8").splitlines()]
    hands: list[list[list[str]]] = []
    for line in lines:
        if line[0] == "startGame":
            hands.append([])
        if line[0] != "new":
            hands[-1].append(line)
    return hands


def cards(text):
    return set(re.findall("[A2-9TJQK][CHSD]", text))


# One hand after the other, so that the record is not mixed; an opponent that knocks, and one that lets the player knock.
@pytest.mark.parametrize("opponent", ["simple", "random"])
def test_a_player_receives_the_challenges_events(opponent, play, tmp_path):
    record = tmp_path / "calls"
    result = play("players.Recorder", opponent=opponent, pairs=3, batch=1, java=f"-Drecord={record}")
    assert not result.faults
    hands = calls(record)
    assert len(hands) == result.games["hands"].sum()
    seen = {name for hand in hands for name, *_ in hand}
    assert seen >= {"willDrawFaceUpCard", "getDiscard", "reportFinalMelds", "reportFinalHand", "reportScores"}
    for hand in hands:
        check_hand(hand)
    if opponent == "simple":
        assert "reportLayoff" in seen


def check_hand(hand):
    """One hand's calls against the challenge's order: own cards, pile and turns follow from them."""
    (_, me, starter, dealt), *rest, last = hand
    hand_cards, pile, drew, knocked = cards(dealt), None, False, False
    assert len(hand_cards) == 10 and starter in "01" and last[0] == "reportScores"
    for before, (name, *words), after in zip(hand, rest, [*rest[1:], last], strict=False):
        mine = bool(words) and words[0] == me
        if name == "willDrawFaceUpCard":
            assert pile is None or words[0] == pile
            pile = words[0]
            if words[1] == "true":
                assert after == ["reportDraw", me, pile]
        elif name == "reportDraw":
            drew = mine
            if mine:
                assert words[1] != "null" and len(hand_cards) == 10
                hand_cards.add(words[1])
                assert after[0] == "getDiscard"
            else:
                # The first upcard is not told but in a question; who was not asked hears of it when it is taken.
                assert words[1] in ("null", pile) or pile is None
        elif name == "getDiscard":
            assert before[0] == "reportDraw" and words[0] in hand_cards and after == ["reportDiscard", me, words[0]]
        elif name == "reportDiscard":
            pile = words[1]
            if mine:
                assert drew
                hand_cards.remove(pile)
                assert after[0] == "getFinalMelds"
        elif name == "getFinalMelds" and words[0] != "null":
            assert cards(words[0]) <= hand_cards and after[0] == "reportFinalMelds"
            knocked = knocked or before[0] == "reportDiscard"
        elif name == "reportLayoff":
            # Told to both, of the one who did not knock.
            assert (words[0] == me) != knocked
            assert len(cards(words[2])) >= 3 and words[1] not in cards(words[2])
        elif name == "reportFinalHand":
            assert len(cards(words[1])) == 10
            assert not mine or cards(words[1]) == hand_cards
    reports = [words[0] for name, *words in hand if name == "reportFinalMelds"]
    # The knocker's melds, then the defender's; none where the stock ran out.
    assert reports in ([], [me, str(1 - int(me))] if knocked else [str(1 - int(me)), me])
    assert {words[0] for name, *words in hand if name == "reportFinalHand"} >= {me}


def test_a_player_that_throws_loses_that_game_alone_and_the_exception_is_named(play):
    result = play("players.Throws", pairs=8, unit="hands")
    assert "getDiscard threw java.lang.IllegalStateException: no idea what to do with" in the_fault(result)
    assert 0 < result.games["forfeits"][:, 0].sum() < 16


@pytest.mark.parametrize(
    ("player", "words"),
    [
        ("Nonsense", "getDiscard returned .., which is not in hand"),
        ("WrongMelds", "getFinalMelds returned .*, which is no meld"),
        ("HighKnock", "getFinalMelds knocks with [0-9]+ points of deadwood; 10 are the most"),
        ("TakesBack", "getDiscard returned the upcard that it just took, .."),
    ],
)
def test_a_player_that_breaks_the_rules_forfeits_with_a_reason(player, words, play):
    result = play(f"players.{player}", pairs=1)
    assert re.search(words, the_fault(result))
    assert (result.games["winner"] == 1).all()


def test_a_player_that_hangs_runs_out_of_time(play):
    result = play("players.Hangs", pairs=1, seconds=1.0)
    assert "no answer in 1 s" in the_fault(result, "timeout")
    assert (result.games["winner"] == 1).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("players.ThrowsAtOnce", "the constructor threw java.lang.UnsupportedOperationException: not today"),
        ("players.Missing", "no class players.Missing on the class path"),
        ("players.Simple --max-batch many", "--max-batch needs a number from 1 to 999999, got many"),
    ],
)
def test_unplayable_settings_are_refused_at_the_start(arguments, words, play):
    assert words in the_fault(play(arguments, pairs=1), "crash")


def test_one_object_plays_all_games_one_after_the_other(play, tmp_path):
    for option, objects in (("--one-object", 1), ("", 4)):
        record = tmp_path / f"calls{objects}"
        result = play(f"{option} players.Recorder", pairs=2, batch=1, java=f"-Drecord={record}")
        assert not result.faults
        assert record.read_text(encoding="utf-8").count("new\n") == objects
    assert "play with --batch 1" in the_fault(play("--one-object players.Simple"))


def test_a_player_with_static_fields_gets_classes_of_its_own_for_each_game(play):
    assert "another hand was dealt meanwhile" in the_fault(play("--shared-classes players.Shares"))
    # The field is not its own, but that of a class it uses.
    assert not play("players.SharesByAnother").faults
    assert not play("--own-classes players.Simple", pairs=1).faults


def test_a_player_and_the_challenge_s_classes_may_be_in_the_default_package(play, host, tmp_path):
    sources = []
    theirs = (STAND_INS / "players" / f"{name}.java" for name in ("Trivial", "Simple"))
    for source in [*STAND_INS.glob("ginrummy/*.java"), *theirs]:
        text = re.sub(r"^(package .*|import ginrummy\..*)$", "", source.read_text(encoding="utf-8"), flags=re.M)
        # Some copies of the challenge's classes keep this one to themselves.
        text = text.replace("public static Card getCard(int id)", "private static Card getCard(int id)")
        (tmp_path / source.name).write_text(text, encoding="utf-8")
        sources.append(tmp_path / source.name)
    plain = f"{host}:{build_players(tmp_path / 'classes', sources)}"
    packaged = play("players.Simple")
    spec, settings = f"cmd:{JAVA} -cp {plain} Host --card Card", MatchSettings(salt=SALT, limits=PATIENT)
    here = play_match(f"{spec} --interface GinRummyPlayer Simple", "simple", pairs=4, settings=settings)
    assert not here.faults and (here.games == packaged.games).all()
