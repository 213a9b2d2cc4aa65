"""Hints to an agent name tools; what only a command can do is for a person."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest
from places import ROOT
from readme import every_command

from slowwave.cli.mcp.consolidation_tools import ConsolidationTools
from slowwave.cli.mcp.hints import WORDING, for_agent
from slowwave.cli.mcp.tools import Tools


def sentences() -> Iterator[str]:
    """Yield the strings of the source of which errors are composed."""
    for folder in ("store", "consolidation"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def test_each_wording_is_that_of_an_error() -> None:
    source = " ".join(sentences())
    # "'slowwave {list FILE --status any|log FILE}' lists them."
    built = {"'slowwave log FILE' lists them.", "'slowwave list FILE --status any' lists them."}
    assert [words for words in WORDING if words not in source and words not in built] == []


def test_commands_in_hints_have_their_file() -> None:
    takes_a_file = {
        name.split()[0]
        for name, command in every_command().items()
        if name != "import" and any(parameter.name == "file" for parameter in command.params)
    }
    named = [
        match[0]
        for text in sentences()
        for match in re.finditer(r"'slowwave ([a-z]+)[^']*'?", text)
        if match[1] in takes_a_file
    ]
    assert len(named) > 10
    assert [command for command in named if " FILE" not in command] == []


def test_tools_in_hints_exist() -> None:
    offered = {name for cls in (Tools, ConsolidationTools) for name, _ in inspect.getmembers(cls)}
    named = {words.split()[0].rstrip(":") for words in WORDING.values() if "_" in words}
    assert set() < named <= offered


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("Specify more of the id.", "Specify more of the id."),
        (
            "Restore it from a backup; 'slowwave check FILE' lists the damage. Do it soon.",
            "Ask the person who runs this server: Restore it from a backup; 'slowwave check FILE' "
            "lists the damage. Do it soon.",
        ),
        (
            "Nothing was changed. Fix that, or run without --backup.",
            "Nothing was changed. Ask the person who runs this server: Fix that, or run without "
            "--backup.",
        ),
        (
            "'slowwave show FILE MEMORY --lineage' shows the texts of purged memories; a backup "
            "has their rows.",
            "trace shows the texts of purged memories; a backup has their rows.",
        ),
        (
            "Nothing was changed. 'slowwave correct FILE MEMORY' may change it.",
            "Nothing was changed. Ask the person who runs this server: 'slowwave correct FILE "
            "MEMORY' may change it.",
        ),
        ("", ""),
    ],
)
def test_hints_name_tools_or_are_for_a_person(hint: str, expected: str) -> None:
    assert for_agent(hint) == expected
