-- state.db, version 26: sets of entries that are fetched in advance.

CREATE TABLE prefetch (
    prefetch        INTEGER PRIMARY KEY AUTOINCREMENT,
    scope           TEXT    NOT NULL,  -- 'UID:ACCOUNT'
    name            TEXT    NOT NULL,
    definition      BLOB    NOT NULL,  -- the JSON of the command
    made_at         INTEGER NOT NULL,  -- milliseconds since 1970, as all times here
    expires_at      INTEGER,           -- NULL: never
    refresh         INTEGER,           -- the interval in milliseconds at which the origins are asked again; NULL: never
    queried_at      INTEGER NOT NULL,  -- when its queries of entities were last evaluated
    estimated_bytes INTEGER NOT NULL,  -- of the bodies, as far as their sizes were known before they were fetched
    unknown_sizes   INTEGER NOT NULL   -- how many sizes were not known
);
CREATE UNIQUE INDEX prefetch_name ON prefetch (scope, name);

-- Which set keeps which entry. The entry is pinned as long as a row is here.
CREATE TABLE prefetch_item (
    item     INTEGER PRIMARY KEY,
    prefetch INTEGER NOT NULL REFERENCES prefetch ON DELETE CASCADE,
    scope    TEXT    NOT NULL,            -- that of the set
    id       TEXT    NOT NULL,
    leaving  INTEGER NOT NULL DEFAULT 0,  -- 1: the set has a new list without it, which is not fetched yet
    problem  TEXT,                        -- why it could not be pinned: the type of a problem
    reason   TEXT,                        -- the same in a sentence
    used     INTEGER                      -- of an entity that a query has selected: its place in the order of uses then
);
CREATE UNIQUE INDEX prefetch_item_id ON prefetch_item (scope, id, prefetch);
CREATE INDEX prefetch_item_set ON prefetch_item (prefetch, leaving);

ALTER TABLE claim ADD COLUMN prefetched INTEGER;  -- 1: of a pin that no client asked for, so that it ends with the last set
CREATE INDEX claim_prefetched ON claim (claim) WHERE prefetched = 1;
