"""How strong a level is and how it plays, measured by a tournament: a file beside the level that is not part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.files import read_json, write_json, writing
from agents.levels.level import NAMES, Level, LevelError, load_level
from agents.levels.player import search_config

RATING = "rating.json"
# The rates that are kept.
FIGURES = (
    "gin_rate", "knock_rate", "knock_deadwood", "knocked_when_possible", "turns_per_hand", "upcards_taken", "deadwood_when_caught",
)  # fmt: skip


def read_rating(level: Level, digest: str = "") -> dict[str, Any] | None:
    """The rating of a level; ``None`` if there is none, or if it belongs to another level or another search.

    Args:
        level: the rating lies beside it.
        digest: of the level that the rating must belong to; this level's own when left out.

    Raises:
        LevelError: if the file is damaged.
    """
    path, search = level.directory / RATING, _search_of(level)
    try:
        found = read_json(path)
        is_its_own = found.get("sha256") == (digest or level.digest) and found.get("search") == search
        return found if is_its_own else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        reason = f"{RATING} cannot be read ({error}); delete it or rate the level again"
        raise LevelError(f"level {level.directory}: {reason}") from None


def _search_of(level: Level) -> dict[str, Any] | None:
    """The settings that a level searches with; those that it leaves to the search may differ in another version."""
    return search_config(level).decisive if level.settings.worlds else None


def rate_levels(results: Path) -> list[str]:
    """Writes the rating of each installed level in a tournament beside the level; returns one line for each.

    Args:
        results: results.json of a tournament, such as that of configs/levels_tournament.yaml.

    Raises:
        GinError: if these are not the results of a whole tournament of games, no installed level is among the players, one was not
            played as installed or has changed since, or a file cannot be written.
    """
    try:
        document = read_json(results)
        config = document["config"]
        if document["blocks_missing"] or config["unit"] != "games":
            raise LevelError(f"{results}: levels are rated by a whole tournament of games, with no block missing")
        ratings = {}
        for player, spec in config["players"].items():
            level = spec.partition(":")[0]
            if level in NAMES:
                if spec != f"{level}:learn=false":
                    raise LevelError(
                        f"{results}: {player} is {spec!r}; a level is rated as installed, {level}:learn=false"
                    )
                ratings[level] = _rating_of(document, player, level)
    except LevelError:
        raise
    except OSError as error:
        raise LevelError(
            f"{results} cannot be read ({error.strerror}); levels are rated by the results.json of a tournament"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LevelError(f"{results} does not hold the results of a tournament ({error})") from None
    if not ratings:
        raise LevelError(f"{results}: no level is among the players; known: {', '.join(NAMES)}")
    for name, rating in ratings.items():
        level = load_level(name)
        search = _search_of(level)
        if search and not rating["search"]:
            raise LevelError(f"{results} does not say by which search {name} played; play the tournament again")
        if rating["sha256"] != level.digest or rating["search"] != search:
            raise LevelError(
                f"{results}: {name}, or its search, has changed since that tournament was played; play it again"
            )
    lines = []
    for name, rating in ratings.items():
        path = load_level(name).directory / RATING
        with writing(path):
            write_json(path, rating)
        one = rating["rating"]
        lines.append(f"{name}: {one['rating']:+.0f} ({one['low']:+.0f} to {one['high']:+.0f}), {rating['games']} games")
    return lines


def _names(specs: list[str]) -> set[str]:
    return {spec.partition(":")[0] for spec in specs}


def _rating_of(document: dict[str, Any], player: str, level: str) -> dict[str, Any]:
    return {
        "sha256": document["versions_of"][level],
        "search": document["searches"].get(document["config"]["players"][player]),
        "command": document.get("command"),
        "rules": document["config"]["rules"],
        "rating": document["ratings"][player],
        "field": {other: document["ratings"][other] for other in document["config"]["players"] if other != player},
        "games": sum(match["jobs"] for match in document["matches"] if {player, level} & _names(match["players"])),
        "style": {key: document["styles"][player][key] for key in FIGURES},
    }
