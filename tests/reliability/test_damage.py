"""Damaged files: commands report the damage, do not crash and save what is readable."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from builders import whole
from nights import execute, night, rows
from reliability import damage
from reliability.crashing import Ended, Job
from reliability.crashing import run as run_apart
from reliability.damage import Original, copied, make_original, spoil

from slowwave.cli.app import run
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.check import check_file
from slowwave.store.file import open_reading

# The only damage to the log instead of the file.
LOG = "flip in the log"
# Of this one, every page has its turn.
CUT = "cut at a page"


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Original:
    return make_original(tmp_path_factory.mktemp("original"), embedder)


@pytest.fixture(scope="session")
def kinds(original: Original) -> dict[str, damage.Damage]:
    return {
        "flip anywhere": damage.flip_anywhere,
        "flip in a page's header": damage.flip_page_header,
        "flip in the file's header": damage.flip_file_header,
        "flip in a text": damage.flip_among(original.texts),
        "flip in JSON": damage.flip_among(original.json),
        "zeroed page": damage.zero_page,
        "page of noise": damage.noise_page,
        "swapped pages": damage.swap_pages,
        CUT: damage.truncate_at(0),
        "cut anywhere": damage.truncate_anywhere,
        LOG: damage.flip_anywhere,
    }


def readable(path: Path) -> dict[str, bytes]:
    """Return what plain SQL reads of the memories: id and text, row by row."""
    texts = {}
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        for row in range(1, 120):
            with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
                for memory, text in db.execute(
                    "SELECT id, CAST(content AS BLOB) FROM memories NOT INDEXED WHERE rowid = ?",
                    [row],
                ):
                    texts[memory] = text
    return texts


def all_ids(original: Original) -> frozenset[str]:
    return frozenset().union(*original.pages.values())


def sound(path: Path) -> bool:
    """Whether SQLite finds nothing wrong."""
    try:
        with closing(sqlite3.connect(path)) as db:
            db.text_factory = bytes
            return db.execute("PRAGMA integrity_check").fetchall() == [(b"ok",)]
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return False


def jobs(original: Original, path: Path, chance: random.Random) -> list[list[str]]:
    """Return commands on a file: some that read, then some that write."""
    name, ids = str(path), original.ids
    looks = [
        ["export", name, "--all"],
        ["log", name],
        ["log", name, ids["run"]],
        ["show", "--lineage", name, ids["made"]],
        ["show", "--lineage", name, ids["gone"], "--json"],
        ["conflicts", name],
        ["maintain", name, "--consolidate", "--dry-run"],
    ]
    writes = [
        ["undo", name, ids["gone"]],
        ["undo", name, ids["key"]],
        ["undo", name, ids["run"]],
        ["maintain", name, "--consolidate", "--json"],
    ]
    return [["check", name], ["export", name], *chance.sample(looks, 2), *chance.sample(writes, 2)]


def tried(*commands: list[str]) -> dict[tuple[str, ...], Ended]:
    """Run commands one after the other, each in a process of its own."""
    return {tuple(command): run_apart(Job(tuple(command))) for command in commands}


def broken(ended: dict[tuple[str, ...], Ended]) -> list[str]:
    """Return the commands that crashed, ended silently, or with an unexpected exit code."""
    return [
        f"{command[0]} {command[2:]}: {item.code} {item.err}"
        for command, item in ended.items()
        if item.code not in (0, 1, 3, 10, 11)
        or "Traceback" in item.err
        or (item.code and not item.err)
    ]


def test_commands_neither_crash_on_damage_nor_add_to_it(
    original: Original,
    kinds: dict[str, damage.Damage],
    tmp_path: Path,
    rounds: Callable[[int, int], int],
) -> None:
    def try_copy(number: int) -> list[str]:
        chance = random.Random(number)  # noqa: S311 - the same damage every time
        name = list(kinds)[number % len(kinds)]
        if name == LOG:
            path = copied(original.unclean, tmp_path / str(number))
            spoil(Path(f"{path}-wal"), kinds[name], chance)
        else:
            path = copied(original.path, tmp_path / str(number))
            turn = damage.truncate_at(number // len(kinds))
            spoil(path, turn if name == CUT else kinds[name], chance)
        # Reading may checkpoint the log: a copy is read.
        seen = copied(path, tmp_path / f"{number}-seen")
        before, data, whole = readable(seen), path.read_bytes(), sound(seen)
        ended = tried(*jobs(original, path, chance))
        faults = broken(ended)
        if not whole and name != LOG and path.read_bytes() != data:
            faults.append("a damaged file was written to")
        faults += broken(tried(["add", str(path), "The spare key lies with Una."]))
        after = readable(path)
        # What a run made is deleted by its undo, and longer if a later run rewrote it.
        undone = any(command[0] == "undo" and item.code == 0 for command, item in ended.items())
        lost = [
            item
            for item, text in before.items()
            if after.get(item) != text
            and not (item in original.derived and (undone or after.get(item, b"").startswith(text)))
        ]
        if lost:
            faults.append(f"lost or changed: {lost}")
        if ended["check", str(path)].code == 0 and not whole:
            faults.append("check says whole")
        return [f"copy {number}, {name}: {item}" for item in faults]

    total = rounds(12, 200)
    with ThreadPoolExecutor(2) as pool:
        faults = [item for harm in pool.map(try_copy, range(total)) for item in harm]
    assert not faults, "\n".join(faults)


def saved(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    """Export a damaged file."""
    capsys.readouterr()
    code = run(["export", str(path), *options])
    captured = capsys.readouterr()
    assert code == 10, captured.err
    return [json.loads(line) for line in captured.out.splitlines()]


def test_memories_on_undamaged_pages_are_saved(
    original: Original,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    leaves = sorted(page for page, ids in original.pages.items() if ids)
    for page in leaves[: rounds(3, len(leaves))]:
        path = copied(original.path, tmp_path / str(page))
        damage.zero_page_of(path, page)
        lines = saved(path, capsys, "--all")
        wanted = all_ids(original) - original.pages[page]
        there = {line["id"] for line in lines}
        assert wanted - there == set()
        assert len(there) == len(lines)
        source, copy = tmp_path / f"{page}.jsonl", tmp_path / f"{page}.db"
        source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        assert run(["import", str(copy), str(source)]) == 0
        with open_reading(copy) as file:
            named = {problem.name for problem in check_file(file).problems}
        # The lost memories had superseded others, and may have been all sources of another.
        assert named <= {"superseded by an inactive memory", "derived without sources"}


def memories_in_export(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return all memories of a sound file: what runs did is not saved from a damaged one."""
    assert run(["export", str(path), "--all"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if "id" in line]


def test_damage_of_another_table_loses_no_lineage(
    original: Original, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied(original.path, tmp_path / "copy")
    good = memories_in_export(path, capsys)
    assert any(item.get("synthesized_from") for item in good)
    root = rows(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'proposals'")[0]["rootpage"]
    damage.zero_page_of(path, root)
    saved_lines = saved(path, capsys, "--all")
    for line, wanted in zip(saved_lines, good, strict=True):
        for name in ("content", "synthesized_from", "entities", "superseded_by"):
            assert (line.get(name) or None) == (wanted.get(name) or None)


def test_an_export_of_invalid_bytes_exits_10(
    original: Original, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied(original.path, tmp_path / "copy")
    execute(path, "UPDATE memories SET content = CAST(x'c328a0ff41' AS TEXT) WHERE id = 'late'")
    assert run(["export", str(path)]) == 10
    output = capsys.readouterr()
    assert f"'slowwave check {path}' lists them" in output.err
    assert len(output.out.splitlines()) > 1


@pytest.mark.parametrize("is_salvaged", [False, True])
@pytest.mark.parametrize("options", [(), ("--all",)])
def test_a_damaged_text_is_imported_only_after_it_was_corrected(
    original: Original,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    is_salvaged: bool,
) -> None:
    path = copied(original.path, tmp_path / "copy")
    hashed = "content_hash IS NOT NULL AND status = 'active'"
    row = rows(path, f"SELECT id, content, content_hash FROM memories WHERE {hashed}")[0]
    damaged, of_it = "x" + row["content"][1:], "WHERE id = ?"
    execute(path, f"UPDATE memories SET content = ? {of_it}", damaged, row["id"])
    execute(path, f"UPDATE memories SET content_hash = ? {of_it}", row["content_hash"], row["id"])
    if is_salvaged:
        table = "SELECT rootpage FROM sqlite_schema WHERE name = 'proposals'"
        root = rows(path, table)[0]["rootpage"]
        damage.zero_page_of(path, root)
    lines = saved(path, capsys, *options)
    source, copy = tmp_path / "saved.jsonl", tmp_path / "new.db"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert run(["import", str(copy), str(source)]) == 1
    assert "its text is damaged" in capsys.readouterr().err
    assert not copy.exists()
    next(line for line in lines if line.get("id") == row["id"])["content"] = row["content"]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert run(["import", str(copy), str(source)]) == 0
    assert row in rows(copy, "SELECT id, content, content_hash FROM memories")


def test_a_file_without_its_first_page_must_be_restored_from_a_backup(
    original: Original, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied(original.path, tmp_path / "copy")
    damage.zero_page_of(path, 1)
    capsys.readouterr()
    assert run(["export", str(path), "--all"]) == 10
    output = capsys.readouterr()
    assert output.out == ""
    assert "Restore it from a backup." in output.err


def test_an_export_of_a_truncated_file_contains_the_rest(
    original: Original, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied(original.path, tmp_path / "copy")
    end = max(original.pages) - 1
    path.write_bytes(path.read_bytes()[: end * 4096])
    there = {item["id"] for item in saved(path, capsys, "--all")}
    cut = frozenset().union(*(ids for page, ids in original.pages.items() if page > end))
    assert all_ids(original) - cut - there == set()
    assert cut - there != set()


def test_a_run_skips_and_names_damaged_texts(
    original: Original, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    path = copied(original.path, tmp_path / "copy")
    before = night(path, embedder, dry_run=True)
    source = before.plan.proposals[0].sources[0]
    data = path.read_bytes()
    text = rows(path, "SELECT content FROM memories WHERE id = ?", source)[0]["content"].encode()
    path.write_bytes(data.replace(text, b"J" + text[1:]))
    outcome = night(path, embedder)
    assert source in outcome.plan.damaged
    assert all(source not in proposal.sources for proposal in outcome.plan.proposals)
    stored = rows(path, "SELECT content, status FROM memories WHERE id = ?", source)
    assert stored == [{"content": "J" + text.decode()[1:], "status": "active"}]


def test_damaged_vectors_are_computed_again(
    original: Original, tmp_path: Path, embedder: SentenceEmbedder
) -> None:
    path = copied(original.path, tmp_path / "copy")
    good = night(path, embedder, dry_run=True)
    for change in (
        "vector = zeroblob(1536) WHERE rowid % 3 = 0",
        "vector = x'0000803f', dimensions = 1 WHERE rowid % 3 = 1",
    ):
        execute(path, f"UPDATE embeddings SET {change}")
    assert night(path, embedder, dry_run=True).plan.digest == good.plan.digest
    night(path, embedder)
    assert whole(path)


SPOILED_ROWS = {
    "report": ("UPDATE runs SET report = '{\"before\": 3}'", "log", 0),
    "report that is not JSON": ("UPDATE runs SET report = '{'", "log", 10),
    "options": ("UPDATE runs SET options = '[]'", "log", 10),
    "sources": ("UPDATE proposals SET sources = '{'", "log RUN", 10),
    "claims": ("UPDATE derivations SET claims = '[{'", "log RUN", 10),
    "claims of a memory": ("UPDATE derivations SET claims = '[{'", "trace MADE", 10),
    "claims that are none": ("UPDATE derivations SET claims = '[1]'", "trace MADE", 10),
    "journal's table": ("UPDATE journal SET table_name = 'memoriez'", "undo RUN", 10),
    "journal's key": ("UPDATE journal SET row_key = '{\"jd\": 1}'", "undo RUN", 10),
    "journal's blob": ("UPDATE journal SET after = '{\"a\": {}}'", "undo RUN", 10),
    "importance": ("UPDATE memories SET importance = 9", "export", 10),
    "tags": ("UPDATE memories SET tags = '{'", "maintain", 10),
    "date": ("UPDATE memories SET observed_at = 'long ago'", "maintain", 10),
    "tags of a hit": ("UPDATE memories SET tags = '{'", "recall port", 10),
    "tags of a line": ("UPDATE memories SET tags = '{'", "recall port --block", 10),
}


@pytest.mark.parametrize(("sql", "command", "code"), SPOILED_ROWS.values(), ids=SPOILED_ROWS)
def test_an_impossible_row_is_a_reported_error(
    original: Original,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    sql: str,
    command: str,
    code: int,
) -> None:
    path = copied(original.path, tmp_path / "copy")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(sql)
    command = command.replace("RUN", original.ids["run"]).replace("MADE", original.ids["made"])
    name, *rest = command.split()
    more = ["--consolidate", "--dry-run"] if name == "maintain" else []
    assert run([name, str(path), *rest, *more]) == code
    error = capsys.readouterr().err
    assert "defect" not in error
    if code == 10:
        assert f"{path} is damaged: " in error
        assert run(["check", str(path)]) == 10


def test_a_missing_tenant_in_a_damaged_index_is_reported(
    original: Original, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied(original.path, tmp_path / "copy")
    with closing(sqlite3.connect(path)) as db:
        # The index by which tenants are looked up says NULL where the table says otherwise.
        db.execute("PRAGMA writable_schema = ON")
        sql = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'memories_by_status'"
        db.execute(sql, ["(tenant,", "(superseded_by,"])
        db.commit()
    with closing(sqlite3.connect(path)) as db:
        db.execute("REINDEX memories_by_status")
        db.execute("PRAGMA writable_schema = ON")
        db.execute(sql, ["(superseded_by,", "(tenant,"])
        db.commit()
    for command in (
        ["maintain", str(path), "--consolidate", "--dry-run"],
        ["log", "--stats", str(path)],
    ):
        assert run(command) == 10
        assert f"{path} is damaged: the tenant of a memory" in capsys.readouterr().err
