"""What a player's decisions cost, by kind: sums over hands."""

from __future__ import annotations

from collections.abc import Iterable

from agents.analysis.analyst import Analyst
from agents.analysis.marks import KINDS, UNCLEAR, kind_of
from ginenv.engine.actions import PHASE_NAMES, parse_action
from ginenv.hands.hand import Hand


class Losses:
    """Two analysts: one says what is best, the other, in worlds of its own, what that is worth.

    The best of several values that were estimated in the same worlds looks better than it is; so a player as good as the analyst would lose
    something in every decision.

    Args:
        worlds: number of worlds for each.
        seed: seed of the worlds.
    """

    def __init__(self, worlds: int, seed: int = 0) -> None:
        self._chooses, self._values = Analyst(worlds, 2 * seed), Analyst(worlds, 2 * seed + 1)

    def sums(self, hands: Iterable[tuple[Hand, int]]) -> dict[str, list[float]]:
        """Number of decisions, points lost in them, and mistakes, by kind (``marks.KINDS``).

        Every hand counts as one that is played for its points alone. Decisions without a choice cost nothing, and count.

        Args:
            hands: finished hands, each with the seat that is judged.
        """
        found = {kind: [0.0, 0.0, 0.0] for kind in KINDS}
        for hand, seat in hands:
            state = hand.state.copy()
            state["rules"]["target"] = 0
            one, other = (each.hand(Hand(state), seat=seat).decisions for each in (self._chooses, self._values))
            for chosen, valued in zip(one, other, strict=True):
                assert chosen.played is not None
                kind = kind_of(PHASE_NAMES.index(chosen.phase), *map(parse_action, (chosen.played, chosen.best)))
                values = {each.action: each.difference for each in valued.candidates}
                row = found[kind]
                row[0] += 1
                # A candidate of one may be none of the other: then the other's own best counts.
                row[1] += values.get(chosen.best, 0.0) - values.get(chosen.played, 0.0)
                row[2] += chosen.mark not in ("", UNCLEAR)
        return {kind: [row[0], round(row[1], 4), row[2]] for kind, row in found.items()}
