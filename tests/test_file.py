"""One SQLite file: made, opened to read and to write, refused, locked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from builders import a_memory, all_memories, changing, process, put
from nights import execute, rows

from slowwave.store import file as store_file
from slowwave.store import schema
from slowwave.store.check import check_file
from slowwave.store.errors import FileHeld, StoreError, UnusableFile
from slowwave.store.file import (
    MemoryFile,
    create_file,
    maintenance_lock,
    open_reading,
    open_writing,
    schema_version,
)
from slowwave.store.memories import add_memories, read_memories

Opener = Callable[[Path], AbstractContextManager[MemoryFile]]
either_way = pytest.mark.parametrize("opened", [open_reading, open_writing])

# Both hold on to the file until they are killed.
LOCKING = """
import sys
from pathlib import Path
from slowwave.store.file import maintenance_lock
with maintenance_lock(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""
WRITING = """
import sys
from pathlib import Path
from slowwave.store.file import open_writing
with open_writing(Path(sys.argv[1])) as file:
    file.db.conn.execute("INSERT INTO memories (id, content) VALUES ('kept', 'committed')")
    with file.transaction():
        file.db.conn.execute("INSERT INTO memories (id, content) VALUES ('half', 'not yet')")
        print("ready", flush=True)
        sys.stdin.read()
"""


def refused(opened: Opener, path: Path) -> UnusableFile:
    with pytest.raises(UnusableFile) as raised, opened(path):
        pytest.fail("it was opened")
    assert raised.value.hint
    return raised.value


def with_steps(monkeypatch: pytest.MonkeyPatch, *steps: Callable[..., None]) -> None:
    """Make this slowwave one that knows these steps of the schema."""
    for module in (schema, store_file):
        monkeypatch.setattr(module, "STEPS", steps)


def test_a_new_file_is_whole_and_says_whose_it_is(memory_file: Path) -> None:
    with open_reading(memory_file) as file:
        health = check_file(file)
        assert (health.problems, health.memories, health.schema_version) == ((), 0, 2)
    with closing(sqlite3.connect(memory_file)) as db:
        said = [
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "journal_mode")
        ]
    assert said == [schema.APPLICATION_ID, 2, "wal"]


def test_a_new_file_leaves_nothing_beside_it(memory_file: Path) -> None:
    assert list(memory_file.parent.iterdir()) == [memory_file]


@pytest.mark.parametrize("name", ["a b.db", "mémoire #1?.db", "100%25.db", "-", "x&mode=memory"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    create_file(tmp_path / name)
    put(tmp_path / name, a_memory("m-1"))
    assert [one.id for one in all_memories(tmp_path / name)] == ["m-1"]
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} == {
        name
    }


@pytest.mark.parametrize("there", [b"", b"notes", b"SQLite format 3\x00"])
def test_no_file_is_made_over_another(tmp_path: Path, there: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(there)
    with pytest.raises(StoreError, match="exists already") as raised:
        create_file(path)
    assert not isinstance(raised.value, UnusableFile)
    assert path.read_bytes() == there


def test_no_file_is_made_through_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "memory.db"
    link.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(StoreError, match="exists already"):
        create_file(link)
    assert not (tmp_path / "elsewhere.db").exists()


def test_no_file_is_made_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnusableFile, match="Cannot create"):
        create_file(tmp_path / "no" / "memory.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reason", [ValueError, KeyboardInterrupt])
def test_what_could_not_be_made_whole_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: type[BaseException]
) -> None:
    def broken(db: object) -> None:
        raise reason

    with_steps(monkeypatch, *schema.STEPS, broken)
    with pytest.raises(reason):
        create_file(tmp_path / "memory.db")
    assert list(tmp_path.iterdir()) == []


def test_an_old_log_does_not_get_into_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    create_file(path)
    with process(WRITING, path):
        pass
    assert (tmp_path / "memory.db-wal").stat().st_size > 0
    path.unlink()
    create_file(path)
    assert all_memories(path) == []


@either_way
def test_a_missing_file_is_refused_and_not_made(tmp_path: Path, opened: Opener) -> None:
    error = refused(opened, tmp_path / "memory.db")
    assert "no file" in error.message
    assert "slowwave init" in error.hint
    assert list(tmp_path.iterdir()) == []


