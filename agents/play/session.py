"""A person's session: who plays, against whom, by which rules; options, statistics, records, and the game in play.

Any table uses it, in a terminal or elsewhere: it shows nothing and asks nothing, and returns what there is to be told.
"""

from __future__ import annotations

import re
from pathlib import Path

from agents.play.game import Game
from agents.play.live import LiveGame
from agents.play.moves import count
from agents.play.opponents import make_opponent, start_opponent
from agents.play.options import Options, choices
from agents.play.store import Home, PlayerFile
from ginenv.errors import GinError
from ginenv.players import Player, close_players

# Under these presets a target above this becomes this at the table.
_CAPPED = ("gr", "gr-oklahoma")
_MOST = 500


class Session:
    """Everything around a game.

    What changes something returns the sentence to tell. What cannot be done raises ``GinError`` with one sentence, and has
    changed nothing.

    Args:
        home: where it is kept.
        file: the player's file.
        seed: seed of the first new game; every game is another one when left out.
        freeze: levels do not learn in this session, whatever the player's option says.

    Attributes:
        game: the game in play, or None.
    """

    def __init__(self, home: Home, file: PlayerFile, seed: int | None = None, freeze: bool = False) -> None:
        self.home = home
        self.file = file
        self.freeze = freeze
        self.game: LiveGame | None = None
        self._seed = seed

    @property
    def options(self) -> Options:
        """What the player has chosen."""
        return self.file.options

    def notices(self) -> list[str]:
        """Sentences that the person has to be shown and has not been shown yet."""
        notices, self.file.notices = self.file.notices, []
        return notices

    def close(self) -> None:
        """Ends the session; another process can have the player."""
        self.leave_game()
        self.file.close()

    # ---------------------------------------------------------------- games

    def unfinished(self) -> str:
        """The unfinished game in words, such as ``Ann 36, formula 0 after 2 hands``; empty where there is none."""
        if self.file.game is None:
            return ""
        game = self._read_game()
        score = f"{self.file.name} {game.match.score[0]}, {game.opponent_name} {game.match.score[1]}"
        return f"{score} after {count(len(game.match.played), 'hand')}"

    def new_game(self) -> LiveGame:
        """Begins a game with the chosen rules and opponent; an unfinished one is lost, unless the opponent cannot play."""
        options = self.options
        if self._seed is not None and options.opponent.startswith("cmd:"):
            raise GinError("a program could find out which cards a seed deals: play against it without --seed")
        live = self._open(Game.begin(options.rules_value, options.opponent, options.easy_game, self._seed))
        self._seed = None
        return live

    def resume(self) -> LiveGame:
        """Goes on with the unfinished game; a damaged one is set aside, as the error says."""
        if self.file.game is None:
            raise GinError("there is no unfinished game; 'new' begins one")
        return self._open(self._read_game())

    def leave_game(self) -> None:
        """Leaves the game in play as it is saved; does nothing where there is none."""
        if self.game is not None:
            close_players([self.game.opponent])
            self.game = None

    def _read_game(self) -> Game:
        try:
            return Game.read(self.file.game)
        except GinError as error:
            raise GinError(self.file.set_game_aside(str(error))) from None

    def _open(self, game: Game) -> LiveGame:
        opponent = self._opponent(game.opponent, game.easy, game.seed)
        try:
            # Before anything of the game is kept: an opponent that cannot play leaves no unfinished game behind.
            start_opponent(opponent, game.match.rules)
            self.game = LiveGame(self.file, game, opponent)
        except BaseException:
            close_players([opponent])
            raise
        return self.game

    def _opponent(self, spec: str, easy: bool = False, seed: int = 0) -> Player:
        learns = self.options.learning and not self.freeze
        return make_opponent(spec, easy, seed, self.file.name, self.home.path, learns)

    # ---------------------------------------------------------------- options, rules, opponents

    def set_option(self, name: str, value: str) -> str:
        """Changes an option."""
        name = name.strip().lower().replace("-", "_")
        if name == "opponent":
            return self.set_opponent(value)
        if name == "rules":
            return self.set_rules(value)
        self._change(self.options.changed(name, value))
        if name == "learning":
            self.freeze = False
        later = self._later() if name in ("easy_game", "learning") else ""
        return f"{name} is now {_shown(getattr(self.options, name))}.{later}"

    def set_opponent(self, name: str) -> str:
        """Chooses the opponent, which is made once, so that a wrong name is told now and not at the next game."""
        options = self.options.changed("opponent", name)
        close_players([self._opponent(options.opponent)])
        self._change(options)
        return f"Your opponent is {options.opponent_name}.{self._later()}"

    def set_rules(self, text: str) -> str:
        """Chooses the rules: a preset, and changes to it. Under the ``gr`` presets a target above 500 becomes 500."""
        capped = ""
        target = re.search(r"target=(\d+)", text)
        if text.split(",")[0].strip() in _CAPPED and target and int(target[1][:9]) > _MOST:
            text = text.replace(target[0], f"target={_MOST}")
            capped = f"The target is at most {_MOST} under these rules. "
        self._change(self.options.changed("rules", text))
        return f"{capped}The rules are {self.options.rules}.{self._later()}"

    def set_rule(self, name: str, value: str) -> str:
        """Changes one rule of those that are chosen."""
        name = name.strip().lower().replace("-", "_")
        others = [part for part in self.options.rules.split(",") if not part.startswith(f"{name}=")]
        return self.set_rules(",".join([*others, f"{name}={value.strip().lower()}"]))

    def option_lines(self) -> list[tuple[str, str, str]]:
        """Every option: its name, its value, and what it means and can be."""
        lines = []
        for name, field in Options.model_fields.items():
            allowed = choices(name)
            named = f" ({', '.join(allowed)})" if allowed and "on" not in allowed else ""
            lines.append((name, _shown(getattr(self.options, name)), f"{field.description}{named}"))
        return lines

    def _change(self, options: Options) -> None:
        self.file.options = options
        self._save()

    def _save(self) -> None:
        try:
            self.file.save()
        except OSError as error:
            self.file.notices.append(f"The change cannot be saved: {error.strerror or error}.")

    def _later(self) -> str:
        return " This takes effect with the next game." if self.game is not None else ""

    def reset_statistics(self, name: str = "") -> str:
        """Resets the statistics of a variation or an opponent, or all of them."""
        if not self.file.statistics.reset(name):
            raise GinError(f"there are no statistics of {name}" if name else "there are no statistics yet")
        self._save()
        return "The statistics are reset."

    # ---------------------------------------------------------------- players, records, levels

    def other(self, name: str) -> str:
        """The name of a player, who has to be another one than who plays now."""
        if not name:
            raise GinError("which player? name one; 'players' lists them")
        if name.casefold() == self.file.name.casefold():
            raise GinError(f"{self.file.name!r} is playing at this table; name another player")
        return name

    def switch(self, name: str, create: bool = False) -> None:
        """Lets another player play, known or created now; a game in play is left as it is saved."""
        file = self.home.create(name) if create else self.home.open(self.other(name))
        self.leave_game()
        self.file.close()
        self.file = file

    def remove(self, name: str) -> str:
        """Removes another player with options, statistics, records and unfinished game."""
        self.home.remove(self.other(name))
        return f"{name} is removed."

    def record(self, which: str = "") -> Path:
        """The file of a record: a number of the player's records, a path, or the last record when left out."""
        files = self.file.record_files()
        if which and not which.isdecimal():
            return Path(which).expanduser()
        if not files:
            raise GinError("there is no record yet; 'replay FILE' opens one from elsewhere")
        number = int(which) if which else len(files)
        if not 1 <= number <= len(files):
            raise GinError(f"there is no record {number}; your records are numbered 1 to {len(files)}")
        return files[number - 1]


def _shown(value: str | bool) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else value
