"""Actor and critic: plain multilayer perceptrons that share nothing.

The actor reads an observation (``ginenv.encoding``, 520 bytes), a condition (1 when the seat plays for gin only) and optionally a
context and heuristic features (``agents.network.inputs``). The critic also reads the opponent's hand and condition and what the stock
will bring.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ginenv.actions import NUM_ACTIONS
from ginenv.encoding import FLAT_SCALE, OBSERVATION_SIZE

NUM_CONDITIONS = 1
FEATURES_SCALE = 1 / 64
# The critic reads what the next cards of the stock will do to both hands (``inputs.look_ahead``), in bytes of deadwood: luck that it
# foresees is not noise in the advantages.
NUM_FUTURE = 12
FUTURE_SCALE = 1 / 32
# Units of the critics' values: one point of a hand (results have a standard deviation of 25 to 30 points), or a whole game, whose chance
# to be won a hand changes by some 0.2.
POINT_REWARD = 1 / 50
GAME_REWARD = 2.5
# Far below any logit of a legal action, yet not so far that exp() meets denormal numbers, which are slow.
ILLEGAL = -60.0


class Trunk(nn.Module):
    """Linear layers with ReLU; the scale of the observation's bytes is folded into the first one."""

    def __init__(self, inputs: int, widths: Sequence[int], features: int = 0, future: int | None = None) -> None:
        super().__init__()
        sizes = [inputs, *widths]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        for layer in self.linear_layers():
            nn.init.orthogonal_(layer.weight, 2**0.5)
            nn.init.zeros_(layer.bias)
        scale = torch.ones(inputs)
        scale[:OBSERVATION_SIZE] = torch.from_numpy(FLAT_SCALE)
        scale[inputs - features :] = FEATURES_SCALE
        if future is not None:
            scale[future : future + NUM_FUTURE] = FUTURE_SCALE
        self.register_buffer("scale", scale, persistent=False)
        self.scale: Tensor

    def linear_layers(self) -> list[nn.Linear]:
        """The layers, typed."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, inputs: Tensor) -> Tensor:
        """The last layer's outputs ``[B, widths[-1]]``."""
        first, *others = self.linear_layers()
        x = functional.linear(inputs, first.weight * self.scale, first.bias).relu_()
        for layer in others:
            x = layer(x).relu_()
        return x