@either_way
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"SQLite", "not a SQLite database"),
        (b"# my notes\n" * 1_000, "not a SQLite database"),
        (b"SQLite format 3\x00" + b"\xff" * 9_000, "damaged"),
    ],
    ids=["empty", "short", "text", "garbage"],
)
def test_what_is_no_database_is_refused(
    tmp_path: Path, opened: Opener, content: bytes, message: str
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    assert message in refused(opened, path).message
    assert path.read_bytes() == content


@either_way
def test_a_folder_is_refused(tmp_path: Path, opened: Opener) -> None:
    with pytest.raises(UnusableFile, match="Cannot read"), opened(tmp_path):
        pytest.fail("it was opened")


@either_way
def test_a_database_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, opened: Opener
) -> None:
    path = tmp_path / "other.db"
    execute(path, "CREATE TABLE memories (id, content)")
    before = path.read_bytes()
    error = refused(opened, path)
    assert "not a memory file" in error.message
    assert "slowwave import" in error.hint
    assert path.read_bytes() == before


@either_way
@pytest.mark.parametrize("missing", [-1, -100, -4096, -9000, 5000, 4096, 512])
def test_a_file_that_was_cut_off_is_refused(
    memory_file: Path, opened: Opener, missing: int
) -> None:
    put(memory_file, *(a_memory(f"m-{number}", "x" * 2_000) for number in range(20)))
    whole = memory_file.read_bytes()
    memory_file.write_bytes(whole[:missing])
    assert "damaged" in refused(opened, memory_file).message


@either_way
def test_a_damaged_header_is_refused(memory_file: Path, opened: Opener) -> None:
    data = bytearray(memory_file.read_bytes())
    data[16:28] = b"\xff" * 12
    memory_file.write_bytes(data)
    assert "damaged" in refused(opened, memory_file).message


@either_way
def test_a_damaged_page_is_told_when_it_is_read(memory_file: Path, opened: Opener) -> None:
    put(memory_file, *(a_memory(f"m-{number}", "x" * 2_000) for number in range(20)))
    page = rows(memory_file, "SELECT rootpage FROM sqlite_schema WHERE name = 'memories'")
    start = (page[0]["rootpage"] - 1) * 4096
    data = bytearray(memory_file.read_bytes())
    data[start : start + 4096] = b"\xff" * 4096
    memory_file.write_bytes(data)
    with pytest.raises(UnusableFile, match="damaged"), opened(memory_file) as file:
        list(read_memories(file))


@either_way
def test_a_file_of_a_newer_schema_is_refused_with_both_versions(
    memory_file: Path, opened: Opener
) -> None:
    execute(memory_file, "PRAGMA user_version = 7")
    error = refused(opened, memory_file)
    assert "version 7" in error.message
    assert "up to 2" in error.message
    assert "newer slowwave" in error.hint


@either_way
def test_a_migration_that_nobody_here_knows_makes_a_newer_schema(
    memory_file: Path, opened: Opener
) -> None:
    execute(
        memory_file,
        "INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('slowwave', 'version_3')",
    )
    assert "version 3" in refused(opened, memory_file).message


def test_migrations_of_another_program_in_the_file_are_its_own_affair(memory_file: Path) -> None:
    execute(
        memory_file,
        "INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('agent', 'version_9')",
    )
    with open_reading(memory_file) as file:
        assert schema_version(file) == 2


def test_a_file_of_an_older_schema_is_read_once_it_was_brought_up_to_date(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory_file, a_memory("m-1"))

    def version_next(db: object) -> None:
        db.conn.execute("ALTER TABLE memories ADD COLUMN colour TEXT")  # type: ignore[attr-defined]

    with_steps(monkeypatch, *schema.STEPS, version_next)
    assert "version 2" in refused(open_reading, memory_file).message
    with open_writing(memory_file):
        pass
    with open_reading(memory_file) as file:
        assert schema_version(file) == 3
    assert rows(memory_file, "SELECT id, colour FROM memories") == [{"id": "m-1", "colour": None}]


def test_nothing_can_be_written_to_a_file_that_is_open_for_reading(memory_file: Path) -> None:
    before = memory_file.read_bytes()
    with (
        pytest.raises(StoreError, match="cannot be written"),
        open_reading(memory_file) as file,
    ):
        add_memories(file, [a_memory("m-1")])
    assert memory_file.read_bytes() == before


