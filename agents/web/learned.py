"""What a level has learned about the player: what it believes of the player's habits, how sure it is, and what it does differently."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from agents.levels.level import NAMES, load_level
from agents.levels.profile import read_learned
from agents.levels.words import findings
from agents.play.opponents import checked_level, reset_level
from agents.reports.charts import ACCENT, LINE, SOFT, drawing, svg_of_page
from agents.web.asked import Asked


def _chart(beliefs: list[dict[str, Any]]) -> Markup:
    """How far the player's habits are from other people's; the surer the level is, the stronger the line."""
    with drawing(9.5, 0.7 + 0.36 * len(beliefs)) as (figure, (axes,)):
        axes.axvline(0, color=LINE, linewidth=1)
        for row, belief in enumerate(beliefs):
            axes.plot([0, belief["distance"]], [row, row], color=SOFT, linewidth=1 + 5 * belief["certainty"])
            axes.plot([belief["distance"]], [row], "o", color=ACCENT)
        axes.set_yticks(range(len(beliefs)), [belief["words"] for belief in beliefs])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.margins(0.06, 0.12)
        axes.set_xlabel("standard deviations from other people; thick lines are certain")
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        return Markup(svg_of_page(figure, "What the level believes of the player's habits"))


def learned(asked: Asked) -> Response:
    """The page about one level."""
    session = asked.seat.session
    chosen = asked.query.get("level") or session.options.opponent
    name = checked_level(chosen) if asked.query.get("level") or chosen.startswith("level-") else NAMES[0]
    level = load_level(name)
    values: dict[str, Any] = {
        "level": name,
        "levels": [*NAMES, *([name] if name not in NAMES else [])],
        "learns": level.learns,
        "learning": session.options.learning and not session.freeze,
    }
    if level.learns:
        (found,) = findings(session.home.path, level, session.file.name)
        known = read_learned(session.home.path, level, session.file.name)[session.file.name]
        values |= {
            "found": found,
            "chart": _chart(found["beliefs"]) if found["beliefs"] else "",
            "experience": known.experience,
        }
    return asked.page("learned.html", **values)


def reset(asked: Asked) -> Response:
    """Resets a level to how it was installed, if the form says that it is meant."""
    name = checked_level(asked.form.get("level", ""))
    with asked.seat.explained():
        if asked.form.get("sure"):
            asked.seat.say(reset_level(name, asked.seat.session.home.path))
    return asked.go(f"/learned?level={name}" if name in NAMES else "/learned")
