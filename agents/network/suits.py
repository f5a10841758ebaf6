"""Layers that treat the four suits alike: relabelling the suits of a position relabels the outputs, exactly.

Every layer has equally many numbers for each suit, and some that belong to no suit. One matrix, which all suits share, reads a suit's own
numbers. Another reads the sum over the suits, with what belongs to no suit; its outputs are added to every suit's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.network.inputs import NUM_RANKS, NUM_SUITS


def sum_suits(suits: Tensor) -> Tensor:
    """Numbers of each suit ``[B, 4, S]``, summed over the suits; adding slices is several times as fast as torch's sum in bfloat16."""
    one, two, three, four = suits.unbind(1)
    return one + two + three + four


class BySuit(NamedTuple):
    """Numbers ``[B, 4, S]`` of each suit, and ``[B, S + K]``: their sums over the suits, and numbers that belong to no suit."""

    suits: Tensor
    pooled: Tensor


def by_suit(suits: Tensor, shared: Tensor) -> BySuit:
    """Numbers of each suit ``[B, 4, S]`` and of none ``[B, K]``, with the sums that layers read."""
    return BySuit(suits, torch.cat([sum_suits(suits), shared], 1))


class SuitLayer(nn.Module):
    """A linear layer that treats suits alike, that reads numbers of each suit and of none, and gives such numbers.

    Args:
        inputs: how many numbers each suit has, and how many are shared.
        outputs: the same for the outputs.
        gain: of the orthogonal weights at the start.
    """

    def __init__(self, inputs: tuple[int, int], outputs: tuple[int, int], gain: float) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        self.own = nn.Linear(inputs[0], outputs[0], bias=False) if outputs[0] else None
        self.pooled = nn.Linear(sum(inputs), sum(outputs))
        nn.init.orthogonal_(self.pooled.weight, gain)
        nn.init.zeros_(self.pooled.bias)
        with torch.no_grad():
            # A sum over four suits varies more than its parts, and two products are added for every suit.
            self.pooled.weight[:, : inputs[0]] *= 0.5
            if self.own is not None:
                nn.init.orthogonal_(self.own.weight, gain)
                self.pooled.weight[: outputs[0]] *= 0.5**0.5

    def forward(self, x: BySuit, scale: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Numbers of each suit ``[B, 4, outputs[0]]`` and of none ``[B, outputs[1]]``; ``scale`` (``[S + K]``) multiplies the inputs."""
        weight = self.pooled.weight if scale is None else self.pooled.weight * scale
        common, shared = functional.linear(x.pooled, weight, self.pooled.bias).split(list(self.outputs), 1)
        suits = torch.stack([common] * NUM_SUITS, 1)
        if self.own is not None:
            weight = self.own.weight if scale is None else self.own.weight * scale[: self.inputs[0]]
            suits = functional.linear(x.suits, weight) + suits
        return suits, shared


class SuitHead(nn.Module):
    """A layer whose outputs are rows of numbers: one for every card of a deck, deck after deck, and then single ones.

    Args:
        width: of the trunk's last layer.
        decks: how many numbers every card has.
        single: how many numbers belong to no card.
        gain: of the weights at the start.
    """

    def __init__(self, width: int, decks: int, single: int, gain: float) -> None:
        super().__init__()
        self.decks = decks
        self.layer = SuitLayer((width, width), (NUM_RANKS * decks, single), gain)

    def forward(self, x: BySuit) -> Tensor:
        """``[B, 52 * decks + single]``."""
        suits, shared = self.layer(x)
        cards = (
            suits.unflatten(2, (self.decks, NUM_RANKS)).transpose(1, 2).flatten(1) if self.decks else suits.flatten(1)
        )
        return torch.cat([cards, shared], 1)


class SuitTrunk(nn.Module):
    """Layers with ReLU that treat suits alike; a layer of width ``n`` has ``n`` numbers of each suit and ``n`` shared ones.

    Args:
        suits: ``int64[4, S]``, the columns of each suit's inputs.
        shared: ``int64[K]``, those of inputs that belong to no suit.
        widths: of the layers.
        scale: ``[inputs]``, of the inputs; it is folded into the first layer.
    """

    def __init__(self, suits: np.ndarray, shared: np.ndarray, widths: Sequence[int], scale: Tensor) -> None:
        super().__init__()
        sizes = [(suits.shape[1], len(shared)), *((width, width) for width in widths)]
        self.layers = nn.ModuleList(SuitLayer(a, b, 2**0.5) for a, b in itertools.pairwise(sizes))
        self.register_buffer("suits", torch.from_numpy(suits), persistent=False)
        self.register_buffer("shared", torch.from_numpy(shared), persistent=False)
        self.register_buffer("scale", scale, persistent=False)
        self.suits: Tensor
        self.shared: Tensor
        self.scale: Tensor
        self.folded = False

    def suit_layers(self) -> list[SuitLayer]:
        """The layers, typed."""
        return [layer for layer in self.layers if isinstance(layer, SuitLayer)]

    def scales(self) -> Tensor:
        """The scale of the inputs ``[S + K]``: of a suit's numbers and of those that belong to none."""
        return torch.cat([self.scale[self.suits[0]], self.scale[self.shared]])

    def scaled(self) -> list[tuple[Tensor, Tensor]]:
        """The weights that multiply inputs, each with the inputs' scale."""
        first, scale = self.suit_layers()[0], self.scales()
        assert first.own is not None
        return [(first.own.weight, scale[: first.inputs[0]]), (first.pooled.weight, scale)]

    def forward(self, inputs: Tensor | BySuit) -> BySuit:
        """The last layer's outputs, of rows of inputs or of inputs that are by suit already."""
        x = inputs
        if isinstance(x, Tensor):
            x = by_suit(x[:, self.suits.flatten()].unflatten(1, self.suits.shape), x[:, self.shared])
        scale = None if self.folded else self.scales()
        for layer in self.suit_layers():
            suits, shared = layer(x, scale)
            x, scale = by_suit(suits.relu(), shared.relu()), None
        return x
