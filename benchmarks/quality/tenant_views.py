"""Memories in memory, as planning and writing see them: thousands of files would take too long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from slowwave.consolidation.options import PlanOptions
from slowwave.consolidation.snapshot.entities import names_in
from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.verifier import Verifier
from slowwave.consolidation.writing.writer import Writer
from slowwave.store.exchange import new_memory
from slowwave.store.model_answers import Answer, KeptAnswer

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def view(
    texts: Sequence[str], embedder: Embedder, moments: Sequence[str] | None = None
) -> TenantView:
    """Return texts as one tenant's memories, all said at one moment if it is not said when.

    Their ids are their numbers, so that they keep their order.
    """
    said = moments or [NOON.isoformat()] * len(texts)
    memories = tuple(
        new_memory(
            {
                "id": f"{number:05d}",
                "content": text,
                "observed_at": moment,
                "created_at": moment,
                "session": moment,
            },
            NOON,
        )
        for number, (text, moment) in enumerate(zip(texts, said, strict=True))
    )
    return TenantView(
        tenant="default",
        memories=memories,
        text_vectors=embedder.encode(list(dict.fromkeys(memory.content for memory in memories))),
        entities={memory.id: names_in(memory.content) for memory in memories},
        derived=(),
        derived_vectors={},
        edges=(),
    )


def options(writer: Writer) -> PlanOptions:
    """Return what a plan for this writer depends on."""
    return PlanOptions(model_key=writer.key)


def verifier_with(embedder: Embedder) -> Verifier:
    """Return the verifier of drafts that a run uses."""
    return Verifier(lambda text: embedder.encode([text])[0], {})


class Answers:
    """A model's answers, kept as long as the program runs."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[str, Answer] = {}

    def find(self, key: str) -> Answer | None:
        """Return the kept answer to a question."""
        return self._kept.get(key)

    def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """Keep answers."""
        self._kept |= {key: answer for key, _, answer in answers}
