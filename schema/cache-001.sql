-- cache.db, version 1: what can be fetched again. It may be deleted at any time.
--
-- Set before the first table: page_size 4096, auto_vacuum INCREMENTAL, application_id 'Lard'.

-- Totals and secrets of the file: one row a name.
--   key_seed  what row keys are hashed with, drawn when the file was made
--   bytes     the accounted size of all rows (see recency.size), exact in every commit
--   entries   how many rows entry has
--   rev       the highest revision in the file
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

-- id / data / timestamp: one cached answer, or a client's own blob.
CREATE TABLE entry (
    -- 60 bits of a keyed hash of scope and id, and four zeroes; scope and id are compared on every
    -- read, and of two ids with one hash the second has no row.
    key           INTEGER PRIMARY KEY,
    scope         TEXT    NOT NULL,  -- 'UID:ACCOUNT' or 'shared'
    id            TEXT    NOT NULL,
    kind          INTEGER NOT NULL,  -- 0 blob, 1 fetched, 2 tombstone, 3 variants
    stored_at     INTEGER NOT NULL,  -- ms since 1970, when the bytes were given or confirmed
    fresh_until   INTEGER,           -- ms since 1970; for a blob the end of its ttl
    rev           INTEGER NOT NULL,  -- the step that last changed the bytes
    origin        TEXT,
    status        INTEGER NOT NULL,  -- of the origin's answer
    media_type    TEXT,
    etag          TEXT,              -- the origin's validators
    last_modified TEXT,
    headers       TEXT    NOT NULL,  -- the origin's other headers: 'Name: value' lines
    bytes         INTEGER NOT NULL,  -- length of the body
    json          INTEGER NOT NULL,  -- 1: the body is one JSON text
    digest_high   INTEGER NOT NULL,  -- XXH3-128 of the body: its checksum and its sameness
    digest_low    INTEGER NOT NULL,
    body          INTEGER,           -- the number of a chunked body, else NULL
    data          BLOB               -- the body itself, else NULL
);

-- Lists and eviction by prefix, in the order of ids.
CREATE UNIQUE INDEX entry_scope_id ON entry (scope, id);

-- When each row was last used, by a logical clock, and what it counts against the budget. Apart
-- from entry, so that a touch does not write the body again.
CREATE TABLE recency (
    key        INTEGER PRIMARY KEY,  -- entry.key
    last_used  INTEGER NOT NULL,
    size       INTEGER NOT NULL,     -- body, chunks, id, headers and a fixed overhead
    stored_at  INTEGER NOT NULL,
    expires_at INTEGER               -- the end of a blob's ttl: past it, the first to go
);

CREATE UNIQUE INDEX recency_last_used ON recency (last_used);
CREATE INDEX recency_expires_at ON recency (expires_at) WHERE expires_at IS NOT NULL;

-- A body too large for its row. It is linked when an entry names it; a body that none names is
-- swept at start.
CREATE TABLE body (
    body   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    size   INTEGER NOT NULL,                   -- its chunks with their overhead
    linked INTEGER NOT NULL                    -- 0 while it is uploaded, and once it was replaced
);

CREATE TABLE chunk (
    chunk    INTEGER PRIMARY KEY,  -- body * 2^20 + its position
    checksum INTEGER NOT NULL,     -- XXH3-64 of data
    data     BLOB    NOT NULL
);
