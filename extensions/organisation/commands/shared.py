"""slowwave shared: facts of an organization, with versions, authors and a log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.cli.arguments.configured import VerbGroup, group_of
from slowwave.cli.arguments.durations import moment_of
from slowwave.cli.arguments.options import FileArgument, OutputOptions, per_call
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.terminal.output import Output, clean
from slowwave.extensions.organisation.store import shared_facts
from slowwave.extensions.organisation.store.shared_facts import WriteRequest, authors_of
from slowwave.extensions.organisation.store.shared_log import SharedEntry, read_log
from slowwave.store.check import refuse_damaged
from slowwave.store.file import MemoryFile, open_reading, open_writing
from slowwave.store.records import timestamp

FactArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the fact.")]
AuthorArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of the author.")]
AsOfOption = Annotated[
    str | None, per_call(metavar="DAY", help="Show the state at the end of this day.")
]


@dataclass(frozen=True)
class ChangeOptions:
    """Who changes the facts, and why."""

    author: Annotated[str, typer.Option(metavar="NAME", help="Author of the change.")]
    reason: Annotated[str | None, per_call(metavar="TEXT", help="Reason, stored in the log.")] = (
        None
    )


def list_facts(file: FileArgument, as_of: AsOfOption = None, *, output: OutputOptions) -> None:
    """List the current facts. Same as 'slowwave shared FILE'."""
    facts = shared_facts.snapshot(_entries(file, as_of))
    lines = [f"{fact.subject} (version {fact.version}): {fact.content}" for fact in facts]
    none = "there are no shared facts"
    _show(file, "list", as_of, lines, none, output, facts=list(map(_as_json, facts)))


def log(
    file: FileArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only entries about this fact or author.")
    ] = None,
    as_of: AsOfOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Show the log of all changes, oldest first."""
    entries = [entry for entry in _entries(file, as_of) if name in (None, entry.subject)]
    none = "there are no shared facts" if name is None else f"'{name}' has no entries"
    shown = list(map(_as_json, entries))
    _show(file, "log", as_of, list(map(_line, entries)), none, output, entries=shown)


def authors(file: FileArgument, as_of: AsOfOption = None, *, output: OutputOptions) -> None:
    """List the admitted authors."""
    admitted = authors_of(_entries(file, as_of)).values()
    lines = [f"{author.name}  {author.described()}" for author in admitted]
    none = "there are no authors"
    _show(file, "authors", as_of, lines, none, output, authors=list(map(asdict, admitted)))


def publish(
    file: FileArgument,
    name: FactArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text of the fact.")],
    # Not `tag`, which is a setting of `add`.
    tags: Annotated[
        list[str] | None,
        per_call(
            "--tag",
            metavar="WORD",
            help="An extra tag. The part of NAME before the last / is always a tag. Repeatable.",
        ),
    ] = None,
    *,
    change: ChangeOptions,
    output: OutputOptions,
) -> None:
    """Publish a fact, or its next version."""
    write = partial(shared_facts.publish, name=name, text=text, tags=tags or ())
    _change(file, "publish", name, write, change, output)


def retract(
    file: FileArgument, name: FactArgument, *, change: ChangeOptions, output: OutputOptions
) -> None:
    """Retract a fact: it no longer applies, and stays in the log."""
    _change(file, "retract", name, partial(shared_facts.retract, name=name), change, output)


def admit(
    file: FileArgument,
    name: AuthorArgument,
    human: Annotated[bool, per_call("--human", help="The author is a human.")] = False,
    seniority: Annotated[
        int | None,
        per_call(
            metavar="1..9",
            min=1,
            max=9,
            help="The author is an agent of this seniority; it may change facts of less senior "
            "agents.",
        ),
    ] = None,
    *,
    change: ChangeOptions,
    output: OutputOptions,
) -> None:
    """Admit an author, or change their kind. The first one is a human who admits themselves."""
    if human == (seniority is not None):
        raise typer.BadParameter("Specify the kind of author: --human, or --seniority 1..9.")
    write = partial(shared_facts.admit, name=name, seniority=seniority)
    _change(file, "admit", name, write, change, output)


def dismiss(
    file: FileArgument, name: AuthorArgument, *, change: ChangeOptions, output: OutputOptions
) -> None:
    """Dismiss an author: their facts stay."""
    _change(file, "dismiss", name, partial(shared_facts.dismiss, name=name), change, output)


def _change(
    file: Path,
    action: str,
    name: str,
    write: Callable[[MemoryFile, WriteRequest], tuple[SharedEntry, bool]],
    change: ChangeOptions,
    output: Output,
) -> None:
    """Write to the log, and report the entry, and whether it is new."""
    refuse_foreign(file)
    request = WriteRequest(change.author, timestamp(datetime.now(UTC)), change.reason)
    with open_writing(file) as opened:
        refuse_damaged(opened)
        entry, changed = write(opened, request)
    output.result("shared", file=str(file), action=action, changed=changed, entry=_as_json(entry))
    output.show(clean(_line(entry) if changed else f"{name}: unchanged."))


def _entries(file: Path, day: str | None) -> list[SharedEntry]:
    refuse_foreign(file)
    as_of = moment_of(day, "--as-of", time.max)
    with open_reading(file) as opened:
        return [entry for entry in read_log(opened) if as_of is None or entry.at <= as_of]


def _show(
    file: Path,
    action: str,
    day: str | None,
    lines: Sequence[str],
    none: str,
    output: Output,
    **shown: list[dict[str, Any]],
) -> None:
    """Show lines, or that there are none. shown: the same for JSON."""
    as_of = moment_of(day, "--as-of", time.max)
    output.result("shared", file=str(file), action=action, as_of=as_of, **shown)
    none = none if day is None else f"{none} as of {day}"
    output.show("\n".join(map(clean, lines)) or clean(f"{file}: {none}."))


def _as_json(entry: SharedEntry) -> dict[str, Any]:
    fields = asdict(entry)
    return {"fact" if entry.of_a_fact else "name": fields.pop("subject"), **fields}


def _line(entry: SharedEntry) -> str:
    content = f": {entry.content}" if entry.operation == "publish" else ""
    if entry.operation == "admit":
        content = f" as {authors_of([entry])[entry.subject].described()}"
    reason = f" ({entry.reason})" if entry.reason else ""
    return (
        f"{entry.sequence}  {entry.at[:16]}  {entry.author} {entry.operation} {entry.subject} "
        f"(version {entry.version}){content}{reason}"
    )


shared = group_of(
    "shared",
    "Show and change the facts that an organization shares: the tenant 'shared'.\n\n"
    "Each fact has a name and versions, and the log is append-only. Only admitted authors may "
    "write: humans may change any fact; agents may add facts, and change their own and those of "
    "agents with lower seniority.",
    {
        "list": list_facts,
        "log": log,
        "authors": authors,
        "publish": publish,
        "retract": retract,
        "admit": admit,
        "dismiss": dismiss,
    },
    VerbGroup,
)
