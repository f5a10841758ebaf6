"""What a level has learned about the player: what it believes of its plans, how sure it is, and what it does differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from starlette.responses import Response

from agents.levels.level import NAMES, load_level
from agents.levels.plans import NUM_PLANS, better
from agents.levels.prior import Prior
from agents.levels.profile import profile_path, read_learned
from agents.levels.words import plan_in_words, what_did_you_learn
from agents.play.opponents import checked_level, reset_level
from agents.reports.charts import ACCENT, LINE, SOFT, drawing, svg_of_page
from agents.web.asked import Asked

_DRAWS = 4000


def _chances(record: np.ndarray, boldness: float) -> np.ndarray:
    """How often each plan would be drawn for the next hand: ``[P]``, by drawing often."""
    draws = np.random.default_rng(0).multivariate_normal(
        record["mean"][0], boldness**2 * record["cov"][0] + 1e-9 * np.eye(NUM_PLANS), _DRAWS
    )
    return np.bincount(draws.argmax(1), minlength=NUM_PLANS) / _DRAWS


def _gain_so_far(record: np.ndarray, default: int) -> tuple[float, float]:
    """Points that all hands so far are believed to have brought beyond the plan as installed, and half of their 95 % interval."""
    weights = record["plans"][0, :, 0].astype(np.float64)
    weights[default] -= weights.sum()
    variance = float(weights @ record["cov"][0] @ weights)
    return float(weights @ record["mean"][0]) + 0.0, 1.96 * max(variance, 0.0) ** 0.5


def _plans(record: np.ndarray, prior: Prior, default: int, boldness: float) -> list[dict[str, Any]]:
    chances = _chances(record, boldness)
    rows = []
    for plan in range(NUM_PLANS):
        gain, doubt = better(record, plan, default)
        gain_of_all, doubt_of_all = better(prior.belief, plan, default)
        hands, points = record["plans"][0, plan].tolist()
        rows.append(
            {
                "words": plan_in_words(plan),
                "installed": plan == default,
                "hands": int(hands),
                "points": points / max(hands, 1),
                "gain": gain,
                "half": 1.96 * doubt,
                "gain of all": gain_of_all,
                "half of all": 1.96 * doubt_of_all,
                "chance": float(chances[plan]),
            }
        )
    return rows


def _chart(plans: list[dict[str, Any]]) -> Markup:
    with drawing(9.5, 0.7 + 0.36 * len(plans)) as (figure, (axes,)):
        axes.axvline(0, color=LINE, linewidth=1)
        for row, plan in enumerate(plans):
            low, high = plan["gain"] - plan["half"], plan["gain"] + plan["half"]
            axes.plot([low, high], [row, row], color=SOFT, linewidth=3, alpha=0.5)
            axes.plot([plan["gain"]], [row], "D" if plan["installed"] else "o", color=ACCENT)
        axes.set_yticks(range(len(plans)), [plan["words"] for plan in plans])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.margins(0.06, 0.12)
        axes.set_xlabel("points a hand beyond the plan as installed (diamond)")
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        return Markup(svg_of_page(figure, "What the level believes its plans are worth, with intervals"))


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
        known = read_learned(profile_path(session.home.path, level.name), level)
        record = known.record_of(session.file.name)
        default = level.nothing_learned().default
        plans = _plans(record, known.prior, default, level.settings.boldness)
        counted, points = record["plans"][0].sum(0).tolist()
        lines = what_did_you_learn(session.home.path, level, session.file.name).splitlines()
        values |= {
            "hands": int(record["hands"][0]),
            "points": points / max(counted, 1),
            "plans": plans,
            "gain": _gain_so_far(record, default),
            "chart": _chart(plans),
            # Of what is said of one opponent, the first line is the heading's.
            "summary": "".join(
                line.strip()[:1].upper() + line.strip()[1:] + "." for line in lines[1:2] if line.startswith(" ")
            ),
            "everybody": " ".join(line.strip() for line in lines if line.startswith(("From", "  not certain")))
            or "It has not learned anything about others yet.",
        }
    return asked.page("learned.html", **values)


def reset(asked: Asked) -> Response:
    """Resets a level to how it was installed, if the form says that it is meant."""
    name = checked_level(asked.form.get("level", ""))
    with asked.seat.explained():
        if asked.form.get("sure"):
            asked.seat.say(reset_level(name, asked.seat.session.home.path))
    return asked.go(f"/learned?level={name}" if name in NAMES else "/learned")
