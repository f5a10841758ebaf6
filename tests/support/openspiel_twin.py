"""Hands replayed decision by decision in OpenSpiel's gin rummy and in this engine under the `openspiel` preset.

Legal actions, hands, phases and returns are compared at every decision. Two defects of OpenSpiel 2.0.2 touch what is compared;
a decision that meets one is counted under its name instead, and a hand that cannot go on because of one ends there:

* `best ten of eleven`: the best ten of eleven cards are not always found, so a legal knock is not offered;
* `lay-off chain`: after two cards laid off at one end of a run no third one is offered.

`python -m tests.support.openspiel_twin` (after `make peers`) writes a sample of what OpenSpiel did, which `make test` compares with
the engine without OpenSpiel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ginenv.engine.actions import KNOCK, PASS, STOCK, UPCARD
from ginenv.engine.cards import cards_of, format_cards, mask_of
from ginenv.engine.melds import deadwood, nth_arrangement
from ginenv.hands.hand import Hand
from ginenv.hands.text import actions_text
from tests.support.positions import eager

OS_UPCARD, OS_STOCK, OS_PASS, OS_KNOCK, OS_MELDS = 52, 53, 54, 55, 56
# First ids of OpenSpiel's runs of three, four and five, and how many of each a suit has.
OS_RUNS = {3: (65, 11), 4: (109, 10), 5: (149, 9)}
BEST_TEN, CHAIN = "best ten of eleven", "lay-off chain"
SAMPLE = Path(__file__).parent.parent / "data" / "openspiel_hands.txt"
SAMPLE_OF_EACH_END = 8
PHASE_LETTERS = {"upcard": "U", "draw": "D", "discard": "X", "wall": "W"}
OS_PHASES = {"upcard": "FIRST_UPCARD", "draw": "DRAW", "discard": "DISCARD", "wall": "WALL"}


@dataclass
class RecordedHand:
    """What OpenSpiel did in one hand: enough to compare an engine with it.

    Attributes:
        deck: the deal.
        actions: every action, compact (``ginenv.hands.text``).
        phases: a letter for OpenSpiel's phase at every decision: U first upcard, D draw, X discard, W wall.
        knocks: for every decision in X and W the discards with which OpenSpiel let the player knock.
        hands: cards of both seats at the last decision before a knock, or at the end.
        returns: OpenSpiel's returns.
    """

    deck: str
    actions: str = ""
    phases: str = ""
    knocks: list[str] = field(default_factory=list)
    hands: tuple[str, str] = ("", "")
    returns: tuple[int, int] = (0, 0)

    def to_line(self) -> str:
        """One line of the sample."""
        return (
            f"deck={self.deck} actions={self.actions} phases={self.phases} knocks={'|'.join(self.knocks)} "
            f"hands={self.hands[0]}:{self.hands[1]} returns={self.returns[0]}:{self.returns[1]}"
        )

    @classmethod
    def from_line(cls, line: str) -> RecordedHand:
        """A line of the sample."""
        fields = dict(word.split("=", 1) for word in line.split())
        first, second = fields["hands"].split(":")
        returns = [int(value) for value in fields["returns"].split(":")]
        return cls(
            fields["deck"],
            fields["actions"],
            fields["phases"],
            fields["knocks"].split("|"),
            (first, second),
            (returns[0], returns[1]),
        )


@dataclass
class Difference(Exception):
    """Something that OpenSpiel and the engine see differently."""

    what: str
    theirs: object
    ours: object

    def __str__(self) -> str:
        return f"{self.what}: OpenSpiel {self.theirs}, engine {self.ours}"


def _expect(what: str, theirs: object, ours: object) -> None:
    if theirs != ours:
        raise Difference(what, theirs, ours)


def meld_ids(meld: int) -> list[int]:
    """OpenSpiel's actions for a meld; runs of six and more go as two."""
    cards = cards_of(meld)
    ranks = {card % 13 for card in cards}
    if len(ranks) == 1:
        rank = ranks.pop()
        missing = {0, 1, 2, 3} - {card // 13 for card in cards}
        return [OS_MELDS + rank * 5 + (missing.pop() if missing else 4)]
    suit, low, length = cards[0] // 13, cards[0] % 13, len(cards)
    if length > 5:
        half = mask_of(cards[: length // 2])
        return meld_ids(half) + meld_ids(meld & ~half)
    first, per_suit = OS_RUNS[length]
    return [OS_MELDS + first + suit * per_suit + low]


class Twin:
    """One hand in both engines."""

    def __init__(self, root: Any, hand: Hand) -> None:
        self.theirs = root.clone()
        self.hand = hand
        self.deck = hand.state["deck"][0].tolist()
        self.met: Counter[str] = Counter()
        self.record = RecordedHand(format_cards(self.deck, separator=""))
        for card in self.deck[:21]:
            self.theirs.apply_action(card)

    def compare(self) -> None:
        """Compares phase, seat to move, hands, upcard, stock and legal actions at a decision."""
        hand, state = self.hand, self.hand.state[0]
        theirs = self.theirs
        _expect("end of the hand", theirs.is_terminal(), hand.is_over)
        took_at_wall = hand.phase == "discard" and theirs.current_phase().name == "KNOCK"
        if not took_at_wall:
            _expect("phase", theirs.current_phase().name, OS_PHASES[hand.phase])
        _expect("seat to move", theirs.current_player(), hand.turn)
        for seat in (0, 1):
            _expect(
                f"hand of seat {seat}",
                format_cards(sorted(theirs.hands()[seat])),
                format_cards(int(state["hands"][seat])),
            )
        legal = hand.legal_actions()
        offered = theirs.legal_actions()
        knocks = {action - KNOCK for action in legal if KNOCK <= action < STOCK}
        if took_at_wall:
            _expect("knocks at the wall", set(offered), knocks)
            return
        self.record.phases += PHASE_LETTERS[hand.phase]
        if hand.phase == "discard":
            _expect("discards", {action for action in offered if action < 52}, {a for a in legal if a < 52})
            self._compare_knocks(int(state["hands"][hand.turn]), OS_KNOCK in offered, knocks)
            return
        _expect("stock", theirs.stock_size(), 52 - int(state["position"]))
        top = int(state["pile"][state["num_pile"] - 1])
        _expect("upcard", theirs.upcard(), top)
        if hand.phase == "wall":
            taken = hand.copy()
            if UPCARD in legal:
                taken.push(UPCARD)
                knocks = {action - KNOCK for action in taken.legal_actions()}
            self._compare_knocks(int(state["hands"][hand.turn]) | 1 << top, OS_KNOCK in offered, knocks)
            _expect("pass at the wall", OS_PASS in offered, PASS in legal)
            return
        names = {OS_UPCARD: UPCARD, OS_STOCK: STOCK, OS_PASS: PASS}
        _expect("legal actions", {names[action] for action in offered}, set(legal))

    def _compare_knocks(self, cards: int, offered: bool, knocks: set[int]) -> None:
        found: set[int] = set()
        if offered:
            tried = self.theirs.clone()
            tried.apply_action(OS_KNOCK)
            found = set(tried.legal_actions())
        best = min(deadwood(cards & ~(1 << card)) for card in cards_of(cards))
        limit = int(self.hand.state["limit"][0])
        # What OpenSpiel takes for the deadwood of eleven cards decides whether it offers a knock at all.
        if not offered and knocks and self._their_deadwood(cards) != best:
            assert best <= limit
            self.met[BEST_TEN] += 1
        else:
            _expect("knocks", found, knocks)
        self.record.knocks.append(format_cards(sorted(found), separator=""))

    def _their_deadwood(self, cards: int) -> int:
        if cards.bit_count() == 11 and self.hand.phase == "discard":
            return self.theirs.deadwood()[self.hand.turn]
        import pyspiel

        return pyspiel.gin_rummy.GinRummyUtils(13, 4, 10).min_deadwood(cards_of(cards))

    def push(self, action: int) -> bool:
        """Plays an action in both; false when the hand cannot go on in OpenSpiel because of a defect."""
        hand, theirs = self.hand, self.theirs
        phase, turn, position = hand.phase, hand.turn, int(hand.state["position"][0])
        at_wall = theirs.current_phase().name == "KNOCK"
        cards = [int(hand_cards) for hand_cards in hand.state["hands"][0]]
        if action >= KNOCK and action < STOCK and not at_wall and OS_KNOCK not in theirs.legal_actions():
            return False
        if phase == "wall" and action == UPCARD and OS_KNOCK not in theirs.legal_actions():
            return False
        hand.push(action)
        if action < KNOCK:
            self._apply(action)
        elif action < STOCK:
            self.record.hands = (format_cards(cards[0], separator=""), format_cards(cards[1], separator=""))
            if not at_wall:
                self._apply(OS_KNOCK)
            self._apply(action - KNOCK)
            return self._settle(turn)
        elif phase == "wall":
            self._apply(OS_KNOCK if action == UPCARD else OS_PASS)
        else:
            self._apply({STOCK: OS_STOCK, UPCARD: OS_UPCARD, PASS: OS_PASS}[action])
            if int(hand.state["position"][0]) > position:
                if action == PASS:
                    # OpenSpiel asks for the draw that both passes leave no choice about.
                    _expect("after two passes", theirs.legal_actions(), [OS_STOCK])
                    self._apply(OS_STOCK)
                self.theirs.apply_action(self.deck[position])
        return True

    def _apply(self, action: int) -> None:
        if action not in self.theirs.legal_actions():
            raise Difference("legal actions", self.theirs.legal_actions(), f"{action} should be among them")
        self.theirs.apply_action(action)

    def _settle(self, knocker: int) -> bool:
        """Lays out both hands in OpenSpiel as the engine did."""
        state = self.hand.state[0]
        laid = int(state["laid"])
        for meld in state["spread"]:
            if int(meld) & ~laid:
                self._lay_meld(int(meld) & ~laid)
        self._apply(OS_PASS)
        if state["deadwood"][knocker]:
            waiting = laid
            while waiting:
                fitting = [card for card in cards_of(waiting) if card in self.theirs.legal_actions()]
                if not fitting:
                    self.met[CHAIN] += 1
                    return False
                self._apply(fitting[0])
                waiting &= ~(1 << fitting[0])
            self._apply(OS_PASS)
        cards = int(state["hands"][1 - knocker])
        _, *melds = nth_arrangement(cards, deadwood(cards), 0)
        for meld in melds:
            if meld:
                self._lay_meld(int(meld))
        self._apply(OS_PASS)
        return True

    def _lay_meld(self, meld: int) -> None:
        for action in meld_ids(meld):
            self._apply(action)

    def finish(self) -> None:
        """Compares the end of a hand."""
        _expect("end of the hand", self.theirs.is_terminal(), True)
        points, winner = int(self.hand.state["points"][0]), self.hand.state["winner"][0]
        ours = (0, 0) if winner > 1 else ((points, -points) if winner == 0 else (-points, points))
        theirs = self.theirs.returns()
        returns = (int(theirs[0]), int(theirs[1]))
        _expect("returns", returns, ours)
        self.record.returns = returns
        self.record.actions = actions_text(self.hand)
        if not any(self.record.hands):
            first, second = (format_cards(sorted(cards), separator="") for cards in self.theirs.hands())
            self.record.hands = (first, second)


def choose(hand: Hand, style: int, rng: np.random.Generator) -> int:
    """An action in one of several styles, which between them reach every end of a hand."""
    legal = hand.legal_actions()
    if style == 0:
        return int(rng.choice(legal))
    if style > 3 or (style == 1 and rng.random() < 0.8):
        return eager(hand, rng)
    if style == 1:
        # Puts knocks off, so that some hands end with gin.
        return int(rng.choice([action for action in legal if action < KNOCK or action >= STOCK] or legal))
    # Two styles that take nearly every upcard: one reaches the limit of upcards, one throws it back at once.
    if UPCARD in legal and rng.random() < 0.97:
        return UPCARD
    taken = int(hand.state["taken"][0])
    if style == 3 and taken in legal and rng.random() < 0.4:
        return taken
    plain = [action for action in legal if action < KNOCK and action != taken]
    return int(rng.choice(plain)) if plain and rng.random() < 0.9 else eager(hand, rng)


def _meld_rich_deck(rng: np.random.Generator) -> np.ndarray:
    """A deal in which both hands come from six neighbouring ranks, so that there is much to meld and to lay off."""
    low = int(rng.integers(8))
    near = [card for card in range(52) if low <= card % 13 < low + 6]
    dealt = rng.permutation(near)[:20]
    return np.concatenate([dealt, rng.permutation([card for card in range(52) if card not in dealt])])


def play_hands(hands: int, seed: int) -> Iterator[tuple[Twin, Difference | None, bool]]:
    """Plays hands in both engines.

    Yields:
        The twin, the first difference or None, and whether the hand was compared to its end.
    """
    import pyspiel

    root = pyspiel.load_game("gin_rummy").new_initial_state()
    rng = np.random.default_rng(seed)
    for number in range(hands):
        deck = _meld_rich_deck(rng) if number % 4 == 3 else rng.permutation(52)
        hand = Hand.deal("openspiel", deck=deck.tolist(), seed=0)
        twin = Twin(root, hand)
        complete = True
        try:
            while complete and not hand.is_over:
                twin.compare()
                complete = twin.push(choose(hand, number % 6, rng))
            if complete:
                twin.finish()
        except Difference as difference:
            yield twin, difference, False
            continue
        yield twin, None, complete


if __name__ == "__main__":
    ends: Counter[str] = Counter()
    lines: list[str] = []
    for twin, difference, complete in play_hands(2000, 0):
        if difference is None and complete and twin.hand.outcome is not None:
            ends[twin.hand.outcome.end.name] += 1
            if not twin.met and ends[twin.hand.outcome.end.name] <= SAMPLE_OF_EACH_END:
                lines.append(twin.record.to_line())
    SAMPLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
