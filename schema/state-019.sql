-- state.db, version 19: what targets were when their writes were first sent, and which of them are to be read again.

-- Of the present round.
ALTER TABLE change ADD COLUMN sent BLOB;  -- stands for the value of base; empty where nothing was known; NULL before the sending

-- Rows to be read again, as a write of them has ended: an answer to a request that started later ends that.
CREATE TABLE reading (
    reading INTEGER PRIMARY KEY,
    scope   TEXT    NOT NULL,  -- 'UID:ACCOUNT' of the user whose write it was
    id      TEXT    NOT NULL,
    rev     INTEGER NOT NULL   -- the step that ended the last write
);
CREATE UNIQUE INDEX reading_id ON reading (scope, id);
INSERT INTO reading (scope, id, rev)
    SELECT DISTINCT change.scope, change.id, 0 FROM change JOIN modifier ON number = change.modifier
    WHERE answered = 1 AND settled = 0;
