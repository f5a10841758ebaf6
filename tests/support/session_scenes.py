"""Prepared hands, and a session that is talked to in this process, for the tests of the table in the terminal."""

import io
import json
import sqlite3
from pathlib import Path

import pytest
from rich.console import Console

from agents.play.game import Game
from agents.play.session import Session
from agents.play.store import Home
from agents.play.terminal import LeaveError, Terminal, play_games
from ginenv.engine.cards import parse_cards
from ginenv.engine.rules import get_rules
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player

# The starter can spread these ten in three ways within ten points; with four threes as a set 10 points are left, else 1.
MANY_WAYS = "3S 3C 3D 3H 4H 5H 8S 9S TS AC"
NO_MELD = "2D 4S 6D 8D TC QC 9H 7C 5D JS"
# Nine points beside two melds, and a hand from which three cards fit those melds.
KNOCKS = "3S 3C 3D 8S 9S TS AC AD 2H 2C"
FITS = "7S JS 3H 4D 6D 9H QC 5D 8D TC"
LOOSE = "KS QD 9C JD 7H 5H 2H AC 6S TH"


def deck(*parts: str) -> list[int]:
    """A deck that begins with some cards; the rest follows in ascending order."""
    cards = parse_cards(" ".join(parts))
    return cards + [card for card in range(52) if card not in cards]


def store_random_game(home: Home, name: str, seed: int) -> None:
    """A game of random play against a formula, stored as Ann's."""
    match = Match({"preset": "eaai", "target": 30}, seed=seed)
    players = [make_player("random", seed), make_player("formula")]
    while not match.is_over:
        if match.hand.is_over:
            match.next_hand()
        match.push(int(players[match.hand.turn].act(match.hand.view())[0]))
    file = home.open("Ann")
    file.write_record(name, match, ("Ann", "formula"))
    file.save()
    file.close()


def prepared(rules, cards: list[int], starter: int, opponent: str = "formula") -> Game:
    """A game whose first hand has a given deck."""
    match = Match(get_rules(rules), seed=1, deck=cards, starter=starter)
    return Game(record=match, opponent=opponent, easy=False, seed=0, name="prepared", order=[])


def read_game(session: Session) -> Match:
    """The player's last game, from its record."""
    return session.home.record(session.file.games()[-1].id).match


class Talk:
    """A session with scripted answers; where they end, the person leaves."""

    def __init__(self, home: Path, player: str = "Ann", freeze: bool = False) -> None:
        self.home = Home(home)
        self.screen = io.StringIO()
        self.answers: list[str] = []
        self.terminal = Terminal(Console(file=self.screen, width=100, highlight=False), self._read)
        exists = player in self.home.names()
        self.session = Session(self.home.open(player) if exists else self.home.create(player), freeze=freeze)

    def _read(self, prompt: str) -> str:
        if not self.answers:
            self.screen.write(prompt)
            raise EOFError
        answer = self.answers.pop(0)
        self.screen.write(f"{prompt}{answer}\n")
        return answer

    def say(self, *answers: str, new: bool = False) -> str:
        """Plays the unfinished game, or a new one, with these answers; returns what was shown meanwhile."""
        self.answers = list(answers)
        self.screen.seek(0)
        self.screen.truncate()
        try:
            with pytest.raises(LeaveError):
                play_games(self.terminal, self.session, new)
        finally:
            self.session.leave_game()
        assert not self.answers
        return self.screen.getvalue()

    def resume(self, game: Game, *answers: str) -> str:
        self.session.file.game = Game.model_validate_json(game.to_json())
        return self.say(*answers)

    @property
    def stored(self) -> dict:
        """What the store holds of the player, read as any program may."""
        file = sqlite3.connect(self.home.path / "gin.sqlite3")
        row = file.execute(
            "SELECT options, statistics, game FROM player WHERE name = ?", [self.session.file.name]
        ).fetchone()
        file.close()
        return dict(zip(("options", "statistics", "game"), (json.loads(text or "null") for text in row), strict=True))

    @property
    def match(self) -> Match:
        """The unfinished game as it lies on disk."""
        return Game.model_validate(self.stored["game"]).match
