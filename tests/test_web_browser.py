"""The table in a real browser: whole games by mouse and by keys alone, focus, sizes, and what axe-core finds."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from agents.analysis import Analyst
from agents.play.review import analyse_games
from ginenv.tables.players import make_player
from tests.support.browser import Table, Visitor
from tests.support.scale import SCALE
from tests.support.session_scenes import FITS, KNOCKS, NO_MELD, deck, prepared
from tests.support.web_scenes import Slow, command_of

pytestmark = pytest.mark.browser


@pytest.fixture
def table(tmp_path, monkeypatch):
    tables = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def make(game=None, **options):
        tables.append(Table(tmp_path, game, **options))
        return tables[-1]

    yield make
    for each in tables:
        each.close()


@pytest.fixture
def sit(chrome):
    contexts = []

    def make(table, keys=False, width=1280, height=800, name="Ann", **settings):
        contexts.append(chrome.new_context(viewport={"width": width, "height": height}, **settings))
        return Visitor(contexts[-1].new_page(), table, keys, name)

    yield make
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("rules", "keys"), [("gr-oklahoma,target=40", False), ("ht1,target=40", True)])
def test_whole_games_are_played(table, sit, rules, keys):
    there = table(rules=rules)
    person = sit(there, keys)
    person.begin()
    person.play_game()
    assert person.faults == []
    shown = person.page.inner_text("#table")
    assert any(words in shown for words in ("You win the game", "Formula wins the game", "Nobody wins"))
    assert str(there.person.session.match.sheet().totals[0]) in shown


def test_a_card_is_moved_by_dragging_and_by_keys(table, sit):
    there = table(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0))
    person = sit(there)
    person.begin()
    page = person.page
    first = page.locator("#hand .card").first.get_attribute("id")
    fourth, begin, end = "#hand li:nth-child(4)", {"x": 12, "y": 40}, {"x": 60, "y": 40}
    page.drag_and_drop(f"#{first}", f"{fourth} .card", source_position=begin, target_position=end)
    page.locator(f"{fourth} #{first}").wait_for()
    page.focus(f"#{first}")
    page.keyboard.press("Shift+ArrowRight")
    page.locator(f"#hand li:nth-child(5) #{first}").wait_for()
    page.wait_for_timeout(100)
    assert page.locator(":focus").get_attribute("id") == first, "the focus stays on the card"
    page.keyboard.press("h")
    page.locator(".hint:visible").wait_for()
    assert there.person.session.hand.history == [] and person.faults == []


def test_no_page_scrolls_sideways_on_a_phone_or_fetches_anything_elsewhere(table, sit, monkeypatch):
    monkeypatch.setattr("agents.play.review.WORLDS", 8)
    there = table(prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1, opponent="level-1"))
    person = sit(there, width=390, height=844)
    page, urls = person.page, []
    page.on("request", lambda request: urls.append(request.url))
    person.begin()
    # Whatever the level does.
    while not there.person.session.hand.is_over:
        person.move()
    page.locator("#outcome").wait_for()
    page.goto(there.address + "/analysis")
    page.locator(".analysis").wait_for()
    analysis, last_step = page.url, "/replay?record=1&at=9999"
    pages = "/ /table /rules /options /players /records /mistakes /practice /statistics /daily /learned?level=level-1"
    for address in (analysis, *(there.address + path for path in [last_step, *pages.split()])):
        page.goto(address)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, f"{address} is {width} wide"
        cut = page.evaluate(
            "[...document.querySelectorAll('nav a, td')].filter(each => each.getBoundingClientRect().right > 390).length"
        )
        assert not cut, f"{cut} links or cells of {address} are cut off"
    page.goto(there.address + "/table")
    assert " ".join(page.locator(".me .name").all_inner_texts()).split() == [
        "Ann",
        str(there.person.session.match.score[0]),
    ]
    assert len(urls) > 10 and all(url.startswith((there.address, "data:")) for url in urls), (
        "nothing is fetched elsewhere"
    )


def test_the_statistics_fit_a_phone(table, sit):
    there = table(rules="eaai,target=0", opponent="simple")
    session, decent = there.person.session, make_player("random")
    for _ in range(4):
        session.new_game()
        session.go_on()
        while not session.hand.is_over:
            session.play(int(decent.act(session.hand.view(session.seat))[0]))
            session.go_on()
    analyse_games(there.people.home, "Ann", Analyst(2))
    page = sit(there, width=390, height=664).page
    page.goto(there.entrance)
    page.goto(there.address + "/statistics")
    assert page.locator("figure svg").count() == 2
    wide = page.evaluate(
        "[...document.querySelectorAll('main, main *:not(thead, thead *)')].filter(each => each.getBoundingClientRect().right > 390"
        " || each.getBoundingClientRect().left < 0 || (each.scrollWidth > each.clientWidth + 1"
        " && getComputedStyle(each).overflowX !== 'visible' && !each.closest('.hush'))).map(each => each.outerHTML.slice(0, 120))"
    )
    assert not wide, wide


def test_verdict_and_hands_are_above_the_fold_of_every_decision(table, sit, monkeypatch):
    monkeypatch.setattr("agents.play.review.WORLDS", 8)
    there = table(prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1))
    person = sit(there, height=720)
    page = person.page
    person.begin()
    while not there.person.session.hand.is_over:
        person.move()
    page.locator("#outcome").wait_for()
    page.goto(there.address + "/analysis")
    page.locator(".analysis").wait_for()
    for move in page.locator("ol.moves li").evaluate_all("items => items.map(each => each.value)"):
        page.goto(f"{page.url.partition('&move=')[0]}&move={move}")
        page.locator(f"#move-{move}[aria-current]").wait_for()
        for part in ("#decision", ".reason", ".position .pictures svg"):
            box = page.locator(part).bounding_box()
            assert box["height"] > 20 and box["y"] + box["height"] <= 720, (move, part, box)
        assert page.locator(".position .pictures svg").bounding_box()["height"] > 300


SIZES = [(1280, 720), (1440, 900), (1920, 1080), (768, 1024), (390, 664)]
# Where every button and every card of the hand is, how far the table reaches, and what can be scrolled.
LOOK = """() => {
    const box = each => { const {x, y, width, height} = each.getBoundingClientRect(); return [x, y, width, height].map(Math.round); };
    const buttons = [...document.querySelectorAll("#act button[id]:not(.card, .way), #act a[id]")].map(each => [each.id, box(each)]);
    const cards = [...document.querySelectorAll("#hand li")].map((each, n) => [`card ${n}`, box(each)]);
    const all = [...document.querySelectorAll("#act, #act *")];
    const scrolls = all.filter(each => each.scrollHeight > each.clientHeight + 1 && getComputedStyle(each).overflowY === "auto");
    const hand = [...document.querySelectorAll("#hand .card")].map(each => each.getBoundingClientRect());
    const cloth = document.getElementById("act").getBoundingClientRect();
    return {
        phase: document.getElementById("table").dataset.phase,
        places: [...buttons, ...cards],
        page: [document.documentElement.scrollWidth, document.documentElement.scrollHeight],
        sides: hand.length === 10 ? [hand[0].left - cloth.left, cloth.right - hand[9].right] : [0, 0],
        scrolls: scrolls.map(each => each.outerHTML.slice(0, 90)),
    };
}"""


def test_a_hand_that_is_played_on_fits_the_window_and_leads_back(table, sit):
    there = table(prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1))
    person = sit(there)
    page = person.page
    person.begin()
    while not there.person.session.hand.is_over:
        person.move()
    page.goto(there.address + "/replay?record=1&at=1")
    page.click("text=Play on >> nth=-1")
    page.locator('#act[action="/play-on"]').wait_for()
    session = there.person.side_table.session
    for size in SIZES:
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        box, seen = page.locator("#to-recorded").bounding_box(), page.evaluate(LOOK)
        assert 0 < box["x"] < size[0] - box["width"] and 0 < box["y"] < page.locator(".saying").bounding_box()["y"], (
            size
        )
        assert not seen["scrolls"] and all(have <= room for have, room in zip(seen["page"], size, strict=True)), seen
    while not session.hand.is_over:
        session.play(int(person.decent.act(session.view.reshape(1))[0]))
        session.go_on()
    page.emulate_media(reduced_motion="reduce")
    for size in SIZES:
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        page.goto(there.address + "/play-on")
        assert "In the record: " in page.inner_text(".result")
        seen = page.evaluate(LOOK)
        assert not seen["scrolls"] and all(have <= room for have, room in zip(seen["page"], size, strict=True)), seen
    page.click("#do-back")
    page.locator("#steps").wait_for()
    assert page.url.endswith("/replay?record=1&at=1") and person.faults == []


def test_nothing_moves_within_a_phase_and_nothing_has_to_be_scrolled(table, sit):
    there = table(rules="ht1", opponent="simple")
    person = sit(there)
    person.begin()
    page, seat, places, faults = person.page, there.person.table, {}, []
    # Where things are once they have come to rest.
    page.emulate_media(reduced_motion="reduce")
    for step in range(12 * SCALE):
        live = seat.session
        if step % 3 == 1:
            seat.command("hint", {})
        page.goto(there.address + "/table")
        if step % 2:
            page.evaluate("document.querySelector('#hand [aria-pressed]')?.setAttribute('aria-pressed', 'true')")
        for size in SIZES:
            page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
            seen = page.evaluate(LOOK)
            if seen["scrolls"] or any(have > room for have, room in zip(seen["page"], size, strict=True)):
                faults.append((step, size, seen["phase"], seen["page"], seen["scrolls"]))
            left, right = seen["sides"]
            if size[0] > 1000 and abs(left - right) > 4:
                faults.append((step, size, "the ten cards are not in the middle", left, right))
            for name, box in seen["places"]:
                before = places.setdefault((size, seen["phase"], name), box)
                if box != before:
                    faults.append((step, size, seen["phase"], name, before, box))
        do, values = (
            ("next", {}) if live.hand.is_over else command_of(live, int(person.decent.act(live.hand.view(0))[0]))
        )
        seat.command(do, {"at": seat.mark, **values})
        if seat.pending_knock is not None and step % 2:
            seat.command("just discard", {"at": seat.mark, **values})
        if live.match.is_over:
            break
    assert not faults, faults[:8]
    assert {"draw", "discard"} <= {phase for _, phase, _ in places}


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The script of axe-core, from its npm package."""
    if (chosen := os.environ.get("AXE_CORE")) is not None:
        return Path(chosen).read_text(encoding="utf-8")
    if shutil.which("npm") is None:
        pytest.skip("axe-core comes from its npm package, and there is no npm (or set AXE_CORE to axe.min.js)")
    place = tmp_path_factory.mktemp("axe")
    packed = subprocess.run(["npm", "pack", "axe-core@4"], cwd=place, capture_output=True, text=True)
    if packed.returncode:
        pytest.skip("the npm package axe-core cannot be had here")
    shutil.unpack_archive(next(place.glob("*.tgz")), place, "gztar")
    return (place / "package" / "axe.min.js").read_text(encoding="utf-8")