class Actor(nn.Module):
    """The policy, with heads that guess the opponent's hand and its next action.

    Args:
        widths: of the hidden layers.
        context: size of the context.
        heuristic_features: number of heuristic features, the last inputs.
    """

    def __init__(self, widths: Sequence[int], context: int = 0, heuristic_features: int = 0) -> None:
        super().__init__()
        self.context, self.heuristic_features = context, heuristic_features
        inputs = OBSERVATION_SIZE + NUM_CONDITIONS + context + heuristic_features
        self.trunk = Trunk(inputs, widths, heuristic_features)
        self.policy = nn.Linear(widths[-1], NUM_ACTIONS)
        self.belief = nn.Linear(widths[-1], 52)
        self.next_action = nn.Linear(widths[-1], NUM_ACTIONS)
        for head in (self.policy, self.belief, self.next_action):
            nn.init.orthogonal_(head.weight, 0.01)
            nn.init.zeros_(head.bias)

    def forward(self, inputs: Tensor, guesses: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the policy ``[B, 107]``, of the opponent's cards ``[G, 52]`` and of its next action ``[G, 107]``.

        Args:
            inputs: ``[B, 521 + context + heuristic features]``, the observation's bytes first, as floats.
            guesses: number of first rows for which to guess cards and next action (all by default).
        """
        x = self.trunk(inputs)
        head = x[:guesses]
        return self.policy(x), self.belief(head), self.next_action(head)

    def logits(self, inputs: Tensor) -> Tensor:
        """The policy's logits alone, ``[B, 107]``."""
        return self.policy(self.trunk(inputs))


class Critic(nn.Module):
    """The value of a hand to the seat to move, given both hands and what the stock will bring.

    Args:
        widths: of the hidden layers.
        context: size of the context.
        heuristic_features: number of heuristic features, the last inputs.
    """

    def __init__(self, widths: Sequence[int], context: int = 0, heuristic_features: int = 0) -> None:
        super().__init__()
        self.context, self.heuristic_features = context, heuristic_features
        known = OBSERVATION_SIZE + 2 * NUM_CONDITIONS + 52
        self.trunk = Trunk(known + NUM_FUTURE + context + heuristic_features, widths, heuristic_features, known)
        self.value = nn.Linear(widths[-1], 1)
        nn.init.orthogonal_(self.value.weight, 0.1)
        nn.init.zeros_(self.value.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Values ``[B]`` of ``[B, 586 + context + heuristic features]``: observation, conditions, opponent's hand, stock, and those."""
        return self.value(self.trunk(inputs)).squeeze(-1)


Network = TypeVar("Network", Actor, Critic)


def load_wider(network: Network, other: Network) -> None:
    """Loads the weights of a network of the same widths with fewer inputs; the new inputs get weights of 0."""
    weights = other.state_dict()
    first = weights["trunk.layers.0.weight"]
    # Context and heuristic features come last, in this order.
    known = first.shape[1] - other.context - other.heuristic_features
    columns = torch.zeros(first.shape[0], known + network.context + network.heuristic_features)
    columns[:, : known + other.context] = first[:, : known + other.context]
    at = known + network.context
    columns[:, at : at + other.heuristic_features] = first[:, known + other.context :]
    network.load_state_dict(weights | {"trunk.layers.0.weight": columns})


def has_bfloat16_units() -> bool:
    """Whether the processor multiplies bfloat16 matrices in hardware (AMX or AVX512-BF16)."""
    names = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in names)


class _Frozen:
    """A copy of a trunk and heads for calls without gradients: the inputs' scale folded in, cast once."""

    def __init__(self, network: Actor | Critic, heads: dict[str, nn.Linear], bfloat16: bool) -> None:
        self.dtype = torch.bfloat16 if bfloat16 else torch.float32
        self.context, self.heuristic_features = network.context, network.heuristic_features

        def cast(layer: nn.Linear, scale: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
            # A product is a copy, so later changes to the network do not show.
            return (layer.weight * scale).to(self.dtype), (layer.bias * 1.0).to(self.dtype)

        with torch.no_grad():
            first, *others = network.trunk.linear_layers()
            self.layers = [cast(first, network.trunk.scale), *map(cast, others)]
            self.heads = {name: cast(head) for name, head in heads.items()}

    @torch.no_grad()
    def outputs(self, inputs: Tensor, head: str) -> Tensor:
        """A head's outputs as float32."""
        x = inputs.to(self.dtype)
        for weight, bias in self.layers:
            x = functional.linear(x, weight, bias).relu_()
        return functional.linear(x, *self.heads[head]).float()


class FrozenActor(_Frozen):
    """A copy of an actor for play: weights folded and cast once, no gradients, one call per batch.

    Args:
        actor: the actor to copy.
        bfloat16: whether to multiply in bfloat16.
    """

    def __init__(self, actor: Actor, bfloat16: bool) -> None:
        super().__init__(actor, {"policy": actor.policy, "belief": actor.belief, "next": actor.next_action}, bfloat16)

    def __call__(self, inputs: Tensor, head: str = "policy") -> Tensor:
        """Logits of one head as float32: ``policy [B, 107]``, ``belief [B, 52]`` or ``next [B, 107]``."""
        return self.outputs(inputs, head)


class FrozenCritic(_Frozen):
    """A copy of a critic for valuing positions, as ``FrozenActor`` is of an actor."""

    def __init__(self, critic: Critic, bfloat16: bool) -> None:
        super().__init__(critic, {"value": critic.value}, bfloat16)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Values ``float32[B]`` of ``[B, 586 + context + heuristic features]``."""
        return self.outputs(inputs, "value").squeeze(1)
