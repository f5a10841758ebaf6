"""The figures of the training line: what each means, what is normal, and what to do where it is not."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A figure of a batch.

    Attributes:
        label: its name in the line.
        key: its name among the batch's figures.
        form: how it is written.
        meaning: in words, for the legend.
        normal: what is normal, and what to do where it is not.
    """

    label: str
    key: str
    form: str
    meaning: str
    normal: str


FIGURES = (
    Figure(
        "kl",
        "kl",
        "{:.4f}",
        "how far the batch moved the policy",
        "near target_kl, which the learning rate follows; 0 during imitation. Many times target_kl for minutes: lower learning_rate",
    ),
    Figure(
        "entropy",
        "entropy",
        "{:.3f}",
        "how open its choices are, from 0 (always the same) to 1 (all legal actions alike)",
        "falls slowly. Near 0 after a few minutes: raise entropy_coef; no longer falling and still high: lower it",
    ),
    Figure(
        "gin",
        "gin_rate",
        "{:.2f}",
        "share of hands that end with gin",
        "0.2 to 0.5. Near 0: it knocks as soon as it can; raise gin_only",
    ),
    Figure(
        "deadwood",
        "knock_deadwood",
        "{:.1f}",
        "deadwood with which it knocks, gin included as 0",
        "2 to 5. Near 7: it knocks with whatever it has; raise gin_only",
    ),
    Figure(
        "knocks",
        "knock_share",
        "{:.2f}",
        "share of the times when it can knock or play on and knocks",
        "0.3 to 0.95. At 1 for long: nothing is learned of waiting; leave commit at its default",
    ),
    Figure(
        "ev",
        "explained_variance",
        "{:.2f}",
        "share of the results' variance that the critic foresees",
        "rises soon and then slowly; the rest is luck. Near 0 for long: lower learning_rate or widen the critic",
    ),
    Figure(
        "lr",
        "learning_rate",
        "{:.1e}",
        "learning rate at present",
        "falls over the run. A twentieth of learning_rate early on: target_kl is too small or minibatch too large",
    ),
)
LEGEND = "\n".join(
    [
        "Each line: decisions so far, decisions a second, minutes left, figures of the latest batch, and shares of the time:",
        *(f"  {figure.label:9} {figure.meaning}" for figure in FIGURES),
        "  engine, inference, learning: playing the games, computing the policy, gradient steps",
        "Every few minutes it is measured: games won against the baseline (the network with which self-play began) and the panel's bots.",
        "docs/train.md says what is normal, and what to do where it is not.",
    ]
)


def figures_text(figures: dict[str, float]) -> str:
    """The figures of a batch in a line; a dash for one that the batch does not have."""
    return "  ".join(
        f"{figure.label} {figure.form.format(figures[figure.key]) if figure.key in figures else '–'}"
        for figure in FIGURES
    )
