"""Matches between two players on mirrored deals, in lock-step over thousands of games.

A pair is the same deals played twice with the players' seats exchanged. The deals of a pair, and the luck of its players, depend only
on the match's seed and the pair's number. Where programs play they also depend on a salt, because a program might guess the seed. So a
match has the same result at any batch size and on any number of processes, provided the players are functions of what they see.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.executors import TASK_PAIRS, chunks, in_order, run_tasks, task_size
from agents.arena.hand_value import shipped_value
from agents.arena.lockstep import FORFEIT_POINTS, Lockstep, Observer, mirrored_jobs
from agents.arena.luck import LuckMeter
from agents.arena.results import MatchResult, add_stats
from agents.arena.statistics import GAME_RESULT, PLAY_STATS, Statistics
from agents.deal_streams import DealStream, Domain, new_salt
from agents.interrupts import allow_interrupts, defer_interrupts
from agents.programs.player import BotLimits, OutsidePlayer, forfeiting
from agents.programs.process import split_command
from ginenv.engine.rules import Rules, get_rules
from ginenv.errors import GinError, check_choice, check_integer
from ginenv.tables.kernels import GAME, HAND
from ginenv.tables.player_names import PlayerSpec, parse_player
from ginenv.tables.players import Player, directory_name, make_player

Progress = Callable[[int], None]
# A player of a match: its parsed name, or an object.
Side = PlayerSpec | Player
# Games at once where a program plays: few enough that an interrupted slow match has finished some, enough that a line asks about many.
PROGRAM_GAMES = 64
# Number of series in a match in which a player learns, each with a memory of its own, and games at once in a series: few, so that most
# are played by a learner that has seen the earlier ones.
LEARNERS_SERIES, LEARNERS_GAMES = 20, 4
# Least time between two reports of progress.
_PROGRESS_SECONDS = 0.2


@dataclass(frozen=True)
class MatchSettings:
    """All settings of a match apart from its players and its length.

    Attributes:
        rules: the rules; a preset's name or a dictionary becomes ``Rules``.
        unit: whole ``games``, or single ``hands``.
        seed: seed of deals, luck and players; the same seed gives the same result.
        domain: which stream the deals come from; reported results come from ``Domain.EVAL``.
        batch: games at once in a process; changes the speed, never the result.
        forfeit: what an outside program loses when it fails: the ``game`` or the ``hand``.
        limits: limits on the time and the restarts of outside programs.
        luck: whether luck is measured and subtracted from the estimates (``agents.arena.luck``).
        salt: mixed into the seed (``agents.deal_streams``); never empty where a program plays.
    """

    rules: Rules = field(default_factory=lambda: get_rules("eaai"))
    unit: str = "games"
    seed: int = 0
    domain: Domain = Domain.EVAL
    batch: int = 2048
    forfeit: str = "game"
    limits: BotLimits = field(default_factory=BotLimits)
    luck: bool = True
    salt: str = ""

    def __post_init__(self) -> None:
        """Checks the values."""
        object.__setattr__(self, "rules", get_rules(self.rules))
        check_choice("unit", self.unit, ("games", "hands"))
        check_choice("forfeit", self.forfeit, ("game", "hand"))
        check_integer("batch", self.batch, 1)
        check_integer("seed", self.seed, 0)
        # Raises if the salt is malformed.
        _ = self.stream.deals_seed

    @property
    def decisive(self) -> dict[str, Any]:
        """What the result of given pairs depends on besides the players, as JSON values; so does how it is stored."""
        values = {name: getattr(self, name) for name in ("unit", "seed", "domain", "forfeit", "salt")}
        luck = shipped_value().version if self.luck else ""
        stored = f"{GAME_RESULT}{PLAY_STATS}"
        return values | {"rules": self.rules.hash, "limits": asdict(self.limits), "luck": luck, "stored": stored}

    @property
    def stream(self) -> DealStream:
        """Where the deals and the players' randomness come from."""
        return DealStream(self.domain, self.seed, self.salt)

    def guarded(self, *players: str | Side) -> MatchSettings:
        """These settings with a new salt if a program plays and there is none."""
        has_program = any(
            side.kind == "cmd" if isinstance(side, PlayerSpec) else isinstance(side, OutsidePlayer)
            for side in map(read_side, players)
        )
        return replace(self, salt=new_salt()) if has_program and not self.salt else self


