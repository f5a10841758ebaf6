"""The card beside a checkpoint: what the network is, how it was made, how strong it is and what its limits are, all from its JSON.

``model_card.md`` is its template.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import ChainableUndefined, Environment, TemplateError

from agents.files import JsonError, read_json, write_json, write_text, writing
from agents.network.metadata import METADATA, CheckpointError, read_metadata
from ginenv.errors import reason_of

CARD = "README.md"
_LEVEL = "level.json"
_TEMPLATE = Path(__file__).with_suffix(".md")


def _interval(estimate: dict[str, float | None], form: str, factor: float, unit: str) -> str:
    """An estimate in words; a dash where there was nothing to estimate from."""
    numbers = (estimate[name] for name in ("mean", "low", "high"))
    mean, low, high = (None if number is None else format(factor * number, form) for number in numbers)
    if mean is None:
        return "–"
    return f"{mean}{unit} (no interval)" if low is None or high is None else f"{mean}{unit} ({low} to {high})"


_FILTERS = {
    "thousands": lambda number: f"{number:,}",
    "percent": lambda share: f"{100 * share:.1f}",
    "share": lambda estimate: _interval(estimate, ".1f", 100, " %"),
    "points": lambda estimate: _interval(estimate, "+.2f", 1, ""),
}


def model_card(directory: str | Path) -> str:
    """The card of a checkpoint as Markdown.

    Args:
        directory: of the checkpoint.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
    """
    directory = Path(directory)
    metadata = read_metadata(directory)
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=ChainableUndefined
    )
    environment.filters |= _FILTERS
    try:
        level = read_json(directory / _LEVEL) if (directory / _LEVEL).exists() else {}
        template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
        return template.render(name=directory.name, network=metadata, about=metadata["about"], level=level)
    except (OSError, JsonError) as error:
        raise CheckpointError(f"checkpoint {directory}: {_LEVEL} cannot be read ({reason_of(error)})") from None
    except (TemplateError, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        # What is said of how a network was made has no schema of its own.
        reason = f"{type(error).__name__}: {error}"[:200]
        raise CheckpointError(
            f"checkpoint {directory}: {METADATA} or {_LEVEL} holds what a card cannot show ({reason})"
        ) from None


def write_card(directory: str | Path) -> str:
    """Writes the card of a checkpoint beside it, and returns it.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
        FileError: if the card cannot be written.
    """
    directory = Path(directory)
    card = model_card(directory)
    with writing(directory):
        write_text(directory / CARD, card)
    return card


def add_measured(directory: str | Path, matches: list[dict[str, Any]]) -> None:
    """Writes figures of matches into a checkpoint's JSON and on its card, in place of earlier ones of the same opponent and rules.

    Args:
        directory: of the checkpoint, which was the first player.
        matches: ``against``, ``rules``, ``jobs``, ``unit``, ``share``, ``points_per_hand`` and ``seed`` of each.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
        FileError: if a file cannot be written.
    """
    directory = Path(directory)
    metadata = read_metadata(directory)
    new = {(match["against"], match["rules"]) for match in matches}
    stay = [match for match in metadata.get("measured", []) if (match["against"], match["rules"]) not in new]
    with writing(directory):
        write_json(directory / METADATA, metadata | {"measured": stay + matches})
    write_card(directory)
