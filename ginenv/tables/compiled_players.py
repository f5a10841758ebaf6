"""Compiled players inside compiled loops: a decision costs nanoseconds instead of a Python call.

A player whose decisions are one kernel has an attribute ``compiled``, a pair of

* ``decide(view, options, seed)``: a ``ginenv.engine.jit.kernel`` that takes a ``VIEW`` record, an options record and a ``uint64``,
  and returns an action (``int64``);
* ``options``: a structured array ``[m]``; the game in slot ``i`` is played with options ``i % m``.

Like every player, it sees only a view. Its ``act`` must return the same actions.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ginenv.tables.players import BasePlayer, Player
from ginenv.view.view import VIEW

# How compiled loops find their players.
PLAYER = np.dtype(
    [
        ("decide", np.int64),  # address of the compiled function; 0 for a player that Python must ask
        ("options", np.int64),  # address of the first options record
        ("count", np.int64),  # how many options records there are
        ("size", np.int64),  # bytes of one
        ("seed", np.uint64),  # 0; act gives the same actions after reset(0)
        ("forfeit", np.int32),  # what the other seat scores where this player fails to answer; -1 if it may not fail
        ("listens", np.uint8),  # 1 when the player observes the hands that ended
    ],
    align=True,
)


def describe_player(player: Player) -> tuple[np.void, object]:
    """The ``PLAYER`` record of a player, and the objects that must stay alive while it is used, since addresses in it point to them."""
    record = np.zeros(1, PLAYER)[0]
    record["forfeit"] = -1
    observes = getattr(type(player), "observe_hands", None) is not BasePlayer.observe_hands
    record["listens"] = observes or hasattr(player, "forget")
    compiled = getattr(player, "compiled", None)
    if compiled is None:
        return record, player
    decide, options = compiled
    signature = (numba.from_dtype(VIEW), numba.from_dtype(options.dtype), types.uint64)
    decide.compile(signature)
    result = decide.overloads[signature]
    record["decide"] = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    record["options"] = options.ctypes.data
    record["count"] = len(options)
    record["size"] = options.dtype.itemsize
    return record, (player, compiled, result)


@intrinsic
def _ask(typingctx: Any, decide: Any, view: Any, options: Any, seed: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # Numba's calling convention: a status is returned; result and exception go through pointers. Kernels raise nothing.
        word = ir.IntType(64)
        pointer = ir.IntType(8).as_pointer()
        result = cgutils.alloca_once(builder, word)
        raised = cgutils.alloca_once(builder, pointer)
        function = ir.FunctionType(ir.IntType(32), [word.as_pointer(), pointer.as_pointer(), pointer, pointer, word])
        target = builder.inttoptr(args[0], function.as_pointer())
        builder.call(
            target, [result, raised, builder.bitcast(args[1], pointer), builder.inttoptr(args[2], pointer), args[3]]
        )
        return builder.load(result)

    return types.int64(types.int64, view, types.int64, types.uint64), generate


# ask(decide, view, options, seed): the action of a compiled player for one view, by the addresses in a PLAYER record.
ask: Any = _ask
