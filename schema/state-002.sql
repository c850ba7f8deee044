-- state.db, version 2: pins with their bytes, and the origins that were set offline by hand.

-- Origins from which nothing is asked until they are set online again.
CREATE TABLE offline_origin (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;

-- What a user keeps for good, one row a scope and id, with the entry itself: once its bytes are
-- here, they are nowhere else. The columns from kind to data are those of entry in cache.db, and
-- are NULL while there are no bytes.
CREATE TABLE pin (
    pin           INTEGER PRIMARY KEY AUTOINCREMENT,
    scope         TEXT    NOT NULL,  -- 'UID:ACCOUNT' or 'shared'
    id            TEXT    NOT NULL,
    kind          INTEGER,           -- 0 blob, 1 fetched; NULL: no bytes
    stored_at     INTEGER,
    fresh_until   INTEGER,
    rev           INTEGER,
    origin        TEXT,              -- where it is fetched from, also while there are no bytes
    status        INTEGER,
    media_type    TEXT,
    etag          TEXT,
    last_modified TEXT,
    headers       TEXT,
    bytes         INTEGER,
    json          INTEGER,
    digest_high   INTEGER,
    digest_low    INTEGER,
    body          INTEGER,           -- the number of a body in pin_body, else NULL
    data          BLOB,              -- the body itself, else NULL
    size          INTEGER NOT NULL,  -- what it counts against pins.max_bytes
    pinned_at     INTEGER NOT NULL,  -- ms since 1970
    state         INTEGER NOT NULL,  -- 0 held, 1 waiting, 2 too large, 3 gone, 4 failed
    problem       TEXT,              -- why it is neither held nor waiting: a problem's type
    reason        TEXT,              -- the same in a sentence
    gone_status   INTEGER,           -- what the origin answered when it had deleted it
    wanted        INTEGER NOT NULL   -- 1: to be fetched as soon as its origin answers
);

CREATE UNIQUE INDEX pin_scope_id ON pin (scope, id);
CREATE INDEX pin_wanted ON pin (pin) WHERE wanted = 1;

-- A body too large for its row, as in cache.db. It is linked when a pin names it; a body that none
-- names is swept at start.
CREATE TABLE pin_body (
    body   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    size   INTEGER NOT NULL,                   -- its chunks with their overhead
    linked INTEGER NOT NULL                    -- 0 while it is written, and once it was replaced
);

CREATE TABLE pin_chunk (
    chunk    INTEGER PRIMARY KEY,  -- body * 2^20 + its position
    checksum INTEGER NOT NULL,     -- XXH3-64 of data
    data     BLOB    NOT NULL
);