def look(page, axe: str, where: str) -> None:
    """Fails if axe-core finds fault with a page, or if it is wider than its window, on a small laptop and on a phone."""
    before = page.viewport_size
    page.evaluate(axe)
    for width, height in ((1280, 720), (390, 664)):
        page.set_viewport_size({"width": width, "height": height})
        found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})")
        first = [(each["id"], each["nodes"][0]) for each in found["violations"]]
        faults = [(rule, node["html"][:160], node["failureSummary"]) for rule, node in first]
        assert not faults, f"{where}, {width} wide: {json.dumps(faults, indent=1)}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{where} is too wide"
    page.set_viewport_size(before)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(table, sit, axe, scheme, monkeypatch):
    monkeypatch.setattr("agents.play.review.WORLDS", 8)
    there = table(prepared("ht1", deck(KNOCKS, FITS, "KD", "KC"), 1), memory="on")
    person = sit(there, color_scheme=scheme, bypass_csp=True)
    person.begin()
    page = person.page
    look(page, axe, "the first upcard")
    page.click("#do-pass")
    page.locator("h2 >> text=Formula has knocked").wait_for()
    look(page, axe, "lay-off")
    page.click("#do-done")
    page.locator("#outcome").wait_for()
    look(page, axe, "the end of a hand")
    page.goto(there.address + "/analysis")
    page.locator(".analysis").wait_for()
    look(page, axe, "the analysis of a hand")
    page.goto(there.address + "/replay?record=1")
    look(page, axe, "a record")
    page.goto(there.address + "/options")
    for cloth in ("green", "blue", "wine", "slate"):
        page.click(f"button:has-text('{cloth} cloth')")
        page.goto(there.address + "/table")
        page.click("#do-next") if page.locator("#do-next").count() else None
        page.locator("#hand").wait_for()
        look(page, axe, f"{cloth} cloth")
        page.goto(there.address + "/options")
    for path in "/ /daily /rules /options /players /statistics /learned /records /mistakes /practice".split():
        page.goto(there.address + path)
        look(page, axe, path)


