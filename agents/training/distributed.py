"""Several processes that train one network.

Started by ``torchrun``, every process plays its own games and computes gradients on its own minibatches; gradients are averaged, so
all hold the same weights after every step. The number and size of the steps and the end of the loop must be the same everywhere, or
processes wait for ever. With one process nothing is exchanged and nothing changes.

A process that dies closes its connections, which the others notice at once. A machine that vanishes closes nothing, and an exchange may
rightly take long (the others wait while the first one measures the network), so no time limit tells the two apart. Therefore every process
also counts up a number in the store that they all share, and watches those of the others.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, distributed
from torch.distributed.rendezvous import rendezvous

from ginenv.errors import GinError, quoted

# Seconds between two signs of life, and without one until a process counts as lost. A run ends within a minute of a loss.
_PULSE, _SILENCE = 5.0, 40.0
# The number of a process that has come to its end.
_LEFT = -1
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
                store: Any = next(rendezvous("env://"))[0]
                backend = "nccl" if self.device.type == "cuda" else "gloo"
                distributed.init_process_group(backend, store=store, rank=self.rank, world_size=self.world)
            self._watch = _Watch(store.clone(), self.rank, self.world)
            self._watch.start()

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
            self._watch.leave()
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


class _Watch(threading.Thread):
    """Ends this process when another one gives no sign of life; the main thread may wait for that one in an exchange.

    Args:
        store: a connection of its own to the store that all processes share.
        rank: number of this process.
        world: number of processes.
    """

    def __init__(self, store: Any, rank: int, world: int) -> None:
        super().__init__(daemon=True)
        self.store, self.rank = store, rank
        self.others = [other for other in range(world) if other != rank]
        self.left = threading.Event()

    def run(self) -> None:
        """Counts up, and looks at the others' numbers, until this process leaves."""
        heard = dict.fromkeys(self.others, (0, time.monotonic()))
        number = 0
        while not self.left.wait(_PULSE):
            number += 1
            # The store itself may be on the machine that is lost, and then answers nothing.
            alarm = threading.Timer(_SILENCE, self._end, ["the store, which process 0 keeps,"])
            alarm.daemon = True
            alarm.start()
            try:
                self.store.set(self._key(self.rank), str(number))
                # Adding nothing reads a number that may not be there yet.
                found = {other: self.store.add(self._key(other), 0) for other in self.others}
            except RuntimeError:
                self.left.wait()
                return
            alarm.cancel()
            now = time.monotonic()
            heard |= {other: (count, now) for other, count in found.items() if count != heard[other][0]}
            for other, (count, at) in heard.items():
                if count != _LEFT and now - at > _SILENCE:
                    self._end(f"process {other} of this run")

    def _key(self, rank: int) -> str:
        return f"alive {rank}"

    def _end(self, lost: str) -> None:
        if not self.left.is_set():
            print(
                f"gin train: {lost} has not been heard of for {_SILENCE:.0f} s; {_GOES_ON}", file=sys.stderr, flush=True
            )
            os._exit(1)

    def leave(self) -> None:
        """Ends the watch, and tells the others that this process will no longer be heard of."""
        self.left.set()
        goodbye = threading.Thread(target=self._say_goodbye, daemon=True)
        goodbye.start()
        goodbye.join(_PULSE)

    def _say_goodbye(self) -> None:
        with suppress(RuntimeError):
            self.store.set(self._key(self.rank), str(_LEFT))
