"""The table of the log of shared knowledge, and what keeps it and the facts as they are."""

from __future__ import annotations

TABLE = "shared_log"
SCRIPT = """
CREATE TABLE IF NOT EXISTS shared_log (
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
    -- Not used: always empty.
    digest    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS shared_log_by_subject
ON shared_log (operation IN ('admit', 'dismiss'), subject, version);
CREATE INDEX IF NOT EXISTS shared_log_by_memory ON shared_log (memory_id)
WHERE memory_id IS NOT NULL;

-- Of earlier versions.
DROP TRIGGER IF EXISTS shared_log_replaces_nothing;
DROP TRIGGER IF EXISTS shared_memory_overwritten;
DROP TRIGGER IF EXISTS shared_memory_replaced;
DROP TRIGGER IF EXISTS shared_memory_revived;

CREATE TRIGGER IF NOT EXISTS shared_log_grows BEFORE INSERT ON shared_log
WHEN new.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM shared_log)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: rows are added behind the others');
END;
CREATE TRIGGER IF NOT EXISTS shared_log_stays BEFORE UPDATE ON shared_log
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log is never changed');
END;
CREATE TRIGGER IF NOT EXISTS shared_log_is_kept BEFORE DELETE ON shared_log
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: its log is never deleted');
END;

-- As soon as there is a log, the tenant's memories are what it says, whoever writes to the file.
CREATE TRIGGER IF NOT EXISTS shared_memory_added BEFORE INSERT ON memories
WHEN new.tenant = 'shared' AND EXISTS (SELECT 1 FROM shared_log)
AND NOT EXISTS (
    SELECT 1 FROM shared_log WHERE memory_id = new.id AND content = new.content
)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: only what is published gets into this tenant');
END;
CREATE TRIGGER IF NOT EXISTS shared_memory_changed BEFORE UPDATE OF id, tenant, content ON memories
WHEN 'shared' IN (old.tenant, new.tenant) AND EXISTS (SELECT 1 FROM shared_log)
AND (old.id, old.tenant, old.content) IS NOT (new.id, new.tenant, new.content)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: another text is a new version, to be published');
END;
CREATE TRIGGER IF NOT EXISTS shared_memory_deleted BEFORE DELETE ON memories
WHEN old.tenant = 'shared' AND old.status = 'active'
AND EXISTS (SELECT 1 FROM shared_log WHERE memory_id = old.id)
BEGIN
    SELECT RAISE(ABORT, 'shared knowledge: what holds no longer is retracted, not deleted');
END;
-- What ages memories goes through all of a file: it passes over these, and takes the others.
CREATE TRIGGER IF NOT EXISTS shared_memory_ended BEFORE UPDATE OF status ON memories
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
