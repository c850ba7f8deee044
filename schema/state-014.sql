-- state.db, version 14: shared rows that users keep, and writes that wait for one of them.

-- A copy of a shared row is its user's own row from now on. `shared` says of a user's row that it has no entry and keeps the row
-- with the scope 'shared' under its id, which says itself whether any of those that keep it is targeted, or a pin.
UPDATE claim SET shared = 0 WHERE shared = 1;
ALTER TABLE claim ADD COLUMN payer INTEGER;  -- of a shared row: the uid of the user in whose share it counts
CREATE INDEX claim_keeper ON claim (id) WHERE shared = 1;

-- 1: the server has confirmed it, and a shared row does not show it yet; a change with `settled` 2 is done with.
ALTER TABLE modifier ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;

ALTER TABLE change_log ADD COLUMN hidden_from TEXT;  -- of a shared row's change: scopes with a view of their own, one a line

-- Users from whom a shared row is hidden, as a row of their own came before it; as in cache.db, which has the marks of the
-- rows that are there.
CREATE TABLE hidden (
    hidden INTEGER PRIMARY KEY,
    claim  INTEGER NOT NULL REFERENCES claim ON DELETE CASCADE,  -- the shared row
    scope  TEXT    NOT NULL,                                     -- 'UID:ACCOUNT' of the user
    rev    INTEGER NOT NULL                                      -- the last revision given when the own row was stored
);
CREATE UNIQUE INDEX hidden_scope ON hidden (claim, scope);

-- A modifier's changes belong to it: they go with it, and follow it when a dead letter gets a new number.
ALTER TABLE change RENAME TO change_before;
CREATE TABLE change (
    change   INTEGER PRIMARY KEY,
    modifier INTEGER NOT NULL REFERENCES modifier ON UPDATE CASCADE ON DELETE CASCADE,
    position INTEGER NOT NULL,  -- among the changes of its modifier
    scope    TEXT    NOT NULL,  -- that of its modifier
    id       TEXT    NOT NULL,  -- the target
    settled  INTEGER NOT NULL,  -- 1: of a dead letter, 2: done with, though its modifier waits for others
    effect   BLOB    NOT NULL,  -- as the engine writes it
    before   BLOB,              -- of a dead letter: the view with the effect
    after    BLOB               -- and without
);
INSERT INTO change SELECT change, modifier, position, scope, id, settled, effect, before, after FROM change_before;
DROP TABLE change_before;
CREATE UNIQUE INDEX change_modifier ON change (modifier, position);
CREATE INDEX change_target ON change (id, scope, settled, modifier);
