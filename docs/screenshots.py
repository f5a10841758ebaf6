"""Takes the README's two screenshots of the table in the browser: `python -m docs.screenshots`, in a minute or two.

Ann plays as `formula` does against level-2, from a seed: the table is shown where she may first knock from the third hand on, the analysis
at what cost her most in that hand. It needs what the browser's tests need (`tests/support/browser.py`), and runs from the repository's
root.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agents.files import write_atomic
from agents.play.game import Game
from ginenv.engine.rules import get_rules
from tests.support.browser import Table, Visitor, browser

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1280, 800
RULES, OPPONENT, SEED = "eaai", "level-2", 3
HAND = 3
# Enough for the cards' faces and the text's edges, and a third of the bytes.
COLOURS = 256


def _save(name: str, page: Any) -> None:
    page.mouse.move(0, 0)
    seen = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    few = seen.quantize(COLOURS, dither=Image.Dither.NONE)
    write_atomic(HERE / name, lambda temporary: few.save(temporary, format="PNG", optimize=True))
    print(name)


def _play(visitor: Visitor, until: Callable[[Any], bool]) -> None:
    while not until(visitor.person.session):
        visitor.move()


def _may_knock(live: Any) -> bool:
    ready = len(live.match.outcomes) >= HAND - 1 and not live.hand.is_over and live.hand.phase == "discard"
    return ready and bool(live.view["legal"][1])


def take(visitor: Visitor) -> None:
    """Plays to both moments and takes their pictures."""
    page = visitor.page
    visitor.begin()
    _play(visitor, _may_knock)
    page.keyboard.press("h")
    page.locator(".hint").wait_for()
    _save("web-table.png", page)
    _play(visitor, lambda live: live.hand.is_over)
    page.goto(visitor.table.address + "/analysis")
    page.locator(".belief").wait_for()
    # Down to the belief's lower edge: the position reaches above the window.
    page.locator("section:has(.belief)").evaluate("each => each.scrollIntoView({block: 'end'})")
    _save("web-analysis.png", page)


def main() -> None:
    """Takes both."""
    game = Game.begin(get_rules(RULES), OPPONENT, easy=False, seed=SEED)
    with tempfile.TemporaryDirectory() as home, browser() as opened:
        table = Table(Path(home), game, memory="on")
        try:
            take(Visitor(opened.new_page(viewport={"width": WIDTH, "height": HEIGHT}), table, keys=False))
        finally:
            table.close()


if __name__ == "__main__":
    try:
        main()
    except pytest.skip.Exception as missing:
        sys.exit(str(missing))
