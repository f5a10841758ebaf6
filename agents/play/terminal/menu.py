"""The menu: every command that is not about the cards, and the way to the table and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rich.table import Table as Grid
from rich.text import Text

from agents.play.opponents import checked_level, reset_level, what_level_learned
from agents.play.session import Session
from agents.play.statistics import Statistics
from agents.play.terminal.commands import HELP_COLUMN, help_lines, parse_command
from agents.play.terminal.replay import replay
from agents.play.terminal.screen import LeaveError, MenuError, Terminal
from agents.play.terminal.table import Table
from ginenv.errors import GinError
from ginenv.players import player_names
from ginenv.rule_texts import PRESET_TEXTS, RULE_TEXTS

_RECORDS_SHOWN = 15
# Columns at which listings continue.
_PRESET_COLUMN, _OPTION_COLUMN, _RULE_COLUMN = 19, 30, 37


class Menu:
    """The menu at the terminal.

    Args:
        terminal: where it is shown.
        session: whose it is.
    """

    def __init__(self, terminal: Terminal, session: Session) -> None:
        self.terminal = terminal
        self.session = session

    def run(self, first: str = "menu") -> None:
        """Shows the menu and does what is asked for, until the person leaves.

        Args:
            first: ``new`` or ``resume`` to begin with that.

        Raises:
            LeaveError: when the person leaves.
        """
        self._greet()
        then = None if first == "menu" else (first, "")
        if then is None and self.session.file.game is not None and self.session.options.always_resume:
            then = ("resume", "")
        while True:
            try:
                if then is None:
                    text = self.terminal.ask("menu> ")
                    then = parse_command(text) if text else ("help", "")
                (name, rest), then = then, None
                if name in ("new", "resume"):
                    self._play(name == "new")
                else:
                    self.command(name, rest)
            except MenuError as menu:
                then = menu.then
                if then is None:
                    self._greet()
            except GinError as error:
                self.terminal.warn(error)
            finally:
                self.session.leave_game()

    def command(self, name: str, rest: str) -> None:
        """Carries out a command that is not about the cards.

        Raises:
            GinError: if it cannot be carried out; nothing has changed then.
            MenuError: if it has to wait until the table is left.
            LeaveError: when the person leaves.
        """
        session, tell = self.session, self.terminal.say
        in_game = session.game is not None
        if name == "quit":
            raise LeaveError
        if in_game and name in ("new", "player", "create"):
            raise MenuError((name, rest))
        commands: dict[str, Callable[[], None]] = {
            "menu": self._greet,
            "help": lambda: tell(*help_lines(), hang=HELP_COLUMN),
            "rules": lambda: tell(session.set_rules(rest)) if rest else self._presets(),
            "rule": lambda: self._rule(rest),
            "opponent": lambda: tell(session.set_opponent(rest)) if rest else self._opponents(),
            "options": self._options,
            "set": lambda: self._set(rest),
            "statistics": self._statistics,
            "reset statistics": lambda: self._reset_statistics(rest),
            "players": self._players,
            "player": lambda: self._switch(rest),
            "create": lambda: self._switch(rest, create=True),
            "remove": lambda: self._remove(rest),
            "records": self._records,
            "replay": lambda: replay(self.terminal, session.record(rest)),
            "learned": lambda: tell(
                what_level_learned(rest or session.options.opponent, session.file.name, session.home.path)
            ),
            "reset": lambda: self._reset_level(rest),
        }
        if name not in commands:
            words = "is not possible now" if in_game else "is for a game in play; 'new' begins one"
            raise GinError(f"{name!r} {words}")
        commands[name]()
        self.terminal.warn(*session.notices())

    def _greet(self) -> None:
        self.terminal.warn(*self.session.notices())
        options = self.session.options
        self.terminal.say(
            "",
            Text(f"Gin rummy. {self.session.file.name} is at the table.", "bold"),
            f"Opponent: {options.opponent_name}. Rules: {options.rules}.",
        )
        if self.session.file.game is not None:
            self.terminal.say("There is an unfinished game: 'resume' goes on with it.")
        self.terminal.say("'new' begins a game, 'help' lists everything else, 'quit' leaves.")

    def _play(self, new: bool) -> None:
        if new and (unfinished := self.session.unfinished()):
            self.terminal.say(f"There is an unfinished game: {unfinished}.")
            if not self.terminal.confirm("Its points are lost when you begin another. Begin?"):
                self.terminal.say("The unfinished game stays; 'resume' goes on with it.")
                return
        live = self.session.new_game() if new else self.session.resume()
        Table(self.terminal, self.session, live, self.command).play()
        self.terminal.say("'new' begins another game.")

    # ---------------------------------------------------------------- rules, opponents, options

    def _presets(self) -> None:
        chosen = self.session.options.rules
        for name, about in PRESET_TEXTS.items():
            self.terminal.say(f"{'*' if name == chosen else ' '} {name:<16} {about}", hang=_PRESET_COLUMN)
        if chosen not in PRESET_TEXTS:
            self.terminal.say(f"* {chosen}")
        self.terminal.say("'rules PRESET' chooses; 'rule NAME VALUE' changes one rule, 'rule' lists them.")

    def _rule(self, rest: str) -> None:
        name, _, value = rest.replace("=", " ", 1).partition(" ")
        if value.strip():
            self.terminal.say(self.session.set_rule(name, value))
            return
        if rest:
            raise GinError("a rule is changed with its name and a value, as in: rule target 150; 'rule' lists them")
        for name, value in dataclasses.asdict(self.session.options.rules_value).items():
            self.terminal.say(f"  {name:<21}{str(value).lower():<13} {RULE_TEXTS[name]}", hang=_RULE_COLUMN)

    def _opponents(self) -> None:
        names = [name for name in player_names() if name not in ("checkpoint", "cmd", "style")]
        self.terminal.say(
            f"You play {self.session.options.opponent_name}. You can choose {', '.join(names)};",
            "style:OPTION=VALUE,...; a checkpoint's directory; cmd:PROGRAM for a program of your own.",
        )

    def _options(self) -> None:
        lines = [f"  {name:<14}{value:<13} {about}" for name, value, about in self.session.option_lines()]
        self.terminal.say(*lines, hang=_OPTION_COLUMN)
        self.terminal.say("'set OPTION VALUE' changes one.")

    def _set(self, rest: str) -> None:
        name, _, value = rest.replace("=", " ", 1).partition(" ")
        if not value.strip():
            raise GinError(
                "an option is changed with its name and a value, as in: set sort value; 'options' lists them"
            )
        self.terminal.say(self.session.set_option(name, value))

    # ---------------------------------------------------------------- players, statistics, records, levels

    def _players(self) -> None:
        for name in self.session.home.names():
            self.terminal.say(f"{'*' if name == self.session.file.name else ' '} {name}")
        self.terminal.say("'player NAME' switches to another, 'create NAME' makes one, 'remove NAME' removes one.")

    def _switch(self, name: str, create: bool = False) -> None:
        self.session.switch(name, create)
        self._greet()
        if self.session.file.game is not None and self.session.options.always_resume:
            raise MenuError(("resume", ""))

    def _remove(self, name: str) -> None:
        if self.terminal.confirm(
            f"Remove {self.session.other(name)!r} with options, statistics, records and unfinished game?"
        ):
            self.terminal.say(self.session.remove(name))

    def _statistics(self) -> None:
        if self.session.file.statistics.root:
            self.terminal.say("", statistics_table(self.session.file.statistics, self.session.file.name))
        else:
            self.terminal.say(f"{self.session.file.name} has not played a hand yet.")

    def _reset_statistics(self, name: str) -> None:
        if self.terminal.confirm(f"Reset the statistics of {name or 'all variations and opponents'}?"):
            self.terminal.say(self.session.reset_statistics(name))

    def _records(self) -> None:
        files = self.session.file.record_files()
        for number, path in list(enumerate(files, 1))[-_RECORDS_SHOWN:]:
            self.terminal.say_whole(f"{number:>4}  {path}")
        self.terminal.say("'replay NUMBER' steps through one." if files else "There is no record yet.")

    def _reset_level(self, level: str) -> None:
        if not level:
            raise GinError("which level? write 'reset LEVEL', as in: reset level-1")
        checked_level(level)
        if self.terminal.confirm(f"Reset {level} to how it was installed? What it has learned is lost."):
            self.terminal.say(reset_level(level, self.session.home.path))


def statistics_table(statistics: Statistics, player: str) -> Grid:
    """Statistics as a table."""
    grid = Grid(title=f"Statistics of {player}", caption="of a pair, yours comes first", title_justify="left")
    grid.add_column("variation", overflow="fold")
    grid.add_column("opponent", overflow="fold")
    for name in ("hands", "points", "a hand", "games won", "best game"):
        grid.add_column(name, justify="right", no_wrap=True)
    for tally in statistics.root:
        average = "{:.1f} | {:.1f}".format(*tally.average)
        points, won, best = (f"{mine} | {theirs}" for mine, theirs in (tally.points, tally.won, tally.best))
        grid.add_row(tally.variation, tally.opponent, str(tally.hands), points, average, won, best)
    return grid
