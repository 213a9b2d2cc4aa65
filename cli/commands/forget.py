"""slowwave forget: erase memories, or a text, and every trace of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.options import OutputOptions, TenantsOption, per_call
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, sees_questions
from slowwave.cli.terminal.wording import counted, shortened_for_stdout
from slowwave.store.errors import StoreError
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.places import Place
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.store.forgettable import Forgettable, KnownText
    from slowwave.store.forgetting import Forgotten

_IRREVERSIBLE = "This cannot be undone."


def forget_(
    place: Place,
    memory: Annotated[
        str | None, typer.Argument(metavar="MEMORY", help="The id of a memory, or a unique prefix.")
    ] = None,
    *,
    matching: Annotated[
        str | None,
        per_call(
            "--matching",
            metavar="TEXT",
            help="Forget each memory that contains this text (ignoring case and white space), and "
            "erase the text everywhere else, too.",
        ),
    ] = None,
    derived: Annotated[
        bool,
        per_call(
            "--derived",
            help="Also forget what runs wrote from it; the other sources become active again.",
        ),
    ] = False,
    reason: Annotated[
        str | None, per_call("--reason", metavar="TEXT", help="Recorded with the date.")
    ] = None,
    rehearse: Annotated[
        bool, per_call("--dry-run", help="Show what would be erased, and change nothing.")
    ] = False,
    # Named so that the key `yes` of a config file, for 'undo', does not confirm.
    confirmed: Annotated[bool, per_call("--yes", help="Do not ask for confirmation.")] = False,
    tenant: TenantsOption = None,
    output: OutputOptions,
) -> None:
    """Erase a memory, or a text, from everywhere in the file, permanently.

    Also erases its duplicates and what it superseded. Asks for confirmation first. Afterwards no
    byte of the text is in the file or its log, unless another tenant has it, too; backups that may
    have it are listed.
    """
    from slowwave.store.erasing import Eraser
    from slowwave.store.forgettable import find_forgettable, refuse_derived
    from slowwave.store.forgetting import forget

    file = place.named
    _refuse_unclear(memory, matching)
    if not rehearse:
        place.refuse_changes()

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        planned = find_forgettable(opened, memory, matching, tenant or ())
    if rehearse:
        _show_plan(planned, file, output)
        return
    if not confirmed and not sees_questions(output):
        raise typer.BadParameter(f"{_IRREVERSIBLE} Pass --yes to confirm, or --dry-run first.")
    if not planned.is_done:
        refuse_derived(planned, derived)
        if not confirmed:
            output.show("\n".join(_plan(planned)))
            count = counted(len(planned.ids), "memory", "memories")
            typer.confirm(f"Forget {count}? {_IRREVERSIBLE}", abort=True, err=True)

    def do(opened: MemoryFile) -> Forgotten | None:
        now = timestamp(datetime.now(UTC))
        return None if planned.is_done else forget(opened, planned, now, reason)

    forgotten = place.change(do)
    # Columns and lines that still have the text, which may have been forgotten before.
    eraser = forgotten.eraser if forgotten else Eraser([matching or ""])
    places = (*(forgotten.left if forgotten else ()), *place.lines_with(eraser))
    unclean = None
    try:
        place.clean()
    except StoreError as error:
        unclean = error
    code = _report(forgotten, planned, places=places, file=file, output=output, unclean=unclean)
    raise typer.Exit(code)


def _refuse_unclear(memory: str | None, matching: str | None) -> None:
    if (memory is None) == (matching is None):
        raise typer.BadParameter("Pass exactly one of MEMORY and --matching TEXT.")
    if matching is not None and not matching.strip():
        raise typer.BadParameter("The text of --matching is blank.")


def _plan(forgettable: Forgettable) -> Iterator[str]:
    """Yield what a request to forget is about, one line per memory."""
    for title, memories in (
        ("to forget", forgettable.memories),
        ("derived from it, only with --derived", forgettable.derived),
        ("will be active again", forgettable.released),
        ("related; stays", forgettable.related),
    ):
        for memory in memories:
            text = shortened_for_stdout(memory.content)
            whose = (
                f"{memory.status}, tenant {memory.tenant}"
                if forgettable.names_tenants
                else memory.status
            )
            yield clean(f"{title}: {memory.id} ({whose}) {text}")
    if forgettable.forgotten_at is not None:
        yield f"This memory was forgotten on {forgettable.forgotten_at[:10]}."
    elif forgettable.is_done:
        yield "Nothing in the file contains this text; only its free space is overwritten."
    elif forgettable.text is not None and not forgettable.memories:
        yield "No memory contains the text; what runs recorded about it will be erased."


def _show_plan(forgettable: Forgettable, file: Path, output: Output) -> None:
    rewritten = forgettable.rewritten
    output.result(
        "forget",
        file=str(file),
        dry_run=True,
        forgotten_at=forgettable.forgotten_at,
        memories=_as_json(forgettable.memories),
        derived=_as_json(forgettable.derived),
        active_again=_as_json(forgettable.released),
        related=_as_json(forgettable.related),
        rewritten=list(rewritten),
    )
    elsewhere = (f"to erase{_elsewhere(rewritten)}",) if rewritten else ()
    output.show("\n".join(("Dry run.", *_plan(forgettable), *elsewhere, _IRREVERSIBLE)))


def _elsewhere(rewritten: Sequence[str]) -> str:
    memories = counted(len(rewritten), "memory that stays", "memories that stay")
    return f" from the source, session, tags or metadata of {memories}"


def _as_json(memories: Sequence[KnownText]) -> list[dict[str, Any]]:
    return [
        {name: getattr(memory, name) for name in ("id", "tenant", "status", "content")}
        for memory in memories
    ]


def _report(
    forgotten: Forgotten | None,
    forgettable: Forgettable,
    *,
    places: Sequence[str],
    file: Path,
    output: Output,
    unclean: StoreError | None,
) -> Code:
    """Report what was forgotten, without its text, and return the exit code.

    places: what still has it, such as columns and lines. unclean: why bytes of it may be left.
    """
    result: dict[str, Any] = {"clean": unclean is None, "left": list(places)}
    if forgotten is None:
        result |= {"run": None, "forgotten": [], "forgotten_at": forgettable.forgotten_at}
        text = "\n".join(_plan(forgettable))
    else:
        result |= {
            "run": forgotten.run_id,
            "forgotten": list(forgotten.ids),
            "active_again": list(forgotten.released),
            "related": [memory.id for memory in forgettable.related],
            "rewritten": list(forgettable.rewritten),
            "rows": forgotten.rows,
            "runs": list(forgotten.runs),
            "backups": list(map(str, forgotten.backups)),
        }
        memories = counted(len(forgotten.ids), "memory", "memories")
        text = f"Forgot {memories} and {counted(forgotten.rows, 'row')} about {_them(forgotten)}."
    output.result("forget", file=str(file), dry_run=False, **result)
    output.show(text)
    for note in _notes(forgotten, forgettable) if forgotten else ():
        output.note(note)
    for place in places:
        yours = "" if place in ("ids", "tenants") else " Erase it yourself."
        output.note(f"The text is still in {place}, which slowwave does not change.{yours}")
    if unclean is not None:
        message = f"It is forgotten, but bytes of it may be left. {unclean.message}"
        output.error(message, f"{unclean.hint} Then run the command again.", Code.PARTLY)
    if places or unclean:
        return Code.PARTLY
    # It may be misspelled.
    is_unknown = forgotten is None and forgettable.forgotten_at is None
    return Code.FAILED if is_unknown else Code.DONE


def _notes(forgotten: Forgotten, forgettable: Forgettable) -> Iterator[str]:
    """Yield what is left to do."""
    if forgotten.released:
        yield f"Active again, so that the next run reads them: {', '.join(forgotten.released)}"
    if related := ", ".join(memory.id for memory in forgettable.related):
        yield f"Related memories that were kept: {related}"
    if forgettable.rewritten:
        yield f"Also erased{_elsewhere(forgettable.rewritten)}."
    for run in forgotten.runs:
        yield f"Undoing run {run} will not restore the forgotten memories."
    for backup in forgotten.backups:
        yield (
            f"A backup may still contain {_them(forgotten)}: delete {shlex.quote(str(backup))}, "
            "or run 'slowwave forget' on it."
        )


def _them(forgotten: Forgotten) -> str:
    return "it" if len(forgotten.ids) == 1 else "them"
