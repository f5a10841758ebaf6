"""Everyone against everyone, in blocks of pairs that are kept as parts (``agents.parts``).

So a long tournament can be stopped and resumed: the same command continues, also with more pairs or players, and plays what is missing. A
block is one task of an executor, whose processes may be on other machines.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.arena.configs import TournamentConfig
from agents.arena.executors import run_tasks
from agents.arena.matches import MatchSettings, Part, Side, check_names, join_parts, learns, play_part, read_side
from agents.arena.results import MatchResult, add_stats, rates, versions
from agents.estimates import Estimate
from agents.files import check_own, digest_of_file, writing
from agents.interrupts import defer_interrupts
from agents.parts import Parts
from agents.programs.process import split_command
from agents.rating import bradley_terry, rating_dict
from ginenv.errors import GinError, quoted
from ginenv.tables.player_names import PlayerSpec
from ginenv.tables.players import Player

# Least number of blocks if a player learns: with fewer series, an interval would mean little.
_LEARNERS_BLOCKS = 10


@dataclass(frozen=True)
class Block:
    """Some pairs of the match between two players, given by their numbers."""

    a: int
    b: int
    first: int
    pairs: int


def version_of(side: Side, *made: Player) -> dict[str, Any]:
    """What a player's name refers to and may be another player later: hashes of files, and the settings of a search.

    Args:
        side: the parsed name.
        made: the player as it was made; none for a program.
    """
    if not isinstance(side, PlayerSpec):
        return {}
    hashes: dict[str, Any] = {}
    if side.kind == "cmd":
        # The program, and what an interpreter is given first; later words may name files that the program writes.
        program, *arguments = split_command(side.argument)
        given = itertools.dropwhile(lambda word: re.match("-[^-]", word), arguments)
        places = [program] if os.path.dirname(program) else []
        files = [
            place
            for place in [*places, *itertools.islice(given, 1)]
            if os.path.isfile(place) and os.access(place, os.R_OK)
        ]
        return {side.argument: [digest_of_file(place) for place in files]}
    # Includes the current defaults of settings that are left out.
    if settings := getattr(made[0], "search_settings", None):
        hashes[side.text] = settings
    if side.kind == "py":
        source = sys.modules[side.argument.partition(":")[0]].__file__
        hashes[side.argument] = digest_of_file(str(source))
    # A player that is more than a checkpoint has a digest of its own.
    if level := getattr(made[0], "level", None):
        hashes[side.argument or side.kind] = str(level.digest)
    for place in ("network" if side.kind == "network" else side.argument, *side.options.values()):
        if place not in hashes and place and (place == side.kind or (Path(place) / "checkpoint.json").is_file()):
            # Players from a directory have loaded torch already; other tournaments do not need it.
            from agents.network.checkpoint import read_metadata
            from agents.network.player import network_directory

            hashes[place] = str(read_metadata(network_directory(place)).get("weights_sha256"))
    return hashes


class Tournament:
    """A tournament and its directory.

    Args:
        config: the tournament's settings.

    Raises:
        GinError: if a name does not exist, or the directory holds other files or cannot be used.
    """

    def __init__(self, config: TournamentConfig):
        if len(config.players) < 2:
            raise GinError(f"a tournament needs at least 2 players; {len(config.players)} are listed")
        self.config = config
        self.names = list(config.players)
        self.specs = list(config.players.values())
        self.sides = [read_side(spec) for spec in self.specs]
        made = [check_names(side) for side in self.sides]
        self.learners = [spec for spec, players in zip(self.specs, made, strict=True) if any(map(learns, players))]
        self.versions = [version_of(side, *players) for side, players in zip(self.sides, made, strict=True)]
        self.settings = config.match_settings(config.unit)
        if self.learners and config.pairs < _LEARNERS_BLOCKS * config.block:
            raise GinError(
                f"{quoted(self.learners[0])} learns: its memory lasts for a block of pairs and intervals are over blocks, so at least "
                f"{_LEARNERS_BLOCKS} blocks are needed, not {-(-config.pairs // config.block)}; choose more pairs or a smaller block"
            )
        check_own(config.out, "directory of a tournament", "parts", "results.json")
        self.parts = Parts(config.out / "parts", **self.settings.decisive)
        with writing(config.out):
            self.parts.directory.mkdir(parents=True, exist_ok=True)

    def blocks(self) -> list[Block]:
        """All blocks: the first block of every match before any second block, so that a stopped tournament is even."""
        matches = list(itertools.combinations(range(len(self.names)), 2))
        firsts = range(0, self.config.pairs, self.config.block)
        return [
            Block(a, b, first, min(self.config.block, self.config.pairs - first))
            for first in firsts
            for a, b in matches
        ]

    def play(self, tick: Callable[[int], None] = lambda done: None, executor: Executor | None = None) -> bool:
        """Plays the missing blocks until the last one or an interrupt.

        Args:
            tick: called with the number of blocks that have been played, at once with those of earlier runs.
            executor: plays the blocks in its processes; ``None`` plays them here.

        Returns:
            Whether all blocks have been played.
        """
        blocks = self.blocks()
        waiting = [block for block in blocks if self.load(block) is None]
        tasks = [self._task(block) for block in waiting]
        done = len(blocks) - len(waiting)
        tick(done)
        with defer_interrupts(), contextlib.suppress(KeyboardInterrupt):
            parts = (
                run_tasks(executor, play_part, tasks)
                if executor is not None
                else ((number, play_part(specs, *rest)) for number, (specs, rest) in enumerate(tasks))
            )
            for number, part in parts:
                if not part.complete:
                    return False
                self.save(waiting[number], part)
                done += 1
                tick(done)
        return done == len(blocks)

    def _task(self, block: Block) -> tuple[tuple[Side, Side], tuple[MatchSettings, int, int]]:
        """What ``play_part`` needs to play a block."""
        return (self.sides[block.a], self.sides[block.b]), (self.settings, block.first, block.pairs)

    def _depends(self, block: Block) -> dict[str, Any]:
        """What a block's result depends on besides the settings; a program of several files that has changed is known by another name."""
        players = [[self.names[number], self.specs[number], self.versions[number]] for number in (block.a, block.b)]
        return {"players": players, "first": block.first, "pairs": block.pairs}

    def save(self, block: Block, part: Part) -> None:
        """Keeps the results of a block that has been played; only now its salt, which a program could read from the disk while it plays."""
        self.parts.save(vars(part), **self._depends(block))

    def load(self, block: Block) -> Part | None:
        """The results of a block, if it has been played."""
        stored = self.parts.load(**self._depends(block))
        return None if stored is None else Part(**stored)

    def _series(self, a: int, b: int) -> int:
        """Number of pairs in a series of this match: a block if one of the two players learns, else 0."""
        return self.config.block if {self.specs[a], self.specs[b]} & set(self.learners) else 0

    def standings(self) -> Standings:
        """The results of the blocks that have been played, with ratings."""
        parts: dict[tuple[int, int], list[Part]] = {}
        missing = 0
        for block in self.blocks():
            part = self.load(block)
            if part is None:
                missing += 1
            else:
                parts.setdefault((block.a, block.b), []).append(part)
        matches = {
            (a, b): join_parts(
                (self.names[a], self.names[b]), self.settings, found, self.config.pairs, self._series(a, b)
            )
            for (a, b), found in parts.items()
        }
        for pair, result in matches.items():
            called = {self.sides[number].name: self.names[number] for number in pair}
            result.faults = [
                {**fault, "player": called.get(fault["player"], fault["player"])} for fault in result.faults
            ]
        versions_of = {name: value for version in self.versions for name, value in version.items()}
        return Standings(self.names, self.specs, matches, missing, self.config, versions_of)


