"""The memory file: creating, opening, refusing and locking it."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from threading import Barrier

import pytest
from builders import (
    NOW,
    a_memory,
    all_memories,
    changing,
    process,
    put,
    run_on_a_small_disk,
    with_steps,
)
from cli_calls import Cli
from nights import execute, picture, rows, unchanged

from slowwave.consolidation.running.run_in_file import Preflight, RunInFile
from slowwave.store import connection, migrations
from slowwave.store.check import Health, check_file
from slowwave.store.errors import FileHeld, StoreError, UnusableFile
from slowwave.store.file import (
    MemoryFile,
    create_file,
    migrate_file,
    new_file,
    open_reading,
    open_writing,
    schema_version,
)
from slowwave.store.lock import maintenance_lock
from slowwave.store.memories import add_memories, read_memories
from slowwave.store.opening import MAGIC
from slowwave.store.schema_of_file import newest_version
from slowwave.store.sidecar import create_sidecar, file_mode

Opener = Callable[[Path], AbstractContextManager[MemoryFile]]
either_way = pytest.mark.parametrize("opened", [open_reading, open_writing])


def refused(opened: Opener, path: Path) -> UnusableFile:
    with pytest.raises(UnusableFile) as raised, opened(path):
        pytest.fail("it was opened")
    assert raised.value.hint
    return raised.value


def test_a_new_file_is_intact_and_has_the_application_id(tmp_path: Path) -> None:
    memory_file = tmp_path / "memory.db"
    create_file(memory_file)
    assert list(memory_file.parent.iterdir()) == [memory_file]
    with open_reading(memory_file) as file:
        assert check_file(file) == Health(newest_version(), 0, 0, 0, ())
    names = ("application_id", "user_version", "journal_mode")
    with closing(sqlite3.connect(memory_file)) as db:
        header = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert header == [migrations.APPLICATION_ID, newest_version(), "wal"]


@pytest.mark.parametrize("name", ["a b.db", "mémoire #1?.db", "100%25.db", "-", "x&mode=memory"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    create_file(tmp_path / name)
    put(tmp_path / name, a_memory("m-1"))
    assert [memory.id for memory in all_memories(tmp_path / name)] == ["m-1"]
    names = {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()}
    assert names == {name}


@pytest.mark.parametrize(
    "prepare",
    [
        *(lambda path, there=there: path.write_bytes(there) for there in (b"", b"notes", MAGIC)),
        lambda path: path.symlink_to(path.with_name("elsewhere.db")),
    ],
)
def test_no_existing_file_is_replaced(tmp_path: Path, prepare: Callable[[Path], object]) -> None:
    path = tmp_path / "memory.db"
    prepare(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(StoreError, match=r"already exists|is a link to") as raised:
        create_file(path)
    assert isinstance(raised.value, UnusableFile) == path.is_symlink()
    assert list(tmp_path.iterdir()) == [path]
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "message"), [("no/memory.db", "Cannot create"), (f"{'n' * 250}.db", "name too long")]
)
def test_no_file_is_made_under_an_unusable_path(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        create_file(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("reason", [ValueError, KeyboardInterrupt])
def test_a_failed_creation_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: type[BaseException]
) -> None:
    def broken(db: object) -> None:
        raise reason

    with_steps(monkeypatch, broken)
    with pytest.raises(reason):
        create_file(tmp_path / "memory.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_leftover_log_prevents_a_new_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "memory.db"
    leftover = tmp_path / f"memory.db{suffix}"
    leftover.write_bytes(b"what another file still needs")
    with pytest.raises(StoreError, match="leftover of another file") as raised:
        create_file(path)
    assert raised.value.hint
    assert list(tmp_path.iterdir()) == [leftover]
    leftover.unlink()
    create_file(path)
    assert all_memories(path) == []


def test_only_one_of_four_threads_creates_a_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    barrier = Barrier(4)

    def create(number: int) -> str:
        barrier.wait()
        try:
            with new_file(path) as file, file.transaction():
                add_memories(file, [a_memory(f"m-{number}")])
        except StoreError as error:
            return error.message
        return f"m-{number}"

    with ThreadPoolExecutor(4) as pool:
        output = list(pool.map(create, range(4)))
    assert list(tmp_path.iterdir()) == [path]
    (memory,) = all_memories(path)
    output.remove(memory.id)
    assert output == [f"{path} already exists."] * 3


def test_a_file_created_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with pytest.raises(StoreError, match="already exists"), new_file(path):
        path.write_bytes(b"notes")
    assert path.read_bytes() == b"notes"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_creating_a_file_works_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refusing(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refusing)
    path = tmp_path / "memory.db"
    create_file(path)
    with pytest.raises(StoreError, match="already exists"):
        create_file(path)
    assert list(tmp_path.iterdir()) == [path]
    assert all_memories(path) == []


@pytest.fixture
def umask() -> Iterator[Callable[[int], None]]:
    """Provide a function that sets the umask until the test ends."""
    before = os.umask(0o022)
    yield lambda mask: (os.umask(mask), None)[1]
    os.umask(before)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(
    tmp_path: Path, umask: Callable[[int], None], mask: int, mode: int
) -> None:
    umask(mask)
    create_file(tmp_path / "memory.db")
    assert file_mode(tmp_path / "memory.db") == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660])
def test_side_files_are_private(memory_file: Path, umask: Callable[[int], None], mode: int) -> None:
    umask(0)
    memory_file.chmod(mode)
    memory_file.with_name("memory.db.maintenance.lock").touch(0o666)
    with maintenance_lock(memory_file), changing(memory_file) as file:
        add_memories(file, [a_memory("m-1")])
        create_sidecar(memory_file, "memory.db.copy")
        modes = {path.name: file_mode(path) for path in memory_file.parent.iterdir()}
    endings = ("", "-wal", "-shm", ".maintenance.lock", ".copy")
    assert modes == {f"memory.db{ending}": mode for ending in endings}


@pytest.mark.parametrize("is_there", [False, True])
def test_the_lock_file_of_a_read_only_file_is_writable(memory_file: Path, is_there: bool) -> None:
    lock = memory_file.with_name("memory.db.maintenance.lock")
    memory_file.chmod(0o444)
    if is_there:
        lock.touch(0o444)
    with maintenance_lock(memory_file):
        assert file_mode(lock) == 0o644
    assert file_mode(lock) == 0o644


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Provide a file in a folder that everybody may write to, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memory.db")
        create_file(path)
        Path(folder).chmod(0o777)
        yield path


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")


@as_root
def test_side_files_created_by_root_belong_to_the_owner_of_the_file(memory_file: Path) -> None:
    os.chown(memory_file, 12345, 23456)
    with maintenance_lock(memory_file), changing(memory_file) as file:
        add_memories(file, [a_memory("m-1")])
        create_sidecar(memory_file, "memory.db.copy")
        owners = {(path.stat().st_uid, path.stat().st_gid) for path in memory_file.parent.iterdir()}
    assert owners == {(12345, 23456)}


@as_root
@pytest.mark.parametrize(("group", "mode"), [(65534, 0o664), (23456, 0o604)])
def test_an_unavailable_group_gets_no_rights(open_to_all: Path, group: int, mode: int) -> None:
    os.chown(open_to_all, 12345, group)
    open_to_all.chmod(0o664)
    assert as_nobody(lambda: create_sidecar(open_to_all, "copy")) == ""
    assert file_mode(open_to_all.with_name("copy")) == mode


@as_root
def test_an_error_names_a_lock_that_cannot_be_opened(open_to_all: Path) -> None:
    lock = open_to_all.with_name("memory.db.maintenance.lock")
    open_to_all.chmod(0o666)
    lock.touch(0o600)

    def lock_it() -> None:
        with maintenance_lock(open_to_all):
            pass

    assert f"{lock} cannot be opened: Permission denied." in as_nobody(lock_it)


def as_nobody(action: Callable[[], object]) -> str:
    """Run a function in a process without rights, and return its error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        output = stream.read()
    os.waitpid(child, 0)
    return output


