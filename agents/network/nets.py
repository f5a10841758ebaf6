"""Actor and critic, which share nothing: multilayer perceptrons with layers that treat the suits alike.

The actor reads an observation, whether the seat plays for gin only, and heuristic features. The critic also reads the opponent's
hand and condition and what the stock will bring (``agents.network.inputs``).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.network.inputs import NUM_HEURISTIC_FEATURES, bytes_of, scales, suit_columns
from agents.network.suits import BySuit, SuitHead, SuitTrunk
from ginenv.engine.actions import NUM_ACTIONS

# Scale of the critics' values: one point of a hand (results have a standard deviation of 25 to 30 points), or a whole game (one hand
# changes the chance of winning it by some 0.2).
POINT_REWARD = 1 / 50
GAME_REWARD = 2.5
# Far below any logit of a legal action, yet not so far that exp() meets denormal numbers, which are slow.
ILLEGAL = -60.0
# What a network reads: rows of numbers, or the same by suit.
Inputs = Tensor | BySuit


class _Reader(nn.Module):
    """What actor and critic have in common: their inputs and their trunk.

    Args:
        widths: of the hidden layers.
        heuristic_features: number of heuristic features that it reads; the students of ``agents.levels.app_export`` read none.
    """

    is_critic = False

    def __init__(self, widths: Sequence[int], heuristic_features: int = NUM_HEURISTIC_FEATURES) -> None:
        super().__init__()
        self.widths = tuple(widths)
        scale = torch.from_numpy(scales(heuristic_features, self.is_critic))
        self.trunk = SuitTrunk(*suit_columns(heuristic_features, self.is_critic), widths, scale)


class Actor(_Reader):
    """The policy, with a head that guesses the opponent's hand."""

    def __init__(self, widths: Sequence[int], heuristic_features: int = NUM_HEURISTIC_FEATURES) -> None:
        super().__init__(widths, heuristic_features)
        self.policy = SuitHead(self.widths[-1], 2, NUM_ACTIONS - 104, 0.01)
        self.belief = SuitHead(self.widths[-1], 1, 0, 0.01)

    def forward(self, inputs: Inputs, guesses: int | None = None) -> tuple[Tensor, Tensor]:
        """Logits of the policy ``[B, 107]`` and of the opponent's cards ``[G, 52]``.

        Args:
            inputs: ``[B, 521 + heuristic features]``, bytes as floats; or the same by suit.
            guesses: for how many of the first rows to guess cards (all by default).
        """
        x = self.trunk(inputs)
        first = BySuit(*(numbers[:guesses] for numbers in x))
        return self.policy(x), self.belief(first)

    def logits(self, inputs: Inputs) -> Tensor:
        """The policy's logits alone, ``[B, 107]``."""
        return self.policy(self.trunk(inputs))


class Critic(_Reader):
    """The value of a hand to the seat to move, given both hands, what the stock will bring and who plays."""

    is_critic = True

    def __init__(self, widths: Sequence[int], heuristic_features: int = NUM_HEURISTIC_FEATURES) -> None:
        super().__init__(widths, heuristic_features)
        self.value = SuitHead(self.widths[-1], 0, 1, 0.1)

    def forward(self, inputs: Inputs) -> Tensor:
        """Values ``[B]`` of ``[B, 610 + heuristic features]``, bytes as floats; or the same by suit."""
        return self.value(self.trunk(inputs)).squeeze(-1)


Either = TypeVar("Either", bound=_Reader)


def folded_copy(network: Either, dtype: torch.dtype) -> Either:
    """A copy that computes in ``dtype`` and has the inputs' scale in the weights of its first layer."""
    made = copy.deepcopy(network).to(dtype)
    made.trunk.folded = True
    copy_folded(network, made)
    return made


@torch.no_grad()
def copy_folded(network: Either, made: Either) -> None:
    """Copies a network's present weights to its ``folded_copy``."""
    for ours, theirs in zip(made.parameters(), network.parameters(), strict=True):
        ours.copy_(theirs)
    for (ours, _), (theirs, scale) in zip(made.trunk.scaled(), network.trunk.scaled(), strict=True):
        ours.copy_(theirs * scale)


def has_bfloat16_units() -> bool:
    """Whether the processor multiplies bfloat16 matrices in hardware (AMX or AVX512-BF16)."""
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in names)


class _Frozen:
    """A copy of a network for calls without gradients: the inputs' scale folded in, cast once.

    Args:
        network: the network to copy.
        bfloat16: whether to multiply in bfloat16.
    """

    def __init__(self, network: Actor | Critic, bfloat16: bool) -> None:
        self.dtype = torch.bfloat16 if bfloat16 else torch.float32
        self.network = folded_copy(network, self.dtype).requires_grad_(False)

    @torch.no_grad()
    def outputs(self, inputs: Inputs, head: str) -> Tensor:
        """A head's outputs as float32."""
        cast = inputs.to(self.dtype) if isinstance(inputs, Tensor) else BySuit(*(x.to(self.dtype) for x in inputs))
        return getattr(self.network, head)(self.network.trunk(cast)).float()


class FrozenActor(_Frozen):
    """A copy of an actor for play."""

    def __call__(self, inputs: Inputs, head: str = "policy") -> Tensor:
        """Logits of one head as float32: ``policy [B, 107]`` or ``belief [B, 52]``."""
        return self.outputs(inputs, head)

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """The policy's logits ``float32[n, 107]`` of ``INPUTS[n]``."""
        return self(torch.from_numpy(bytes_of(inputs))).numpy()


class FrozenCritic(_Frozen):
    """A copy of a critic for valuing positions."""

    def __call__(self, inputs: Inputs) -> Tensor:
        """Values ``float32[B]`` of ``[B, 610 + heuristic features]``."""
        return self.outputs(inputs, "value").squeeze(1)
