"""Forward and backward passes through layers that treat the suits alike, on the CPU (``dense_stack`` has those of plain layers).

The suits' numbers have the shape ``[4, B, S]``, suits first, so that one product serves all four.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.network.nets import NUM_CONDITIONS, NUM_FUTURE
from agents.network.suits import NUM_RANKS, NUM_SUITS, SuitHead, SuitLayer, SuitTrunk
from agents.training.rollout import Batch
from ginenv.engine.jit import kernel
from ginenv.view.encoding import PLANES

# Rows are padded to a multiple of this, since matrix products of odd widths take slower paths.
_ALIGNED = 8

# Float32 sums of the gradients of one thread's chunks by layer: of the suits' weights, of the pool's two parts, and of the biases.
_Sums = dict[object, list[Tensor]]


@kernel
def fill_suits(batch, rows, committed, suits, shared):
    """Writes inputs by suit of ``int64[B]`` rows of a flat batch: ``float32[4, B, S]`` and ``float32[B, K]``.

    Of a suit: planes, heuristic features, the opponent's hand. Of none: facts, heuristic feature, condition, context, and what only the
    critic sees: the other seat's condition and the stock. With ``committed``, as if the movers were committed to gin.
    """
    decks = batch.features.shape[1] // 52
    for i in range(rows.shape[0]):
        row = rows[i]
        step = batch.steps[row]
        seen = batch.obs[row]
        for suit in range(4):
            out = suits[suit, i]
            for plane in range(9):
                for rank in range(13):
                    out[plane * 13 + rank] = seen[plane * 52 + suit * 13 + rank]
            at = 9 * 13
            for deck in range(decks):
                for rank in range(13):
                    out[at + rank] = batch.features[row, deck * 52 + suit * 13 + rank]
                at += 13
            cards = step.hidden >> (suit * 13)
            for rank in range(13):
                out[at + rank] = (cards >> rank) & 1
        out = shared[i]
        for k in range(52):
            out[k] = seen[468 + k]
        at = 52
        if decks:
            out[at] = batch.features[row, 104]
            at += 1
        out[at] = 1 if committed else step.conditions[0]
        at += 1
        for k in range(batch.context.shape[1]):
            out[at + k] = batch.context[row, k]
        at += batch.context.shape[1]
        out[at] = step.conditions[1]
        for k in range(NUM_FUTURE):
            out[at + 1 + k] = step.future[k]


@kernel
def _join(suits, shared, decks, out):
    """Writes a head's outputs ``float32[B, 52 * decks + single]`` from those of the suits ``[4, B, 13 * decks]`` and of none."""
    cards = 13 * decks
    for i in range(out.shape[0]):
        for suit in range(4):
            for deck in range(decks):
                at = deck * 52 + suit * 13
                for k in range(13):
                    out[i, at + k] = suits[suit, i, deck * 13 + k] + shared[i, deck * 13 + k]
        for k in range(cards, shared.shape[1]):
            out[i, 4 * cards - cards + k] = shared[i, k]


@kernel
def _part(gradient, decks, suits, shared):
    """The reverse of ``_join``, for gradients: writes those of the suits' products and of the others."""
    cards = 13 * decks
    for i in range(gradient.shape[0]):
        for k in range(cards):
            shared[i, k] = 0
        for suit in range(4):
            for deck in range(decks):
                at = deck * 52 + suit * 13
                for k in range(13):
                    value = gradient[i, at + k]
                    suits[suit, i, deck * 13 + k] = value
                    shared[i, deck * 13 + k] += value
        for k in range(cards, shared.shape[1]):
            shared[i, k] = gradient[i, 4 * cards - cards + k]


class _Values(NamedTuple):
    """Inputs of a layer: those of the suits ``[4, B, S]``, their sum ``[B, S]``, and those of no suit ``[B, K]``."""

    suits: Tensor
    total: Tensor
    shared: Tensor


def _total(suits: Tensor) -> Tensor:
    # Three additions of slices are quicker than a sum over the first dimension.
    return suits[0] + suits[1] + suits[2] + suits[3]


