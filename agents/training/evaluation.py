"""What a run measures of its averaged policy: games won, for the eye, and the match by which ``best`` is chosen.

Every measurement plays the same mirrored deals, which nothing is trained on and nothing is reported from. Luck is left in: what subtracting
it saves in games, it costs in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.arena.configs import PANEL
from agents.arena.matches import MatchSettings, play_match
from agents.config import TrainConfig
from agents.deal_streams import Domain
from agents.network.checkpoint import METADATA, read_metadata
from agents.network.player import load_network
from ginenv.tables.players import Player

# The checkpoints of a run: the one that is handed over, the latest, and the one with which self-play began.
BEST, LAST, BASELINE = "best", "last", "baseline"
# Seeds of the deals for the eye, and of those that are kept for choosing.
_PANEL_SEED, _CHOICE_SEED = 0, 1
# Choosing takes so many times the games against one of the panel, during the run and at its end.
_CHOICE_FACTOR, _LAST_FACTOR = 4, 10


@dataclass(frozen=True)
class GamesWon:
    """The result of a match.

    Attributes:
        games_won: share of the games that the averaged policy won.
        half_width: half-width of its 95 % interval.
    """

    games_won: float
    half_width: float

    def text(self) -> str:
        """``53.1 ± 2.4 %``."""
        return f"{100 * self.games_won:.1f} ± {100 * self.half_width:.1f} %"


@dataclass(frozen=True)
class Choice(GamesWon):
    """The match against the best network so far.

    Attributes:
        games: number of games.
        decisions: after which that network was taken.
        is_last: whether the run has come to its end.
    """

    games: int
    decisions: int
    is_last: bool

    @property
    def is_better(self) -> bool:
        """Whether the averaged policy replaces the best one: it won more than half of the games, by more than chance explains.

        At the end, in a longer match, more than half is enough: what has learned for longer is rarely worse.
        """
        return self.games_won - (0 if self.is_last else self.half_width) > 0.5


def decisions_of(checkpoint: Path) -> int:
    """The decisions after which a run wrote a checkpoint, -1 if there is none.

    Raises:
        CheckpointError: if it cannot be read.
    """
    return read_metadata(checkpoint)["about"]["decisions"] if (checkpoint / METADATA).exists() else -1


def measure_panel(
    player: Player, decisions: int, config: TrainConfig, out: Path, interrupt: Callable[[], None]
) -> dict[str, dict[str, float]]:
    """Games won against the network with which self-play began, if that is another one, and against the panel.

    Args:
        player: the averaged policy.
        decisions: after which it is measured.
        config: of the run.
        out: its directory.
        interrupt: raises ``KeyboardInterrupt`` to break the measurement off.
    """
    opponents: dict[str, str | Player] = {name: name for name in PANEL}
    if decisions_of(out / BASELINE) not in (-1, decisions):
        opponents = {BASELINE: load_network(str(out / BASELINE)), **opponents}
    return {
        name: asdict(GamesWon(*_play(player, opponent, config, _PANEL_SEED, config.eval_games, interrupt)))
        for name, opponent in opponents.items()
    }


def play_best(
    player: Player, decisions: int, config: TrainConfig, out: Path, interrupt: Callable[[], None], is_last: bool
) -> Choice | None:
    """Plays the match by which ``best`` is chosen.

    Args:
        player: the averaged policy.
        decisions: after which it is measured.
        config: of the run.
        out: its directory.
        interrupt: raises ``KeyboardInterrupt`` to break the match off.
        is_last: whether the run has come to its end.

    Returns:
        The match; ``None`` during imitation, which leaves no network to hand over, or if the best network is this one.
    """
    best = decisions_of(out / BEST)
    if not (out / BASELINE).exists() or best == decisions:
        return None
    games = (_LAST_FACTOR if is_last else _CHOICE_FACTOR) * config.eval_games
    won = _play(player, load_network(str(out / BEST)), config, _CHOICE_SEED, games, interrupt)
    return Choice(*won, games, best, is_last)


def _play(
    player: Player, opponent: str | Player, config: TrainConfig, seed: int, games: int, interrupt: Callable[[], None]
) -> tuple[float, float]:
    interrupt()
    settings = MatchSettings(domain=Domain.SELECT, luck=False)
    pairs, rules = max(1, games // 2), next(iter(config.rules))
    result: Any = play_match(
        player, opponent, rules=rules, pairs=pairs, seed=seed, settings=settings, progress=lambda done: interrupt()
    )
    # A match that is broken off returns what it had.
    interrupt()
    return float(result.share.mean), float(result.share.half)
