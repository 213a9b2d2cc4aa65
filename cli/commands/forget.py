"""slowwave forget: erase memories, or a text, and every trace of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowwave.cli.arguments.options import FileArgument, OutputOptions, TenantsOption, per_call
from slowwave.cli.arguments.place_options import on_place
from slowwave.cli.terminal.exits import Code
from slowwave.cli.terminal.output import Output, clean, sees_questions
from slowwave.cli.terminal.wording import counted, shortened_for_stdout
from slowwave.store.errors import NotFound, StoreError
from slowwave.store.file import MemoryFile, open_reading
from slowwave.store.places import Place
from slowwave.store.records import timestamp

if TYPE_CHECKING:
    from slowwave.store.forgettable import Forgettable, KnownText
    from slowwave.store.forgetting import Forgotten

_IRREVERSIBLE = "This cannot be undone."


@on_place
def forget_(
    file: FileArgument,
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
    byte of the text is in the file or its log; backups that may have it are listed.
    """
    from slowwave.store.erasing import Eraser
    from slowwave.store.forgettable import find_forgettable, refuse_derived
    from slowwave.store.forgetting import find_rewritten, forget

    _refuse_unclear(memory, matching)
    if not rehearse:
        place.refuse_changes()
    eraser = Eraser([matching or ""])

    def find(opened: MemoryFile) -> Forgettable:
        try:
            return find_forgettable(opened, memory, matching, tenant or ())
        except NotFound as error:
            raise _also_in_lines(error, place.lines_with(eraser)) from None

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        shown = find(opened)
        rewritten = find_rewritten(opened, shown) if rehearse else ()
    if rehearse:
        _show_plan(shown, rewritten, file, output)
        return
    if not confirmed and not sees_questions(output):
        raise typer.BadParameter(f"{_IRREVERSIBLE} Pass --yes to confirm, or --dry-run first.")
    if shown.forgotten_at is None:
        refuse_derived(shown, derived)
        if not confirmed:
            output.show("\n".join(_plan(shown)))
            count = counted(len(shown.memories) + len(shown.derived), "memory", "memories")
            typer.confirm(f"Forget {count}? {_IRREVERSIBLE}", abort=True, err=True)

    def do(opened: MemoryFile) -> Forgotten | None:
        found = find(opened)
        if found != shown:
            raise StoreError(f"{file} has changed since.", "Nothing was changed. Run it again.")
        now = timestamp(datetime.now(UTC))
        return None if found.forgotten_at is not None else forget(opened, found, now, reason)

    done = place.change(do)
    # Columns and lines that still have the text, which may have been forgotten before.
    own = () if done is None else done.left
    left = (*own, *place.lines_with(eraser if done is None else done.eraser))
    unclean = _clean(place, is_finished=not left)
    raise typer.Exit(_report(done, shown, left, file, output, unclean))


def _also_in_lines(error: NotFound, lines: Sequence[str]) -> StoreError:
    """Return the error with the lines or columns of an agent's file that have the text, if any."""
    if not lines:
        return error
    return StoreError(
        f"No memory contains this text, but {', '.join(lines)}.",
        "Nothing was changed. Slowwave does not change that: erase it yourself.",
    )


def _clean(place: Place, is_finished: bool) -> StoreError | None:
    """Remove the bytes of what was forgotten; return why they may be left."""
    from slowwave.store.forgetting import finish

    try:
        place.clean()
        if is_finished:
            place.change(finish)
    except StoreError as error:
        return error
    return None


def _refuse_unclear(memory: str | None, matching: str | None) -> None:
    if (memory is None) == (matching is None):
        raise typer.BadParameter("Pass exactly one of MEMORY and --matching TEXT.")
    if matching is not None and not matching.strip():
        raise typer.BadParameter("The text of --matching is blank.")


