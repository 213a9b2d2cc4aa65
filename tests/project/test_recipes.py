"""The examples of docs/integrations.md work when they are copied."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from cli_calls import Ended, in_a_process
from mcp import Client
from mcp_client import in_this_process
from nights import TWINS, daily, fill
from places import ROOT
from readme import every_command

PAGE = (ROOT / "docs" / "integrations.md").read_text("utf-8")
MCP = PAGE.split("\n## MCP\n")[1].split("\n## The agent as the model\n")[0]


def blocks(page: str, language: str) -> list[str]:
    """Return the examples of a page that are in this language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands_in(page: str) -> list[list[str]]:
    """Return each call of slowwave on a page, as words from the name of its command on."""
    examples = "\n".join(re.findall(r"```\w+\n(.*?)```", page, re.DOTALL))
    found = re.findall(r"(?:/|\s|\()slowwave ([a-z]+ [^\n)>|]*)", examples)
    return [shlex.split(each, comments=True) for each in found]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Provide a folder with slowwave in it, and a mail that keeps what it is given."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, line in {
        "slowwave": f'exec {sys.executable} -m slowwave.cli "$@"',
        "mail": f'echo "$2" > {tmp_path}/subject; cat > {tmp_path}/mail',
        "hostname": "echo here",
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return folder


def shell(script: str, folder: Path, programs: Path) -> Ended:
    path = f"{programs}:{os.environ['PATH']}"
    return in_a_process("/bin/sh", "-c", script, cwd=folder, env={**os.environ, "PATH": path})


def test_every_option_of_a_recipe_is_known() -> None:
    commands = every_command()
    found = commands_in(PAGE)
    assert len(found) > 12
    for name, *words in found:
        # Of a group, its first verb.
        command = commands.get(name) or commands[f"{name} list"]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, name


def test_the_property_list_of_launchd_is_valid() -> None:
    (text,) = blocks(PAGE, "xml")
    job = plistlib.loads(text.encode())
    arguments = ["maintain", "/Users/agent/memory.db", "--backup", "--quiet"]
    assert job["ProgramArguments"][1:] == arguments
    assert job["StartCalendarInterval"] == {"Hour": 3, "Minute": 40}


def test_the_check_for_ci_succeeds(tmp_path: Path, programs: Path) -> None:
    script = next(each for each in blocks(PAGE, "sh") if "smoke.jsonl" in each)
    (tmp_path / "fixtures").mkdir()
    shutil.copy(ROOT / "fixtures" / "smoke.jsonl", tmp_path / "fixtures")
    shell(script, tmp_path, programs).ends(0)
    assert len(json.loads((tmp_path / "night.json").read_text())["proposals"]) == 1


@pytest.mark.parametrize(
    ("there", "subject"),
    [(True, "Memory of here: exit code 0"), (False, "Memory of here: exit code 10")],
)
def test_mail_has_the_result(there: bool, subject: str, memory_file: Path, programs: Path) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    if not there:
        memory_file.unlink()
    script = next(each for each in blocks(PAGE, "sh") if "mail -s" in each)
    script = script.replace("/var/lib/agent/memory.db", str(memory_file))
    ended = shell(script, memory_file.parent, programs)
    assert str(ended.code) == subject.split()[-1]
    assert memory_file.with_name("subject").read_text().strip() == subject
    message = memory_file.with_name("mail").read_text()
    assert ("slowwave undo" if there else "There is no file") in message


@pytest.mark.parametrize("config", blocks(MCP, "json"))
def test_a_configured_client_has_the_tools_of_the_page(config: str, tmp_path: Path) -> None:
    (server,) = json.loads(config)["mcpServers"].values()
    assert server["command"].endswith("slowwave")
    command, path, *options = server["args"]
    assert command == "mcp"
    tools = re.findall(r"^\| `([a-z_]+)` \| .* \| (yes|no) \|$", MCP, re.MULTILINE)

    async def conversation(client: Client) -> list[tuple[str, str]]:
        return [
            (tool.name, "yes" if tool.annotations and tool.annotations.read_only_hint else "no")
            for tool in (await client.list_tools()).tools
        ]

    assert in_this_process(conversation, tmp_path / Path(path).name, *options) == tools


def test_the_program_of_the_page_runs(memory_file: Path, programs: Path) -> None:
    fill(memory_file, ["Oksana has the pager."])
    (program,) = blocks(MCP, "python")
    memory_file.with_name("program.py").write_text(f"{program}\n\nimport anyio\nanyio.run(main)\n")
    ended = shell(f"{sys.executable} program.py", memory_file.parent, programs)
    ended.ends(0).says("Oksana has the pager.")
