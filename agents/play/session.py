"""The desk around the table: who plays, whom, by which rules; options, statistics, records; and the game itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rich.text import Text

from agents.play import levels
from agents.play.game import Game
from agents.play.opponents import make_opponent, start_opponent
from agents.play.options import Options, variation
from agents.play.store import Home, PlayerFile, StoreError
from agents.play.terminal.commands import help_lines, parse_command
from agents.play.terminal.replay import replay
from agents.play.terminal.screen import LeaveError, Terminal
from agents.play.terminal.table import MenuError, Table
from ginenv.errors import GinError
from ginenv.players import Player, close_players, player_names
from ginenv.rules import PRESETS, Rules
from ginenv.text import parse_rules

_RECORDS_SHOWN = 15


class Desk:
    """Everything around a game.

    Args:
        terminal: where it is shown.
        home: where it is kept.
        file: the player who sits down.
        seed: seed of the first new game; every game is another one when left out.
    """

    def __init__(self, terminal: Terminal, home: Home, file: PlayerFile, seed: int | None = None) -> None:
        self.terminal = terminal
        self.home = home
        self.file = file
        self._seed = seed
        self._in_game = False

    def run(self, first: tuple[str, str] | None = None) -> None:
        """Shows the menu and does what is asked for, until the person leaves.

        Args:
            first: a command to begin with, and what follows it.

        Raises:
            LeaveError: when the person leaves.
        """
        self._greet()
        then = first
        if then is None and self.file.game is not None and self.file.options.always_resume:
            then = ("resume", "")
        while True:
            try:
                if then is None:
                    text = self.terminal.ask("menu> ")
                    then = parse_command(text) if text else ("help", "")
                name, rest = then
                then = None
                if name in ("new", "resume"):
                    self._in_game = True
                    self._new_game() if name == "new" else self._resume()
                else:
                    self.command(name, rest)
            except MenuError as menu:
                then = menu.then
                if then is None:
                    self._greet()
            except GinError as error:
                self.terminal.warn(error)
            finally:
                self._in_game = False

    def close(self) -> None:
        """Lets another process have the player."""
        self.file.close()

    def _greet(self) -> None:
        for notice in self.file.notices:
            self.terminal.warn(notice)
        self.file.notices.clear()
        options = self.file.options
        self.terminal.say(
            "",
            Text(f"Gin rummy. {self.file.name} sits at the table.", "bold"),
            f"Opponent: {options.opponent_name}. Rules: {options.rules}.",
        )
        if self.file.game is not None:
            self.terminal.say("There is an unfinished game: 'resume' goes on with it.")
        self.terminal.say("'new' begins a game, 'help' says what else there is, 'quit' leaves.")

    # ---------------------------------------------------------------- games

    def check_opponent(self, spec: str) -> None:
        """Makes an opponent once, so that a wrong name is told now and not at the next game.

        Raises:
            GinError: if there is no such opponent.
        """
        self._opponent_of(spec)

    def _new_game(self) -> None:
        options = self.file.options
        if self._seed is not None and options.opponent.startswith("cmd:"):
            raise GinError(
                "a program could find out which cards a seed deals; allowed is a game against it without --seed"
            )
        game = Game.begin(options.rules_value, options.opponent, options.easy_game, self._seed)
        opponent = self._opponent_of(game.opponent, game.easy, game.seed)
        if self.file.game is not None:
            question = "There is an unfinished game; its points are lost when you begin another. Begin?"
            if not self.terminal.confirm(question):
                self.terminal.say("The unfinished game stays; 'resume' goes on with it.")
                return
        self._seed = None
        self._sit_down(game, opponent)

    def _resume(self) -> None:
        if self.file.game is None:
            raise GinError("there is no unfinished game; 'new' begins one")
        try:
            game = Game.from_json(self.file.game)
        except GinError as error:
            self.terminal.warn(self.file.set_game_aside(str(error)))
            return
        self._sit_down(game, self._opponent_of(game.opponent, game.easy, game.seed))

    def _sit_down(self, game: Game, opponent: Player) -> None:
        try:
            # Before anything of the game is kept: who cannot play leaves no unfinished game behind.
            start_opponent(opponent, game.match.rules)
            Table(self.terminal, self.file, game, opponent, self.command).play()
        finally:
            close_players([opponent])
        self.terminal.say("'new' begins another game.")

    def _opponent_of(self, spec: str, easy: bool = False, seed: int = 0) -> Player:
        return make_opponent(spec, easy, seed, self.file.name, self.home.path, self.file.options.learning)

    # ---------------------------------------------------------------- commands

    def command(self, name: str, rest: str) -> None:
        """Carries out a command that is not about the cards.

        Raises:
            GinError: if it cannot be carried out; nothing has changed then.
            MenuError: if it has to wait until the table is left.
            LeaveError: when the person leaves.
        """
        if name == "quit":
            raise LeaveError
        if self._in_game and name in ("new", "resume", "player", "create"):
            if name == "resume":
                raise GinError("this game is in play already")
            raise MenuError((name, rest))
        commands = {
            "menu": self._greet,
            "help": lambda: self.terminal.say(*help_lines()),
            "rules": lambda: self._rules(rest),
            "rule": lambda: self._rule(rest),
            "opponent": lambda: self._opponent(rest),
            "options": self._options,
            "set": lambda: self._set(rest),
            "statistics": self._statistics,
            "reset statistics": lambda: self._reset_statistics(rest),
            "players": self._players,
            "player": lambda: self._sit(self.home.open(self._other(rest))),
            "create": lambda: self._sit(self.home.create(rest)),
            "remove": lambda: self._remove(rest),
            "records": self._records,
            "replay": lambda: replay(self.terminal, self._record(rest)),
            "learned": lambda: self.terminal.say(levels.learned(self._level(rest), self.file.name, self.home.path)),
            "reset": lambda: self._reset_level(rest),
        }
        if name not in commands:
            raise GinError(
                f"{name!r} is for a game in play; 'new' begins one" if not self._in_game else f"not now: {name!r}"
            )
        commands[name]()

    def _change(self, options: Options) -> None:
        self.file.options = options
        try:
            self.file.save()
        except OSError as error:
            self.terminal.warn(f"The change cannot be saved: {error.strerror or error}.")

    def _later(self) -> str:
        return " It counts from the next game on." if self._in_game else ""

    def _options(self) -> None:
        lines = []
        for entry in dataclasses.fields(Options):
            value = getattr(self.file.options, entry.name)
            shown = ("on" if value else "off") if isinstance(value, bool) else value
            choices = f" ({', '.join(entry.metadata['choices'])})" if entry.metadata["choices"] else ""
            lines.append(f"  {entry.name:<14} {shown:<14} {entry.metadata['about']}{choices}")
        self.terminal.say(*lines, "'set OPTION VALUE' changes one.")

    def _set(self, rest: str) -> None:
        name, _, value = rest.replace("=", " ", 1).partition(" ")
        if not name or not value.strip():
            raise GinError(
                "an option is changed with its name and a value, as in: set sort value; 'options' lists them"
            )
        if name == "opponent":
            return self._opponent(value)
        self._change(self.file.options.changed(name, value))
        later = self._later() if name in ("rules", "easy_game", "learning") else ""
        self.terminal.say(f"{name} is {value.strip()} now.{later}")

    def _opponent(self, rest: str) -> None:
        if not rest:
            names = [name for name in player_names() if name not in ("checkpoint", "cmd", "style")]
            self.terminal.say(
                f"You play {self.file.options.opponent_name}. To choose from: {', '.join(names)};",
                "style:OPTION=VALUE,...; a checkpoint's directory; cmd:PROGRAM for a program of your own.",
            )
            return
        options = self.file.options.changed("opponent", rest)
        self.check_opponent(rest)
        self._change(options)
        self.terminal.say(f"Your opponent is {options.opponent_name}.{self._later()}")

    def _rules(self, rest: str) -> None:
        if rest:
            self._change(self.file.options.changed("rules", rest))
            self.terminal.say(f"The rules are {self.file.options.rules}.{self._later()}")
            return
        for name, rules in PRESETS.items():
            mark = "*" if name == self.file.options.rules else " "
            self.terminal.say(f"{mark} {name:<16} {_in_short(rules)}")
        if self.file.options.rules not in PRESETS:
            self.terminal.say(f"* {self.file.options.rules}")
        self.terminal.say("'rules PRESET' chooses; 'rule NAME VALUE' changes one rule, 'rule' lists them.")

    def _rule(self, rest: str) -> None:
        rules = self.file.options.rules_value
        if not rest:
            values = dataclasses.asdict(rules).items()
            self.terminal.say(*(f"  {name:<22} {str(value).lower()}" for name, value in values))
            return
        name, _, value = rest.replace("=", " ", 1).partition(" ")
        if not value.strip():
            raise GinError("a rule is changed with its name and a value, as in: rule target 150; 'rule' lists them")
        name = name.replace("-", "_")
        # Read by the one parser of rules in text, from a preset that says nothing about this rule.
        value = getattr(parse_rules(f"dg-standard,{name}={value.strip().lower()}"), name)
        self._change(self.file.options.changed("rules", variation(rules.replace(**{name: value}))))
        self.terminal.say(f"The rules are {self.file.options.rules}.{self._later()}")

    def _statistics(self) -> None:
        if self.file.statistics.tallies:
            self.terminal.say("", self.file.statistics.to_table(self.file.name))
        else:
            self.terminal.say(f"{self.file.name} has not played a hand yet.")

    def _reset_statistics(self, rest: str) -> None:
        what = f"of {rest}" if rest else "of all variations and opponents"
        if not self.terminal.confirm(f"Set the statistics {what} back to nothing?"):
            return
        count = self.file.statistics.reset(rest)
        if not count:
            raise GinError(f"there are no statistics {what}")
        self._change(self.file.options)
        self.terminal.say("They start anew.")

    # ---------------------------------------------------------------- players

    def _players(self) -> None:
        for name in self.home.names():
            self.terminal.say(f"{'*' if name == self.file.name else ' '} {name}")
        self.terminal.say("'player NAME' lets another sit down, 'create NAME' makes one, 'remove NAME' removes one.")

    def _other(self, name: str) -> str:
        if not name:
            raise GinError("who is to sit down? 'player NAME', and 'players' lists them")
        if name.casefold() == self.file.name.casefold():
            raise StoreError(f"{self.file.name!r} sits at this table already")
        return name

    def _sit(self, file: PlayerFile) -> None:
        self.file.close()
        self.file = file
        self._greet()
        if file.game is not None and file.options.always_resume:
            raise MenuError(("resume", ""))

    def _remove(self, name: str) -> None:
        if not name:
            raise GinError("who is to be removed? 'remove NAME', and 'players' lists them")
        if name.casefold() == self.file.name.casefold():
            raise StoreError(f"{self.file.name!r} sits at this table; let another player sit down first")
        if self.terminal.confirm(f"Remove {name!r} with options, statistics, records and unfinished game?"):
            self.home.remove(name)
            self.terminal.say(f"{name} is gone.")

    # ---------------------------------------------------------------- records and levels

    def _records(self) -> None:
        files = self.file.record_files()
        for number, path in list(enumerate(files, 1))[-_RECORDS_SHOWN:]:
            self.terminal.say_whole(f"{number:>4}  {path}")
        self.terminal.say("'replay NUMBER' steps through one." if files else "There is no record yet.")

    def _record(self, rest: str) -> Path:
        files = self.file.record_files()
        if rest and not rest.isdecimal():
            return Path(rest).expanduser()
        if not files:
            raise GinError("there is no record yet; 'replay FILE' opens one from elsewhere")
        number = int(rest) if rest else len(files)
        if not 1 <= number <= len(files):
            raise GinError(f"there is no record {number}; your records are numbered 1 to {len(files)}")
        return files[number - 1]

    def _level(self, rest: str) -> str:
        return rest or self.file.options.opponent

    def _reset_level(self, rest: str) -> None:
        if not rest:
            raise GinError("which level is to be put back? 'reset LEVEL', as in: reset level-1")
        levels.checked_level(rest)
        if self.terminal.confirm(f"Put {rest} back to how it was installed? What it has learned is lost."):
            self.terminal.say(levels.reset(rest, self.home.path))


def _in_short(rules: Rules) -> str:
    """The rules that one asks for first, in one line."""
    limit = "Oklahoma" if rules.oklahoma else f"knock at {rules.knock_limit}" if rules.knock_limit else "gin only"
    deal = "eleven/ten" if rules.deals_eleven else "traditional deal"
    layoff = "lay off by hand" if rules.layoff == "by-hand" else "automatic lay-off"
    target = f"to {rules.target}" if rules.target else "one hand"
    bonuses = f", game bonus {rules.game_bonus}, box {rules.box_bonus}" if rules.game_bonus or rules.box_bonus else ""
    return f"{limit}, {deal}, {layoff}, {target}{bonuses}"
