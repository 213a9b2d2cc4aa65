"""The schema of a memory file, as a list of migrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

# "slww" in ASCII: identifies memory files by `PRAGMA application_id`.
APPLICATION_ID = 0x736C7777

_VERSION_1 = """
CREATE TABLE memories (
    -- A row per memory: a short text that an agent or a person stored, or that a run derived.
    id            TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))),
    tenant        TEXT NOT NULL DEFAULT 'default' CHECK (tenant <> ''),
    content       TEXT NOT NULL CHECK (content <> ''),
    kind          TEXT NOT NULL DEFAULT 'fact'
                  CHECK (kind IN ('fact', 'preference', 'instruction', 'context')),
    layer         TEXT NOT NULL DEFAULT 'working'
                  CHECK (layer IN ('ephemeral', 'working', 'stable', 'core')),
    status        TEXT NOT NULL DEFAULT 'active'
                  CHECK (status IN ('active', 'superseded', 'archived', 'expired')),
    origin        TEXT NOT NULL DEFAULT 'agent'
                  CHECK (origin IN ('human', 'agent', 'consolidation')),
    trust         REAL NOT NULL DEFAULT 0.5 CHECK (trust BETWEEN 0 AND 1),
    importance    INTEGER NOT NULL DEFAULT 3 CHECK (importance BETWEEN 1 AND 5),
    pinned        INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    generation    INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
    source        TEXT,
    session       TEXT,
    tags          TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags) AND json_type(tags) = 'array'),
    metadata      TEXT NOT NULL DEFAULT '{}'
                  CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
    -- sha256 of the content; NULL where a writer that knows only SQL did not compute it.
    content_hash  TEXT,
    access_count  INTEGER NOT NULL DEFAULT 0 CHECK (access_count >= 0),
    -- Times are ISO 8601, in UTC where no offset says otherwise; one that is no date is refused.
    -- observed_at: when it was true or said, not when it was stored.
    observed_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'))
                  CHECK (date(substr(observed_at, 1, 10), '+0 days') IS substr(observed_at, 1, 10)),
    created_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'))
                  CHECK (date(substr(created_at, 1, 10), '+0 days') IS substr(created_at, 1, 10)),
    updated_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'))
                  CHECK (date(substr(updated_at, 1, 10), '+0 days') IS substr(updated_at, 1, 10)),
    accessed_at   TEXT
                  CHECK (date(substr(accessed_at, 1, 10), '+0 days') IS substr(accessed_at, 1, 10)),
    expires_at    TEXT
                  CHECK (date(substr(expires_at, 1, 10), '+0 days') IS substr(expires_at, 1, 10)),
    superseded_by TEXT REFERENCES memories (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    superseded_at TEXT
                  CHECK (date(substr(superseded_at, 1, 10), '+0 days')
                         IS substr(superseded_at, 1, 10))
) STRICT;
CREATE INDEX memories_by_status ON memories (tenant, status, layer);
CREATE INDEX memories_by_content ON memories (content_hash);
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

-- An agent that edits a text by SQL need not know about the hash: it goes, and is computed anew.
CREATE TRIGGER memories_content_changed AFTER UPDATE OF content ON memories
WHEN new.content IS NOT old.content AND new.content_hash IS old.content_hash
BEGIN
    UPDATE memories SET content_hash = NULL WHERE id = new.id;
END;

