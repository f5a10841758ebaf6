"""Analysis: every decision of a hand with the expert's candidates, the belief beside the true hand, luck, and a player's mistakes."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from agents.analysis import KINDS, Decision, HandAnalysis, Mistake, Subject, deal_and_play, read_hands
from agents.play.display_names import display_opponent
from agents.play.moves import action_words, count
from agents.play.review import StoredMistake, analyse_games, analysed, mistakes, num_analysed, shared_analyst
from agents.web.belief_map import belief_map
from agents.web.form_fields import seed_of
from agents.web.jobs import PATIENCE, Job
from agents.web.lobby import opponents
from agents.web.pages import page, table_picture
from agents.web.request import Request
from ginenv.bots.heuristics import make_formula
from ginenv.engine.actions import action_name
from ginenv.engine.cards import mask_of, parse_cards
from ginenv.errors import GinError, TextError
from ginenv.hands.hand import Hand

_LONGEST_TEXT = 200_000
_LONGEST_TRY = 200
_COLUMNS = (("deadwood", "deadwood"), ("ways", "ways to fill"), ("danger", "danger"))


class _Hand:
    """The hand that is looked at, from a stored game, a text or a seed.

    Attributes:
        address: address of its page, without a move.
        hand: the hand.
        number: number of the hand in its game, from 1.
        hands: how many hands there are.
        names: names of seats 0 and 1.
        seat: the seat of the person, or None where it is not known.
        among_all: whether the person goes through the mistakes of all games.
    """

    def __init__(self, request: Request) -> None:
        self.number = request.number("hand", 1)
        self.game = request.number("game")
        self.seat: int | None = None
        self.among_all = bool(request.query.get("all"))
        self._home, self._name = request.sessions.home, request.browser_session.name
        if self.game:
            stored = request.sessions.home.game(self.game)
            if stored.id not in [each.id for each in request.browser_session.session.file.games()]:
                raise GinError(f"there is no game {self.game} among yours")
            hands = [hand for hand in request.sessions.home.record(self.game).hands if hand.is_over]
            self.names, self.seat = stored.names, stored.seat
            self.page = f"/analysis?{'all=1&' * self.among_all}game={self.game}"
        else:
            number = request.number("subject")
            subject = request.browser_session.subjects.get(number)
            hands, self.names = subject.hands, subject.names
            self.page = f"/analysis?subject={number}"
        self.names = display_opponent(self.names[0]), display_opponent(self.names[1])
        self.hands = len(hands)
        if not 1 <= self.number <= self.hands:
            raise GinError(f"there is no hand {self.number}; the hands that have ended are 1 to {self.hands}")
        self.hand = hands[self.number - 1]
        self.address = f"{self.page}&hand={self.number}"

    def all_mistakes(self) -> list[StoredMistake]:
        """The person's mistakes over all games, the costliest first."""
        return mistakes(self._home, self._name)

    def job(self, request: Request) -> Job:
        """The job that analyses it."""
        home, jobs = request.sessions.home, request.browser_session.jobs
        if self.game:
            return jobs.job(self.address, lambda tell: analysed(home, self.game, self.number, shared_analyst(), tell))
        return jobs.job(self.address, lambda tell: shared_analyst().hand(self.hand, self.number, progress=tell))


def analysis(request: Request) -> Response:
    """A hand's analysis, its progress, or the form that asks for one."""
    if request.query.get("last"):
        name = request.browser_session.live.game.name if request.browser_session.enter() else None
        games = [game for game in request.browser_session.session.file.games() if name in (None, game.name)]
        stored = games[-1] if games else None
        if stored is None:
            request.browser_session.say(
                "No hand of this game has ended yet." if name else "You have not finished a hand yet."
            )
            return request.go("/analysis")
        return request.go(f"/analysis?game={stored.id}&hand={max(1, stored.hands)}")
    if not (request.query.get("game") or request.query.get("subject")):
        return _form(request)
    looked = _Hand(request)
    job = looked.job(request)
    if not job.wait(PATIENCE):
        heading = f"{' against '.join(looked.names)}, hand {looked.number}"
        words = f"Every decision is played out in many worlds: {job.done} of {job.total or '…'}."
        return request.progress(job, f"{looked.address}&move={request.number('move')}", heading, words)
    if job.error:
        request.browser_session.jobs.forget(looked.address)
        raise GinError(f"this hand cannot be analysed: {job.error}")
    values = {"looked": looked, "here": "/analysis"} | _found(looked, job.result, request.number("move"))
    return request.part("analysis_part.html", "analysis.html", **values)


