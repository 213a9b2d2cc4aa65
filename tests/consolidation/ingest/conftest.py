"""Commands on one memory file, with and without a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_calls import Cli
from conversations import asking, let_wait
from model_server import ModelServer


@pytest.fixture
def ingest(memory_file: Path, cli: Cli) -> Cli:
    """Provide `slowwave ingest FILE --json`."""
    return lambda *arguments: cli("ingest", memory_file, *arguments, "--json")


@pytest.fixture
def ask(ingest: Cli, server: ModelServer) -> Cli:
    """Provide `slowwave ingest FILE --json` with the scripted model."""
    return lambda *arguments: ingest(*arguments, *asking(server)[:-1])


@pytest.fixture
def night(memory_file: Path, cli: Cli, server: ModelServer) -> Cli:
    """Provide `slowwave maintain FILE --consolidate --json` with the scripted model."""
    return lambda *arguments: cli(
        "maintain", memory_file, "--consolidate", *arguments, *asking(server)
    )


@pytest.fixture
def queue(memory_file: Path, chat: Path, cli: Cli) -> Callable[..., None]:
    """Provide a function that queues a conversation, or `chat`, for a model."""
    return lambda path=chat, *options: let_wait(cli, memory_file, path, options=options)