@dataclass
class Standings:
    """The cross-table and what follows from it.

    Attributes:
        names: the players' names in the config.
        specs: the players as ``evaluate.py`` takes them.
        matches: results by (a, b) with a < b.
        missing: number of blocks that have not been played.
        config: settings of the tournament.
        versions_of: hashes of the files that the players' names refer to, and the settings of those that search.
    """

    names: list[str]
    specs: list[str]
    matches: dict[tuple[int, int], MatchResult]
    missing: int
    config: TournamentConfig
    versions_of: dict[str, Any]

    def __post_init__(self) -> None:
        """Rates the players; ``order`` lists them with the strongest first."""
        scores = {key: result.independent_scores for key, result in self.matches.items()}
        self.ratings = bradley_terry(scores, len(self.names), self.config.resamples, self.config.seed)
        self.order = sorted(range(len(self.names)), key=lambda player: -self.ratings[player].mean)

    def share(self, a: int, b: int) -> Estimate | None:
        """The share of a against b; ``None`` where they have not met."""
        result = self.matches.get((min(a, b), max(a, b)))
        if result is None:
            return None
        return result.share if a < b else result.share.of_rest()

    def rates(self, player: int) -> dict[str, Any]:
        """How a player plays, over all its matches; empty for a player without a match."""
        played = [(pair.index(player), result) for pair, result in self.matches.items() if player in pair]
        if not played:
            return {}
        stats = add_stats(result.stats[side : side + 1] for side, result in played)
        return rates(stats[0], sum(result.seconds[side] for side, result in played))

    def faults(self) -> list[dict[str, Any]]:
        """The faults of programs, each with its match."""
        return [{**fault, "match": list(result.names)} for result in self.matches.values() for fault in result.faults]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        return {
            "versions": versions(),
            "config": self.config.model_dump(mode="json", exclude={"out"}),
            "versions_of": self.versions_of,
            "blocks_missing": self.missing,
            "ratings": {self.names[i]: rating_dict(self.ratings[i]) for i in self.order},
            "styles": {self.names[i]: self.rates(i) for i in self.order},
            "matches": [result.to_dict() for result in self.matches.values()],
            "faults": self.faults(),
        }
