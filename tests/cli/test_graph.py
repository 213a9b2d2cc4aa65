"""Lineage as a graph for Graphviz and Mermaid, with any text of a memory."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from browser import HOSTILE
from cli_calls import Cli
from nights import fill, night, of_one_thing, rows, told

from slowwave.consolidation.vectors.embedder import SentenceEmbedder

DOT = shutil.which("dot")
# Also what means something in these two languages.
ODD = (*HOSTILE, '"]; n9 -> n8 [label="', "\\", '\\" \\n \\N', "&lt;b&gt;", "%%{init: {}}%% end;")


@pytest.fixture
def made(memory_file: Path, embedder: SentenceEmbedder) -> Path:
    """Provide a file in which one memory was made of several."""
    fill(memory_file, told(of_one_thing(), "oncall"))
    night(memory_file, embedder)
    return memory_file


@pytest.fixture
def odd(memory_file: Path, embedder: SentenceEmbedder) -> Path:
    """Provide a file with merges of texts, and under ids, that are more than text elsewhere."""
    for number, text in enumerate(ODD):
        same = [f"Note {number} of the gateway says {text}"] * 2
        fill(memory_file, told(same, f'"]<b>{number}\\', session=str(number)))
    night(memory_file, embedder)
    return memory_file


def derived(path: Path) -> tuple[str, set[str]]:
    """Return a memory that was made of others, and those."""
    edges = rows(path, "SELECT derived_id, source_id FROM synthesized_from")
    found = edges[0]["derived_id"]
    return found, {edge["source_id"] for edge in edges if edge["derived_id"] == found}


@pytest.mark.parametrize("form", ["--dot", "--mermaid"])
def test_a_graph_has_each_memory_once_and_an_edge_from_each_source(
    form: str, made: Path, cli: Cli
) -> None:
    memory, sources = derived(made)
    text = cli("show", "--lineage", made, memory, form).out
    for source in (memory, *sources):
        assert len(re.findall(rf'"{source}\b', text)) == 1
    assert len(re.findall(r"^  n\d+ -.*> n0", text, re.MULTILINE)) == len(sources)
    # From a source one sees what it became.
    text = cli("show", "--lineage", made, next(iter(sources)), form).out
    assert len(re.findall(r"^  n0 -.*> n1", text, re.MULTILINE)) == 1


def test_a_memory_without_lineage_is_a_graph_of_one(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, told(["The lift is out of order."], "lift"))
    assert "n1" not in cli("show", "--lineage", memory_file, "lift-00", "--dot").out
    assert "n1" not in cli("show", "--lineage", memory_file, "lift-00", "--mermaid").out


def test_a_graph_comes_in_one_form_at_a_time(made: Path, cli: Cli) -> None:
    items = ("--dot", "--mermaid"), ("--dot", "--json"), ("--html", "-", "--json")
    with_tree = ("--tree", "--dot"), ("--tree", "--json"), ("--tree", "--html", "-")
    for rest in (*items, *with_tree):
        assert cli("show", "--lineage", made, "oncall-00", *rest).code == 2


def test_without_a_form_a_lineage_is_shown_as_a_tree(made: Path, cli: Cli) -> None:
    memory, sources = derived(made)
    tree = cli("show", "--lineage", made, memory, "--tree").out
    assert all(source in tree for source in (memory, *sources))
    assert tree == cli("show", "--lineage", made, memory).out


@pytest.mark.skipif(DOT is None, reason="no graphviz on this machine")
def test_graphviz_draws_what_memories_say_and_nothing_else(odd: Path, cli: Cli) -> None:
    assert DOT is not None
    for row in rows(odd, "SELECT id FROM memories WHERE status = 'active'"):
        text = cli("show", "--lineage", odd, row["id"], "--dot").out
        drawn = subprocess.run([DOT, "-Tjson"], input=text, capture_output=True, text=True)
        assert (drawn.returncode, drawn.stderr) == (0, "")
        graph = json.loads(drawn.stdout)
        assert len(graph["objects"]) == 2
        assert len(graph["edges"]) == 1


def test_no_sign_of_a_memory_means_anything_to_mermaid(odd: Path, cli: Cli) -> None:
    node = r"  n\d+\[\"(?:[\w .,:'()-]|#\d+;|<br/>)*\"\]"
    edge = r"  n\d+ -- \"\w+\" --> n\d+"
    style = (
        r"  (?:style n0 stroke-width:3px|classDef past stroke-dasharray:4 3|class n[n,\d]* past)"
    )
    for row in rows(odd, "SELECT id FROM memories WHERE status = 'active'"):
        first, *lines = cli("show", "--lineage", odd, row["id"], "--mermaid").out.splitlines()
        assert first == "flowchart LR"
        assert [line for line in lines if not re.fullmatch(f"{node}|{edge}|{style}", line)] == []
