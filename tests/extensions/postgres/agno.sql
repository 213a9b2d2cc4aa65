-- The tables of memories and of versions that agno 3.1.10 makes.
CREATE SCHEMA IF NOT EXISTS ai;
CREATE TABLE ai.agno_memories (
    memory_id VARCHAR NOT NULL,
    memory JSONB NOT NULL,
    feedback TEXT,
    input TEXT,
    agent_id VARCHAR,
    team_id VARCHAR,
    user_id VARCHAR,
    topics JSONB,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    PRIMARY KEY (memory_id)
);
CREATE INDEX idx_agno_memories_user_id ON ai.agno_memories (user_id);
CREATE INDEX idx_agno_memories_created_at ON ai.agno_memories (created_at);
CREATE INDEX idx_agno_memories_updated_at ON ai.agno_memories (updated_at);
CREATE TABLE ai.agno_schema_versions (
    table_name VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    created_at VARCHAR NOT NULL,
    updated_at VARCHAR,
    PRIMARY KEY (table_name)
);
INSERT INTO ai.agno_schema_versions
VALUES ('agno_memories', '3.0.0', '2026-11-25T14:27:19.946997', '2026-11-25T14:27:19.946997');
