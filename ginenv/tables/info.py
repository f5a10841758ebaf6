"""The ``info`` of the environments: plain values for one table, arrays with ``_key`` masks for a batch.

Both are made from the same records (``ginenv.tables.episode_kernels.INFO``). The batch has the form that Gymnasium gives to the infos of single
environments.

| key | meaning |
|---|---|
| ``action_mask`` | ``int8[107]``, the legal actions; all ones once the episode is over |
| ``seat`` | the learner's seat |
| ``illegal_action`` | whether an illegal action ended the episode |
| ``skipped_hands`` | how many hands ended before the learner could move in them |
| ``skipped_wins``, ``skipped_points`` | how many of these each player won, and the points, ``int64[2]`` each, the learner's first |
| ``score`` | games only: points so far, ``int64[2]``, the learner's first |
| ``skipped_games`` | games only: how many whole games ended before the learner could move in them; their hands are not among the skipped hands |
| ``skipped_game_wins``, ``skipped_totals`` | games only: how many of these each player won, and the sums of the final totals, ``int64[2]`` each |
| ``outcome`` | when a hand ended in which the learner had moved: ``end`` (an ``End``, as a number), ``points`` (negative: the opponent's), ``won`` (1, 0, -1), ``knocker`` (0 the learner, 1 the opponent, 2 nobody), ``deadwood``, ``opponent_deadwood``, ``length`` (actions of both) |
| ``game`` | when a game ended: ``won``, ``hands``, ``boxes``, ``opponent_boxes``, ``total``, ``opponent_total`` |

In a step, at most one hand ends in which the learner had moved, and others may be skipped after it. In a game, the points of ``outcome`` and
``skipped_points`` together are the change of ``score`` (from 0 to 0 where a game begins).
"""  # noqa: E501

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.engine.jit import kernel, record_copy
from ginenv.tables.episode_kernels import FINAL, INFO, copy_info
from ginenv.tables.episodes import Episodes

# What is reported of a hand and of a game that ended: fields of INFO, of pairs one of the two.
_OUTCOME: dict[str, tuple[Any, ...]] = {
    **{name: (name,) for name in ("end", "points", "won", "knocker")},
    "deadwood": ("deadwood", 0),
    "opponent_deadwood": ("deadwood", 1),
    "length": ("length",),
}
_GAME: dict[str, tuple[Any, ...]] = {
    "won": ("game_won",),
    "hands": ("hands",),
    "boxes": ("boxes", 0),
    "opponent_boxes": ("boxes", 1),
    "total": ("total", 0),
    "opponent_total": ("total", 1),
}
# Fields of INFO that are reported under their own names.
_SKIPPED = ("skipped_hands", "skipped_wins", "skipped_points")
_IN_GAME = (*_SKIPPED, "score", "skipped_games", "skipped_game_wins", "skipped_totals")

# Values of most steps: the seats, of which 0 also is a count, and two counts of nothing.
_SEATS = np.int64(0), np.int64(1)
_NONE = np.zeros(2, np.int64)

# The fields that are kept for every table; the rest of INFO is kept only where something ended.
_BRIEF = np.dtype(
    [
        ("score", np.int32, (2,)),
        ("seat", np.uint8),
        ("illegal", np.uint8),
        ("ended", np.uint8),
    ],
    align=True,
)
_copy_final = record_copy(FINAL, "seat", FINAL, "seat", "cells")


@kernel
def _note(tables, notes):
    """Copies the fields that are kept for every table; returns at how many of them a hand ended."""
    ended = 0
    for i in range(tables.shape[0]):
        t = tables[i]
        n = notes[i]
        n.score[0] = t.score[0]
        n.score[1] = t.score[1]
        n.seat = t.seat
        n.illegal = t.illegal
        n.ended = t.closed > 0 or t.skipped_hands > 0 or t.skipped_games > 0
        ended += n.ended
    return ended


@kernel
def _note_ended(tables, notes, records):
    k = 0
    for i in range(tables.shape[0]):
        if notes[i].ended:
            copy_info(records[k], tables[i])
            k += 1


@kernel
def _keep(finals, ended, records):
    """Copies what was kept of the episodes that ended at some tables."""
    for k in range(ended.shape[0]):
        _copy_final(records[k], finals[ended[k]])


def _ended_games(records: np.ndarray) -> np.ndarray:
    return (records["closed"] > 0) & (records["finished"] > 0) & (records["illegal"] == 0)


