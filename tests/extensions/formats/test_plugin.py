"""The plugin of Claude Code, Codex and OpenClaw: its files, hooks, and the memories it finds."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from agents_files import make_file, make_program
from cli_calls import Cli, Ended, in_a_process
from nights import daily, fill, unchanged
from places import FORMATS, ROOT
from readme import every_command

PLUGIN = ROOT / "plugins" / "slowwave"
MARKETPLACES = (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json")
MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json")
HOOKS = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
SKILL = (PLUGIN / "skills" / "dream" / "SKILL.md").read_text("utf-8")
SERVERS = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]
PLACEHOLDERS = {"FILE", "ANSWERS", "NAME"}
# Enough for a night to be due.
DOZEN = tuple(f"Room {number} has {number * 7 + 3} chairs." for number in range(12))


def commands_of(event: str) -> list[str]:
    """Return the shell commands of a hook."""
    return [hook["command"] for group in HOOKS[event] for hook in group["hooks"]]


def commands_named() -> list[list[str]]:
    """Return each call of slowwave that the plugin names, as words after its name."""
    texts = re.findall(r"`(slowwave [^`]+)`", SKILL)
    texts += [command for event in HOOKS for command in commands_of(event)]
    texts += [" ".join(server["args"]) for server in SERVERS.values()]
    calls = [re.search(r"slowwave ([^|]*?)(?: 2>.*)?(?:\||$)", text) for text in texts]
    return [shlex.split(call[1]) for call in calls if call is not None]


class Session:
    """An agent's session in a folder, with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.bin = folder / "bin"
        for path in (self.home, self.project, self.bin):
            path.mkdir()
        make_program(self.bin)

    @property
    def memory(self) -> Path:
        """Claude Code's memory folder of the project."""
        slug = re.sub("[^A-Za-z0-9]", "-", str(self.project.resolve()))
        return self.home / ".claude" / "projects" / slug / "memory"

    def run(self, command: str, **options: Any) -> Ended:
        """Run a command as an agent's hook does."""
        path = f"{self.bin}:/usr/bin:/bin"
        extra = {"cwd": self.project, "input": json.dumps({"cwd": str(self.project)}), **options}
        env = {"HOME": str(self.home), "PATH": path}
        return in_a_process("/bin/sh", "-c", command, env=env, **extra)

    def hear(self, event: str) -> str:
        """Return the line that a user is shown at an event; "" for none."""
        (command,) = commands_of(event)
        ended = self.run(command)
        assert (ended.code, ended.err) == (0, "")
        if not ended.out:
            return ""
        shown = ended.json
        context = shown.get("hookSpecificOutput", {"additionalContext": shown["systemMessage"]})
        assert context["additionalContext"] == shown["systemMessage"]
        assert context.get("hookEventName", event) == event
        return str(shown["systemMessage"])

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Return every file with its bytes and its time, without the memory of SQLite's readers."""
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in self.home.parent.rglob("*")
            if path.is_file() and not path.name.endswith("-shm")
        }


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


@pytest.fixture
def claude(session: Session, tmp_path: Path) -> Session:
    """Provide a session of Claude Code with twelve memories."""
    session.memory.parent.mkdir(parents=True)
    shutil.move(make_file("claude-code", tmp_path / "made", DOZEN), session.memory)
    return session


def test_the_manifests_have_the_name_and_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name in MANIFESTS:
        manifest = json.loads((PLUGIN / name).read_text("utf-8"))
        assert (manifest["name"], manifest["version"]) == (project["name"], project["version"])
        assert manifest["license"] == project["license"]
        parts = [manifest[key] for key in ("skills", "mcpServers", "hooks") if key in manifest]
        assert all((PLUGIN / part).exists() for part in parts)


@pytest.mark.parametrize("name", MARKETPLACES)
def test_a_marketplace_names_the_folder_of_the_plugin(name: str) -> None:
    marketplace = json.loads((ROOT / name).read_text("utf-8"))
    (plugin,) = marketplace["plugins"]
    source = plugin["source"]
    path = source if isinstance(source, str) else source["path"]
    assert (marketplace["name"], plugin["name"]) == ("slowwave", "slowwave")
    assert path.startswith("./")
    assert (ROOT / path).resolve() == PLUGIN


def test_the_skill_is_short_and_has_the_name_of_its_folder() -> None:
    _, front, body = SKILL.split("---\n", 2)
    assert "name: dream\n" in front
    assert len(body.strip().splitlines()) <= 10


def test_every_command_of_the_plugin_exists_with_its_options() -> None:
    commands = every_command()
    named = commands_named()
    assert {words[0] for words in named} >= {"formats", "maintain", "questions", "answer", "mcp"}
    for words in named:
        options = {each for option in commands[words[0]].params for each in option.opts}
        used = {word for word in words[1:] if word.startswith("--")}
        assert used <= options, words
        arguments = [word for word in words[1:] if word.isupper()]
        assert {*arguments} <= PLACEHOLDERS, words


