"""What a level has learned of the player: the player beside typical people and the levels, where it plays otherwise, what it gains."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.responses import Response

from agents.arena.ladder import shipped_ladder
from agents.arena.results import weighted
from agents.levels.describe import what_is_learned
from agents.levels.level import MATCHED, NAMES, Level, load_level
from agents.levels.profile import reset_level
from agents.levels.traits import times
from agents.play.display_names import display_opponent
from agents.play.options import opponent_name
from agents.play.store import Home, PlayerFile
from agents.web.jobs import PATIENCE
from agents.web.request import Request
from ginenv.errors import GinError
from ginenv.tables.players import parse_player

# A gain is shown only with at least this many hands in each half.
_FEWEST = 5


def _gain(file: PlayerFile, level: str) -> dict[str, Any] | None:
    """What a level won from the player in the earlier and the later half of their hands, in the variation with the most hands."""
    tallies = [tally for tally in file.statistics.root if tally.opponent == opponent_name(level, easy=False)]
    if not tallies:
        return None
    tally = max(tallies, key=lambda each: each.hands)
    won = -np.array(file.margins(tally), np.float64)
    halves = won[: len(won) // 2], won[len(won) // 2 :]
    if len(halves[0]) < _FEWEST:
        return None
    means = [float(half.mean()) for half in halves]
    gain = weighted(halves, (-1, 1))
    if gain.low <= 0 <= gain.high:
        verdict = "too few hands yet to tell this from luck"
    else:
        verdict = "it has gained on you" if gain.mean > 0 else "you have gained on it"
    return {"variation": tally.variation, "counts": [len(half) for half in halves], "means": means} | {
        "gain": gain.mean,
        "half": gain.half,
        "verdict": verdict,
    }


def _level_name(player: str) -> str:
    """A level's name without options."""
    spec = parse_player(player)
    if not spec.is_level:
        raise GinError(f"{player!r} is not a level; a level is level-1 to level-4 or a directory that holds one")
    return spec.argument or spec.kind


def _found(home: Home, name: str, person: str) -> tuple[Level, Any]:
    """A level, and what it has learned of a person if it learns."""
    level = load_level(name)
    return level, next(iter(what_is_learned(home.path, level, person, home.last_hands))) if level.learns else None


def learned(request: Request) -> Response:
    """The page about one level."""
    session = request.browser_session.session
    chosen = request.query.get("level") or session.options.player
    session.check_player(chosen)
    name = _level_name(chosen) if request.query.get("level") or chosen.startswith(("level-", MATCHED)) else NAMES[0]
    home, person = session.home, session.file.name
    jobs, key = request.browser_session.jobs, ("learned", name)
    job = jobs.job(key, lambda tell: _found(home, name, person))
    address = f"/learned?{urlencode({'level': chosen})}"
    if not job.wait(PATIENCE):
        return request.progress(job, address, f"What {display_opponent(name)} has learned", "The level is being asked.")
    if request.htmx:
        return request.go(address)
    # Another hand may change it.
    jobs.forget(key)
    if job.error:
        raise GinError(job.error)
    level, found = job.result
    values: dict[str, Any] = {
        "level": name,
        "levels": [*NAMES, MATCHED, *([name] if name not in (*NAMES, MATCHED) else [])],
        "learns": level.learns,
        "learning": session.options.learning and not session.freeze,
        "frozen_by_server": session.freeze,
    }
    if level.learns:
        values |= {"found": found, "gain": _gain(session.file, name), "rating": found.rating, "times": times}
        values["rungs"] = {name: shipped_ladder().rating_of(name) for name in ("simple", "network")}
    return request.page("learned.html", **values)


def reset(request: Request) -> Response:
    """Resets a level to how it was installed, if the form confirms it."""
    request.browser_session.session.check_player(request.form.get("level", ""))
    name = _level_name(request.form["level"])
    request.browser_session.jobs.forget(("learned", name))
    with request.browser_session.shows_errors():
        if request.form.get("sure"):
            request.browser_session.say(reset_level(request.browser_session.session.home.path, load_level(name)))
    return request.go(f"/learned?level={name}" if name in (*NAMES, MATCHED) else "/learned")