@dataclass
class Part:
    """The results of some pairs of a match; the parts of a match add up."""

    games: np.ndarray
    stats: np.ndarray
    seconds: np.ndarray
    faults: list[dict[str, Any]]
    luck: np.ndarray | None = None
    complete: bool = True
    salt: str = ""


def _programs(players: Iterable[Player]) -> list[OutsidePlayer]:
    """The players that run in other processes."""
    return [player for player in players if isinstance(player, OutsidePlayer)]


def learns(player: Player) -> bool:
    """Whether a player remembers its opponents from hand to hand."""
    return bool(getattr(player, "learns", False))


def play_pairs(
    players: tuple[Player, Player],
    settings: MatchSettings,
    first: int,
    pairs: int,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
) -> Part:
    """Plays ``pairs`` pairs of a match from pair ``first`` on, in this process; for players that learn they are one series.

    Args:
        players: side 0 and side 1.
        settings: the match's settings.
        first: number of the first pair.
        pairs: number of pairs.
        progress: called now and then with how many jobs have been played (see ``Lockstep.progress``).
        observers: called after those that count.

    Returns:
        The part. After an interrupt it ends before the first unfinished pair, because games that happened to end early would
        not be a fair sample.

    Raises:
        IllegalActionError: if a player answers with an action that is not legal.
    """
    settings = settings.guarded(*players)
    jobs = mirrored_jobs(settings.stream, first, pairs)
    unit = HAND if settings.unit == "hands" else GAME
    statistics, meter = Statistics(len(jobs)), LuckMeter(len(jobs), unit == HAND) if settings.luck else None
    programs = _programs(players)
    # Programs may be slow, and may use randomness in the order in which they are asked, so their number of games never changes.
    batch = min(settings.batch, PROGRAM_GAMES) if programs else settings.batch
    for side, player in enumerate(players):
        if learns(player):
            # The same opponent in all games of the series, but not the same as in the series before.
            jobs["ids"][jobs["player"] == side] = 4 * first + side
            batch = min(batch, LEARNERS_GAMES)
    finished = len(jobs)
    with forfeiting(players):
        play = Lockstep(
            players,
            settings.rules,
            jobs,
            batch,
            unit,
            forfeit_game=settings.forfeit == "game",
            forfeit_points=FORFEIT_POINTS,
            observers=[*([statistics, meter] if meter else [statistics]), *observers],
            patient=True,
        )
        shown_at = time.monotonic()
        try:
            while play.done < len(jobs):
                with allow_interrupts():
                    play.tick()
                if progress is not None and (play.done == len(jobs) or time.monotonic() - shown_at > _PROGRESS_SECONDS):
                    shown_at = time.monotonic()
                    progress(int(play.progress()))
        except KeyboardInterrupt:
            unfinished = np.flatnonzero(statistics.results["done"] == 0)
            finished = int(unfinished[0]) // 2 * 2 if len(unfinished) else len(jobs)
    faults = [fault for program in programs for fault in program.take_faults()]
    luck = None if meter is None else np.stack([meter.points, meter.chance], axis=1)[:finished]
    return Part(
        statistics.results[:finished],
        statistics.stats,
        play.seconds,
        faults,
        luck,
        finished == len(jobs),
        settings.salt,
    )


