"""Records by place, for compiled loops: a row of a plain array, or whatever lies at an address, as a record.

Compiled functions take a record as one pointer. An array is a structure of many words whose references are counted at every
call, so the helpers of hot loops get records.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


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
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(record))

        return record(types.int64), generate

    return at