def _form(request: Request, status: int = 200) -> Response:
    usual = {
        "text": "",
        "seed": "1",
        "rules": request.browser_session.session.options.rules,
        "first": "level-2",
        "second": "formula",
    }
    fields = {name: request.form.get(name, value) for name, value in usual.items()}
    return request.page("analysis_form.html", status, opponents=opponents(request), here="/analysis", **fields)


def _value(points: bool, value: float | None, sign: bool = False) -> str:
    if value is None:
        return "–"
    number = value if points else 100 * value
    return (f"{number:+.1f}" if sign else f"{number:.1f}").replace("-", "\N{MINUS SIGN}")


def _found(looked: _Hand, found: HandAnalysis, move: int) -> dict[str, Any]:
    """What the page shows of an analysis at one decision: the one asked for, else the costliest."""
    points = found.unit == "points"
    decisions = [each for each in found.decisions if each.played is not None or len(found.decisions) == 1]
    if not decisions:
        raise GinError("nothing was decided in this hand")
    mine = [each for each in decisions if looked.seat in (None, each.seat)] or decisions
    marked = found.mistakes(looked.seat) or found.mistakes()
    costliest = max(mine, key=lambda each: each.loss or 0.0)
    at = next((k for k, each in enumerate(decisions) if each.move == move), decisions.index(costliest))
    chosen = decisions[at]
    return {
        "found": found,
        "result": looked.hand.outcome.describe(looked.names) if looked.hand.outcome else "",
        "decisions": decisions,
        "decision": chosen,
        "before": decisions[max(at - 1, 0)].move,
        "after": decisions[min(at + 1, len(decisions) - 1)].move,
        "unit": "points" if points else "% of the game",
        "value": partial(_value, points),
        # Columns that say nothing about these candidates, as discards' do about draws, are left out.
        "columns": [
            (key, words) for key, words in _COLUMNS if any(getattr(each, key) is not None for each in chosen.candidates)
        ],
        "picture": _picture(looked, chosen),
        "belief": _belief(looked, chosen),
        "mistakes": marked,
        "next_mistake": _next_mistake(looked, chosen.move, marked),
        "try_address": f"/try?{looked.page.partition('?')[2]}&hand={looked.number}&move={chosen.move}",
    }


def _next_mistake(looked: _Hand, move: int, marked: list[Mistake]) -> str:
    """The address of the mistake that costs next to that at a move; after the last one, of the list of all mistakes or of the first."""
    if looked.among_all and looked.game:
        listed = [(each.game, each.hand, each.move) for each in looked.all_mistakes()]
        here = (looked.game, looked.number, move)
        at = listed.index(here) + 1 if here in listed else 0
        if at >= len(listed):
            return "/mistakes"
        return "/analysis?all=1&game={}&hand={}&move={}".format(*listed[at])
    moves = [each.decision.move for each in marked]
    if not moves or moves == [move]:
        return ""
    return f"{looked.address}&move={moves[(moves.index(move) + 1) % len(moves) if move in moves else 0]}"


def _before(looked: _Hand, move: int) -> Hand:
    return looked.hand.after(min(max(move - 1, 0), len(looked.hand.history)))


def _picture(looked: _Hand, decision: Decision) -> Markup:
    """The position as the seat that decides sees it; once the hand is over, the opponent's cards lie open."""
    position = _before(looked, decision.move)
    opened = position.view(1 - decision.seat)[0] if looked.hand.is_over else None
    names = looked.names
    return table_picture(position.view(decision.seat)[0], names[1 - decision.seat], opened, names[decision.seat])


def _belief(looked: _Hand, decision: Decision) -> Markup:
    opponent_hand = None if decision.opponent is None else mask_of(parse_cards(decision.opponent))
    return belief_map(_before(looked, decision.move).view(decision.seat)[0], np.ravel(decision.belief), opponent_hand)


def _subject(request: Request, subject: Subject) -> Response:
    return request.go(f"/analysis?subject={request.browser_session.subjects.add(subject)}")


def analyse_text(request: Request) -> Response:
    """Analyses a record or a position sent as text; an error is explained beside the text."""
    text = request.form.get("text", "").replace("\r\n", "\n").strip()[:_LONGEST_TEXT]
    try:
        if not text.startswith(("gin1 ", "ginrecord ")):
            raise TextError("a position begins with gin1, a record with ginrecord")
        subject = read_hands(text)
    except GinError as error:
        request.browser_session.say(f"This cannot be analysed: {error}", "warning")
        return _form(request, 400)
    return _subject(request, subject)


