"""The parts of conversations read, by a model or by rules, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.consolidation.model.writer import ModelWriter
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.answer_store import AnswerStore
from slowwave.consolidation.writing.verifier import Verifier
from slowwave.store.conversations.messages import Message
from slowwave.store.intake import Waiting

from .candidates import PartRead
from .extractive import read_part
from .known import KnownMemories
from .options import IngestOptions
from .parts import Part, Said
from .question import ConversationQuestion, within_limits

# So much of a part stands for what it is about when memories are looked for, in characters.
_ABOUT = 2_000


@dataclass(frozen=True)
class Reader:
    """Reads parts: with a model, or without one by rules."""

    writer: ModelWriter | None
    embedder: Embedder
    known: KnownMemories
    options: IngestOptions

    def read(self, parts: Sequence[Part], answers: AnswerStore) -> Iterator[PartRead]:
        """Yield what was made of each part, in their order. Raises `ModelError`."""
        found: Iterator[PartRead]
        if self.writer is None:
            found = (read_part(one, self.options) for one in parts)
        else:
            found = _in_order(parts, self._asked(self.writer, parts, answers))
        yield from _distilled(found, parts, self.options) if self.options.distill else found

    def question(self, part: Part, model: str) -> ConversationQuestion:
        """Return what a model is asked about a part."""
        about = " ".join(one.message.text for one in part.new)[:_ABOUT]
        return ConversationQuestion(model, part, self.known.near(about), self.options)

    def _asked(
        self, writer: ModelWriter, parts: Sequence[Part], answers: AnswerStore
    ) -> Iterator[PartRead]:
        questions = (self.question(one, writer.model or "") for one in parts)
        verifier = Verifier(lambda text: self.embedder.encode([text])[0], {})
        for some in writer.ask(questions, verifier, answers):
            yield from some


def _in_order(parts: Sequence[Part], found: Iterator[PartRead]) -> Iterator[PartRead]:
    """Yield what came of parts in their order, whichever answer comes first: nights are alike."""
    come: dict[int, PartRead] = {}
    places = {id(part): place for place, part in enumerate(parts)}
    due = 0
    for one in found:
        come[places[id(one.part)]] = one
        while due in come:
            yield come.pop(due)
            due += 1


def _distilled(
    found: Iterator[PartRead], parts: Sequence[Part], options: IngestOptions
) -> Iterator[PartRead]:
    """Keep of each conversation only what matters most in all its parts."""
    left: Mapping[int, list[Part]] = {
        number: [one for one in parts if one.number == number]
        for number in dict.fromkeys(one.number for one in parts)
    }
    come: dict[int, list[PartRead]] = {}
    for one in found:
        number = one.part.number
        come.setdefault(number, []).append(one)
        if len(come[number]) == len(left[number]):
            yield from _best_of(come.pop(number), options)


def _best_of(several: Sequence[PartRead], options: IngestOptions) -> Iterator[PartRead]:
    everything = [candidate for one in several for candidate in one.candidates]
    best, refused = within_limits(everything, options)
    too_many = {one.content: one for one in refused}
    for one in several:
        kept = tuple(candidate for candidate in one.candidates if candidate in best)
        others = (
            too_many[candidate.content]
            for candidate in one.candidates
            if candidate not in best and candidate.content in too_many
        )
        yield replace(one, candidates=kept, turned_down=(*one.turned_down, *others))


def waiting_part(one: Waiting, known: Callable[[Sequence[str]], frozenset[str]]) -> Part:
    """Return what waited in the file as a part; what was read since is only shown before it."""
    stated = one.content.get("said")
    values = [value for value in stated if isinstance(value, dict)] if stated else []
    read = known([str(value.get("chain")) for value in values])
    said = tuple(_said(value, read) for value in values)
    session = one.content.get("session")
    return Part(
        one.conversation,
        str(one.content.get("format", "")),
        session if isinstance(session, str) else None,
        said,
        one.id,
    )


def _said(value: Mapping[str, object], read: frozenset[str]) -> Said:
    def text(name: str) -> str | None:
        found = value.get(name)
        return found if isinstance(found, str) else None

    place, chain = value.get("place"), text("chain") or ""
    message = Message(
        "assistant" if value.get("role") == "assistant" else "user",
        text("text") or "",
        text("said_at"),
        text("speaker"),
    )
    is_new = bool(value.get("is_new", True)) and chain not in read
    return Said(place if isinstance(place, int) else 0, chain, message, is_new)
