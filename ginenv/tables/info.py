"""The ``info`` of the environments: plain values for one table, arrays with ``_key`` masks for a batch.

Both are made from the same records (``ginenv.tables.episode_kernels.INFO``). The batch has the form that Gymnasium gives to the infos of single
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

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ginenv.engine.actions import NUM_ACTIONS
from ginenv.tables.episode_kernels import FINAL, INFO, collect_finals, collect_reports, count_reports
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
_SKIPPED = ("skipped_hands", "skipped_points")
_NO_HANDS, _NO_POINTS = np.int64(0), np.zeros(2, np.int64)


def _ended_games(records: np.ndarray) -> np.ndarray:
    return (records["closed"] > 0) & (records["finished"] > 0) & (records["illegal"] == 0)


def info_of(tables: Episodes, mask: np.ndarray) -> dict[str, Any]:
    """The ``info`` of the first table."""
    info: dict[str, Any] = {"action_mask": mask, "illegal_action": np.array(tables.illegal[0] > 0)}
    record = tables.episodes[0]
    if tables.skipped[0]:
        info |= {name: record[name].astype(np.int64) for name in _SKIPPED}
    else:
        # Most steps, and reading these fields would take as long as the rest of them.
        info["skipped_hands"], info["skipped_points"] = _NO_HANDS, _NO_POINTS.copy()
    if tables.closed[0]:
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


# Keys of a batch's info besides the mask: always present, when a hand ended, when a game did, when an episode did.
_ALWAYS, _OF_HANDS, _OF_GAMES = _with_flags("illegal_action", *_SKIPPED), _with_flags("outcome"), _with_flags("game")
_OF_FINALS = _with_flags("final_obs", "final_info")


def report(
    batch: Episodes, masks: np.ndarray, ended: np.ndarray, observe: Callable[[np.ndarray], np.ndarray]
) -> LazyInfo:
    """The ``info`` of a step, in the form of Gymnasium's vector environments; later steps do not change it.

    Args:
        batch: the tables.
        masks: ``int8[n, 107]``; kept, not copied.
        ended: ``[k]``, tables that began another episode in this step.
        observe: turns their final rows, ``uint8[k, 520]``, into observations.
    """
    # Copies of what the next step overwrites; neither they nor the function below hold the environment.
    where, is_game = batch.everywhere, batch.is_game
    slots, records, num_closed = _reports(batch.episodes)
    finals = np.empty(len(ended), FINAL)
    if len(ended):
        collect_finals(batch.finals, ended, finals)

    def make() -> dict[str, Any]:
        infos = _info(_spread(slots, records, len(where)), masks, where, is_game)
        return infos | _final(finals, observe(finals["cells"]), ended, len(where), is_game) if len(ended) else infos

    names = _ALWAYS
    if num_closed:
        names |= _OF_HANDS
        if is_game and _ended_games(records).any():
            names |= _OF_GAMES
    if len(ended):
        names |= _OF_FINALS
    return LazyInfo({"action_mask": masks, "_action_mask": where}, names, make)


def report_some(batch: Episodes, masks: np.ndarray, tables: np.ndarray) -> dict[str, Any]:
    """The ``info`` of some tables alone; nothing for the others."""
    where = np.zeros(batch.num_tables, bool)
    where[tables] = True
    slots, records, _ = _reports(batch.episodes)
    here = where[slots]
    return _info(_spread(slots[here], records[here], len(where)), masks * where[:, None], where, batch.is_game)


def _reports(episodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The tables of which there is something to report, ``int64[k]``, what it is, ``INFO[k]``, and how many hands closed."""
    count, num_closed = count_reports(episodes)
    slots, records = np.empty(count, np.int64), np.empty(count, INFO)
    if count:
        collect_reports(episodes, slots, records)
    return slots, records, num_closed


def _spread(slots: np.ndarray, records: np.ndarray, count: int) -> np.ndarray:
    """The records of some tables as ``INFO[count]``, of zeros elsewhere."""
    spread = np.zeros(count, INFO)
    spread[slots] = records
    return spread


def _final(
    finals: np.ndarray, observations: np.ndarray, ended: np.ndarray, count: int, is_game: bool
) -> dict[str, Any]:
    """The final observations and infos of the episodes that ended at some tables."""
    where = np.zeros(count, bool)
    where[ended] = True
    final_obs = np.empty(count, object)
    for slot, observation in zip(ended.tolist(), observations, strict=True):
        final_obs[slot] = observation
    masks = np.repeat(where[:, None].astype(np.int8), NUM_ACTIONS, axis=1)
    records = _spread(ended, finals[list(INFO.names or ())], count)
    final_info = _info(records, masks, where, is_game)
    return {"final_obs": final_obs, "_final_obs": where, "final_info": final_info, "_final_info": where}


def _info(records: np.ndarray, masks: np.ndarray, where: np.ndarray, is_game: bool) -> dict[str, Any]:
    """The ``info`` of ``INFO[n]`` records at the tables that are marked (``where``)."""
    infos = {"action_mask": masks, "illegal_action": records["illegal"] > 0}
    infos |= {name: records[name].astype(np.int64) for name in _SKIPPED}
    infos |= {f"_{name}": where for name in infos}
    closed, games = records["closed"] > 0, _ended_games(records)
    for name, fields, here in (("outcome", _OUTCOME, closed), ("game", _GAME, games & is_game)):
        if here.any():
            infos[name], infos[f"_{name}"] = _columns(fields, records, here), here
    return infos


def _columns(fields: dict[str, tuple[Any, ...]], records: np.ndarray, where: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers of ``INFO[n]`` records by name, 0 where they mean nothing, each with its mask."""
    columns = {}
    for name, (field, *index) in fields.items():
        columns[name] = np.where(where, records[field][:, *index], 0).astype(np.int64)
        columns[f"_{name}"] = where
    return columns
