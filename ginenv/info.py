"""The ``info`` of the environments: of one table as plain values, of a batch as arrays with ``_key`` masks.

Both are made from the same records (``table_kernels.INFO``), and the batch is in the form that Gymnasium gives to a list of single
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
from ginenv.table_batch import TableBatch
from ginenv.table_kernels import MAX_SKIPPED

END_NAMES = np.array([end.name.lower() for end in End], dtype=object)
# The numbers that _fill_facts writes, in order: of the hand, how it ended, of the game.
_OUTCOME = ("points", "won", "knocker", "deadwood", "opponent_deadwood", "length")
_GAME = ("won", "hands", "boxes", "opponent_boxes", "total", "opponent_total")
_END = len(_OUTCOME)
_GAME_AT = _END + 1


@kernel
def _survey(records, slots, seats, illegal, closed, games):
    """Seats and flags of some records; how many closed a hand, how many of these hands were skipped, ended games."""
    num_closed = 0
    num_skipped = 0
    num_games = 0
    for k in range(slots.shape[0]):
        i = slots[k]
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
def _fill_facts(records, closed, facts):
    for i in range(records.shape[0]):
        if not closed[i]:
            continue
        r = records[i]
        facts[0, i] = r.points
        facts[1, i] = r.won
        facts[2, i] = r.knocker
        facts[3, i] = r.deadwood[0]
        facts[4, i] = r.deadwood[1]
        facts[5, i] = r.length
        facts[6, i] = r.end
        if facts.shape[0] > 7:
            facts[7, i] = r.game_won
            facts[8, i] = r.hands
            facts[9, i] = r.boxes[0]
            facts[10, i] = r.boxes[1]
            facts[11, i] = r.total[0]
            facts[12, i] = r.total[1]


def _facts_of(records: np.ndarray, closed: np.ndarray, is_game: bool) -> np.ndarray:
    """The numbers of hands that ended (``int64[7, n]``), and of games (``[13, n]``); zeros where none did."""
    facts = np.zeros((_GAME_AT + len(_GAME) if is_game else _GAME_AT, len(records)), np.int64)
    _fill_facts(records, closed, facts)
    return facts


def _skipped(record: np.void) -> tuple[tuple[str, int], ...]:
    count = min(int(record["skips"]), MAX_SKIPPED)
    ends, points = record["skipped_end"], record["skipped_points"]
    return tuple((str(END_NAMES[ends[k]]), int(points[k])) for k in range(count))


def info_of(tables: TableBatch, mask: np.ndarray) -> dict[str, Any]:
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
        numbers = _facts_of(tables.tables, np.ones(1, bool), tables.is_game)[:, 0].tolist()
        info["outcome"] = {"end": END_NAMES[numbers[_END]], **dict(zip(_OUTCOME, numbers, strict=False))}
        if tables.is_game and record["finished"] and not record["illegal"]:
            info["game"] = dict(zip(_GAME, numbers[_GAME_AT:], strict=False))
    return info


class Reporter:
    """Writes the ``info`` of a batch.

    What never changes (the mask of all tables, the name of a single opponent, empty lists of skipped hands) is one read-only array
    for all steps.
    """

    def __init__(self, tables: TableBatch) -> None:
        self._tables = tables
        self._all = np.arange(tables.num_tables)
        self._everywhere = _constant(tables.num_tables, True)
        self._unskipped = _constant(tables.num_tables, ())
        self._names: tuple[str, np.ndarray] | None = None

    def info(self, records: np.ndarray, masks: np.ndarray, slots: np.ndarray | None = None) -> dict[str, Any]:
        """The ``info`` of a batch, in the form of Gymnasium's vector environments.

        Args:
            records: ``[n]`` records with the fields of ``INFO``: of the tables themselves, or the final ones of episodes that ended.
            masks: ``int8[n, 107]``, kept.
            slots: ``[k]`` the tables that it is about; all when left out.
        """
        batch = self._tables
        count = batch.num_tables
        where: Any = self._everywhere
        if slots is not None:
            where = np.zeros(count, bool)
            where[slots] = True
        seats = np.zeros(count, np.int64)
        illegal, closed, games = np.zeros((3, count), bool)
        num_closed, num_skipped, num_games = _survey(
            records, self._all if slots is None else slots, seats, illegal, closed, games
        )
        names, skipped = self._opponents(records), self._unskipped
        if slots is not None:
            # Of objects, nothing is None, as Gymnasium has it.
            names, skipped = _at(slots, names), _at(slots, skipped)
        if num_skipped:
            skipped = skipped.copy()
            for slot in np.nonzero(closed & (records["skips"] > 0))[0]:
                skipped[slot] = _skipped(records[slot])
        infos: dict[str, Any] = {
            "action_mask": masks, "_action_mask": where,
            "seat": seats, "_seat": where,
            "opponent": names, "_opponent": where,
            "illegal_action": illegal, "_illegal_action": where,
            "skipped": skipped, "_skipped": where,
        }  # fmt: skip
        if batch.is_game:
            infos["score"] = np.where(where[:, None], records["score"].astype(np.int64), 0)
            infos["_score"] = where
        if num_closed:
            facts = _facts_of(records, closed, batch.is_game)
            rows = np.nonzero(closed)[0]
            ends = np.empty(count, object)
            ends[rows] = END_NAMES[facts[_END, rows]]
            infos["outcome"] = {"end": ends, "_end": closed} | _columns(_OUTCOME, facts, closed)
            infos["_outcome"] = closed
            if batch.is_game and num_games:
                numbers = np.where(games, facts[_GAME_AT:], 0)
                infos["game"], infos["_game"] = _columns(_GAME, numbers, games), games
        return infos

    def _opponents(self, records: np.ndarray) -> np.ndarray:
        names = self._tables.names
        if len(names) > 1:
            return names[records["opponent"]]
        if self._names is None or self._names[0] != names[0]:
            self._names = (names[0], _constant(self._tables.num_tables, names[0]))
        return self._names[1]


def _at(slots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A column of objects with the values of some slots, and None elsewhere."""
    column = np.empty(len(values), object)
    column[slots] = values[slots]
    return column


def _columns(names: tuple[str, ...], numbers: np.ndarray, where: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of numbers by name, each with its mask."""
    columns = {}
    for name, column in zip(names, numbers, strict=False):
        columns[name] = column
        columns[f"_{name}"] = where
    return columns


def _constant(count: int, value: Any) -> np.ndarray:
    column = np.empty(count, bool if isinstance(value, bool) else object)
    column.fill(value)
    column.flags.writeable = False
    return column