def test_reading_leaves_the_bytes_as_they_were(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"))
    before = memory_file.read_bytes()
    with open_reading(memory_file) as file:
        assert check_file(file).memories == 1
    assert memory_file.read_bytes() == before


def test_reading_sees_what_lies_in_the_log_alone(memory_file: Path) -> None:
    before = memory_file.read_bytes()
    with open_writing(memory_file) as agent:
        add_memories(agent, [a_memory("m-1")])
        assert [one.id for one in all_memories(memory_file)] == ["m-1"]
        assert memory_file.read_bytes() == before


@either_way
def test_a_file_that_grew_in_its_log_alone_is_not_taken_for_cut_off(
    memory_file: Path, opened: Opener
) -> None:
    link = memory_file.with_name("link.db")
    link.symlink_to(memory_file)
    with open_writing(memory_file) as agent, agent.transaction():
        add_memories(agent, (a_memory(f"m-{number}", "x" * 2_000) for number in range(20)))
    with open_writing(memory_file) as agent:
        with agent.transaction():
            add_memories(agent, (a_memory(f"n-{number}", "x" * 2_000) for number in range(20)))
        for path in (memory_file, link):
            with opened(path) as file:
                assert len(list(read_memories(file))) == 40


def test_a_reader_has_one_picture_while_agents_write(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"))
    with open_reading(memory_file) as file:
        assert len(list(read_memories(file))) == 1
        execute(memory_file, "INSERT INTO memories (content) VALUES ('written meanwhile')")
        assert len(list(read_memories(file))) == 1
    assert len(all_memories(memory_file)) == 2


def test_a_text_cut_within_a_character_is_read_all_the_same(memory_file: Path) -> None:
    execute(
        memory_file,
        "INSERT INTO memories (id, content) VALUES ('m-1', CAST(x'4a6f73c3' AS TEXT))",
    )
    assert [one.content for one in all_memories(memory_file)] == ["Jos\N{REPLACEMENT CHARACTER}"]


def test_a_file_whose_log_cannot_be_opened_says_what_is_in_the_way(memory_file: Path) -> None:
    memory_file.with_name("memory.db-wal").mkdir()
    error = refused(open_reading, memory_file)
    assert "cannot be read" in error.message
    assert "log" in error.hint


# An agent may keep the file without a log; SQLite then lays its journal beside it instead.
CRASHING = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = DELETE")
db.execute("PRAGMA cache_size = 2")
db.execute("BEGIN IMMEDIATE")
for _ in range(500):
    db.execute("INSERT INTO memories (content) VALUES (?)", ["x" * 500])
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_file_that_was_left_in_the_middle_of_a_write_is_set_right_by_the_next_writer(
    memory_file: Path,
) -> None:
    put(memory_file, a_memory("m-1"))
    with process(CRASHING, memory_file):
        pass
    error = refused(open_reading, memory_file)
    assert "in the middle of a write" in error.message
    with open_writing(memory_file) as file:
        assert check_file(file).problems == ()
    assert [one.id for one in all_memories(memory_file)] == ["m-1"]


@pytest.mark.parametrize("reason", [ValueError, KeyboardInterrupt, SystemExit, FileHeld])
def test_a_transaction_that_does_not_end_well_changes_nothing(
    memory_file: Path, reason: type[BaseException]
) -> None:
    put(memory_file, a_memory("m-1"))
    with open_writing(memory_file) as file:
        with pytest.raises(reason), file.transaction():
            add_memories(file, [a_memory("m-2")])
            raise reason("in the middle")
        with file.transaction():
            add_memories(file, [a_memory("m-3")])
    assert [one.id for one in all_memories(memory_file)] == ["m-1", "m-3"]


def test_a_transaction_that_the_file_refuses_at_its_end_changes_nothing(memory_file: Path) -> None:
    with open_writing(memory_file) as file:
        with pytest.raises(sqlite3.IntegrityError), file.transaction():
            add_memories(file, [a_memory("m-1", superseded_by="nobody")])
        assert not file.db.conn.in_transaction
    assert all_memories(memory_file) == []


def test_others_see_a_transaction_when_it_has_ended(memory_file: Path) -> None:
    with changing(memory_file) as file:
        add_memories(file, [a_memory("m-1")])
        assert all_memories(memory_file) == []
    assert len(all_memories(memory_file)) == 1


def test_a_process_that_is_killed_while_it_writes_leaves_the_file_whole(memory_file: Path) -> None:
    with process(WRITING, memory_file):
        pass
    with open_reading(memory_file) as file:
        assert [one.id for one in read_memories(file)] == ["kept"]
        assert check_file(file).problems == ()


def test_a_file_that_another_writes_to_is_held(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_file, "BUSY_TIMEOUT_MS", 1)
    with changing(memory_file), open_writing(memory_file) as other:
        with pytest.raises(FileHeld, match="locked by another program"), other.transaction():
            pytest.fail("two wrote at once")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            add_memories(other, [a_memory("m-1")])
    assert all_memories(memory_file) == []


def test_a_write_outside_a_transaction_to_a_held_file_is_explained_too(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_file, "BUSY_TIMEOUT_MS", 1)
    with (
        changing(memory_file),
        pytest.raises(FileHeld),
        open_writing(memory_file) as other,
    ):
        add_memories(other, [a_memory("m-1")])


def test_a_writer_waits_for_anothers_short_transaction(memory_file: Path) -> None:
    ending = """
import sys
from pathlib import Path
from slowwave.store.file import open_writing
with open_writing(Path(sys.argv[1])) as file, file.transaction():
    file.db.conn.execute("INSERT INTO memories (id, content) VALUES ('first', 'x')")
    print("ready", flush=True)
    __import__("time").sleep(0.2)
"""
    with process(ending, memory_file) as other:
        put(memory_file, a_memory("second"))
        assert other.wait() == 0
    assert [one.id for one in all_memories(memory_file)] == ["first", "second"]


def test_a_full_disk_is_explained_and_changes_nothing(memory_file: Path) -> None:
    with (
        pytest.raises(StoreError, match=r"The disk of .* is full"),
        open_writing(memory_file) as file,
    ):
        file.db.conn.execute("PRAGMA max_page_count = 60")
        with file.transaction():
            add_memories(file, (a_memory(f"m-{number}", "x" * 4_000) for number in range(100)))
    assert all_memories(memory_file) == []


@either_way
def test_a_statement_that_is_wrong_is_a_defect_of_ours_and_not_of_the_file(
    memory_file: Path, opened: Opener
) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"), opened(memory_file) as one:
        one.value("SELECT 1 FROM nowhere")


def is_held(path: Path) -> bool:
    """Whether another maintenance run is refused."""
    try:
        with maintenance_lock(path):
            return False
    except FileHeld as error:
        return "Another maintenance run" in error.message


def test_a_second_maintenance_run_is_refused_until_the_first_has_ended(memory_file: Path) -> None:
    with maintenance_lock(memory_file):
        assert is_held(memory_file)
    assert not is_held(memory_file)


def test_a_run_that_fails_lets_go_of_the_file(memory_file: Path) -> None:
    with pytest.raises(KeyboardInterrupt), maintenance_lock(memory_file):
        raise KeyboardInterrupt
    assert not is_held(memory_file)


def test_a_run_of_another_process_holds_the_file_and_its_death_frees_it(memory_file: Path) -> None:
    with process(LOCKING, memory_file):
        assert is_held(memory_file)
    assert not is_held(memory_file)


def test_a_file_is_held_under_each_of_its_names(memory_file: Path) -> None:
    link = memory_file.with_name("link.db")
    link.symlink_to(memory_file)
    with maintenance_lock(link):
        assert is_held(memory_file)


def test_agents_write_while_a_maintenance_run_holds_the_file(memory_file: Path) -> None:
    with maintenance_lock(memory_file):
        execute(memory_file, "INSERT INTO memories (id, content) VALUES ('m-1', 'still here')")
    assert [one.id for one in all_memories(memory_file)] == ["m-1"]


@pytest.mark.parametrize("name", ["memory.db", "no/memory.db"])
def test_a_missing_file_cannot_be_locked_and_leaves_no_trace(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnusableFile, match="no file"), maintenance_lock(tmp_path / name):
        pytest.fail("it was locked")
    assert list(tmp_path.iterdir()) == []
