"""A real browser in the hands of somebody who clicks twice, goes back, reloads, and pulls the plug."""

import os

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from tests.support.browser import Person, Table
from tests.support.session_scenes import KNOCKS, NO_MELD, deck, prepared

pytestmark = pytest.mark.browser


@pytest.fixture
def sit(chrome, tmp_path, monkeypatch):
    """Somebody in front of a turn in which a knock is possible, having drawn."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    there = Table(tmp_path, prepared("eaai", deck(KNOCKS, NO_MELD, "KD", "KC"), 0))
    context = chrome.new_context(viewport={"width": 1280, "height": 800})
    person = Person(context.new_page(), there, keys=False)
    person.begin()
    person.press("p", "#do-pass")
    person.page.locator("#do-knock").wait_for()
    yield person
    context.close()
    there.close()


def test_a_double_click_presses_one_button_only(sit):
    page, live = sit.page, sit.table.browser.live
    sit.pick("KC")
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


def test_a_card_that_is_clicked_often_is_discarded_once_and_nobody_is_scolded(sit):
    page, before = sit.page, sit.table.browser.mark
    page.evaluate("for (let n = 0; n < 5; n++) document.getElementById('card-AD').click()")
    page.locator(f'#table:not([data-at="{before}"])').wait_for()
    page.wait_for_timeout(300)
    assert page.locator(".say.warning:visible").count() == 0


def test_going_back_and_forth_shows_the_game_as_it_is(sit):
    page = sit.page
    page.go_back()
    assert "There is an unfinished game" in page.inner_text("main")
    sit.table.browser.command("discard", {"card": "AD", "at": sit.table.browser.mark})
    page.go_forward()
    page.locator(f'#table[data-at="{sit.table.browser.mark}"]').wait_for()
    assert sit.faults == []


def test_a_drag_ends_with_a_reload_or_escape_and_plays_nothing(sit):
    page, before = sit.page, sit.table.browser.mark

    def lift():
        box = page.locator("#card-AD").bounding_box()
        page.mouse.move(box["x"] + 12, box["y"] + 40)
        page.mouse.down()
        page.mouse.move(box["x"] + 60, box["y"] - 120, steps=4)
        page.locator(".ghost").wait_for()

    lift()
    page.reload()
    page.mouse.up()
    page.locator("#do-knock").wait_for()
    assert page.locator(".ghost").count() == 0
    lift()
    page.keyboard.press("Escape")
    assert page.locator(".ghost").count() == 0 and page.locator(".lifted").count() == 0
    pile = page.locator("[data-drop=pile]").bounding_box()
    page.mouse.move(pile["x"] + 40, pile["y"] + 40)
    page.mouse.up()
    page.wait_for_timeout(200)
    assert sit.table.browser.mark == before and sit.faults == []


def test_a_lost_server_is_reported_on_the_page(sit):
    sit.table.close()
    sit.page.click("#do-hint")
    sit.page.locator("#trouble:visible >> text=The server does not answer; the game is kept.").wait_for()
    assert sit.page.locator("#hand .card").count() == 11, "the table stays on the page"


def test_a_refusal_is_shown_on_the_page(sit):
    sit.page.goto(sit.table.address + "/mistakes")
    sit.page.evaluate("htmx.ajax('GET', '/analysis?game=77', {target: 'main'})")
    sit.page.locator("#trouble:visible >> text=there is no game 77 in the store").wait_for()
