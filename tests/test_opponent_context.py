"""What a learner is told of its opponents: their style."""

from pathlib import Path

import numpy as np
import torch

from agents.config import parse_config
from agents.network.checkpoint import CheckpointError, save_checkpoint
from agents.training.learner import Learner
from agents.training.opponents import style_contexts
from agents.training.run import begin
from ginenv.bots.population import OPPONENT_CONTEXT_WIDTH, PopulationPlayer, draw_styles, style_vectors
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.errors import GinError
from tests.support.refusals import refuses
from tests.support.training_scenes import TINY

# More styles than a thread has games.
STYLES, PLACES, NUM_STEPS = 11, 8, 3000


def learner(pool: str) -> Learner:
    changes = {"opponent_context": "style", "pool": [{"player": pool}], "pool_share": 0.8, "past_policy_share": 0.0}
    changes |= {"num_envs": 2 * PLACES, "num_steps": NUM_STEPS, "threads": 2}
    return Learner(parse_config(TINY | changes))


def test_a_run_with_context_starts_from_a_network_with_context(tmp_path: Path) -> None:
    run = learner(f"population:count={STYLES}")
    with torch.no_grad():
        for value in run.actor.parameters():
            value.add_(0.125)
    save_checkpoint(tmp_path, run.actor, run.config.network.actor, {"command": "a test"})
    begun = begin(run.config, None, str(tmp_path))
    assert begun.actor.context == OPPONENT_CONTEXT_WIDTH
    for one, other in zip(run.actor.parameters(), begun.actor.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=0.01)
    without_context = run.config.model_copy(update={"opponent_context": "none"})
    with refuses(CheckpointError, OPPONENT_CONTEXT_WIDTH, 0):
        begin(without_context, None, str(tmp_path))


class Noted(PopulationPlayer):
    """Tells as which of its styles it moves at which places."""

    moved: np.ndarray

    def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
        assert slots is not None
        self.moved = np.stack([slots % PLACES, slots % STYLES], 1)
        return super().act(views, slots)


def test_every_game_has_another_style_with_or_without_context() -> None:
    run = learner(f"population:count={STYLES},draw=1")
    truths = style_contexts(style_vectors(draw_styles(1, STYLES)))
    for rollout in run.rollouts:
        noted = Noted(count=STYLES, draw=1)
        rollout.players[0] = noted
        context_as: dict[tuple[int, int], int] = {}
        moved_as: dict[tuple[int, int], int] = {}
        for step in range(NUM_STEPS):
            rollout.observe(step)
            games, contexts = rollout.games["count"].tolist(), rollout.batch.context[step]
            for place in np.flatnonzero(contexts.any(1)).tolist():
                style = int(np.flatnonzero((truths == contexts[place]).all(1))[0])
                assert context_as.setdefault((place, games[place]), style) == style
            rows = rollout.choosing(step)
            rollout.sample(step, rows, np.zeros((len(rows), NUM_ACTIONS), np.float32))
            noted.moved = np.empty((0, 2), np.int64)
            run.opponents.act(rollout, step)
            for place, style in noted.moved.tolist():
                assert not contexts[place].any(), "it is the style's own turn"
                assert moved_as.setdefault((place, games[place]), style) == style
            rollout.advance(step)
        assert moved_as.items() >= context_as.items() and len(set(moved_as.values())) == STYLES > PLACES
        # One game in four is silent.
        assert 0.55 < len(context_as) / len(moved_as) < 0.95
        assert len(moved_as) > 2 * PLACES


def test_without_a_population_there_is_nothing_to_tell() -> None:
    with refuses(GinError, "opponent_context", "'style'", "pool"):
        learner("simple")
