"""The programs that `command_line` runs: their arguments, their isolation, and what they print.

Each was tried with its real package: Claude Code 2.1.330 and codex 0.171.0.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from .prompts import Messages

# What a program prints if every other call would end in the same way: no login, no such model, or
# nothing left of a plan.
_REFUSES_ALL_STATUS = (401, 402, 403, 404)
_REFUSES_ALL = re.compile(
    r"not logged in|log ?in again|/login|codex login|invalid api key|incorrect api key|"
    r"401 unauthorized|403 forbidden|credit balance|insufficient_quota|"
    r"usage limit|hit your .{0,20}limit|limit reached|"
    r"selected model|model.{0,80}(does not exist|not exist|not supported|not found)|"
    r"unknown option|unexpected argument|unknown feature",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Asked:
    """A question to a program."""

    # Its own folder, which is deleted afterwards.
    folder: Path
    messages: Messages
    # The JSON schema of the answer.
    schema: str
    # The model that the user named.
    model: str | None
    # The most that the answer may cost.
    budget_usd: float | None


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int
    out: bytes
    err: str


@dataclass(frozen=True)
class ProgramAnswer:
    """The answer in a program's output, or why there is none."""

    text: str | None
    why: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost_usd: float | None = None
    model: str | None = None
    refuses_all: bool = False
    is_over_budget: bool = False

    @property
    def was_charged(self) -> bool:
        """Whether a model was asked at all."""
        return self.prompt_tokens + self.answer_tokens > 0


class Program(Protocol):
    """A program that asks a model."""

    @property
    def command(self) -> str:
        """Its name on the PATH."""

    @property
    def title(self) -> str:
        """Its name for people."""

    @property
    def tells_cost(self) -> bool:
        """Whether its answers say what they cost."""

    def prepare(self, asked: Asked) -> tuple[list[str], dict[str, str], str]:
        """Return its arguments, its environment, and what it reads from stdin."""

    def read(self, ended: Ended) -> ProgramAnswer:
        """Return the answer in its output."""


def as_text(messages: Messages) -> str:
    """Return messages as one text: neither program takes a conversation."""
    return "\n\n".join(
        f"You answered:\n{each['content']}" if each["role"] == "assistant" else each["content"]
        for each in messages
    )


class _ClaudeTokens(BaseModel):
    inputTokens: int = 0
    cacheReadInputTokens: int = 0
    cacheCreationInputTokens: int = 0
    outputTokens: int = 0

    @property
    def prompt(self) -> int:
        return self.inputTokens + self.cacheReadInputTokens + self.cacheCreationInputTokens


class _ClaudeResult(BaseModel):
    """The object that `claude -p --output-format json` prints."""

    is_error: bool = False
    subtype: str = ""
    result: str | None = None
    structured_output: dict[str, Any] | None = None
    errors: list[str] = []
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    # Tokens by model.
    modelUsage: dict[str, _ClaudeTokens] = {}


