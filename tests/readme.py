"""The parts of the pages that the program itself can give, between their comments.

python tests/readme.py      write them anew
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, get_args

import anyio
from model_nights import SMOKE
from nights import night, rows
from places import ROOT
from typer.core import TyperCommand, TyperOption
from typer.main import get_command

from slowwave.cli.app import app
from slowwave.cli.arguments.settings import keys_of
from slowwave.cli.mcp.offer import IS_DATA, make_server
from slowwave.cli.terminal.exits import MEANINGS
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing

README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"
MCP = ROOT / "docs" / "mcp.md"
# Which page holds which part.
PAGES = {
    **{"before": README, "after": README, "help": REFERENCE, "exits": REFERENCE},
    "keys": CONFIGURATION,
    "tools": MCP,
}
KEYS = keys_of(get_command(app))
# Memories that only a model can tell once, and what one answered about them.
RETOLD = ROOT / "fixtures" / "retold.jsonl"
ANSWERS = ROOT / "fixtures" / "retold.answers.jsonl"


def block(text: str, name: str) -> str:
    """Return what stands between the comments of this name."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    assert found is not None, f"no part is named {name}"
    return found.group(1)


def before() -> str:
    """Return the memories of the smoke fixture, as a reader sees them."""
    lines = [json.loads(line) for line in SMOKE.read_text("utf-8").splitlines()]
    return _fenced(
        "text", "".join(f"{one['observed_at'][:10]}  {one['content']}\n" for one in lines)
    )


def after(embedder: SentenceEmbedder) -> str:
    """Return what a night makes of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        create_file(path)
        with open_writing(path) as file, SMOKE.open("rb") as lines:
            from nights import NOW

            import_lines(file, lines, NOW)
        night(path, embedder)
        active = rows(
            path,
            "SELECT layer, content FROM memories WHERE status = 'active' ORDER BY observed_at, id",
        )
    return _fenced("text", "".join(f"{one['layer']:<8} {one['content']}\n" for one in active))


def help_text() -> str:
    """Return the options that the help of maintain shows, panel by panel."""
    table = "| option | |\n|---|---|\n"
    panels: dict[str, list[TyperOption]] = {}
    for option in every_command()["maintain"].params:
        if isinstance(option, TyperOption) and not option.hidden:
            panels.setdefault(option.rich_help_panel or "Options", []).append(option)
    for panel, options in panels.items():
        table += f"| **{panel}** | |\n"
        for option in options:
            name = " ".join(filter(None, (option.opts[0], option.metavar)))
            table += f"| `{name}` | {option.help} |\n".replace("NAME|PATH", "NAME\\|PATH")
    return table


def exits() -> str:
    """Return the table of exit codes."""
    table = "| code | meaning |\n|---|---|\n"
    return table + "".join(f"| {code.value} | {said} |\n" for code, said in MEANINGS.items())


def every_command() -> dict[str, TyperCommand]:
    """Return each command by its words, those of groups too."""
    top: Any = get_command(app)
    found: dict[str, TyperCommand] = {}
    for name in top.list_commands(None):
        command = top.get_command(None, name)
        within = getattr(command, "commands", None)
        found |= {f"{name} {one}": of for one, of in within.items()} if within else {name: command}
    return found


def keys() -> str:
    """Return the table of what slowwave.toml may hold."""
    table = "| key | for | takes | by default | |\n|---|---|---|---|---|\n"
    for key in sorted(KEYS):
        found = [
            (name, option)
            for name, command in every_command().items()
            for option in command.params
            if isinstance(option, TyperOption) and option.name == key
        ]
        _, first = next((one for one in found if one[0] == "maintain"), found[0])
        commands = ", ".join(f"`{name}`" for name, _ in found)
        cells = (f"`{key}`", commands, _takes(first), _default(first), first.help or "")
        table += "| " + " | ".join(one.replace("|", "\\|") for one in cells) + " |\n"
    return table


def _takes(option: TyperOption) -> str:
    """Return what TOML has to say for an option."""
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    kind = option.type_descriptor.annotation
    words = [f'`"{one}"`' for one in get_args(kind) if isinstance(one, str)]
    what = names.get(kind) or " or ".join(words) or "a text"
    return f"{what}, or several in a list" if option.multiple else what


def _default(option: TyperOption) -> str:
    default = option.default
    if default is None or callable(default):
        return ""
    return f"`{json.dumps(default)}`"


def tools() -> str:
    """Return the table of what the MCP server offers, with the arguments of each tool."""
    server = make_server(AgentMemory("memory.db"), Path("memory.db"), writes=True)
    table = "| tool | what it does | arguments | only reads |\n|---|---|---|---|\n"
    for tool in anyio.run(server.list_tools):
        does = (tool.description or "").removesuffix(IS_DATA)
        needed = tool.input_schema.get("required", ())
        arguments = [
            _argument(name, told, name in needed)
            for name, told in tool.input_schema["properties"].items()
        ]
        reads = "yes" if tool.annotations and tool.annotations.read_only_hint else "no"
        cells = (f"`{tool.name}`", does, "<br>".join(arguments), reads)
        table += "| " + " | ".join(one.replace("|", "\\|") for one in cells) + " |\n"
    return table


def _argument(name: str, told: dict[str, Any], needed: bool) -> str:
    """Return an argument, what it is by default, and what there is to say of it."""
    default = told.get("default")
    given = "" if needed or default is None else f" = {json.dumps(default)}"
    optional = "" if needed or given else " (optional)"
    return f"`{name}{given}`{optional}: {told['description']}"


def parts(embedder: SentenceEmbedder) -> dict[str, str]:
    """Return every part that the program can give."""
    return {
        "before": before(),
        "after": after(embedder),
        "help": help_text(),
        "exits": exits(),
        "keys": keys(),
        "tools": tools(),
    }


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}```\n"


def commands_of(example: str) -> list[str]:
    """Return the commands of an example of a page."""
    return [line[2:] for line in example.splitlines() if line.startswith("$ ")]


if __name__ == "__main__":
    for name, part in parts(SentenceEmbedder()).items():
        written = PAGES[name].read_text("utf-8")
        made = written.replace(
            f"<!-- {name} -->\n{block(written, name)}", f"<!-- {name} -->\n{part}"
        )
        PAGES[name].write_text(made, "utf-8")
