"""A rating by a few hands, each of which may take minutes: mirrored deals, luck subtracted, opponents chosen as it goes on.

Hands are played in blocks against rungs of the ladder (``agents.rating``). After each block the rung is met next against which the
hands of a block say most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from agents.arena.lockstep import Lockstep, Observer
from agents.arena.matches import MatchSettings, play_part
from agents.estimates import Estimate
from agents.rating import Ladder, rating_dict
from ginenv.engine.engine import End
from ginenv.hands.hand import Hand


@dataclass
class Block:
    """Hands against one rung.

    Attributes:
        opponent: the rung.
        margins: points per hand in each pair of mirrored hands, less luck.
        decisions: decisions of the player.
        seconds: time that it took for them.
        salt: mixed into the seed of the deals where a program plays.
        faults: faults of a program: kind, count, forfeits, and the first case in words.
        losses: what the decisions cost, by kind (``agents.analysis.losses``); empty where they were not analysed.
        wanted: pairs that it was to have; after an interrupt, the next block is the rest of it.
    """

    opponent: str
    margins: list[float]
    decisions: int
    seconds: float
    salt: str = ""
    faults: list[dict[str, Any]] = field(default_factory=list)
    losses: dict[str, list[float]] = field(default_factory=dict)
    wanted: int = 0


class _FinalStates(Observer):
    """Keeps hands that ended, in the order of their jobs."""

    def __init__(self) -> None:
        self.states: dict[int, np.ndarray] = {}

    def after_hands(self, play: Lockstep, views: Sequence[np.ndarray], rows: np.ndarray) -> None:
        """Copies the states, of which the engine makes the next hand."""
        for row in rows:
            self.states[int(play.jobs_at[row])] = play.states[row : row + 1].copy()


def play_block(
    player: str, opponent: str, settings: MatchSettings, first: int, pairs: int, tick: Callable[[int], None]
) -> tuple[Block, list[tuple[Hand, int]]]:
    """Plays the pairs of deals from number ``first`` on.

    Returns:
        The block, and its hands with the player's seat, without those that were forfeited. After an interrupt it holds the pairs that were
        finished by then.
    """
    final, began = _FinalStates(), time.perf_counter()
    part = play_part((player, opponent), settings, first, pairs, tick, [final])
    margins = (part.games["points"][:, 0] - part.games["points"][:, 1]).astype(np.float64)
    luck = np.zeros(len(margins)) if part.luck is None else part.luck[:, 0]
    block = Block(
        opponent=opponent,
        margins=(margins - luck).reshape(-1, 2).mean(axis=1).round(3).tolist(),
        decisions=int(part.stats["decisions"][0]),
        seconds=round(min(float(part.seconds[0]), time.perf_counter() - began), 3),
        salt=part.salt,
        faults=part.faults,
        wanted=pairs,
    )
    states = [(final.states[job], job % 2) for job in range(len(part.games))]
    hands = [(Hand(state), seat) for state, seat in states if state["end"][0] != End.NOT_OVER]
    return block, hands


class ShortRating:
    """The blocks of a player, and what they come to.

    Args:
        player: the player's name.
        ladder: whom it may meet.
        blocks: blocks that were played earlier.
    """

    def __init__(self, player: str, ladder: Ladder, blocks: Sequence[Block] = ()) -> None:
        self.player, self.ladder, self.blocks = player, ladder, list(blocks)

    @property
    def pairs(self) -> int:
        """Pairs of mirrored hands so far."""
        return sum(len(block.margins) for block in self.blocks)

    def played(self) -> dict[str, list[float]]:
        """Points per hand of each pair, by rung."""
        found: dict[str, list[float]] = {}
        for block in self.blocks:
            found.setdefault(block.opponent, []).extend(block.margins)
        return found

    @property
    def rating(self) -> Estimate:
        """The rating so far."""
        return self.ladder.rate(self.played())

    def steps(self, pairs: int, block: int) -> Iterator[tuple[str, int]]:
        """Whom to meet next and in how many pairs, until there are ``pairs`` in all.

        The caller appends each block before it asks for the next.

        Args:
            pairs: the budget.
            block: pairs in a block.
        """
        while self.pairs < pairs:
            last = self.blocks[-1] if self.blocks else None
            count = min(block, pairs - self.pairs)
            if last and len(last.margins) < last.wanted:
                yield last.opponent, min(last.wanted - len(last.margins), count)
            else:
                yield self.ladder.next_rung(self.played(), count, self.player), count

    def to_dict(self) -> dict[str, Any]:
        """Rating, sums over all blocks, and the blocks."""
        decisions, seconds = (sum(getattr(block, name) for block in self.blocks) for name in ("decisions", "seconds"))
        losses = {}
        for block in self.blocks:
            for kind, row in block.losses.items():
                losses[kind] = np.add(losses.get(kind, np.zeros(len(row))), row).tolist()
        faults = [fault for block in self.blocks for fault in block.faults]
        illegal = sum(fault["count"] for fault in faults if fault["kind"] == "illegal move")
        valued = sum(row[0] for row in losses.values())
        return {
            "rating": rating_dict(self.rating),
            "between": list(self.ladder.neighbours(self.rating)),
            "hands": 2 * self.pairs,
            "points": {
                name: {"hands": 2 * len(margins), "per_hand": round(float(np.mean(margins)), 2)}
                for name, margins in self.played().items()
            },
            "decisions": decisions,
            "illegal": illegal,
            "illegal_rate": round(illegal / decisions, 5) if decisions else None,
            "forfeits": sum(fault["forfeits"] for fault in faults),
            "seconds_per_decision": round(seconds / decisions, 4) if decisions else None,
            "loss_per_decision": {kind: round(row[1] / valued, 4) for kind, row in losses.items()},
            "mistakes": {kind: int(row[2]) for kind, row in losses.items()},
            "decisions_by_kind": {kind: int(row[0]) for kind, row in losses.items()},
            "blocks": [asdict(block) for block in self.blocks],
        }
