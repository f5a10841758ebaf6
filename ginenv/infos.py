"""What an environment says beside the observation: one table's facts as ``info``, a batch's as arrays with ``_key`` masks.

Both are made from the same records (``lockstep.INFO``), and the batch is in the form that Gymnasium gives to a list of single
environments.

| key | meaning |
|---|---|
| ``action_mask`` | ``int8[107]``, the legal actions; all ones once the episode is over |
| ``seat`` | the learner's seat |
| ``opponent`` | its opponent's name |
| ``illegal_action`` | whether the episode ended by an illegal action |
| ``skipped`` | hands that ended before the learner could move in them, each ``(how it ended, points)`` |
| ``score`` | games only: points so far, the learner's first |
| ``outcome`` | when a hand ended: ``end`` (an ``End`` in lower case), ``points`` (negative: the opponent's), ``won`` (1, 0, -1), ``knocker`` (0 the learner, 1 the opponent, 2 nobody), ``deadwood``, ``opponent_deadwood``, ``length`` (actions of both) |
| ``game`` | when a game ended: ``won``, ``hands``, ``boxes``, ``opponent_boxes``, ``total``, ``opponent_total`` |
"""  # noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np

from ginenv.engine import End
from ginenv.jit import kernel
from ginenv.lockstep import MAX_SKIPPED
from ginenv.tables import Tables

END_NAMES = np.array([end.name.lower() for end in End], dtype=object)
# Columns of the numbers that _facts writes.
_OUTCOME = ("points", "won", "knocker", "deadwood", "opponent_deadwood", "length")
_GAME = ("won", "hands", "boxes", "opponent_boxes", "total", "opponent_total")
_END = len(_OUTCOME) + len(_GAME)


@kernel
def _write_facts(r, facts, i):
    facts[0, i] = r.points
    facts[1, i] = r.won
    facts[2, i] = r.knocker
    facts[3, i] = r.deadwood[0]
    facts[4, i] = r.deadwood[1]
    facts[5, i] = r.length
    facts[12, i] = r.end


@kernel
def _write_game(r, facts, i):
    facts[6, i] = r.game_won
    facts[7, i] = r.hands
    facts[8, i] = r.boxes[0]
    facts[9, i] = r.boxes[1]
    facts[10, i] = r.total[0]
    facts[11, i] = r.total[1]


@kernel
def _survey(records, where, seats, illegal, closed, games):
    """Seats and flags of the tables asked about; how many closed a hand, how many of these hands were skipped, ended games."""
    num_closed = 0
    num_skipped = 0
    num_games = 0
    for i in range(records.shape[0]):
        r = records[i]
        asked = where[i]
        seats[i] = r.seat if asked else 0
        illegal[i] = asked and r.illegal != 0
        closed[i] = asked and r.closed > 0
        games[i] = closed[i] and r.finished != 0 and r.illegal == 0
        if closed[i]:
            num_closed += 1
            num_skipped += r.skips
            num_games += games[i]
    return num_closed, num_skipped, num_games


@kernel
def _facts(records, closed, games, facts):
    """Writes the facts of hands that ended and of games that ended; other places stay as they are."""
    for i in range(records.shape[0]):
        if closed[i]:
            _write_facts(records[i], facts, i)
            if games[i]:
                _write_game(records[i], facts, i)


def _skipped(record: np.void) -> tuple[tuple[str, int], ...]:
    count = min(int(record["skips"]), MAX_SKIPPED)
    ends, points = record["skipped_end"], record["skipped_points"]
    return tuple((str(END_NAMES[ends[k]]), int(points[k])) for k in range(count))


