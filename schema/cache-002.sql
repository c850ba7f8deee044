-- cache.db, version 2: what has changed, for watchers that come back.
--
-- meta has two more names, which say whether the log is whole:
--   boot       of which start of the machine the last change is: without one in between no commit is lost
--   closed_at  the next revision by state.db when the file was closed in good order, else no row

-- What a step has changed, a row an id. At most 65,536 rows or 16 MiB of text: the oldest go.
CREATE TABLE change_log (
    change INTEGER PRIMARY KEY,  -- rev * 512 + its place within the step
    scope  TEXT    NOT NULL,     -- 'UID:ACCOUNT' or 'shared'
    id     TEXT    NOT NULL,
    kind   INTEGER NOT NULL,     -- 0 put, 1 delete, 2 evict
    source INTEGER,              -- of a put or delete: 0 network, 1 client
    reason INTEGER,              -- of an evict: 0 lru, 1 expired, 2 request, 3 damaged
    cause  TEXT,                 -- what has brought it, where that is not the id
    client TEXT                  -- 'UID:NAME' of the client that has brought it, if it said so
);

-- After which revision the log is whole; NULL until it is begun.
CREATE TABLE change_log_start (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    rev INTEGER
);
INSERT INTO change_log_start (one, rev) VALUES (1, NULL);
