"""What a level learns of the game: after every hand its coach, the network at full strength, says how it would have played each decision.

The coach sees what the level's seat may see, all of it, and nothing hidden. The level moves its own biases by one Newton step towards the
coach's choices: the filter by which it learns an opponent's weights, with itself as the one who is modelled. What it learns depends on what
it met. It cannot learn more than its biases can say: what it forgets and how far it strays stay as they are.
"""

from __future__ import annotations

import numpy as np

from agents.levels.choice import MAX_OPTIONS, add_biases, soften
from agents.levels.features import NUM_WEIGHTS
from agents.levels.opponents import WORKSPACE, newton_step
from ginenv.engine.actions import NUM_ACTIONS, PHASE_DISCARD
from ginenv.engine.jit import kernel
from ginenv.view.view import VIEW

# Hands in play at once; of more, the oldest are forgotten.
_MAX_IN_PLAY = 10_000
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


class HandsInPlay:
    """The decisions of one player in hands that are not over, by slot and the hand's own random word."""

    def __init__(self) -> None:
        self._hands: dict[tuple[int, int], list[tuple[np.void, np.ndarray]]] = {}

    def note(self, views: np.ndarray, slots: np.ndarray, logits: np.ndarray) -> None:
        """Notes the decisions ``VIEW[n]`` in some slots, ``int64[n]``, with the network's logits; what is shown again counts once."""
        views = views.copy()
        keys = zip(slots.tolist(), views["hand_luck"].tolist(), strict=True)
        for i, (key, read) in enumerate(zip(keys, views["num_history"].tolist(), strict=True)):
            decisions = self._hands.setdefault(key, [])
            if not decisions or decisions[-1][0]["num_history"] < read:
                decisions.append((views[i], logits[i]))
        while len(self._hands) > _MAX_IN_PLAY:
            del self._hands[next(iter(self._hands))]

    def take(self, views: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The decisions of finished hands, ``VIEW[n]`` and ``int64[n]``; they are forgotten.

        Returns:
            ``VIEW[m]``, the logits that were noted, ``float32[m, 107]``, and which hand each is of, ``int64[m]``.
        """
        hands = [self._hands.pop(key, []) for key in zip(slots.tolist(), views["hand_luck"].tolist(), strict=True)]
        decisions = [decision for hand in hands for decision in hand]
        numbers = np.repeat(np.arange(len(hands)), [len(hand) for hand in hands])
        logits = np.array([row for _, row in decisions], np.float32).reshape(len(decisions), NUM_ACTIONS)
        return np.array([view for view, _ in decisions], VIEW), logits, numbers

    def clear(self, slots: np.ndarray | None = None) -> None:
        """Forgets the hands of some slots, or all."""
        gone = None if slots is None else set(slots.tolist())
        self._hands = {} if gone is None else {key: hand for key, hand in self._hands.items() if key[0] not in gone}


@kernel
def _softmax(row, o, policy):
    """Writes the probabilities of the options of an ``OPTIONS`` record under a row of logits."""
    most = -1e300
    for k in range(o.count):
        most = max(most, np.float64(row[o.actions[k]]))
    total = 0.0
    for k in range(o.count):
        policy[k] = np.exp(row[o.actions[k]] - most)
        total += policy[k]
    for k in range(o.count):
        policy[k] /= total


@kernel
def _teach(choices, own, coach, hands, lessons):
    policy, wanted = np.zeros(MAX_OPTIONS), np.zeros(MAX_OPTIONS)
    mean = np.zeros(NUM_WEIGHTS)
    for i in range(choices.shape[0]):
        c, lesson = choices[i], lessons[hands[i]]
        o = c.options
        if c.phase > PHASE_DISCARD or o.count < 2:
            continue
        soften(c.phase, own[i])
        soften(c.phase, coach[i])
        add_biases(c, own[i])
        _softmax(own[i], o, policy)
        _softmax(coach[i], o, wanted)
        mean[:] = 0.0
        for k in range(o.count):
            first = o.first[k]
            lesson.agreement += min(policy[k], wanted[k])
            for a in range(o.last[k] - first):
                weighted = policy[k] * o.features[k, a]
                mean[first + a] += weighted
                lesson.gradient[first + a] += wanted[k] * o.features[k, a] - weighted
                for b in range(a + 1):
                    lesson.curve[first + a, first + b] += weighted * o.features[k, b]
        for a in range(NUM_WEIGHTS):
            for b in range(a + 1):
                lesson.curve[a, b] -= mean[a] * mean[b]
        lesson.decisions += 1


def teach(choices: np.ndarray, own: np.ndarray, coach: np.ndarray, hands: np.ndarray, count: int) -> np.ndarray:
    """What hands teach a level.

    Args:
        choices: the level's in them, with its own biases, without what it knows of the opponent: ``CHOICE[n]``.
        own: the network's logits for what the level saw, ``float32[n, 107]``; overwritten.
        coach: the same for all that there was to see; overwritten.
        hands: which hand each choice is of, ``int64[n]``.
        count: number of hands.

    Returns:
        ``LESSON[count]``; of ``curve`` the lower half.
    """
    lessons = np.zeros(count, LESSON)
    _teach(choices, own, coach, hands, lessons)
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
