"""Settings of the search."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from agents.config import Config

# Worlds of a decision whose time is limited, where no number is given.
MOST_TIMED = 8192


class SearchConfig(Config):
    """Everything that decides what the search plays.

    Attributes:
        worlds: worlds in which the candidates of each decision are judged; with a time limit the most there can be (left out:
            ``MOST_TIMED``).
        milliseconds: time limit of each decision, which is then taken by the worlds judged so far (0: no limit). Decisions then depend
            on the machine. What comes before the first worlds, and these, no limit cuts short.
        particles: hands of the opponent that are drawn and weighed for each decision; the worlds take theirs from them. Without a time
            limit at least as many as worlds.
        network: checkpoint whose policy, belief and critic are used; left empty, the one that ships.
        policy_weight: value (chance to win the game) of one nat of an action's log-probability under the policy.
        temperature: of the choice among discards by their value: a discard whose value (chance to win the game) falls short of the best
            one's by this much is played e times less often (0: the best is played). Draws and knocks are never left to chance.
        threads: views of a batch are shared out among this many threads.
    """

    worlds: int = Field(128, ge=1, le=65536)
    milliseconds: float = Field(0.0, ge=0, le=3_600_000)
    particles: int = Field(1024, ge=1, le=1 << 20)
    network: str = ""
    policy_weight: float = Field(0.006, ge=0, le=1)
    temperature: float = Field(0.0, ge=0, le=1)
    threads: int = Field(1, ge=1, le=256)

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_time_allows(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("milliseconds") and "worlds" not in values:
            return values | {"worlds": MOST_TIMED}
        return values
