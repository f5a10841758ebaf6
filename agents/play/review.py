"""Analyses of stored games: made once, kept in the store; and the list of a player's mistakes.

    analyst = shared_analyst()                          # of this process
    found = analysed(home, game.id, 2, analyst)         # hand 2, from the store if this analyst has seen it before
    analyse_games(home, "Ann", analyst, progress)       # whatever of Ann's hands this analyst has not seen yet
    for each in mistakes(home, "Ann", "discard"):       # and the position before it:
        home.record(each.game).hands[each.hand - 1].after(each.move - 1)

If a hand has been analysed with several settings, the list has the mistakes of the last analysis.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from agents.analysis import KINDS, WORLDS, Analyst, HandAnalysis
from agents.analysis.analyst import Progress
from agents.play.store import Home, StoreError
from ginenv.errors import check_choice


@dataclass(frozen=True)
class StoredMistake:
    """A player's mistake that an analysis has found, by its costliest decision.

    Attributes:
        game: id of the game.
        hand: number of the hand in it, from 1.
        move: number of the action in the hand, from 1.
        kind: one of ``agents.analysis.KINDS``.
        mark: doubtful, error or blunder.
        played: the action chosen, in words.
        best: the expert's choice.
        loss: what it cost, in the unit.
        error: standard error of the loss.
        unit: ``chance to win the game``, or ``points`` where a single hand was played.
        begun: when the game began, in UTC.
        opponent: the opponent's name.
    """

    game: int
    hand: int
    move: int
    kind: str
    mark: str
    played: str
    best: str
    reason: str
    times: int
    loss: float
    error: float
    unit: str
    begun: str
    opponent: str

    def to_json(self) -> dict[str, Any]:
        """The mistake as values that ``json`` writes."""
        return dataclasses.asdict(self)


_loading = threading.Lock()


@cache
def _load(worlds: int) -> Analyst:
    return Analyst(worlds)


def shared_analyst() -> Analyst:
    """The one analyst of this process, which gives hints too; loaded when it is first needed."""
    with _loading:
        return _load(WORLDS)


def analysed(home: Home, game: int, number: int, analyst: Analyst, progress: Progress | None = None) -> HandAnalysis:
    """The analysis of a stored hand, from the store, or made now and kept there.

    Args:
        home: the store.
        game: id of the game.
        number: number of the hand in it, from 1; the hand has ended.
        analyst: who judges.
        progress: called after each decision, if the analysis is made now.

    Raises:
        GinError: if there is no such hand, or the analysis cannot be kept.
    """
    database = home.database
    where = "WHERE game = ? AND hand = ? AND analyst = ?"
    if rows := database.rows(f"SELECT found FROM analysis {where}", game, number, analyst.name):
        return HandAnalysis.from_json(json.loads(rows[0]["found"]))
    hands = [hand for hand in home.record(game).hands if hand.is_over]
    if not 1 <= number <= len(hands):
        raise StoreError(f"game {game} has no hand {number} that has ended; its hands are 1 to {len(hands)}")
    found = analyst.hand(hands[number - 1], number, progress=progress)
    marked = []
    for each in found.mistakes():
        at = each.decision
        about = (at.kind, at.mark, at.played, at.best, at.reason, at.loss, at.error)
        marked.append((game, number, at.move, at.seat, len(each.moves), found.unit, *about))
    with database.transaction():
        values = game, number, analyst.name, json.dumps(found.to_json())
        database.run("INSERT OR REPLACE INTO analysis VALUES (?, ?, ?, ?)", *values)
        database.run("DELETE FROM mistake WHERE game = ? AND hand = ?", game, number)
        database.run_all("INSERT INTO mistake VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", marked)
    return found


def analyse_games(home: Home, player: str, analyst: Analyst, progress: Progress | None = None) -> int:
    """Analyses those hands of a player's own games that the analyst has not seen yet.

    Args:
        home: the store.
        player: whose games; imported games of others are left out.
        analyst: who judges.
        progress: called after each hand.

    Returns:
        The number of these hands.
    """
    missing = home.database.rows(
        "SELECT hand.game, hand.number FROM hand JOIN game ON game.id = hand.game JOIN player ON player.id = game.player "
        "WHERE player.name = ? AND game.seat IS NOT NULL AND NOT EXISTS (SELECT 1 FROM analysis "
        "WHERE analysis.game = hand.game AND analysis.hand = hand.number AND analyst = ?) ORDER BY game.begun, game.id, hand.number",
        *(home.canonical_name(player), analyst.name),
    )
    for done, row in enumerate(missing, 1):
        analysed(home, row["game"], row["number"], analyst)
        if progress is not None:
            progress(done, len(missing))
    return len(missing)


def analysed_hands(home: Home, player: str) -> list[tuple[int, int]]:
    """The hands of a player's own games that have been analysed, the oldest first: the game's id, and the hand's number in it."""
    rows = home.database.rows(
        "SELECT DISTINCT analysis.game, analysis.hand FROM analysis JOIN game ON game.id = analysis.game "
        "JOIN player ON player.id = game.player WHERE player.name = ? AND game.seat IS NOT NULL ORDER BY game.begun, game.id, hand",
        home.canonical_name(player),
    )
    return [(row["game"], row["hand"]) for row in rows]


def mistakes_by_hand(home: Home, player: str) -> dict[str, list[int]]:
    """How many mistakes a player has made in each of the ``analysed_hands``: in draws, in discards, and in knocks of both kinds."""
    hands = analysed_hands(home, player)
    counts = Counter((each.game, each.hand, each.kind.partition(" ")[0]) for each in mistakes(home, player))
    return {f"{kind}s": [counts[*hand, kind] for hand in hands] for kind in ("draw", "discard", "knock")}


def mistakes(home: Home, player: str, kind: str = "") -> list[StoredMistake]:
    """A player's own mistakes in the hands that have been analysed, the costliest first.

    Args:
        home: the store.
        player: whose mistakes.
        kind: only those of this kind; all when left out.

    Raises:
        GinError: if there is no such player or kind.
    """
    if kind:
        check_choice("kind", kind, KINDS)
    rows = home.database.rows(
        "SELECT mistake.*, game.begun, CASE game.seat WHEN 0 THEN game.name_1 ELSE game.name_0 END AS opponent "
        "FROM mistake JOIN game ON game.id = mistake.game JOIN player ON player.id = game.player "
        "WHERE player.name = ?1 AND mistake.seat = game.seat AND (mistake.kind = ?2 OR ?2 = '') "
        "ORDER BY mistake.loss / CASE mistake.unit WHEN 'points' THEN 100.0 ELSE 1.0 END DESC, game.id DESC, mistake.hand, mistake.move",
        *(home.canonical_name(player), kind),
    )
    names = [field.name for field in dataclasses.fields(StoredMistake)]
    return [StoredMistake(**{name: row[name] for name in names}) for row in rows]
