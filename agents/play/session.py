"""A person's session: who plays, the opponent, the rules; options, statistics, records, and the game in play.

Any table uses it, in a terminal or elsewhere: it shows nothing and asks nothing, and returns the events to show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from agents.play.allowed import check_allowed, names_for_all
from agents.play.current_game import CurrentGame
from agents.play.display_names import display_opponent, display_rules
from agents.play.game import Game
from agents.play.moves import count
from agents.play.opponents import make_opponent, start_opponent
from agents.play.options import FRIEND, GR, Options, friend_of, preset_of
from agents.play.records_table import StoredGame
from agents.play.store import Home, PlayerFile
from ginenv.errors import GinError
from ginenv.hands.text import parse_rules
from ginenv.tables.player_names import parse_player
from ginenv.tables.players import Player, close_players

# The highest target at the table under the presets of ``GR``.
_HIGHEST_TARGET = 500


class Session:
    """Everything around a game.

    A method that changes something returns a sentence for the person. One that refuses raises ``GinError`` with one sentence, and
    changes nothing.

    Args:
        home: where everything is kept.
        file: the player's file.
        seed: seed of the first new game; when left out, every game is a different one.
        freeze: levels do not learn in this session, whatever the player's option says, until the option is set.
        allowed: programs and directories that may play; the person named them, not the store.
        friends: gives the session of another person at the same place, whom nobody else asks for anything meanwhile; without it nobody
            can play a friend here.

    Attributes:
        allowed: these names.
        game: the game in play, or None.
        friend: the friend's session, while a game with a friend is in play.
    """

    def __init__(
        self,
        home: Home,
        file: PlayerFile,
        seed: int | None = None,
        freeze: bool = False,
        allowed: Iterable[str] = (),
        friends: Callable[[str], Session] | None = None,
    ) -> None:
        self.home = home
        self.file = file
        self.freeze = freeze
        self.allowed = set(allowed)
        self.friends = friends
        self.game: CurrentGame | None = None
        self.friend: Session | None = None
        self._seed = seed

    @property
    def options(self) -> Options:
        """What the player has chosen."""
        return self.file.options

    def notices(self) -> list[str]:
        """Returns the sentences that the person has not been shown yet."""
        notices, self.file.notices = self.file.notices, []
        return notices

    def close(self) -> None:
        """Ends the session; then another process can open the player."""
        self.leave_game()
        self.file.close()

    def unfinished(self) -> str:
        """The unfinished game in words, such as ``Ann 36, formula 0 after 2 hands``; empty where there is none."""
        if self.file.game is None:
            return ""
        game = self._read_game()
        mine, theirs = game.match.score[game.seat], game.match.score[1 - game.seat]
        score = f"{self.file.name} {mine}, {display_opponent(game.opponent_name)} {theirs}"
        return f"{score} after {count(len(game.match.played), 'hand')}"

    def new_game(self) -> CurrentGame:
        """Begins a game with the chosen rules and opponent; an unfinished one is lost, unless the opponent cannot play."""
        options = self.options
        if self._seed is not None and parse_player(options.opponent).kind == "cmd":
            raise GinError("a program could find out which cards a seed deals: play against it without --seed")
        lost, was = self.file.game or {}, self.file.friend
        game = Game.begin(parse_rules(options.rules), options.opponent, options.easy_game, self._seed)
        if friend_of(game.opponent):
            other = self._other_session(game)
            if other.file.game is not None and other.file.game.get("name") != lost.get("name"):
                raise GinError(f"{other.file.name} has an unfinished game; it has to end first")
            # So that either of them can begin another one.
            theirs = {"opponent": FRIEND + self.file.name, "rules": options.rules}
            other.file.options = other.options.model_copy(update=theirs)
            live = self._open_both(game, other, game.facing(self.file.name))
        else:
            live = self._open(game)
        self._seed = None
        if was:
            self._end_for(was, lost)
        return live

    def resume(self) -> CurrentGame:
        """Continues the unfinished game; a damaged one is set aside, as the error says."""
        if self.file.game is None:
            raise GinError("there is no unfinished game")
        game = self._read_game()
        if not friend_of(game.opponent):
            return self._open(game)
        other = self._other_session(game)
        if other.file.game is None or other.file.game.get("name") != game.name:
            raise GinError(self.file.quarantine_game(f"{other.file.name} has left it"))
        theirs = other._read_game()
        theirs.match, theirs.seat = game.match, 1 - game.seat
        return self._open_both(game, other, theirs)

    def leave_game(self) -> None:
        """Leaves the game in play as it is saved; does nothing where there is none."""
        if self.game is not None and self.game.opponent is not None:
            close_players([self.game.opponent])
        if self.friend is not None:
            self.friend.game = self.friend.friend = None
        self.game = self.friend = None

    def _read_game(self) -> Game:
        try:
            return Game.read(self.file.game)
        except GinError as error:
            raise GinError(self.file.quarantine_game(str(error))) from None

    def _open(self, game: Game) -> CurrentGame:
        opponent = self._opponent(game.opponent, game.easy, game.seed)
        try:
            # Before anything of the game is saved: an opponent that cannot play leaves no unfinished game behind.
            start_opponent(opponent, game.match.rules)
            self.game = CurrentGame(self.file, game, opponent)
            self.game.begin()
        except BaseException:
            close_players([opponent])
            raise
        return self.game

    def _other_session(self, game: Game) -> Session:
        name = friend_of(game.opponent)
        if self.friends is None:
            raise GinError(f"a game with {name} is played in the browser: gin web")
        return self.friends(name)

    def _open_both(self, game: Game, other: Session, theirs: Game) -> CurrentGame:
        other.leave_game()
        self.friend, other.friend = other, self
        self.game = CurrentGame(self.file, game, None)
        other.game = CurrentGame(other.file, theirs, self.game)
        self.game.begin()
        return self.game

    def _end_for(self, friend: str, lost: dict[str, Any]) -> None:
        """Ends an unfinished game that another one has replaced for the friend, too."""
        if self.friends is None:
            # The friend finds out in the browser.
            return
        with suppress(GinError):
            file = (other := self.friends(friend)).file
            if file.game is not None and file.game.get("name") == lost.get("name"):
                other.leave_game()
                file.game = None
                file.notices.append(f"{self.file.name} has begun another game; this one has ended.")
                file.save()

    def check_player(self, name: str) -> None:
        """Refuses a player that may not play here (see ``check_allowed``)."""
        check_allowed(name, self.allowed)

    def _opponent(self, spec: str, easy: bool = False, seed: int = 0) -> Player:
        self.check_player(spec)
        learns = self.options.learning and not self.freeze
        return make_opponent(spec, easy, seed, self.file.name, self.home.path, learns)

    def set_option(self, name: str, value: str) -> str:
        """Changes an option. Under the presets of ``GR`` a target above 500 becomes 500."""
        name = name.strip().lower().replace("-", "_")
        capped, target = "", re.search(r"target=(\d+)", value)
        if name == "rules" and preset_of(value) in GR and target and int(target[1][:9]) > _HIGHEST_TARGET:
            value = value.replace(target[0], f"target={_HIGHEST_TARGET}")
            capped = f"The target is at most {_HIGHEST_TARGET} under these rules. "
        options = self.options.changed(name, value)
        if name == "opponent" and options.opponent not in names_for_all():
            # Made once, so that a wrong name is refused now and not at the next game. The others are right, and may take long to load.
            close_players([self._opponent(options.opponent)])
        elif name == "learning":
            self.freeze = False
        self.file.options = options
        self.file.save()
        if self.game is not None and name in ("sort", "direction", "sort_when") and options.sort != "none":
            self.game.sort()
        words = {
            "rules": f"{capped}The rules are {display_rules(options.rules)}.",
            "opponent": f"Your opponent is {display_opponent(options.opponent_name)}.",
        }
        later = self.game is not None and name in ("rules", "opponent", "easy_game", "learning")
        return (
            words.get(name, f"{name} is now {options.text(name)}.") + later * " This takes effect with the next game."
        )

    def choose_friend(self, name: str) -> None:
        """Chooses another person of this place as the opponent of the next game."""
        friend = self.home.canonical_name(name)
        if friend == self.file.name:
            raise GinError(f"{friend!r} is playing at this table; name another player")
        self.file.options = self.options.model_copy(update={"opponent": FRIEND + friend})
        self.file.save()

    def reset_statistics(self, name: str = "") -> str:
        """Resets the statistics of a variation or an opponent, or all of them."""
        name = name.replace(", ", ",")
        if not self.file.statistics.reset(name):
            raise GinError(f"there are no statistics of {name}" if name else "there are no statistics yet")
        self.file.save()
        return "The statistics are reset."

    def stored_game(self, number: int) -> StoredGame:
        """One of the player's games by its number, from 1."""
        games = self.file.games()
        if not 1 <= number <= len(games):
            numbered = f"; your records are numbered 1 to {len(games)}" if games else ""
            raise GinError(f"there is no record {number}{numbered}")
        return games[number - 1]
