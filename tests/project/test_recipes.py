"""The examples of docs/integrations.md work when they are copied."""

from __future__ import annotations

import json
import plistlib
import re
import shlex
from pathlib import Path

import pytest
from mcp import Client
from mcp_client import in_this_process
from places import ROOT
from readme import block, every_command

PAGE = (ROOT / "docs" / "integrations.md").read_text("utf-8")
MCP = PAGE.split("\n## MCP\n")[1].split("\n## The agent as the model\n")[0]


def blocks(page: str, language: str) -> list[str]:
    """Return the examples of a page that are in this language."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def commands_in(page: str) -> list[list[str]]:
    """Return each call of slowwave on a page, as words from its command on."""
    examples = "\n".join(re.findall(r"```\w+\n(.*?)```", page, re.DOTALL))
    calls = re.findall(r"(?:/|\s|\()slowwave ([a-z]+ [^\n)>|]*)", examples)
    return [shlex.split(each, comments=True) for each in calls]


def test_every_option_of_a_recipe_is_known() -> None:
    commands = every_command()
    calls = commands_in(PAGE)
    assert len(calls) > 12
    for name, *words in calls:
        # Of a group, its first verb.
        command = commands.get(name) or commands[f"{name} list"]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, name


def test_the_property_list_of_launchd_is_valid() -> None:
    (text,) = blocks(PAGE, "xml")
    job = plistlib.loads(text.encode())
    arguments = ["maintain", "/Users/agent/memory.db", "--backup", "--quiet"]
    assert job["ProgramArguments"][1:] == arguments
    assert job["StartCalendarInterval"] == {"Hour": 3, "Minute": 40}


@pytest.mark.parametrize("config", blocks(MCP, "json"))
def test_a_configured_client_has_the_tools_of_the_page(config: str, tmp_path: Path) -> None:
    (server,) = json.loads(config)["mcpServers"].values()
    assert server["command"].endswith("slowwave")
    command, path, *options = server["args"]
    assert command == "mcp"
    tools = re.findall("`([a-z_]+)`", block(MCP, "tools"))

    async def conversation(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert {*in_this_process(conversation, tmp_path / Path(path).name, *options)} == {*tools}
