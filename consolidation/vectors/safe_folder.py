"""A folder with an embedding model is data: one that could run code of its own is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slowwave.consolidation.errors import EmbedderError

# Formats that run code when they are read, or can.
_PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"})
# What a model is put together from. Others of the library's import whatever their settings name.
_MODULES = frozenset({"Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout"})
_ORIGIN = "sentence_transformers."
# A setting with such a name brings code along.
_CODE = frozenset({"auto_map", "custom_pipelines", "trust_remote_code"})


def refuse_code(folder: Path, place: str) -> None:
    """Refuse a model that brings code along, before anything reads it. Raises `EmbedderError`."""
    for path in sorted(folder.rglob("*")):
        where = path.relative_to(folder)
        # The weights of OpenVINO have the ending, and no code.
        if path.suffix.lower() in _PICKLES and not path.name.startswith("openvino"):
            raise EmbedderError(
                f"The embedding model '{place}' holds a pickle, which can run code: {where}.",
                "Only safetensors are read. Convert its weights, or remove the file if "
                "model.safetensors is there.",
            )
        if path.suffix.lower() == ".json":
            for fault in _code_in(_read(path), path.name):
                raise EmbedderError(
                    f"The embedding model '{place}' brings code of its own ({fault} in {where}).",
                    "Name a model that needs none.",
                )


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        # Not one that the library could read either: it says so itself.
        return None


def _code_in(value: Any, name: str) -> Iterator[str]:
    """Yield what names code, in a value at any depth."""
    if isinstance(value, list):
        for one in value:
            yield from _code_in(one, name)
    if not isinstance(value, dict):
        return
    for key, one in value.items():
        if key in _CODE and one:
            yield key
        if key == "activation_function" and not str(one).startswith("torch.nn.modules.activation."):
            yield str(one)
        if name == "modules.json" and key == "type" and not _known(str(one)):
            yield str(one)
        yield from _code_in(one, name)


def _known(type_name: str) -> bool:
    return type_name.startswith(_ORIGIN) and type_name.rpartition(".")[2] in _MODULES
