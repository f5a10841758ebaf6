"""What the infos of the environments report."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import ginenv
from tests.support.players import CountingPlayer
from tests.support.vector_scenes import MODES, assert_same


@pytest.mark.parametrize("mode", MODES)
def test_infos_can_be_read_later(mode: str) -> None:
    """They are those of single environments, and stay what they were, whatever the tables have played since and against whom."""
    names = ["knocker", "simple", "formula"]
    options: dict[str, Any] = {"rules": "ht1", "reward": "points"}
    envs = ginenv.GameVectorEnv(5, names, autoreset_mode=mode, **options)
    singles = [functools.partial(ginenv.GameEnv, names[i % 3], **options) for i in range(5)]
    several: Any = SyncVectorEnv(singles, autoreset_mode=MODES[mode])
    infos_pairs = [(envs.reset(seed=5)[1], several.reset(seed=5)[1])]
    for step in range(260):
        if step in (80, 160):
            # The second newcomer takes the number of the first.
            newcomer = {80: "camper", 160: "easy"}[step]
            envs.set_opponent(newcomer, envs=[2])
            several.envs[2].set_opponent(newcomer)
        actions = infos_pairs[-1][1]["action_mask"].argmax(axis=1)
        infos_pairs.append((envs.step(actions)[-1], several.step(actions)[-1]))
    assert sum("game" in theirs.get("final_info", theirs) for _, theirs in infos_pairs) > 2
    for ours, theirs in infos_pairs:
        assert_same(ours, theirs, mode)


SHORT = {"preset": "ht2-simple", "first_turn_knock": True, "ranks": 4, "suits": 4, "hand_size": 3}
# Rules, an opponent, and a first seed with which it soon knocks before the learner's first move.
SCENES = {
    "eaai": ({"preset": "eaai", "target": 100}, "knocker", 250),
    "standard": ("dg-standard", "formula", 20),
    "short": (SHORT, "simple", 6),
}


def observed_points(infos: dict[str, Any]) -> np.ndarray:
    points = infos["outcome"]["points"] if "outcome" in infos else np.zeros(len(infos["skipped_hands"]), int)
    return infos["skipped_points"] + np.maximum(np.stack([points, -points], axis=1), 0)


@pytest.mark.parametrize(
    ("scene", "mode"),
    [("eaai", "same_step"), ("standard", "same_step"), ("short", "same_step"), ("short", "next_step")],
)
def test_observed_hands_add_up_to_the_game(scene: str, mode: str) -> None:
    """Hands and, where games have no bonuses, points."""
    rules, opponent, seed = SCENES[scene]
    count = 6
    envs = ginenv.GameVectorEnv(count, opponent, rules, autoreset_mode=mode)
    _, infos = envs.reset(seed=seed)
    points, hands = np.zeros((count, 2), int), np.zeros(count, int)
    skipped = games = 0
    for _ in range(120):
        # What an episode that ended in this step has to say, then what the one in play has.
        parts = [(infos["final_info"], infos["_final_info"])] if "final_info" in infos else []
        for part, here in [*parts, (infos, np.ones(count, bool))]:
            points[here] += observed_points(part)[here]
            hands[here] += (part["skipped_hands"] + part.get("_outcome", np.zeros(count, int)))[here]
            over = here & part.get("_game", np.zeros(count, bool))
            if over.any():
                game = part["game"]
                assert np.array_equal(game["hands"][over], hands[over])
                if scene != "standard":
                    totals = np.stack([game["total"], game["opponent_total"]], axis=1)
                    assert np.array_equal(totals[over], points[over])
                points[over], hands[over] = 0, 0
                games += over.sum()
            skipped += part["skipped_hands"][here].sum()
        # The highest legal action: knocks whenever it can.
        infos = envs.step(106 - infos["action_mask"][:, ::-1].argmax(axis=1))[-1]
    assert skipped > 0 and games > 0


@pytest.mark.parametrize("kind", [ginenv.HandEnv, ginenv.GameEnv])
def test_every_hand_is_observed_even_without_the_learner(kind: Any) -> None:
    """What an opponent hears of every hand is the oracle. To one point, many a game ends before the learner moves."""
    opponent = CountingPlayer("simple")
    env = kind(opponent, SHORT | {"target": 1})
    observed = skipped = 0
    for seed in range(40):
        over, (_, info) = False, env.reset(seed=seed)
        while True:
            skipped += info["skipped_points"].sum()
            observed += abs(info["outcome"]["points"]) if "outcome" in info else 0
            if over:
                break
            _, _, over, _, info = env.step(106 - info["action_mask"][::-1].argmax())
    heard = np.concatenate(opponent.ended)["points"]
    assert skipped > 20 and observed + skipped == np.abs(heard).sum()


def test_stored_infos_hold_no_environment() -> None:
    envs = ginenv.HandVectorEnv(4, "simple")
    _, infos = envs.reset(seed=0)
    alive = weakref.ref(envs._batch)
    del envs
    gc.collect()
    assert alive() is None and infos["skipped_hands"].shape == (4,)
