-- state.db, version 17: the credential that a user has for an account at an origin, and which kind of credential
-- a modifier was accepted under.

CREATE TABLE credential (
    credential INTEGER PRIMARY KEY,
    scope      TEXT NOT NULL,     -- 'UID:ACCOUNT'
    origin     TEXT NOT NULL,
    address    TEXT NOT NULL,     -- scheme, host and port of the origin: the value is sent nowhere else
    header     TEXT NOT NULL,
    value      TEXT NOT NULL,     -- the secret
    set_at     INTEGER NOT NULL,  -- milliseconds since 1970
    expires_at INTEGER
);

CREATE UNIQUE INDEX credential_name ON credential (scope, origin);

-- 'account', 'any', or NULL for none; earlier versions knew only those of the origin's settings, for all users.
ALTER TABLE modifier ADD COLUMN credential TEXT;
