"""The mean of checkpoints, and what it refuses."""

import pytest
import torch

from agents.network.checkpoint import CheckpointError, load_checkpoint, load_critic, save_checkpoint
from agents.network.model_card import CARD
from agents.network.nets import Actor, Critic
from benchmarks.data.average import average, main


def saved(directory, seed, widths=(16,), critic=False):
    torch.manual_seed(seed)
    critic_or_none = Critic((8,)) if critic else None
    save_checkpoint(
        directory, Actor(widths), widths, {"command": f"made by {seed}"}, critic_or_none, (8,) if critic else ()
    )
    return load_checkpoint(directory)[0].state_dict()


def test_weights_are_the_mean_and_the_critic_is_the_last_ones(tmp_path):
    one, other = saved(tmp_path / "a", 1), saved(tmp_path / "b", 2, critic=True)
    average([str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "mean", "average a b")
    actor, card = load_checkpoint(tmp_path / "mean")
    for name, value in actor.state_dict().items():
        # Checkpoints keep eight bits of each weight.
        assert torch.allclose(value, (one[name] + other[name]) / 2, rtol=0.01, atol=1e-4), name
        if "weight" in name:
            assert not torch.allclose(value, one[name], rtol=0.01)
    assert card["about"]["command"] == "average a b"
    wanted, found = load_critic(tmp_path / "b").state_dict(), load_critic(tmp_path / "mean").state_dict()
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)


def test_the_command_writes_a_card_beside_the_mean(tmp_path):
    for seed, name in enumerate(("a", "b")):
        saved(tmp_path / name, seed)
    main([str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "mean")
    assert "- command: `" in (tmp_path / "mean" / CARD).read_text(encoding="utf-8")


def test_networks_of_other_forms_are_refused(tmp_path):
    saved(tmp_path / "a", 1)
    saved(tmp_path / "b", 2, widths=(24,))
    for names in (["a", "b"], ["a"]):
        with pytest.raises(CheckpointError, match="two or more networks of the same widths"):
            average([str(tmp_path / name) for name in names], tmp_path / "mean", "")
    assert not (tmp_path / "mean").exists()
    saved(tmp_path / "c", 3)
    before = (tmp_path / "a" / "weights.safetensors").read_bytes()
    saved(tmp_path / "d", 4)
    with pytest.raises(CheckpointError, match="d holds a checkpoint that something else made"):
        average([str(tmp_path / "a"), str(tmp_path / "c")], tmp_path / "d", "average a c")
    for _ in range(2):
        average([str(tmp_path / "a"), str(tmp_path / "c")], tmp_path / "mean", "average a c")
    with pytest.raises(CheckpointError, match="a is one of the checkpoints that are averaged"):
        average([str(tmp_path / "a"), str(tmp_path / "c")], tmp_path / "c" / ".." / "a", "")
    assert (tmp_path / "a" / "weights.safetensors").read_bytes() == before
