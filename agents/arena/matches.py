"""Matches between two players on mirrored deals, in lock-step over thousands of games.

A pair is the same deals played twice with the players' seats exchanged. Which deals a pair has, and what luck its players
have, follows from the match's seed and the pair's number alone (and from a salt where programs from outside play, which might guess a
seed); so a match comes out the same at any batch size and on any
number of processes, provided the players are functions of what they see.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from agents.arena import steps
from agents.arena.luck import LuckMeter, ValueFunction, deadwood_value
from agents.arena.results import MatchResult
from agents.arena.sequential import LOOK_EVERY, SequentialTest
from agents.deals import Domain, deal_keys, luck_words, new_salt, salted
from agents.programs.player import BotLimits, OutsidePlayer
from ginenv.actions import action_name
from ginenv.engine import STATE
from ginenv.errors import GinError, IllegalActionError
from ginenv.players import Player, make_player
from ginenv.rules import Rules, get_rules
from ginenv.view import VIEW, action_masks

UNITS = ("games", "hands")
FORFEITS = ("game", "hand")


@dataclass(frozen=True)
class MatchSettings:
    """What a match is, apart from its players.

    Attributes:
        rules: what is played.
        unit: whole ``games``, or single ``hands``.
        seed: of deals, luck and players.
        domain: which stream the deals come from.
        batch: games at once in a process; changes the speed, never the result.
        forfeit: what a player that fails loses: the ``game`` or the ``hand``.
        forfeit_points: what the other scores for a forfeited hand.
        luck: whether luck with the cards is measured.
        limits: what programs from outside are allowed.
        salt: mixed into the seed (``agents.deals``); never empty where a program from outside plays.
    """

    rules: Rules
    unit: str = "games"
    seed: int = 0
    domain: Domain = Domain.EVAL
    batch: int = 2048
    forfeit: str = "game"
    forfeit_points: int = 50
    luck: bool = False
    limits: BotLimits = field(default_factory=BotLimits)
    salt: str = ""

    def __post_init__(self) -> None:
        """Refuses what no match can be played with."""
        if self.unit not in UNITS:
            raise GinError(f"unit is {self.unit!r}; allowed is one of: {', '.join(UNITS)}")
        if self.forfeit not in FORFEITS:
            raise GinError(f"forfeit is {self.forfeit!r}; allowed is one of: {', '.join(FORFEITS)}")
        if self.batch < 1:
            raise GinError(f"batch is {self.batch}; allowed is a whole number from 1")
        self._mixed("deals", 64)

    def _mixed(self, purpose: str, bits: int) -> int:
        return salted(self.salt, purpose, self.seed, bits) if self.salt else self.seed

    @property
    def deal_seed(self) -> int:
        """What deals and luck follow from."""
        return self._mixed("deals", 64)

    @property
    def player_seed(self) -> int:
        """The seed of players in this process."""
        return self._mixed("players", 31)

    def guarded(self, *players: str | Player) -> MatchSettings:
        """These settings with a new salt if a program from outside plays and there is none."""
        outside = any(
            spec.startswith("cmd:") if isinstance(spec, str) else isinstance(spec, OutsidePlayer) for spec in players
        )
        return replace(self, salt=new_salt()) if outside and not self.salt else self


@dataclass
class Part:
    """What some pairs of a match came to; the parts of a match add up."""

    games: np.ndarray
    style: np.ndarray
    seconds: np.ndarray
    faults: list[dict[str, Any]]
    luck: np.ndarray | None = None
    complete: bool = True
    salt: str = ""


class _Lanes:
    """Some pairs of a match while they are played: a batch of states, refilled with the next job as games end."""

    def __init__(
        self, players: tuple[Player, Player], settings: MatchSettings, first: int, pairs: int, values: ValueFunction
    ):
        self.players = players
        self.settings = settings
        self.first_job = 2 * first
        self.total = 2 * pairs
        self.opened = 0
        self.done = 0
        size = min(settings.batch, self.total)
        self.keys = deal_keys(settings.domain, settings.deal_seed, first, pairs)
        self.lucks = luck_words(settings.domain, settings.deal_seed, 2 * first, 2 * pairs)
        self.states = np.zeros(size, STATE)
        self.jobs = np.full(size, -1, np.int64)
        self.views = np.zeros((2, size), VIEW)
        self.lanes = np.zeros((2, size), np.int64)
        self.counts = np.zeros(2, np.int64)
        self.games = np.zeros(self.total, steps.GAME)
        self.style = np.zeros(2, steps.STYLE)
        self.seconds = np.zeros(2)
        self.luck = LuckMeter(self.total, settings.unit == "hands", values) if settings.luck else None
        self.open(np.arange(size), size)

    def open(self, lanes: np.ndarray, free: int) -> None:
        """Starts the next jobs in free lanes."""
        more = min(free, self.total - self.opened)
        steps.open_jobs(
            self.states, lanes, self.jobs, self.opened, more, self.keys, self.lucks, self.settings.rules.block
        )
        self.opened += more

    def slots(self, side: int, lanes: np.ndarray) -> np.ndarray:
        """A number for each side of each game of the match, so that one object may play both sides."""
        return 2 * (self.first_job + self.jobs[lanes]) + side

    def tick(self) -> int:
        """One decision in every lane; returns how many jobs that finished."""
        steps.gather(self.states, self.jobs, self.views, self.lanes, self.counts)
        for side in range(2):
            if self.counts[side]:
                self.decide(side, int(self.counts[side]))
        lanes = self.lanes[0]
        over = steps.close_hands(self.states, self.jobs, self.views, lanes, self.games, self.style)
        if not over:
            return 0
        for side, player in enumerate(self.players):
            began = time.perf_counter()
            player.observe_hands(self.views[side, :over], self.slots(side, lanes[:over]))
            self.seconds[side] += time.perf_counter() - began
        hands_only = self.settings.unit == "hands"
        free = steps.go_on(self.states, self.jobs, lanes, over, self.games, hands_only, self.settings.forfeit == "game")
        self.done += free
        self.open(lanes, free)
        return free

    def decide(self, side: int, count: int) -> None:
        """Asks a side for its actions and plays them."""
        player = self.players[side]
        views = self.views[side, :count]
        lanes = self.lanes[side, :count]
        began = time.perf_counter()
        actions = np.asarray(player.act(views, self.slots(side, lanes)), np.int64)
        self.seconds[side] += time.perf_counter() - began
        if actions.shape != (count,):
            raise GinError(f"player {player.name!r} answered with shape {actions.shape}; asked were {count} actions")
        style = self.style[side : side + 1]
        positions = self.states["position"][lanes]
        bad = steps.advance(self.states, views, lanes, actions, count, style, self.settings.forfeit_points)
        if bad >= 0:
            raise _illegal(player, views[bad], int(actions[bad]))
        if self.luck is not None:
            self.luck.after(self.states, positions, lanes, self.jobs)


def play_pairs(
    players: tuple[Player, Player],
    settings: MatchSettings,
    first: int,
    pairs: int,
    progress: Callable[[int], None] | None = None,
    values: ValueFunction = deadwood_value,
) -> Part:
    """Plays pairs ``first`` to ``first + pairs`` of a match in this process.

    Args:
        players: side 0 and side 1.
        settings: what is played.
        first: number of the first pair.
        pairs: how many.
        progress: told now and then how many jobs have been finished.
        values: what luck is measured with, where the settings ask for it.

    Returns:
        The part. After an interrupt it ends before the first pair that is not finished: the games that happened to end
        early would be no fair sample.

    Raises:
        IllegalActionError: if a player answers with an action that is not legal.
    """
    settings = settings.guarded(*players)
    play = _Lanes(players, settings, first, pairs, values)
    finished = play.total
    outside = [player for player in players if isinstance(player, OutsidePlayer)]
    for player in outside:
        player.forfeits = True
    try:
        while play.done < play.total:
            if play.tick() and progress is not None:
                progress(play.done)
    except KeyboardInterrupt:
        open_jobs = np.flatnonzero(play.games["done"] == 0)
        finished = int(open_jobs[0]) // 2 * 2 if len(open_jobs) else play.total
    finally:
        for player in outside:
            player.forfeits = False
    faults = [fault for player in outside for fault in player.take_faults()]
    luck = None if play.luck is None else np.stack([play.luck.points, play.luck.chance], axis=1)[:finished]
    return Part(play.games[:finished], play.style, play.seconds, faults, luck, finished == play.total, settings.salt)


def _illegal(player: Player, view: np.ndarray, action: int) -> IllegalActionError:
    phase = int(view["phase"])
    allowed = ", ".join(action_name(int(a), phase) for a in np.flatnonzero(action_masks(view)[0]))
    try:
        name = action_name(action, phase)
    except IllegalActionError:
        name = str(action)
    return IllegalActionError(f"player {player.name!r} answered {name}, which is not legal; legal are: {allowed}")


def _make(spec: str | Player, settings: MatchSettings) -> Player:
    """A player of a name, with a seed of the match's; programs from outside get the match's limits."""
    if isinstance(spec, str) and spec.startswith("cmd:"):
        return OutsidePlayer(spec.removeprefix("cmd:"), settings.seed, settings.limits, settings.salt)
    return make_player(spec, settings.player_seed)


def _close(players: Iterable[Player]) -> list[dict[str, Any]]:
    """Ends programs from outside; returns what they did wrong at it."""
    faults = []
    for player in players:
        if isinstance(player, OutsidePlayer):
            player.close()
            faults += player.take_faults()
    return faults


def play_part(specs: tuple[str, str], settings: MatchSettings, first: int, pairs: int) -> Part:
    """Plays some pairs between players of these names, made for it and closed after it."""
    settings = settings.guarded(*specs)
    players = (_make(specs[0], settings), _make(specs[1], settings))
    try:
        part = play_pairs(players, settings, first, pairs)
    finally:
        faults = _close(players)
    part.faults += faults
    return part


def start_worker() -> None:
    """The parent hears an interrupt and ends its workers; these close their players on the way out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def _chunks(pairs: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, pairs, size):
        yield first, min(size, pairs - first)


