-- state.db, version 13: a pinned or targeted answer is here with its entities and its variants.

-- Of an answer that is kept normalized, as in cache.db: the number of its shape; data is then its template, of
-- which checksum is the XXH3-64; bytes, json and the digest are those of the answer as it came.
ALTER TABLE claim ADD COLUMN skeleton INTEGER;
ALTER TABLE claim ADD COLUMN checksum INTEGER;
-- 1: a variant of a URL that is pinned, or that an unsettled change targets.
ALTER TABLE claim ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
-- 1: it counts against pins.max_bytes, as a pinned answer has brought it.
ALTER TABLE claim ADD COLUMN in_pins INTEGER NOT NULL DEFAULT 0;

-- 1 until the answers of earlier versions have taken their entities and variants along from cache.db.
ALTER TABLE revision_block ADD COLUMN takes_along INTEGER NOT NULL DEFAULT 0;
UPDATE revision_block SET takes_along = 1 WHERE EXISTS (SELECT 1 FROM claim);

-- The shapes of answers, each once.
CREATE TABLE skeleton (
    skeleton    INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    digest_high INTEGER NOT NULL,                   -- XXH3-128 of data
    digest_low  INTEGER NOT NULL,
    answers     INTEGER NOT NULL,                   -- how many rows of claim name it; it goes with the last
    data        BLOB    NOT NULL
);
CREATE INDEX skeleton_digest ON skeleton (digest_high, digest_low);

-- Which row refers to which entity, which has a row, too, though nothing may be known of it.
CREATE TABLE reference (
    reference INTEGER PRIMARY KEY,
    child     INTEGER NOT NULL REFERENCES claim ON DELETE CASCADE,
    parent    INTEGER NOT NULL REFERENCES claim ON DELETE CASCADE,
    members   BLOB    NOT NULL
);
CREATE UNIQUE INDEX reference_child ON reference (child, parent);
CREATE INDEX reference_parent ON reference (parent);
