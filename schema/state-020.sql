-- state.db, version 20: ids that programs give before an origin does.

-- A name 'tmp:UUID' of one user's account, from the write that creates the thing until 90 days after its last use.
CREATE TABLE temporary_id (
    temporary_id INTEGER PRIMARY KEY,
    scope        TEXT    NOT NULL,  -- 'UID:ACCOUNT'
    name         TEXT    NOT NULL,
    id           TEXT    NOT NULL,  -- the id with the name: of an entity, or the name itself
    origin       TEXT    NOT NULL,  -- of the write that creates it
    creator      INTEGER NOT NULL,  -- the accept number of that write
    state        INTEGER NOT NULL,  -- 0 waiting, 1 known, 2 the write was not confirmed, 3 no answer told the id
    real_id      TEXT,              -- the id by which it goes since; NULL while it is not known
    value        BLOB,              -- the origin's id as JSON
    used_at      INTEGER NOT NULL
);
CREATE UNIQUE INDEX temporary_id_name ON temporary_id (scope, name);
CREATE INDEX temporary_id_creator ON temporary_id (creator);

-- Which modifiers have the name in their request, their targets or their effects, the creating one among them.
CREATE TABLE temporary_use (
    temporary_use INTEGER PRIMARY KEY,
    temporary_id  INTEGER NOT NULL REFERENCES temporary_id ON DELETE CASCADE,
    modifier      INTEGER NOT NULL REFERENCES modifier ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE UNIQUE INDEX temporary_use_modifier ON temporary_use (modifier, temporary_id);
CREATE INDEX temporary_use_id ON temporary_use (temporary_id);

ALTER TABLE change_log ADD COLUMN real_id TEXT;  -- of a thing that has another id from then on
