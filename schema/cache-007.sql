-- cache.db, version 7: shared rows that are hidden from users who had rows of their own before them.

-- A row of a user's own comes before the shared row under its id. Once it has gone, its user sees
-- nothing: the shared row may be older than what the user has seen. A mark goes with an answer for the
-- shared row whose request started after the own row was stored, and with the shared row. It counts 64
-- in meta.bytes.
CREATE TABLE hidden (
    key   INTEGER NOT NULL,  -- entry.key of the shared row
    scope TEXT    NOT NULL,  -- 'UID:ACCOUNT' of the user
    rev   INTEGER NOT NULL,  -- the last revision given when the own row was stored
    PRIMARY KEY (key, scope)
) WITHOUT ROWID;

INSERT INTO hidden (key, scope, rev)
    SELECT other.key, own.scope, own.rev FROM entry AS own CROSS JOIN entry AS other
    WHERE EXISTS (SELECT 1 FROM entry WHERE scope = 'shared')
        AND own.scope <> 'shared' AND own.kind <> 3
        AND other.scope = 'shared' AND other.id = own.id AND other.rev < own.rev;
UPDATE meta SET value = value + 64 * (SELECT count(*) FROM hidden) WHERE name = 'bytes';
