"""The page of the example: whole games in a real browser, by mouse and by touch, from a folder."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import PATIENCE, browser

PAGE = Path("examples/app/index.html").resolve()
# Of decisions; a game takes some two hundred.
_ENOUGH = 3000

# The browser's random numbers, always the same ones: a game that one hand may end would test no second hand.
_SEEDED = """
let state = 2463534242;
crypto.getRandomValues = (array) => {
  for (let index = 0; index < array.length; index++) {
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    array[index] = state >>> 0;
  }
  return array;
};
"""

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("preset", "level", "touch"), [("dg-standard", 0, False), ("gr-oklahoma", 1, True)])
def test_a_whole_game_against_a_level(preset: str, level: int, touch: bool) -> None:
    with browser() as opened:
        size = {"width": 360, "height": 640} if touch else {"width": 1000, "height": 700}
        page = opened.new_context(viewport=size, has_touch=touch).new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(_SEEDED)
        faults: list[str] = []
        requests: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(PAGE.as_uri())
        page.select_option("#rules", preset)
        page.select_option("#level", index=level)
        press: Callable[[Any], None] = (lambda found: found.tap()) if touch else (lambda found: found.click())
        press(page.locator("#start"))
        hands = _play(page, press)
        # From the score sheet of the last hand: somebody has reached the target.
        you, other, target = map(int, re.findall(r"-?\d+", page.locator("#score").inner_text()))
        assert max(you, other) >= target == (150 if preset == "gr-oklahoma" else 100)
        assert hands > 1 and "game" in page.locator("#status").inner_text()
        assert faults == [] and all(url.startswith(PAGE.parent.as_uri()) for url in requests)


# Whether everything fits, what can be done, and how many cards can be pressed.
_LOOK = """() => [
  document.documentElement.scrollWidth <= innerWidth,
  [...document.querySelectorAll("#actions button")].map((button) => button.dataset.id),
  document.querySelectorAll("#hand button:enabled").length,
]"""


def _play(page: Any, press: Callable[[Any], None]) -> int:
    """Plays to the end of the game, always by what stands last; returns the number of hands."""
    hands = 1
    for _ in range(_ENOUGH):
        fits, actions, cards = page.evaluate(_LOOK)
        assert fits
        if actions == ["new"]:
            return hands
        # A card to select, or one to lay off.
        if not actions or (actions == ["action-106"] and cards):
            press(page.locator("#hand button:enabled").last)
            continue
        hands += actions == ["next"]
        press(page.locator("#actions button").last)
    raise AssertionError("the game does not end")