def test_a_side_file_replaces_no_file_and_follows_no_link(memory_file: Path) -> None:
    link = memory_file.with_name("link")
    link.symlink_to(memory_file.with_name("elsewhere"))
    for name in ("memory.db", "link"):
        with pytest.raises(FileExistsError):
            create_sidecar(memory_file, name)
    assert not link.exists()


def test_a_lock_that_is_a_symbolic_link_is_refused(memory_file: Path) -> None:
    notes = memory_file.with_name("notes")
    notes.write_text("mine")
    lock = memory_file.with_name("memory.db.maintenance.lock")
    lock.symlink_to(notes)
    with pytest.raises(StoreError, match="is a symbolic link"), maintenance_lock(memory_file):
        pytest.fail("it was locked")
    assert notes.read_text() == "mine"
    lock.unlink()
    with maintenance_lock(memory_file):
        pass


def test_side_files_of_a_link_are_next_to_its_target(memory_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    link = folder / "memory.db"
    link.symlink_to(memory_file)
    with maintenance_lock(link), changing(link) as file:
        add_memories(file, [a_memory("m-1")])
        create_sidecar(link, "copy")
    assert list(folder.iterdir()) == [link]
    assert memory_file.with_name("copy").exists()
    assert [memory.id for memory in all_memories(memory_file)] == ["m-1"]


def test_a_link_named_like_a_backup_reads_its_log(memory_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "memory.db.backup-20260310T030000Z"
    link.symlink_to(memory_file)
    with open_reading(memory_file):  # the last to close a file moves the log into it
        put(memory_file, a_memory("m-1"))
        assert [memory.id for memory in all_memories(link)] == ["m-1"]


def cut(end: int) -> Callable[[bytearray, int], None]:
    return lambda data, _: data.__delitem__(slice(end, None))


def overwritten(data: bytearray, start: int, size: int) -> None:
    data[start : start + size] = b"\xff" * size


@either_way
@pytest.mark.parametrize(
    "spoil",
    [
        *map(cut, (-1, -100, -4096, -9000, 5000, 4096, 512)),
        lambda data, _: overwritten(data, 16, 12),
        lambda data, root: overwritten(data, root, 4096),
    ],
)
def test_a_truncated_or_overwritten_file_is_damaged(
    memory_file: Path, opened: Opener, spoil: Callable[[bytearray, int], None]
) -> None:
    put(memory_file, *(a_memory(f"m-{number}", "x" * 2_000) for number in range(20)))
    (page,) = rows(memory_file, "SELECT rootpage FROM sqlite_schema WHERE name = 'memories'")
    data = bytearray(memory_file.read_bytes())
    spoil(data, (page["rootpage"] - 1) * 4096)
    memory_file.write_bytes(data)
    with pytest.raises(UnusableFile, match="damaged"), opened(memory_file) as file:
        list(read_memories(file))


def test_an_older_file_is_usable_only_after_its_migration(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory_file, a_memory("m-1"))

    def version_next(db: object) -> None:
        db.execute("ALTER TABLE memories ADD COLUMN colour TEXT")  # type: ignore[attr-defined]

    before = newest_version()
    with_steps(monkeypatch, version_next)
    for opening in (open_reading, open_writing):
        assert f"version {before}" in refused(opening, memory_file).message
    migrate_file(memory_file)
    with open_reading(memory_file) as file:
        assert schema_version(file) == newest_version()
    assert rows(memory_file, "SELECT id, colour FROM memories") == [{"id": "m-1", "colour": None}]


def test_a_file_opened_for_reading_cannot_be_written(memory_file: Path) -> None:
    before = memory_file.read_bytes()
    with pytest.raises(StoreError, match="cannot be written"), open_reading(memory_file) as file:
        add_memories(file, [a_memory("m-1")])
    assert memory_file.read_bytes() == before


@either_way
def test_a_file_with_pages_in_its_log_is_not_truncated(memory_file: Path, opened: Opener) -> None:
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


def test_a_reader_sees_one_snapshot_while_agents_write(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"))
    with open_reading(memory_file) as file:
        assert len(list(read_memories(file))) == 1
        execute(memory_file, "INSERT INTO memories (content) VALUES ('written meanwhile')")
        assert len(list(read_memories(file))) == 1
    assert len(all_memories(memory_file)) == 2


def test_an_error_names_a_log_that_cannot_be_opened(memory_file: Path) -> None:
    memory_file.with_name("memory.db-wal").mkdir()
    error = refused(open_reading, memory_file)
    assert "cannot be read" in error.message
    assert "log" in error.hint


# An agent may use the file without a log; SQLite then writes a rollback journal next to it.
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


def test_the_next_writer_repairs_an_interrupted_write(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"))
    with process(CRASHING, memory_file):
        pass
    backup = memory_file.with_name("memory.db.backup-20260310T030000Z")
    for end in ("", "-journal"):
        shutil.copy(f"{memory_file}{end}", f"{backup}{end}")
    for path in (memory_file, backup):
        assert "an interrupted write" in refused(open_reading, path).message
    with open_writing(memory_file) as file:
        assert check_file(file).problems == ()
    assert [memory.id for memory in all_memories(memory_file)] == ["m-1"]


@pytest.mark.parametrize("reason", [ValueError, KeyboardInterrupt, SystemExit, FileHeld])
def test_an_exception_rolls_back(memory_file: Path, reason: type[BaseException]) -> None:
    put(memory_file, a_memory("m-1"))
    with open_writing(memory_file) as file:
        with pytest.raises(reason), file.transaction():
            add_memories(file, [a_memory("m-2")])
            raise reason("in the middle")
        with file.transaction():
            add_memories(file, [a_memory("m-3")])
    assert [memory.id for memory in all_memories(memory_file)] == ["m-1", "m-3"]


def test_a_transaction_that_fails_at_its_commit_changes_nothing(memory_file: Path) -> None:
    with open_writing(memory_file) as file:
        with pytest.raises(StoreError, match="rejects the change"), file.transaction():
            add_memories(file, [a_memory("m-1", superseded_by="nobody")])
        assert not file.conn.in_transaction
    assert all_memories(memory_file) == []


def test_a_write_outside_a_transaction_reports_a_locked_file(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 1)
    with changing(memory_file), pytest.raises(FileHeld), open_writing(memory_file) as second:
        add_memories(second, [a_memory("m-1")])


# Who waits for whom: the journal mode, the statements of the holder, and the waiting command.
IN_THE_WAY = {
    "a writer of a writer": ("WAL", "BEGIN IMMEDIATE", "add"),
    "a reader of a commit": ("DELETE", "BEGIN; SELECT * FROM memories", "add"),
    "a writer of a reader": ("DELETE", "BEGIN EXCLUSIVE", "export"),
}
HOLDING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2].split("; "):
    db.execute(statement).fetchall()
print("ready", flush=True)
sys.stdin.read()
"""
COMMAND = """
import sys
import tenacity
from slowwave.cli.app import run
from slowwave.store import connection, exchange, file
connection.BUSY_TIMEOUT_MS = 600_000
print("ready", flush=True)
sys.exit(run(sys.argv[1:]))
"""


# A run that waits for a writer is in `test_signals`.
@pytest.mark.parametrize("way", ["a reader of a commit", "a writer of a reader"])
def test_ctrl_c_ends_a_waiting_command(memory_file: Path, way: str) -> None:
    mode, statements, command = IN_THE_WAY[way]
    put(memory_file, a_memory("m-1"))
    execute(memory_file, f"PRAGMA journal_mode = {mode}")
    arguments = [command, memory_file, *(["new"] if command == "add" else [])]
    with (
        process(HOLDING, memory_file, statements) as holder,
        process(COMMAND, *arguments) as interrupted,
        process(COMMAND, *arguments) as patient,
    ):
        time.sleep(0.5)
        assert (interrupted.poll(), patient.poll()) == (None, None)
        interrupted.send_signal(signal.SIGINT)
        # After its timeout it would report that the file is locked.
        assert interrupted.wait(timeout=30) == 130
        assert patient.poll() is None
        holder.kill()
        assert patient.wait(timeout=30) == 0
    assert len(all_memories(memory_file)) == (2 if command == "add" else 1)


@pytest.mark.parametrize("way", IN_THE_WAY)
def test_waiting_for_a_locked_file_ends_with_an_error(
    memory_file: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    put(memory_file, a_memory("m-1"))
    mode, statements, command = IN_THE_WAY[way]
    execute(memory_file, f"PRAGMA journal_mode = {mode}")
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 300)
    with process(HOLDING, memory_file, statements), pytest.raises(FileHeld, match="is locked"):
        if command == "add":
            put(memory_file, a_memory("m-2"))
        else:
            all_memories(memory_file)
    assert [memory.id for memory in all_memories(memory_file)] == ["m-1"]


@pytest.mark.parametrize("is_named", [False, True])
def test_importing_a_slow_pipe_does_not_lock_the_file(memory_file: Path, is_named: bool) -> None:
    pipe = memory_file.with_name("pipe")
    os.mkfifo(pipe)
    with process(COMMAND, "import", memory_file, pipe if is_named else "-") as command:
        stream = pipe.open("w") if is_named else command.stdin
        assert stream is not None
        with stream:
            stream.write('{"content": "from the pipe"}\n')
            stream.flush()
            time.sleep(0.5)
            with closing(sqlite3.connect(memory_file, timeout=0)) as agent, agent:
                agent.execute("INSERT INTO memories (content) VALUES ('of an agent')")
            stream.write('{"content": "from the pipe, later"}')
        assert command.wait(timeout=30) == 0
    contents = [row["content"] for row in rows(memory_file, "SELECT content FROM memories")]
    assert contents == ["of an agent", "from the pipe", "from the pipe, later"]


def replace_file(path: Path) -> None:
    """Replace this memory file with another."""
    second = path.with_name("second.db")
    create_file(second)
    put(second, a_memory("of-the-other"))
    second.replace(path)


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
@pytest.mark.parametrize("change", [replace_file, Path.unlink])
def test_a_removed_or_replaced_file_is_not_written(
    memory_file: Path, mode: str, change: Callable[[Path], None]
) -> None:
    execute(memory_file, f"PRAGMA journal_mode = {mode}")
    with (
        pytest.raises(UnusableFile, match="removed or replaced"),
        open_writing(memory_file) as file,
    ):
        change(memory_file)
        with file.transaction():
            add_memories(file, [a_memory("m-1")])
    if memory_file.exists():
        assert [memory.id for memory in all_memories(memory_file)] == ["of-the-other"]


def test_a_run_ends_when_its_file_is_replaced(memory_file: Path) -> None:
    put(memory_file, a_memory("m-1"), a_memory("of-the-other"))
    preflight = Preflight(memory_file, None, NOW)
    run = RunInFile(preflight, NOW, {})
    vector = [("m-1", "hash", b"\x00\x00\x80\x3f")]
    run.store_vectors("a model", vector)
    replace_file(memory_file)
    raised = pytest.raises(UnusableFile, match="removed or replaced")
    with unchanged(memory_file.read_bytes), raised:
        run.store_vectors("a model", vector)


def test_a_full_text_index_of_an_agent_is_kept_current(memory_file: Path) -> None:
    execute(memory_file, "CREATE VIRTUAL TABLE found USING fts5 (content)")
    execute(
        memory_file,
        "CREATE TRIGGER find AFTER INSERT ON memories "
        "BEGIN INSERT INTO found (content) VALUES (new.content); END",
    )
    put(memory_file, a_memory("m-1", "Billing listens on port 8080."))
    assert len(rows(memory_file, "SELECT * FROM found WHERE found MATCH 'billing'")) == 1


@pytest.mark.parametrize(
    ("action", "message"),
    [("ABORT, 'not today'", "not today"), ("IGNORE", "a trigger ignores or reverts it")],
)
def test_a_change_refused_by_a_trigger_is_an_error(
    memory_file: Path, action: str, message: str
) -> None:
    refusing = f"BEGIN SELECT RAISE({action}); END"
    execute(memory_file, f"CREATE TRIGGER closed BEFORE INSERT ON memories {refusing}")
    with pytest.raises(StoreError, match=message):
        put(memory_file, a_memory("m-1"))


@pytest.mark.parametrize(
    ("event", "command"),
    [
        ("UPDATE", ("undo", "FILE", "--yes")),
        ("UPDATE", ("undo", "FILE", "m-2")),
        ("DELETE", ("forget", "FILE", "m-1", "--yes")),
        ("INSERT", ("add", "FILE", "new")),
    ],
)
def test_a_command_whose_change_a_trigger_ignores_changes_nothing(
    memory_file: Path, cli: Cli, event: str, command: tuple[str, ...]
) -> None:
    put(memory_file, a_memory("m-1", "It rains."), a_memory("m-2", "It rains"))
    cli("maintain", memory_file).ends(0)
    execute(
        memory_file,
        f"CREATE TRIGGER closed BEFORE {event} ON memories BEGIN SELECT RAISE(IGNORE); END",
    )
    arguments = [memory_file if argument == "FILE" else argument for argument in command]
    with unchanged(picture, memory_file):
        cli(*arguments).ends(1, "a trigger ignores or reverts it")


def test_a_full_disk_is_explained_and_changes_nothing(memory_file: Path) -> None:
    with (
        pytest.raises(StoreError, match=r"The disk of .* is full"),
        open_writing(memory_file) as file,
    ):
        file.conn.execute("PRAGMA max_page_count = 60")
        with file.transaction():
            add_memories(file, (a_memory(f"m-{number}", "x" * 4_000) for number in range(100)))
    assert all_memories(memory_file) == []


@pytest.mark.parametrize("command", [("add", "FILE", "new"), ("check", "FILE")])
def test_a_disk_without_a_free_block_is_called_full(
    memory_file: Path, command: tuple[str, ...]
) -> None:
    arguments = [memory_file if argument == "FILE" else argument for argument in command]
    ended = run_on_a_small_disk(16_000, *arguments)  # the index of the log takes 32 kB
    assert (ended.returncode, f"The disk of {memory_file} is full." in ended.stderr) == (1, True)


@pytest.mark.parametrize("name", ["memory.db", "no/memory.db"])
def test_locking_a_missing_file_creates_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnusableFile, match="no file"), maintenance_lock(tmp_path / name):
        pytest.fail("it was locked")
    assert list(tmp_path.iterdir()) == []


def test_closing_ignores_unread_rows(memory_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", output.append)
    with open_reading(memory_file) as file:
        cursors = [
            file.tuples("SELECT name FROM sqlite_master"),
            file.rows("SELECT name FROM sqlite_master"),
        ]
        for cursor in cursors:
            next(cursor, None)
        del cursor
    cursors.clear()
    gc.collect()
    assert output == []
