"""Tables about the levels, for ``docs/results.md`` and the README: the ladder and how it holds, what learning gains, and variety."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import interval, read, share, table


def _last(gains: dict[str, Any]) -> str:
    """The last part of a series: ``201_500``."""
    return max(gains, key=lambda part: int(part.split("_")[0]))


def _table(headings: list[str], rows: list[list[str]]) -> list[str]:
    return table(headings, rows) if rows else ["The levels have changed since they were last measured.\n"]


def ladder_table() -> list[str]:
    """Each level against the next one as installed: as installed itself, and after 500 and 5,000 hands with others."""
    rows = [
        [f"`{name}` against `{row['config']['above']}`", f"{row['config']['games']:,}"]
        + [share(row["ladder"][stage]) for stage in ("as_installed", "after_500", "after_5000")]
        + [interval(row["ladder"]["as_installed"]["points"])]
        for name, row in read("levels").items()
    ]
    return _table(
        [
            "games won of the next level as installed",
            "games",
            "as installed",
            "after 500 hands",
            "after 5,000",
            "points per hand as installed",
        ],
        rows,
    )


def gains_table() -> list[str]:
    """What each level gains by learning, in the last three fifths of each series."""
    rows = []
    for name, row in read("levels").items():
        config, last = row["config"], _last(row["gains"]["total"])
        gains, strangers = (
            {gain: found[last] for gain, found in row[who].items() if gain != "by_opponent"}
            for who in ("gains", "strangers")
        )
        rows.append(
            [
                f"`{name}`" + (", network alone" if row["settings"]["worlds"] else ""),
                f"{config['styles']} × {config['series']}, hands {last.replace('_', ' to ')}",
                interval(gains["total"]), interval(gains["experienced"]),
                interval(gains["specific"]), interval(gains["specific"]["newly_drawn"]),
                interval(strangers["specific"]), interval(strangers["total"]),
            ]
        )  # fmt: skip
    return _table(
        [
            "gain by learning, points per hand", "series", "in all: own less frozen", "after 5,000 hands", "specific: own less mixed",
            "the same for newly drawn opponents", "specific, strangers of other kinds", "in all, strangers",
        ],
        rows,
    )  # fmt: skip


def variety_table() -> list[str]:
    """How differently each level plays the same deal, and what that costs."""
    rows = [
        [
            f"`{name}`", str(found["deals"]), f"{found['different']:.0f}", f"{100 * found['commonest']:.1f} %", f"{found['hands']:,}",
            interval(found["cost"]),
        ]
        for name, row in read("levels").items()
        if (found := row.get("variety"))
    ]  # fmt: skip
    return _table(
        [
            "the same deal 1,000 times against `formula`",
            "deals",
            "different hands",
            "commonest",
            "hands",
            "variety costs, points per hand",
        ],
        rows,
    )


def levels_summary() -> list[str]:
    """The README's table: the ladder, and what each level gains in its first 500 hands against somebody."""
    rows = []
    for name, row in read("levels").items():
        games = [
            f"{100 * row['ladder'][stage]['share']['mean']:.1f} %"
            for stage in ("as_installed", "after_500", "after_5000")
        ]
        gains = row["gains"]["total"]
        rows.append([f"`{name}`", f"`{row['config']['above']}`", *games, interval(gains[_last(gains)])])
    return _table(["level", "against", "installed", "after 500 hands", "5,000", "gain, points per hand"], rows)
