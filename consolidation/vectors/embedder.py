"""Embed texts as unit vectors, with the packaged model or one that the user chose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.runtime.threads import run_in_thread
from slowwave.store.vectors import replacement_hint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL = "all-MiniLM-L6-v2"
# Texts per batch of a model that the user chose.
BATCH = 64
# Texts per transaction, which an interruption can lose.
PORTION = 256

# A model's folder contains one of these.
_MODEL_FILES = ("modules.json", "config.json")
# Returns float32 vectors, unit length.
_Model = Callable[[Sequence[str]], "NDArray[np.float32]"]


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The name under which vectors are kept; vectors of other names are not comparable."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 vectors, shape (len(texts), d), unit length. Raises `EmbedderError`."""


class SentenceEmbedder:
    """The packaged model, or a sentence-transformers model.

    It is loaded at the first text, since sentence-transformers takes ten seconds.
    """

    def __init__(self, name: str = DEFAULT_MODEL) -> None:
        """name: of the packaged model or one in the local cache, or a folder."""
        folder = Path(name).expanduser()
        self._place = str(folder.resolve()) if folder.is_dir() else name
        self._model: _Model | None = None

    @property
    def name(self) -> str:
        """The given name, or the folder's absolute path."""
        return self._place

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 vectors, shape (len(texts), d), unit length. Raises `EmbedderError`."""
        return run_in_thread(lambda: self._encode(texts))

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._model is None:
            self._model = _load(self._place)
        return self._model(texts)


class CachingEmbedder:
    """An embedder that encodes no text twice, for runs on the same memories."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """The name of its model."""
        return self._embedder.name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts. Raises `EmbedderError`."""
        import numpy as np

        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.encode(new), strict=True))
        return np.stack([self._known[text] for text in texts])


def encode_portions(
    embedder: Embedder, texts: Sequence[str], progress: Callable[[int, int], None]
) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
    """Encode texts in portions, shortest first, so that little is padded.

    Yields positions in `texts` and their vectors, shape (len(positions), d). progress: called with
    the number of encoded texts and of all.
    """
    order = sorted(range(len(texts)), key=lambda position: (len(texts[position]), texts[position]))
    for start in range(0, len(order), PORTION):
        portion = order[start : start + PORTION]
        yield portion, embedder.encode([texts[position] for position in portion])
        progress(start + len(portion), len(order))


def refuse_another_space(
    embedder: Embedder, new_vector: NDArray[np.float32], stored_vector: NDArray[np.float32]
) -> None:
    """Refuse kept vectors of another model with the same name. Raises `EmbedderError`.

    new_vector: of this embedder. stored_vector: of the file; both of shape (d,).
    """
    if len(new_vector) != len(stored_vector):
        raise EmbedderError(
            f"The vectors kept for '{embedder.name}' have {len(stored_vector)} dimensions, but the "
            f"model returns {len(new_vector)}.",
            replacement_hint(embedder.name),
        )


def _load(place: str) -> _Model:
    if place == DEFAULT_MODEL:
        from .minilm import packaged_model

        return packaged_model()
    folder = _folder_of(place)
    if not any((folder / name).is_file() for name in _MODEL_FILES):
        raise EmbedderError(
            f"The embedding model '{place}' cannot be loaded: its folder has neither "
            f"{' nor '.join(_MODEL_FILES)}.",
            "Choose the folder of a sentence-transformers model.",
        )
    return partial(_encode_with, _sentence_transformer(folder, place))


def _sentence_transformer(folder: Path, place: str) -> Any:
    if find_spec("torch") is None:
        raise EmbedderError(
            f"The embedding model '{place}' needs torch, which is not installed.",
            "Install it, in the clone of slowwave: pip install -c constraints.txt torch",
        )
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers has no types for it
    try:
        return SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            # With safetensors, it runs no code of the model.
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # a malformed setting may break the library in any way
        reason = str(error).partition("\n")[0]
        raise EmbedderError(
            f"The embedding model '{place}' cannot be loaded: {reason}",
            "Choose a sentence-transformers model with weights in safetensors and no code.",
        ) from error


def _encode_with(model: Any, texts: Sequence[str]) -> NDArray[np.float32]:
    import numpy as np

    vectors = model.encode(
        list(texts),
        batch_size=BATCH,
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=False,
    )
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _folder_of(place: str) -> Path:
    """Return the folder of a model, in the file system or in the local cache."""
    if Path(place).is_dir():
        return Path(place)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    for name in (place, f"sentence-transformers/{place}"):
        # Models of sentence-transformers itself may be named without the prefix.
        with suppress(OSError, HfHubHTTPError, HFValidationError):
            return Path(snapshot_download(name, local_files_only=True))
    raise EmbedderError(
        f"The embedding model '{place}' cannot be loaded: it is neither a folder nor in the local "
        "cache.",
        "Pass the folder of a sentence-transformers model.",
    )
