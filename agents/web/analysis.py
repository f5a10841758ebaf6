"""Analysis: every decision of a hand with the expert's candidates, the belief and luck; and a player's mistakes over all games."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from markupsafe import Markup
from starlette.responses import Response

from agents.analysis import KINDS, Decision, HandAnalysis, Mistake
from agents.display_names import display_opponent
from agents.levels.level import NAMES
from agents.play.moves import count, in_words
from agents.play.review import analyse_games, analysed, analysed_hands, mistakes, shared_analyst
from agents.web.pages import belief_map, table_picture
from agents.web.request import Request
from ginenv.engine.cards import mask_of, parse_cards
from ginenv.errors import GinError
from ginenv.hands.hand import Hand

_COLUMNS = {"deadwood": "deadwood"}


class _Hand:
    """The hand that is looked at.

    Attributes:
        query: which game it is of, as a query.
        hand: the hand.
        number: number of the hand in its game, from 1.
        hands: how many hands there are.
        names: names of seats 0 and 1.
        seat: the seat of the person, or None in an imported game of others.
        game: id of the stored game.
    """

    def __init__(self, request: Request) -> None:
        self.number, self.game = request.number("hand", 1), request.number("game")
        self.person, self.home = request.person, request.people.home
        stored = self.home.game(self.game)
        if stored.id not in [each.id for each in self.person.session.file.games()]:
            raise GinError(f"there is no game {self.game} among yours")
        if not stored.hands:
            raise GinError("no hand of this game has ended, so there is nothing to analyse")
        hands = [hand for hand in self.home.record(self.game).hands if hand.is_over]
        self.seat, self.hands = stored.seat, len(hands)
        # Whether the person goes through the mistakes of all games.
        self.query = f"{'all=1&' * bool(request.query_params.get('all'))}game={self.game}"
        self.names = display_opponent(stored.names[0]), display_opponent(stored.names[1])
        if not 1 <= self.number <= self.hands:
            raise GinError(f"there is no hand {self.number}; the hands that have ended are 1 to {self.hands}")
        self.hand = hands[self.number - 1]

    @property
    def page(self) -> str:
        """Address of the analysis, without a hand."""
        return f"/analysis?{self.query}"

    @property
    def address(self) -> str:
        """Address of the hand's analysis, without a move."""
        return f"{self.page}&hand={self.number}"

    def before(self, move: int) -> Hand:
        """The hand as it was before a move."""
        return self.hand.after(min(max(move - 1, 0), len(self.hand.history)))

    def in_words(self, decision: Decision, action: str) -> str:
        """An action of a decision's seat, with the card that it takes or plays."""
        return in_words(action, self.before(decision.move).view(decision.seat)[0])

    def picture(self, position: Hand, seat: int) -> Markup:
        """A position as a seat sees it, with the opponent's cards open."""
        view, other = position.view(seat)[0], position.view(1 - seat)[0]
        return table_picture(view, self.names[1 - seat], other, self.names[seat])

    def analysed(self, tell: Any) -> HandAnalysis:
        """The analysis, from the store or made now; work for a job."""
        return analysed(self.home, self.game, self.number, shared_analyst(), tell)


def analysis(request: Request) -> Response:
    """A hand's analysis, or its progress; of the last hand if none is named."""
    if not request.query_params.get("game"):
        return _last(request)
    looked, move = _Hand(request), request.number("move")
    try:
        found = request.result(
            looked.address,
            looked.analysed,
            f"{looked.address}&move={move}",
            f"{' against '.join(looked.names)}, hand {looked.number}",
            lambda job: f"Every decision is played out in many worlds: {job.done} of {job.total or '…'}.",
            keep=True,
        )
    except GinError as error:
        raise GinError(f"this hand cannot be analysed: {error}") from None
    values = {"looked": looked, "here": "/analysis"} | _values(looked, found, move)
    return request.part("analysis_part.html", **values) if request.htmx else request.page("analysis.html", **values)


def _last(request: Request) -> Response:
    """Leads to the last hand of the game in play, or of all."""
    person = request.person
    name = person.session.game.name if person.table.resume() else None
    games = [game for game in person.session.file.games() if game.hands and name in (None, game.name)]
    if not games:
        person.say("No hand of this game has ended yet." if name else "You have not finished a hand yet.")
        return request.go("/records")
    return request.go(f"/analysis?game={games[-1].id}&hand={games[-1].hands}")


