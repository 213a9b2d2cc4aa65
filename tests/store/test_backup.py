"""Backups: equal to the file, verified, and limited in number."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from builders import (
    NOW,
    OLDER_VERSION,
    a_memory,
    copied,
    copy_of,
    older_file,
    process,
    put,
    run_on_a_small_disk,
    whole,
)
from cli_calls import Cli
from nights import execute, night, picture, rows, unchanged

from slowwave.cli.app import run
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.backup import back_up, fingerprint, list_backups, verify_copy
from slowwave.store.errors import StoreError, UnusableFile

# An agent that writes as fast as it can.
AGENT = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
print("ready", flush=True)
for number in range(1_000_000):
    db.execute("INSERT INTO memories (id, content) VALUES (?, ?)", [f"a{number}", "word " * 200])
    db.execute("UPDATE memories SET content = content || '.' WHERE id = ?", [f"a{number // 2}"])
"""


@pytest.fixture
def full_file(memory_file: Path) -> Path:
    put(memory_file, *(a_memory(f"m{number:03d}", f"text {number}") for number in range(50)))
    return memory_file


embedded_file = copied("with_vectors")


def tables(path: Path) -> list[str]:
    return [row["name"] for row in rows(path, "SELECT name FROM sqlite_schema WHERE type='table'")]


def sidecar_names(path: Path) -> set[str]:
    """Return the files next to a file, except those of SQLite and the lock."""
    own = ("-wal", "-shm", ".maintenance.lock")
    return {item.name for item in path.parent.iterdir() if not item.name.endswith(own)}


def test_a_night_leaves_a_backup(embedded_file: Path, embedder: SentenceEmbedder) -> None:
    before = picture(embedded_file, tables(embedded_file))
    outcome = night(embedded_file, embedder, keep_backups=7)
    assert outcome.backup is not None
    assert outcome.backup.name == "memory.db.backup-20260310T030000Z"
    assert whole(outcome.backup)
    assert picture(outcome.backup, tables(embedded_file)) == before
    assert picture(embedded_file, tables(embedded_file)) != before
    (options,) = rows(embedded_file, "SELECT options FROM runs ORDER BY rowid DESC LIMIT 1")
    assert json.loads(options["options"])["backup"] == outcome.backup.name


def test_a_no_op_run_makes_no_backup(embedded_file: Path, embedder: SentenceEmbedder) -> None:
    assert night(embedded_file, embedder, dry_run=True, keep_backups=7).backup is None
    night(embedded_file, embedder)
    assert night(embedded_file, embedder, keep_backups=7).backup is None
    assert list_backups(embedded_file) == []