def analyse_seed(request: Request) -> Response:
    """Analyses the hand that two agents play with the cards of a seed; an error is explained beside the choices."""
    form = {name: value.strip() for name, value in (request.form or request.query).items()}
    players, rules = (form.get("first", ""), form.get("second", "")), "".join(form.get("rules", "").split())
    jobs = request.browser_session.jobs
    try:
        if (seed := seed_of(form)) is None:
            raise GinError("it needs a seed")
        for name in players:
            request.browser_session.session.check_player(name)
        if any(name.startswith("cmd:") for name in players):
            raise GinError("a program could find out which cards a seed deals; choose agents")
        job = jobs.job(key := (rules, seed, players), lambda tell: deal_and_play(rules, seed, players, tell))
        if not job.wait(PATIENCE):
            address = (
                f"/analysis/seed?{urlencode({'first': players[0], 'second': players[1], 'rules': rules, 'seed': seed})}"
            )
            words = f"The hand is played: {count(job.done, 'action')} so far."
            return request.progress(job, address, f"{players[0]} against {players[1]}", words)
        jobs.forget(key)
        if job.error:
            raise GinError(job.error)
    except (GinError, OSError) as error:
        request.browser_session.say(f"This hand cannot be played: {error}", "warning")
        return request.go("/analysis") if request.htmx else _form(request, 400)
    return _subject(request, job.result)


def other_move(request: Request) -> Response:
    """Tries another move from a position and plays on from there against ``formula``, with both hands open."""
    looked = _Hand(request)
    if not looked.hand.is_over:
        raise GinError("moves can be tried once the hand is over")
    move = request.number("move", 1)
    position = _before(looked, move)
    seat = position.turn
    tried = request.query.get("tried", "")[:_LONGEST_TRY]
    moves_made, formula = [], make_formula()
    for text in filter(None, tried.split(".")):
        if position.is_over or not (text.isdecimal() and len(text) <= 3):
            raise GinError(f"{text!r} cannot be tried here")
        moves_made.append(_pushed(position, int(text), looked.names))
        while not position.is_over and position.turn != seat:
            moves_made.append(_pushed(position, int(formula.act(position.view())[0]), looked.names))
    address = f"/try?{looked.page.partition('?')[2]}&hand={looked.number}&move={move}"
    choices = [] if position.is_over else position.legal_actions()
    values = {
        "looked": looked,
        "back": f"{looked.address}&move={move}",
        "events": moves_made,
        "result": position.outcome.describe(looked.names) if position.outcome else "",
        "choices": [
            {
                "words": action_name(action, int(position.state["phase"][0])),
                "address": f"{address}&tried={quote(f'{tried}.{action}'.strip('.'))}",
            }
            for action in choices
        ],
        "picture": table_picture(
            position.view(seat)[0], looked.names[1 - seat], position.view(1 - seat)[0], looked.names[seat]
        ),
    }
    return request.page("other_move.html", here="/analysis", **values)


def _pushed(position: Hand, action: int, names: tuple[str, str]) -> str:
    who, before = names[position.turn], position.view()[0]
    position.push(action)
    return f"{who} {action_words(action, before)}."


def _analysed(job: Job | None) -> str:
    """The result of analysing everything, in words."""
    if job is None or job.result is None:
        return ""
    return f"{count(job.result, 'hand')} analysed." if job.result else "All of your hands were analysed already."


def mistakes_page(request: Request) -> Response:
    """The player's mistakes over all games, by kind."""
    kind = request.query.get("kind", "")
    seat = request.browser_session
    job: Job | None = seat.jobs.find("all")
    progress = {
        "job": job,
        "analysed": _analysed(job),
    }
    if request.htmx:
        # The page asks for this part again and again while the job works; the list itself follows once it is done.
        return (
            request.go("/mistakes")
            if job is None or job.over
            else HTMLResponse(page("analysing_part.html", **progress))
        )
    everything = mistakes(request.sessions.home, seat.name)
    if kind and kind not in KINDS:
        raise GinError(f"there is no kind of mistakes {kind[:40]!r}; there are {', '.join(KINDS)}")
    kinds = [(each, sum(one.kind == each for one in everything)) for each in KINDS]
    chosen = [each for each in everything if kind in ("", each.kind)]
    values = {
        "kind": kind,
        "kinds": kinds,
        "all": len(everything),
        "hands": num_analysed(request.sessions.home, seat.name),
        "value": _value,
        "mistakes": chosen,
        "here": "/mistakes",
    }
    return request.page("mistakes.html", **values, **progress)


def analyse_all(request: Request) -> Response:
    """Begins to analyse those of the player's hands that have not been analysed yet."""
    home, name = request.sessions.home, request.browser_session.name
    jobs = request.browser_session.jobs
    running = jobs.find("all")
    if running is not None and running.over:
        jobs.forget("all")
    jobs.job("all", lambda tell: analyse_games(home, name, shared_analyst(), tell), stays=True)
    return request.go("/mistakes")
