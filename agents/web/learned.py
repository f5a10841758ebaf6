"""What a level has learned: of the game, of the player, where it now plays otherwise, and what it gains."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
from starlette.responses import Response

from agents.display_names import display_opponent
from agents.estimates import Estimate, weighted
from agents.levels.level import MATCHED, NAMES, load_level
from agents.levels.memory import Milestone, reset_level
from agents.levels.sentences import Learning, measure_strength, strength_in_words, what_is_learned
from agents.play.options import opponent_name
from agents.play.store import Home, PlayerFile
from agents.rating import shipped_ladder
from agents.web.options import OPPONENT_TEXTS
from agents.web.request import Request
from ginenv.errors import GinError
from ginenv.tables.player_names import parse_player

_LEVELS = (*NAMES, MATCHED)
# A gain is shown only with at least this many hands in each half.
_FEWEST = 5


class _Gain(NamedTuple):
    """What a level won from the player in the earlier and the later half of their hands, in the variation with the most hands."""

    variation: str
    halves: list[np.ndarray]
    gain: Estimate


def _gain(file: PlayerFile, level: str) -> _Gain | None:
    tallies = [tally for tally in file.statistics.root if tally.opponent == opponent_name(level, easy=False)]
    if not tallies:
        return None
    tally = max(tallies, key=lambda each: each.hands)
    won = -np.array(file.margins(tally), np.float64)
    halves = [won[: len(won) // 2], won[len(won) // 2 :]]
    return _Gain(tally.variation, halves, weighted(halves, (-1, 1))) if len(halves[0]) >= _FEWEST else None


def _level_name(player: str) -> str:
    """A level's name without options."""
    spec = parse_player(player)
    if not spec.is_level:
        raise GinError(f"{player!r} is not a level; a level is level-1 to level-4 or a directory that holds one")
    return spec.argument or spec.kind


def _found(home: Home, name: str, person: str) -> Learning:
    """What a level has learned of a person."""
    [found] = what_is_learned(home.path, load_level(name), person, home.last_hands)
    return found


def _chosen(request: Request) -> tuple[str, str]:
    """The level that the page is about, as a player and by name."""
    session, asked = request.person.session, request.query_params.get("level")
    chosen = asked or session.options.player
    session.check_player(chosen)
    return chosen, _level_name(chosen) if asked or chosen.startswith(("level-", MATCHED)) else NAMES[0]


def strength(request: Request) -> Response:
    """The part of the page that shows how strong the level has become; what is missing is measured."""
    (chosen, name), home = _chosen(request), request.person.session.home
    milestones: list[Milestone] = request.result(
        ("strength", name),
        lambda tell: measure_strength(home.path, load_level(name), tell),
        f"/learned/strength?{urlencode({'level': chosen})}",
        f"How strong {display_opponent(name)} has become",
        lambda job: "Hands against Formula are being played, to measure how strong it has become.",
    )
    return request.part("strength_part.html", milestones=milestones, words=strength_in_words(milestones))


def learned(request: Request) -> Response:
    """The page about one level."""
    session, (chosen, name) = request.person.session, _chosen(request)
    address = f"/learned?{urlencode({'level': chosen})}"
    found: Learning = request.result(
        ("learned", name),
        lambda tell: _found(session.home, name, session.file.name),
        address,
        f"What {display_opponent(name)} has learned",
        lambda job: "The level is being asked.",
        keep=request.htmx,
    )
    if request.htmx:
        # The whole page follows, and asks for the same result.
        return request.go(address)
    return request.page(
        "learned.html",
        level=name,
        levels={each: OPPONENT_TEXTS.get(each, "") for each in (*_LEVELS, name)},
        strength_address=f"/learned/strength?{urlencode({'level': chosen})}",
        learning=session.options.learning and not session.freeze,
        frozen_by_server=session.freeze,
        found=found,
        gain=_gain(session.file, name),
        rungs={each: shipped_ladder().ratings[each] for each in ("simple", "network")},
    )


def reset(request: Request) -> Response:
    """Resets a level to how it was installed, if the form confirms it."""
    person, level = request.person, request.fields.get("level", "")
    person.session.check_player(level)
    name = _level_name(level)
    for kind in ("learned", "strength"):
        person.jobs.pop((kind, name), None)
    with person.shows_errors():
        if request.fields.get("sure"):
            person.say(reset_level(person.session.home.path, load_level(name)))
    return request.go(f"/learned?level={name}" if name in _LEVELS else "/learned")
