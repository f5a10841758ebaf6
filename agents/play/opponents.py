"""Whoever sits across: players by name, and the easy game that can be asked of each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agents.bots.heuristics import StylePlayer, style
from agents.play.levels import is_level, make_level_player
from agents.programs.player import OutsidePlayer
from ginenv.actions import KNOCK, PHASE_DISCARD
from ginenv.players import BasePlayer, Player, close_players, make_player
from ginenv.rules import Rules


class EasyGame(BasePlayer):
    """Any player, except that it always discards its largest unused card.

    Draws and knocks stay as they were.

    Args:
        player: who plays.
        seed: seed of the discards.
    """

    def __init__(self, player: Player, seed: int = 0) -> None:
        super().__init__(seed)
        self.player = player
        self.name = player.name
        # It knocks with gin only: whether to knock above that was for the other player to say.
        self._discards = StylePlayer(style("easy", knock=0, late=0), seed)

    def reset(self, seed: int = 0) -> None:
        """Resets the player."""
        super().reset(seed)
        self.player.reset(seed)
        self._discards.reset(seed)

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        """Chooses for every view (see ``ginenv.players.Player``)."""
        actions = np.array(self.player.act(views, slots))
        plain = (views["phase"] == PHASE_DISCARD) & (actions < KNOCK)
        if plain.any():
            actions[plain] = self._discards.act(views[plain])
        return actions

    def observe_hands(self, views: np.ndarray, slots: np.ndarray | None = None) -> None:
        """Shows finished hands to the player."""
        self.player.observe_hands(views, slots)

    def close(self) -> None:
        """Ends the player's program, where it is one."""
        close_players([self.player])


def start_opponent(opponent: Player, rules: Rules) -> None:
    """Starts the program of an opponent that is one.

    Raises:
        GinError: if it cannot play.
    """
    player = opponent.player if isinstance(opponent, EasyGame) else opponent
    if isinstance(player, OutsidePlayer):
        player.start(rules)


def make_opponent(spec: str, easy: bool, seed: int, person: str, home: Path, learns: bool) -> Player:
    """The opponent of a name.

    Args:
        spec: a name in the registry, or a directory.
        easy: whether it plays the easy game.
        seed: of its choices.
        person: who sits across; a level keeps what it learns under this name.
        home: directory in which levels keep what they learn.
        learns: whether a level learns.

    Raises:
        GinError: if there is none, or it cannot be made.
    """
    player = make_level_player(spec, seed, person, home, learns) if is_level(spec) else make_player(spec, seed)
    return EasyGame(player, seed) if easy else player
