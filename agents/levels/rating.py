"""How strong a level is and how it plays: the part of its card that matches tell, beside the level and no part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.files import write_json
from agents.levels.card import Level, LevelError, load_level

RATING = "rating.json"
# What the card says of the style, of all that matches tell.
STYLE = (
    "gin_rate", "knock_rate", "knock_deadwood", "knocked_when_possible", "turns_per_hand", "upcards_taken", "deadwood_when_caught",
)  # fmt: skip


def read_rating(level: Level) -> dict[str, Any] | None:
    """What matches told of a level; ``None`` where nothing did, or where it was told of another one.

    Raises:
        LevelError: if the file is damaged.
    """
    path = level.directory / RATING
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LevelError(
            f"level {level.directory}: {RATING} cannot be read ({error}); delete it or rate the level anew"
        ) from None
    if not isinstance(found, dict):
        raise LevelError(f"level {level.directory}: {RATING} is no JSON object; delete it or rate the level anew")
    return found if found.get("sha256") == level.digest else None


def rate_levels(results: Path) -> list[str]:
    """Writes the rating of every level that a tournament was played by into its directory.

    Args:
        results: ``results.json`` of a tournament.

    Returns:
        One line for each level.

    Raises:
        LevelError: if these are no results, no level is among the players, or one has changed since.
    """
    try:
        document = json.loads(results.read_text(encoding="utf-8"))
        players: dict[str, str] = document["config"]["players"]
        ratings, styles, made_of = document["ratings"], document["styles"], document["made_of"]
        rules, pairs = document["config"]["rules"], int(document["config"]["pairs"])
    except OSError as error:
        raise LevelError(f"{results} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError) as error:
        raise LevelError(f"{results} holds no results of a tournament ({error})") from None
    lines = []
    for name, spec in players.items():
        place = spec.partition(":")[0]
        if place not in made_of or not spec.startswith("level-"):
            continue
        if ":learn=false" not in spec:
            raise LevelError(f"{results}: {name} is {spec!r}; a level is rated as installed, {place}:learn=false")
        level = load_level(place)
        if made_of[place] != level.digest:
            raise LevelError(f"{results}: {place} has changed since that tournament was played; play it anew")
        found = {
            "sha256": level.digest,
            "command": document.get("command"),
            "rules": rules,
            "rating": ratings[name],
            "field": [other for other in players if other != name],
            "games": 2 * pairs * (len(players) - 1),
            "style": {key: styles[name][key] for key in STYLE},
        }
        write_json(level.directory / RATING, found)
        one = ratings[name]
        lines.append(f"{place}: {one['rating']:+.0f} ({one['low']:+.0f} to {one['high']:+.0f}), {found['games']} games")
    if not lines:
        raise LevelError(f"{results}: no level is among the players")
    return lines
