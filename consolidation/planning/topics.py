"""What a group of memories is about: the names, or else the words, that most of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slowwave.consolidation.snapshot.tenant_view import TenantView
from slowwave.consolidation.text.tokens import stem
from slowwave.consolidation.thresholds import SHARED_TOPIC

# How many of them a reason names.
_MOST = 3


def shared_topics(view: TenantView, rows: Sequence[int]) -> tuple[str, ...]:
    """Return what most of the rows mention, most shared first; empty if they share nothing."""
    needed = SHARED_TOPIC * len(rows)
    names = Counter(
        name
        for row in rows
        for name in set(view.entities.get(view.memories[row].id, ()))
        if view.reading(row).words.intersection(name.lower().split())
    )
    shared = _most_shared(names, needed)
    return shared or _most_shared(_words(view, rows), needed)


def _words(view: TenantView, rows: Sequence[int]) -> Counter[str]:
    stems: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for row in rows:
        reading = view.reading(row)
        stems.update(reading.stem_set)
        for word in (part for words in reading.words for part in words.split("-")):
            forms.setdefault(stem(word), Counter())[word] += 1
    words: Counter[str] = Counter()
    for one, count in stems.items():
        # The form that is used most often; of equals the first of the alphabet.
        words[min(forms[one], key=lambda form: (-forms[one][form], form))] = count
    return words


def _most_shared(counts: Counter[str], needed: float) -> tuple[str, ...]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(name for name, count in ranked if count >= needed)[:_MOST]