def read_side(player: str | Path | Side) -> Side:
    """The door for players of a match: reads a name, which nobody parses again.

    Raises:
        GinError: for a wrong name, a program that does not exist, which would otherwise lose every game, or a player with a profile: what
            one run writes into it would change the next, and series would not be independent.
    """
    named = player if isinstance(player, PlayerSpec) else directory_name(player)
    side = parse_player(named) if isinstance(named, str) else named
    if isinstance(side, PlayerSpec):
        if side.kind == "cmd":
            split_command(side.argument)
        has_profile = side.is_level and "profile" in side.options
    else:
        has_profile = learns(side) and getattr(side, "profile", None) is not None
    if has_profile:
        name = side.text if isinstance(side, PlayerSpec) else side.name
        raise GinError(
            f"{name} has a profile, but in a match every series begins with nothing known; leave the profile out"
        )
    return side


def make_side(player: str | Side, settings: MatchSettings, number: int) -> Player:
    """Makes a side's player, seeded by the match. A program gets the match's limits and salt; a level learns only if asked to."""
    side = read_side(player)
    if isinstance(side, PlayerSpec) and side.kind == "cmd":
        program = OutsidePlayer(side.argument, settings.stream.program_seed(number), settings.limits, settings.salt)
        program.name = side.name
        return program
    return make_player(side, settings.stream.player_seed(number), learn=False)


def check_names(*players: str | Side) -> list[Player]:
    """Makes each player except programs once, so that a wrong name raises before anything is played; returns the players.

    Raises:
        GinError: as ``read_side``.
    """
    sides = [read_side(player) for player in players]
    return [make_player(side, learn=False) for side in sides if not isinstance(side, PlayerSpec) or side.kind != "cmd"]


def _close(players: Iterable[Player]) -> list[dict[str, Any]]:
    """Ends outside programs; returns their faults."""
    faults = []
    for program in _programs(players):
        program.close()
        faults += program.take_faults()
    return faults


def play_part(
    sides: Sequence[str | Side],
    settings: MatchSettings,
    first: int,
    pairs: int,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
) -> Part:
    """``play_pairs`` for players that are made for these pairs and closed afterwards."""
    one, other = read_side(sides[0]), read_side(sides[1])
    settings = settings.guarded(one, other)
    players = (make_side(one, settings, 0), make_side(other, settings, 1))
    try:
        part = play_pairs(players, settings, first, pairs, progress, observers)
    finally:
        faults = _close(players)
    part.faults += faults
    return part


def _parts_here(
    players: tuple[Player, Player], settings: MatchSettings, pairs: int, series: int, tick: Progress
) -> Generator[Part, None, None]:
    size = series or min(pairs, max(500, settings.batch))
    for first, count in chunks(pairs, size):
        part = play_pairs(players, settings, first, count, lambda done, first=first: tick(2 * first + done))
        yield part
        if not part.complete:
            return


def _parts_of_executor(
    sides: tuple[Side, Side], settings: MatchSettings, pairs: int, series: int, executor: Executor, tick: Progress
) -> Generator[Part, None, None]:
    """Yields the parts in the order of their pairs."""
    size = series or task_size(executor, pairs, TASK_PAIRS)

    def finished() -> Iterator[tuple[int, Part]]:
        done = 0
        tasks = ((sides, (settings, first, count)) for first, count in chunks(pairs, size))
        for number, part in run_tasks(executor, play_part, tasks):
            done += len(part.games)
            tick(done)
            yield number, part

    yield from in_order(finished())


def play_match(
    a: str | Path | Player,
    b: str | Path | Player,
    *,
    rules: str | Rules | dict[str, Any] | None = None,
    pairs: int = 1000,
    unit: str | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    settings: MatchSettings | None = None,
) -> MatchResult:
    """Plays a match on mirrored deals.

    Args:
        a: side 0: a name, a directory or a player.
        b: side 1, likewise.
        rules: a preset, ``Rules`` or a dictionary; overrides the settings.
        pairs: number of deals, each played with both seatings (two games, or two hands).
        unit: ``games`` or ``hands``; overrides the settings.
        seed: seed of deals and players; overrides the settings.
        executor: plays parts of the match in its processes, with the same result (``agents.arena.executors``); ``None`` plays here.
        progress: called now and then with how many games (or hands) have been played, those in play in part.
        settings: everything else; the defaults when left out.

    Returns:
        The result; after a keyboard interrupt, that of what had been finished by then.

    Raises:
        GinError: if a name or a program does not exist, or a value is out of range.
        KeyboardInterrupt: after an interrupt before a pair was finished.
    """
    check_integer("pairs", pairs, 1)
    given = {"rules": rules, "unit": unit, "seed": seed}
    settings = replace(settings or MatchSettings(), **{key: value for key, value in given.items() if value is not None})
    sides = (read_side(a), read_side(b))
    with defer_interrupts() as interrupts:
        result = _play_match(sides, settings.guarded(*sides), pairs, executor, progress or (lambda done: None))
        result.interrupted = result.interrupted or interrupts.requested
    return result


