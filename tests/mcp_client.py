"""The official MCP client in conversation with slowwave mcp, over pipes or over loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import anyio
import httpx2
import pytest
from commands import environment, split
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from places import TESTS

from slowwave.cli.app import run

Answer = TypeVar("Answer")
Conversation = Callable[[Client], Awaitable[Answer]]

SLOWWAVE = ("-m", "slowwave.cli")
# The client's own five seconds are over soon where other work takes the processors.
PATIENCE_S = 120.0


def over_a_pipe(conversation: Conversation[Answer], *arguments: object) -> Answer:
    """Start slowwave mcp, run a conversation over its stdin and stdout, and stop it."""
    words, variables = split(arguments)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*SLOWWAVE, "mcp", *words],
        env={"PYTHONPATH": str(TESTS), **variables},
    )

    async def connected() -> Answer:
        async with Client(parameters) as client:
            return await conversation(client)

    return anyio.run(connected)


def in_this_process(conversation: Conversation[Answer], *arguments: object) -> Answer:
    """Have the same conversation with slowwave mcp in this process, which saves its imports.

    The client talks from a thread, over pipes.
    """
    (asked, asks), (answered, answers) = os.pipe(), os.pipe()

    async def connected() -> Answer:
        pipes = _between_pipes(answered, asks)
        async with Client(pipes) as client:
            return await conversation(client)

    with ThreadPoolExecutor(1) as pool:
        talk = pool.submit(anyio.run, connected)
        with (
            os.fdopen(asked, encoding="utf-8") as stdin,
            os.fdopen(answers, "w", encoding="utf-8") as stdout,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(sys, "stdin", stdin)
            patch.setattr(sys, "stdout", stdout)
            words, variables = split(arguments)
            with environment(variables):
                code = run(["mcp", *words])
    assert code == 0
    return talk.result()


@asynccontextmanager
async def _between_pipes(reads: int, writes: int) -> AsyncIterator[Any]:
    """Provide a client's streams over the ends of two pipes; the server ends with the block."""
    with (
        os.fdopen(reads, encoding="utf-8") as answers,
        os.fdopen(writes, "w", encoding="utf-8") as questions,
    ):
        # What the package calls a server's is the same at both ends.
        async with stdio_server(anyio.wrap_file(answers), anyio.wrap_file(questions)) as streams:
            try:
                yield streams
            finally:
                questions.close()


def over_http(conversation: Conversation[Answer], address: str, token: str | None = None) -> Answer:
    """Run a conversation with a running server."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def connected() -> Answer:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return await conversation(client)

    return anyio.run(connected)


@contextmanager
def serving(*arguments: object, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Provide the address of a server on a free port, and its process."""
    with subprocess.Popen(
        [sys.executable, *SLOWWAVE, "mcp", *map(str, arguments), "--http", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1], process
        finally:
            process.kill()


async def ask(client: Client, tool: str, **arguments: object) -> Any:
    """Call a tool and return its answer, which is not an error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool that refuses, and return the message."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return str(result.content[0].text)  # type: ignore[union-attr]  # a refusal is a text
