"""Forward and backward passes through plain layers on the CPU (``suit_stack`` has those of layers that treat suits alike)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from agents.network.nets import Trunk
from agents.training.batch_inputs import BatchInputs, Stretches, fill_inputs, read_columns, spread_columns

# Float32 sums of the gradients of one thread's chunks: those of weights and biases, by layer.
_Sums = dict[int, tuple[Tensor, Tensor]]


class DenseStack:
    """A trunk, which reads some columns of the inputs, and groups of heads on it; each group is one product in dtype ``kind``."""

    def __init__(
        self, trunk: Trunk, heads: list[list[nn.Linear]], columns: Stretches, width: int, kind: torch.dtype
    ) -> None:
        self.trunk, self.columns, self.width, self.kind = trunk, columns, width, kind
        self.depth = len(trunk.layers)
        self.groups: list[list[nn.Linear]] = [[layer] for layer in trunk.linear_layers()] + heads
        self.weights: list[Tensor] = []
        self.biases: list[Tensor] = []

    @torch.no_grad()
    def refresh(self) -> None:
        """Copies the network's weights: cast, the inputs' scale folded in, zeros where the trunk does not read."""
        weights = [torch.cat([layer.weight for layer in group]) for group in self.groups]
        weights[0] = spread_columns(weights[0] * self.trunk.scale, self.columns, self.width)
        self.weights = [weight.to(self.kind) for weight in weights]
        self.biases = [torch.cat([layer.bias for layer in group]).to(self.kind) for group in self.groups]

    def run_trunk(self, inputs: Tensor) -> list[Tensor]:
        """The inputs and every layer's outputs."""
        kept = [inputs]
        for weight, bias in zip(self.weights[: self.depth], self.biases, strict=False):
            kept.append(torch.addmm(bias, kept[-1], weight.t()).relu_())
        return kept

    def run_head(self, head: int, kept: list[Tensor], count: int | None = None) -> Tensor:
        """The outputs of a group of heads, of the first ``count`` rows if given."""
        at = self.depth + head
        return torch.addmm(self.biases[at], kept[-1][:count], self.weights[at].t()).float()

    def go_back(self, kept: list[Tensor], gradients: list[Tensor], sums: _Sums) -> None:
        """Backpropagates the heads' gradients into the sums: the first group's cover all rows, the others' only the first few."""
        back = None
        for layer, gradient in enumerate(gradients, self.depth):
            if not len(gradient):
                continue
            gradient = gradient.to(self.kind)
            _add(sums, layer, gradient, kept[-1][: len(gradient)])
            part = gradient @ self.weights[layer]
            if back is None:
                back = part
            else:
                back[: len(part)] += part
        assert back is not None
        for layer in range(self.depth - 1, -1, -1):
            back = torch.ops.aten.threshold_backward(back, kept[layer + 1], 0)
            _add(sums, layer, back, kept[layer])
            if layer:
                back = back @ self.weights[layer]

    @torch.no_grad()
    def set_gradients(self, threads: list[_Sums]) -> None:
        """Sets the gradients of the network's parameters to the total of the threads' sums."""
        for layer, group in enumerate(self.groups):
            weight, bias = torch.zeros(self.weights[layer].shape), torch.zeros(self.biases[layer].shape)
            for sums in threads:
                # With few rows, some threads may have none.
                if layer in sums:
                    weight += sums[layer][0]
                    bias += sums[layer][1]
            if layer == 0:
                weight = read_columns(weight, self.columns) * self.trunk.scale
            sizes = [len(module.bias) for module in group]
            for module, one, other in zip(group, weight.split(sizes), bias.split(sizes), strict=True):
                module.weight.grad, module.bias.grad = one, other


def _add(sums: _Sums, layer: int, gradient: Tensor, inputs: Tensor) -> None:
    new = gradient.t() @ inputs, gradient.sum(0)
    if layer in sums:
        for old, part in zip(sums[layer], new, strict=True):
            old.add_(part)
    else:
        sums[layer] = new[0].float(), new[1].float()


class DenseInputs:
    """The inputs of both networks for rows of a batch, up to ``rows`` of them for each thread, in dtype ``kind``."""

    def __init__(self, inputs: BatchInputs, rows: int, threads: int, kind: torch.dtype) -> None:
        self.batch, self.kind = inputs.batch, kind
        self.buffers = [torch.zeros((rows, inputs.width)) for _ in range(threads)]

    def read(self, thread: int, rows: np.ndarray, committed: bool = False) -> Tensor:
        """Inputs for ``int64[B]`` rows; with ``committed``, as if the movers were committed to gin."""
        inputs = self.buffers[thread][: len(rows)]
        fill_inputs(self.batch, rows, committed, inputs.numpy())
        return inputs.to(self.kind)
