"""The programs that `cli_model` runs: their arguments, their isolation, and what they print.

Each was tested with its real package: Claude Code 2.1.330 and codex 0.171.0.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from pydantic import BaseModel, ValidationError

from .litellm_client import REFUSAL_STATUSES, REFUSAL_WORDS
from .prompts import Messages, json_line
from .unanswered import CallFailed, LimitReached, ModelRefuses, Unanswered
from .usage_limits import Call

# The default number of concurrent programs.
CONCURRENCY = 2
# What a program prints if every other call would end in the same way: no login, no such model, or
# nothing left of a plan.
_REFUSAL = re.compile(
    rf"{REFUSAL_WORDS}|incorrect api key|not logged in|log ?in again|/login|codex login|"
    r"401 unauthorized|403 forbidden|usage limit|hit your .{0,20}limit|limit reached|"
    r"selected model|model.{0,80}(does not exist|not exist|not supported|not found)|"
    r"unknown option|unexpected argument|unknown feature",
    re.IGNORECASE,
)


# Set by a session of Claude Code that slowwave runs in.
_CLAUDE_SESSION = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID")
_CLAUDE_SETTINGS = {
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "DISABLE_AUTOUPDATER": "1",
}
_CLAUDE = shlex.split(
    "-p --output-format json --safe-mode --strict-mcp-config --tools '' --no-session-persistence"
)
# Its tools, as far as they can be turned off, and what would run or load something of the user's.
# The sandbox is for those that are left.
_CODEX_OFF = shlex.split(
    "apps goals hooks image_generation memories multi_agent plugins shell_snapshot shell_tool "
    "skill_search unified_exec"
)
_CODEX = shlex.split(
    "exec --ephemeral --ignore-user-config --ignore-rules --skip-git-repo-check --json "
    "--sandbox read-only --color never -c 'web_search=\"disabled\"' -c project_doc_max_bytes=0 "
    "-c include_environment_context=false -c skills.include_instructions=false"
)
# Arguments, environment, and what goes to stdin.
Start = tuple[list[str], dict[str, str], str]


@dataclass(frozen=True)
class ProgramAnswer:
    """The answer in a program's output, or why there is none."""

    text: str | None
    why: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost_usd: float | None = None
    model: str | None = None
    # How to treat a missing answer.
    failure: type[Unanswered] = CallFailed


@dataclass(frozen=True)
class Program:
    """A program that asks a model."""

    # Its names on the PATH, and for people.
    command: str
    title: str
    # Whether its answers say what they cost.
    tells_cost: bool
    # Takes a call, a folder that is deleted afterwards, and the model that the user named.
    prepare: Callable[[Call, Path, str | None], Start]
    # Returns the answer in its output.
    read: Callable[[CompletedProcess[bytes]], ProgramAnswer]


def as_text(messages: Messages) -> str:
    """Return messages as one text: neither program takes a conversation."""
    return "\n\n".join(
        f"You answered:\n{message['content']}"
        if message["role"] == "assistant"
        else message["content"]
        for message in messages
    )


def _prepare_claude(call: Call, folder: Path, model: str | None) -> Start:
    """Prepare a call of Claude Code.

    A configuration folder of our own (CLAUDE_CONFIG_DIR) would lose the login, which is kept for
    each folder; `--bare` ignores it as well. `--safe-mode` keeps the login and the settings that
    name a provider, and loads no CLAUDE.md, memory, hook, plugin, skill or MCP server; only hooks
    of an administrator run. A version that does not know it refuses to start.
    """
    system = folder / "system.md"
    messages, budget_usd = call.question.messages, call.meter.cost_left(call)
    instructions = [message["content"] for message in messages if message["role"] == "system"]
    system.write_text("\n\n".join(instructions), "utf-8", errors="replace")
    arguments = [*_CLAUDE, "--json-schema", json_line(call.question.schema)]
    arguments += ["--system-prompt-file", str(system)]
    if model is not None:
        arguments += ["--model", model]
    if budget_usd is not None:
        arguments += ["--max-budget-usd", f"{max(budget_usd, 0.0001):.4f}"]
    environment = {name: value for name, value in os.environ.items() if name not in _CLAUDE_SESSION}
    conversation = [message for message in messages if message["role"] != "system"]
    return arguments, environment | _CLAUDE_SETTINGS, as_text(conversation)


class _ClaudeTokens(BaseModel):
    inputTokens: int = 0
    cacheReadInputTokens: int = 0
    cacheCreationInputTokens: int = 0
    outputTokens: int = 0


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


