"""Action masks for TorchRL, which takes the environments by their ids but does not read ``info`` by itself.

    >>> from torchrl.envs import GymEnv
    >>> from ginenv.adapters.torchrl import with_masks
    >>> table = with_masks(GymEnv("Gin/Hand-v0", categorical_action_encoding=True))
    >>> table.rollout(20)["action_mask"].any(-1).all().item()
    True

Thousands of tables advance in one compiled step with ``gym.make_vec`` inside of ``GymWrapper``:

    >>> import gymnasium as gym
    >>> from torchrl.envs import GymWrapper
    >>> envs = gym.make_vec("Gin/Hand-v0", num_envs=64, autoreset_mode="disabled")
    >>> tables = with_masks(GymWrapper(envs, categorical_action_encoding=True))
    >>> tables.rollout(20, break_when_any_done=False).shape
    torch.Size([64, 20])

Needs the extra ``torchrl``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ginenv.engine.actions import NUM_ACTIONS

try:
    import torch
    from tensordict import TensorDictBase
    from torchrl.data import Binary, Composite
    from torchrl.envs import ActionMask, DTypeCastTransform, TransformedEnv, default_info_dict_reader
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed; pip install 'ginenv[torchrl]' installs it", name=error.name
    ) from None


class _MaskReader(default_info_dict_reader):
    """Reads the masks from infos; those of a reset of some tables leave out the others, whose masks stay what they were."""

    def __call__(self, info_dict: dict[str, Any], tensordict: TensorDictBase) -> TensorDictBase:
        masks = np.array(info_dict["action_mask"])
        given = np.asarray(info_dict.get("_action_mask", True))
        if not given.all():
            masks[~given] = self.masks[~given]
        self.masks = masks
        return tensordict.set("action_mask", masks)


def with_masks(env: Any) -> TransformedEnv:
    """An environment whose data hold ``action_mask``, ``bool[..., 107]``, and whose random actions are legal.

    Args:
        env: ``Gin/Hand-v0`` or ``Gin/Game-v0`` in TorchRL's ``GymEnv`` (with ``num_envs`` too) or ``GymWrapper``.
    """
    shape = env.batch_size
    mask = Binary(shape=torch.Size((*shape, NUM_ACTIONS)))
    env.set_info_dict_reader(_MaskReader(keys=["action_mask"], spec=Composite(action_mask=mask, shape=shape)))
    # TorchRL's masked distributions need truth values.
    masked = TransformedEnv(env, DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))
    masked.append_transform(ActionMask())
    return masked