class Claude:
    """Claude Code.

    A configuration folder of our own (CLAUDE_CONFIG_DIR) would lose the login, which is kept for
    each folder; `--bare` ignores it as well. `--safe-mode` keeps the login and the settings that
    name a provider, and loads no CLAUDE.md, memory, hook, plugin, skill or MCP server; only hooks
    of an administrator run. A version that does not know it refuses to start.
    """

    command = "claude"
    title = "Claude Code"
    tells_cost = True
    # Set by a session that slowwave runs in.
    _SESSION = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID")

    def prepare(self, asked: Asked) -> tuple[list[str], dict[str, str], str]:
        """Return its arguments, its environment, and what it reads from stdin."""
        system = asked.folder / "system.md"
        instructions = [each["content"] for each in asked.messages if each["role"] == "system"]
        system.write_text("\n\n".join(instructions), "utf-8", errors="replace")
        arguments = ["-p", "--output-format", "json", "--json-schema", asked.schema]
        arguments += ["--safe-mode", "--strict-mcp-config", "--tools", ""]
        arguments += ["--no-session-persistence", "--system-prompt-file", str(system)]
        if asked.model is not None:
            arguments += ["--model", asked.model]
        if asked.budget_usd is not None:
            arguments += ["--max-budget-usd", f"{max(asked.budget_usd, 0.0001):.4f}"]
        environment = {
            name: value for name, value in os.environ.items() if name not in self._SESSION
        }
        environment |= {
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        conversation = [each for each in asked.messages if each["role"] != "system"]
        return arguments, environment, as_text(conversation)

    def read(self, ended: Ended) -> ProgramAnswer:
        """Return the answer in its output."""
        try:
            found = json.loads(ended.out)
            # With the setting "verbose" it prints all events.
            found = found[-1] if isinstance(found, list) and found else found
            result = _ClaudeResult.model_validate(found)
        except (ValueError, RecursionError):
            return _unreadable(ended)
        used = result.modelUsage
        prompt = sum(tokens.prompt for tokens in used.values())
        answer = sum(tokens.outputTokens for tokens in used.values())
        model = max(used, key=lambda name: used[name].outputTokens, default=None)
        text = result.result
        if result.structured_output is not None:
            text = json.dumps(result.structured_output, ensure_ascii=False)
        cost = result.total_cost_usd
        if not result.is_error and text:
            return ProgramAnswer(text, "", prompt, answer, cost, model)
        why = "; ".join(result.errors) or result.result or result.subtype or "it has no answer"
        status = result.api_error_status
        return ProgramAnswer(
            None,
            why if status is None or str(status) in why else f"{why} (HTTP {status})",
            prompt,
            answer,
            cost,
            refuses_all=status in _REFUSES_ALL_STATUS or _refuses_all(why),
            is_over_budget=result.subtype == "error_max_budget_usd",
        )


class _CodexItem(BaseModel):
    type: str = ""
    text: str = ""


class _CodexUsage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0


class _CodexError(BaseModel):
    message: str = ""


class _CodexEvent(BaseModel):
    """A line that `codex exec --json` prints."""

    type: str
    item: _CodexItem = _CodexItem()
    usage: _CodexUsage = _CodexUsage()
    error: _CodexError = _CodexError()
    message: str = ""


class Codex:
    """Codex.

    `--ignore-user-config` keeps the login and ignores the settings, with their hooks and MCP
    servers, but no option ignores the user's AGENTS.md. So it gets a folder of its own
    (CODEX_HOME), in which links lead to the user's `auth.json` and its lock: codex reads and renews
    the login through them. A login that the system's keyring keeps belongs to the user's folder,
    which is used then, with its AGENTS.md.
    """

    command = "codex"
    title = "Codex"
    tells_cost = False
    # Its tools, as far as they can be turned off, and what would run or load something of the
    # user's. The sandbox is for those that are left.
    _OFF = (
        "apps",
        "goals",
        "hooks",
        "image_generation",
        "memories",
        "multi_agent",
        "plugins",
        "shell_snapshot",
        "shell_tool",
        "skill_search",
        "unified_exec",
    )
    _SETTINGS = (
        'web_search="disabled"',
        "project_doc_max_bytes=0",
        "include_environment_context=false",
        "skills.include_instructions=false",
    )

    def prepare(self, asked: Asked) -> tuple[list[str], dict[str, str], str]:
        """Return its arguments, its environment, and what it reads from stdin."""
        schema = asked.folder / "schema.json"
        schema.write_text(asked.schema, "utf-8")
        arguments = ["exec", "--ephemeral", "--ignore-user-config", "--ignore-rules"]
        arguments += ["--skip-git-repo-check", "--sandbox", "read-only", "--color", "never"]
        arguments += ["--json", "--output-schema", str(schema)]
        for setting in (*(f"features.{name}=false" for name in self._OFF), *self._SETTINGS):
            arguments += ["-c", setting]
        if asked.model is not None:
            arguments += ["--model", asked.model]
        environment = dict(os.environ)
        login = Path(environment.get("CODEX_HOME") or Path.home() / ".codex") / "auth.json"
        if login.is_file() or environment.get("CODEX_API_KEY"):
            home = asked.folder / "codex"
            home.mkdir()
            if login.is_file():
                # The lock, too: two that renew a login at one time would lose it.
                for each in (login.resolve(), login.resolve().with_name("auth.json.lock")):
                    (home / each.name).symlink_to(each)
            environment["CODEX_HOME"] = str(home)
        return [*arguments, "-"], environment, as_text(asked.messages)

    def read(self, ended: Ended) -> ProgramAnswer:
        """Return the answer in its output."""
        text: str | None = None
        why = ""
        prompt = answer = 0
        for event in _events(ended.out):
            if event.type == "item.completed" and event.item.type == "agent_message":
                text = event.item.text
            elif event.type == "turn.completed":
                prompt += event.usage.input_tokens
                answer += event.usage.output_tokens
            elif event.type in ("turn.failed", "error"):
                why = _message_in(event.error.message or event.message) or why
                if event.type == "turn.failed":
                    text = None
        if text and ended.code == 0:
            return ProgramAnswer(text, "", prompt, answer)
        if not why:
            return _unreadable(ended)
        return ProgramAnswer(None, why, prompt, answer, refuses_all=_refuses_all(why))


def _events(out: bytes) -> Iterator[_CodexEvent]:
    """Yield the events among the lines of an output."""
    for line in out.splitlines():
        try:
            yield _CodexEvent.model_validate_json(line)
        except ValidationError:
            continue  # not an event, or of an unknown form


def _message_in(text: str) -> str:
    """Return the message in a server's error, which is JSON or the message itself."""
    try:
        found = json.loads(text)
        return str(found["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return text


def _unreadable(ended: Ended) -> ProgramAnswer:
    """Return why an output has no answer, if it is not as documented."""
    lines = [line for line in ended.err.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines
    out = ended.out[:1_000].decode(errors="replace").strip()
    first = errors[0].strip() if errors else out
    what = "its answer cannot be read" if ended.code == 0 else f"it ended with {ended.code}"
    return ProgramAnswer(
        None, f"{what}: {first}" if first else what, refuses_all=_refuses_all(first)
    )


def _refuses_all(why: str) -> bool:
    return _REFUSES_ALL.search(why) is not None


PROGRAMS: Mapping[str, Program] = {each.command: each for each in (Claude(), Codex())}
