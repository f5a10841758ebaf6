"""Two people in two real browsers, of which one is killed now and then: ``python -m tests.test_web_friends_browser GAMES KILLS``."""

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from ginenv.engine.cards import card_name, cards_of
from tests.support.browser import Person, Table, browser

pytestmark = pytest.mark.browser
NAMES = ("Ann", "Bob")


class Two:
    """Ann and Bob, each with an own browser, which are told apart by their cookies.

    Args:
        chrome: the browser.
        home: where everything is kept.
        seed: of who is killed, and when.
    """

    def __init__(self, chrome: Any, home: Path, seed: int) -> None:
        self.chrome, self.rng = chrome, np.random.default_rng(seed)
        self.table = Table(home, rules="dg-standard,target=15")
        self.faults: list[str] = []
        self.ann = self._sit("Ann")
        page = self.ann.page
        page.goto(self.table.entrance)
        page.locator("label:has([value=friend])").click()
        page.fill("#friend", "Bob")
        page.click("button:has-text('Begin a game')")
        (self.link,) = re.findall(r"http://\S+token=\w+", page.inner_text("#messages"))
        self.bob = self._sit("Bob")
        self.bob.page.goto(self.link)

    def _sit(self, name: str) -> Person:
        return Person(
            self.chrome.new_context(viewport={"width": 1280, "height": 800}).new_page(), self.table, False, name
        )

    def kill(self, name: str) -> None:
        """Somebody's browser is gone with all its cookies, and comes back by its address."""
        old = getattr(self, name.lower())
        old.page.context.close()
        self.faults += old.faults
        new = self._sit(name)
        setattr(self, name.lower(), new)
        new.page.goto(self.link if name == "Bob" else self.table.entrance)
        new.page.goto(f"{self.table.address}/table")

    def _look(self, person: Person) -> None:
        """Waits until a page shows what the server has, in which none of the other's cards is."""
        while True:
            live, mark = person.browser.live, person.browser.mark
            state, other = live.hand.state[0], 1 - live.seat
            hidden = int(state["hands"][other]) & ~int(state["known_cards"][other])
            is_open = live.hand.is_over or live.hand.phase == "layoff"
            page = person.page.inner_html("#table")
            if f'name="at" value="{mark}"' in page:
                break
            time.sleep(0.02)
        found = set(re.findall(r"\b[A2-9TJQK][SCDH]\b", page)) & set(map(card_name, cards_of(hidden)))
        assert is_open or not found, f"{person.name} sees {found} at {mark}: {page}"

    def step(self, kill: bool) -> None:
        """One move of whoever is to move, in the midst of which a browser may be killed; nobody sees the other's cards."""
        for person in (self.ann, self.bob):
            self._look(person)
        live = self.ann.browser.live
        anns = self.rng.integers(2) if live.hand.is_over else live.hand.turn == live.seat
        mover = self.ann if anns else self.bob
        if live.match.is_over:
            mover.page.click("#do-another-game")
            mover.page.locator('#table:not([data-phase="over"])').wait_for()
        elif kill:
            mover.act()
            self.kill(NAMES[int(self.rng.integers(2))])
            time.sleep(float(self.rng.random() * 0.2))
        else:
            mover.move()


def play(chrome: Any, home: Path, games: int, kills: int, seed: int = 1) -> Two:
    """Plays games to their ends; browsers are killed at moments spread over them, and both people have the same records then."""
    two, killed, since = Two(chrome, home, seed), 0, 0
    try:
        # A game may be over before everybody was killed who should be; then another begins.
        while (done := sum(game.over for game in two.ann.browser.session.file.games())) < games or killed < kills:
            since += 1
            due = killed < kills and (killed + 0.5) / kills * games <= done + min(since / 12, 1)
            due = due and not two.ann.browser.live.match.is_over
            killed, since = (killed + 1, 0) if due else (killed, since)
            two.step(due)
    finally:
        two.table.close()
    records = [
        [two.table.sessions.home.record_text(game.id) for game in two.table.sessions.home.games(name)] for name in NAMES
    ]
    assert len(records[0]) >= games and records[0] == records[1] and killed == kills
    assert two.faults + two.ann.faults + two.bob.faults == []
    return two


def test_two_people_play_in_two_browsers_of_which_one_is_killed(chrome, tmp_path):
    play(chrome, tmp_path, games=1, kills=2)


if __name__ == "__main__":
    begun = time.monotonic()
    with browser() as opened, tempfile.TemporaryDirectory() as folder:
        play(opened, Path(folder), *map(int, sys.argv[1:3]))
    print(f"{sys.argv[1]} games by two browsers, killed {sys.argv[2]} times, in {time.monotonic() - begun:.0f} s")
