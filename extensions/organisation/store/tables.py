"""The tables of shared facts, as registered under `slowwave.schema`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowwave.store.erasing import Eraser
from slowwave.store.extension_points import ExtensionTables, run_script
from slowwave.store.file import MemoryFile
from slowwave.store.shared_tenant import SHARED_TENANT, has_log

from .log_script import SCRIPT, TABLE
from .shared_facts import snapshot
from .shared_log import read_log


def find_faults(file: MemoryFile) -> Iterator[tuple[str, str]]:
    """Check that the memories agree with the log."""
    if has_log(file):
        facts = {entry.memory_id: entry.content for entry in snapshot(read_log(file))}
        rows = file.conn.execute(
            "SELECT id, content FROM memories WHERE tenant = ? AND status = 'active'",
            [SHARED_TENANT],
        )
        memories = dict(rows.fetchall())
        for memory in sorted(map(str, {*facts, *memories})):
            if facts.get(memory) != memories.get(memory):
                yield "shared knowledge", f"memory {memory} differs from the log"


def erase(file: MemoryFile, ids: Sequence[str], eraser: Eraser) -> int:
    """Erase the texts of retracted facts from the log; nothing else changes its rows.

    A current fact is refused when its memory is deleted.
    """
    if not has_log(file):
        return 0
    file.conn.execute("DROP TRIGGER shared_log_stays")
    rows = eraser.update(file, TABLE, ["content", "reason"])
    run_script(file.conn, SCRIPT)
    return rows


TABLES = ExtensionTables(SCRIPT, (TABLE,), find_faults, erase)
