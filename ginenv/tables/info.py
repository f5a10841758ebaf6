"""The ``info`` of the environments: plain values for one table, arrays with ``_key`` masks for a batch.

Both are made of the same records (``ginenv.tables.episode_kernels.INFO``). The batch has the form that Gymnasium gives to the infos of single
environments.

| key | meaning |
|---|---|
| ``action_mask`` | ``int8[107]``, the legal actions; all ones once the episode is over |
| ``illegal_action`` | whether an illegal action ended the episode |
| ``skipped_hands`` | how many hands ended before the learner could move in them |
| ``skipped_points`` | the points of these hands, ``int64[2]``, the learner's first |
| ``outcome`` | when a hand ended in which the learner had moved: ``end`` (an ``End``, as a number), ``points`` (negative: the opponent's), ``won`` (1, 0, -1), ``knocker`` (0 the learner, 1 the opponent, 2 nobody), ``deadwood``, ``opponent_deadwood``, ``length`` (actions of both) |
| ``game`` | when a game ended: ``won``, ``hands``, ``boxes``, ``opponent_boxes``, ``total``, ``opponent_total`` |

In a step, at most one hand ends in which the learner had moved, and others may be skipped after it. A whole game in which the learner could
not move has no ``game``: its hands are among those skipped, and another game is dealt.
"""  # noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.tables.episode_kernels import INFO, REPORT, write_finals, write_infos
from ginenv.tables.episodes import Episodes
from ginenv.view.encoding import OBSERVATION_SIZE

_ALWAYS = tuple((name, f"_{name}") for name in ("illegal_action", "skipped_hands", "skipped_points"))
# What a hand and a game that ended add, and whether they do.
_ENDS = (("outcome", "has_outcome"), ("game", "has_game"))
_FIELDS = {name: tuple((field, f"_{field}") for field in INFO[name].names or ()) for name, _ in _ENDS}
_NO_HANDS, _NO_POINTS = np.int64(0), np.zeros(2, np.int64)


def info_of(tables: Episodes, mask: np.ndarray) -> dict[str, Any]:
    """The ``info`` of the first table."""
    info: dict[str, Any] = {"action_mask": mask, "illegal_action": np.array(tables.illegal[0])}
    if tables.skipped[0]:
        info |= {name: tables.infos[name][0].copy() for name, _ in _ALWAYS[1:]}
    else:
        # Most steps, and reading these fields would take as long as the rest of them.
        info["skipped_hands"], info["skipped_points"] = _NO_HANDS, _NO_POINTS.copy()
    if tables.closed[0]:
        for name, flag in _ENDS:
            record = tables.infos[name][0]
            if tables.infos[flag][0]:
                info[name] = dict(zip(record.dtype.names, record.item(), strict=True))
    return info


def infos_of(batch: Episodes, masks: np.ndarray, tables: np.ndarray | None = None) -> dict[str, Any]:
    """The ``info`` of all tables, in the form of Gymnasium's vector environments; later steps do not change it.

    Args:
        batch: the tables.
        masks: ``int8[n, 107]``; kept, not copied.
        tables: which tables have infos, ``bool[n]``; all if left out.
    """
    reports = np.empty(batch.num_tables, REPORT)
    counts = write_infos(batch.episodes, reports)
    if tables is None:
        return _columns(reports["info"], counts, masks, batch.everywhere)
    reports[~tables] = np.zeros((), REPORT)
    counts = tuple(reports["info"][flag].sum() for _, flag in _ENDS)
    return _columns(reports["info"], counts, masks * tables[:, None], tables)


def final_infos(batch: Episodes, done: np.ndarray, ended: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """The last observations and the infos of episodes that ended in a step that began the next.

    Args:
        batch: the tables.
        done: whether an episode ended, ``bool[n]``.
        ended: where, ``int64[k]``.

    Returns:
        ``uint8[k, 520]`` and the ``info``.
    """
    count, rows = batch.num_tables, np.empty((len(ended), OBSERVATION_SIZE), np.uint8)
    reports, masks = np.zeros(count, REPORT), np.zeros((count, NUM_ACTIONS), np.int8)
    counts = write_finals(batch.finals, ended, reports, masks, rows)
    return rows, _columns(reports["info"], counts, masks, done)


def _columns(records: np.ndarray, counts: tuple[int, ...], masks: np.ndarray, where: np.ndarray) -> dict[str, Any]:
    """The ``info`` of ``INFO[n]`` records at some tables (``where``), at ``counts`` of which a hand and a game ended."""
    infos: dict[str, Any] = {"action_mask": masks, "_action_mask": where}
    for name, marked in _ALWAYS:
        infos[name], infos[marked] = records[name], where
    for (name, flag), count in zip(_ENDS, counts, strict=True):
        if count:
            fields, here = records[name], records[flag]
            columns: dict[str, np.ndarray] = {}
            infos[name], infos[f"_{name}"] = columns, here
            for field, marked in _FIELDS[name]:
                columns[field], columns[marked] = fields[field], here
    return infos
