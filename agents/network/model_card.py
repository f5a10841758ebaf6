"""The card beside a checkpoint: what the network is, how it was made, how strong it is and what its limits are, all from its JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from agents.config import Config, ConfigError, parse_config
from agents.files import JsonError, read_json, write_json, write_text, writing
from agents.network.checkpoint import METADATA, CheckpointError, read_metadata
from ginenv.errors import reason_of
from ginenv.view.encoding import OBSERVATION_SIZE

CARD = "README.md"
_LEVEL = "level.json"


_Count = Annotated[int, Field(ge=0, le=10**15)]


class _Interval(Config):
    """An estimate in a file of results; without numbers where there was nothing to estimate from."""

    mean: float | None
    low: float | None
    high: float | None

    def text(self, percent: bool) -> str:
        form = (lambda value: f"{100 * value:.1f}") if percent else (lambda value: f"{value:+.2f}")
        if self.mean is None:
            return "–"
        unit = " %" if percent else ""
        if self.low is None or self.high is None:
            return f"{form(self.mean)}{unit} (no interval)"
        return f"{form(self.mean)}{unit} ({form(self.low)} to {form(self.high)})"


class _MeasuredMatch(Config):
    """The figures of a match as a checkpoint keeps them."""

    against: str
    rules: str
    jobs: _Count
    unit: Literal["games", "hands"]
    share: _Interval
    points_per_hand: _Interval
    seed: _Count


class _Measured(Config):
    """All that a checkpoint keeps."""

    each: list[_MeasuredMatch]


def _json(path: Path) -> dict[str, Any]:
    """What a JSON file beside the checkpoint holds; empty if there is none."""
    try:
        found = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, JsonError) as error:
        raise CheckpointError(f"checkpoint {path.parent}: {path.name} cannot be read ({reason_of(error)})") from None
    return found if isinstance(found, dict) else {}


def model_card(directory: str | Path) -> str:
    """The card of a checkpoint as Markdown.

    Args:
        directory: of the checkpoint.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
    """
    directory = Path(directory)
    metadata = read_metadata(directory)
    level = _json(directory / _LEVEL)
    about = metadata.get("about") or {}
    name = level.get("name") or directory.name
    try:
        sections = {
            "": _what(metadata, level),
            "How it was made": _how(about),
            "How strong it is": _strength(metadata, bool(level)),
            "Limits": _limits(about, level),
        }
    except ConfigError as error:
        raise CheckpointError(f"checkpoint {directory}: {METADATA}: {error}") from None
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        # What is said of how a network was made has no schema of its own.
        reason = f"{type(error).__name__}: {error}"[:200]
        raise CheckpointError(
            f"checkpoint {directory}: {METADATA} or {_LEVEL} holds what a card cannot show ({reason})"
        ) from None
    lines = [f"# {name}", ""]
    for heading, content in sections.items():
        lines += [f"## {heading}", ""] if heading else []
        lines += [*content, ""]
    return "\n".join(lines)


def _what(metadata: dict[str, Any], level: dict[str, Any]) -> list[str]:
    features = metadata["heuristic_features"]
    inputs = [
        f"an observation of {OBSERVATION_SIZE} bytes (version {metadata['observation_version']})",
        "whether it plays for gin only",
    ]
    inputs += [f"{features} numbers of a bot's evaluation of the hand"] if features else []
    lines = [
        f"A gin rummy policy: a network with hidden layers of {', '.join(map(str, metadata['widths']))} units that reads "
        f"{'; '.join(inputs)}. "
        f"It gives logits of {metadata['actions']} actions, of the opponent's cards and of its next action.",
        "",
        f"Weights: sha256 `{metadata['weights_sha256']}`.",
    ]
    if metadata.get("critic"):
        lines += [
            "",
            "With a critic, for search and further training, which sees both hands and the next cards of the stock.",
        ]
    if level:
        settings = level.get("settings", {})
        lines += ["", f"The network of a level ({settings.get('title', '')}), which `level.json` describes."]
    return lines


def _how(about: dict[str, Any]) -> list[str]:
    parts = []
    if about.get("command"):
        parts.append(f"- command: `{about['command']}`")
    parts += [f"- before it, the same run: `{one}`" for one in about.get("earlier_commands") or []]
    if about.get("decisions"):
        parts.append(f"- decisions: {about['decisions']:,}")
    if about.get("minutes"):
        parts.append(f"- minutes: {about['minutes']:.0f}")
    if match := about.get("against_best"):
        won, half = (f"{100 * match[name]:.1f}" for name in ("games_won", "half_width"))
        parts.append(
            f"- against the best of its run until then (of {match['decisions']:,} decisions) it won {won} ± {half} % of "
            f"{match['games']:,} games, on deals kept for choosing"
        )
    if about.get("parent"):
        parts.append(f"- began from: {about['parent']}")
    if about.get("rules"):
        parts.append(f"- rules: {', '.join(sorted(about['rules']))}")
    if about.get("versions"):
        parts.append("- versions: " + ", ".join(f"{key} {value}" for key, value in sorted(about["versions"].items())))
    return parts or ["Its JSON does not say."]


def _strength(metadata: dict[str, Any], is_level: bool) -> list[str]:
    lines: list[str] = []
    if measured := metadata.get("measured"):
        lines += [
            "On deals that nothing was trained or chosen on, 95 % intervals:",
            "",
            "| against | rules | played | won | points per hand |",
        ]
        lines += [
            "| --- | --- | --- | --- | --- |",
            *map(_measured_row, parse_config({"each": measured}, _Measured, "measured").each),
            "",
        ]
    if is_level:
        lines += ["The level itself was not measured; `gin evaluate DIRECTORY` does it.", ""]
    evaluation = (metadata.get("about") or {}).get("panel") or {}
    if evaluation and not measured:
        share = [
            f"{name} {100 * one['games_won']:.1f} ± {100 * one['half_width']:.1f} %"
            for name, one in sorted(evaluation.items())
        ]
        games = ((metadata.get("about") or {}).get("config") or {}).get("eval_games")
        each = f", {games:,} against each" if games else ""
        # A level errs on purpose, so what its network wins alone says little of it.
        which = "its network won alone, without the level's settings," if is_level else "the network won"
        lines += [
            f"Games that {which} when its run measured it{each}: {', '.join(share)}.",
            "",
        ]
    return (
        lines[:-1] if lines else ["Not measured: `gin evaluate DIRECTORY OPPONENT --card` does it and writes it here."]
    )


def _measured_row(match: _MeasuredMatch) -> str:
    return (
        f"| `{match.against}` | {match.rules} | {match.jobs:,} {match.unit} | {match.share.text(percent=True)} "
        f"| {match.points_per_hand.text(percent=False)} |"
    )


def _limits(about: dict[str, Any], level: dict[str, Any]) -> list[str]:
    limits = []
    if about.get("rules"):
        limits.append("- Trained on the rules above; under others it plays, but nobody knows how well.")
    limits += [
        "- How it does against opponents that were not measured, people among them, is not known; a best response may beat it.",
        (
            "- What a level gains by what it learns of an opponent was measured for those that ship (docs/results.md): little of it "
            "depends on whom it plays."
            if level
            else "- It plays one hand at a time, remembers nothing of an opponent from hand to hand, and knows of a game only the score."
        ),
        "- Its guesses of cards and actions are those of its training opponents' play.",
    ]
    return limits


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
