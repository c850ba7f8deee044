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