def info_of(tables: Tables, mask: np.ndarray) -> dict[str, Any]:
    """The ``info`` of the first table."""
    record = tables.tables[0]
    info: dict[str, Any] = {
        "action_mask": mask,
        "seat": int(tables.seats[0]),
        "opponent": tables.name_at(0),
        "illegal_action": bool(tables.illegal[0]),
        "skipped": (),
    }
    if tables.is_game:
        info["score"] = record["score"].astype(np.int64)
    if tables.closed[0]:
        info["skipped"] = _skipped(record)
        facts = np.zeros((_END + 1, 1), np.int64)
        _facts(tables.tables, np.ones(1, bool), np.ones(1, bool), facts)
        numbers = facts[:, 0].tolist()
        info["outcome"] = {"end": END_NAMES[numbers[_END]], **dict(zip(_OUTCOME, numbers, strict=False))}
        if tables.is_game and record["finished"] and not record["illegal"]:
            info["game"] = dict(zip(_GAME, numbers[len(_OUTCOME) :], strict=False))
    return info


class Reporter:
    """Writes the ``info`` of a batch.

    What never changes (who is asked about where all are, the name of a single opponent, that nothing was skipped) is one read-only
    array for all steps.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._everywhere = _constant(tables.num_tables, True)
        self._unskipped = _constant(tables.num_tables, ())
        self._names: tuple[str, np.ndarray] | None = None

    def infos(self, records: np.ndarray, masks: np.ndarray, where: np.ndarray | None = None) -> dict[str, Any]:
        """The ``info`` of a batch, in the form of Gymnasium's vector environments.

        Args:
            records: records with the fields of ``INFO``: the tables themselves, or what was set aside of ended episodes.
            masks: ``int8[n, 107]``, kept.
            where: ``bool[n]``, the tables that it is about; all when left out.
        """
        core = self._tables
        whole = where is None
        where = self._everywhere if whole else where
        seats = np.empty(core.num_tables, np.int64)
        illegal, closed, games = np.empty((3, core.num_tables), bool)
        num_closed, num_skipped, num_games = _survey(records, where, seats, illegal, closed, games)
        skipped = self._unskipped if whole else _chosen(self._unskipped, where)
        if num_skipped:
            skipped = skipped.copy()
            for lane in np.nonzero(closed & (records["skips"] > 0))[0]:
                skipped[lane] = _skipped(records[lane])
        infos = {
            "action_mask": masks,
            "_action_mask": where,
            "seat": seats,
            "_seat": where,
            "opponent": self._opponents(records, None if whole else where),
            "_opponent": where,
            "illegal_action": illegal,
            "_illegal_action": where,
            "skipped": skipped,
            "_skipped": where,
        }
        if core.is_game:
            score = records["score"].astype(np.int64)
            infos |= {"score": score if whole else score * where[:, None], "_score": where}
        if num_closed:
            facts = np.zeros((_END + 1, core.num_tables), np.int64)
            _facts(records, closed, games, facts)
            outcome: dict[str, Any] = {"end": _chosen(END_NAMES[facts[_END]], closed), "_end": closed}
            _add(outcome, _OUTCOME, facts, closed)
            infos |= {"outcome": outcome, "_outcome": closed}
            if core.is_game and num_games:
                game: dict[str, Any] = {}
                _add(game, _GAME, facts[len(_OUTCOME) :], games)
                infos |= {"game": game, "_game": games}
        return infos

    def _opponents(self, records: np.ndarray, where: np.ndarray | None) -> np.ndarray:
        names = self._tables.names
        if len(names) > 1:
            column = names[records["opponent"]]
        else:
            if self._names is None or self._names[0] != names[0]:
                self._names = (names[0], _constant(len(records), names[0]))
            column = self._names[1]
        return column if where is None else _chosen(column, where)


def _constant(count: int, value: Any) -> np.ndarray:
    column = np.empty(count, bool if isinstance(value, bool) else object)
    for i in range(count):
        column[i] = value
    column.flags.writeable = False
    return column


def _chosen(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    column = np.full(len(where), None, dtype=object)
    column[where] = values[where]
    return column


def _add(target: dict[str, Any], names: tuple[str, ...], facts: np.ndarray, where: np.ndarray) -> None:
    for row, name in enumerate(names):
        target[name] = facts[row]
        target[f"_{name}"] = where