class _Layer:
    """One layer's weights, cast, and its products.

    Args:
        parts: layers of the network with the same inputs that are computed as one.
        kind: of the products.
        scales: of the inputs, ``[S]`` and ``[K]``, to be folded into the weights, which are then padded with zeros.
    """

    def __init__(self, parts: list[SuitLayer], kind: torch.dtype, scales: tuple[Tensor, Tensor] | None = None) -> None:
        self.parts, self.kind, self.scales = parts, kind, scales
        self.read = parts[0].inputs
        self.out = sum(part.outputs[0] for part in parts)
        self.single = sum(part.outputs[1] for part in parts)

    def refresh(self) -> None:
        """Copies the network's weights."""
        own = [part.own.weight for part in self.parts if part.own is not None]
        pooled = self._order([part.pooled.weight for part in self.parts])
        total, rest = pooled.split(list(self.read), 1)
        mine = torch.cat(own) if own else torch.zeros((0, self.read[0]))
        if self.scales is not None:
            mine, total, rest = mine * self.scales[0], total * self.scales[0], rest * self.scales[1]
            mine, total, rest = (
                functional.pad(weight, (0, -weight.shape[1] % _ALIGNED)) for weight in (mine, total, rest)
            )
        self.own, self.total, self.rest = (weight.to(self.kind).contiguous() for weight in (mine, total, rest))
        self.bias = self._order([part.pooled.bias for part in self.parts]).to(self.kind)

    def _order(self, rows: list[Tensor]) -> Tensor:
        """Rows of the parts' pooled weights: those added to the suits' products first, then the others."""
        split = [row.tensor_split([part.outputs[0]]) for row, part in zip(rows, self.parts, strict=True)]
        return torch.cat([first for first, _ in split] + [second for _, second in split])

    def multiply(self, x: _Values) -> tuple[Tensor, Tensor]:
        """Products of the suits ``[4, B, out]`` and of the pool ``[B, out + single]``, whose first columns are for all suits."""
        pooled = torch.addmm(self.bias, x.total[:, : self.total.shape[1]], self.total.t())
        pooled.addmm_(x.shared[:, : self.rest.shape[1]], self.rest.t())
        suits = x.suits.view(-1, x.suits.shape[2])[:, : self.own.shape[1]] @ self.own.t()
        return suits.view(NUM_SUITS, len(pooled), self.out), pooled

    def add_gradients(self, sums: _Sums, key: object, x: _Values, of_suits: Tensor, of_pool: Tensor) -> None:
        """Adds the gradients of the weights to the sums under ``key``, given those of both products for the first rows."""
        count = len(of_pool)
        suits = x.suits if count == x.suits.shape[1] else x.suits[:, :count].contiguous()
        new = (
            of_suits.view(NUM_SUITS * count, self.out).t() @ suits.view(-1, suits.shape[2])[:, : self.own.shape[1]],
            of_pool.t() @ x.total[:count, : self.total.shape[1]],
            of_pool.t() @ x.shared[:count, : self.rest.shape[1]],
            of_pool.sum(0),
        )
        if key in sums:
            for old, part in zip(sums[key], new, strict=True):
                old += part
        else:
            sums[key] = [part.float() for part in new]

    def go_back(self, of_suits: Tensor, of_pool: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of the inputs: of the suits ``[4, B, S]`` and of what belongs to none ``[B, K]``."""
        count = len(of_pool)
        back = (of_suits.view(NUM_SUITS * count, self.out) @ self.own).view(NUM_SUITS, count, self.own.shape[1])
        back += of_pool @ self.total
        return back, of_pool @ self.rest

    def set_gradients(self, sums: list[list[Tensor]]) -> None:
        """Sets the gradients of the network's parameters to the total of the threads' sums."""
        own, total, rest, bias = (torch.stack(parts).sum(0) for parts in zip(*sums, strict=True))
        own, total, rest = own[:, : self.read[0]], total[:, : self.read[0]], rest[:, : self.read[1]]
        if self.scales is not None:
            own, total, rest = own * self.scales[0], total * self.scales[0], rest * self.scales[1]
        pooled = torch.cat([total, rest], 1)
        suits_at, single_at = 0, self.out
        for part in self.parts:
            suits, single = part.outputs
            if part.own is not None:
                part.own.weight.grad = own[suits_at : suits_at + suits].clone()
            for parameter, gradient in ((part.pooled.weight, pooled), (part.pooled.bias, bias)):
                ours = gradient[suits_at : suits_at + suits], gradient[single_at : single_at + single]
                parameter.grad = torch.cat(ours)
            suits_at, single_at = suits_at + suits, single_at + single


class SuitStack:
    """A trunk that treats suits alike, and groups of heads on it; each group is computed as one layer in dtype ``kind``.

    In a group, only the last head has numbers that belong to no card.
    """

    def __init__(self, trunk: SuitTrunk, heads: list[list[SuitHead]], kind: torch.dtype) -> None:
        self.kind = kind
        first, *others = trunk.suit_layers()
        self.layers = [_Layer([first], kind, trunk.scales()), *(_Layer([layer], kind) for layer in others)]
        self.heads = [_Layer([head.layer for head in group], kind) for group in heads]

    @torch.no_grad()
    def refresh(self) -> None:
        """Copies the network's weights."""
        for layer in self.layers + self.heads:
            layer.refresh()

    def run_trunk(self, inputs: _Values) -> list[_Values]:
        """The inputs and every layer's outputs."""
        kept = [inputs]
        for layer in self.layers:
            suits, pooled = layer.multiply(kept[-1])
            suits += pooled[:, : layer.out]
            suits.relu_()
            kept.append(_Values(suits, _total(suits), pooled[:, layer.out :].relu()))
        return kept

    def run_head(self, head: int, kept: list[_Values], count: int | None = None) -> Tensor:
        """The outputs of a group of heads, of the first ``count`` rows if given."""
        x, layer = kept[-1], self.heads[head]
        if count is not None:
            x = _Values(x.suits[:, :count].contiguous(), x.total[:count], x.shared[:count])
        suits, pooled = layer.multiply(x)
        found = torch.empty((len(pooled), NUM_SUITS * layer.out + layer.single))
        _join(suits.float().numpy(), pooled.float().numpy(), layer.out // NUM_RANKS, found.numpy())
        return found

    def go_back(self, kept: list[_Values], gradients: list[Tensor], sums: _Sums) -> None:
        """Backpropagates the heads' gradients into the sums: the first group's cover all rows, the others' only the first few."""
        back: tuple[Tensor, Tensor] | None = None
        for k, (layer, gradient) in enumerate(zip(self.heads, gradients, strict=True)):
            if not len(gradient):
                continue
            suits, pool = (
                torch.empty((NUM_SUITS, len(gradient), layer.out)),
                torch.empty((len(gradient), layer.out + layer.single)),
            )
            _part(gradient.numpy(), layer.out // NUM_RANKS, suits.numpy(), pool.numpy())
            suits, pool = suits.to(self.kind), pool.to(self.kind)
            layer.add_gradients(sums, ("head", k), kept[-1], suits, pool)
            of_suits, of_shared = layer.go_back(suits, pool)
            if back is None:
                back = of_suits, of_shared
            else:
                back[0][:, : len(gradient)] += of_suits
                back[1][: len(gradient)] += of_shared
        assert back is not None
        of_suits, of_shared = back
        for k in range(len(self.layers) - 1, -1, -1):
            layer, y = self.layers[k], kept[k + 1]
            of_suits = torch.ops.aten.threshold_backward(of_suits, y.suits, 0)
            of_shared = torch.ops.aten.threshold_backward(of_shared, y.shared, 0)
            pool = torch.cat([_total(of_suits), of_shared], 1)
            layer.add_gradients(sums, k, kept[k], of_suits, pool)
            if k:
                of_suits, of_shared = layer.go_back(of_suits, pool)

    @torch.no_grad()
    def set_gradients(self, threads: list[_Sums]) -> None:
        """Sets the gradients of the network's parameters to the total of the threads' sums."""
        for k, layer in enumerate(self.layers):
            layer.set_gradients([sums[k] for sums in threads if k in sums])
        for k, layer in enumerate(self.heads):
            layer.set_gradients([sums["head", k] for sums in threads if ("head", k) in sums])


class SuitInputs:
    """The inputs of both networks for rows of a flat batch, up to ``rows`` of them for each thread, in dtype ``kind``."""

    def __init__(self, batch: Batch, rows: int, threads: int, kind: torch.dtype) -> None:
        self.batch, self.kind = batch, kind
        suits = NUM_RANKS * (len(PLANES) + batch.features.shape[1] // 52 + 1)
        shared = (
            52 + NUM_CONDITIONS + batch.context.shape[1] + (batch.features.shape[1] > 0) + NUM_CONDITIONS + NUM_FUTURE
        )
        self.widths = [-(-width // _ALIGNED) * _ALIGNED for width in (suits, shared)]
        self.buffers = [
            [torch.zeros(NUM_SUITS * rows * self.widths[0]), torch.zeros(rows, self.widths[1])] for _ in range(threads)
        ]

    def read(self, thread: int, rows: np.ndarray, committed: bool = False) -> _Values:
        """Inputs for ``int64[B]`` rows; with ``committed``, as if the movers were committed to gin."""
        count, width = len(rows), self.widths[0]
        suits = self.buffers[thread][0][: NUM_SUITS * count * width].view(NUM_SUITS, count, width)
        shared = self.buffers[thread][1][:count]
        fill_suits(self.batch, rows, committed, suits.numpy(), shared.numpy())
        suits = suits.to(self.kind)
        return _Values(suits, _total(suits), shared.to(self.kind))