def _values(looked: _Hand, found: HandAnalysis, move: int) -> dict[str, Any]:
    """What the page shows of an analysis at one decision: the one asked for, else the costliest."""
    decisions = [each for each in found.decisions if each.played is not None or len(found.decisions) == 1]
    if not decisions:
        raise GinError("nothing was decided in this hand")
    mine = [each for each in decisions if looked.seat in (None, each.seat)] or decisions
    marked = found.mistakes(looked.seat) or found.mistakes()
    costliest = max(mine, key=lambda each: each.loss or 0.0)
    at = next((k for k, each in enumerate(decisions) if each.move == move), decisions.index(costliest))
    chosen = decisions[at]
    candidates = chosen.candidates
    return {
        "found": found,
        "points": found.unit == "points",
        "result": looked.hand.outcome.describe(looked.names) if looked.hand.outcome else "",
        "decisions": decisions,
        "decision": chosen,
        "before": decisions[max(at - 1, 0)].move,
        "after": decisions[min(at + 1, len(decisions) - 1)].move,
        # Columns that say nothing about these candidates, as discards' do about draws, are left out.
        "columns": [key for key in _COLUMNS.items() if any(getattr(each, key[0]) is not None for each in candidates)],
        "picture": looked.picture(looked.before(chosen.move), chosen.seat),
        "belief": _belief(looked, chosen),
        "play_on": {
            "game": looked.game,
            "hand": looked.number,
            "move": chosen.move,
            "back": f"{looked.address}&move={chosen.move}",
        },
        "levels": NAMES,
        "mistakes": marked,
        "next_mistake": _next_mistake(looked, chosen.move, marked),
    }


def _belief(looked: _Hand, decision: Decision) -> Markup:
    opponent_hand = None if decision.opponent is None else mask_of(parse_cards(decision.opponent))
    return belief_map(looked.before(decision.move).view(decision.seat)[0], np.ravel(decision.belief), opponent_hand)


def _next_mistake(looked: _Hand, move: int, marked: list[Mistake]) -> str:
    """The address of the mistake that costs next to that at a move; after the last one, of the list of all mistakes or of the first."""
    if looked.query.startswith("all"):
        listed = [(each.game, each.hand, each.move) for each in mistakes(looked.home, looked.person.name)]
        here = (looked.game, looked.number, move)
        following = listed[listed.index(here) + 1 if here in listed else 0 :]
        return "/analysis?all=1&game={}&hand={}&move={}".format(*following[0]) if following else "/mistakes"
    moves = [each.decision.move for each in marked]
    if not moves or moves == [move]:
        return ""
    return f"{looked.address}&move={moves[(moves.index(move) + 1) % len(moves) if move in moves else 0]}"


def mistakes_page(request: Request) -> Response:
    """The mistakes, or those of a kind; and how far the analysis of all hands has come."""
    kind, person, home = request.query_params.get("kind", ""), request.person, request.people.home
    job = person.jobs.get("all")
    if request.htmx:
        # The page asks for this part again and again while the job works; the list itself follows once it is done.
        return request.go("/mistakes") if job is None or job.over else request.part("analysing_part.html", job=job)
    if kind and kind not in KINDS:
        raise GinError(f"there is no kind of mistakes {kind[:40]!r}; there are {', '.join(KINDS)}")
    analysed = ""
    if job is not None and job.result is not None:
        analysed = (
            f"{count(job.result, 'hand')} analysed." if job.result else "All of your hands were analysed already."
        )
    found = mistakes(home, person.name)
    return request.page(
        "mistakes.html",
        job=job,
        analysed=analysed,
        kind=kind,
        kinds=KINDS,
        numbers=Counter(each.kind for each in found),
        hands=len(analysed_hands(home, person.name)),
        mistakes=[each for each in found if kind in ("", each.kind)],
        here="/mistakes",
    )


def analyse_all(request: Request) -> Response:
    """Begins to analyse those of the player's hands that have not been analysed yet."""
    home, name, jobs = request.people.home, request.person.name, request.person.jobs
    running = jobs.get("all")
    if running is not None and running.over:
        del jobs["all"]
    jobs.job("all", lambda tell: analyse_games(home, name, shared_analyst(), tell), stays=True)
    return request.go("/mistakes")
