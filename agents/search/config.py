"""Settings of the search, checked, and as the records that compiled code reads."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from agents.bots.heuristics import style
from agents.config import Config
from agents.search.kernels import BELIEFS, SETTINGS
from agents.search.playout import POLICY
from agents.search.worlds import MODEL

# Worlds of a decision whose time is limited, where no number is given.
MOST_TIMED = 8192
# What only one of the judges heeds.
_OF_CRITIC = ("half_moves", "lean", "least", "slack")
_OF_PLAYOUTS = (
    "gate", "trust", "slope", "logit_slope", "stop", "first_round", "knock_edge", "camps", "adapt", "own_knock", "own_turns",
    "own_late", "opponent_bar", "ways", "wanted", "cold",
)  # fmt: skip


class SearchConfig(Config):
    """Everything that decides what the search plays; ``configs/search.yaml`` holds the same numbers.

    Attributes:
        worlds: worlds for each decision; with a time limit the most there can be (left out: ``MOST_TIMED``).
        milliseconds: time for each decision, after which it is taken by the worlds seen so far (0: no limit). Decisions then depend on
            the machine. What comes before the first worlds, and these, no limit cuts short.
        particles: hands that are weighed before the worlds are drawn from them.
        belief: what hands are drawn from: ``bayes`` (weighed by the opponent's choices), the ``network``'s head, or ``uniform``.
        whole_hands: hands drawn from the network's head are weighed by how plausible they are as a whole.
        pricing: an outcome is worth the chance to win the ``game``, or ``points``.
        candidates: discards that are searched, best first by the prior.
        prior: what is played unless something is better: ``style`` (a formula), or the policy of a ``network``.
        network: checkpoint whose policy, belief and critic are used; left empty, the one that ships.
        judge: worlds are finished by compiled ``playouts``, or valued by the network's ``critic``.
        half_moves: of the critic: half-moves that both sides play by the network's policy before it judges.
        lean: of the critic: value (chance to win the game) that one nat of the policy stands for.
        least: of the critic: candidates that the policy plays more rarely than this are left out.
        slack: of the critic: value (chance to win the game) by which a choice falls short when it is taken e times less often than the
            best one (0: the best one is taken). Neither draws nor whether to knock are left to chance.
        gate: of the playouts: standard errors by which a candidate must beat the prior's choice.
        trust: of the playouts: spread of the true values of discards that the prior calls equal; gains are shrunk towards the prior
            by it (0: not).
        slope: of the playouts: value that a point of the prior's cost stands for in that.
        logit_slope: of the playouts: the same for a logit of a network's policy.
        stop: of the playouts: standard errors behind the best at which a candidate is dropped.
        first_round: of the playouts: share of the worlds that every candidate sees, then their number doubles; not with a time limit,
            which begins with ``budget.LEAST``.
        knock_edge: of the playouts: value added to knocking, for what playouts leave out.
        ahead: of the prior: weight of the deadwood expected one draw later.
        gin: of the prior: points that a draw to gin counts for in it.
        danger: of the prior: points for a discard that the opponent surely wants.
        early_knock: of the prior: most deadwood to knock with in the first ``early_turns`` turns; then it plays for gin.
        early_turns: of the prior.
        own_knock: of the playouts, the own seat: most deadwood to knock with in its first ``own_turns`` turns.
        own_turns: of the playouts, the own seat.
        own_late: of the playouts, the own seat: most deadwood to knock with after them.
        opponent_bar: of the playouts: points by which an upcard must lower the opponent's deadwood to be taken (99: melds only).
        ways: of the playouts: points for each live card that would make a meld with a card and one other.
        wanted: of the playouts: points for a card next to one that the other side took.
        cold: of the playouts: points off for a card next to one that the other side threw or refused.
        camps: of the playouts: probability that the opponent never knocks below gin, before anything was seen of it.
        adapt: of the playouts: whether hands that ended change ``camps`` within a game.
        refuse: of the opponent's model: probability to refuse an upcard that makes a meld.
        take: of the opponent's model: probability to take one that does not.
        pair: of the opponent's model: points for which a card with a partner is kept.
        heat: of the opponent's model: points of discard cost that make a choice e times less likely.
        floor: of the opponent's model: part of the discards that follows no model.
        melded: of the opponent's model: probability to break a meld.
        declines: of the opponent's model: probability not to knock when it could, besides camping.
        threads: views are shared out among this many threads.
    """

    worlds: int = Field(128, ge=1, le=65536)
    milliseconds: float = Field(0.0, ge=0, le=3_600_000)
    particles: int = Field(1024, ge=1, le=1 << 20)
    belief: Literal["uniform", "bayes", "network"] = "network"
    whole_hands: bool = True
    pricing: Literal["game", "points"] = "game"
    candidates: int = Field(8, ge=1, le=11)
    prior: Literal["style", "network"] = "network"
    network: str = ""
    judge: Literal["playouts", "critic"] = "critic"
    half_moves: int = Field(0, ge=0, le=64)
    lean: float = Field(0.006, ge=0, le=1)
    least: float = Field(0.002, ge=0, lt=1)
    slack: float = Field(0.0, ge=0, le=1)
    gate: float = Field(0.5, ge=0)
    trust: float = Field(0.012, ge=0, le=1)
    slope: float = Field(0.002, ge=0, le=1)
    logit_slope: float = Field(0.01, ge=0, le=1)
    stop: float = Field(2.0, gt=0)
    first_round: float = Field(0.25, gt=0, le=1)
    knock_edge: float = Field(0.0, ge=-1, le=1)
    ahead: float = Field(3.0, ge=0)
    gin: float = Field(0.0, ge=0)
    danger: float = Field(4.0, ge=0)
    early_knock: int = Field(10, ge=0, le=10)
    early_turns: int = Field(4, ge=0, le=99)
    own_knock: int = Field(0, ge=0, le=10)
    own_turns: int = Field(99, ge=0, le=99)
    own_late: int = Field(0, ge=0, le=10)
    opponent_bar: float = Field(99.0, ge=0)
    ways: float = Field(0.8, ge=0)
    wanted: float = Field(2.0, ge=0)
    cold: float = Field(1.0, ge=0)
    camps: float = Field(0.2, ge=0, le=1)
    adapt: bool = True
    refuse: float = Field(0.1, gt=0, lt=1)
    take: float = Field(0.05, gt=0, lt=1)
    pair: float = Field(4.0, ge=0)
    heat: float = Field(2.5, gt=0)
    floor: float = Field(0.15, ge=0, le=1)
    melded: float = Field(0.03, gt=0, le=1)
    declines: float = Field(0.3, gt=0, le=1)
    threads: int = Field(1, ge=1, le=256)

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_time_allows(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("milliseconds") and "worlds" not in values:
            return values | {"worlds": MOST_TIMED}
        return values

    @property
    def uses_network(self) -> bool:
        """Whether a checkpoint is needed."""
        return self.belief == "network" or self.prior == "network" or self.judge == "critic"

    @model_validator(mode="after")
    def _fitting(self) -> SearchConfig:
        if self.judge == "critic" and (self.prior != "network" or self.pricing != "game"):
            raise ValueError("judge=critic needs prior=network and pricing=game, as its network was trained")
        fields = type(self).model_fields
        idle = _OF_CRITIC if self.judge == "playouts" else _OF_PLAYOUTS
        for name in idle:
            if getattr(self, name) != fields[name].default:
                raise ValueError(f"{name} does nothing with judge={self.judge}; it belongs to the other one")
        if self.milliseconds and self.first_round != fields["first_round"].default:
            raise ValueError("first_round does nothing with milliseconds, which begin with few worlds")
        return self

    def settings(self) -> np.ndarray:
        """``SETTINGS[1]``."""
        record = np.zeros(1, SETTINGS)
        for name in ("candidates", "stop", "gate", "trust", "knock_edge"):
            record[name] = getattr(self, name)
        for name in ("ahead", "gin", "danger"):
            record[name] = getattr(self, name)
        record["belief"] = BELIEFS.index(self.belief)
        record["game_pricing"] = self.pricing == "game"
        record["slope"] = self.logit_slope if self.prior == "network" else self.slope
        record["policy"] = self.prior == "network"
        record["least"] = self.least if self.judge == "critic" else 0.0
        return record

    def model(self) -> np.ndarray:
        """``MODEL[1]``: how the opponent is believed to choose."""
        record = np.zeros(1, MODEL)
        for name in MODEL.names or ():
            record[name] = getattr(self, name)
        return record

    def policies(self) -> np.ndarray:
        """``POLICY[3]``: the own seat's, an opponent that knocks at its first chance, one that camps on gin."""
        records = np.zeros(3, POLICY)
        for name in ("ways", "wanted", "cold"):
            records[name] = getattr(self, name)
        records["bar"] = [99.0, self.opponent_bar, 99.0]
        records["knock"] = [self.own_knock, 10, 0]
        records["turns"] = [self.own_turns, 99, 99]
        records["late"] = [self.own_late, 10, 0]
        return records

    def style(self) -> np.ndarray:
        """The prior as ``STYLE[1]``."""
        return style(
            "knocker",
            knock=self.early_knock,
            turns=self.early_turns,
            ahead=self.ahead,
            gin=self.gin,
            danger=self.danger,
        )