def _plan(found: Forgettable) -> Iterator[str]:
    """Yield what a request to forget is about, one line per memory."""
    for title, memories in (
        ("to forget", found.memories),
        ("derived from it, only with --derived", found.derived),
        ("will be active again", found.released),
        ("related; stays", found.related),
    ):
        for known in memories:
            text = shortened_for_stdout(known.content)
            yield clean(f"{title}: {known.id} ({known.status}) {text}")
    if found.forgotten_at is not None and found.text is not None:
        yield (
            "No memory contains this text. Any remains of it in the file's free space since "
            f"{found.forgotten_at[:10]} will be erased."
        )
    elif found.forgotten_at is not None:
        yield f"This memory was forgotten on {found.forgotten_at[:10]}."
    elif found.text is not None and not found.memories:
        yield "No memory contains the text; what runs recorded about it will be erased."


def _show_plan(found: Forgettable, rewritten: Sequence[str], file: Path, output: Output) -> None:
    output.result(
        "forget",
        file=str(file),
        dry_run=True,
        forgotten_at=found.forgotten_at,
        memories=_as_json(found.memories),
        derived=_as_json(found.derived),
        active_again=_as_json(found.released),
        related=_as_json(found.related),
        rewritten=list(rewritten),
    )
    elsewhere = (f"to erase{_elsewhere(rewritten)}",) if rewritten else ()
    output.show("\n".join(("Dry run.", *_plan(found), *elsewhere, _IRREVERSIBLE)))


def _elsewhere(rewritten: Sequence[str]) -> str:
    memories = counted(len(rewritten), "memory that stays", "memories that stay")
    return f" from the source, session, tags or metadata of {memories}"


def _as_json(memories: Sequence[KnownText]) -> list[dict[str, Any]]:
    return [
        {"id": known.id, "tenant": known.tenant, "status": known.status, "content": known.content}
        for known in memories
    ]


def _report(
    done: Forgotten | None,
    found: Forgettable,
    left: Sequence[str],
    file: Path,
    output: Output,
    unclean: StoreError | None,
) -> Code:
    """Report what was forgotten, without its text, and return the exit code.

    left: the columns and lines that still have it. unclean: why bytes of it may be left.
    """
    result: dict[str, Any] = {"clean": unclean is None, "left": list(left)}
    if done is None:
        result |= {"run": None, "forgotten": [], "forgotten_at": found.forgotten_at}
        text = "\n".join(_plan(found))
    else:
        result |= {
            "run": done.run_id,
            "forgotten": list(done.ids),
            "active_again": list(done.released),
            "related": [known.id for known in found.related],
            "rewritten": list(done.rewritten),
            "rows": done.rows,
            "runs": list(done.runs),
            "backups": list(map(str, done.backups)),
        }
        memories = counted(len(done.ids), "memory", "memories")
        text = f"Forgot {memories} and {counted(done.rows, 'row')} about {_them(done)}."
    output.result("forget", file=str(file), dry_run=False, **result)
    output.show(text)
    for note in _notes(done, found) if done else ():
        output.note(note)
    yours = "still has the text, and slowwave does not change it: erase it yourself."
    for place in left:
        output.note(f"{place} {yours}")
    if unclean is not None:
        message = f"It is forgotten, but bytes of it may be left. {unclean.message}"
        output.error(message, f"{unclean.hint} Then run this again.", Code.PARTLY)
    return Code.PARTLY if left or unclean else Code.DONE


def _notes(done: Forgotten, found: Forgettable) -> Iterator[str]:
    """Yield what is left to do."""
    if done.released:
        yield f"Active again, as sources for the next run: {', '.join(done.released)}"
    if found.related:
        yield f"Related memories that were kept: {', '.join(known.id for known in found.related)}"
    if done.rewritten:
        yield f"Also erased{_elsewhere(done.rewritten)}."
    for run in done.runs:
        yield f"Undoing run {run} will not restore the forgotten memories."
    for backup in done.backups:
        yield (
            f"A backup may still contain {_them(done)}: delete {shlex.quote(str(backup))}, "
            "or run 'slowwave forget' on it."
        )


def _them(done: Forgotten) -> str:
    return "it" if len(done.ids) == 1 else "them"
