"""The other pages of the table in the browser: rules, players, what levels learn, records, analysis, mistakes."""

import re
from urllib.parse import urlencode

import numpy as np
import pytest

from agents.estimates import weighted
from agents.play.store import Home
from agents.web.pages import with_symbols
from agents.web.people import People
from ginenv.engine.rules import PRESETS
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player
from ginenv.view.wording import what_to_do
from tests.support.hidden import redeal_hidden
from tests.support.web_scenes import Guest, attribute, browser_of, plain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_rules_are_chosen_by_preset_and_rule_by_rule(guest):
    ann = guest()
    shown = ann.get("/rules")
    assert all(f'value="{name}"' in shown for name in PRESETS)
    assert "The rules are Automatic gin, Oklahoma." in plain(ann.post("/options", rules="gr-oklahoma", back="/rules"))
    fields = dict(re.findall(r'<input id="rule-(\w+)"[^>]* value="(\d+)"', ann.get("/rules")))
    assert fields["target"] == "150"
    ann.post("/rules", preset="gr-oklahoma", **fields | {"target": "90"})
    for wrong, words in [
        ({"preset": "eaai", "target": "9999"}, "0 to 500"), ({"preset": "grr"}, "'grr'"), ({"preset": "gr", "colour": "red"}, "'colour'"),
        ({"preset": "gr", "ranks": "10", "suits": "2"}, "deck"),
    ]:  # fmt: skip
        assert words in plain(ann.post("/rules", **wrong)), wrong
    assert ann.person.session.options.rules == "gr-oklahoma,target=90"
    assert "'formulla'" in plain(ann.post("/options", opponent="formulla"))


def test_pages_call_opponents_and_rules_as_the_lobby_does(guest):
    ann = guest(opponent="level-2", rules="dg-oklahoma")
    lobby, rules = ann.get("/"), ann.get("/rules")
    names = re.compile(
        r'(?:radio" name|button name)="(?:opponent|rules)" value="([^"]*)"[^>]*>\s*<strong>([^<]*)</strong>\s*<span>([^<]*)'
    )
    called = {value: (name, words) for value, name, words in names.findall(rules)}
    assert {
        value: (name, words) for value, name, words in names.findall(lobby) if value != "friend"
    }.items() <= called.items()
    assert "=" not in "".join(words for _, words in called.values())
    assert called["level-2"][0] == "Nora" and "Oklahoma against Nora" in plain(rules)
    assert not [words for _, words in called.values() if any(preset in words.split() for preset in PRESETS)]
    # Where another opponent can be written, those that there are can be chosen.
    (offered,) = re.findall(r'<datalist id="opponents">(.*?)</datalist>', rules, flags=re.DOTALL)
    assert set(re.findall(r'value="([^"]*)"', offered)) >= called.keys() - PRESETS.keys()
    assert "Your opponent is Search, worlds 64." in plain(
        ann.post("/options", opponent="search:worlds=64", back="/rules")
    )


def test_players_come_go_and_sit_at_one_table_at_a_time(guest, tmp_path):
    ann = guest()
    assert "Bob is at the table" in plain(ann.post("/players", do="create", name="Bob"))
    assert "'Bob'" in ann.refused("/players", do="create", name="bob")
    assert "Ann is at the table" in plain(ann.post("/players", do="switch", name="Ann"))
    assert "has not played a hand yet" in ann.get("/statistics")
    # In another process (here: another lock) the player cannot sit down as well.
    other = People(Home(tmp_path))
    answer = browser_of(other).get("/")
    assert answer.status_code == 409 and "playing at another table already" in answer.text
    assert 'class="button" href="/players"' in answer.text
    ann.post("/players", do="free", name="Bob")
    other.person("Bob")
    assert "at another table already" in ann.refused("/players", do="switch", name="Bob")
    other.close()
    assert "say that you mean it" in ann.refused("/players", do="remove", name="Bob")
    assert "Bob" not in plain(ann.post("/players", do="remove", name="Bob", sure="1"))


