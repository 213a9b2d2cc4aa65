PRAGMA application_id = 1936488311;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'slowwave','version_1','2026-03-10 03:00:00+00:00');
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
INSERT INTO "derivations" VALUES('m-3','run-1','k-1','synthesize','extractive',NULL,'h','h','[]',0,0,NULL);
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
CREATE TABLE entities (
    -- A row per name (person, service, identifier, path ...) that memories of a tenant mention.
    id     INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL CHECK (name <> ''),
    run_id TEXT,
    UNIQUE (tenant, name)
) STRICT;
CREATE TABLE entity_scans (
    -- A row per memory whose text a run searched for entities, whether it found any or none.
    memory_id    TEXT PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    content_hash TEXT NOT NULL,
    run_id       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
INSERT INTO "memories" VALUES('m-1','default','Helvi settles the invoices.','fact','working','superseded','agent',0.5,3,0,0,NULL,NULL,'[]','{}',NULL,0,'2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'m-3','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('m-2','default','The invoices are settled by Helvi.','fact','working','superseded','agent',0.5,3,0,0,NULL,NULL,'[]','{}',NULL,0,'2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,'m-3','2026-03-10T03:00:00+00:00');
INSERT INTO "memories" VALUES('m-3','default','Helvi settles the invoices.','fact','stable','active','consolidation',0.5,3,0,1,NULL,NULL,'[]','{}',NULL,0,'2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00',NULL,NULL,NULL,NULL);
CREATE TABLE memory_entities (
    -- A row per mention of an entity in a memory.
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    entity_id INTEGER NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    -- The run that found it; NULL: whoever stored the memory named it.
    run_id    TEXT,
    PRIMARY KEY (memory_id, entity_id)
) STRICT, WITHOUT ROWID;
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
INSERT INTO "proposals" VALUES('run-1','k-1','synthesize','default','["m-1","m-2"]',NULL,'m-3','applied','Helvi settles the invoices.','2 memories',NULL,'{}','2026-03-10T03:00:00+00:00');
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
INSERT INTO "runs" VALUES('run-1','2026-03-10T03:00:00+00:00','2026-03-10T03:00:00+00:00','0.1.0','{}','p','done','{}');
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
INSERT INTO "synthesized_from" VALUES('m-3','m-1','synthesize','run-1','h',NULL,'2026-03-10T03:00:00+00:00');
INSERT INTO "synthesized_from" VALUES('m-3','m-2','synthesize','run-1','h',NULL,'2026-03-10T03:00:00+00:00');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX memories_by_status ON memories (tenant, status, layer);
CREATE INDEX memories_by_content ON memories (content_hash);
CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TRIGGER memories_content_changed AFTER UPDATE OF content ON memories
WHEN new.content IS NOT old.content AND new.content_hash IS old.content_hash
BEGIN
    UPDATE memories SET content_hash = NULL WHERE id = new.id;
END;
CREATE INDEX embeddings_by_run ON embeddings (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX memory_entities_by_entity ON memory_entities (entity_id);
CREATE INDEX synthesized_from_by_source ON synthesized_from (source_id);
CREATE TRIGGER memories_leave AFTER DELETE ON memories
BEGIN
    UPDATE synthesized_from SET source_content = old.content
    WHERE source_id = old.id AND source_content IS NULL;
    UPDATE memories SET superseded_by = NULL WHERE superseded_by = old.id;
    DELETE FROM embeddings WHERE memory_id = old.id;
    DELETE FROM memory_entities WHERE memory_id = old.id;
    DELETE FROM entity_scans WHERE memory_id = old.id;
END;
CREATE INDEX proposals_by_key ON proposals (key);
COMMIT;