def _columns(fields: dict[str, tuple[Any, ...]], records: np.ndarray, where: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers of ``INFO[n]`` records by name, 0 where they mean nothing, each with its mask."""
    columns = {}
    for name, (field, *index) in fields.items():
        columns[name] = np.where(where, records[field][:, *index], 0).astype(np.int64)
        columns[f"_{name}"] = where
    return columns


def info_of(tables: Episodes, mask: np.ndarray) -> dict[str, Any]:
    """The ``info`` of the first table."""
    info: dict[str, Any] = {
        "action_mask": mask,
        "seat": _SEATS[tables.seats[0]],
        "illegal_action": np.array(tables.illegal[0] > 0),
    }
    if tables.is_game or tables.skipped[0]:
        record = tables.episodes[0]
        for name in _IN_GAME if tables.is_game else _SKIPPED:
            info[name] = record[name].astype(np.int64)
    else:
        # Most steps, and reading these fields would take as long as the rest of them.
        info["skipped_hands"], info["skipped_wins"], info["skipped_points"] = _SEATS[0], _NONE.copy(), _NONE.copy()
    if tables.closed[0]:
        record = tables.episodes[0]
        info["outcome"] = {name: int(record[field][*index]) for name, (field, *index) in _OUTCOME.items()}
        if tables.is_game and _ended_games(tables.episodes)[0]:
            info["game"] = {name: int(record[field][*index]) for name, (field, *index) in _GAME.items()}
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
_ALWAYS = _with_flags("seat", "illegal_action", *_SKIPPED)
_IN_GAMES, _OF_HANDS, _OF_GAMES = _with_flags(*_IN_GAME), _with_flags("outcome"), _with_flags("game")
_OF_FINALS = _with_flags("final_obs", "final_info")


class Reporter:
    """Makes the ``info`` of a batch.

    Args:
        count: number of tables.
        is_game: whether an episode is a game.
    """

    def __init__(self, count: int, is_game: bool) -> None:
        self._count, self._is_game = count, is_game
        # The mask of all tables: one read-only array for all steps.
        self._everywhere = np.ones(count, bool)
        self._everywhere.flags.writeable = False

    def report(
        self, batch: Episodes, masks: np.ndarray, ended: np.ndarray, observe: Callable[[np.ndarray], np.ndarray]
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
        observed = np.empty(_note(batch.episodes, notes), INFO)
        if len(observed):
            _note_ended(batch.episodes, notes, observed)
        finals = np.empty(len(ended), FINAL)
        if len(ended):
            _keep(batch.finals, ended, finals)

        def make() -> dict[str, Any]:
            records = np.zeros(self._count, INFO)
            for name in _BRIEF.names[:-1]:  # type: ignore[index]
                records[name] = notes[name]
            records[notes["ended"] > 0] = observed
            infos = self._info(records, masks)
            return infos | self._final(finals, observe(finals["cells"]), ended) if len(ended) else infos

        names = _ALWAYS | _IN_GAMES if self._is_game else _ALWAYS
        if observed["closed"].any():
            names |= _OF_HANDS
            if self._is_game and _ended_games(observed).any():
                names |= _OF_GAMES
        if len(ended):
            names |= _OF_FINALS
        return LazyInfo({"action_mask": masks, "_action_mask": self._everywhere}, names, make)

    def report_some(self, batch: Episodes, masks: np.ndarray, slots: np.ndarray) -> dict[str, Any]:
        """The ``info`` of some tables (``slots``) alone; nothing for the others."""
        records, marked = np.zeros(self._count, INFO), np.zeros_like(masks)
        marked[slots] = masks[slots]
        for name in INFO.names or ():
            records[name][slots] = batch.episodes[name][slots]
        return self._info(records, marked, slots)

    def _final(self, finals: np.ndarray, observations: np.ndarray, ended: np.ndarray) -> dict[str, Any]:
        """The final observations and infos of the episodes that ended."""
        count = self._count
        where = np.zeros(count, bool)
        where[ended] = True
        records = np.zeros(count, INFO)
        records[ended] = finals[list(INFO.names or ())]
        final_obs = np.empty(count, object)
        for slot, observation in zip(ended.tolist(), observations, strict=True):
            final_obs[slot] = observation
        # All ones where an episode ended, zeros elsewhere: one column, repeated by a stride of 0.
        masks = np.ndarray((count, NUM_ACTIONS), np.int8, where.copy(), strides=(1, 0))
        masks.flags.writeable = False
        final_info = self._info(records, masks, ended)
        return {"final_obs": final_obs, "_final_obs": where, "final_info": final_info, "_final_info": where}

    def _info(self, records: np.ndarray, masks: np.ndarray, slots: np.ndarray | None = None) -> dict[str, Any]:
        """The ``info`` of ``INFO[n]`` records for some tables (``slots``), or for all."""
        count = self._count
        where: Any = self._everywhere
        if slots is not None:
            where = np.zeros(count, bool)
            where[slots] = True
        closed, games = records["closed"] > 0, _ended_games(records)
        infos: dict[str, Any] = {
            "action_mask": masks, "_action_mask": where,
            "seat": records["seat"].astype(np.int64), "_seat": where,
            "illegal_action": records["illegal"] > 0, "_illegal_action": where,
        }  # fmt: skip
        for name in _IN_GAME if self._is_game else _SKIPPED:
            infos[name], infos[f"_{name}"] = records[name].astype(np.int64), where
        if closed.any():
            infos["outcome"], infos["_outcome"] = _columns(_OUTCOME, records, closed), closed
            if self._is_game and games.any():
                infos["game"], infos["_game"] = _columns(_GAME, records, games), games
        return infos
