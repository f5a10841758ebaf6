"""The analyst: the search as a judge of decisions that others made."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from agents.analysis.findings import GAME, POINTS, Candidate, Decision, Draw, HandAnalysis, Side, mistakes_of
from agents.analysis.marks import MARKS, UNCLEAR, kind_of, mark_of
from agents.arena.hand_value import shipped_value
from agents.network.checkpoint import read_metadata
from agents.network.player import SHIPPED
from agents.search.discard_risk import discard_risks
from agents.search.player import make_search
from agents.search.world_values import BRANCH
from agents.search.worlds import draw_worlds
from agents.win_probability import PointWorths
from ginenv.bots.heuristics import make_formula
from ginenv.bots.reasons import Estimates, reason
from ginenv.engine.actions import (
    KNOCK,
    PHASE_DISCARD,
    PHASE_LAYOFF,
    PHASE_NAMES,
    action_name,
    actions_of,
    parse_action,
)
from ginenv.engine.cards import card_name, format_cards
from ginenv.engine.engine import STATE
from ginenv.engine.melds import deadwood
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.text import rules_text

# Called with the number of decisions done and the number in all.
Progress = Callable[[int, int], None]
# In which hints, analyses and practice judge a decision, unless somebody asks for more or fewer.
WORLDS = 512
# Opponent hands drawn for each world.
_PARTICLES = 8


class _Judgement(NamedTuple):
    """What is known of the actions of a position: the candidates, the best first, and what they were valued by."""

    candidates: tuple[Candidate, ...]
    worlds: int  # in which they were valued; 0 where there is only one candidate
    belief: np.ndarray  # the probability that the opponent holds each card, float64[52]
    opponent_deadwood: float | None = None  # the mean of the opponent's sampled hands, where a knock is possible


class Analyst:
    """Judges decisions by the search's worlds. Threads may share an analyst; they take turns.

    The same settings, seed and hand give the same analysis on the same machine.

    Args:
        worlds: number of worlds in which each decision is judged.
        seed: seed of the worlds.

    Raises:
        CheckpointError: if the network that ships cannot be used.
    """

    def __init__(self, worlds: int = WORLDS, seed: int = 0) -> None:
        # Late in a hand few of the hands drawn are likely: with more of them, a judgement does not hang on a handful.
        self._search = make_search(seed, worlds=worlds, particles=max(1024, _PARTICLES * worlds))
        self._lay_offs = make_formula()
        self._turn = threading.Lock()
        weights = read_metadata(SHIPPED)["weights_sha256"][:12]
        # Names what an analysis depends on, so that a store finds it again.
        self.name = f"search:worlds={worlds} seed={seed} network={weights}"

    def decision(self, view: np.ndarray, played: int | None = None, move: int | None = None) -> Decision:
        """Judges a decision from what its seat sees.

        Args:
            view: ``VIEW[1]`` of the seat to move.
            played: the action that was chosen, if any.
            move: number of the action in the hand, from 1; taken from the view when left out.

        Raises:
            GinError: if the seat is not to move.
        """
        # In training, whoever declines a knock is bound to gin. People are not: an earlier knock that was declined counts for nothing here.
        view = view.copy()
        view["declined"] = 0
        v: Any = view[0]
        if not v["to_move"]:
            raise GinError("a decision can be judged only for the seat to move")
        phase = int(v["phase"])
        scale = 1.0 if v["rules"]["target"] else 100.0
        with self._turn:
            judged = self._lay_off(view, scale) if phase == PHASE_LAYOFF else self._judge(view, played, scale)
        best = judged.candidates[0].action
        words, worse, loss, error, mark, kind = None, None, None, 0.0, "", ""
        if played is not None:
            words = action_name(played, phase)
            chosen = next(each for each in judged.candidates if each.action == words)
            loss, error = 0.0 - chosen.difference, chosen.difference_error
            mark = mark_of(loss / scale, error / scale)
            kind = kind_of(phase, played, parse_action(best)) if mark not in ("", UNCLEAR) else ""
            worse = chosen if loss > 0 else None
        return Decision(
            move=int(v["num_history"]) + 1 if move is None else move,
            seat=int(v["seat"]),
            phase=PHASE_NAMES[phase],
            hand=format_cards(int(v["hand"])),
            deadwood=int(deadwood(int(v["hand"]))),
            played=words,
            best=best,
            reason=_reason(v, judged, worse, scale),
            loss=loss,
            error=error,
            mark=mark,
            kind=kind,
            worlds=judged.worlds,
            candidates=judged.candidates,
            belief=tuple(tuple(row) for row in judged.belief.reshape(4, 13).round(4).tolist()),
        )

    def _judge(self, view: np.ndarray, played: int | None, scale: float) -> _Judgement:
        """What the search finds about a position, with the action played among the candidates."""
        v: Any = view[0]
        found = self._search.examine(view, () if played is None else (played,))
        chosen, valued = found.candidates[found.best], bool(found.candidates["worlds"][found.best])
        policy = np.exp(found.candidates["cost"][0] - found.candidates["cost"])
        # Worlds share the opponent hands that were drawn, so the error has a part for how few of those have weight.
        shared = float(np.sqrt(1 + int(chosen["worlds"]) * (found.weights**2).sum()))
        # Knocks are no discards: they have no risk.
        discards = [
            int(action) for action in found.candidates["action"] if action < KNOCK and v["phase"] == PHASE_DISCARD
        ]
        risks = dict(zip(discards, discard_risks(self._search, view, found, discards).round(4).tolist(), strict=True))
        candidates = [
            Candidate(
                action_name(int(each["action"]), int(v["phase"])),
                _scaled(each["value"], scale) if valued else None,
                _scaled(shared * error, scale) if valued else None,
                _scaled(each["value"] - chosen["value"], scale),
                _scaled(shared * each["error"], scale),
                round(float(share / policy.sum()), 4),
                _left(v, int(each["action"])) if v["phase"] == PHASE_DISCARD else None,
                *risks.get(int(each["action"]), (None, None)),
            )
            for each, error, share in zip(found.candidates, found.errors, policy, strict=True)
        ]
        order = sorted(range(len(candidates)), key=lambda i: (i != found.best, -(candidates[i].value or 0.0)))
        theirs = None
        if v["legal"][1]:
            theirs = round(float(found.weights @ [float(deadwood(hand)) for hand in found.hands]), 2)
        return _Judgement(tuple(candidates[i] for i in order), int(chosen["worlds"]), found.belief, theirs)

    def _lay_off(self, view: np.ndarray, scale: float) -> _Judgement:
        """The same for a lay-off: all that matters is face up, so each action is valued with the best lay-offs after it."""
        v: Any = view[0]
        world, shown = np.zeros(1, STATE), np.array([v["shown"]])
        draw_worlds(v, shown, np.ones(1), world, v["luck"])
        world["deadwood"][0, 1 - v["seat"]] = v["deadwood"][1]
        actions = actions_of(v["legal"])
        ends = np.zeros(len(actions), BRANCH)
        for action, end in zip(actions, ends, strict=True):
            hand = Hand(world.copy())
            hand.push(action)
            while not hand.is_over:
                hand.push(int(self._lay_offs.act(hand.view())[0]))
            end["state"] = hand.state[0]
        ends["seat"], ends["equity"] = v["seat"], self._search.equity.index(view)[0]
        values = self._search.world_values(ends, self._search.equity.bank)
        usual = int(self._lay_offs.act(view)[0])
        best = max(range(len(actions)), key=lambda i: (values[i], actions[i] == usual))
        candidates = tuple(
            Candidate(
                action_name(actions[i], PHASE_LAYOFF),
                round(scale * float(values[i]), 4),
                0.0,
                round(scale * float(values[i] - values[best]), 4),
                0.0,
            )
            for i in sorted(range(len(actions)), key=lambda i: (i != best, -values[i]))
        )
        return _Judgement(candidates, 1, (shown[0] >> np.arange(52) & 1).astype(float))

    def hand(
        self, hand: Hand, number: int = 1, seat: int | None = None, progress: Progress | None = None
    ) -> HandAnalysis:
        """Analyses a hand.

        Args:
            hand: a hand that is over or in play. In play, only one seat's decisions are analysed, and nothing that it cannot see.
            number: number of the hand in its game, from 1.
            seat: whose decisions. When left out: both seats' if the hand is over, otherwise those of the seat to move, including the
                one to be made now.
            progress: called after each decision.
        """
        if seat is None and not hand.is_over:
            seat = hand.turn
        moments = _moments(hand)
        judged = [(k, before) for k, before in enumerate(moments) if seat is None or before.turn == seat]
        decisions = []
        for k, before in judged:
            decision = self.decision(before.view(), hand.history[k], k + 1)
            if hand.is_over:
                decision = replace(decision, opponent=format_cards(int(before.state["hands"][0, 1 - before.turn])))
            decisions.append(decision)
            if progress is not None:
                progress(len(decisions), len(judged))
        if not hand.is_over and hand.turn == seat:
            decisions.append(self.decision(hand.view()))
        draws = _draws(hand, moments) if hand.is_over else []
        outcome, (one, other) = hand.outcome, hand.state["score"][0].tolist()
        won = None if outcome is None else outcome.winner
        points = outcome.points if outcome is not None else 0
        return HandAnalysis(
            number=number,
            rules=rules_text(hand.rules).partition("@")[0],
            score=(one, other),
            result=None if outcome is None else str(outcome),
            points=(points if won == 0 else 0, points if won == 1 else 0),
            unit=GAME if hand.rules.target else POINTS,
            analyst=self.name,
            decisions=tuple(decisions),
            draws=tuple(draws),
            sides=(_side(0, decisions, draws, hand.is_over), _side(1, decisions, draws, hand.is_over)),
        )


def _scaled(value: float, scale: float) -> float:
    return round(scale * round(float(value), 4), 4)


def _left(v: Any, action: int) -> int:
    """The deadwood that a discard leaves."""
    return int(deadwood(int(v["hand"]) & ~(1 << action % KNOCK)))


def _reason(v: Any, judged: _Judgement, played: Candidate | None, scale: float) -> str:
    """Why the best action is better than the one played, or than the next best."""
    best = judged.candidates[0]
    compared = played or next((each for each in judged.candidates if each.difference < 0), None)
    if compared is None:
        return reason(v, parse_action(best.action), None, Estimates(judged.opponent_deadwood))
    gap = f"{-100 * (compared.difference / scale):.1f}"
    unit = "% of the game" if v["rules"]["target"] else "points"
    estimates = Estimates(judged.opponent_deadwood, "" if gap == "0.0" else f"{gap} {unit}")
    return reason(v, parse_action(best.action), parse_action(compared.action), estimates)


def _moments(hand: Hand) -> list[Hand]:
    """The positions before each action of a hand."""
    now, moments = hand.after(0), []
    for action in hand.history:
        moments.append(now.copy())
        now.push(action)
    return moments


def _draws(hand: Hand, moments: list[Hand]) -> list[Draw]:
    """The luck of every draw from the stock."""
    after = [*moments[1:], hand]
    drew = [
        k
        for k, (one, other) in enumerate(zip(moments, after, strict=True))
        if other.state["position"][0] > one.state["position"][0]
    ]
    if not drew:
        return []
    states = np.concatenate([after[k].state for k in drew])
    drawn, mean = shipped_value().draws(states).swapaxes(0, 1)
    points = (drawn - mean)[:, 0]
    luck = (PointWorths(hand.rules.block)(states) * (drawn - mean)).sum(axis=1) if hand.rules.target else points
    return [
        Draw(
            move=k + 1,
            seat=int(state["turn"]),
            card=card_name(int(state["drawn"])),
            points=round(float(each), 2),
            luck=round(float(worth), 4),
        )
        for k, state, each, worth in zip(drew, states, points, luck, strict=True)
    ]


def _side(seat: int, decisions: list[Decision], draws: list[Draw], over: bool) -> Side:
    mine = [each for each in decisions if each.seat == seat and each.played is not None]
    marks = Counter(each.decision.mark for each in mistakes_of(mine))
    marks[UNCLEAR] = sum(each.mark == UNCLEAR for each in mine)
    return Side(
        decisions=len(mine),
        loss=round(sum(each.loss or 0.0 for each in mine), 4),
        marks={name: marks[name] for name in (*MARKS, UNCLEAR)},
        luck=round(sum(draw.luck for draw in draws if draw.seat == seat), 4) if over else None,
    )