def test_a_run_that_cannot_write_makes_no_backup(
    embedded_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowwave.store.connection.BUSY_TIMEOUT_MS", 300)
    with closing(sqlite3.connect(embedded_file, isolation_level=None)) as agent:
        agent.execute("BEGIN IMMEDIATE")
        cli("maintain", embedded_file, "--backup").ends(11, "is locked by another program")
        agent.execute("ROLLBACK")
    assert list_backups(embedded_file) == []


def test_a_run_without_disk_space_keeps_earlier_backups(memory_file: Path, cli: Cli) -> None:
    put(memory_file, *(a_memory(f"m{number:03d}", f"text {number}") for number in range(300)))
    execute(memory_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    backup = back_up(memory_file, NOW, 7)
    size = memory_file.stat().st_size + 8192
    ended = run_on_a_small_disk(size, "maintain", memory_file, "--backup")
    assert ended.returncode == 1, ended.stderr
    (logged,) = cli("log", memory_file, "--json").json["runs"]
    assert logged["outcome"] == "failed"
    assert logged["report"]["why"] in ended.stderr
    assert backup in list_backups(memory_file)


def test_the_command_names_the_backup(embedded_file: Path, cli: Cli) -> None:
    output = cli("maintain", embedded_file, "--backup", "--json").ends(0).json["backup"]
    assert [output] == [str(item) for item in list_backups(embedded_file)]
    assert cli("check", output).code == 0
    # Reading a backup leaves nothing next to it.
    assert [path.name for path in embedded_file.parent.glob("*.backup-*")] == [Path(output).name]


def test_a_backup_has_the_mode_of_the_file(full_file: Path) -> None:
    full_file.chmod(0o600)
    assert back_up(full_file, NOW, 7).stat().st_mode & 0o777 == 0o600


def test_the_backup_of_a_link_is_next_to_its_target(full_file: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(full_file)
    assert back_up(link, NOW, 7).parent == full_file.parent
    assert sidecar_names(link) == {"link.db"}


def test_a_backup_contains_what_only_the_log_contains(full_file: Path) -> None:
    with closing(sqlite3.connect(full_file, isolation_level=None)) as agent:
        agent.execute("INSERT INTO memories (id, content) VALUES ('late', 'still in the log')")
        assert Path(f"{full_file}-wal").stat().st_size
        backup = back_up(full_file, NOW, 7)
    # One file is all of it.
    alone = copy_of(backup, full_file.parent / "alone.db")
    assert rows(alone, "SELECT content FROM memories WHERE id = 'late'")


def test_backups_are_named_by_their_second_in_utc_and_numbered(full_file: Path) -> None:
    now = datetime.fromisoformat("2026-03-10T05:00:00+02:00")
    backups = [back_up(full_file, now, 7) for _ in range(3)]
    stem = "memory.db.backup-20260310T030000Z"
    assert [item.name for item in backups] == [stem, f"{stem}-2", f"{stem}-3"]
    assert list_backups(full_file) == backups


def test_only_the_oldest_backups_are_deleted(full_file: Path) -> None:
    folder = full_file.parent
    rest = (
        "other.db.backup-20200101T000000Z",
        "memory.db.backup-20200101T000000Z.gz",
        "memory.db.backup-2020",
        "memory.db.backup-by-hand",
        "my-memory.db.backup-20200101T000000Z",
        # Digits, but not those that a backup is named with; and a name without a memory file.
        "memory.db.backup-\u0662\u0660200101T000000Z",
        "memory.db.backup-20200103T000000Z",
    )
    for name in rest:
        (folder / name).touch()
    (folder / "memory.db.backup-20200101T000000Z").symlink_to(full_file)
    (folder / "memory.db.backup-20200102T000000Z").mkdir()
    strangers = sidecar_names(full_file)
    backups = [back_up(full_file, NOW + timedelta(days=day), 3) for day in range(5)]
    assert list_backups(full_file) == backups[2:]
    assert sidecar_names(full_file) == strangers | {item.name for item in backups[2:]}


def test_a_clock_set_back_does_not_delete_the_new_backup(full_file: Path) -> None:
    later = [back_up(full_file, NOW + timedelta(days=day), 2) for day in (1, 2)]
    backup = back_up(full_file, NOW, 2)
    assert list_backups(full_file) == [backup, later[1]]


def test_leftovers_of_a_killed_backup_are_deleted(full_file: Path) -> None:
    (full_file.parent / "memory.db.backup-unfinished").write_text("half a backup")
    (full_file.parent / "memory.db.backup-unfinished-journal").write_text("its journal")
    backup = back_up(full_file, NOW, 7)
    assert sidecar_names(full_file) == {"memory.db", backup.name}
    assert whole(backup)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_backup_during_writes_is_consistent(
    memory_file: Path, mode: str, rounds: Callable[[int, int], int]
) -> None:
    execute(memory_file, f"PRAGMA journal_mode = {mode}")
    put(memory_file, *(a_memory(f"m{n:05d}", "some words of it " * 50) for n in range(2_000)))
    backups = []
    with process(AGENT, memory_file) as agent:
        for number in range(rounds(3, 60)):
            backups.append(back_up(memory_file, NOW + timedelta(seconds=number), 100))
            assert agent.poll() is None  # no write of the agent's was refused
    for item in backups:
        assert whole(item)
        # Everything that the agent had written by then is there, without a gap.
        written = rows(item, "SELECT id FROM memories WHERE id LIKE 'a%' ORDER BY rowid")
        assert [row["id"] for row in written] == [f"a{number}" for number in range(len(written))]


def test_a_copy_that_differs_or_is_cut_off_is_not_a_backup(full_file: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(full_file)) as db:
        expected = fingerprint(db)
    copy = copy_of(full_file, tmp_path / "copy.db")
    verify_copy(full_file, copy, expected)
    for change in (
        "UPDATE memories SET content = 'text 7!' WHERE id = 'm007'",
        "UPDATE memories SET trust = 0.25 WHERE id = 'm007'",
        "DELETE FROM memories WHERE id = 'm007'",
        "INSERT INTO entities (tenant, name) VALUES ('default', 'Anna')",
        *(0, 1, 5_000, -20_000, -1),
    ):
        shutil.copyfile(full_file, copy)
        execute(copy, "PRAGMA journal_mode = DELETE")
        if isinstance(change, str):
            execute(copy, change)
        else:
            copy.write_bytes(full_file.read_bytes()[:change])
        with pytest.raises(StoreError, match="differs from it"):
            verify_copy(full_file, copy, expected)


def test_a_dry_run_without_disk_space_names_the_folder(embedded_file: Path) -> None:
    ended = run_on_a_small_disk(40_000, "undo", embedded_file, "oncall-00", "--dry-run")
    assert ended.returncode == 1, ended.stderr
    assert f"Cannot create the copy of {embedded_file}: " in ended.stderr
    assert "see TMPDIR" in ended.stderr


def test_a_run_without_room_for_its_backup_does_not_begin(embedded_file: Path) -> None:
    execute(embedded_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    before, beside = embedded_file.read_bytes(), sidecar_names(embedded_file)
    ended = run_on_a_small_disk(40_000, "maintain", embedded_file, "--backup")
    assert ended.returncode == 1, ended.stderr
    assert "Cannot create the backup of" in ended.stderr
    assert "Nothing was changed." in ended.stderr
    assert embedded_file.read_bytes() == before
    assert sidecar_names(embedded_file) == beside


def test_an_undeletable_leftover_is_an_error(
    embedded_file: Path, embedder: SentenceEmbedder
) -> None:
    (embedded_file.parent / "memory.db.backup-unfinished").mkdir()
    with unchanged(picture, embedded_file), pytest.raises(StoreError, match="Cannot remove"):
        night(embedded_file, embedder, keep_backups=7)


def test_a_damaged_file_is_not_backed_up(embedded_file: Path, embedder: SentenceEmbedder) -> None:
    execute(embedded_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    # An index that no longer agrees with its table: reading memories does not notice.
    damage_index(embedded_file)
    with unchanged(embedded_file.read_bytes), pytest.raises(UnusableFile, match="is damaged"):
        night(embedded_file, embedder, keep_backups=7)
    assert list_backups(embedded_file) == []


def damage_index(path: Path) -> None:
    (page,) = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'memories_by_content'")
    content = bytearray(path.read_bytes())
    # The last byte of the page is the last of an entry: a row's number, or the end of a hash.
    content[page["rootpage"] * 4096 - 1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("what", [["RUN"], ["RUN", "--dry-run"], ["oncall-00"]])
def test_undo_rejects_damage(
    embedded_file: Path, embedder: SentenceEmbedder, what: list[str]
) -> None:
    run_id = str(night(embedded_file, embedder).run_id)
    execute(embedded_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    damage_index(embedded_file)
    with unchanged(embedded_file.read_bytes):
        arguments = (run_id if each == "RUN" else each for each in what)
        assert run(["undo", str(embedded_file), *arguments]) == 10


def test_a_migration_is_preceded_by_a_backup(tmp_path: Path, embedder: SentenceEmbedder) -> None:
    path = older_file(tmp_path)
    outcome = night(path, embedder, keep_backups=7)
    assert outcome.backup is not None
    assert rows(outcome.backup, "PRAGMA user_version") == [{"user_version": OLDER_VERSION}]
    assert rows(path, "PRAGMA user_version") != [{"user_version": OLDER_VERSION}]
