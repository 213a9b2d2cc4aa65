-- The table that mem0ai 2.2.1 makes of a collection, with vectors of 384 dimensions.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS mem0 (
    id UUID PRIMARY KEY,
    vector vector(384),
    payload JSONB
);
CREATE INDEX mem0_hnsw_idx ON mem0 USING hnsw (vector vector_cosine_ops);
CREATE INDEX mem0_text_lemmatized_idx ON mem0
USING gin (to_tsvector('simple', payload->>'text_lemmatized'));
