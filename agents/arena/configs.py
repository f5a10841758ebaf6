"""Configurations of matches, tournaments and best responses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro
from pydantic import Field

from agents.arena.matches import MatchSettings
from agents.config import Config
from agents.files import new_results_file
from agents.programs.player import BotLimits
from ginenv.engine.rules import get_rules
from ginenv.errors import GinError, check_integer

# Bots of all strengths, against which a player is measured where no opponents are named.
PANEL = ("random", "easy", "simple", "formula")


def num_games(games: int | None, hands: int | None, usual: int) -> int:
    """How many games or single hands to play; the usual number of games if neither was given.

    Raises:
        GinError: if both were given, or fewer than one.
    """
    if games is not None and hands is not None:
        raise GinError(
            f"--games {games} and --hands {hands} exclude each other; give --games for whole games, or --hands for single hands"
        )
    if games is None and hands is None:
        return usual
    return check_integer("games", games, 1) if hands is None else check_integer("hands", hands, 1)


class Processes(Config):
    """Where games are played; the results are the same everywhere.

    Attributes:
        workers: number of processes.
    """

    workers: int = Field(1, gt=0)


class MatchOptions(Config):
    """What matches and tournaments share.

    Attributes:
        rules: a preset, or one with changes (eaai,target=200).
        seed: seed of deals and players; where an outside program plays, a salt is mixed in, which the results hold.
        batch: games at once in each process; affects speed and memory, never the result.
        forfeit: what an outside program loses when it fails: the whole game, or the hand.
        seconds: time limit of an outside program for each line of questions, and the least it gets for getting ready.
        luck: measure luck and subtract it.
    """

    rules: str = "eaai"
    seed: int = Field(0, ge=0)
    batch: int = Field(2048, gt=0)
    forfeit: Literal["game", "hand"] = "game"
    seconds: float = Field(10.0, gt=0)
    luck: bool = True

    def match_settings(self, unit: str, salt: str = "") -> MatchSettings:
        """The settings of a match of games or hands."""
        limits = BotLimits.for_lines(self.seconds)
        return MatchSettings(
            get_rules(self.rules),
            unit,
            self.seed,
            batch=self.batch,
            forfeit=self.forfeit,
            limits=limits,
            luck=self.luck,
            salt=salt,
        )


class TournamentConfig(MatchOptions):
    """Everyone against everyone.

    Attributes:
        title: title of the report.
        players: the players by the names used in the report; each is a player's name, a checkpoint's directory, or cmd:PROGRAM.
        unit: whole games, or single hands.
        pairs: number of mirrored deals for every two players.
        block: number of pairs played in one go; an interruption loses at most one block.
        resamples: number of bootstrap tables for the intervals of the ratings.
        out: directory of blocks, results and report.
    """

    title: str = "Tournament"
    players: dict[str, str]
    unit: Literal["games", "hands"] = "games"
    pairs: int = Field(1000, gt=0)
    block: int = Field(500, gt=0)
    resamples: int = Field(500, gt=1)
    out: Path = Path("runs/tournament")


class ExploitConfig(Processes):
    """Best responses to a frozen player.

    Attributes:
        agent: the frozen player: a name, or a checkpoint's directory.
        decisions: number of decisions that each best response trains on.
        seeds: number of best responses to train; the one that does best on deals kept for choosing is reported.
        rules: a preset.
        games: number of games on fresh deals with which the result is measured.
        base: training configuration to start from.
        start: checkpoint whose weights every response begins with (network: the one that ships).
        points: number of measurements of the curve after that of the start.
        out: JSON file for the results; by default a new one, runs/exploit.json, runs/exploit-2.json and so on.
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER")]
    decisions: int = Field(20_000_000, gt=0)
    seeds: int = Field(3, gt=0)
    rules: str = "eaai"
    games: int = Field(4000, gt=1)
    base: Path = Path("configs/exploit.yaml")
    start: str = "network"
    points: int = Field(10, gt=0)
    out: Path | None = None

    @property
    def path(self) -> Path:
        """The results file: the one that was named, or one that there is not yet."""
        return self.out or new_results_file("exploit")
