"""Finds the n-th set bit of a mask: with the processor's own instruction if it has a fast one, else with a table."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ginenv.engine.jit import ctz, kernel, popcount
from ginenv.engine.shipped_kernels import SLOW_DEPOSIT, WITH_DEPOSIT


def _select_table() -> np.ndarray:
    table = np.zeros((8, 256), np.uint8)
    for byte in range(256):
        for n, position in enumerate(bit for bit in range(8) if byte >> bit & 1):
            table[n, byte] = position
    return table


_SELECT = _select_table()
_BYTES = 0x0101010101010101
_HIGH_BITS = 0x8080808080808080


@kernel
def nth_bit_by_words(mask, n):
    """``nth_bit`` on any processor.

    It has no loop, whose length no processor could predict. Counts per byte, added up by one multiplication, find the byte, and
    a table finds the bit in it (broadword selection, Vigna 2008).
    """
    word = np.uint64(mask)
    counts = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    counts = (counts & np.uint64(0x3333333333333333)) + ((counts >> np.uint64(2)) & np.uint64(0x3333333333333333))
    counts = ((counts + (counts >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(_BYTES)
    # Bytes whose running count is at most n lie below the byte that is sought.
    below_or_at = ((np.uint64(n) * np.uint64(_BYTES)) | np.uint64(_HIGH_BITS)) - counts
    start = popcount(np.int64(below_or_at & np.uint64(_HIGH_BITS))) * 8
    before = np.int64(((counts << np.uint64(8)) >> np.uint64(start)) & np.uint64(0xFF))
    return start + np.int64(_SELECT[n - before, np.int64((word >> np.uint64(start)) & np.uint64(0xFF))])


@intrinsic
def _pdep(typingctx: Any, bits: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        instruction = ir.FunctionType(word, [word, word])
        return builder.call(cgutils.get_or_insert_function(builder.module, instruction, "llvm.x86.bmi.pdep.64"), args)

    return types.int64(types.int64, types.int64), generate


_deposit: Any = _pdep  # the low bits of one int64 at the places of the set bits of another


@kernel
def _nth_bit_by_deposit(mask, n):
    return ctz(_deposit(np.int64(1) << n, mask))


def _deposits_fast() -> bool:
    """Whether the processor that is compiled for has a fast instruction that deposits bits."""
    config: Any = numba.config  # type: ignore[attr-defined]
    if config.CPU_NAME is not None:
        return config.CPU_NAME == WITH_DEPOSIT
    return bool(binding.get_host_cpu_features().get("bmi2")) and binding.get_host_cpu_name() not in SLOW_DEPOSIT


# nth_bit(mask, n): index of the n-th set bit of a mask (n from 0, below the number of set bits).
nth_bit: Any = _nth_bit_by_deposit if _deposits_fast() else nth_bit_by_words
