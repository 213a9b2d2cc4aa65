"""Exit codes, stdout and stderr of the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from builders import foreign
from cli_calls import Cli, Ended
from commands import setting
from model_nights import a_fact, served
from model_server import oracle
from nights import TWINS, active, daily, execute, fill, of_one_thing, picture, rows, unchanged
from readme import every_command

from slowwave.store.file import create_file
from slowwave.store.opening import MAGIC


@pytest.fixture
def filled(memory_file: Path) -> Path:
    fill(memory_file, [*daily(TWINS, "twin"), *daily(of_one_thing(), "oncall")])
    return memory_file


def with_sql(sql: str) -> Callable[[Path], None]:
    """Return what makes a memory file and changes it by SQL."""

    def make(path: Path) -> None:
        create_file(path)
        execute(path, sql)

    return make


BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "There is no file"),
    "folder": (lambda path: path.mkdir(), "is a folder.\nSpecify a memory file in it"),
    "empty": (lambda path: path.touch(), "has no content (0 bytes)"),
    "text": (lambda path: path.write_text("Dear diary\n" * 50), "not a SQLite database"),
    "foreign": (foreign, "but not a memory file"),
    "short": (lambda path: path.write_bytes(b"SQLite"), "not a SQLite database"),
    "garbage": (lambda path: path.write_bytes(MAGIC + b"\xff" * 9_000), "damaged"),
    "newer": (with_sql("PRAGMA user_version = 99"), "schema version 99"),
    "before the first release": (
        with_sql("PRAGMA user_version = 9"),
        "Export it with the slowwave that wrote it",
    ),
}


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize(
    "command",
    [
        ("add", "FILE", "text"),
        ("export", "FILE"),
        ("maintain", "FILE"),
        ("maintain", "FILE", "--dry-run"),
        ("show", "--lineage", "FILE", "abcd"),
        ("review", "FILE"),
        ("review", "approve", "FILE", "--all"),
        ("undo", "FILE", "abcd"),
        ("check", "FILE"),
    ],
    ids=" ".join,
)
def test_bad_files_exit_10(kind: str, command: tuple[str, ...], tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "some.db"
    make, sentence = BAD_FILES[kind]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    ended = cli(*(path if part == "FILE" else part for part in command)).ends(10, sentence)
    assert ended.out == ""
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_truncated_file_exits_10(filled: Path, cli: Cli) -> None:
    execute(filled, "PRAGMA wal_checkpoint(TRUNCATE)")
    filled.write_bytes(filled.read_bytes()[: -2 * 4096])
    cli("maintain", filled).ends(
        10, "damaged", f"or save the readable part with 'slowwave export {filled} --all'"
    )
    assert cli("export", filled, "--all").out != ""
    filled.write_bytes(filled.read_bytes()[: 2 * 4096])
    ended = cli("export", filled, "--all")
    assert (ended.code, ended.out, "slowwave export" in ended.err) == (10, "", False)


def test_an_error_with_json_is_an_object_on_stderr(tmp_path: Path, cli: Cli) -> None:
    ended = cli("log", tmp_path / "none.db", "--json")
    assert ended.out == ""
    error = json.loads(ended.err)
    assert error.keys() == {"format", "error", "hint", "code"}
    assert (error["format"], error["code"]) == (1, 10)


MISUSE: list[tuple[list[object], str]] = [
    (["maintain", "FILE", "--phase", "sleep"], "--phase"),
    (["maintain", "FILE", "--phase", ""], "--phase"),
    (["maintain", "FILE", "--phase", "limit"], "max_active"),
    (["maintain"], "SLOWWAVE_FILE"),
    (["maintain", "FILE", "--only", "merge,melt"], "melt"),
    (["maintain", "FILE", "--exit-code"], "--dry-run"),
    (["maintain", "FILE", setting("concurrency", "0")], "SLOWWAVE_CONCURRENCY"),
    (["maintain", "FILE", setting("retain", "kind=fact,\nkeep=3d")], "not a retention rule"),
    (["ingest", "FILE", "--ttl", f"fact={'9' * 5_000}"], "--ttl"),
    (["ingest", "FILE", "--watch", ".", "--interval", "inf"], "--interval"),
    (["add", "FILE", " \t "], "must not be blank"),
    (["add", "FILE", "text", "--tenant", " "], "--tenant must not be blank"),
    (["add", "FILE", "text", "--tag", ""], "--tag must not be blank"),
    (["formats", "postgresql://me:secret@localhost/db"], "a file, not a database"),
    (["add", "FILE", "text", "--kind", "rumour"], "rumour"),
    (["add", "FILE", "text", "--trust", "2"], "--trust"),
    (["add", "FILE"], "TEXT"),
    (["sleepwalk", "FILE"], "sleepwalk"),
    (["log", "FILE", "--loud"], "--loud"),
    (["list", "FILE", "--limit", -1], "--limit"),
    (["undo", "FILE", "some-run", "--last"], "--last"),
    (["log", "FILE", "--diff", "--stats"], "only one of"),
    (["log", "FILE", "--diff", "--html", "-"], "only one of"),
    (["log", "FILE", "--stats", "--md", "-"], "only one of"),
    (["log", "FILE", "run", "--stats"], "omit the run"),
    (["log", "FILE", "--tenant", "default"], "--tenant requires --stats"),
    (["model-check"], "--model"),
    (["model-check", "--model", " "], "--model"),
]
FAILURES: list[tuple[list[object], str]] = [
    (["maintain", "FILE", "--tenant", "nobody"], "no tenant 'nobody'"),
    (["show", "--lineage", "FILE", "0000-unknown"], "no memory '0000-unknown'"),
    (["undo", "FILE", "twin-00"], "already active"),
    (["log", "FILE", "0000-unknown"], "no run '0000-unknown'"),
    (["undo", "FILE", "0000-unknown"], "no run, proposal or memory '0000-unknown'"),
    (["undo", "FILE", "b6bc"], "'b6bc' is too short"),
    (["show", "--lineage", "FILE", "twin"], "Specify more of the id"),
    (["maintain", "FILE", "--dry-run", "--plan-out", "/none/x.json"], "no folder /none"),
    (["import", "--empty", "FILE"], "already exists"),
    (["import", "FILE", "/nonexistent.jsonl"], "Cannot read"),
    (["import", "FILE", "FILE"], "SOURCE must be a JSON Lines file."),
    (["import", "--empty", "/"], "is a folder"),
    (["maintain", "FILE", "--embedder", "no-such-model"], "no-such-model"),
]


@pytest.mark.parametrize(
    ("code", "arguments", "sentence"),
    [*((2, *case) for case in MISUSE), *((1, *case) for case in FAILURES)],
)
def test_a_refused_command_changes_nothing(
    code: int, arguments: list[object], sentence: str, filled: Path, cli: Cli
) -> None:
    with unchanged(rows, filled, "SELECT * FROM memories"):
        cli(*(filled if part == "FILE" else part for part in arguments)).ends(code, sentence)


def test_a_dry_run_and_a_real_run_have_the_same_keys(filled: Path, cli: Cli) -> None:
    dry = cli("maintain", filled, "--dry-run", "--json").json
    real = cli("maintain", filled, "--json").json

    def keys(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: keys(part) for name, part in value.items()}
        return [keys(part) for part in value] if isinstance(value, list) else "a value"

    assert keys(dry) == keys(real)
    assert (dry["dry_run"], real["dry_run"]) == (True, False)
    assert dry["plan"] == real["plan"]
    assert dry["after"] == real["after"]
    assert dry["run"] is None
    assert {proposal["state"] for proposal in dry["proposals"]} == {"planned"}
    assert {proposal["state"] for proposal in real["proposals"]} == {"applied"}


def test_json_has_the_documented_format_1(filled: Path, cli: Cli) -> None:
    report = cli("maintain", filled, "--json").json
    assert report["format"] == 1
    assert report["command"] == "maintain"
    assert report["file"] == str(filled)
    assert report.keys() >= {"before", "after", "refused", "model", "run", "plan"}
    assert report["before"].keys() == {"active", "superseded", "layers", "characters", "tokens"}
    assert list(report["after"]["layers"]) == ["ephemeral", "working", "stable", "core"]
    counts = ("calls", "cached", "prompt_tokens", "completion_tokens", "cost_usd", "unanswered")
    names = dict.fromkeys(("name", "checker", "refused", "why"))
    assert report["model"] == {"writer": "extractive", **names, **dict.fromkeys(counts, 0)}
    merge = next(proposal for proposal in report["proposals"] if "twin-01" in proposal["sources"])
    assert merge.keys() >= {
        *("id", "operation", "tenant", "sources", "survivor", "derived", "entities", "reason"),
        *("similarity", "state", "why", "draft", "estimated_tokens"),
        *("cohesion", "trust", "tokens_before", "tokens_after"),
    }
    assert (merge["operation"], merge["survivor"], merge["derived"]) == ("merge", "twin-01", None)
    assert set(merge["similarity"]) == {"min", "mean"}


def test_lineage_links_a_synthesis_and_its_sources(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, a_fact())
    with served(oracle) as model:
        report = cli("maintain", memory_file, *model, "--json").json
    (synthesis,) = report["proposals"]
    assert (synthesis["operation"], synthesis["survivor"]) == ("synthesize", None)
    derived = rows(memory_file, "SELECT content FROM memories WHERE id = ?", synthesis["derived"])
    assert derived == [{"content": synthesis["draft"]}]
    assert report["model"]["name"] == report["model"]["checker"] == "openai/scripted"
    lineage = ("show", "--lineage", memory_file)
    down = cli(*lineage, synthesis["derived"], "--json").json
    assert down["memory"]["layer"] == "stable"
    assert sorted(source["id"] for source in down["sources"]) == synthesis["sources"]
    assert {source["status"] for source in down["sources"]} == {"superseded"}
    assert {source["run"] for source in down["sources"]} == {report["run"]}
    up = cli(*lineage, synthesis["sources"][0], "--json").json
    assert [memory["id"] for memory in up["derived"]] == [synthesis["derived"]]
    assert synthesis["draft"][:40] in cli(*lineage, synthesis["derived"]).out


def test_exit_code_reports_whether_a_run_would_change_anything(filled: Path, cli: Cli) -> None:
    ask = ("maintain", filled, "--dry-run", "--exit-code")
    assert cli(*ask).code == 4
    assert cli("maintain", filled).code == 0
    assert cli(*ask).code == 0


def test_quiet_prints_nothing_without_errors(filled: Path, cli: Cli) -> None:
    assert cli("maintain", filled, "--quiet") == Ended(0, "", "")


def test_a_run_is_undone_once_by_a_prefix_of_its_id(filled: Path, cli: Cli) -> None:
    with unchanged(rows, filled, "SELECT * FROM memories ORDER BY id"):
        run_id = cli("maintain", filled, "--json").json["run"]
        undone = cli("undo", filled, run_id[:18]).ends(0, "They will not be proposed again")
        undone.says(f"Undid 2 proposals of run {run_id}.")
    cli("undo", filled, run_id).ends(1, "already undone")


def test_add_stores_all_of_its_options(memory_file: Path, cli: Cli) -> None:
    ended = cli(
        *("add", memory_file, "Tea, not coffee.", "--tenant", "ann", "--kind", "preference"),
        *("--origin", "human", "--trust", "0.9", "--importance", "5", "--tag", "a", "--tag", "b"),
        *("--source", "chat", "--session", "s1", "--layer", "stable", "--pin", "--json"),
    )
    (row,) = rows(memory_file, "SELECT * FROM memories")
    assert row["id"] == ended.json["id"]
    assert (
        row.items()
        >= {
            **{"content": "Tea, not coffee.", "tenant": "ann", "kind": "preference"},
            **{"origin": "human", "trust": 0.9, "importance": 5, "tags": '["a","b"]'},
            **{"source": "chat", "session": "s1", "layer": "stable", "pinned": 1},
        }.items()
    )


def test_an_imported_export_can_be_undone(filled: Path, cli: Cli) -> None:
    before = picture(filled)
    cli("maintain", filled)
    source = filled.with_name("all.jsonl")
    source.write_text(cli("export", filled, "--all").out)
    copy = filled.with_name("copy.db")
    assert cli("import", copy, source, "--json").json["skipped"] == []
    held = ("runs", "proposals", "journal", "derivations", "entities", "memory_entities")
    for options in ((), ("--stats",)):
        assert cli("log", copy, *options, "--json").json | {"file": ""} == (
            cli("log", filled, *options, "--json").json | {"file": ""}
        )
    assert picture(copy, held) == picture(filled, held)
    assert cli("undo", copy, rows(copy, "SELECT id FROM runs")[0]["id"]).code == 0
    assert picture(copy) == before
    assert rows(copy, "SELECT * FROM embeddings WHERE run_id IS NOT NULL") == []


def test_history_is_not_imported_into_a_file_with_memories(filled: Path, cli: Cli) -> None:
    cli("maintain", filled)
    source = filled.with_name("all.jsonl")
    source.write_text(cli("export", filled, "--all").out)
    second = filled.with_name("other.db")
    cli("import", "--empty", second)
    cli("add", second, "The tide table hangs in the harbour office.")
    imported = cli("import", second, source, "--json").ends(0)
    (left_out,) = imported.json["skipped"]
    assert "only be imported into a new file" in left_out["reason"]
    assert rows(second, "SELECT * FROM runs") == []
    assert len(rows(second, "SELECT id FROM memories")) == imported.json["imported"] + 1


def test_only_the_first_of_two_exports_keeps_its_runs(filled: Path, cli: Cli) -> None:
    cli("maintain", filled)
    second = filled.with_name("second.db")
    cli("import", "--empty", second)
    cli("add", second, "The tide table hangs in the harbour office of Kalmar.")
    cli("add", second, "The tide table hangs in the harbour office of Kalmar.")
    cli("maintain", second)
    source = filled.with_name("both.jsonl")
    source.write_text(cli("export", filled, "--all").out + cli("export", second, "--all").out)
    both = filled.with_name("both.db")
    imported = cli("import", both, source, "--json").json
    assert len(imported["skipped"]) == 1
    assert picture(both, ("runs",)) == picture(filled, ("runs",))
    assert cli("check", both).code == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"content": ', "Line 2"),
        ('{"table": "secrets", "row": {}}', "unknown table of the history"),
        ('{"table": "runs", "row": {"id": "r"}}', "does not fit into runs"),
        ('{"table": "runs", "row": {"colour": "red"}}', "does not have these columns"),
        ('{"table": "journal", "row": {"run_id": {"hex": "zz"}}}', "cannot be read"),
        ('{"table": "runs", "row": []}', "cannot be read"),
        ('{"table": ["runs"], "row": {}}', "unknown table of the history"),
    ],
)
def test_an_invalid_line_is_named(line: str, why: str, tmp_path: Path, cli: Cli) -> None:
    source = tmp_path / "odd.jsonl"
    source.write_text('{"content": "A fact."}\n' + line + "\n")
    cli("import", tmp_path / "new.db", source).ends(1, "Line 2", why)
    assert list(tmp_path.iterdir()) == [source]


def test_an_empty_source_creates_no_file(
    memory_file: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source := tmp_path / "empty.jsonl").touch()
    new = tmp_path / "new.db"
    cli("import", new, source).ends(1, "source is empty", f"slowwave import {new} --empty")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO()))
    cli("import", new, "-").ends(1, "source is empty")
    assert not new.exists()
    cli("import", memory_file, source).ends(0).says("Imported 0 memories", "source is empty")


def test_export_contains_active_memories_without_vectors_by_default(filled: Path, cli: Cli) -> None:
    cli("maintain", filled)
    for options, has_vectors in (((), False), (("--vectors",), True), (("--all",), True)):
        lines = list(map(json.loads, cli("export", filled, *options).out.splitlines()))
        assert any("embedding" in line for line in lines) == has_vectors
        if "--all" not in options:
            assert sorted(line["content"] for line in lines) == active(filled)


@pytest.mark.parametrize("command", every_command())
def test_the_help_of_each_command_names_the_exit_codes(command: str, cli: Cli) -> None:
    ended = cli(*command.split(), "--help-all").ends(0)
    assert "10 no such file" in " ".join(ended.out.split())
    assert "--json" in ended.out
    assert "--quiet" in ended.out


def test_no_database_is_offered_where_a_text_file_is_missing(tmp_path: Path, cli: Cli) -> None:
    assert "--empty" in cli("list", tmp_path / "memory.db").ends(10, "There is no file").err
    for name in ("MEMORY.md", "memory.jsonl"):
        assert "--empty" not in cli("list", tmp_path / name).ends(10, "There is no file").err


def test_a_url_with_a_space_is_refused_without_its_password(cli: Cli) -> None:
    for command in ("list", "maintain"):
        ended = cli(command, "postgresql://ann:hunter2@127.0.0.1/agents#a b").ends(10, "%20")
        assert "hunter2" not in ended.err


def test_another_programs_database_comes_with_the_command_that_reads_it(
    tmp_path: Path, cli: Cli
) -> None:
    foreign(tmp_path / "other.db")
    ended = cli("mcp", tmp_path / "other.db").ends(10, "but not a memory file")
    assert f"slowwave maintain {tmp_path / 'other.db'} --dry-run" in ended.err
