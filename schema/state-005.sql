-- state.db, version 5: what has changed, for watchers that come back.

-- What a step has changed, as in cache.db, here of what stands in this file.
CREATE TABLE change_log (
    change  INTEGER PRIMARY KEY,  -- rev * 512 + its place within the step
    scope   TEXT    NOT NULL,
    id      TEXT    NOT NULL,     -- of a modifier's change the modifier's
    kind    INTEGER NOT NULL,     -- 0 put, 1 delete, 2 evict, 3 modifier
    source  INTEGER,              -- of a put or delete: 0 network, 1 client, 2 modifier
    reason  INTEGER,
    cause   TEXT,
    client  TEXT,
    state   TEXT,                 -- what a modifier has come to
    mark    TEXT,                 -- what else is to be said of it: stalled dropped
    why     TEXT,                 -- the reason why it is dead
    targets TEXT,                 -- the ids that it changes, one a line
    problem BLOB                  -- the JSON of what has gone wrong
);

-- After which revision the log is whole; NULL until it is begun, and in a file made from a damaged one.
CREATE TABLE change_log_start (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    rev INTEGER
);
INSERT INTO change_log_start (one, rev) VALUES (1, NULL);
