"""Refuse the folder of an embedding model that could run code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slowwave.consolidation.errors import EmbedderError

# Formats that can run code when they are read.
_PICKLES = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib"})
# Modules of a model. Other modules of the library import what their settings name.
_MODULES = frozenset({"Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout"})
_ORIGIN = "sentence_transformers."
# Settings that name code.
_CODE = frozenset({"auto_map", "custom_pipelines", "trust_remote_code"})


def refuse_code(folder: Path, place: str) -> None:
    """Refuse a model that contains code, before it is loaded. Raises `EmbedderError`."""
    for path in sorted(folder.rglob("*")):
        where = path.relative_to(folder)
        # OpenVINO's weights have this suffix, and contain no code.
        if path.suffix.lower() in _PICKLES and not path.name.startswith("openvino"):
            raise EmbedderError(
                f"The embedding model '{place}' contains a pickle, which can run code: {where}.",
                "Only safetensors are read. Convert its weights, or remove the file if "
                "model.safetensors is there.",
            )
        if path.suffix.lower() == ".json":
            for fault in _code_in(_read(path), path.name):
                raise EmbedderError(
                    f"The embedding model '{place}' contains code of its own ({fault} in {where}).",
                    "Choose a model without code.",
                )


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        # The library cannot read it either, and reports that.
        return None


def _code_in(value: Any, name: str) -> Iterator[str]:
    """Yield settings that name code, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from _code_in(item, name)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in _CODE and item:
            yield key
        if key == "activation_function" and not str(item).startswith(
            "torch.nn.modules.activation."
        ):
            yield str(item)
        if name == "modules.json" and key == "type" and not _is_known(str(item)):
            yield str(item)
        yield from _code_in(item, name)


def _is_known(type_name: str) -> bool:
    return type_name.startswith(_ORIGIN) and type_name.rpartition(".")[2] in _MODULES
