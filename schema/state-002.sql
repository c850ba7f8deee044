-- state.db, version 2: what is kept here and not in the cache, with its bytes, and the origins that
-- were set offline by hand.

-- Origins from which nothing is asked until they are set online again.
CREATE TABLE offline_origin (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;

-- What must not go with the cache, one row a scope and id, with the entry itself: once it is here,
-- it is nowhere else. A row is kept because it is pinned, or as the base of a target, or for both;
-- one that is neither any more is released, and is given back to the cache in an idle moment. The
-- columns from kind to data are those of entry in cache.db, and are NULL while there is no entry.
CREATE TABLE kept (
    kept          INTEGER PRIMARY KEY AUTOINCREMENT,
    scope         TEXT    NOT NULL,  -- 'UID:ACCOUNT' or 'shared'
    id            TEXT    NOT NULL,
    kind          INTEGER,           -- 0 blob, 1 fetched, 2 deleted, 3 variants; NULL: no entry
    stored_at     INTEGER,
    fresh_until   INTEGER,
    rev           INTEGER,
    origin        TEXT,              -- where it is fetched from, also while there is no entry
    status        INTEGER,
    media_type    TEXT,
    etag          TEXT,
    last_modified TEXT,
    headers       TEXT,
    bytes         INTEGER,
    json          INTEGER,
    digest_high   INTEGER,
    digest_low    INTEGER,
    body          INTEGER,           -- the number of a body in kept_body, else NULL
    data          BLOB,              -- the body itself, else NULL
    size          INTEGER NOT NULL,  -- what it counts: a pinned one against pins.max_bytes, one
                                     -- that is only targeted against queue.max_bytes
    targeted      INTEGER NOT NULL,  -- how many unsettled changes target it
    shared        INTEGER NOT NULL,  -- 1: a copy of the shared row under its id, not given back
    pinned_at     INTEGER,           -- ms since 1970; NULL: it is not pinned
    state         INTEGER,           -- of the pin: 0 held, 1 waiting, 2 too large, 3 gone, 4 failed
    problem       TEXT,              -- why it is neither held nor waiting: a problem's type
    reason        TEXT,              -- the same in a sentence
    gone_status   INTEGER,           -- what the origin answered when it had deleted what a pin keeps
    wanted        INTEGER NOT NULL   -- 1: to be fetched as soon as its origin answers
);

CREATE UNIQUE INDEX kept_scope_id ON kept (scope, id);
CREATE INDEX kept_pinned ON kept (scope, id) WHERE pinned_at IS NOT NULL;
CREATE INDEX kept_wanted ON kept (kept) WHERE wanted = 1;
CREATE INDEX kept_released ON kept (kept) WHERE pinned_at IS NULL AND targeted = 0;

-- A body too large for its row, as in cache.db. It is linked when a row names it; a body that none
-- names is swept at start.
CREATE TABLE kept_body (
    body   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    size   INTEGER NOT NULL,                   -- its chunks with their overhead
    linked INTEGER NOT NULL                    -- 0 while it is written, and once it was replaced
);

CREATE TABLE kept_chunk (
    chunk    INTEGER PRIMARY KEY,  -- body * 2^20 + its position
    checksum INTEGER NOT NULL,     -- XXH3-64 of data
    data     BLOB    NOT NULL
);
