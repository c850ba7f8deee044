// Made by scripts/generate-schema from schema/*.sql; change those.
// swift-format-ignore-file

extension Schema {
    static let cacheSteps: [String] = [
        #"""
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
            -- 60 bits of a keyed hash of scope and id, and 4 bits of slot: ids that collide stand side by
            -- side, and the id is compared on every read.
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
        """#,
    ]

    static let stateSteps: [String] = [
        #"""
        -- state.db, version 1: what the user did, and what must survive the loss of the cache.
        --
        -- Set before the first table: page_size 4096, auto_vacuum INCREMENTAL, application_id 'Lard';
        -- synchronous FULL.

        -- Revisions below next_rev may have been given; a block is reserved ahead with one synced write,
        -- so that a number is never given twice and a put into the cache costs no sync.
        CREATE TABLE revision_block (
            one      INTEGER PRIMARY KEY CHECK (one = 1),
            next_rev INTEGER NOT NULL
        );
        INSERT INTO revision_block (one, next_rev) VALUES (1, 1);
        """#,
        #"""
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
        """#,
    ]
}
