"""Generated parts of pages, between their comments, and their examples.

python tests/readme.py [NAME...]      write them again
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from nights import rows
from places import ROOT
from typer.core import TyperArgument, TyperCommand, TyperOption
from typer.main import get_command

from slowwave.cli.app import app
from slowwave.cli.arguments.old_spellings import replacement_of
from slowwave.cli.arguments.settings import settable_options
from slowwave.cli.mcp.offer import make_server
from slowwave.cli.terminal.exits import MEANINGS
from slowwave.consolidation.agent import AgentMemory

README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
INTEGRATIONS = ROOT / "docs" / "integrations.md"
# The page of each example that tests run.
EXAMPLES = {
    "example": README,
    "review": REFERENCE,
    **{"foreign": INTEGRATIONS, "plugin": INTEGRATIONS, "trial": INTEGRATIONS},
}
# The page of each example that follows the first one, with the same file.
LATER_EXAMPLES = {
    "corrections": REFERENCE,
    "forget": ROOT / "docs" / "reliability.md",
    "lessons": ROOT / "docs" / "organisation.md",
    "recall": ROOT / "docs" / "recall.md",
    "shared": ROOT / "docs" / "organisation.md",
}
# Keys that only old configurations have: `phase` replaces them.
SUPERSEDED = {"all_phases", "consolidate", "decay", "expire", "purge"}
KEYS = frozenset(option.name or "" for option in settable_options(get_command(app)))
# The memories that the README shows before and after a night: a schedule, a rule, a contradiction.
SHOWN = tuple(f"retold-{number:02d}" for number in (1, 5, 6, 8, 12, 17, 19, 20, 21, 23, 25))
_RESULTS = """
    SELECT layer, content FROM memories
    WHERE status = 'active'
      AND (id IN ({0}) OR id IN (SELECT derived_id FROM synthesized_from WHERE source_id IN ({0})))
    ORDER BY observed_at, id
"""
# Memories that only a model can tell once, and what one answered about them.
RETOLD = ROOT / "fixtures" / "retold.jsonl"
ANSWERS = ROOT / "fixtures" / "retold.answers.jsonl"


def block(text: str, name: str) -> str:
    """Return the part between the comments of this name."""
    match = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    assert match is not None, f"no part is named {name}"
    return match.group(1)


def example(name: str) -> str:
    """Return an example that a page gives."""
    return block((EXAMPLES | LATER_EXAMPLES)[name].read_text("utf-8"), name)


def before() -> str:
    """Return the memories that the README shows, each with its day."""
    memories = [json.loads(line) for line in RETOLD.read_text("utf-8").splitlines()]
    lines = [
        f"{memory['observed_at'][:10]}  {memory['content']}\n"
        for memory in memories
        if memory["id"] in SHOWN
    ]
    return _fenced("text", "".join(lines))


def after() -> str:
    """Return the memories of the README after a night with the recorded answers."""
    with tempfile.TemporaryDirectory() as folder:
        path, answers = Path(folder) / "memory.db", Path(folder) / "answers.jsonl"
        shutil.copy(ANSWERS, answers)
        _slowwave(folder, "import", path.name, str(RETOLD))
        message = _slowwave(folder, "maintain", path.name, SLOWWAVE_REPLAY=str(answers))
        active = rows(path, _RESULTS.format(", ".join(f"'{memory}'" for memory in SHOWN)))
    lines = [f"{memory['layer']:<8} {memory['content']}\n" for memory in active]
    return _fenced("text", "".join([message.splitlines()[0], "\n\n", *lines]))


def _slowwave(folder: str, *arguments: str, **settings: str) -> str:
    """Return what a command writes to stdout."""
    ended = subprocess.run(
        [sys.executable, "-m", "slowwave.cli", *arguments],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


def commands() -> str:
    """Return all commands with their arguments."""
    lines = ""
    for name, command in every_command().items():
        arguments = [
            _placeholder(parameter)
            for parameter in command.params
            if isinstance(parameter, TyperArgument)
        ]
        lines += f"{' '.join([name, *arguments])}\n"
    return _fenced("text", lines)


def _placeholder(argument: TyperArgument) -> str:
    """Return an argument as a synopsis shows it."""
    name = (argument.metavar or (argument.name or "").upper()).strip("[]")
    shown = f"{name}..." if argument.nargs != 1 else name
    return shown if argument.required else f"[{shown}]"


def exits() -> str:
    """Return the table of exit codes."""
    table = "| code | meaning |\n|---|---|\n"
    return table + "".join(f"| {code.value} | {item} |\n" for code, item in MEANINGS.items())


def every_command() -> dict[str, TyperCommand]:
    """Return each command by its words, those of groups too."""
    top: Any = get_command(app)
    by_words: dict[str, TyperCommand] = {}
    for name in top.list_commands(None):
        command = top.get_command(None, name)
        within = getattr(command, "commands", None)
        by_words |= (
            {f"{name} {item}": sub for item, sub in within.items()} if within else {name: command}
        )
    return by_words


def keys() -> str:
    """Return the table of the keys that are deprecated as options, with the page's notes."""
    page = CONFIGURATION.read_text("utf-8")
    notes = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", page, re.MULTILINE))
    table = "| key | default, or type | |\n|---|---|---|\n"
    for option in sorted(every_command()["maintain"].params, key=lambda option: option.name or ""):
        if option.name in KEYS - SUPERSEDED and replacement_of(option):
            assert isinstance(option, TyperOption)
            note = notes.get(option.name, option.help)
            table += f"| `{option.name}` | {_value(option)} | {note} |\n"
    return table


def _value(option: TyperOption) -> str:
    """Return the default of an option, or else its TOML type."""
    if option.default is not None and not callable(option.default):
        return f"`{json.dumps(option.default)}`"
    types = {bool: "boolean", int: "integer", float: "number"}
    name = types.get(option.type_descriptor.annotation, "string")
    return f"{name} or list" if option.multiple else name


def tools() -> str:
    """Return the names of the tools of the MCP server."""
    server = make_server(AgentMemory("memory.db"), Path("memory.db"), writes=True)
    names: dict[bool, list[str]] = {True: [], False: []}
    for tool in anyio.run(server.list_tools):
        reads = bool(tool.annotations and tool.annotations.read_only_hint)
        names[reads].append(f"`{tool.name}`")
    reading, writing = (", ".join(names[reads]) for reads in (True, False))
    return f"- Always: {reading}\n- With `--allow-writes`: {writing}\n"


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}```\n"


def commands_of(example: str) -> list[str]:
    """Return the commands of an example of a page."""
    return [line[2:] for line in example.splitlines() if line.startswith("$ ")]


# Each part that the program writes, by its name, and its page.
PARTS = {
    **{"before": (README, before), "after": (README, after)},
    **{"commands": (REFERENCE, commands), "exits": (REFERENCE, exits)},
    **{"keys": (CONFIGURATION, keys), "tools": (INTEGRATIONS, tools)},
}


def main(names: list[str]) -> None:
    """Rewrite the parts of these names, or all parts."""
    for name in names or PARTS:
        page, make = PARTS[name]
        written = page.read_text("utf-8")
        page.write_text(written.replace(block(written, name), make(), 1), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
