"""The ``info`` of the environments: plain values for one table, arrays with ``_key`` masks for a batch.

Both are made from the same records (``table_kernels.INFO``). The batch has the form that Gymnasium gives to the infos of single
environments.

| key | meaning |
|---|---|
| ``action_mask`` | ``int8[107]``, the legal actions; all ones once the episode is over |
| ``seat`` | the learner's seat |
| ``opponent`` | the opponent's name, including its options; a player loaded from a directory has the name of its level, or of the directory |
| ``illegal_action`` | whether an illegal action ended the episode |
| ``skipped`` | hands that ended before the learner could move, each as ``(how it ended, points)``; at most the first 8 of a step |
| ``score`` | games only: points so far, the learner's first |
| ``outcome`` | when a hand ended: ``end`` (an ``End`` in lower case), ``points`` (negative: the opponent's), ``won`` (1, 0, -1), ``knocker`` (0 the learner, 1 the opponent, 2 nobody), ``deadwood``, ``opponent_deadwood``, ``length`` (actions of both) |
| ``game`` | when a game ended: ``won``, ``hands``, ``boxes``, ``opponent_boxes``, ``total``, ``opponent_total`` |
"""  # noqa: E501

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ginenv.actions import NUM_ACTIONS
from ginenv.encoding import OBSERVATION_SIZE, ROW, row_of
from ginenv.engine import End
from ginenv.jit import kernel, record_copy
from ginenv.table_batch import TableBatch
from ginenv.table_kernels import INFO, MAX_SKIPPED, copy_info

END_NAMES = np.array([end.name.lower() for end in End], dtype=object)
# The numbers that _fill_facts writes, in order: those of the hand, how it ended, those of the game.
_OUTCOME = ("points", "won", "knocker", "deadwood", "opponent_deadwood", "length")
_GAME = ("won", "hands", "boxes", "opponent_boxes", "total", "opponent_total")
_END = len(_OUTCOME)
_GAME_AT = _END + 1


# The fields that are always reported for a table; the rest of INFO is reported only if a hand ended.
_BRIEF = np.dtype(
    [
        ("opponent", np.int32),
        ("score", np.int32, (2,)),
        ("seat", np.uint8),
        ("illegal", np.uint8),
        ("closed", np.uint8),
    ],
    align=True,
)
_copy_final = record_copy(INFO, "seat", INFO, "seat", "skipped_points")
_copy_row = record_copy(ROW, "cells", ROW, "cells", "cells")


@kernel
def _note(tables, notes):
    """Copies the fields that are always reported; returns how many tables closed a hand."""
    closed = 0
    for i in range(tables.shape[0]):
        t = tables[i]
        n = notes[i]
        n.opponent = t.opponent
        n.score[0] = t.score[0]
        n.score[1] = t.score[1]
        n.seat = t.seat
        n.illegal = t.illegal
        n.closed = t.closed
        closed += t.closed > 0
    return closed


@kernel
def _note_closed(tables, records):
    k = 0
    for i in range(tables.shape[0]):
        if tables[i].closed:
            copy_info(records[k], tables[i])
            k += 1


@kernel
def _keep(finals, final_rows, ended, kept, rows):
    """Copies the final records and observations of some tables."""
    for k in range(ended.shape[0]):
        _copy_final(kept[k], finals[ended[k]])
        _copy_row(row_of(rows, k), row_of(final_rows, ended[k]))


@kernel
def _survey(records, slots, seats, illegal, closed, games):
    """Writes seats and flags of some records; returns how many closed a hand, skipped hands, and how many ended a game."""
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
    """The numbers of ended hands (``int64[7, n]``; with those of games ``[13, n]``); zeros where no hand ended."""
    facts = np.zeros((_GAME_AT + len(_GAME) if is_game else _GAME_AT, len(records)), np.int64)
    _fill_facts(records, closed, facts)
    return facts


def _skipped(record: np.void) -> tuple[tuple[str, int], ...]:
    count = min(int(record["skips"]), MAX_SKIPPED)
    ends, points = record["skipped_end"], record["skipped_points"]
    return tuple((str(END_NAMES[ends[k]]), int(points[k])) for k in range(count))


