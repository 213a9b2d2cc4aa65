"""`slowwave show --lineage`: what a memory was made from, and what was made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.options import HtmlOption, setting
from slowwave.cli.pages.branches import Branch, trees_of
from slowwave.cli.pages.lineage_json import trace_as_json
from slowwave.cli.pages.report_file import STDOUT, refuse_unwritable, write_report
from slowwave.cli.results.authors import author_of
from slowwave.cli.results.ingest_report import message_as_json, message_as_text
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.wording import shortened_for_stdout
from slowwave.store.places import Place

if TYPE_CHECKING:
    from rich.tree import Tree

    from slowwave.store.intake import KeptMessage
    from slowwave.store.lineage import KeptClaim, Lineage

# How many generations stand inside each other before a new tree begins: lines have an end.
_DEPTH_OF_TEXT = 12
# So many characters of a memory are shown on a terminal; a pipe or a program gets all of them.
_MOST_SHOWN = 20_000


@dataclass(frozen=True)
class LineageOptions:
    """Whether lineage is shown, and in which form."""

    lineage: Annotated[
        bool,
        typer.Option(
            "--lineage",
            allow_from_autoenv=False,
            help="Show all memories that it was derived from, and that were derived from it.",
        ),
    ] = False
    dot: Annotated[
        bool,
        typer.Option(
            "--dot",
            allow_from_autoenv=False,
            help="Write the lineage as a Graphviz graph, as in --dot | dot -Tsvg.",
        ),
    ] = False
    mermaid: Annotated[
        bool,
        typer.Option(
            "--mermaid", allow_from_autoenv=False, help="Write the lineage as a Mermaid graph."
        ),
    ] = False
    html: HtmlOption = None
    tree: Annotated[
        bool, setting("--tree", allow_from_autoenv=False, help="Same as --lineage.")
    ] = False

    @property
    def wanted(self) -> bool:
        """Whether lineage is shown in any form."""
        return self.lineage or self.tree or self.dot or self.mermaid or self.html is not None

    def refuse_two_forms(self, json: bool) -> None:
        """Refuse more than one form. Raises `typer.BadParameter` and `StoreError`."""
        if sum((self.tree, self.dot, self.mermaid, json, self.html is not None)) > 1:
            raise typer.BadParameter("Pass only one of --dot, --mermaid, --html and --json.")
        if self.html is not None:
            refuse_unwritable(self.html)


def show_lineage(place: Place, memory: str, options: LineageOptions, output: Output) -> None:
    """Show where a memory came from and what was made from it.

    With the words of memories that are no longer in the file. Raises `StoreError`.
    """
    options.refuse_two_forms(output.json)
    from slowwave.store.file import open_reading
    from slowwave.store.intake import read_messages_of
    from slowwave.store.lineage import (
        Ancestor,
        find_memory_or_source,
        read_claims,
        read_derivations,
        trace_derived,
        trace_sources,
    )

    with place.reading() as memory_file, open_reading(memory_file) as opened:
        found = find_memory_or_source(opened, memory)
        sources, derived = trace_sources(opened, found.id), trace_derived(opened, found.id)
        claims = read_claims(opened, found.id)
        derivations = read_derivations(opened, found.id)
        messages = read_messages_of(opened, _with_ancestors(found.id, sources))
    if options.html is not None:
        from slowwave.cli.pages.lineage_page import as_lineage_page

        trees = [trees_of(one, _DEPTH_OF_TEXT) for one in (sources, derived)]
        page = as_lineage_page(str(place.named), found, claims, *trees)
        write_report(options.html, page, place.named)
        if options.html != STDOUT:
            output.show(clean(f"Written: {options.html}"))
        return
    if options.dot or options.mermaid:
        from slowwave.cli.pages.graph import Node, as_dot, as_mermaid, graph_of

        graph = graph_of(Node(found.id, found.content, found.status), sources, derived)
        output.show(as_dot(graph) if options.dot else as_mermaid(graph))
        return
    if output.json:
        output.result(
            trace_as_json(found, claims, derivations, sources, derived)
            | {
                "messages": [
                    {"memory": memory_id} | message_as_json(one)
                    for memory_id, several in messages.items()
                    for one in several
                ]
            }
        )
        return
    from rich.text import Text
    from rich.tree import Tree

    layer = None if isinstance(found, Ancestor) else found.layer
    said = shortened_for_stdout(found.content, _MOST_SHOWN)
    shown = ", ".join(filter(None, (layer, found.status)))
    root = Tree(Text(f"{clean(found.id)} ({shown}) {said}"))
    _show_tree(root, claims)
    for made in derivations:
        writer = made.model or made.writer
        root.add(Text(clean(f"{made.operation} by {writer}, prompt {made.prompt_hash[:12]}")))
    _say(root, found.id, messages)
    _grow(root, sources, "made from")
    _grow(root, derived, "made into")
    if not sources.steps and not derived.steps and not messages:
        root.add(Text("nothing was made from it, and it was made from nothing"))
    output.show(root)


def _show_tree(tree: Tree, claims: Sequence[KeptClaim]) -> None:
    """Yield for each statement who worded it, and who confirmed it."""
    from rich.text import Text

    if claims:
        branch = tree.add(Text("says"))
        for one in claims:
            branch.add(Text(clean(f"{shortened_for_stdout(one.text, 400)} ({author_of(one)})")))


def _with_ancestors(memory_id: str, sources: Lineage) -> list[str]:
    """Return the ids of a memory and of all that it was made from."""
    behind = (one.id for several in sources.steps.values() for one in several)
    return list(dict.fromkeys([memory_id, *behind]))


def _say(tree: Tree, memory_id: str, messages: Mapping[str, Sequence[KeptMessage]]) -> None:
    """Add the messages that a memory was taken from, and those behind what it was made from."""
    from rich.text import Text

    for one_id, several in messages.items():
        of = "" if one_id == memory_id else f", behind {one_id}"
        branch = tree.add(Text(clean(f"said in{of}")))
        for one in several:
            branch.add(Text(clean(shortened_for_stdout(message_as_text(one), 400))))


def _grow(tree: Tree, lineage: Lineage, title: str) -> None:
    from rich.text import Text

    for root, branches in trees_of(lineage, _DEPTH_OF_TEXT):
        if branches:
            further = "" if root == lineage.start else f", further on from {root}"
            _add(tree.add(Text(f"{title}{further}")), branches)


def _add(tree: Tree, branches: tuple[Branch, ...]) -> None:
    from rich.text import Text

    for one in branches:
        ancestor = one.ancestor
        said = shortened_for_stdout(ancestor.content, 400)
        where = ", shown in another place" if one.seen else ", goes on below" * one.continued
        line = f"{ancestor.operation}: {said} ({ancestor.status}, {ancestor.id}{where})"
        _add(tree.add(Text(clean(line))), one.behind)
