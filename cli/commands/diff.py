"""slowwave diff: what a run changed in what agents read."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import ConfigOption, FileArgument, JsonOption, QuietOption
from slowwave.cli.files.places import on_place
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import day_of
from slowwave.store.places import Place

from .log import headline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slowwave.store.changes import TextChange


@on_place
def diff(
    file: FileArgument,
    place: Place,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its id, or the start of it.")],
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the texts that a run took away (-) and wrote (+).

    Memories are shown proposal by proposal, in the order in which they were observed.
    """
    from slowwave.store.changes import read_changes
    from slowwave.store.file import open_reading
    from slowwave.store.ledger import count_states, read_run

    output = Output(json, quiet)
    with place.reading() as memory_file, open_reading(memory_file) as opened:
        found = read_run(opened, run)
        changes = read_changes(opened, found.id)
        states = count_states(opened).get(found.id, {})
    output.result(
        {
            "command": "diff",
            "file": str(file),
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