def info_of(tables: TableBatch, mask: np.ndarray) -> dict[str, Any]:
    """The ``info`` of the first table."""
    info: dict[str, Any] = {
        "action_mask": mask,
        "seat": int(tables.seats[0]),
        "opponent": tables.name_at(0),
        "illegal_action": bool(tables.illegal[0]),
        "skipped": (),
    }
    if tables.is_game:
        info["score"] = tables.tables["score"][0].astype(np.int64)
    if tables.closed[0]:
        record = tables.tables[0]
        info["skipped"] = _skipped(record)
        numbers = _facts_of(tables.tables, np.ones(1, bool), tables.is_game)[:, 0].tolist()
        info["outcome"] = {"end": END_NAMES[numbers[_END]], **dict(zip(_OUTCOME, numbers, strict=False))}
        if tables.is_game and record["finished"] and not record["illegal"]:
            info["game"] = dict(zip(_GAME, numbers[_GAME_AT:], strict=False))
    return info


class LazyInfo(dict[str, Any]):
    """A dictionary that makes some of its entries only when they are read.

    A training loop reads ``action_mask`` at every step, checks for ``final_info``, and seldom reads more. Code that requires the
    exact type ``dict`` (for trees of tensors, for example) needs ``dict(info)``.

    Args:
        given: the entries that exist from the start.
        names: the keys of the other entries.
        make: makes the other entries, once.
    """

    def __init__(self, given: dict[str, Any], names: frozenset[str], make: Callable[[], dict[str, Any]]) -> None:
        super().__init__(given)
        self._names = names
        self._make: Callable[[], dict[str, Any]] | None = make

    def _fill(self) -> None:
        make = self._make
        if make is not None:
            # An error or interrupt in make changes nothing; another thread either finds all entries or makes them too.
            for key, value in make().items():
                super().setdefault(key, value)
            self._make = None

    def __missing__(self, key: str) -> Any:
        self._fill()
        if super().__contains__(key):
            return super().__getitem__(key)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (self._make is not None and key in self._names) or super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The entry of a key, made if necessary; ``default`` if there is none."""
        return self[key] if key in self else default

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self.items()),)


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    @functools.wraps(method)
    def call(self: LazyInfo, *args: Any, **options: Any) -> Any:
        for info in (self, *args):
            if isinstance(info, LazyInfo):
                info._fill()
        return method(self, *args, **options)

    return call


# All other methods that look at the keys or remove one. Since __iter__ is overridden, dict(info) and {**info} call keys too.
for _name in (
    *("__delitem__", "__eq__", "__iter__", "__len__", "__ne__", "__or__", "__repr__", "__reversed__", "__ror__"),
    *("clear", "copy", "items", "keys", "pop", "popitem", "setdefault", "values"),
):
    setattr(LazyInfo, _name, _filled(_name))


def _with_flags(*names: str) -> frozenset[str]:
    return frozenset((*names, *(f"_{name}" for name in names)))


# Keys of a batch's info besides the mask: always present, in games, when a hand ended, when a game did, when an episode did.
_ALWAYS = _with_flags("seat", "opponent", "illegal_action", "skipped")
_IN_GAMES, _OF_HANDS, _OF_GAMES = _with_flags("score"), _with_flags("outcome"), _with_flags("game")
_OF_FINALS = _with_flags("final_obs", "final_info")


class Reporter:
    """Makes the ``info`` of a batch.

    Each value that never changes (the mask of all tables, the name of a single opponent, empty lists of skipped hands) is one
    read-only array for all steps.

    Args:
        count: number of tables.
        is_game: whether an episode is a game.
    """

    def __init__(self, count: int, is_game: bool) -> None:
        self._count, self._is_game = count, is_game
        self._all = np.arange(count)
        self._everywhere = _constant(count, True)
        self._unskipped = _constant(count, ())
        self._names: tuple[str, np.ndarray] | None = None

    def report(
        self, batch: TableBatch, masks: np.ndarray, ended: np.ndarray, observe: Callable[[np.ndarray], np.ndarray]
    ) -> LazyInfo:
        """The ``info`` of a step, in the form of Gymnasium's vector environments; later steps do not change it.

        Args:
            batch: the tables.
            masks: ``int8[n, 107]``; kept, not copied.
            ended: ``[k]``, tables that began another episode in this step.
            observe: turns their final rows, ``uint8[k, 520]``, into observations.
        """
        # Copies of what the next step overwrites.
        notes = np.empty(self._count, _BRIEF)
        closed = np.empty(_note(batch.tables, notes), INFO)
        if len(closed):
            _note_closed(batch.tables, closed)
        finals, rows = np.empty(len(ended), INFO), np.empty((len(ended), OBSERVATION_SIZE), np.uint8)
        if len(ended):
            _keep(batch.finals, batch.final_rows, ended, finals, rows)
        opponents = batch.names

        def make() -> dict[str, Any]:
            records = np.zeros(self._count, INFO)
            for name in _BRIEF.names or ():
                records[name] = notes[name]
            records[notes["closed"] > 0] = closed
            infos = self._info(records, masks, opponents)
            return infos | self._final(finals, observe(rows), opponents, ended) if len(ended) else infos

        names = _ALWAYS | _IN_GAMES if self._is_game else _ALWAYS
        if len(closed):
            names |= _OF_HANDS
            if self._is_game and ((closed["finished"] != 0) & (closed["illegal"] == 0)).any():
                names |= _OF_GAMES
        if len(ended):
            names |= _OF_FINALS
        return LazyInfo({"action_mask": masks, "_action_mask": self._everywhere}, names, make)

    def _final(
        self, finals: np.ndarray, observations: np.ndarray, names: np.ndarray, ended: np.ndarray
    ) -> dict[str, Any]:
        """The final observations and infos of the episodes that ended."""
        count = self._count
        where = np.zeros(count, bool)
        where[ended] = True
        records = np.zeros(count, INFO)
        records[ended] = finals
        final_obs = np.empty(count, object)
        for slot, observation in zip(ended.tolist(), observations, strict=True):
            final_obs[slot] = observation
        # All ones where an episode ended, zeros elsewhere: one column, repeated by a stride of 0.
        masks = np.ndarray((count, NUM_ACTIONS), np.int8, where.copy(), strides=(1, 0))
        masks.flags.writeable = False
        final_info = self._info(records, masks, names, ended)
        return {"final_obs": final_obs, "_final_obs": where, "final_info": final_info, "_final_info": where}

    def _info(
        self, records: np.ndarray, masks: np.ndarray, names: np.ndarray, slots: np.ndarray | None = None
    ) -> dict[str, Any]:
        """The ``info`` of ``INFO[n]`` records for some tables (``slots``), or for all."""
        count = self._count
        where: Any = self._everywhere
        if slots is not None:
            where = np.zeros(count, bool)
            where[slots] = True
        seats = np.zeros(count, np.int64)
        illegal, closed, games = np.zeros((3, count), bool)
        num_closed, num_skipped, num_games = _survey(
            records, self._all if slots is None else slots, seats, illegal, closed, games
        )
        opponents, skipped = self._opponents(records, names), self._unskipped
        if slots is not None:
            # In object arrays, None stands for no value, as in Gymnasium.
            opponents, skipped = _at(slots, opponents), _at(slots, skipped)
        if num_skipped:
            skipped = skipped.copy()
            for slot in np.nonzero(closed & (records["skips"] > 0))[0]:
                skipped[slot] = _skipped(records[slot])
        infos: dict[str, Any] = {
            "action_mask": masks, "_action_mask": where,
            "seat": seats, "_seat": where,
            "opponent": opponents, "_opponent": where,
            "illegal_action": illegal, "_illegal_action": where,
            "skipped": skipped, "_skipped": where,
        }  # fmt: skip
        if self._is_game:
            infos["score"] = np.where(where[:, None], records["score"].astype(np.int64), 0)
            infos["_score"] = where
        if num_closed:
            facts = _facts_of(records, closed, self._is_game)
            rows = np.nonzero(closed)[0]
            ends = np.empty(count, object)
            ends[rows] = END_NAMES[facts[_END, rows]]
            infos["outcome"] = {"end": ends, "_end": closed} | _columns(_OUTCOME, facts, closed)
            infos["_outcome"] = closed
            if self._is_game and num_games:
                numbers = np.where(games, facts[_GAME_AT:], 0)
                infos["game"], infos["_game"] = _columns(_GAME, numbers, games), games
        return infos

    def _opponents(self, records: np.ndarray, names: np.ndarray) -> np.ndarray:
        if len(names) > 1:
            return names[records["opponent"]]
        if self._names is None or self._names[0] != names[0]:
            self._names = (names[0], _constant(self._count, names[0]))
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