@pytest.mark.parametrize(("scheme", "size"), [("light", (1280, 720)), ("dark", (390, 664))])
def test_a_friend_is_invited_and_the_score_sheet_stays_where_it_is(table, sit, axe, scheme, size):
    there, network = table(rules="ht1"), "192.168.7.8"
    there.app.state.host = network
    width, height = size
    ann = sit(there, width=width, height=height, color_scheme=scheme, bypass_csp=True)
    page = ann.page
    page.goto(there.entrance)
    # On a phone the bar with the button may lie over it until one scrolls.
    page.locator("[value=friend]").evaluate("it => it.scrollIntoView({block: 'center'})")
    page.check("[value=friend]", force=True)
    page.select_option("#place", "network")
    page.click("button:has-text('Begin a game')")
    page.locator("#unnamed").wait_for()
    assert page.locator(":focus").get_attribute("id") == "friend" and page.input_value("#place") == "network"
    look(page, axe, "a friend without a name")
    page.keyboard.type("Bob")
    page.keyboard.press("Enter")
    page.locator(".qr").wait_for()
    look(page, axe, "the link")
    page.click("text=Copy")
    page.locator("text=Copied").wait_for()
    bob = sit(there, name="Bob").page
    bob.goto(page.input_value("#link").replace(network, "127.0.0.1"))
    bob.goto(there.address + "/table")
    # Nobody reloads the page.
    page.locator("#table").wait_for()
    look(page, axe, "the table")
    live, places = there.person.session, set()
    if live.is_turn:
        there.person.table.command("pass", {"at": there.person.table.mark})
        page.reload()
    page.click(".sheet-button") if width < 900 else None
    for phase in ("waiting", "draw" if live.hand.history else "upcard"):
        page.locator(f'#table[data-phase="{phase}"]').wait_for()
        places.add(str(page.locator("#score").bounding_box()))
        friend = there.people.person("Bob").table
        friend.command("pass", {"at": friend.mark})
    assert len(places) == 1 and places != {"None"}
    assert ann.faults == []


