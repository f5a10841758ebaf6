"""A learner without torch: a softmax policy with 17 weights, trained by policy gradient in plain numpy.

    pip install ".[match]"
    python examples/linear.py

Each legal action has a few features (is the card melded, how many neighbours are held, is it a knock ...). Its logit is their dot
product with the weights, which are the same for all cards. REINFORCE (Williams 1992) moves the weights towards actions that won. After
half a minute it beats `random`, and the final weights read as a little strategy guide. Learning needs only the base package; the
measurement at the end needs `[match]`.
"""

from __future__ import annotations

import numpy as np
import tyro
from strength import Policy, clock, report, speed

from ginenv import FACTS, KNOCK, NUM_ACTIONS, PASS, PLANES, PLANES_SHAPE, STOCK, UPCARD, HandVectorEnv

CARD = (
    "melded",
    "same rank held",
    "next ranks held",
    "ranks beside held",
    "points",
    "same rank gone",
    "same rank taken by other",
    "just drawn",
)
DRAW = ("take", "take: melds", "take: same rank held", "take: next ranks held", "take: points", "pass", "pass: melds")
NAMES = (*(f"discard: {name}" for name in CARD), "knock", "knock: deadwood left", *DRAW)
TABLES, NUM_STEPS = 256, 64
_FACT = {name: place for place, (name, _) in enumerate(FACTS)}
_POINTS = np.minimum(np.arange(13) + 1, 10) / 10


def _plane(planes: np.ndarray, name: str) -> np.ndarray:
    return planes[:, PLANES.index(name)].astype(np.float32)


def _fact(planes: np.ndarray, name: str) -> np.ndarray:
    return planes[:, -1].reshape(len(planes), -1)[:, _FACT[name]].astype(np.float32)


def _beside(cards: np.ndarray, distance: int) -> np.ndarray:
    """For each card, how many of the two cards of its suit at a distance in rank are among some cards `[n, 4, 13]`."""
    wide = np.pad(cards, ((0, 0), (0, 0), (distance, distance)))
    return wide[..., : -2 * distance] + wide[..., 2 * distance :]


def features(observations: np.ndarray) -> np.ndarray:
    """Features of every action, `float32[n, 107, 17]`, from observations `uint8[n, 520]` (or planes)."""
    planes = observations.reshape(-1, *PLANES_SHAPE)
    n = len(planes)
    mine, upcard = _plane(planes, "my cards"), _plane(planes, "the upcard").reshape(n, -1)
    took = _plane(planes, "cards the opponent took from the pile and still holds")
    gone = _plane(planes, "the discard pile, upcard included")
    card = np.stack(
        [
            _plane(planes, "my cards that an arrangement of least deadwood melds"),
            mine.sum(1, keepdims=True) - mine,
            _beside(mine, 1),
            _beside(mine, 2),
            np.broadcast_to(_POINTS, mine.shape),
            np.broadcast_to(gone.sum(1, keepdims=True), mine.shape),
            np.broadcast_to(took.sum(1, keepdims=True), mine.shape),
            _plane(planes, "the card I drew or took in this turn"),
        ],
        -1,
    ).reshape(n, 52, len(CARD))
    found = np.zeros((n, NUM_ACTIONS, len(NAMES)), np.float32)
    found[:, :KNOCK, : len(CARD)] = card
    # A knock discards a card, too.
    found[:, KNOCK:STOCK, : len(CARD)] = card
    first = len(CARD)
    found[:, KNOCK:STOCK, first] = 1
    found[:, KNOCK:STOCK, first + 1] = (
        _fact(planes, "the least deadwood that I can knock with (0 if I may not)")[:, None] / 10
    )
    melds = _fact(planes, "the upcard would be melded in my hand")
    found[:, UPCARD, first + 2] = 1
    found[:, UPCARD, first + 3] = melds
    for place, which in enumerate((1, 2, 4)):
        found[:, UPCARD, first + 4 + place] = (upcard * card[..., which]).sum(1)
    found[:, PASS, first + 7] = 1
    found[:, PASS, first + 8] = melds
    return found


def probabilities(weights: np.ndarray, found: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The softmax over legal actions: `float64[n, 107]`."""
    logits = np.where(masks > 0, found @ weights, -np.inf)
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def gradient(envs: HandVectorEnv, weights: np.ndarray, seen: tuple[np.ndarray, np.ndarray], rng: np.random.Generator):
    """Plays `NUM_STEPS` decisions at every table; returns the policy gradient, what is seen next, and points per hand."""
    scores, rewards, ends = [], [], []
    for _ in range(NUM_STEPS):
        found = features(seen[0])
        chances = probabilities(weights, found, seen[1])
        actions = (chances.cumsum(1) > rng.random((len(chances), 1))).argmax(1)
        expected = np.einsum("na,naf->nf", chances, found)
        scores.append(found[np.arange(len(found)), actions] - expected)
        observations, paid, done, _, infos = envs.step(actions)
        seen = (observations, infos["action_mask"])
        rewards.append(paid)
        ends.append(done)
    returns, is_finished = np.zeros((NUM_STEPS, TABLES)), np.zeros((NUM_STEPS, TABLES), bool)
    later, finished = np.zeros(TABLES), np.zeros(TABLES, bool)
    for step in reversed(range(NUM_STEPS)):
        finished |= ends[step]
        later = np.where(ends[step], rewards[step], later)
        returns[step], is_finished[step] = later, finished
    # Decisions of unfinished hands have no return yet and are left out.
    gain = (returns - returns[is_finished].mean()) / returns[is_finished].std() * is_finished
    slope = np.einsum("tn,tnf->f", gain, np.stack(scores)) / is_finished.sum()
    return slope, seen, np.sum(rewards) / max(1, np.sum(ends))


def train(decisions: int, seed: int = 0) -> tuple[Policy, np.ndarray]:
    """Trains against `random`; returns the policy, which plays the most probable action, and the weights."""
    began = clock()
    rng = np.random.default_rng(seed)
    envs = HandVectorEnv(TABLES, "random", "eaai")
    observations, infos = envs.reset(seed=seed)
    seen = (observations, infos["action_mask"])
    weights, mean, square = np.zeros((3, len(NAMES)))
    rounds = max(1, decisions // (TABLES * NUM_STEPS))
    for number in range(1, rounds + 1):
        slope, seen, points = gradient(envs, weights, seen, rng)
        # Adam (Kingma and Ba 2015).
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights += 0.15 * (mean / (1 - 0.9**number)) / (np.sqrt(square / (1 - 0.99**number)) + 1e-8)
        if number % 10 == 0:
            print(f"{number * TABLES * NUM_STEPS:,} decisions, {points:+.1f} points per hand", flush=True)
    print(speed(rounds * TABLES * NUM_STEPS, began))

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return probabilities(weights, features(observations), masks).argmax(1)

    return policy, weights


def main(decisions: int = 330_000, games: int = 400, seed: int = 0) -> dict[str, float]:
    """Trains and measures; returns the shares of games won.

    Args:
        decisions: decisions to learn from.
        games: games to measure with, against each bot.
        seed: seed of the run.
    """
    policy, weights = train(decisions, seed)
    for name, weight in zip(NAMES, weights, strict=True):
        print(f"{weight:+6.2f}  {name}")
    return report(policy, "linear", games)


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
