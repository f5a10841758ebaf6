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
from ginenv.lockstep import MAX_SKIPPED
from ginenv.tables import Tables

END_NAMES = np.array([end.name.lower() for end in End], dtype=object)

# Key in the dictionary, field of INFO, position in the field.
_OUTCOME = (
    ("points", "points", None),
    ("won", "won", None),
    ("knocker", "knocker", None),
    ("deadwood", "deadwood", 0),
    ("opponent_deadwood", "deadwood", 1),
    ("length", "length", None),
)
_GAME = (
    ("won", "game_won", None),
    ("hands", "hands", None),
    ("boxes", "boxes", 0),
    ("opponent_boxes", "boxes", 1),
    ("total", "total", 0),
    ("opponent_total", "total", 1),
)


def _facts(record: np.void, fields: tuple[tuple[str, str, int | None], ...]) -> dict[str, Any]:
    return {key: int(record[field] if at is None else record[field][at]) for key, field, at in fields}


def _skipped(record: np.void) -> tuple[tuple[str, int], ...]:
    count = min(int(record["skips"]), MAX_SKIPPED)
    return tuple((str(END_NAMES[record["skipped_end"][k]]), int(record["skipped_points"][k])) for k in range(count))


def info_of(tables: Tables, mask: np.ndarray, lane: int = 0) -> dict[str, Any]:
    """The ``info`` of one table."""
    record = tables.tables[lane]
    closed = record["closed"]
    info: dict[str, Any] = {
        "action_mask": mask,
        "seat": int(record["seat"]),
        "opponent": tables.name_at(lane),
        "illegal_action": bool(record["illegal"]),
        "skipped": _skipped(record) if closed else (),
    }
    if tables.is_game:
        info["score"] = record["score"].astype(np.int64)
    if closed:
        info["outcome"] = {"end": END_NAMES[record["end"]], **_facts(record, _OUTCOME)}
        if tables.is_game and record["done"] and not record["illegal"]:
            info["game"] = _facts(record, _GAME)
    return info


def _column(records: np.ndarray, field: str, at: int | None, where: np.ndarray) -> np.ndarray:
    values = records[field] if at is None else records[field][:, at]
    column = np.zeros(len(records), np.int64)
    column[where] = values[where]
    return column


def _masked(infos: dict[str, Any], key: str, values: Any, where: np.ndarray) -> None:
    infos[key] = values
    infos[f"_{key}"] = where.copy()


def _columns(records: np.ndarray, fields: tuple[tuple[str, str, int | None], ...], where: np.ndarray) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for key, field, at in fields:
        _masked(columns, key, _column(records, field, at, where), where)
    return columns


def _some_objects(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    column = np.full(len(where), None, dtype=object)
    column[where] = values[where]
    return column


def infos_of(
    tables: Tables, records: np.ndarray, masks: np.ndarray, where: np.ndarray, finished: np.ndarray
) -> dict[str, Any]:
    """The ``info`` of a batch, in the form of Gymnasium's vector environments.

    Args:
        tables: whose.
        records: records with the fields of ``INFO``: the tables themselves, or what was set aside of ended episodes.
        masks: ``int8[n, 107]``, kept.
        where: ``bool[n]``, the tables that it is about.
        finished: ``bool[n]``, those whose episode ended in the state that ``records`` tell of.
    """
    infos: dict[str, Any] = {}
    whole = bool(where.all())
    _masked(infos, "action_mask", masks, where)
    _masked(infos, "seat", _column(records, "seat", None, where), where)
    names = tables.names[records["opponent"]] if len(tables.names) else np.full(len(records), "", object)
    _masked(infos, "opponent", names if whole else _some_objects(names, where), where)
    _masked(infos, "illegal_action", records["illegal"].astype(bool) & where, where)
    skipped = tables.nothing_skipped.copy() if whole else _some_objects(tables.nothing_skipped, where)
    closed = (records["closed"] > 0) & where
    if closed.any():
        for lane in np.nonzero(closed & (records["skips"] > 0))[0]:
            skipped[lane] = _skipped(records[lane])
    _masked(infos, "skipped", skipped, where)
    if tables.is_game:
        _masked(infos, "score", records["score"].astype(np.int64) * where[:, None], where)
    if closed.any():
        outcome: dict[str, Any] = {}
        _masked(outcome, "end", _some_objects(END_NAMES[records["end"]], closed), closed)
        _masked(infos, "outcome", outcome | _columns(records, _OUTCOME, closed), closed)
        over = closed & finished & (records["illegal"] == 0)
        if tables.is_game and over.any():
            _masked(infos, "game", _columns(records, _GAME, over), over)
    return infos
