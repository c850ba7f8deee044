-- cache.db, version 3: answers that are kept normalized, and their entities.
--
-- An entity is a row of entry of kind 4, or a tombstone (2), beside the others: its id is U+0001,
-- its origin, a slash and its key, which no other row's id can be; its data is when it was said and
-- the members, in a form of ours (LarderNormalize). So uses, eviction, protection and the log of
-- changes are the same for both.

-- Of an answer that is kept normalized: the number of its shape. Its data is then its template, of
-- which checksum is the XXH3-64; bytes, json and the digest are those of the answer as it came.
ALTER TABLE entry ADD COLUMN skeleton INTEGER;
ALTER TABLE entry ADD COLUMN checksum INTEGER;

-- The shapes of answers, each once: where entities stand, and which members were seen there.
CREATE TABLE skeleton (
    skeleton    INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
    digest_high INTEGER NOT NULL,                   -- XXH3-128 of data
    digest_low  INTEGER NOT NULL,
    answers     INTEGER NOT NULL,                   -- how many rows of entry name it; it goes with the last
    data        BLOB    NOT NULL
);
CREATE INDEX skeleton_digest ON skeleton (digest_high, digest_low);

-- Which row refers to which entity: an answer to those that stand in its own text, an entity to
-- those in its members.
CREATE TABLE reference (
    child   INTEGER NOT NULL,  -- the entity's entry.key, whether there is a row or not
    parent  INTEGER NOT NULL,  -- entry.key of what refers to it
    members BLOB    NOT NULL,  -- an answer's: lists of its skeleton; an entity's: names of members
    PRIMARY KEY (child, parent)
) WITHOUT ROWID;
CREATE INDEX reference_parent ON reference (parent);

-- In change_log one row may have several ids since, each in a line: what one step has done to entities.

-- Whether an entity was asked for by its key: others go once no row refers to them.
ALTER TABLE recency ADD COLUMN direct INTEGER NOT NULL DEFAULT 0;