def _parts_here(
    players: tuple[Player, Player],
    settings: MatchSettings,
    pairs: int,
    size: int,
    tick: Callable[[int], None],
    values: ValueFunction,
) -> Generator[Part, None, None]:
    before = 0
    for first, count in _chunks(pairs, size):
        part = play_pairs(players, settings, first, count, lambda done, before=before: tick(before + done), values)
        before += 2 * count
        yield part
        if not part.complete:
            return


def _parts_of_workers(
    specs: tuple[str, str], settings: MatchSettings, pairs: int, size: int, workers: int, tick: Callable[[int], None]
) -> Generator[Part, None, None]:
    """Parts in order of their pairs, from processes that were started fresh (a fork would copy compiled threads)."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=start_worker)
    waiting: list[Future[Part]] = []
    try:
        waiting = [pool.submit(play_part, specs, settings, first, count) for first, count in _chunks(pairs, size)]
        done = 0
        for future in waiting:
            part = future.result()
            done += len(part.games)
            tick(done)
            yield part
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()


def play_match(
    a: str | Player,
    b: str | Player,
    *,
    rules: str | Rules | dict[str, Any] = "eaai",
    pairs: int = 1000,
    unit: str = "games",
    seed: int = 0,
    workers: int = 1,
    batch: int = 2048,
    domain: Domain = Domain.EVAL,
    forfeit: str = "game",
    forfeit_points: int = 50,
    limits: BotLimits | None = None,
    luck: bool = False,
    values: ValueFunction = deadwood_value,
    until: SequentialTest | None = None,
    progress: Callable[[int], None] | None = None,
    salt: str = "",
) -> MatchResult:
    """Plays a match on mirrored deals.

    Args:
        a: side 0, a name or a player.
        b: side 1.
        rules: preset, value or dictionary.
        pairs: how many deals, each played with both seatings (two games, or two hands).
        unit: ``games`` or ``hands``.
        seed: of deals and players; the same seed gives the same result, and where programs from outside play the same seed and salt.
        workers: processes; more than one needs names for players.
        batch: games at once in a process.
        domain: which stream the deals come from; what is reported comes from ``Domain.EVAL``.
        forfeit: what a program from outside loses when it fails: the ``game`` or the ``hand``.
        forfeit_points: what the other scores for a forfeited hand.
        limits: what programs from outside are allowed.
        luck: whether to measure luck with the cards, for estimates without it.
        values: what luck is measured with; any function is right, a better one takes off more.
        until: stops the match, at most after ``pairs``, as soon as this test has an answer.
        progress: told how many games (or hands) are finished.
        salt: of an earlier result, to play on its deals again; left out, a match with a program from outside gets a new one.

    Returns:
        The result; after an interrupt from the keyboard what had been finished by then.

    Raises:
        GinError: if something asked for does not exist or does not fit.
    """
    if pairs < 1:
        raise GinError(f"pairs is {pairs}; allowed is a whole number from 1")
    settings = MatchSettings(
        get_rules(rules), unit, seed, domain, batch, forfeit, forfeit_points, luck, limits or BotLimits(), salt
    ).guarded(a, b)
    began = time.perf_counter()
    names = [spec if isinstance(spec, str) else spec.name for spec in (a, b)]
    tick = progress or (lambda done: None)
    own = [_make(spec, settings) for spec in (a, b)] if workers == 1 else []
    if workers == 1:
        size = LOOK_EVERY if until else min(pairs, max(500, settings.batch))
        parts = _parts_here((own[0], own[1]), settings, pairs, size, tick, values)
    else:
        if not isinstance(a, str) or not isinstance(b, str):
            raise GinError("several processes need the names of players, not players that exist already")
        if values is not deadwood_value:
            raise GinError("several processes measure luck with the default values; allowed is workers=1 for others")
        check_names(a, b)
        size = LOOK_EVERY if until else max(1, min(500, -(-pairs // (4 * workers))))
        parts = _parts_of_workers((a, b), settings, pairs, size, workers, tick)
    names = (names[0], names[1])
    finished: list[Part] = []
    result = None
    interrupted = False
    try:
        for part in parts:
            interrupted = not part.complete
            if not len(part.games):
                break
            finished.append(part)
            if until is not None:
                result = join_parts(names, settings, finished, pairs)
                result.verdict = until.verdict(result.best_pair_scores)
                if result.verdict:
                    break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        parts.close()
        faults = _close(player for player, spec in zip(own, (a, b), strict=False) if isinstance(spec, str))
    if not finished:
        raise KeyboardInterrupt
    if until is None or result is None:
        result = join_parts(names, settings, finished, pairs)
    if until is not None:
        result.verdict = until.words(result.verdict, names)
    result.faults = summed([*result.faults, *faults])
    result.elapsed = time.perf_counter() - began
    result.interrupted = interrupted
    return result


def check_names(*specs: str) -> None:
    """Makes each player once here, so that a wrong name is said before processes start."""
    for spec in specs:
        if not spec.startswith("cmd:"):
            make_player(spec)


def join_parts(names: tuple[str, str], settings: MatchSettings, parts: list[Part], wanted: int) -> MatchResult:
    """The result of a match from its parts."""
    style = np.zeros(2, steps.STYLE)
    for key in steps.STYLE.names or ():
        style[key] = sum(part.style[key] for part in parts)
    seconds = sum((part.seconds for part in parts), np.zeros(2))
    return MatchResult(
        names=names,
        rules=settings.rules,
        unit=settings.unit,
        seed=settings.seed,
        games=np.concatenate([part.games for part in parts]),
        style=style,
        seconds=(float(seconds[0]), float(seconds[1])),
        luck=np.concatenate([part.luck for part in parts if part.luck is not None]) if settings.luck else None,
        faults=summed(fault for part in parts for fault in part.faults),
        wanted=wanted,
        salts=list(dict.fromkeys(part.salt for part in parts if part.salt)),
    )


def summed(faults: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Faults of all parts, one entry for each player and kind."""
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for fault in faults:
        entry = entries.setdefault((fault["player"], fault["kind"]), {**fault, "count": 0, "forfeits": 0})
        for key in ("count", "forfeits"):
            entry[key] += fault[key]
    return list(entries.values())
