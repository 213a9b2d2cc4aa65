"""Stand-ins for `claude` and `codex`: they take the documented options, and answer as documented.

Their outputs are those of Claude Code 2.1.330 and codex 0.171.0. What they are started with goes to
a log; a file next to it says what they do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

SLEEPS_S = 60
TOKENS = {"inputTokens": 90, "cacheReadInputTokens": 7, "cacheCreationInputTokens": 3}
SERVED = "claude-haiku-5-5"
COST_USD = 0.002


@dataclass(frozen=True)
class StandIns:
    """Programs on the PATH, and the arguments of their calls."""

    folder: Path
    home: Path

    def play(self, mode: str, **more: object) -> None:
        """Choose what both programs do from now on."""
        (self.folder / "mode").write_text(json.dumps({"mode": mode, **more}))

    @property
    def started(self) -> list[dict[str, Any]]:
        """The arguments of each call."""
        log = self.folder / "log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def running(self) -> list[int]:
        """Return the processes of the programs that still run."""
        pids = [int(each.name) for each in (self.folder / "pids").iterdir()]
        return [pid for pid in pids if _is_running(pid)]

    def wait_until_none_runs(self) -> None:
        """Wait until all killed processes have ended."""
        until = time.monotonic() + 5
        while self.running() and time.monotonic() < until:
            time.sleep(0.02)


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextmanager
def stand_ins(folder: Path) -> Iterator[StandIns]:
    """Provide both on the PATH, with a home that has instructions, hooks and logins."""
    programs = StandIns(folder, folder / "home")
    (folder / "pids").mkdir(parents=True)
    (folder / "bin").mkdir()
    for name in ("claude", "codex"):
        script = folder / "bin" / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path[:0] = {[str(Path(__file__).parent)]!r}\n"
            f"import stand_ins\nstand_ins.run_{name}()\n"
        )
        script.chmod(0o755)
        (programs.home / f".{name}").mkdir(parents=True)
    (programs.home / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "token-of-the-user"}')
    (programs.home / ".codex" / "AGENTS.md").write_text("Answer in rhyme.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
        patch.setenv("HOME", str(programs.home))
        patch.setenv("STAND_INS", str(folder))
        patch.setenv("CLAUDECODE", "1")
        for name in ("CODEX_HOME", "CODEX_API_KEY", "CLAUDE_CONFIG_DIR"):
            patch.delenv(name, raising=False)
        programs.play("honest")
        yield programs


class _Options(argparse.ArgumentParser):
    """Refuses unknown options as the program does."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: unknown option: {message}\n")
        sys.exit(1)


def _begin(read: str) -> dict[str, Any]:
    """Record what the program was started with, and return what it must do."""
    folder = Path(os.environ["STAND_INS"])
    _note_process(os.getpid())
    home = os.environ.get("CODEX_HOME")
    noted = {
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "stdin": read,
        "folder": str(Path.cwd()),
        "around": sorted(each.name for each in Path.cwd().iterdir()),
        "home": home and {each.name: each.is_symlink() for each in Path(home).iterdir()},
        "began": time.monotonic(),
    }
    with (folder / "log").open("a") as log:
        log.write(json.dumps(noted) + "\n")
    script: dict[str, Any] = json.loads((folder / "mode").read_text())
    mode = script["mode"]
    if mode == "hang":
        # A child of its own, which holds its pipes open.
        child = subprocess.Popen(["/bin/sleep", str(SLEEPS_S)])
        _note_process(child.pid)
        time.sleep(SLEEPS_S)
    if mode == "huge":
        sys.stdout.write("x" * 9_000_000)
    if mode in ("garbage", "huge"):
        sys.stdout.write("<html>502 Bad Gateway</html>")
        sys.stderr.write("Error: secret-in-the-environment\n")
        sys.exit(script.get("code", 0))
    if mode == "slow":
        time.sleep(script["seconds"])
    return script


def _note_process(pid: int) -> None:
    (Path(os.environ["STAND_INS"]) / "pids" / str(pid)).touch()


def _answer(text: str) -> dict[str, Any]:
    from model_server import Asked, honest

    return honest(Asked({}, {"messages": [{}, {"content": text}]}))


def run_claude() -> None:
    """Answer like `claude -p`."""
    options = _Options(add_help=False)
    for flag in ("-p", "--safe-mode", "--strict-mcp-config", "--no-session-persistence"):
        options.add_argument(flag, action="store_true", required=True)
    options.add_argument("--output-format", choices=["json"], required=True)
    options.add_argument("--json-schema", type=json.loads, required=True)
    options.add_argument("--tools", choices=[""], required=True)
    options.add_argument("--system-prompt-file", type=Path, required=True)
    options.add_argument("--model")
    options.add_argument("--max-budget-usd", type=float)
    asked = options.parse_args()
    assert asked.system_prompt_file.read_text().startswith("You ")
    read = sys.stdin.read()
    script = _begin(read)
    result: dict[str, Any] = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "num_turns": 2,
        "result": "",
        "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "modelUsage": {},
    }
    charged = {
        "total_cost_usd": script.get("cost", COST_USD),
        "modelUsage": {SERVED: {**TOKENS, "outputTokens": 50, "costUSD": COST_USD}},
    }
    if script["mode"] == "error":
        result |= {"is_error": True} | script["result"]
    elif script["mode"] == "over budget":
        errors = ["Reached maximum budget ($0.01)"]
        result |= charged | {"is_error": True, "subtype": "error_max_budget_usd", "errors": errors}
        del result["result"]
    else:
        answer = _answer(read)
        result |= charged | {"result": json.dumps(answer), "structured_output": answer}
    events: Any = [{"type": "system"}, result] if script["mode"] == "verbose" else result
    sys.stdout.write(json.dumps(events))
    sys.exit(int(result["is_error"]))


def run_codex() -> None:
    """Answer like `codex exec`."""
    options = _Options(add_help=False)
    options.add_argument("command", choices=["exec"])
    options.add_argument("prompt", choices=["-"])
    for flag in ("ephemeral", "ignore-user-config", "ignore-rules", "skip-git-repo-check", "json"):
        options.add_argument(f"--{flag}", action="store_true", required=True)
    options.add_argument("--sandbox", choices=["read-only"], required=True)
    options.add_argument("--color", choices=["never"])
    options.add_argument("--output-schema", type=Path, required=True)
    options.add_argument("-c", action="append")
    options.add_argument("--model")
    asked = options.parse_args()
    assert json.loads(asked.output_schema.read_text())["type"] == "object"
    read = sys.stdin.read()
    script = _begin(read)
    sys.stderr.write("WARNING: proceeding\n")
    _say({"type": "thread.started", "thread_id": "1"})
    _say({"type": "item.completed", "item": {"type": "error", "message": "an unknown setting"}})
    _say({"type": "turn.started"})
    if script["mode"] == "error":
        _say({"type": "error", "message": "Reconnecting... 1/5"})
        _say({"type": "turn.failed", "error": script["error"]})
        sys.exit(1)
    item = {"id": "item_1", "type": "agent_message", "text": json.dumps(_answer(read))}
    _say({"type": "item.completed", "item": item})
    usage = {"input_tokens": 100, "cached_input_tokens": 7, "output_tokens": 50}
    _say({"type": "turn.completed", "usage": usage})


def _say(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
