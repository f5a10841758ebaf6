"""Networks that treat the suits alike: relabelling the suits of what they read relabels what they say, and nothing else."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from torch import Tensor

from agents.network.checkpoint import CheckpointError, load_checkpoint, load_critic, save_checkpoint
from agents.network.nets import Actor, Critic, FrozenActor
from tests.support.refusals import refuses

FEATURES = 105
ACTOR, CRITIC = 521, 610


def random_inputs(width: int) -> Tensor:
    return torch.rand((7, width), generator=torch.Generator().manual_seed(1)) * 3


def relabelled(x: Tensor, suits: tuple[int, ...], decks: list[int]) -> Tensor:
    """The same with the cards of decks that begin at some columns in suits of other names."""
    x = x.clone()
    for at in decks:
        deck = x[:, at : at + 52].unflatten(1, (4, 13))
        x[:, at : at + 52] = deck[:, list(suits)].flatten(1)
    return x


def networks() -> tuple[Actor, Critic]:
    torch.manual_seed(2)
    actor, critic = Actor((12, 8)), Critic((12, 8))
    with torch.no_grad():
        for parameter in (*actor.parameters(), *critic.parameters()):
            parameter += 0.1 * torch.randn_like(parameter)
    return actor, critic


@pytest.mark.parametrize("suits", list(itertools.permutations(range(4)))[1::5])
def test_relabelled_suits_relabel_the_outputs(suits: tuple[int, ...]) -> None:
    actor, critic = networks()
    shown = [52 * plane for plane in range(9)]
    inputs = random_inputs(ACTOR + FEATURES)
    features = ACTOR
    policy, belief = actor(inputs)
    found = actor(relabelled(inputs, suits, [*shown, features, features + 52]))
    assert torch.allclose(found[0], relabelled(policy, suits, [0, 52]), atol=1e-5)
    assert torch.allclose(found[1], relabelled(belief, suits, [0]), atol=1e-5)
    assert not torch.allclose(found[0], policy, atol=1e-3)

    inputs = random_inputs(CRITIC + FEATURES)
    value = critic(inputs)
    hidden = features + FEATURES + 1
    decks = [*shown, features, features + 52, hidden]
    assert torch.allclose(critic(relabelled(inputs, suits, decks)), value, atol=1e-5)
    assert not torch.allclose(critic(relabelled(inputs, suits, [0])), value, atol=1e-4)


@pytest.mark.parametrize("width", [ACTOR + FEATURES, CRITIC + FEATURES])
def test_every_input_is_read(width: int) -> None:
    """Every column moves some output, but for those of the encoding that hold nothing."""
    network = networks()[0 if width == ACTOR + FEATURES else 1]
    inputs = random_inputs(width)[:1].requires_grad_()
    outputs = network(inputs)
    (outputs if isinstance(outputs, Tensor) else torch.cat(outputs, 1)).square().sum().backward()
    assert inputs.grad is not None and (inputs.grad != 0).all()


def test_a_checkpoint_holds_both_networks(tmp_path: Path) -> None:
    actor, critic = networks()
    with torch.no_grad():
        # As they are written.
        for parameter in (*actor.parameters(), *critic.parameters()):
            parameter.copy_(parameter.bfloat16())
    save_checkpoint(tmp_path, actor, (12, 8), {}, critic, (12, 8))
    loaded, _ = load_checkpoint(tmp_path)
    inputs = random_inputs(ACTOR + FEATURES)
    assert torch.allclose(FrozenActor(loaded, False)(inputs), actor(inputs)[0], atol=1e-4)
    inputs = random_inputs(CRITIC + FEATURES)
    assert torch.allclose(load_critic(tmp_path)(inputs), critic(inputs), atol=1e-4)
    save_checkpoint(tmp_path / "alone", actor, (12, 8), {})
    with refuses(CheckpointError, "no critic"):
        load_critic(tmp_path / "alone")