def test_what_a_level_learns_is_shown_frozen_and_reset(guest, directory, tmp_path, monkeypatch):
    from agents.levels.level import load_level
    from agents.levels.sentences import measure_strength, what_is_learned

    level = str(directory)
    ann = guest(rules="openspiel", opponent=level, allowed=[level])
    assert "not learned from any of your hands yet" in ann.get(f"/learned?level={level}")
    for _ in range(6):
        ann.play_game()
    shown = plain(ann.get(f"/learned?level={level}"))
    home = ann.person.session.home
    (found,) = what_is_learned(tmp_path, load_level(level), "Ann", home.last_hands)
    seen = f"learned from {found.hands_shown} of your hands"
    assert found.hands_shown and seen in shown and found.sentences and found.coached in shown
    assert all(f"Ann {sentence}" in shown for sentence in found.sentences)
    assert found.position and f"hand {found.position.hand} of game {found.position.game}" in shown
    assert "appears after ten hands" in shown
    for _ in range(4):
        ann.play_game()
    (tally,) = ann.person.session.file.statistics.root
    won = [-points for points in ann.person.session.file.margins(tally)]
    earlier, later = (np.array(part, float) for part in (won[: len(won) // 2], won[len(won) // 2 :]))
    first, then, half = earlier.mean(), later.mean(), weighted((earlier, later), (-1, 1)).half
    shown = plain(ann.get(f"/learned?level={level}")).replace("−", "-")
    assert f"{first:+.1f} in your first {len(earlier)} hands, {then:+.1f} in the {len(later)} since" in shown
    assert f"a gain of {then - first:+.1f} ± {half:.1f} points per hand" in shown
    monkeypatch.setattr("agents.levels.sentences._SERIES", 4)
    address = f"/learned/strength?{urlencode({'level': level})}"
    (installed,) = measure_strength(tmp_path, load_level(level))
    assert address in ann.get(f"/learned?level={level}") and installed.points
    assert f"{installed.points[0]:+.2f}" in plain(ann.get(address)).replace("−", "-")
    ann.post("/options", learning="off", back=f"/learned?level={level}")
    assert "Frozen" in plain(ann.get(f"/learned?level={level}"))
    assert ann.person.session.options.learning is False
    ann.post("/learned", level=level, sure="1")
    assert "not learned from any of your hands yet" in ann.get(f"/learned?level={level}")
    assert ann.client.get("/learned?level=formula").status_code == 400


def test_records_are_stepped_through_and_added_and_a_bad_one_is_explained(guest):
    ann = guest(rules="openspiel")
    ann.play_game()
    history = ann.person.session.match.played[0].history
    shown = ann.get("/replay?record=1")
    assert "Ann against Formula" in plain(shown) and "one hand, step 1" in plain(shown)
    assert len(re.findall(r"<title>\w.</title>", shown)) >= 20, "both hands lie open"
    part = ann.get(attribute(shown.split('id="step-on"')[1], "hx-get").replace("&amp;", "&"), **{"HX-Request": "true"})
    assert "<html" not in part and "one hand, step 2" in plain(part)
    shown = ann.get(f"/replay?record=1&at={len(history)}")
    assert ann.person.session.match.outcomes[0].describe(("Ann", "Formula")).split(";")[0] in plain(shown)
    assert 'id="step-on"' not in shown
    ann.refused("/replay?record=77")
    text = ann.get("/records/1.gin")
    for bad in (text, "ginrecord", text.replace("actions=", "actions=k", 1), "\0" * 50):
        assert "This record cannot be added" in ann.refused("/records", text=bad)
    assert "is among your records as imported" in plain(ann.post("/records", text=text.replace("| formula", "| Otto")))
    assert "Ann against Otto" in plain(ann.get("/replay?record=2"))


@pytest.fixture
def few_worlds(monkeypatch):
    """An analyst that is quick and coarse."""
    analysis = pytest.importorskip("agents.web.analysis")
    monkeypatch.setattr("agents.play.review.WORLDS", 8)
    return analysis


def analysed(ann: Guest, path: str) -> str:
    """The page of an analysis, once it is there."""
    for _ in range(600):
        shown = ann.get(path)
        if 'class="analysis"' in shown:
            return shown
        assert "Every decision is played out in many worlds" in shown
    raise AssertionError("the analysis does not end")


def test_a_hand_is_analysed_stepped_through(guest, few_worlds):
    ann = guest(rules="openspiel")
    # A hand with cards drawn from the stock: a knock on the first upcard has no luck to show.
    ann.play_game()
    while len(ann.person.session.match.played[-1].history) < 8:
        ann.play_game()
    game = max(ann.person.session.file.games(), key=lambda game: game.id)
    hand, number = ann.person.session.match.played[-1], len(ann.person.session.match.played)
    analysed(ann, "/analysis")
    shown = analysed(ann, f"/analysis?game={game.id}&hand={number}&move=3")
    assert f"move 3. {'Ann' if hand.after(2).turn == 0 else 'Formula'}:" in plain(shown)
    # The headline names cards, and a mark stands behind the move that it is about.
    before = hand.after(2)
    played = with_symbols(what_to_do(hand.history[2], before.view(before.turn)[0]))
    heading = shown.split('id="decision"')[1].partition("</h2>")[0]
    assert f"<em>{played}</em>" in heading and 'class="mark' not in heading.partition("expert")[2]
    # The true hand stands beside the belief: as many frames as cards that are hidden or known.
    hand_cards = int(hand.after(2).state["hands"][0, 1 - hand.after(2).turn])
    assert shown.count('class="in-hand"') == hand_cards.bit_count()
    assert "expert" in shown and "lost by decisions" in shown and "Luck, draw by draw" in shown
    assert len(re.findall(r'id="move-\d+"', shown)) == len(hand.history)
    address = attribute(shown.split('id="step-on"')[1], "hx-get").replace("&amp;", "&")
    assert "move 4." in plain(ann.get(address, **{"HX-Request": "true"}))
    assert ann.person.session.file.game is None
    ann.refused("/analysis?game=77")
    # Nobody else's games.
    ann.post("/players", do="create", name="Bob")
    ann.refused(f"/analysis?game={game.id}")


def test_mistakes_are_listed_and_lead_to_their_positions(guest, few_worlds):
    ann = guest(rules="openspiel")
    ann.decent = make_player("random")
    shown = ann.get("/mistakes")
    assert "None of your hands has been analysed yet" in shown and "No mistakes" not in shown
    # A game that the other ends at once leaves no time for mistakes.
    for _ in range(5):
        ann.play_game()
        ann.post("/mistakes")
        job = ann.person.jobs.get("all")
        assert job.wait(120) and not job.error
        shown = ann.get("/mistakes")
        assert re.search(rf"\b{job.result} hands? analysed", plain(shown))
        links = re.findall(r'href="(/analysis\?all=1&amp;game=\d+&amp;hand=\d+&amp;move=(\d+))"', shown)
        if links:
            break
    assert links, "who plays at random makes mistakes"
    costs = [float(cost) for cost in re.findall(r'data-is="cost">(\d+\.\d)', shown)]
    assert costs == sorted(costs, reverse=True) and len(costs) == len(links)
    # From the costliest mistake, "next mistake" leads through all of them, and back to the list.
    place, seen = links[0][0], []
    while place != "/mistakes":
        seen.append(place)
        first = analysed(ann, place.replace("&amp;", "&"))
        assert f"move {place.rpartition('=')[2]}. Ann:" in plain(first) and 'class="reason"' in first
        (place,) = re.findall(r'id="next-mistake"[^>]*href="([^"]*)"', first)
    assert seen == [address for address, _ in links]
    plotted = ann.get("/statistics")
    assert ("mistakes per analysed hand over time" in plotted) == (len(ann.person.session.file.games()) > 1)
    kinds = {name: int(count) for name, count in re.findall(r">(draw|discard|spread|lay-off) \((\d+)\)", shown)}
    assert len(re.findall("move=", ann.get("/mistakes?kind=draw"))) == kinds["draw"]
    assert ann.client.get("/mistakes?kind=foo").status_code == 400


def test_unknown_pages_and_files_are_refused(guest):
    ann = guest()
    for path in ("/nothing", "/static/../server.py", "/static/htmx.json"):
        ann.refused(path, 404)
    ann.refused("/records/x.gin")
    assert ann.client.delete("/table").status_code == 405


def test_a_match_is_a_picture_in_a_notebook():
    match = Match("eaai", seed=3)
    picture = match._repr_svg_()
    assert picture.startswith("<svg") and "take" in picture
    hidden = redeal_hidden(match.hand.state, match.hand.turn, np.random.default_rng(1))
    match.hand.state = hidden
    assert match._repr_svg_() == picture
