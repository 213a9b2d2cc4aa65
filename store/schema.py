"""The SQL of released schema versions. Never edited, because files contain this text."""

from __future__ import annotations

VERSION_1 = """
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

VERSION_3 = """
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

VERSION_4 = """
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

VERSION_5 = """
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

VERSION_8 = """
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
