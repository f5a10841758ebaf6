"""What a level learns of the game: after every hand its coach, the network at full strength, says how it would have played each decision.

The coach sees what the level's seat may see, all of it, and nothing hidden. The level moves its own biases by one Newton step towards the
coach's choices: the filter by which it learns an opponent's weights, with itself as the one who is modelled. What it learns depends on what
it met. It cannot learn more than its biases can say: what it forgets and how far it strays stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.levels.choice import FACTS, add_biases, describe, is_legal, soften
from agents.opponent_model.features import FIRST_DRAW, FIRST_KNOCK, NUM_WEIGHTS
from agents.opponent_model.learning import WORKSPACE, newton_step
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, STOCK
from ginenv.engine.jit import kernel

# What one hand teaches.
LESSON = np.dtype(
    [
        ("gradient", np.float64, (NUM_WEIGHTS,)),  # how much more of each feature the coach's choices have
        ("curve", np.float64, (NUM_WEIGHTS, NUM_WEIGHTS)),  # the features' covariance in the level's choices
        ("agreement", np.float64),  # how much of the level's choices the coach would make, summed over decisions
        ("decisions", np.int64),
    ],
    align=True,
)


class Choices(NamedTuple):
    """Decisions of a level, as its coach is shown them.

    Attributes:
        views: ``VIEW[n]``.
        behaviours: how the level behaved, ``BEHAVIOUR[n]``.
        biases: its own, without what it knows of the opponent: ``float64[n, NUM_WEIGHTS]``.
        own: the network's logits for what the level saw, ``float32[n, 107]``.
        coach: the same for all that there was to see.
    """

    views: np.ndarray
    behaviours: np.ndarray
    biases: np.ndarray
    own: np.ndarray
    coach: np.ndarray


@kernel
def _policy(row, legal, policy):
    """The softmax of a row of logits over legal actions; returns the number of these."""
    most = -1e300
    for action in range(NUM_ACTIONS):
        policy[action] = 0.0
        if is_legal(legal, action):
            most = max(most, np.float64(row[action]))
    total = 0.0
    count = 0
    for action in range(NUM_ACTIONS):
        if is_legal(legal, action):
            policy[action] = np.exp(row[action] - most)
            total += policy[action]
            count += 1
    for action in range(NUM_ACTIONS):
        policy[action] /= total
    return count


@kernel
def _columns(action):
    """The features that an action can have."""
    if action < KNOCK:
        return 0, FIRST_DRAW
    return (FIRST_KNOCK, NUM_WEIGHTS) if action < STOCK else (FIRST_DRAW, FIRST_KNOCK)


@kernel
def _teach(views, behaviours, biases, own, coach, hands, facts, lessons):
    policy, wanted = np.zeros(NUM_ACTIONS), np.zeros(NUM_ACTIONS)
    mean = np.zeros(NUM_WEIGHTS)
    for i in range(views.shape[0]):
        v, f, lesson = views[i], facts[0], lessons[hands[i]]
        if v.phase > PHASE_DISCARD:
            continue
        describe(v, behaviours[i], v.legal, f)
        soften(v.phase, own[i])
        soften(v.phase, coach[i])
        add_biases(biases[i], v.legal, f, own[i])
        _policy(coach[i], v.legal, wanted)
        if _policy(own[i], v.legal, policy) < 2:
            continue
        mean[:] = 0.0
        for action in range(NUM_ACTIONS):
            if not is_legal(v.legal, action):
                continue
            first, last = _columns(action)
            lesson.agreement += min(policy[action], wanted[action])
            for a in range(first, last):
                weighted = policy[action] * f.features[action, a]
                mean[a] += weighted
                lesson.gradient[a] += wanted[action] * f.features[action, a] - weighted
                for b in range(first, a + 1):
                    lesson.curve[a, b] += weighted * f.features[action, b]
        for a in range(NUM_WEIGHTS):
            for b in range(a + 1):
                lesson.curve[a, b] -= mean[a] * mean[b]
        lesson.decisions += 1


def teach(choices: Choices, hands: np.ndarray, count: int) -> np.ndarray:
    """What hands teach a level.

    Args:
        choices: the level's decisions in them; their logits are overwritten.
        hands: which hand each is of, ``int64[n]``.
        count: number of hands.

    Returns:
        ``LESSON[count]``; of ``curve`` the lower half.
    """
    lessons = np.zeros(count, LESSON)
    _teach(*choices, hands, np.zeros(1, FACTS), lessons)
    return lessons


@kernel
def _learn(lessons, rows, skills, space):
    for i in range(rows.shape[0]):
        if lessons[i].decisions == 0:
            continue
        skill = skills[rows[i]]
        space[0].gradient[:] = lessons[i].gradient
        space[0].curve[:] = lessons[i].curve
        newton_step(skill.mean, skill.precision, space[0], skill.precision)
        skill.hands += 1


def learn(lessons: np.ndarray, rows: np.ndarray, skills: np.ndarray) -> None:
    """Moves a level's own biases by what hands taught, ``LESSON[n]``.

    Args:
        lessons: ``LESSON[n]``.
        rows: whose biases each moves, ``int64[n]``.
        skills: ``POSTERIOR[m]``, changed.
    """
    _learn(lessons, rows, skills, np.zeros(1, WORKSPACE))