def test_a_hook_is_silent_without_a_memory_or_slowwave(session: Session) -> None:
    assert session.hear("SessionStart") == ""
    (session.bin / "slowwave").unlink()
    for event in HOOKS:
        assert session.hear(event) == ""


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"cwd": 5}', '{"cwd": "/\\u0000"}'])
def test_a_hook_exits_0_for_any_input(text: str, claude: Session) -> None:
    (command,) = commands_of("SessionStart")
    assert claude.run(command, input=text).code == 0


def test_a_hook_does_not_wait_for_input() -> None:
    command = [sys.executable, "-m", "slowwave.cli", "formats", "--hook", "session-start"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.wait(timeout=60) == 0


def test_a_hook_names_due_runs_and_pending_proposals(claude: Session, cli: Cli) -> None:
    before = claude.files()
    for event in HOOKS:
        assert f"{len(DOZEN)} memories are new" in claude.hear(event)
    assert claude.files() == before
    shutil.copy(next(claude.memory.glob("[!M]*.md")), claude.memory / "again.md")
    reviewed = ("maintain", claude.memory, "--format", "claude-code", "--review", "always")
    assert cli(*reviewed).code == 0
    before = claude.files()
    line = claude.hear("SessionStart")
    assert f"1 proposal is pending. To decide: slowwave review {claude.memory}" in line
    assert claude.hear("SessionEnd") == ""
    assert claude.files() == before


def test_a_disabled_file_is_not_due(claude: Session) -> None:
    (claude.memory.parent / "slowwave.toml").write_text("enabled = false\n")
    assert claude.hear("SessionStart") == ""


def test_a_damaged_memory_does_not_hide_a_second_one(claude: Session) -> None:
    (claude.project / "memory.jsonl").write_bytes(b"\x00\xff")
    (claude.project / "memory.db").write_bytes(b"SQLite format 3\x00" + bytes(100))
    assert "memories are new" in claude.hear("SessionStart")


def test_an_openclaw_workspace_is_found(session: Session, memory_file: Path) -> None:
    workspace = session.home / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("".join(f"- {text}\n" for text in DOZEN))
    with unchanged(session.files):
        assert f"{workspace}/MEMORY.md is due" in session.hear("SessionStart")
    fill(memory_file, daily(DOZEN, "chairs"))
    memory_file.rename(session.project / "memory.db")
    assert "project/memory.db is due" in session.hear("SessionEnd")


def found_memories(session: Session, folder: Path, **environment: str) -> list[tuple[str, str]]:
    """Return the memories of a session in a folder, each with its format."""
    setting = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
    ended = session.run(f"{setting} slowwave formats --find --json", cwd=folder).ends(0)
    return [(each["file"], each["format"]) for each in ended.json["found"]]


def test_the_daily_files_of_openclaw_are_found_after_the_rest(session: Session) -> None:
    workspace = session.home / ".openclaw" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    names = ("MEMORY.md", "memory/2026-02-21-trip.md", "memory/2026-02-20.md")
    for name in (*names, "memory/notes.md"):
        (workspace / name).write_text("- The heron nests at the weir.\n")
    paths = [(str(workspace / name), "markdown") for name in names]
    assert found_memories(session, session.project) == paths
    assert found_memories(session, workspace) == paths


def test_worktrees_of_a_repository_share_one_claude_code_memory(claude: Session) -> None:
    (claude.project / ".git" / "worktrees" / "tree").mkdir(parents=True)
    below = claude.project / "src" / "deep"
    below.mkdir(parents=True)
    tree = claude.project.with_name("tree")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {claude.project}/.git/worktrees/tree\n")
    for folder in (claude.project, below, tree):
        assert found_memories(claude, folder) == [(str(claude.memory), "claude-code")]
    assert found_memories(claude, claude.home) == []


def test_the_memory_in_the_environment_comes_first(session: Session, memory_file: Path) -> None:
    places = {
        ".hermes/memories/MEMORY.md": FORMATS / "hermes" / "memories" / "MEMORY.md",
        ".codex/memories/MEMORY.md": FORMATS / "markdown" / "MEMORY.md",
    }
    for place, recorded in places.items():
        (session.home / place).parent.mkdir(parents=True)
        shutil.copy(recorded, session.home / place)
    shutil.copy(FORMATS / "mcp-server-memory" / "memory.jsonl", session.project)
    fill(memory_file, daily(DOZEN, "chairs"))
    assert found_memories(session, session.project, SLOWWAVE_FILE=str(memory_file)) == [
        (str(memory_file), "slowwave"),
        (str(session.project / "memory.jsonl"), "mcp-server-memory"),
        (str(session.home / ".hermes/memories/MEMORY.md"), "hermes"),
        (str(session.home / ".codex/memories/MEMORY.md"), "markdown"),
    ]
