CREATE TABLE memories (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        content_hash TEXT UNIQUE NOT NULL,
                        content TEXT NOT NULL,
                        tags TEXT,
                        memory_type TEXT,
                        metadata TEXT,
                        created_at REAL,
                        updated_at REAL,
                        created_at_iso TEXT,
                        updated_at_iso TEXT,
                        deleted_at REAL DEFAULT NULL
                    , store TEXT DEFAULT 'default', parent_id TEXT, version INTEGER DEFAULT 1, confidence REAL DEFAULT 1.0, last_accessed INTEGER, superseded_by TEXT, embedding_pending INTEGER NOT NULL DEFAULT 0);
CREATE INDEX idx_content_hash ON memories(content_hash);
CREATE INDEX idx_created_at ON memories(created_at);
CREATE INDEX idx_memory_type ON memories(memory_type);
CREATE INDEX idx_deleted_at ON memories(deleted_at);
CREATE TABLE sync_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_version INTEGER NOT NULL DEFAULT 1,
    agent_id TEXT,
    event_id TEXT NOT NULL,
    op TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at REAL NOT NULL,
    created_at_iso TEXT, hlc_physical INTEGER, hlc_logical INTEGER, embedding_model TEXT, embedding_dim INTEGER,
    UNIQUE(agent_id, event_id)
);
CREATE INDEX idx_sync_events_hash ON sync_events(content_hash);
CREATE INDEX idx_sync_events_seq ON sync_events(seq);
CREATE INDEX idx_sync_events_op ON sync_events(op, content_hash);
CREATE INDEX idx_sync_events_hlc ON sync_events(hlc_physical, hlc_logical, agent_id, event_id);
CREATE INDEX idx_memories_embedding_pending ON memories(embedding_pending);
CREATE TABLE sync_cursor (
    peer_id TEXT PRIMARY KEY,
    last_seq_seen INTEGER NOT NULL DEFAULT 0,
    last_hlc_physical INTEGER,
    last_hlc_logical INTEGER,
    updated_at REAL NOT NULL
);
CREATE INDEX idx_sync_cursor_updated ON sync_cursor(updated_at);
CREATE TABLE push_cursor (
    peer_id TEXT PRIMARY KEY,
    last_seq_pushed INTEGER NOT NULL DEFAULT 0,
    updated_at REAL NOT NULL
);
CREATE INDEX idx_push_cursor_updated ON push_cursor(updated_at);
INSERT INTO memories (id,content_hash,content,tags,memory_type,metadata,created_at,updated_at,created_at_iso,updated_at_iso,deleted_at,store,parent_id,version,confidence,last_accessed,superseded_by,embedding_pending) VALUES (1,'4967cb32cf29736693d7430b10e90fc9347f3317e207a8d1576d6add6a21c185','Billing listens on port 8080.','t',NULL,'{"access_count": 1, "last_accessed_at": 1795492924.7913957, "access_queries": [{"query": "billing port", "timestamp": 1795492924.7913957}]}',1.79549292477023434639e+09,1.79549292477023434639e+09,'2026-11-24T04:02:04.770234Z','2026-11-24T04:02:04.770234Z',NULL,'default',NULL,1,1.0,1795492924,NULL,0);
INSERT INTO memories (id,content_hash,content,tags,memory_type,metadata,created_at,updated_at,created_at_iso,updated_at_iso,deleted_at,store,parent_id,version,confidence,last_accessed,superseded_by,embedding_pending) VALUES (2,'56b3b428aa647af9a8f478ccc6bad489c13cfa3006e37daa3a27f06f2a572bed','Billing listens on port 8080','t',NULL,'{"access_count": 1, "last_accessed_at": 1795492924.7913778, "access_queries": [{"query": "billing port", "timestamp": 1795492924.7913778}]}',1.79549292477833580964e+09,1.79549292477833580964e+09,'2026-11-24T04:02:04.778336Z','2026-11-24T04:02:04.778336Z',NULL,'default',NULL,1,1.0,1795492924,NULL,0);
INSERT INTO memories (id,content_hash,content,tags,memory_type,metadata,created_at,updated_at,created_at_iso,updated_at_iso,deleted_at,store,parent_id,version,confidence,last_accessed,superseded_by,embedding_pending) VALUES (3,'e7443d6d6544f86ccd9b92681dc060779a81e9c17642cf29708ac627167e0060','Refunds need a second signature','t',NULL,'{"access_count": 1, "last_accessed_at": 1795492924.791423, "access_queries": [{"query": "billing port", "timestamp": 1795492924.791423}]}',1.79549292478111314772e+09,1.79549292478111314772e+09,'2026-11-24T04:02:04.781113Z','2026-11-24T04:02:04.781113Z',NULL,'default',NULL,1,1.0,1795492924,NULL,0);
INSERT INTO memories (id,content_hash,content,tags,memory_type,metadata,created_at,updated_at,created_at_iso,updated_at_iso,deleted_at,store,parent_id,version,confidence,last_accessed,superseded_by,embedding_pending) VALUES (4,'1ff94e8e76d2de245a6b91244ad8c115a5cdf14e8e2d7a0b058a3d800a78aaf4','Refunds need a second signature.','t',NULL,'{"access_count": 1, "last_accessed_at": 1795492924.7914116, "access_queries": [{"query": "billing port", "timestamp": 1795492924.7914116}]}',1.79549292478359174725e+09,1.79549292478359174725e+09,'2026-11-24T04:02:04.783592Z','2026-11-24T04:02:04.783592Z',NULL,'default',NULL,1,1.0,1795492924,NULL,0);
INSERT INTO memories (id,content_hash,content,tags,memory_type,metadata,created_at,updated_at,created_at_iso,updated_at_iso,deleted_at,store,parent_id,version,confidence,last_accessed,superseded_by,embedding_pending) VALUES (5,'c4b9585306c8414f7e8f2e20b6885bb2565ad34e9195ffcb2177b93cce0d831f','Billing listens on port 9090.','t',NULL,'{"access_count": 1, "last_accessed_at": 1795492924.7913575, "access_queries": [{"query": "billing port", "timestamp": 1795492924.7913575}]}',1.79549292478582358362e+09,1.79549292478582358362e+09,'2026-11-24T04:02:04.785824Z','2026-11-24T04:02:04.785824Z',NULL,'default',NULL,1,1.0,1795492924,NULL,0);
