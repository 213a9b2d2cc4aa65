"""`slowwave log --diff`: what a run changed in the texts that agents read."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from slowwave.cli.pages.account_reading import named_or_last_run
from slowwave.cli.results.runs import headline
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import day_of
from slowwave.store.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slowwave.store.changes import TextChange


def show_diff(place: Place, run: str | None, output: Output) -> None:
    """Show what a run changed, the last one unless it is named.

    Proposal by proposal, memories in the order in which they were observed. Raises `StoreError`.
    """
    from slowwave.store.changes import read_changes
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import count_states

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        found = named_or_last_run(opened, run)
        changes = read_changes(opened, found.id)
        states = count_states(opened).get(found.id, {})
    output.result(
        {
            "command": "diff",
            "file": str(place.named),
            "run": found.id,
            "changes": [asdict(one) for one in changes],
        }
    )
    output.show("\n".join([headline(found, states), *_lines(changes)]))


def _lines(changes: Sequence[TextChange]) -> Iterator[str]:
    by_proposal: dict[str, list[TextChange]] = {}
    for one in changes:
        by_proposal.setdefault(one.proposal, []).append(one)
    for key, several in by_proposal.items():
        yield ""
        undone = " (undone since)" if several[0].state == "undone" else ""
        yield f"@@ {clean(key[:12])}{undone}"
        for mark, texts in (("-", _before(several)), ("+", _after(several))):
            yield from (f"{mark} {clean(text)}" for text in texts)
    if not changes:
        yield "It changed no active memory."


def _before(changes: Sequence[TextChange]) -> list[str]:
    return [_dated(one, one.before) for one in changes if one.before is not None]


def _after(changes: Sequence[TextChange]) -> list[str]:
    return [_dated(one, one.after) for one in changes if one.after is not None]


def _dated(change: TextChange, text: str) -> str:
    """Return a text with the day on which it was observed; of what was purged nobody knows that."""
    return f"{day_of(change.observed_at)}  {text}".strip()
