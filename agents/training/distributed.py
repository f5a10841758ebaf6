"""Several processes that train one network.

Started by ``torchrun``, every process plays its own games and computes gradients on its own minibatches; gradients are averaged, so
all hold the same weights after every step. The number and size of the steps and the end of the loop must be the same everywhere, or
processes wait for ever. With one process nothing is exchanged and nothing changes.

A process that is lost ends the others: at once where its connections close, and after PyTorch's limit for an exchange where a machine
vanishes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, distributed

from ginenv.errors import GinError, quoted

_GOES_ON = "the same command on all machines continues from the last batch that all have saved"


def _device(name: str) -> torch.device:
    """A device by its name; with several GPUs each process gets its own.

    Raises:
        GinError: if there is no device of this name, or this machine does not have it.
    """
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)
        # Some devices have a known name and turn out to be missing only when something is put there.
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise GinError(f"device is {quoted(name)}, which torch cannot use here ({reason}); cpu always works") from None
    return device


class Workers:
    """The processes of a run, as seen from the one with number ``rank`` of ``world``, whose tensors are on ``device``."""

    def __init__(self, device: str) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self.device = _device(device)
        if self.world == 1:
            return
        if not distributed.is_initialized():
            with _all_are_there():
                distributed.init_process_group("nccl" if self.device.type == "cuda" else "gloo")

    def _reduced(self, numbers: Sequence[float], operation: distributed.ReduceOp.RedOpType) -> list[float]:
        if self.world == 1:
            return [float(number) for number in numbers]
        tensor = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        with _all_are_there():
            distributed.all_reduce(tensor, operation)
        return tensor.tolist()

    def total(self, *numbers: float) -> list[float]:
        """The sum over all processes of each number."""
        return self._reduced(numbers, distributed.ReduceOp.SUM)

    def mean(self, figures: dict[str, float]) -> dict[str, float]:
        """The mean over all processes of each figure."""
        return {name: value / self.world for name, value in zip(figures, self.total(*figures.values()), strict=True)}

    def least(self, number: int) -> int:
        """The minimum of all processes' numbers."""
        return int(self._reduced([number], distributed.ReduceOp.MIN)[0])

    def any(self, wish: bool) -> bool:
        """Whether ``wish`` is true in any process."""
        return self._reduced([float(wish)], distributed.ReduceOp.MAX)[0] > 0

    def gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """All processes' numbers, the same count from each."""
        mine = torch.tensor(numbers, dtype=torch.int64, device=self.device)
        found = [torch.empty_like(mine) for _ in range(self.world)]
        with _all_are_there():
            distributed.all_gather(found, mine)
        return [tensor.tolist() for tensor in found]

    def average_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Replaces the gradients by their mean over all processes."""
        if self.world == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        with _all_are_there():
            distributed.all_reduce(flat)
        flat /= self.world
        for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def close(self) -> None:
        """Leaves the group."""
        if self.world > 1:
            distributed.destroy_process_group()


@contextmanager
def _all_are_there() -> Iterator[None]:
    """Turns the error of an exchange with a process that has gone into one sentence."""
    try:
        yield
    except RuntimeError as error:
        # Between the place in the library's sources and its advice.
        reason = re.sub(r"^\[\S*\] ", "", str(error).strip().splitlines()[0]).partition(". ")[0]
        raise GinError(f"another process of this run has gone ({reason}); {_GOES_ON}") from None
