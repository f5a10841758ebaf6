"""Damaged networks in ONNX: descriptions, graphs and weights that strangers may have changed, with the right hash."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from agents.network.onnx_player import load_onnx
from ginenv.hands.hand import Hand
from ginenv.view.view import action_masks
from tests.support.mutations import Report, changed_bytes, changed_values, check_reader

UNITS = {"policy": 107, "belief": 52, "next": 107}
VIEWS = np.concatenate([Hand.deal("eaai", seed=seed).view() for seed in range(4)])


def network(width: int = 521, units: dict[str, int] = UNITS, extra: Sequence[Any] = ()) -> onnx.ModelProto:
    """A small network: one hidden layer and the three outputs."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(width, 8)), "b": rng.normal(size=8)} | {
        f"w_{name}": rng.normal(size=(8, n)) for name, n in units.items()
    }
    nodes = [helper.make_node("Gemm", ["seen", "w", "b"], ["sum"]), helper.make_node("Relu", ["sum"], ["hidden"])]
    nodes += [helper.make_node("MatMul", ["hidden", f"w_{name}"], [name]) for name in units]
    graph = helper.make_graph(
        [*extra, *nodes],
        "small",
        [helper.make_tensor_value_info("seen", TensorProto.FLOAT, ["rows", width])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", n]) for name, n in units.items()],
        [numpy_helper.from_array(values.astype(np.float32), name) for name, values in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def describe(graph: bytes) -> dict[str, Any]:
    """A right description."""
    return {
        **{"format": 1, "kind": "onnx", "observation_version": 1, "observation_size": 520},
        **{"heuristic_features": 0, "weights_sha256": "0" * 64},
        "graph_sha256": hashlib.sha256(graph).hexdigest(),
        "agreement": {"positions": 3, "largest_difference": {"policy": 1e-6}},
    }


def write(directory: Path, graph: bytes, about: Any = None) -> Path:
    """Writes a network whose hash is right."""
    directory.mkdir(exist_ok=True)
    (directory / "network.onnx").write_bytes(graph)
    (directory / "onnx.json").write_text(json.dumps(describe(graph) if about is None else about))
    return directory


def read(directory: Path) -> None:
    """Loads a network and plays with it."""
    actions = load_onnx(str(directory)).act(VIEWS)
    assert action_masks(VIEWS)[np.arange(len(VIEWS)), actions].all()


# Each changes a right model.
def _set(tensor: Any, values: np.ndarray) -> None:
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _outside(tensor: Any) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="network.data")


def _fill(value: float) -> Callable[[Any], None]:
    return lambda tensor: _set(tensor, np.full(tensor.dims, value, np.float32))


TENSORS: dict[str, Callable[[Any], None]] = {
    "not a number": _fill(float("nan")),
    "infinite": _fill(float("inf")),
    "overflows": _fill(3e38),
    "outside": _outside,
    "huge dims": lambda tensor: tensor.dims.__setitem__(0, 2**62),
    "negative dims": lambda tensor: tensor.dims.__setitem__(0, -1),
    "no dims": lambda tensor: tensor.ClearField("dims"),
    "no data": lambda tensor: tensor.ClearField("raw_data"),
    "of another type": lambda tensor: setattr(tensor, "data_type", TensorProto.DOUBLE),
    "text": lambda tensor: setattr(tensor, "data_type", TensorProto.STRING),
    "renamed": lambda tensor: setattr(tensor, "name", "other"),
}
FOREIGN = "Loop If Scan Tile ConstantOfShape RandomNormal Expand Reshape Transpose GatherND Identity Split é".split()
NODES: dict[str, Callable[[Any], None]] = {
    **{kind: lambda node, kind=kind: setattr(node, "op_type", kind) for kind in FOREIGN},
    "of another domain": lambda node: setattr(node, "domain", "com.microsoft"),
    "reads nothing": lambda node: node.ClearField("input"),
    "reads what is not there": lambda node: node.input.__setitem__(0, "nowhere"),
    "reads itself": lambda node: node.input.__setitem__(0, node.output[0]),
    "writes elsewhere": lambda node: node.output.__setitem__(0, "elsewhere"),
    "writes nothing": lambda node: node.ClearField("output"),
    "odd attribute": lambda node: node.attribute.append(helper.make_attribute("transA", 1)),
    "foreign attribute": lambda node: node.attribute.append(
        helper.make_attribute("body", helper.make_graph([], "g", [], []))
    ),
}
VALUES: dict[str, Callable[[Any], None]] = {
    "renamed": lambda value: setattr(value, "name", "other"),
    "without a shape": lambda value: value.type.tensor_type.ClearField("shape"),
    "without a type": lambda value: value.ClearField("type"),
    "of doubles": lambda value: setattr(value.type.tensor_type, "elem_type", TensorProto.DOUBLE),
    "50 wide": lambda value: setattr(value.type.tensor_type.shape.dim[1], "dim_value", 50),
    "one row": lambda value: setattr(value.type.tensor_type.shape.dim[0], "dim_value", 1),
    "of other rows": lambda value: setattr(value.type.tensor_type.shape.dim[0], "dim_param", "others"),
    "of more dimensions": lambda value: value.type.tensor_type.shape.dim.add(dim_value=3),
}


def _node(kind: str, inputs: str, output: str) -> Any:
    return helper.make_node(kind, inputs.split(), [output])


def _blown_up(size: int) -> onnx.ModelProto:
    """A network that computes a table of so many numbers, and does not use it."""
    shape = helper.make_node("Constant", [], ["shape"], value=numpy_helper.from_array(np.array([size, size], np.int64)))
    one = helper.make_node("Constant", [], ["one"], value=numpy_helper.from_array(np.ones((1, 1), np.float32)))
    return network(extra=[shape, one, helper.make_node("Expand", ["one", "shape"], ["blown"])])


WHOLE: dict[str, Callable[[], Any]] = {
    "an output 50 wide": lambda: network(units=UNITS | {"policy": 50}),
    "other outputs": lambda: network(units={"policy": 107, "value": 1}),
    "another width": lambda: network(width=520),
    "blown up": lambda: _blown_up(10**9),
    "squared rows": lambda: network(
        extra=[_node("Transpose", "seen", "turned"), _node("MatMul", "seen turned", "squared")]
    ),
    "many operators": lambda: network(extra=[_node("Identity", "seen", f"copy{k}") for k in range(2000)]),
}


def graphs(rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """Changed graphs without an end: bytes, weights, operators, and what goes in and out."""
    yield from ((name, make().SerializeToString()) for name, make in WHOLE.items())
    right = network().SerializeToString()
    while True:
        yield "bytes", changed_bytes(right, rng)
        for changes in (TENSORS, NODES, VALUES):
            model = network()
            graph, name = model.graph, list(changes)[rng.integers(len(changes))]
            values = [*graph.input, *graph.output]
            parts = {id(TENSORS): [*graph.initializer], id(NODES): [*graph.node], id(VALUES): values}[id(changes)]
            changes[name](parts[rng.integers(len(parts))])
            yield name, model.SerializeToString()


def check(directory: Path, seed: int, count: int) -> Report:
    """Reads damaged networks: a third of them with damaged descriptions."""
    rng = np.random.default_rng(seed)
    right = network().SerializeToString()
    read(write(directory, right))
    changed = graphs(rng)

    def cases() -> Iterator[tuple[str, tuple[bytes, Any]]]:
        for number in range(count):
            if number % 3:
                name, graph = next(changed)
                yield name, (graph, None)
            else:
                name, about = changed_values(describe(right), rng)
                yield name, (right, about)

    return check_reader(cases(), lambda case: read(write(directory, *case)))