def _read_claude(ended: CompletedProcess[bytes]) -> ProgramAnswer:
    try:
        printed = json.loads(ended.stdout)
        # With the setting "verbose" it prints all events.
        printed = printed[-1] if isinstance(printed, list) and printed else printed
        result = _ClaudeResult.model_validate(printed)
    except (ValueError, RecursionError):
        return _unreadable(ended)
    used = result.modelUsage
    answer = sum(tokens.outputTokens for tokens in used.values())
    prompt = sum(sum(tokens.model_dump().values()) for tokens in used.values()) - answer
    text, cost = result.result, result.total_cost_usd
    if result.structured_output is not None:
        text = json.dumps(result.structured_output, ensure_ascii=False)
    if not result.is_error and text:
        model = max(used, key=lambda name: used[name].outputTokens, default=None)
        return ProgramAnswer(text, "", prompt, answer, cost, model)
    subtype = result.subtype.removeprefix("success")
    why = "; ".join(result.errors) or result.result or subtype or "it has no answer"
    status = result.api_error_status
    failure = ModelRefuses if status in REFUSAL_STATUSES else _failure_of(why)
    if result.subtype == "error_max_budget_usd":
        failure = LimitReached
    if status is not None and str(status) not in why:
        why = f"{why} (HTTP {status})"
    return ProgramAnswer(None, why, prompt, answer, cost, failure=failure)


def _prepare_codex(call: Call, folder: Path, model: str | None) -> Start:
    """Prepare a call of Codex.

    `--ignore-user-config` keeps the login and ignores the settings, with their hooks and MCP
    servers, but no option ignores the user's AGENTS.md. So it gets a folder of its own
    (CODEX_HOME), in which links lead to the user's `auth.json` and its lock: codex reads and renews
    the login through them. A login that the system's keyring keeps belongs to the user's folder,
    which is used then, with its AGENTS.md.
    """
    schema = folder / "schema.json"
    schema.write_text(json_line(call.question.schema), "utf-8")
    arguments = [*_CODEX, "--output-schema", str(schema)]
    for name in _CODEX_OFF:
        arguments += ["-c", f"features.{name}=false"]
    if model is not None:
        arguments += ["--model", model]
    environment = dict(os.environ)
    login = Path(environment.get("CODEX_HOME") or Path.home() / ".codex") / "auth.json"
    if login.is_file() or environment.get("CODEX_API_KEY"):
        home = folder / "codex"
        home.mkdir()
        if login.is_file():
            # The lock, too: two that renew a login at one time would lose it.
            for path in (login.resolve(), login.resolve().with_name("auth.json.lock")):
                (home / path.name).symlink_to(path)
        environment["CODEX_HOME"] = str(home)
    return [*arguments, "-"], environment, as_text(call.question.messages)


class _CodexPart(BaseModel):
    """An item, the usage or an error in an event."""

    type: str = ""
    text: str = ""
    message: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class _CodexEvent(BaseModel):
    """A line that `codex exec --json` prints."""

    type: str
    item: _CodexPart = _CodexPart()
    usage: _CodexPart = _CodexPart()
    error: _CodexPart = _CodexPart()
    message: str = ""


def _read_codex(ended: CompletedProcess[bytes]) -> ProgramAnswer:
    text: str | None = None
    why = ""
    prompt = answer = 0
    for line in ended.stdout.splitlines():
        try:
            event = _CodexEvent.model_validate_json(line)
        except ValidationError:
            continue  # not an event, or of an unknown form
        if event.type == "item.completed" and event.item.type == "agent_message":
            text = event.item.text
        elif event.type == "turn.completed":
            prompt += event.usage.input_tokens
            answer += event.usage.output_tokens
        elif event.type in ("turn.failed", "error"):
            why = _message_in(event.error.message or event.message) or why
            if event.type == "turn.failed":
                text = None
    if text and ended.returncode == 0:
        return ProgramAnswer(text, "", prompt, answer)
    if not why:
        return _unreadable(ended)
    return ProgramAnswer(None, why, prompt, answer, failure=_failure_of(why))


def _message_in(text: str) -> str:
    """Return the message in a server's error, which is JSON or the message itself."""
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return text


def _unreadable(ended: CompletedProcess[bytes]) -> ProgramAnswer:
    """Return why an output has no answer, if it is not as documented."""
    lines = [line for line in ended.stderr.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines
    first = (errors or [ended.stdout[:1_000].decode(errors="replace")])[0].strip()
    code = ended.returncode
    what = "its answer cannot be read" if code == 0 else f"it ended with {code}"
    why = f"{what}: {first}" if first else what
    return ProgramAnswer(None, why, failure=_failure_of(first))


def _failure_of(why: str) -> type[Unanswered]:
    return ModelRefuses if _REFUSAL.search(why) else CallFailed


PROGRAMS = {
    "claude": Program("claude", "Claude Code", True, _prepare_claude, _read_claude),
    "codex": Program("codex", "Codex", False, _prepare_codex, _read_codex),
}
