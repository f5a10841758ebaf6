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
# The numbers that _write_facts writes, in order; then how the hand ended.
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
    facts[6, i] = r.game_won
    facts[7, i] = r.hands
    facts[8, i] = r.boxes[0]
    facts[9, i] = r.boxes[1]
    facts[10, i] = r.total[0]
    facts[11, i] = r.total[1]
    facts[12, i] = r.end


@kernel
def _survey(records, seats, illegal, closed, games):
    """Seats and flags of some records; how many closed a hand, how many of these hands were skipped, ended games."""
    num_closed = 0
    num_skipped = 0
    num_games = 0
    for i in range(records.shape[0]):
        r = records[i]
        seats[i] = r.seat
        illegal[i] = r.illegal != 0
        closed[i] = r.closed > 0
        games[i] = closed[i] and r.finished != 0 and r.illegal == 0
        if closed[i]:
            num_closed += 1
            num_skipped += r.skips
            num_games += games[i]
    return num_closed, num_skipped, num_games


@kernel
def _fill_facts(records, facts):
    for i in range(records.shape[0]):
        _write_facts(records[i], facts, i)


def _facts_of(records: np.ndarray) -> np.ndarray:
    """The numbers of hands and games that ended: ``int64[13, k]``."""
    facts = np.empty((_END + 1, len(records)), np.int64)
    _fill_facts(records, facts)
    return facts


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
        numbers = _facts_of(tables.tables)[:, 0].tolist()
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

    def infos(self, records: np.ndarray, masks: np.ndarray, lanes: np.ndarray | None = None) -> dict[str, Any]:
        """The ``info`` of a batch, in the form of Gymnasium's vector environments.

        Args:
            records: ``[k]`` records with the fields of ``INFO``: of the tables themselves, or what was set aside of ended episodes.
            masks: ``int8[n, 107]``, kept.
            lanes: ``[k]`` the tables that it is about; all when left out.
        """
        core = self._tables
        scatter = _Scatter(core.num_tables, lanes, self._everywhere)
        seats = np.empty(len(records), np.int64)
        illegal, closed, games = np.empty((3, len(records)), bool)
        num_closed, num_skipped, num_games = _survey(records, seats, illegal, closed, games)
        skipped = self._unskipped[: len(records)]
        if num_skipped:
            skipped = skipped.copy()
            for row in np.nonzero(closed & (records["skips"] > 0))[0]:
                skipped[row] = _skipped(records[row])
        infos: dict[str, Any] = {"action_mask": masks, "_action_mask": scatter.where}
        scatter.add(infos, "seat", seats)
        scatter.add(infos, "opponent", self._opponents(records))
        scatter.add(infos, "illegal_action", illegal)
        scatter.add(infos, "skipped", skipped)
        if core.is_game:
            scatter.add(infos, "score", records["score"].astype(np.int64))
        if num_closed:
            rows = np.nonzero(closed)[0]
            facts = _facts_of(records[rows])
            at = _Scatter(core.num_tables, rows if lanes is None else lanes[rows], None)
            infos |= {"outcome": {}, "_outcome": at.where}
            at.add(infos["outcome"], "end", END_NAMES[facts[_END]])
            at.add_all(infos["outcome"], _OUTCOME, facts)
            if core.is_game and num_games:
                ended = games[rows]
                at = _Scatter(core.num_tables, at.lanes[ended], None)
                infos |= {"game": {}, "_game": at.where}
                at.add_all(infos["game"], _GAME, facts[len(_OUTCOME) :, ended])
        return infos

    def _opponents(self, records: np.ndarray) -> np.ndarray:
        names = self._tables.names
        if len(names) > 1:
            return names[records["opponent"]]
        if self._names is None or self._names[0] != names[0]:
            self._names = (names[0], _constant(self._tables.num_tables, names[0]))
        return self._names[1][: len(records)]


class _Scatter:
    """Puts columns of some tables into columns of all; where all are meant, they are that already."""

    def __init__(self, num_tables: int, lanes: np.ndarray | None, everywhere: np.ndarray | None) -> None:
        self.num_tables = num_tables
        self.lanes: Any = lanes
        if lanes is None:
            self.where: Any = everywhere
        else:
            self.where = np.zeros(num_tables, bool)
            self.where[lanes] = True

    def add(self, target: dict[str, Any], name: str, values: np.ndarray) -> None:
        """Adds a column and its mask."""
        if self.lanes is not None:
            # Of objects, zeros are None, as Gymnasium has it.
            shape = (self.num_tables, *values.shape[1:])
            column = np.empty(shape, object) if values.dtype == object else np.zeros(shape, values.dtype)
            column[self.lanes] = values
            values = column
        target[name] = values
        target[f"_{name}"] = self.where

    def add_all(self, target: dict[str, Any], names: tuple[str, ...], rows: np.ndarray) -> None:
        """Adds a column for each row of numbers."""
        columns = np.zeros((len(names), self.num_tables), np.int64)
        columns[:, self.lanes] = rows[: len(names)]
        for name, column in zip(names, columns, strict=True):
            target[name] = column
            target[f"_{name}"] = self.where


def _constant(count: int, value: Any) -> np.ndarray:
    column = np.empty(count, bool if isinstance(value, bool) else object)
    for i in range(count):
        column[i] = value
    column.flags.writeable = False
    return column
