"""The menu: every command that is not about the cards, and the way to the table and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rich.table import Table as Grid
from rich.text import Text

from agents.play.display_names import display_opponent, display_rules
from agents.play.moves import count
from agents.play.opponents import checked_level, describe_level_learning, reset_level
from agents.play.options import choices
from agents.play.session import Session
from agents.play.skill import standing
from agents.play.statistics import Tallies
from agents.play.terminal.commands import HELP_COLUMN, help_lines, parse_command
from agents.play.terminal.replay import replay
from agents.play.terminal.screen import LeaveError, MenuError, Terminal
from agents.play.terminal.table import Table
from ginenv.engine.rule_texts import PRESET_TEXTS, RULE_TEXTS
from ginenv.errors import GinError
from ginenv.hands.text import parse_rules
from ginenv.tables.players import player_names

_RECORDS_SHOWN = 15
# Columns at which listings continue.
_PRESET_COLUMN, _OPTION_COLUMN, _RULE_COLUMN = 22, 30, 37


class Menu:
    """The menu at the terminal.

    Args:
        terminal: where it is shown.
        session: the person's session.
    """

    def __init__(self, terminal: Terminal, session: Session) -> None:
        self.terminal = terminal
        self.session = session

    def run(self, first: str = "menu") -> None:
        """Shows the menu and carries out commands until the person leaves.

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
            except (GinError, OSError) as error:
                self.terminal.warn(error)
            finally:
                self.session.leave_game()

    def command(self, name: str, rest: str) -> None:
        """Carries out a command that is not about the cards.

        Raises:
            GinError: if it cannot be carried out; then nothing has changed.
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
            "help": lambda: tell(*help_lines(rest), hang=HELP_COLUMN),
            "rules": lambda: tell(session.set_option("rules", rest)) if rest else self._presets(),
            "rule": lambda: tell(session.set_rule(*_pair("rule", rest, "target 150"))) if rest else self._rules(),
            "opponent": lambda: tell(self._set("opponent", rest)) if rest else self._opponents(),
            "options": self._options,
            "set": lambda: tell(self._set(*_pair("set", rest, "sort value"))),
            "statistics": self._statistics,
            "reset statistics": lambda: self._reset_statistics(rest),
            "players": self._players,
            "player": lambda: self._switch(rest),
            "create": lambda: self._switch(rest, create=True),
            "remove": lambda: self._remove(rest),
            "records": self._records,
            "replay": lambda: replay(self.terminal, *session.record(rest)),
            "export": lambda: tell(session.export_record(*_pair("export", rest, "1 game.gin"))),
            "import": lambda: self._import(rest),
            "practice": lambda: self._practise(rest),
            "learned": lambda: self._learned(rest),
            "reset": lambda: self._reset_level(rest),
        }
        if name not in commands:
            raise GinError(f"{name!r} is not possible now" + ("" if in_game else "; 'new' begins a game"))
        commands[name]()
        self.terminal.warn(*session.notices())

    def _greet(self) -> None:
        self.terminal.warn(*self.session.notices())
        options = self.session.options
        self.terminal.say(
            "",
            Text(f"Gin rummy. {self.session.file.name} is at the table.", "bold"),
            f"Opponent: {display_opponent(options.opponent_name)}. Rules: {display_rules(options.rules)}.",
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

    def _presets(self) -> None:
        chosen = self.session.options.rules
        for name, about in PRESET_TEXTS.items():
            self.terminal.say(f"{'*' if name == chosen else ' '} {name:<19} {about}", hang=_PRESET_COLUMN)
        if chosen not in PRESET_TEXTS:
            self.terminal.say(f"* {chosen}")
        self.terminal.say("'rules PRESET' chooses; 'rule NAME VALUE' changes one rule, 'rule' lists them.")

    def _rules(self) -> None:
        for name, value in dataclasses.asdict(parse_rules(self.session.options.rules)).items():
            self.terminal.say(f"  {name:<21}{str(value).lower():<13} {RULE_TEXTS[name]}", hang=_RULE_COLUMN)
        self.terminal.say("'rule NAME VALUE' changes one.")

    def _set(self, name: str, value: str) -> str:
        # Somebody who types here is at the command line; what the store names is not.
        self.session.allowed.add(value.strip())
        return self.session.set_option(name, value)

    def _learned(self, level: str) -> None:
        if not level:
            level = self.session.options.player
            self.session.check_player(level)
        self.terminal.say(describe_level_learning(level, self.session.file.name, self.session.home))

    def _opponents(self) -> None:
        levels = ["matched", *(name for name in player_names() if name.startswith("level-"))]
        others = [name for name in player_names() if name not in ("like", "style", *levels)]
        self.terminal.say(f"You play {display_opponent(self.session.options.opponent_name)}. You can choose:")
        self.terminal.say(
            f"  {'levels':<12}{', '.join(levels)} (they learn from you)",
            f"  {'others':<12}{', '.join(others)}",
            f"  {'your own':<12}style:OPTION=VALUE,...; the directory of a checkpoint or a level; cmd:PROGRAM",
            hang=14,
        )

    def _options(self) -> None:
        options = self.session.options
        for name, field in type(options).model_fields.items():
            allowed = [value for value in choices(name) if value not in ("on", "off")]
            named = f" ({', '.join(allowed)})" if allowed else ""
            self.terminal.say(f"  {name:<14}{options.text(name):<13} {field.description}{named}", hang=_OPTION_COLUMN)
        self.terminal.say("'set OPTION VALUE' changes one.")

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
        name = self.session.other(name)
        if self.terminal.confirm(f"Remove {name!r} with options, statistics, records and unfinished game?"):
            self.terminal.say(self.session.remove(name))

    def _statistics(self) -> None:
        if self.session.file.statistics.root:
            self.terminal.say("", _statistics_table(self.session.file.statistics, self.session.file.name))
            self.terminal.say(*standing(self.session.home, self.session.file.name).words)
        else:
            self.terminal.say(f"{self.session.file.name} has not played a hand yet.")

    def _reset_statistics(self, name: str) -> None:
        if self.terminal.confirm(f"Reset the statistics of {name or 'all variations and opponents'}?"):
            self.terminal.say(self.session.reset_statistics(name))

    def _records(self) -> None:
        games = self.session.file.games()
        for number, game in list(enumerate(games, 1))[-_RECORDS_SHOWN:]:
            mine, theirs = map(display_opponent, game.names)
            score = f"{mine} {game.score[0]}, {theirs} {game.score[1]}, {count(game.hands, 'hand')}"
            self.terminal.say(f"{number:>4}  {game.begun[:10]}  {score}, {display_rules(game.rules)}", hang=6)
        listed = "'replay NUMBER' steps through one, 'export NUMBER FILE' writes it to a file."
        self.terminal.say(listed if games else "There is no record yet.")

    def _practise(self, kind: str) -> None:
        from agents.play.terminal.practice import practise

        practise(self.terminal, self.session.home, self.session.file.name, kind)

    def _import(self, path: str) -> None:
        if not path:
            raise GinError("which file? as in: import game.gin")
        self.terminal.say(self.session.import_record(path))

    def _reset_level(self, level: str) -> None:
        if not level:
            raise GinError("which level? write 'reset LEVEL', as in: reset level-1")
        checked_level(level)
        if self.terminal.confirm(f"Reset {level} to how it was installed? What it has learned is lost."):
            self.terminal.say(reset_level(level, self.session.home.path))


def _pair(command: str, rest: str, example: str) -> tuple[str, str]:
    """The name and the value that follow a command."""
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    if not value.strip():
        raise GinError(f"{command!r} needs a name and a value, as in: {command} {example}")
    return name, value


def _statistics_table(statistics: Tallies, player: str) -> Grid:
    caption = "won: games; best: highest winning total; of a pair, yours is first"
    grid = Grid(title=f"Statistics of {player}", caption=caption, title_justify="left")
    grid.add_column("variation", overflow="fold")
    grid.add_column("opponent", overflow="fold")
    for name in ("hands", "points", "per hand", "won", "best"):
        grid.add_column(name, justify="right", no_wrap=True)
    for tally in statistics.root:
        average = "{:.1f} | {:.1f}".format(*tally.average)
        points, won, best = (f"{mine} | {theirs}" for mine, theirs in (tally.points, tally.won, tally.best))
        names = display_rules(tally.variation), display_opponent(tally.opponent)
        grid.add_row(*names, str(tally.hands), points, average, won, best)
    return grid
