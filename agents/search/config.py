"""Settings of the search."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agents.config import Config


class SearchConfig(Config):
    """Settings of the search.

    Attributes:
        worlds: number of worlds in which each decision's candidates are valued.
        particles: number of opponent hands drawn and weighted for each decision; worlds are drawn from them. There are at least as many
            particles as worlds.
        network: checkpoint whose policy, belief and critic are used (default: the one that ships).
        policy_weight: value (chance to win the game) of one nat of an action's log-probability under the policy.
        slack: a discard counts as equal to the best one if its value is lower by no more than this many standard errors of the difference.
            One of the equal discards is chosen at random (0: the best is played). Draws and knocks are never random. Above 0, the search
            also considers discards and knocks that the policy hardly ever plays.
    """

    worlds: int = Field(128, ge=1, le=65536)
    particles: int = Field(1024, ge=1, le=1 << 20)
    network: str = ""
    policy_weight: float = Field(0.002, ge=0, le=1)
    slack: float = Field(0.0, ge=0, le=10)

    @property
    def checkpoint(self) -> str:
        """The directory of the network."""
        from agents.network.player import network_directory

        return self.network or network_directory("network")

    @property
    def decisive(self) -> dict[str, Any]:
        """What a choice depends on, as JSON values.

        These are all settings, with the hash of the network's weights in place of its name: the one that ships may change.

        Raises:
            CheckpointError: if the network cannot be used.
        """
        from agents.network.checkpoint import read_metadata

        weights = read_metadata(self.checkpoint)["weights_sha256"]
        return self.model_dump(mode="json") | {"network": weights}
