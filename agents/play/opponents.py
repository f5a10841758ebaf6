"""Opponents by name: any player, levels that remember their opponents, and the easy game that all of them can play.

The modules of levels are imported only when a level plays, so that a built-in bot does not load torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agents.programs.player import OutsidePlayer
from agents.programs.process import split_command
from ginenv.bots.heuristics import StylePlayer, style
from ginenv.engine.actions import KNOCK, PHASE_DISCARD
from ginenv.engine.rules import Rules
from ginenv.tables.player_names import parse_player
from ginenv.tables.players import BasePlayer, Player, close_players, make_player


class EasyGame(BasePlayer):
    """Any player, except that it always discards its highest card outside its melds; its draws and knocks are unchanged.

    Args:
        player: who plays.
        seed: seed of the discards.
    """

    def __init__(self, player: Player, seed: int = 0) -> None:
        super().__init__(seed)
        self.player = player
        self.name = player.name
        # It knocks with gin only: the wrapped player has already decided whether to knock with more.
        self._discards = StylePlayer(style("easy", knock=0, late=0), seed)

    def reset(self, seed: int = 0) -> None:
        """Resets both players (see ``ginenv.tables.players.Player``)."""
        super().reset(seed)
        self.player.reset(seed)
        self._discards.reset(seed)

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.tables.players.Player``)."""
        actions = np.array(self.player.act(views, slots))
        plain = (views["phase"] == PHASE_DISCARD) & (actions < KNOCK)
        if plain.any():
            actions[plain] = self._discards.act(views[plain])
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Shows finished hands to the player."""
        self.player.observe_hands(views, slots)

    def close(self) -> None:
        """Ends the player's program, if it is one."""
        close_players([self.player])


def make_opponent(spec: str, easy: bool, seed: int, person: str, home: Path, learns: bool) -> Player:
    """An opponent by its name.

    Args:
        spec: a name in the registry, or a directory.
        easy: whether it plays the easy game.
        seed: seed of its choices.
        person: who plays against it; a level keeps what it learns under this name.
        home: directory in which levels keep what they learn.
        learns: whether a level learns; one that does not plays as installed.

    Raises:
        GinError: if there is no such player, its program does not exist, or what it has learned cannot be read.
    """
    parsed = parse_player(spec)
    if parsed.kind == "cmd":
        split_command(parsed.argument)
    player = _level_player(spec, seed, person, home, learns) if parsed.is_level else make_player(spec, seed)
    return EasyGame(player, seed) if easy else player


def start_opponent(opponent: Player, rules: Rules) -> None:
    """Starts an opponent's program, if it is a program.

    Raises:
        GinError: if it cannot play.
    """
    player = opponent.player if isinstance(opponent, EasyGame) else opponent
    if isinstance(player, OutsidePlayer):
        player.start(rules)


def _level_player(spec: str, seed: int, person: str, home: Path, learns: bool) -> Player:
    # The player first: it says what to install where something is missing.
    plain: Any = make_player(spec, seed)
    from agents.levels.memory import Profile

    player = plain.with_profile(Profile(home, plain.level, person))
    player.learns = learns
    return player
