"""The one decorator for compiled code, and the bit operations that compiled code needs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ginenv.engine.kernel_cache import cache_dir
from ginenv.engine.kernel_compiler import compile_kernel
from ginenv.errors import GinError

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise GinError("NUMBA_DISABLE_JIT is set, but ginenv's code works only if it is compiled; unset it")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}


@contextlib.contextmanager
def _numba_caches_in(directory: str) -> Iterator[None]:
    config: Any = numba.config  # type: ignore[attr-defined]
    before, config.CACHE_DIR = config.CACHE_DIR, directory
    try:
        yield
    finally:
        config.CACHE_DIR = before


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a function to machine code, without bounds checks, with a cache that is never stale.

    Callers validate first: a bad index inside a kernel raises no error but corrupts the process.
    """
    source = Path(function.__code__.co_filename).resolve()
    # Numba cannot compile a caller of a generator that it loaded from its cache; the callers' cached code holds a copy of it.
    directory = None if inspect.isgeneratorfunction(function) else cache_dir(source)
    if directory is not None:
        # The directory may turn out not to be writable after all.
        with contextlib.suppress(OSError, RuntimeError), _numba_caches_in(directory):
            return compile_kernel(function, directory, _OPTIONS)
    return compile_kernel(function, None, _OPTIONS)


@intrinsic
def _popcount(typingctx: Any, value: Any) -> Any:
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def _ctz(typingctx: Any, value: Any) -> Any:
    zero_is_defined = ir.Constant(ir.IntType(1), 0)
    return types.int64(types.int64), lambda context, builder, signature, args: builder.cttz(args[0], zero_is_defined)


# Typed as Any: callers pass one number, but a type checker would see the compiler's own arguments.
popcount: Any = _popcount  # the number of set bits of an int64
ctz: Any = _ctz  # the index of the lowest set bit of an int64 (64 for 0)


@intrinsic
def _store_cards(typingctx: Any, array: Any, offset: Any, cards: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, place_number = ir.IntType(8), ir.IntType(32)
        row_type = ir.VectorType(byte, 52)
        # Repeats every byte of the mask eight times, and tests one bit of each copy.
        parts = builder.bitcast(args[2], ir.VectorType(byte, 8))
        lanes = ir.Constant(ir.VectorType(place_number, 52), [card // 8 for card in range(52)])
        bits = ir.Constant(row_type, [1 << card % 8 for card in range(52)])
        found = builder.and_(builder.shuffle_vector(parts, parts, lanes), bits)
        row = builder.zext(builder.icmp_unsigned("!=", found, ir.Constant(row_type, [0] * 52)), row_type)
        place = builder.gep(builder.bitcast(target, ir.IntType(8).as_pointer()), [args[1]])
        store = builder.store(row, builder.bitcast(place, row.type.as_pointer()))
        store.align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


# store_cards(array, offset, cards): writes a mask as 52 bytes of 0 and 1 at a byte offset of a C-contiguous uint8 array. As one
# vector operation this costs a nanosecond; a loop over the cards costs some twenty.
store_cards: Any = _store_cards


def record_copy(target: np.dtype, target_field: str, source: np.dtype, source_field: str, last_field: str) -> Any:
    """An intrinsic ``copy(target, source)`` that copies a stretch of fields between two records as one block.

    Numba copies nested arrays element by element through generic code. If both records hold the same fields in the same
    order, a block copy is some fifty nanoseconds faster.

    Args:
        target: dtype of the record written to.
        target_field: first field of the stretch there.
        source: dtype of the record read from.
        source_field: first field of the stretch there.
        last_field: last field of the stretch, in both.
    """
    into_fields: Any = target.fields
    from_fields: Any = source.fields
    target_start, source_start = into_fields[target_field][1], from_fields[source_field][1]
    size = into_fields[last_field][1] + into_fields[last_field][0].itemsize - target_start
    assert from_fields[last_field][1] - source_start == into_fields[last_field][1] - target_start, (
        "the stretches differ"
    )

    @intrinsic
    def copy(typingctx: Any, into: Any, out_of: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
            to = builder.gep(builder.bitcast(args[0], pointer), [ir.Constant(word, target_start)])
            origin = builder.gep(builder.bitcast(args[1], pointer), [ir.Constant(word, source_start)])
            memcpy = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, word])
            builder.call(memcpy, [to, origin, ir.Constant(word, size), ir.Constant(ir.IntType(1), 0)])
            return context.get_dummy_value()

        return types.void(into, out_of), generate

    return copy


# Records by place, for compiled loops. Compiled functions take a record as one pointer. An array is a structure of many words whose
# references are counted at every call; this costs the helpers of hot loops some thirty nanoseconds.


def row_record(dtype: np.dtype) -> Any:
    """An intrinsic ``row(array, i)``: row ``i`` of a C-contiguous array, whose rows have the record's size, as a record."""
    record = numba.from_dtype(dtype)
    size = dtype.itemsize

    @intrinsic
    def row(typingctx: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            word = ir.IntType(64)
            offset = builder.mul(args[1], ir.Constant(word, size))
            place = builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [offset])
            return builder.bitcast(place, context.get_value_type(record))

        return record(array, types.int64), generate

    return row


def record_at(dtype: np.dtype) -> Any:
    """An intrinsic ``at(address)``: the record at an address."""
    record = numba.from_dtype(dtype)

    @intrinsic
    def at(typingctx: Any, address: Any) -> Any:
        return record(types.int64), lambda context, builder, signature, args: builder.inttoptr(
            args[0], context.get_value_type(record)
        )

    return at


# 2**64 divided by the golden ratio: the step of the Weyl sequences whose words are mixed.
_GOLDEN = 0x9E3779B97F4A7C15


@kernel
def mix(value):
    """A well-mixed 64-bit hash of a 64-bit word (the finaliser of SplitMix64, Steele et al. 2014)."""
    x = np.uint64(value) + np.uint64(_GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def next_word(seed):
    """The next state and random word of a stream: adds a constant, then mixes lightly."""
    seed = np.uint64(seed) + np.uint64(_GOLDEN)
    return seed, (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)


@kernel
def below(word, bound):
    """A number in [0, bound) from a random 64-bit word (multiply and shift; bias below bound / 2**32)."""
    return np.int64(((np.uint64(word) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def unit(word):
    """A number in [0, 1) from a random 64-bit word."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53
