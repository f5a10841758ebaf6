"""The one reader of graphs in ONNX, which strangers may have written: nothing but a small feed-forward network is run.

Everything is decided before onnxruntime sees the graph. Its operators are those that exports consist of, none of which repeats a part of
the graph or reads a file, so the time of a run grows with the length of the graph alone; its weights are in the file; and the shapes of all
values follow from the number of rows, so their memory is known.
"""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import read_bytes
from ginenv.engine.actions import NUM_ACTIONS
from ginenv.errors import GinError, reason_of

OUTPUTS = {"policy": NUM_ACTIONS, "belief": 52, "next": NUM_ACTIONS}
OPERATORS = frozenset(
    "Add Cast Concat Constant Expand Flatten Gather GatherND Gemm Identity MatMul Mul ReduceSum Relu Reshape Shape Slice Split "
    "Squeeze Sub Transpose Unsqueeze".split()
)
MAX_BYTES = 256 << 20
MAX_NODES = 1000
# Numbers that a row may need, and numbers that all rows share.
MAX_PER_ROW, MAX_SHARED = 1 << 20, 1 << 27
# What the format calls the place of data beside the graph, which no hash covers: the key of a text, so the file holds these letters.
_PLACE_OF_DATA = b"location"


class OnnxError(GinError):
    """A network in ONNX that cannot be used."""


def read_graph(path: Path) -> bytes:
    """The bytes of a graph.

    Raises:
        OnnxError: if they cannot be read, or are too many.
    """
    try:
        return read_bytes(path, MAX_BYTES)
    except OSError as error:
        raise OnnxError(f"network {path.parent}: {path.name} cannot be read ({reason_of(error)})") from None


def check_graph(graph: bytes, inputs: dict[str, int]) -> None:
    """Checks that a graph is a network of known inputs and outputs whose time and memory are bounded.

    Args:
        graph: its bytes.
        inputs: the width of each input.

    Raises:
        OnnxError: if it is not; the message is the reason alone.
    """
    # Imported this way since the module tells type checkers nothing of its contents.
    onnx: Any = importlib.import_module("onnx")
    if _PLACE_OF_DATA in graph:
        raise OnnxError("its weights lie in another file; they must be in the graph")
    # The library has no common class of errors, and some messages have many lines.
    try:
        model = onnx.load_model_from_string(graph)
    except Exception:
        raise OnnxError("it is no graph of ONNX") from None
    nodes = model.graph.node
    used = {f"{node.domain}.{node.op_type}".removeprefix("ai.onnx.").removeprefix(".") for node in nodes}
    if foreign := sorted(used - OPERATORS):
        raise OnnxError(f"operator {foreign[0][:80]!r} is none of {', '.join(sorted(OPERATORS))}")
    if len(nodes) > MAX_NODES or len(model.functions) or len(model.graph.sparse_initializer):
        raise OnnxError(f"it must be at most {MAX_NODES} operators, without functions and sparse weights")
    constants = [attribute.t for node in nodes for attribute in node.attribute if attribute.HasField("t")]
    for tensor in [*model.graph.initializer, *constants]:
        if min(tensor.dims, default=1) < 0 or math.prod(tensor.dims) > len(graph):
            raise OnnxError(
                f"its weights {tensor.name[:80]!r} are fewer than their shape, {list(tensor.dims)[:8]}, says"
            )
    _check_rows(model.graph, inputs)
    try:
        shaped = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph
    except Exception as error:
        raise OnnxError(f"its shapes do not fit each other ({str(error).strip().splitlines()[-1][:200]})") from None
    _check_shapes(shaped, model.graph.input[0].type.tensor_type.shape.dim[0].dim_param)


def _check_rows(graph: Any, inputs: dict[str, int]) -> None:
    """Checks names, types and widths of what goes in and out; the rows must be of one number, which has a name."""
    for what, values, widths in (("inputs", graph.input, inputs), ("outputs", graph.output, OUTPUTS)):
        found = {value.name: _shape(value) for value in values}
        rows = {shape[0] for shape in found.values() if shape}
        floats = all(value.type.tensor_type.elem_type == 1 for value in values)
        right = {name: [*rows, width] for name, width in widths.items()}
        if found != right or not floats or len(rows) != 1 or not isinstance(next(iter(rows)), str):
            expected = ", ".join(f"{name} [rows, {width}]" for name, width in widths.items())
            shown = ", ".join(f"{name} {shape}" for name, shape in found.items())[:200]
            raise OnnxError(f"its {what} must be {expected}, all float32, not {shown or 'nothing'}")


def _check_shapes(graph: Any, rows: str) -> None:
    """Checks that every value's size is known, and that all together are bounded."""
    shapes = {value.name: _shape(value) for value in [*graph.input, *graph.output, *graph.value_info]}
    per_row = shared = 0
    for name in {name for node in graph.node for name in node.output if name}:
        shape = shapes.get(name)
        sizes = [size for size in shape or () if isinstance(size, int)]
        if shape is None or len(shape) - len(sizes) > 1 or not {*shape} - {*sizes} <= {rows}:
            raise OnnxError(f"the shape of its value {name[:80]!r} must follow from the number of rows")
        if len(sizes) < len(shape):
            per_row += math.prod(sizes)
        else:
            shared += math.prod(sizes)
    if per_row > MAX_PER_ROW or shared > MAX_SHARED:
        raise OnnxError(
            f"it computes {per_row:,} numbers a row and {shared:,} for all; allowed are {MAX_PER_ROW:,} and {MAX_SHARED:,}"
        )


def _shape(value: Any) -> list[int | str] | None:
    """A value's sizes, a name or a question mark where one is no number; None if not even their number is known."""
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in kind.shape.dim]


class OnnxNetwork:
    """A graph in onnxruntime.

    Args:
        graph: its bytes.
        width: of its input, ``seen``.
        threads: of its matrix products.

    Raises:
        OnnxError: if it is no network of bounded time and memory, or onnxruntime refuses it.
    """

    def __init__(self, graph: bytes, width: int, threads: int = 1) -> None:
        check_graph(graph, {"seen": width})
        onnxruntime: Any = importlib.import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        # What is wrong is raised; it need not be printed as well.
        options.log_severity_level = 4
        options.add_session_config_entry("session.load_model_format", "ONNX")
        try:
            self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise OnnxError(f"onnxruntime cannot load it ({_first_line(error)})") from None
        # Whatever fails for every row fails here, before anything is played.
        self(np.zeros((1, width), np.float32))

    def __call__(self, seen: np.ndarray, outputs: tuple[str, ...] = tuple(OUTPUTS)) -> list[np.ndarray]:
        """Logits of the outputs asked for.

        Args:
            seen: ``float32[n, width]``.
            outputs: names in ``OUTPUTS``.

        Raises:
            OnnxError: if one of them has another shape than it should, or numbers that are not finite.
        """
        try:
            found = self.session.run(list(outputs), {"seen": seen})
        except Exception as error:
            raise OnnxError(f"onnxruntime cannot run it ({_first_line(error)})") from None
        for name, values in zip(outputs, found, strict=True):
            expected = len(seen), OUTPUTS[name]
            if values.shape != expected or not np.isfinite(values).all():
                raise OnnxError(
                    f"its output {name} must be finite numbers of shape {list(expected)}; it is of shape {list(values.shape)}"
                    + ("" if values.shape != expected else " and holds others")
                )
        return found


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]
