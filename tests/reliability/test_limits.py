"""Limits: endless answers, long texts, deep nesting, and signals during long work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_calls import SLOWWAVE, Cli
from dialects import PROVIDERS
from nights import execute, fill, night, rows
from reliability.flood import MAX_BYTES as FLOOD_BYTES
from reliability.flood import flood
from reliability.processes import start, stop, wait_for

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.errors import QueryTooLong
from slowwave.consolidation.model.answer_forms import WRITE
from slowwave.consolidation.model.litellm_client import MAX_ANSWER_BYTES
from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.question import Question
from slowwave.consolidation.model.unanswered import CallFailed
from slowwave.consolidation.model.usage_limits import Call, UsageLimits, UsageMeter
from slowwave.consolidation.planning.estimates import Estimate
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.errors import InvalidLine
from slowwave.store.records import MAX_CHARACTERS

# One model of each provider whose answers litellm reads in another way.
READERS = {model.partition("/")[0]: (model, path) for model, path in PROVIDERS.values()}
# What lies in the buffers of two sockets when the reader stops reading.
IN_BUFFERS = 16 * 1024 * 1024


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "OLLAMA"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789")


def why_failed(model: str, base: str) -> str:
    """Ask a question and return why there was no answer."""
    opened = Endpoint(model, base, first_wait_s=0.001).open()
    meter = UsageMeter(UsageLimits(), opened.price)
    messages = [{"role": "user", "content": "What is old?"}]
    question = Question(model, WRITE, messages, Estimate(10, 10))
    with pytest.raises(CallFailed) as failed:
        opened.answer(Call(meter, question, 10))
    return str(failed.value)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(("model", "path"), READERS.values(), ids=READERS)
def test_an_endless_answer_is_read_up_to_a_limit(model: str, path: str, status: int) -> None:
    with flood(status) as server:
        why = why_failed(model, server.address + path)
    assert why == f"the server's answer is longer than {MAX_ANSWER_BYTES:,} bytes"
    assert server.requests == 1
    assert server.sent < MAX_ANSWER_BYTES + IN_BUFFERS < FLOOD_BYTES


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(("model", "path"), READERS.values(), ids=READERS)
def test_an_unrequested_compression_is_refused(model: str, path: str) -> None:
    with flood(is_compressed=True) as server:
        why = why_failed(model, server.address + path)
    assert why == "the server compresses its answer although it was asked not to"
    assert server.requests == 1


# ----------------------------------------------------------------- texts

LONG = "The pump is old. " * 2_000
A_MEMORY = "The kettle in the kitchen is blue."


def insert(path: Path, memory_id: str, content: str) -> None:
    """Store a text as an agent does that knows only SQL."""
    execute(path, "INSERT INTO memories (id, content) VALUES (?, ?)", memory_id, content)


def test_add_refuses_a_text_that_is_too_long(memory_file: Path, cli: Cli) -> None:
    ended = cli("add", memory_file, LONG)
    assert (ended.code, ended.out) == (1, "")
    assert f"34,000 characters, but a memory has at most {MAX_CHARACTERS:,}" in ended.err
    with AgentMemory(memory_file) as memory, pytest.raises(InvalidLine, match="34,000 characters"):
        memory.add(LONG)
    assert rows(memory_file, "SELECT * FROM memories") == []


def test_only_exports_may_contain_longer_texts(memory_file: Path, cli: Cli, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(json.dumps({"content": text}) for text in (A_MEMORY, LONG)))
    ended = cli("import", memory_file, lines)
    assert ended.code == 1
    assert "Line 2 is not valid: its text has 34,000 characters" in ended.err
    assert rows(memory_file, "SELECT * FROM memories") == []
    skipped = json.loads(cli("import", memory_file, lines, "--skip-invalid", "--json").out)
    assert (skipped["imported"], [line["line"] for line in skipped["skipped"]]) == (1, [2])
    insert(memory_file, "long", LONG)
    lines.write_text(cli("export", memory_file, "--all").out)
    again = tmp_path / "again.db"
    assert cli("import", again, lines).code == 0
    assert cli("export", again, "--all").out == lines.read_text()


def test_recall_ignores_long_texts_and_refuses_long_questions(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    fill(memory_file, [{"id": "short", "content": A_MEMORY}])
    # A text that SQLite counts as one character, and one of four bytes a character.
    for memory_id, text in {"long": LONG, "nul": f"a\0{LONG}", "wide": "😀" * 20_001}.items():
        insert(memory_file, memory_id, text)
    insert(memory_file, "at-the-limit", "😀" * MAX_CHARACTERS)
    with AgentMemory(memory_file, embedder=embedder) as memory:
        ids = {hit.memory.id for hit in memory.recall("the old pump", limit=100, min_relevance=0)}
        assert ids == {"short", "at-the-limit"}
        assert "pump" not in memory.block("the old pump").text
        with pytest.raises(QueryTooLong, match="34,000 characters"):
            memory.recall(LONG)
    outcome = night(memory_file, embedder)
    assert {each.memory: each.characters for each in outcome.plan.too_long} == {
        "long": 34_000,
        "nul": 34_002,
        "wide": 20_001,
    }


COMMANDS_IN_A_ROW = """
import gc, json, re, sys
from pathlib import Path
from slowwave.cli.app import run, tune_interpreter
tune_interpreter()
failed = []
for words in json.loads(sys.argv[1]):
    if run(words):
        failed.append(words)
    gc.collect()  # as the end of its own process would
