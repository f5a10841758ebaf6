"""A contest: its bots compiled and checked, everyone against everyone, and what each bot is told about its play.

    OUT/bots/NAME-HASH/         a bot as it is run, and what its check found; another version of the bot is another folder
    OUT/matches/HASH/           a match of two such bots, as a tournament of its own
    OUT/feedback/               what the analysis found of a bot
    OUT/index.html, bot-*.html  the pages

Whatever is finished is a file, so a contest that was stopped or killed goes on where it was, and of a bot that was handed in again only
its own matches are played again.
"""

from __future__ import annotations

import hashlib
import itertools
import shlex
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
from pydantic import Field

from agents.arena.configs import Processes, TournamentConfig, read_rules_argument
from agents.arena.conformance import check
from agents.arena.tournament import Standings, Tournament, play_all, version_of
from agents.contest.entries import Entry, build, find_entries
from agents.contest.feedback import dearest_decisions
from agents.files import check_own, read_json_object, write_json, writing
from agents.programs.player import BotLimits
from ginenv.errors import GinError

# Hands in each stage of the check, whose answer is then the same for everybody.
_CHECKED_HANDS = 40
_RESAMPLES = 500
# Games at once, which a bot is asked about in one line.
_BATCH = 64


class ContestConfig(Processes):
    """A contest between the bots in a folder: each is checked, then everyone plays everyone, and a page shows the standings.

    Attributes:
        directory: the folder of bots: files NAME.py, NAME.java, NAME.rs, NAME.cpp or NAME.jar, or folders with one of these.
        out: folder of the standings, which are in index.html, and of everything that is played.
        rules: a preset, one with changes, or rules as JSON.
        pairs: number of mirrored deals for every two bots.
        block: number of pairs played in one go; an interruption loses at most one block.
        seconds: time limit of a bot for getting ready and for one line of questions.
        memory: the most memory that each process of a bot gets, in MB.
        beside: players of ours that take part, too.
        host: the host for players of the 2021 challenge, if there are any.
    """

    directory: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIRECTORY")]
    out: Path = Path("runs/contest")
    rules: str = "eaai"
    pairs: int = Field(200, gt=0)
    block: int = Field(50, gt=0)
    seconds: float = Field(10.0, gt=0)
    memory: int = Field(1024, ge=64)
    beside: tuple[str, ...] = ("simple",)
    host: Path = Path("host.jar")


@dataclass
class Bot:
    """A bot in the contest.

    Attributes:
        name: its name.
        version: its name with a hash of what it consists of.
        player: its player's name; empty if it cannot take part.
        wrong: why it does not take part; empty if it does.
        notes: what else its check found.
        feedback: what the analysis found; ``None`` until it has been made.
    """

    name: str
    version: str
    player: str = ""
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    feedback: dict[str, Any] | None = None