CREATE TABLE embeddings (
    -- A row per memory and embedding model: its vector, little-endian float32 of unit length.
    memory_id    TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    model        TEXT NOT NULL,
    dimensions   INTEGER NOT NULL CHECK (dimensions > 0),
    vector       BLOB NOT NULL CHECK (length(vector) = 4 * dimensions),
    content_hash TEXT NOT NULL,
    -- The run that computed it; NULL: an agent stored it.
    run_id       TEXT,
    PRIMARY KEY (memory_id, model)
) STRICT;
CREATE INDEX embeddings_by_run ON embeddings (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE entities (
    -- A row per name (person, service, identifier, path ...) that memories of a tenant mention.
    id     INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL CHECK (name <> ''),
    run_id TEXT,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE memory_entities (
    -- A row per mention of an entity in a memory.
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    -- The run that found it; NULL: whoever stored the memory named it.
    run_id    TEXT,
    PRIMARY KEY (memory_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_entities_by_entity ON memory_entities (entity_id);

CREATE TABLE entity_scans (
    -- A row per memory whose text a run searched for entities, whether it found any or none.
    memory_id    TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    content_hash TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE synthesized_from (
    -- A row per edge of lineage: `derived_id` was made from `source_id`, or absorbed it in a merge.
    -- No foreign keys: lineage outlives the rows that it speaks of.
    derived_id     TEXT NOT NULL,
    source_id      TEXT NOT NULL,
    operation      TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract')),
    run_id         TEXT NOT NULL,
    source_hash    TEXT NOT NULL,
    -- The source's text, kept when the source itself leaves the file.
    source_content TEXT,
    created_at     TEXT NOT NULL,
    PRIMARY KEY (derived_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX synthesized_from_by_source ON synthesized_from (source_id);

-- Lineage keeps the text of a memory that leaves. The rest is what the foreign keys do too: an
-- agent whose connection does not enforce them leaves nothing dangling either.
CREATE TRIGGER memories_leave AFTER DELETE ON memories
BEGIN
    UPDATE synthesized_from SET source_content = old.content
    WHERE source_id = old.id AND source_content IS NULL;
    UPDATE memories SET superseded_by = NULL WHERE superseded_by = old.id;
    DELETE FROM embeddings WHERE memory_id = old.id;
    DELETE FROM memory_entities WHERE memory_id = old.id;
    DELETE FROM entity_scans WHERE memory_id = old.id;
END;

CREATE TABLE derivations (
    -- A row per memory that a proposal made, or made to stand for others: what wrote it, from what,
    -- which of its claims cites which sources, at which price.
    memory_id         TEXT NOT NULL,
    run_id            TEXT NOT NULL,
    proposal          TEXT NOT NULL,
    operation         TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract')),
    writer            TEXT NOT NULL,
    model             TEXT,
    prompt_hash       TEXT NOT NULL,
    inputs_hash       TEXT NOT NULL,
    claims            TEXT NOT NULL CHECK (json_valid(claims) AND json_type(claims) = 'array'),
    prompt_tokens     INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd          REAL,
    PRIMARY KEY (memory_id, run_id, proposal)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    -- A row per execution of the cycle that had something to write.
    id          TEXT PRIMARY KEY NOT NULL,
    started_at  TEXT NOT NULL,
    finished_at TEXT,
    version     TEXT NOT NULL,
    options     TEXT NOT NULL CHECK (json_valid(options) AND json_type(options) = 'object'),
    -- sha256 of the plan; NULL until the run has ended by itself.
    plan        TEXT,
    outcome     TEXT NOT NULL DEFAULT 'running' CHECK (outcome IN
                ('running', 'done', 'partial', 'failed', 'interrupted', 'undone')),
    -- The report's "before", "after" and "model", as JSON.
    report      TEXT CHECK (report IS NULL OR json_valid(report) AND json_type(report) = 'object')
) STRICT;

CREATE TABLE proposals (
    -- A row per proposal that a run decided: the ledger, and the queue of what waits for review.
    run_id     TEXT NOT NULL REFERENCES runs (id),
    -- sha256 of operation, sorted source hashes, prompt hash and writer.
    key        TEXT NOT NULL,
    operation  TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract')),
    tenant     TEXT NOT NULL,
    sources    TEXT NOT NULL CHECK (json_valid(sources) AND json_type(sources) = 'array'),
    survivor   TEXT,
    derived    TEXT,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'applied', 'rejected',
               'declined', 'failed', 'skipped', 'stale', 'undone')),
    draft      TEXT,
    reason     TEXT NOT NULL,
    why        TEXT,
    numbers    TEXT NOT NULL CHECK (json_valid(numbers) AND json_type(numbers) = 'object'),
    decided_at TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_by_key ON proposals (key);

CREATE TABLE journal (
    -- A row per row that a run inserted or updated, in order, with the columns that it changed as
    -- they were and as it left them. Undo reads it backwards.
    run_id     TEXT NOT NULL REFERENCES runs (id),
    sequence   INTEGER NOT NULL,
    -- The proposal's key; '' for what the run did before any proposal.
    proposal   TEXT NOT NULL,
    table_name TEXT NOT NULL,
    row_key    TEXT NOT NULL CHECK (json_valid(row_key) AND json_type(row_key) = 'object'),
    -- NULL: the row did not exist.
    before     TEXT CHECK (before IS NULL OR json_valid(before) AND json_type(before) = 'object'),
    after      TEXT NOT NULL CHECK (json_valid(after) AND json_type(after) = 'object'),
    PRIMARY KEY (run_id, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    -- A row per question that a model answered, so that no run pays for it twice.
    key               TEXT PRIMARY KEY NOT NULL,
    model             TEXT NOT NULL,
    answer            TEXT NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd          REAL,
    created_at        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""


# The tables with a CHECK of their operations; no foreign key refers to them.
_WITH_OPERATIONS = ("synthesized_from", "derivations", "proposals")
_THREE, _FOUR, _FIVE = (
    f"CHECK (operation IN ('merge', 'synthesize', 'extract'{more}))"
    for more in ("", ", 'update'", ", 'update', 'ingest'")
)


def version_1(db: Database) -> None:
    """Create the tables."""
    # `executescript` would commit.
    for statement in _statements(_VERSION_1):
        db.conn.execute(statement)


def version_2(db: Database) -> None:
    """Allow the operation "update".

    SQLite cannot change a CHECK: each table is recreated, with its indexes and triggers, including
    an agent's own.
    """
    _recreate_all(db, _WITH_OPERATIONS, _FOUR)


def _recreate_all(db: Database, tables: Sequence[str], operations: str) -> None:
    # Otherwise the rename would also change triggers and views that refer to the table.
    db.conn.execute("PRAGMA legacy_alter_table = ON")
    try:
        for table in tables:
            _recreate(db, table, operations)
    finally:
        db.conn.execute("PRAGMA legacy_alter_table = OFF")


def _recreate(db: Database, table: str, operations: str) -> None:
    parts = db.conn.execute(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND type <> 'table' AND sql IS NOT NULL",
        [table],
    ).fetchall()
    head = f"CREATE TABLE {table} ("
    create = next(sql for sql in _statements(_VERSION_1) if head in sql)
    db.conn.execute(f"ALTER TABLE {table} RENAME TO {table}_before")
    db.conn.execute(create.replace(_THREE, operations))
    db.conn.execute(f"INSERT INTO {table} SELECT * FROM {table}_before")
    db.conn.execute(f"DROP TABLE {table}_before")
    for (sql,) in parts:
        db.conn.execute(sql)


_VERSION_3 = """
CREATE TABLE memos (
    -- A row per thing that a run found out from texts alone, so that no later one need do so again.
    -- May be emptied at any time: it is worked out anew.
    kind  TEXT NOT NULL,
    -- A hash of the texts, and of the rules that they were read by.
    key   BLOB NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE neighbours (
    -- A row per part of the pairs of texts that lie near each other; each run adds what is new.
    -- May be emptied at any time, too.
    tenant  TEXT NOT NULL,
    part    INTEGER NOT NULL,
    -- What the vectors were made with, and from which similarity on pairs are kept.
    basis   TEXT NOT NULL,
    -- Packed: the texts that were new, by hash, and the pairs that those are in.
    content BLOB NOT NULL,
    PRIMARY KEY (tenant, part)
) STRICT;

CREATE TABLE changes (
    -- A row per tenant: how often something changed in it that a plan depends on.
    tenant TEXT PRIMARY KEY NOT NULL,
    count  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE standing (
    -- A row per tenant, and per set of options, with which a run found nothing more to do: what it
    -- would say again as long as nothing has changed. May be emptied at any time.
    tenant  TEXT NOT NULL,
    -- A hash of the options.
    key     TEXT NOT NULL,
    -- The count in `changes` at which it was found.
    changes INTEGER NOT NULL,
    -- Up to this moment: then something expires.
    until   TEXT,
    -- Packed JSON.
    report  BLOB NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
"""

# The columns of a memory on which a plan depends.
_PLANNED = (
    "id, tenant, content, kind, layer, status, origin, trust, importance, pinned, generation, "
    "session, content_hash, observed_at, expires_at, superseded_by"
)
_COUNT = (
    # Without WHERE, the parser would take ON for a join.
    "INSERT INTO changes SELECT tenant, 1 FROM ({tenants}) WHERE true "
    "ON CONFLICT (tenant) DO UPDATE SET count = count + 1;"
)
# By table, the tenants of a changed row, and the columns whose changes count.
_COUNTED = {
    "memories": ("SELECT {row}.tenant AS tenant", _PLANNED),
    "embeddings": ("SELECT tenant FROM memories WHERE id = {row}.memory_id", ""),
    "memory_entities": ("SELECT tenant FROM memories WHERE id = {row}.memory_id", ""),
    # And the tenants of memories that mention it, which may have changed.
    "entities": (
        "SELECT {row}.tenant AS tenant UNION SELECT m.tenant FROM memory_entities "
        "JOIN memories m ON m.id = memory_id WHERE entity_id = {row}.id",
        "",
    ),
    "synthesized_from": (
        "SELECT tenant FROM memories WHERE id IN ({row}.derived_id, {row}.source_id)",
        "",
    ),
    "proposals": ("SELECT {row}.tenant AS tenant", ""),
}


def version_3(db: Database) -> None:
    """Cache the findings of runs, and count changes."""
    for statement in _statements(_VERSION_3):
        db.conn.execute(statement)
    for statement in _counting():
        db.conn.execute(statement)


def _counting() -> Iterator[str]:
    for table, (tenants, columns) in _COUNTED.items():
        for event, rows in (("INSERT", ["new"]), ("UPDATE", ["old", "new"]), ("DELETE", ["old"])):
            of = f" OF {columns}" if columns and event == "UPDATE" else ""
            counts = " ".join(_COUNT.format(tenants=tenants.format(row=row)) for row in rows)
            yield (
                f"CREATE TRIGGER {table}_{event.lower()}_counted AFTER {event}{of} ON {table} "
                f"BEGIN {counts} END"
            )
    # INSERT OR REPLACE deletes rows without firing delete triggers.
    replaced = _COUNT.format(tenants="SELECT tenant FROM memories WHERE id = new.id")
    for event, when in (("INSERT", ""), ("UPDATE OF id", "WHEN new.id IS NOT old.id ")):
        yield (
            f"CREATE TRIGGER memories_{event[:6].lower()}_replaced BEFORE {event} ON memories "
            f"{when}BEGIN {replaced} END"
        )


_VERSION_4 = """
-- Who deletes a memory deletes this one alone: what it stood for comes back and is what it was. Of
-- one that was superseded itself, its successor stands for them from now on. Before, since the
-- foreign key has forgotten them afterwards.
CREATE TRIGGER memories_release BEFORE DELETE ON memories
BEGIN
    UPDATE memories SET
        status = old.status,
        superseded_by = old.superseded_by,
        superseded_at = iif(old.status = 'superseded', superseded_at, NULL)
    WHERE superseded_by = old.id AND status = 'superseded' AND id <> old.id;
    -- Lineage that leads on to others, or holds the only text of a source, stays.
    DELETE FROM synthesized_from
    WHERE derived_id = old.id AND source_id IN (SELECT id FROM memories)
    AND NOT EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = old.id);
END;
"""


def version_4(db: Database) -> None:
    """Restore the superseded memories when their successor is deleted."""
    for statement in _statements(_VERSION_4):
        db.conn.execute(statement)


_VERSION_5 = """
CREATE TABLE asked (
    -- A row per text that a model was shown among its neighbours: no later night asks about it, but
    -- with something new beside it.
    tenant       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- A hash of the model and of what it was told to do.
    key          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (tenant, content_hash, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE disputes (
    -- A row per pair of texts of which a model said that both cannot be true.
    tenant       TEXT NOT NULL,
    earlier_hash TEXT NOT NULL,
    later_hash   TEXT NOT NULL,
    why          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (tenant, earlier_hash, later_hash)
) STRICT, WITHOUT ROWID;
"""


def version_5(db: Database) -> None:
    """Record which texts a model was shown, and its conflicts."""
    for statement in _statements(_VERSION_5):
        db.conn.execute(statement)


_VERSION_6 = """
CREATE TABLE mirrored (
    -- A row per mirror, only in one of another agent's file: of which format that is.
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    format TEXT NOT NULL
) STRICT;

CREATE TABLE links (
    -- A row per memory that stands in the other file, and what names it there. It outlives the
    -- memory, which an undo may delete, until the entry has left the other file.
    memory_id TEXT PRIMARY KEY NOT NULL,
    key       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_key ON links (key);

CREATE TABLE images (
    -- A row per memory that left the other file: how it stood there, so that it can come back.
    memory_id TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    image     TEXT NOT NULL CHECK (json_valid(image))
) STRICT, WITHOUT ROWID;
"""


def version_6(db: Database) -> None:
    """Add tables for mirrors of other agents' files."""
    for statement in _statements(_VERSION_6):
        db.conn.execute(statement)


_VERSION_7 = """
CREATE TABLE read_messages (
    -- A row per message of a conversation that an ingest has read, so that none is read twice.
    tenant TEXT NOT NULL,
    -- A hash of what was said in the conversation up to and with this message.
    chain  TEXT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (tenant, chain)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_messages (
    -- A row per message that a memory was taken from. It outlives the memory where lineage does.
    memory_id    TEXT NOT NULL,
    -- The message's own hash, as in `read_messages`.
    chain        TEXT NOT NULL,
    conversation TEXT NOT NULL,
    -- Which message of the conversation, from 1 on.
    place        INTEGER NOT NULL,
    role         TEXT NOT NULL,
    speaker      TEXT,
    said_at      TEXT,
    content      TEXT NOT NULL,
    -- The words of it that the memory rests on.
    quotes       TEXT NOT NULL CHECK (json_valid(quotes) AND json_type(quotes) = 'array'),
    -- Who read it: the model's name; NULL without one.
    model        TEXT,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (memory_id, chain)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER memory_messages_leave AFTER DELETE ON memories
BEGIN
    DELETE FROM memory_messages WHERE memory_id = old.id
    AND NOT EXISTS (SELECT 1 FROM synthesized_from WHERE source_id = old.id);
END;

CREATE TABLE waiting_messages (
    -- A row per part of a conversation that a model was to read and could not.
    id           TEXT PRIMARY KEY NOT NULL,
    tenant       TEXT NOT NULL,
    conversation TEXT NOT NULL,
    -- The messages with what is needed to read them later.
    content      TEXT NOT NULL CHECK (json_valid(content) AND json_type(content) = 'object'),
    why          TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'read')),
    queued_at    TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT;
"""


def version_7(db: Database) -> None:
    """Add tables for messages of conversations."""
    for statement in _statements(_VERSION_7):
        db.conn.execute(statement)
    _recreate_all(db, ("proposals",), _FIVE)


_VERSION_8 = """
CREATE TABLE witnesses (
    -- A row per memory that was purged: what nights go on reading of it, so that they do not bring
    -- together what it kept apart. Its text stands in `synthesized_from`.
    id           TEXT PRIMARY KEY NOT NULL,
    tenant       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- The columns of the memory that a plan reads.
    image        TEXT NOT NULL CHECK (json_valid(image) AND json_type(image) = 'object'),
    -- The names that it mentions.
    names        TEXT NOT NULL CHECK (json_valid(names) AND json_type(names) = 'array'),
    -- The purge.
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX witnesses_by_tenant ON witnesses (tenant);

CREATE TABLE witness_vectors (
    -- A row per purged memory and embedding model: its vector, as in `embeddings`.
    id           TEXT NOT NULL REFERENCES witnesses (id) ON DELETE CASCADE,
    model        TEXT NOT NULL,
    dimensions   INTEGER NOT NULL CHECK (dimensions > 0),
    vector       BLOB NOT NULL CHECK (length(vector) = 4 * dimensions),
    content_hash TEXT NOT NULL,
    PRIMARY KEY (id, model)
) STRICT;
"""


def version_8(db: Database) -> None:
    """Add tables for what runs read of purged memories."""
    for statement in _statements(_VERSION_8):
        db.conn.execute(statement)


_VERSION_9 = """
CREATE TABLE shared_log (
    -- A row per thing that was done to the facts that a whole organisation shares: rows are added,
    -- never changed and never deleted. What holds at a moment is what the rows up to it say.
    sequence  INTEGER PRIMARY KEY,
    -- Not before that of the row in front of it.
    at        TEXT NOT NULL,
    operation TEXT NOT NULL CHECK (operation IN ('publish', 'retract', 'admit', 'dismiss')),
    -- The name of a fact, or of an author who is admitted or dismissed.
    subject   TEXT NOT NULL CHECK (subject <> ''),
    -- Of the fact, or of what the author may do: 1, 2, 3 ...
    version   INTEGER NOT NULL CHECK (version > 0),
    -- What a fact says, or as JSON what an author is; NULL where it ends.
    content   TEXT CHECK ((content IS NULL) = (operation IN ('retract', 'dismiss'))),
    author    TEXT NOT NULL CHECK (author <> ''),
    -- What the author was then.
    kind      TEXT NOT NULL CHECK (kind IN ('human', 'agent')),
    seniority INTEGER CHECK ((seniority IS NULL) = (kind = 'human')),
    reason    TEXT,
    -- The memory that says it.
    memory_id TEXT CHECK ((memory_id IS NULL) = (operation <> 'publish')),
    -- sha256 of this row and of the digest in front of it.
    digest    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX shared_log_by_subject
ON shared_log (operation IN ('admit', 'dismiss'), subject, version);
CREATE INDEX shared_log_by_memory ON shared_log (memory_id) WHERE memory_id IS NOT NULL;

CREATE TRIGGER shared_log_grows BEFORE INSERT ON shared_log
WHEN new.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM shared_log)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: rows are added behind the others');
END;
CREATE TRIGGER shared_log_stays BEFORE UPDATE ON shared_log
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log is never changed');
END;
CREATE TRIGGER shared_log_is_kept BEFORE DELETE ON shared_log
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log is never deleted');
END;

-- As soon as there is a log, the tenant's memories are what it says, whoever writes to the file.
CREATE TRIGGER shared_memory_added BEFORE INSERT ON memories
WHEN new.tenant = 'shared' AND EXISTS (SELECT 1 FROM shared_log)
AND NOT EXISTS (
    SELECT 1 FROM shared_log WHERE memory_id = new.id AND content = new.content
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: only what is published gets into this tenant');
END;
CREATE TRIGGER shared_memory_changed BEFORE UPDATE OF id, tenant, content ON memories
WHEN 'shared' IN (old.tenant, new.tenant) AND EXISTS (SELECT 1 FROM shared_log)
AND (old.id, old.tenant, old.content) IS NOT (new.id, new.tenant, new.content)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: another text is a new version, to be published');
END;
CREATE TRIGGER shared_memory_deleted BEFORE DELETE ON memories
WHEN old.tenant = 'shared' AND old.status = 'active'
AND EXISTS (SELECT 1 FROM shared_log WHERE memory_id = old.id)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: what holds no longer is retracted, not deleted');
END;
-- What ages memories goes through all of a file: it passes over these, and takes the others.
CREATE TRIGGER shared_memory_ended BEFORE UPDATE OF status ON memories
WHEN old.tenant = 'shared' AND EXISTS (SELECT 1 FROM shared_log WHERE memory_id = old.id)
AND (new.status = 'active') IS NOT EXISTS (
    SELECT 1 FROM shared_log AS published WHERE memory_id = old.id AND NOT EXISTS (
        SELECT 1 FROM shared_log WHERE operation IN ('publish', 'retract')
        AND subject = published.subject AND sequence > published.sequence
    )
)
BEGIN
    SELECT RAISE(IGNORE);
END;
"""


def version_9(db: Database) -> None:
    """Add the log of shared knowledge."""
    for statement in _statements(_VERSION_9):
        db.conn.execute(statement)


_VERSION_10 = """
-- The conflict clause REPLACE deletes a row without firing the triggers that keep it, whether the
-- key or the rowid is taken: what would take one is refused before that.
CREATE TRIGGER shared_log_replaces_nothing BEFORE INSERT ON shared_log
WHEN EXISTS (
    SELECT 1 FROM shared_log WHERE subject = new.subject AND version = new.version
    AND (operation IN ('admit', 'dismiss')) = (new.operation IN ('admit', 'dismiss'))
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log has that version, and is never changed');
END;
CREATE TRIGGER shared_memory_replaced BEFORE INSERT ON memories
WHEN EXISTS (
    SELECT 1 FROM memories AS fact CROSS JOIN shared_log ON memory_id = fact.id
    WHERE fact.tenant = 'shared' AND (fact.id = new.id OR fact.rowid = new.rowid)
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: a fact is replaced by its next version alone');
END;
CREATE TRIGGER shared_memory_overwritten BEFORE UPDATE ON memories
WHEN (old.id, old.rowid) IS NOT (new.id, new.rowid) AND EXISTS (
    SELECT 1 FROM memories AS fact CROSS JOIN shared_log ON memory_id = fact.id
    WHERE fact.tenant = 'shared' AND fact.rowid <> old.rowid
    AND (fact.id = new.id OR fact.rowid = new.rowid)
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: a fact is replaced by its next version alone');
END;
-- Nor does one that ended come back as a row that is inserted anew.
CREATE TRIGGER shared_memory_revived BEFORE INSERT ON memories
WHEN new.tenant = 'shared' AND new.status = 'active' AND EXISTS (
    SELECT 1 FROM shared_log AS published JOIN shared_log AS later
    ON later.subject = published.subject AND later.sequence > published.sequence
    WHERE published.memory_id = new.id AND later.operation IN ('publish', 'retract')
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: what ended is published again, not inserted');
END;
"""


def version_10(db: Database) -> None:
    """Protect the log of shared knowledge, and its facts, from statements that replace rows."""
    for statement in _statements(_VERSION_10):
        db.conn.execute(statement)


# Oldest first. Never edit a released step: add a new one.
STEPS = (
    version_1,
    version_2,
    version_3,
    version_4,
    version_5,
    version_6,
    version_7,
    version_8,
    version_9,
    version_10,
)


def _statements(script: str) -> list[str]:
    """Split a script into complete statements."""
    import sqlite3

    statements, lines = [], ""
    for line in script.splitlines(keepends=True):
        lines += line
        if sqlite3.complete_statement(lines):
            statements.append(lines)
            lines = ""
    return statements
