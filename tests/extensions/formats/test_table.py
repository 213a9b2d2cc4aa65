"""Tables of the user's own: rows are only marked, and unsuitable tables are refused."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from agents_files import consolidate
from cli_calls import Cli
from disturbed import assert_kills_leave_all_or_nothing
from model_nights import joined_once, served
from model_server import Answer, Asked, answering, approval
from nights import each_adding_something, execute, more_of_it, of_one_thing, rows, unchanged

from slowwave.extensions.formats.conformance import faults
from slowwave.extensions.formats.known_formats import format_named

SAME = ("The api listens on port 8080.", "The api listens on port 8080!")
# What a column for deleted rows, and the key of a table, may look like.
SHAPES = {
    "integers": ("id INTEGER PRIMARY KEY, said TEXT NOT NULL, gone INTEGER DEFAULT 0", "gone"),
    "counted": (
        "id INTEGER PRIMARY KEY AUTOINCREMENT, said TEXT, gone TEXT, n AS (length(said))",
        "gone",
    ),
    "texts": ("id TEXT PRIMARY KEY, said TEXT, state TEXT NOT NULL DEFAULT 'on'", "state:off"),
    "without rowid": ("said TEXT, 'the id' INTEGER PRIMARY KEY, active INT DEFAULT 1", "active:0"),
    "without a key": ("said TEXT, gone DATETIME, _date TEXT", "gone"),
    "of two columns": ("a TEXT, b BLOB, said TEXT, gone BOOLEAN, PRIMARY KEY (a, b)", "gone"),
}
TABLE = 'FROM "my notes"'


def create_table(path: Path, shape: str, texts: tuple[str, ...]) -> str:
    """Create a table of a shape with some texts; return the name of its format."""
    columns, deleted = SHAPES[shape]
    ending = " WITHOUT ROWID" if shape == "without rowid" else ""
    execute(path, f'CREATE TABLE "my notes" ({columns}){ending}')
    names = {"texts": "id, said", "of two columns": "a, b, said", "without rowid": "'the id', said"}
    for index, text in enumerate(texts):
        values = {"texts": (f"m{index}", text), "of two columns": ("x", bytes([index]), text)}
        row = values.get(shape, (index + 7, text) if shape == "without rowid" else (text,))
        execute(
            path,
            f'INSERT INTO "my notes" ({names.get(shape, "said")}) '
            f"VALUES ({', '.join('?' * len(row))})",
            *row,
        )
    return f"table:my notes:said,deleted={deleted}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "my.db"


@pytest.fixture(params=SHAPES)
def name(request: pytest.FixtureRequest, path: Path) -> str:
    """Create a table of each shape with duplicates, and provide the name of its format."""
    return create_table(path, str(request.param), (*SAME, "The bakery opens at seven."))


def table(path: Path) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows(path, f"SELECT * {TABLE}"))


def test_a_table_of_any_shape_has_no_faults(name: str, path: Path) -> None:
    assert list(faults(format_named(name), path)) == []


def test_a_duplicate_is_marked_and_options_are_kept(name: str, path: Path, cli: Cli) -> None:
    before = table(path)
    ended = cli("maintain", path, "--table", name.removeprefix("table:")).ends(0)
    assert "undated" not in ended.err  # no column with dates was named
    changed = table(path)
    assert len(changed) == len(before)
    assert len(set(before) - set(changed)) == 1
    with unchanged(table, path):
        assert len(cli("list", path, "--json").json["memories"]) == 2
        assert cli("maintain", path, "--json").json["proposals"] == []
        for command in (("recall", path, "port"), ("log", path), ("check", path), ("review", path)):
            assert cli(*command).code == 0
    assert cli("undo", path).code == 0
    assert table(path) == before


def test_commands_in_hints_work_when_pasted(tmp_path: Path, path: Path, cli: Cli) -> None:
    ports = ("The wiki listens on port 7070.", "The wiki listens on port 7071.")
    name = create_table(path, "texts", (*SAME, *ports))
    options = "--table", name.removeprefix("table:"), "--state", tmp_path / "odd state.db"
    for command, next_command in (
        (("conflicts", path), "conflicts resolve"),
        (("maintain", path, "--report", tmp_path / "night.md"), "undo"),
    ):
        ended = cli(*command, *options)
        (pasted,) = re.findall(f"slowwave {next_command} (.*)", ended.out + ended.err)
        words = shlex.split(pasted)
        assert words[:5] == [str(path), *map(str, options)]
    assert f"`slowwave undo {pasted}`" in (tmp_path / "night.md").read_text("utf-8")
    assert cli("undo", *words).code == 0


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "of two columns"])
def test_a_text_of_a_model_gets_a_row_that_undo_deletes(
    shape: str, path: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    name = create_table(path, shape, tuple(each_adding_something()))
    before = table(path)
    first = consolidate(cli, name, path, *scripted)
    derived = table(path)
    assert len(derived) == len(before) + 1
    assert len(cli("list", path, "--json").json["memories"]) == 1
    assert cli("maintain", path, "--json", *scripted).json["proposals"] == []
    ids = {"texts": "(id, said) VALUES ('new', ?)", "without rowid": "VALUES (?, 99, 1)"}
    columns = ids.get(shape, "(said) VALUES (?)")
    execute(path, f'INSERT INTO "my notes" {columns}', more_of_it()[0])
    with unchanged(table, path):
        second = consolidate(cli, name, path, *scripted)
        assert cli("undo", path, second).code == 0
    assert set(derived) < set(table(path))
    assert cli("undo", path, first).code == 0
    assert set(before) < set(table(path))
    assert len(table(path)) == len(before) + 1


@pytest.mark.parametrize("change", ["UPDATE {} SET said = 'Nobody is on call.'", "DELETE FROM {}"])
def test_an_edit_during_a_question_makes_it_stale(change: str, path: Path, cli: Cli) -> None:
    name = create_table(path, "integers", tuple(each_adding_something()))

    def answer(asked: Asked) -> Answer:
        execute(path, f"{change.format(chr(34) + 'my notes' + chr(34))} WHERE id = 1")
        return joined_once(asked)

    with served(answering(answer, approval)) as options:
        done = cli("maintain", path, "--format", name, "--json", *options)
    assert [proposal["state"] for proposal in done.json["proposals"]] == ["stale"]
    assert not rows(path, f"SELECT * {TABLE} WHERE gone")
    assert not rows(path, f"SELECT * {TABLE} WHERE id < 0")


def test_what_is_stale_is_not_counted_and_is_retried(path: Path, cli: Cli) -> None:
    texts = ("Oksana is on call this week.", *each_adding_something())
    command = ("maintain", path, "--format", create_table(path, "integers", texts))

    def answer(asked: Asked) -> Answer:
        execute(path, 'DELETE FROM "my notes" WHERE id = 1')
        return joined_once(asked)

    with served(answering(answer, approval)) as options:
        first = cli(*command, "--json", *options).json
        (run,) = cli("log", path, "--json").json["runs"]
        assert run["states"] == run["report"]["states"] == {"stale": 1}
        assert (run["before"], run["after"]) == (first["before"], first["after"])
        (again,) = cli(*command, "--json", *options).json["proposals"]
    assert again["state"] == "applied"
    assert len(again["sources"]) == len(texts) - 1


@pytest.mark.usefixtures("long_only")
def test_a_killed_run_resumes(path: Path, cli: Cli, rounds: Callable[[int, int], int]) -> None:
    command = ["maintain", str(path), "--format", create_table(path, "integers", SAME), "--json"]
    assert_kills_leave_all_or_nothing(cli, command, path, lambda: table(path), rounds)


def test_without_a_column_for_deleted_rows_a_table_is_read_only(
    path: Path, tmp_path: Path, cli: Cli
) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, day TEXT, whose INTEGER)")
    for text in SAME:
        execute(path, "INSERT INTO notes VALUES (?, '2026-02-03', 4)", text)
    before = path.read_bytes()
    spec = "notes:said,date=day,tenant=whose"
    assert len(cli("maintain", path, "--table", spec, "--dry-run", "--json").json["proposals"]) == 1
    cli("maintain", path, "--table", spec, "--dry-run").ends(0, "until --table ends with deleted=")
    cli("maintain", path, "--table", spec).ends(2, f"import OWN.db {path} --from table:{spec}")
    assert cli("import", tmp_path / "own.db", path, "--from", f"table:{spec}").code == 0
    memories = cli("list", tmp_path / "own.db", "--json").json["memories"]
    assert {(memory["tenant"], memory["observed_at"][:10]) for memory in memories} == {
        ("4", "2026-02-03")
    }
    assert path.read_bytes() == before
    assert not Path(f"{path}.slowwave.db").exists()


def test_an_unknown_database_has_a_hint_to_preview_a_table(path: Path, cli: Cli) -> None:
    execute(path, "CREATE TABLE numbers (id INTEGER PRIMARY KEY)")
    execute(path, "CREATE TABLE things (name TEXT, said TEXT, at DATETIME)")
    execute(path, "INSERT INTO things VALUES ('api', ?, '2026-02-03 09:00:00')", SAME[0])
    refused = cli("maintain", path).ends(10, f"things (rows: 1, such as '{SAME[0]}')")
    command = f"slowwave maintain {path} --table things:said,date=at --dry-run"
    assert f"{command} (to change it, add deleted=COLUMN" in refused.err
    assert cli(*command.split()[1:]).code == 0


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("things", "TABLE:COLUMN"),
        ("things:said,colour=x", "has an unknown key, 'colour'. Specify TABLE:COLUMN"),
        ("things:said,deleted=", "TABLE:COLUMN"),
        ("things:said,deleted=n,deleted=m", "TABLE:COLUMN"),
        ("thing:said", "no table 'thing'. Specify one of its tables: things."),
        ("seen:said", "no table 'seen'"),
        ("things:text", "no column 'text'. Specify one of its columns: id, said, n"),
        ("things:said,date=when", "no column 'when'"),
        ("things:said,deleted=n", "n is computed"),
        ("things:said,deleted=id", "id identifies a row"),
        ("things:said,deleted=said", "specifies a column twice"),
    ],
)
def test_unsuitable_tables_and_columns_are_named(
    spec: str, part: str, path: Path, tmp_path: Path, cli: Cli
) -> None:
    execute(path, "CREATE TABLE things (id TEXT PRIMARY KEY, said TEXT, n AS (length(said)))")
    execute(path, "CREATE VIEW seen AS SELECT said FROM things")
    cli("maintain", path, "--table", spec).ends(2, part)
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_mirrored_table_cannot_be_described_differently(path: Path, cli: Cli) -> None:
    consolidate(cli, create_table(path, "without a key", SAME), path)
    before = "was mirrored as table:my notes:said,deleted=gone before"
    cli("maintain", path, "--table", "my notes:said,date=_date,deleted=gone").ends(2, before)
    cli("maintain", path, "--table", "my note:said,deleted=gone").ends(2, "no table 'my note'")
    assert cli("maintain", path, "--table", "my notes:said", "--format", "langgraph").code == 2


@pytest.mark.parametrize(
    ("column", "more"),
    [
        ("gone INTEGER CHECK (gone IS NULL)", ""),
        (
            "gone INTEGER",
            "CREATE TRIGGER t AFTER UPDATE ON notes BEGIN UPDATE notes SET gone = 0; END",
        ),
        (
            "gone INTEGER",
            "CREATE TRIGGER t BEFORE UPDATE ON notes BEGIN SELECT raise(ABORT, 'gone it is'); END",
        ),
    ],
)
def test_tables_that_ignore_marks_are_refused(column: str, more: str, path: Path, cli: Cli) -> None:
    execute(path, f"CREATE TABLE notes (said TEXT, {column})")
    for text in SAME:
        execute(path, "INSERT INTO notes (said) VALUES (?)", text)
    if more:
        execute(path, more)
    with unchanged(rows, path, "SELECT * FROM notes"):
        cli("maintain", path, "--table", "notes:said,deleted=gone").ends(10, "gone")
    assert cli("log", path, "--table", "notes:said,deleted=gone", "--json").json["runs"] == []


@pytest.mark.parametrize("column", ["vector BLOB DEFAULT x'00'", "label TEXT NOT NULL"])
def test_no_row_is_added_to_a_table_that_requires_more_than_a_text(
    column: str, path: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    execute(path, f"CREATE TABLE notes (said TEXT, gone INT, {column})")
    for text in each_adding_something():
        execute(path, "INSERT INTO notes VALUES (?, 0, x'01')", text)
    with unchanged(rows, path, "SELECT * FROM notes"):
        ended = cli("maintain", path, "--table", "notes:said,deleted=gone", *scripted).ends(0)
        assert column.split()[0] in ended.err + ended.out


def test_a_row_that_the_table_refuses_is_rejected(
    path: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    execute(path, "CREATE TABLE notes (id INTEGER PRIMARY KEY CHECK (id > 0), said TEXT, gone INT)")
    for text in each_adding_something():
        execute(path, "INSERT INTO notes (said) VALUES (?)", text)
    with unchanged(rows, path, "SELECT * FROM notes"):
        command = ("maintain", path, "--table", "notes:said,deleted=gone", "--json", *scripted)
        (rejected,) = cli(*command).ends(0).json["proposals"]
        assert (rejected["state"], "CHECK" in rejected["why"]) == ("rejected", True)
        (run,) = cli("log", path, "--json").json["runs"]
        assert run["states"] == {"rejected": 1}
        assert cli(*command).json["proposals"] == []


def test_a_new_row_has_the_values_that_its_sources_share(
    path: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, gone INT, at REAL, kind TEXT, n INT)")
    # The last one is merged into the first, which then is a source of the new text.
    for number, text in enumerate((*each_adding_something(), of_one_thing()[0]), 1):
        day = 1e9 + number * 86400.5
        execute(path, "INSERT INTO notes VALUES (?, 0, ?, 'pager', ?)", text, day, number)
    # Odd times are not dates, and bytes are not a text.
    execute(path, "INSERT INTO notes VALUES ('The bakery opens at seven.', 0, 1e300, '', 0)")
    execute(path, "INSERT INTO notes VALUES (x'ff', 0, 'yesterday', '', 0)")
    consolidate(cli, "table:notes:said,date=at,deleted=gone", path, *scripted)
    (new,) = rows(path, "SELECT kind, n, at, gone FROM notes WHERE rowid < 0")
    assert new == {"kind": "pager", "n": None, "at": 1e9 + 3 * 86400.5, "gone": 0}


def test_a_new_row_does_not_get_an_invalid_time(
    path: Path, cli: Cli, scripted: tuple[str, ...]
) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, gone INT, at INT)")
    for text, time in zip(each_adding_something(), (99, None, None), strict=False):
        execute(path, "INSERT INTO notes VALUES (?, 0, ?)", text, time)
    consolidate(cli, "table:notes:said,date=at,deleted=gone", path, *scripted)
    assert rows(path, "SELECT at FROM notes WHERE rowid < 0") == [{"at": None}]


def test_a_mark_is_a_time_in_the_unit_of_its_column(path: Path, cli: Cli) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, deleted_at INTEGER)")
    execute(path, "INSERT INTO notes VALUES ('The boat is green.', 1750000000000)")
    for text in SAME:
        execute(path, "INSERT INTO notes VALUES (?, NULL)", text)
    consolidate(cli, "table:notes:said,deleted=deleted_at", path)
    (latest,) = rows(path, "SELECT max(deleted_at) AS at FROM notes")
    assert latest["at"] > 1_750_000_000_000
    assert len(cli("list", path, "--json").json["memories"]) == 1


def test_a_tenant_is_shown_unless_the_text_contains_it(path: Path, cli: Cli) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, whose TEXT)")
    for text in ("The annual report is due.", "ANN's freezer hums."):
        execute(path, "INSERT INTO notes VALUES (?, 'ann')", text)
    shown = cli("list", path, "--table", "notes:said,tenant=whose").ends(0)
    shown.says("row 1: ann: The annual report is due.", "row 2: ANN's freezer hums.")


def test_a_locked_table_exits_11(path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    name = create_table(path, "integers", SAME)
    monkeypatch.setattr("slowwave.store.connection.BUSY_TIMEOUT_MS", 300)
    with unchanged(table, path), closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN IMMEDIATE")
        assert cli("maintain", path, "--format", name).code == 11
        owner.execute("ROLLBACK")


def test_a_forgotten_text_leaves_the_table_and_its_hidden_rows(path: Path, cli: Cli) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, gone INT DEFAULT 0, title TEXT)")
    for text in (*SAME, "The bakery opens at seven."):
        execute(path, "INSERT INTO notes (said, title) VALUES (?, 'note')", text)
    forget = ("forget", path, "--matching", "8080", "--yes", "--json")
    consolidate(cli, "table:notes:said,deleted=gone", path)
    assert cli(*forget).ends(0).json["left"] == []
    assert [row["said"] for row in rows(path, "SELECT said FROM notes")] == [
        "The bakery opens at seven."
    ]
    assert b"8080" not in path.read_bytes() + Path(f"{path}.slowwave.db").read_bytes()
    execute(path, "INSERT INTO notes VALUES ('8080 is open.', 0, 'note')")
    execute(path, "UPDATE notes SET title = 'port 8080' WHERE said LIKE 'The bakery%'")
    assert cli(*forget).ends(3).json["left"] == ["notes.title"]


def test_a_row_to_forget_that_another_table_refers_to_stays(path: Path, cli: Cli) -> None:
    execute(path, "CREATE TABLE notes (id INTEGER PRIMARY KEY, said TEXT, gone INT DEFAULT 0)")
    execute(path, "INSERT INTO notes (said) VALUES ('Marta likes tea.'), ('Otto likes milk.')")
    execute(path, "CREATE TABLE links (note INTEGER REFERENCES notes (id))")
    execute(path, "INSERT INTO links VALUES (1)")
    forget = ("forget", path, "--table", "notes:said,deleted=gone", "--matching", "tea", "--yes")
    with unchanged(rows, path, "SELECT * FROM notes"):
        cli(*forget).ends(1, "of notes in", "rows of links refer to it", "ON DELETE CASCADE")
    execute(path, "DELETE FROM links")
    assert cli(*forget).code == 0
    assert len(rows(path, "SELECT * FROM notes")) == 1


def test_rows_without_a_text_are_named_and_texts_with_nul_are_read(
    path: Path, tmp_path: Path, cli: Cli
) -> None:
    execute(path, "CREATE TABLE notes (id INTEGER PRIMARY KEY, said, gone INT DEFAULT 0)")
    texts = ("Marta\0likes tea.", "Marta\0likes tea!", b"Bytes", 7, None)
    for text in texts:
        execute(path, "INSERT INTO notes (said) VALUES (?)", text)
    omitted = "Rows whose said is not a text are omitted: row 3, row 4."
    ended = cli("maintain", path, "--table", "notes:said,deleted=gone", "--json").ends(0, omitted)
    assert [proposal["operation"] for proposal in ended.json["proposals"]] == ["merge"]
    own = tmp_path / "own.db"
    cli("import", own, path, "--from", "table:notes:said").ends(0, omitted).says("2 memories")
    assert cli("undo", path).code == 0


def test_a_blank_tenant_is_none_and_an_impossible_one_is_named(tmp_path: Path, cli: Cli) -> None:
    path, own = tmp_path / "my.db", tmp_path / "own.db"
    execute(path, "CREATE TABLE notes (id INTEGER PRIMARY KEY, said TEXT, who TEXT, gone INT)")
    for text, tenant in zip(SAME, (None, " "), strict=True):
        execute(path, "INSERT INTO notes (said, who) VALUES (?, ?)", text, tenant)
    command = ("maintain", path, "--table", "notes:said,tenant=who,deleted=gone")
    (proposal,) = cli(*command, "--json").ends(0).json["proposals"]
    assert proposal["tenant"] == "default"
    execute(path, "INSERT INTO notes (said, who) VALUES ('The cat sleeps.', ?)", "a\0b")
    for refused in (command, ("import", own, path, "--from", "table:notes:said,tenant=who")):
        cli(*refused).ends(1, "row 3: This memory is not valid: tenant")


@pytest.mark.parametrize(
    ("date", "like"), [("2026-02-03", "20__-__-__"), (1_770_000_000, "1__________"[:10])]
)
def test_a_corrected_row_has_the_day_of_the_correction(
    date: object, like: str, path: Path, cli: Cli
) -> None:
    execute(path, "CREATE TABLE notes (said TEXT, day, gone INT)")
    execute(path, "INSERT INTO notes VALUES (?, ?, 0)", SAME[0], date)
    assert cli("maintain", path, "--table", "notes:said,date=day,deleted=gone").code == 0
    (memory,) = cli("list", path, "--json").json["memories"]
    assert cli("correct", path, memory["id"], "--text", "The api listens on port 9091.").code == 0
    (row,) = rows(path, f"SELECT day, day LIKE '{like}' AS fits FROM notes WHERE rowid < 0")
    assert row["fits"] and row["day"] > date


def test_a_column_that_marks_no_deletion_or_has_no_dates_is_named(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "my.db"
    execute(path, "CREATE TABLE notes (said TEXT, state TEXT, score REAL)")
    for text in SAME:
        execute(path, "INSERT INTO notes VALUES (?, 'active', 0.5)", text)
    preview = ("maintain", path, "--dry-run", "--table")
    cli(*preview, "notes:said,deleted=state").ends(0, "All rows of notes count as deleted")
    execute(path, "INSERT INTO notes VALUES ('', 'active', 0.5)")
    undated = cli(*preview, "notes:said,date=score").ends(0, "without a valid time", SAME[0])
    assert "''" not in undated.err
    cli(*preview, "notes:said,deleted=state:gone").ends(0).says("2 -> 1 memories")


@pytest.mark.usefixtures("name")
def test_formats_names_the_tables_with_texts(path: Path, cli: Cli) -> None:
    cli("formats", path).ends(10, "It has texts in my notes", f"slowwave maintain {path} --table")
