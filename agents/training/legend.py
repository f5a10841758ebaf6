"""The figures of the training line, and what each means; ``docs/train.md`` says what is normal."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A figure of a batch.

    Attributes:
        label: its name in the line.
        key: its name among the batch's figures.
        form: how it is written.
        meaning: in words, for the legend.
    """

    label: str
    key: str
    form: str
    meaning: str


FIGURES = (
    Figure("kl", "kl", "{:.4f}", "how far the batch moved the policy"),
    Figure(
        "entropy",
        "entropy",
        "{:.3f}",
        "how open its choices are, from 0 (always the same) to 1 (all legal actions alike)",
    ),
    Figure("gin", "gin_rate", "{:.2f}", "share of hands that end with gin"),
    Figure("deadwood", "knock_deadwood", "{:.1f}", "deadwood with which it knocks, gin included as 0"),
    Figure("knocks", "knock_share", "{:.2f}", "share of the times when it can knock or play on and knocks"),
    Figure("ev", "explained_variance", "{:.2f}", "share of the results' variance that the critic foresees"),
    Figure("lr", "learning_rate", "{:.1e}", "learning rate at present"),
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