class Contest:
    """A contest and its folder.

    Args:
        config: its settings.

    Raises:
        GinError: if the folder holds no bot, or ``out`` something else.
    """

    def __init__(self, config: ContestConfig) -> None:
        self.config = config
        self.rules = read_rules_argument(config.rules)
        self.entries = find_entries(config.directory)
        for entry in self.entries:
            if entry.name in config.beside:
                raise GinError(
                    f"the bot {entry.path} is called as a player of ours that takes part (--beside); rename it"
                )
        check_own(config.out, "folder of a contest", "bots", "index.html")
        self.bots: list[Bot] = []
        self.tournaments: dict[tuple[int, int], Tournament] = {}

    @property
    def admitted(self) -> list[Bot]:
        """The bots that take part."""
        return [bot for bot in self.bots if bot.player]

    def check(self, tick: Callable[[int], None] = lambda done: None) -> None:
        """Compiles and checks every bot that has not been, and makes the matches of those that pass."""
        self.bots = [Bot(name, f"{name} {version_of(name)}", name) for name in self.config.beside]
        for done, entry in enumerate(self.entries, 1):
            self.bots.append(self._checked(entry))
            tick(done)
        players = self.admitted
        self.tournaments = {
            (a, b): Tournament(self._match(players[a], players[b]))
            for a, b in itertools.combinations(range(len(players)), 2)
        }

    def _checked(self, entry: Entry) -> Bot:
        config = self.config
        bot = Bot(entry.name, entry.name)
        settings = hashlib.sha256(repr((self.rules.hash, config.seconds)).encode()).hexdigest()[:12]
        try:
            bot.version = f"{entry.name}-{entry.digest(config.memory, sys.executable)}"
            place = config.out / "bots" / bot.version
            program = shlex.quote(str(build(entry, place, config.memory, config.host).resolve()))
        except (GinError, OSError) as error:
            # A broken link, or a file that may not be read, is no reason to end the contest of the others.
            reason = error.args[0][0][-1] if isinstance(error, shutil.Error) else error
            bot.wrong = [str(reason)]
            return bot
        path = place / f"check-{settings}.json"
        if path.is_file():
            found = read_json_object(path, "check of a bot")
        else:
            limits = BotLimits(start_seconds=config.seconds, seconds=config.seconds)
            checked = check(program, _CHECKED_HANDS, limits, rules=self.rules)
            found = {"wrong": checked.wrong, "notes": checked.notes}
            with writing(path):
                write_json(path, found)
        bot.wrong, bot.notes = found["wrong"], found["notes"]
        bot.player = "" if bot.wrong else f"cmd:{program}"
        return bot

    def _match(self, a: Bot, b: Bot) -> TournamentConfig:
        out = hashlib.sha256(repr((a.version, b.version, self._settings)).encode()).hexdigest()[:16]
        return self._tournament([a, b], self.config.out / "matches" / out)

    @property
    def _settings(self) -> tuple[object, ...]:
        """What the games depend on beside the bots."""
        config = self.config
        return self.rules.hash, config.pairs, config.block, config.seconds

    def _tournament(self, bots: list[Bot], out: Path) -> TournamentConfig:
        config = self.config
        return TournamentConfig(
            title="Contest",
            players={bot.name: bot.player for bot in bots},
            rules=config.rules,
            pairs=config.pairs,
            block=config.block,
            seed=0,
            batch=_BATCH,
            luck=False,
            bot_seconds=config.seconds,
            bot_restarts=1,
            resamples=_RESAMPLES,
            out=out,
        )

    @property
    def num_blocks(self) -> int:
        """How many blocks there are to play."""
        return sum(len(each.blocks()) for each in self.tournaments.values())

    def play(self, tick: Callable[[int], None], executor: Executor | None) -> bool:
        """Plays what has not been played (see ``Tournament.play``)."""
        return play_all(list(self.tournaments.values()), tick, executor)

    def standings(self) -> Standings:
        """The standings after what has been played."""
        players, matches, missing = self.admitted, {}, 0
        for pair, tournament in self.tournaments.items():
            found, left = tournament.matches()
            missing += left
            if found:
                matches[pair] = found[0, 1]
        config = self._tournament(players, self.config.out)
        return Standings([bot.name for bot in players], [bot.player for bot in players], matches, missing, config)

    def analyse(self, tick: Callable[[int], None], done: Callable[[], None] = lambda: None) -> None:
        """Finds each bot's dearest decisions, unless that has been done; ``done`` is called after each bot."""
        bots = [bot for bot in self.admitted if bot.player.startswith("cmd:")]
        for number, bot in enumerate(bots, 1):
            path = self.config.out / "feedback" / f"{bot.version}-{self.rules.hash}.json"
            if path.is_file():
                bot.feedback = read_json_object(path, "feedback of a bot")
            else:
                bot.feedback = dearest_decisions(bot.player, self.rules, self.config.seconds)
                with writing(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_json(path, bot.feedback)
                done()
            tick(number)