def test_every_move_has_a_tone_unless_a_key_has_switched_them_off(table, sit):
    there = table(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0))
    person = sit(there)
    # Counts the tones, and plays them.
    counts = "const start = OscillatorNode.prototype.start; window.tones = 0;"
    counts += "OscillatorNode.prototype.start = function (time) { window.tones++; start.call(this, time); };"
    person.page.add_init_script(counts)
    person.begin()
    page, number = person.page, lambda: person.page.evaluate("tones")
    page.click("#do-pass")
    page.locator("#do-knock").wait_for()
    page.wait_for_function("tones > 0")
    page.keyboard.press("o")
    page.locator("#do-sounds[aria-pressed=false]").wait_for()
    heard = number()
    person.pick("KC")
    page.click("#do-discard")
    page.click("#do-just-discard")
    page.locator("#table[data-phase=draw], #table[data-phase=over]").wait_for()
    assert number() == heard
    page.keyboard.press("o")
    page.locator("#do-sounds[aria-pressed=true]").wait_for()
    assert number() == heard, "switching them on is no move"
    assert person.faults == []


def test_an_answer_that_takes_time_says_so_and_refuses_a_click_that_comes_meanwhile(table, sit):
    there = table(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0))
    person = sit(there)
    person.begin()
    page = person.page
    sign = page.locator("#busy")
    slow: Any = Slow(there.person.session.opponent)
    there.person.session.opponent = slow
    page.click("#do-pass")
    sign.wait_for(state="visible")
    before = sign.inner_text()
    page.locator("#hand .card").first.click()
    assert before and sign.inner_text() not in ("", before)
    slow.go_on.set()
    sign.wait_for(state="hidden")
    assert there.person.session.hand.history


@pytest.fixture
def drawn(table, sit):
    """Somebody in front of a turn in which a knock is possible, having drawn."""
    there = table(prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0))
    person = sit(there)
    person.begin()
    person.press("p", "#do-pass")
    person.page.locator("#do-knock").wait_for()
    return person


def test_a_double_click_presses_one_button_only(drawn):
    page, live = drawn.page, drawn.table.person.session
    drawn.pick("KC")
    page.click("#do-discard")
    page.locator("#do-just-discard").wait_for()
    box = page.locator("#do-knock").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    # What a browser reports when the button is under the second click of a double click.
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.wait_for_timeout(300)
    assert not live.hand.is_over and page.locator("#do-just-discard").count() == 1
    page.click("#do-knock")
    page.locator("#outcome").wait_for()


def test_going_back_and_forth_shows_the_game_as_it_is(drawn):
    page = drawn.page
    page.go_back()
    assert "There is an unfinished game" in page.inner_text("main")
    drawn.table.person.table.command("discard", {"card": "AD", "at": drawn.table.person.table.mark})
    page.go_forward()
    page.locator(f'#table[data-at="{drawn.table.person.table.mark}"]').wait_for()
    assert drawn.faults == []


def test_a_lost_server_is_reported_on_the_page(drawn):
    drawn.table.close()
    drawn.page.click("#do-hint")
    drawn.page.locator("#trouble:visible >> text=The server does not answer; the game is kept.").wait_for()
    assert drawn.page.locator("#hand .card").count() == 11, "the table stays on the page"
