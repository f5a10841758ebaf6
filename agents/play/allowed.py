"""Which players may sit at a table.

A page, a store or a record names registered players only: none of them starts a program or reads a path that the command line did not name.
"""

from __future__ import annotations

from collections.abc import Collection

from ginenv.errors import GinError, must_be, quoted, unknown_name
from ginenv.tables.player_names import parse_player, player_names

# The options that anybody may set, each with its largest value: more would only occupy the machine. An option that is missing here may
# name a file (``profile``, ``network``). All options of ``style`` are numbers, or names that it knows itself.
_LEVEL = {"learn": 1, "worlds": 512}
_OPTIONS = {
    "network": {"temperature": 100},
    "search": {"worlds": 512, "particles": 4096, "policy_weight": 1, "slack": 10},
    "population": {"count": 4096, "draw": 1_000_000},
    **{f"level-{number}": _LEVEL for number in range(1, 5)},
    "matched": {"adapt": 1},
}
_SWITCH = {"true": 1.0, "false": 0.0}


def names_for_all() -> list[str]:
    """The registered players that may sit at a table; ``like`` is not one without the person whom it imitates."""
    return [name for name in player_names() if name != "like"]


def check_allowed(name: str, allowed: Collection[str]) -> None:
    """Refuses a player that may not sit at a table; whether a path exists makes no difference.

    Args:
        name: the player's name, with options.
        allowed: names that the command line gave, allowed as they stand.

    Raises:
        GinError: if it is neither among them nor a registered name whose options anybody may set.
    """
    if name in allowed:
        return
    kind = name.partition(":")[0]
    if kind not in names_for_all():
        raise GinError(
            f"{unknown_name('player', name, [*names_for_all(), *allowed])}. A program, a Python class or a directory "
            "plays only where the command line names it: --allow NAME of gin web or gin serve, gin play --opponent NAME"
        )
    if kind == "style":
        return
    limits = _OPTIONS.get(kind, {})
    for option, text in parse_player(name).options.items():
        if option not in limits:
            raise GinError(f"player {quoted(name)}: {unknown_name('option', option, limits)}")
        try:
            value = _SWITCH[text.lower()] if text.lower() in _SWITCH else float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= limits[option]:
            raise GinError(must_be(f"player {quoted(name)}: option {option}", f"from 0 to {limits[option]}", text))
