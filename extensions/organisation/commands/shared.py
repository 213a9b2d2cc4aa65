"""slowwave shared: facts of an organization, with versions, authors and a log."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from slowwave.cli.arguments.durations import moment_of
from slowwave.cli.arguments.options import FileArgument, OutputOptions, per_call
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.terminal.output import Output, clean

if TYPE_CHECKING:
    from slowwave.extensions.organisation.store.shared_log import SharedEntry

Action = Literal["list", "log", "authors", "publish", "retract", "admit", "dismiss"]
_NAMED = ("publish", "retract", "admit", "dismiss")


def shared(
    file: FileArgument,
    action: Annotated[
        Action,
        typer.Argument(
            metavar="ACTION",
            help="list, log or authors to show; publish, retract, admit or dismiss to change.",
        ),
    ] = "list",
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Name of the fact, or with admit and dismiss, of the author."
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="With publish: the text of the fact.")
    ] = None,
    author: Annotated[
        str | None, typer.Option(metavar="NAME", help="Author of the change.")
    ] = None,
    reason: Annotated[
        str | None, per_call(metavar="TEXT", help="Reason, stored in the log.")
    ] = None,
    human: Annotated[bool, per_call("--human", help="With admit: the author is a human.")] = False,
    seniority: Annotated[
        int | None,
        per_call(
            metavar="1..9",
            min=1,
            max=9,
            help="With admit: the author is an agent of this seniority; it may change facts of "
            "less senior agents.",
        ),
    ] = None,
    # Not `tag`, which is a setting of `add`.
    tags: Annotated[
        list[str] | None,
        per_call(
            "--tag",
            metavar="WORD",
            help="With publish: an extra tag. The part of NAME before the last / is always a tag. "
            "Repeatable.",
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        per_call(
            metavar="DAY", help="With list, log and authors: show the state at the end of this day."
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Show and change the facts that an organization shares: the tenant 'shared'.

    Each fact has a name and versions. The log is append-only; 'list --as-of DAY' shows the facts as
    of that day. Only admitted authors may write: humans may change any fact; agents may add facts,
    and change their own and those of agents with lower seniority.
    """
    refuse_foreign(file)
    is_named = action in _NAMED
    for is_wrong, why in (
        (tags and action != "publish", "--tag is only for publish."),
        (name is None and is_named, f"{action} requires a name."),
        (name is not None and action in ("list", "authors"), f"{action} does not take a name."),
        (text is None and action == "publish", "publish requires a text after its name."),
        (text is not None and action != "publish", f"{action} does not take a text."),
        (is_named and not author, "Specify the author: --author NAME."),
        (
            action == "admit" and human == (seniority is not None),
            "Specify the kind of author: --human, or --seniority 1..9.",
        ),
        (
            action != "admit" and (human or seniority is not None),
            "--human and --seniority are only for admit.",
        ),
        (is_named and as_of is not None, "--as-of is only for list, log and authors."),
        (
            not is_named and reason is not None,
            "--reason is only for actions that write to the log.",
        ),
    ):
        if is_wrong:
            raise typer.BadParameter(why)
    if not is_named:
        _show(file, action, name, as_of, output)
        return
    from slowwave.extensions.organisation.store import shared_facts
    from slowwave.store.check import refuse_damaged
    from slowwave.store.file import open_writing
    from slowwave.store.records import timestamp

    request = shared_facts.WriteRequest(str(author), timestamp(datetime.now(UTC)), reason)
    subject, changed = str(name), True
    with open_writing(file) as opened:
        refuse_damaged(opened)
        if action == "publish":
            entry, changed = shared_facts.publish(opened, request, subject, str(text), tags or ())
        elif action == "retract":
            entry = shared_facts.retract(opened, request, subject)
        elif action == "admit":
            kind: Literal["human", "agent"] = "human" if human else "agent"
            entry, changed = shared_facts.admit(opened, request, subject, kind, seniority)
        else:
            entry = shared_facts.dismiss(opened, request, subject)
    head = {"file": str(file), "action": action}
    output.result("shared", **head, changed=changed, entry=_as_json(entry))
    output.show(clean(_line(entry) if changed else f"{name}: unchanged."))


def _show(file: Path, action: Action, name: str | None, day: str | None, output: Output) -> None:
    from slowwave.extensions.organisation.store.shared_facts import (
        authors_of,
        entries_until,
        snapshot,
    )
    from slowwave.extensions.organisation.store.shared_log import read_log
    from slowwave.store.file import open_reading

    as_of = moment_of(day, "--as-of", time.max)
    with open_reading(file) as opened:
        entries = entries_until(read_log(opened), as_of)
    head = {"file": str(file), "action": action, "as_of": as_of}
    if action == "authors":
        authors = authors_of(entries).values()
        output.result("shared", **head, authors=[asdict(author) for author in authors])
        lines = [f"{author.name}  {author.described()}" for author in authors]
    elif action == "log":
        chosen = [entry for entry in entries if name in (None, entry.subject)]
        output.result("shared", **head, entries=[_as_json(entry) for entry in chosen])
        lines = [_line(entry) for entry in chosen]
    else:
        facts = snapshot(entries)
        output.result("shared", **head, facts=[_as_json(fact) for fact in facts])
        lines = [f"{fact.subject} (version {fact.version}): {fact.content}" for fact in facts]
    output.show("\n".join(map(clean, lines)) or clean(f"{file}: {_none(action, name, day)}."))


def _none(action: Action, name: str | None, day: str | None) -> str:
    what = "there are no authors" if action == "authors" else "there are no shared facts"
    what = what if name is None else f"'{name}' has no entries"
    return what if day is None else f"{what} as of {day}"


def _as_json(entry: SharedEntry) -> dict[str, Any]:
    fields = asdict(entry)
    return {"fact" if entry.of_a_fact else "name": fields.pop("subject"), **fields}


def _line(entry: SharedEntry) -> str:
    from slowwave.extensions.organisation.store.shared_facts import authors_of

    content = f": {entry.content}" if entry.operation == "publish" else ""
    if entry.operation == "admit":
        content = f" as {authors_of([entry])[entry.subject].described()}"
    reason = f" ({entry.reason})" if entry.reason else ""
    return (
        f"{entry.sequence}  {entry.at[:16]}  {entry.author} {entry.operation} {entry.subject} "
        f"(version {entry.version}){content}{reason}"
    )
