"""What a learner is told of its opponents: their style, or what is known of them after some of their hands."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.bots.heuristics import StylePlayer
from agents.bots.population import draw_styles, style_vectors
from agents.config import parse_config
from agents.learning import told as told_module
from agents.learning.learner import Learner
from agents.learning.told import TRUTH_WIDTH, known_after, known_of_styles, style_from_known, told
from agents.network.nets import Actor, load_wider
from agents.opponent_model.posterior import CONTEXT_WIDTH
from ginenv.errors import GinError
from tests.support.training_scenes import TINY

STYLES = 5


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories of a few hands, watched by a bot."""
    monkeypatch.setattr(told_module, "HISTORIES", (1, 2, 6))
    monkeypatch.setattr(told_module, "_WATCHER", "simple")
    monkeypatch.setattr(told_module, "_STYLES", STYLES)


def learner(what: str, pool: str = f"population:count={STYLES},draw=1") -> Learner:
    changes = {
        "told": what,
        "pool": [{"player": pool}],
        "pool_share": 0.8,
        "selves_share": 0.0,
        "games": 64,
        "threads": 2,
    }
    return Learner(parse_config(TINY | changes))


def test_more_hands_leave_less_in_doubt() -> None:
    known = known_after(StylePlayer(draw_styles(3, 4)), 4, (2, 30))
    assert known.shape == (2, 4, CONTEXT_WIDTH) and (known[:, :, 0] == 1).all()
    certain = known[:, :, 1 + CONTEXT_WIDTH // 2 :].mean((1, 2))
    assert 0 < certain[0] < certain[1] < 1
    # Nobody else's hands tell anything of the first.
    np.testing.assert_array_equal(known_after(StylePlayer(draw_styles(3, 1)), 1, (2, 30))[:, 0], known[:, 0])


@pytest.mark.parametrize("what", ["style", "known"])
def test_the_opponent_of_each_game_is_told_or_nothing(what: str) -> None:
    run = learner(what)
    run.play()
    styles = draw_styles(1, STYLES)
    table = told(style_vectors(styles))[None] if what == "style" else known_of_styles(styles)
    heard = silent = 0
    for rollout in run.rollouts:
        games = np.arange(rollout.games)
        for context in rollout.batch.context:
            for game in games:
                if not context[game].any():
                    silent += 1
                    continue
                heard += 1
                assert (table[:, game % STYLES] == context[game]).all(1).any()
    # Most games are against the population, and one of four of those is silent; so is the population's own turn.
    assert 0.2 < heard / (heard + silent) < 0.45


def test_without_a_population_there_is_nothing_to_tell() -> None:
    with pytest.raises(GinError, match="told is 'known', but the pool has no population"):
        learner("known", "simple")


def test_who_was_told_styles_reads_what_is_known_as_a_guess_of_them() -> None:
    guess = style_from_known()
    assert guess.shape == (TRUTH_WIDTH, CONTEXT_WIDTH)
    known = known_of_styles(draw_styles(7, STYLES))[-1]
    truth = told(style_vectors(draw_styles(7, STYLES)))
    # It was made of these very styles, so it tells them apart.
    distances = np.square(known @ guess.T - truth[:, None]).sum(2)
    assert (distances.argmin(0) == np.arange(STYLES)).all()
    for share_suits in (False, True):
        teacher, student = (Actor((12,), width, 105, share_suits) for width in (TRUTH_WIDTH, CONTEXT_WIDTH))
        load_wider(student, teacher, torch.from_numpy(guess))
        view, features = torch.rand(STYLES, 521), torch.rand(STYLES, 105)
        ours = torch.cat([view, torch.from_numpy(known), features], 1)
        theirs = torch.cat([view, torch.from_numpy(known @ guess.T), features], 1)
        assert torch.allclose(student.logits(ours), teacher.logits(theirs), atol=1e-4)