def _play_match(
    sides: tuple[Side, Side], settings: MatchSettings, pairs: int, executor: Executor | None, tick: Progress
) -> MatchResult:
    began = time.perf_counter()
    own: list[Player] = []
    if executor is None:
        own = [make_side(side, settings, number) for number, side in enumerate(sides)]
        series = _series_of(own, pairs)
        parts = _parts_here((own[0], own[1]), settings, pairs, series, tick)
    else:
        for side in sides:
            # Tasks cannot share what an object remembers.
            if not isinstance(side, PlayerSpec) and (learns(side) or isinstance(side, OutsidePlayer)):
                raise GinError(
                    f"{side.name} is an object with a state of its own; with an executor, give the player's name"
                )
        series = _series_of(check_names(*sides), pairs)
        parts = _parts_of_executor(sides, settings, pairs, series, executor, tick)
    try:
        result = _collect((sides[0].name, sides[1].name), settings, parts, pairs, series)
    finally:
        parts.close()
        faults = _close(player for player, side in zip(own, sides, strict=False) if isinstance(side, PlayerSpec))
    result.faults = summed([*result.faults, *faults])
    result.elapsed = time.perf_counter() - began
    return result


def _collect(
    names: tuple[str, str], settings: MatchSettings, parts: Iterator[Part], pairs: int, series: int
) -> MatchResult:
    """Joins parts until the last one or an interrupt."""
    finished: list[Part] = []
    interrupted = False
    try:
        for part in parts:
            interrupted = not part.complete
            if not len(part.games):
                break
            finished.append(part)
    except KeyboardInterrupt:
        interrupted = True
    if not finished:
        raise KeyboardInterrupt(f"interrupted before a pair of {settings.unit} was finished")
    result = join_parts(names, settings, finished, pairs, series)
    result.interrupted = interrupted
    return result


def _series_of(players: Iterable[Player], pairs: int) -> int:
    """Number of pairs in a series if a player learns, else 0."""
    return -(-pairs // LEARNERS_SERIES) if any(map(learns, players)) else 0


def join_parts(
    names: tuple[str, str], settings: MatchSettings, parts: list[Part], wanted: int, series: int = 0
) -> MatchResult:
    """The result of a match of ``wanted`` pairs from its parts; where a player learns, in series of ``series`` pairs."""
    seconds = sum((part.seconds for part in parts), np.zeros(2))
    return MatchResult(
        names=names,
        rules=settings.rules,
        unit=settings.unit,
        seed=settings.seed,
        games=np.concatenate([part.games for part in parts]),
        stats=add_stats(part.stats for part in parts),
        seconds=(float(seconds[0]), float(seconds[1])),
        luck=np.concatenate([part.luck for part in parts if part.luck is not None]) if settings.luck else None,
        value_version=shipped_value().version if settings.luck else "",
        faults=summed(fault for part in parts for fault in part.faults),
        wanted=wanted,
        series_pairs=series,
        salts=list(dict.fromkeys(part.salt for part in parts if part.salt)),
    )


def summed(faults: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Faults with their counts added up by player and kind."""
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for fault in faults:
        entry = entries.setdefault((fault["player"], fault["kind"]), {**fault, "count": 0, "forfeits": 0})
        for key in ("count", "forfeits"):
            entry[key] += fault[key]
    return list(entries.values())
