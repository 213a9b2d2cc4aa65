"""The tables of a memory file, and their triggers. Files contain this text."""

from __future__ import annotations

SCHEMA = """
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
    -- sha256 of the content; NULL if the writer did not compute it.
    content_hash  TEXT,
    access_count  INTEGER NOT NULL DEFAULT 0 CHECK (access_count >= 0),
    -- Times are ISO 8601, in UTC unless they have an offset; they begin with a valid date.
    -- observed_at: when it was true or was said, not when it was stored.
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

-- An agent that edits a text by SQL need not know about the hash: it is removed, and recomputed.
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
    -- The run that found it; NULL: it was stored with the memory.
    run_id    TEXT,
    PRIMARY KEY (memory_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_entities_by_entity ON memory_entities (entity_id);

CREATE TABLE entity_scans (
    -- A row per memory whose text a run has searched for entities, even if it found none.
    memory_id    TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    content_hash TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE synthesized_from (
    -- A row per edge of lineage: `derived_id` was derived from `source_id`, or absorbed it.
    -- Without foreign keys, because lineage outlives the memories.
    derived_id     TEXT NOT NULL,
    source_id      TEXT NOT NULL,
    operation      TEXT NOT NULL CHECK (operation IN ('merge', 'synthesize', 'extract', 'update')),
    run_id         TEXT NOT NULL,
    source_hash    TEXT NOT NULL,
    -- The text of the source, if the source was deleted.
    source_content TEXT,
    created_at     TEXT NOT NULL,
    PRIMARY KEY (derived_id, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX synthesized_from_by_source ON synthesized_from (source_id);

-- Deleting a memory makes what it superseded active again, with the status of the deleted memory;
-- if that was superseded itself, its successor takes over. BEFORE, because the foreign key would
-- have removed the references afterwards.
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

-- Lineage keeps the text of a deleted memory. The rest repeats the foreign keys, for agents whose
-- connection does not enforce them.
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
    -- A row per text that a proposal wrote: its writer, sources, claims and cost.
    memory_id         TEXT NOT NULL,
    run_id            TEXT NOT NULL,
    proposal          TEXT NOT NULL,
    operation         TEXT NOT NULL
                      CHECK (operation IN ('merge', 'synthesize', 'extract', 'update')),
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
    -- A row per execution of a command that writes.
    id          TEXT PRIMARY KEY NOT NULL,
    started_at  TEXT NOT NULL,
    finished_at TEXT,
    version     TEXT NOT NULL,
    options     TEXT NOT NULL CHECK (json_valid(options) AND json_type(options) = 'object'),
    -- sha256 of the plan; NULL if the run was interrupted.
    plan        TEXT,
    outcome     TEXT NOT NULL DEFAULT 'running' CHECK (outcome IN
                ('running', 'done', 'partial', 'failed', 'interrupted', 'undone')),
    report      TEXT CHECK (report IS NULL OR json_valid(report) AND json_type(report) = 'object')
) STRICT;

CREATE TABLE proposals (
    -- A row per proposal that a run decided: the ledger, and the review queue.
    run_id     TEXT NOT NULL REFERENCES runs (id),
    -- sha256 of operation, sorted source hashes, prompt hash and writer.
    key        TEXT NOT NULL,
    operation  TEXT NOT NULL
               CHECK (operation IN ('merge', 'synthesize', 'extract', 'update', 'ingest')),
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
    -- A row per row that a run inserted, updated or deleted, in order, with the changed columns
    -- before and after. Undo reads it backwards.
    run_id     TEXT NOT NULL REFERENCES runs (id),
    sequence   INTEGER NOT NULL,
    -- The key of the proposal, or the phase; '' for changes outside of both.
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

CREATE TABLE memos (
    -- A row per result that runs cache for the texts that it depends on. Can be emptied.
    kind  TEXT NOT NULL,
    -- A hash of the texts and of the version of the code that read them.
    key   BLOB NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE neighbours (
    -- A row per part of the cached spanning forest of similar texts. Can be emptied.
    tenant  TEXT NOT NULL,
    part    INTEGER NOT NULL,
    -- The version of the code, the embedding model, and the resolution of similarities.
    basis   TEXT NOT NULL,
    -- Packed: the texts, by hash, and the pairs that join them.
    content BLOB NOT NULL,
    PRIMARY KEY (tenant, part)
) STRICT;

CREATE TABLE changes (
    -- A row per tenant: the number of changes in it that a plan depends on.
    tenant TEXT PRIMARY KEY NOT NULL,
    count  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE standing (
    -- A row per tenant and set of options with which a run found nothing to do: its cached report,
    -- which is valid until something changes. Can be emptied.
    tenant  TEXT NOT NULL,
    -- A hash of the options.
    key     TEXT NOT NULL,
    -- The count in `changes` when the report was made.
    changes INTEGER NOT NULL,
    -- When the next memory expires; NULL: none does.
    until   TEXT,
    report  BLOB NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE asked (
    -- A row per text that a model was shown: later runs show it again only with new texts.
    tenant       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- A hash of the model and of its instructions.
    key          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (tenant, content_hash, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE disputes (
    -- A row per pair of texts that a model found contradictory.
    tenant       TEXT NOT NULL,
    earlier_hash TEXT NOT NULL,
    later_hash   TEXT NOT NULL,
    why          TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (tenant, earlier_hash, later_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE read_messages (
    -- A row per message of a conversation that an ingest has read, so that none is read twice.
    tenant TEXT NOT NULL,
    -- A hash of the conversation up to and including this message.
    chain  TEXT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (tenant, chain)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_messages (
    -- A row per message that a memory was taken from. It stays as long as lineage needs the memory.
    memory_id    TEXT NOT NULL,
    chain        TEXT NOT NULL,
    conversation TEXT NOT NULL,
    -- The number of the message in its conversation, from 1.
    place        INTEGER NOT NULL,
    role         TEXT NOT NULL,
    speaker      TEXT,
    said_at      TEXT,
    content      TEXT NOT NULL,
    -- The words of the message that support the memory.
    quotes       TEXT NOT NULL CHECK (json_valid(quotes) AND json_type(quotes) = 'array'),
    -- The model that read it; NULL without a model.
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
    -- A row per part of a conversation that is or was queued for a model.
    id           TEXT PRIMARY KEY NOT NULL,
    tenant       TEXT NOT NULL,
    conversation TEXT NOT NULL,
    -- The messages, and the options for reading them.
    content      TEXT NOT NULL CHECK (json_valid(content) AND json_type(content) = 'object'),
    why          TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'read')),
    queued_at    TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT;

CREATE TABLE witnesses (
    -- A row per purged memory: what runs still read of it, so that they do not merge what it kept
    -- apart. Its text is in `synthesized_from`.
    id           TEXT PRIMARY KEY NOT NULL,
    tenant       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    -- The columns of the memory that runs read.
    image        TEXT NOT NULL CHECK (json_valid(image) AND json_type(image) = 'object'),
    names        TEXT NOT NULL CHECK (json_valid(names) AND json_type(names) = 'array'),
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