# Unlike the ru_maxrss of getrusage, this is not inherited from the process that started this one.
(peak,) = re.findall("VmHWM:.*?([0-9]+) kB", Path("/proc/self/status").read_text())
print(json.dumps([failed, int(peak) * 1024]), file=sys.stderr)
"""


def peak_memory(path: Path, *commands: tuple[str, ...]) -> int:
    """Run commands on a file in their own process, and return its peak memory in bytes."""
    words = json.dumps([[word.replace("FILE", str(path)) for word in each] for each in commands])
    ended = subprocess.run(
        [sys.executable, "-c", COMMANDS_IN_A_ROW, words],
        capture_output=True,
        text=True,
        check=False,
    )
    failed, taken = json.loads(ended.stderr.splitlines()[-1])
    assert failed == [], ended.stderr
    return int(taken)


def test_memory_use_is_limited_by_the_size_of_a_text(
    memory_file: Path, rounds: Callable[[int, int], int]
) -> None:
    fill(memory_file, [{"content": A_MEMORY}])
    size = rounds(60_000_000, 500_000_000)
    commands = (
        ("recall", "FILE", "What is old?"),
        ("list", "FILE"),
        ("log", "--stats", "FILE"),
        ("maintain", "FILE", "--consolidate"),
        ("conflicts", "FILE"),
    )
    without = peak_memory(memory_file, *commands)
    # Letters that Python keeps in four bytes each.
    execute(
        memory_file,
        "INSERT INTO memories (id, content) "
        "VALUES ('long', '😀' || replace(hex(zeroblob(?)), '00', 'x '))",
        size // 2,
    )
    assert peak_memory(memory_file, *commands) - without < 4 * size


# ----------------------------------------------------------------- values within values


def nested(levels: int) -> dict[str, Any]:
    """Return metadata nested to this depth."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize("levels", [300, 900, 5_000])
def test_deep_metadata_is_refused(levels: int, memory_file: Path, cli: Cli, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    deep = '{"a": ' * levels + "1" + "}" * levels
    lines.write_text(f'{{"content": "{A_MEMORY}", "metadata": {deep}}}')
    ended = cli("import", memory_file, lines)
    assert ended.code == 1
    assert "Line 1 is not valid: its values are nested too deeply." in ended.err
    with AgentMemory(memory_file) as memory, pytest.raises(InvalidLine, match="too deep"):
        memory.add(A_MEMORY, metadata=nested(levels))
    assert rows(memory_file, "SELECT * FROM memories") == []


def test_deeply_nested_metadata_of_an_agent_stops_no_command(memory_file: Path) -> None:
    metadata = '{"a":' * 900 + "1" + "}" * 900
    execute(
        memory_file,
        "INSERT INTO memories (id, content, metadata) VALUES ('deep', ?, ?), ('twin', ?, ?)",
        *(A_MEMORY, metadata) * 2,
    )
    # In a process of its own, whose stack is not as deep as a test's.
    peak_memory(
        memory_file,
        ("recall", "FILE", "What is blue?", "--json"),
        ("list", "FILE", "--json"),
        ("show", "FILE", "deep", "--json"),
        ("show", "--lineage", "FILE", "deep", "--json"),
        ("log", "--stats", "FILE"),
        ("export", "FILE", "--all"),
        ("check", "FILE"),
        ("maintain", "FILE", "--consolidate"),
    )


# ----------------------------------------------------------------- statements and pipes

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
ENDLESS = (
    "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) "
    "SELECT count(*) AS n FROM numbers"
)


def is_busy(process: subprocess.Popen[str]) -> Callable[[], bool]:
    """Return a check whether a process has computed so long that it must be in the statement."""
    ticks = os.sysconf("SC_CLK_TCK")

    def computed() -> bool:
        stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / ticks > 3.0

    return computed


@pytest.mark.parametrize("number", CODES)
def test_a_signal_ends_an_endless_trigger(number: signal.Signals, memory_file: Path) -> None:
    execute(memory_file, f"CREATE VIEW endless AS {ENDLESS}")
    execute(
        memory_file, "CREATE TRIGGER busy AFTER INSERT ON memories BEGIN SELECT n FROM endless; END"
    )
    process = start("add", memory_file, A_MEMORY)
    wait_for(is_busy(process), process)
    ended = stop(process, number)
    assert ended.code == CODES[number], ended.err
    assert rows(memory_file, "SELECT * FROM memories") == []


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("command", ["export", "list"])
def test_a_signal_ends_a_command_blocked_on_output(
    command: str, number: signal.Signals, memory_file: Path
) -> None:
    fill(memory_file, [f"{A_MEMORY} {place}" * 50 for place in range(100)])
    reading, writing = os.pipe()
    with subprocess.Popen(
        [*SLOWWAVE, command, str(memory_file), "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(writing)
        wait_for(lambda: is_blocked_writing(process), process)
        ended = stop(process, number)
        os.close(reading)
    assert ended.code == CODES[number], ended.err


def is_blocked_writing(process: subprocess.Popen[str]) -> bool:
    """Whether a process waits for the reader of a pipe."""
    return "pipe" in Path(f"/proc/{process.pid}/wchan").read_text()
