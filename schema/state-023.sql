-- state.db, version 23: two trees fewer that each settlement writes.

-- Answers are forgotten in the order of settling, so larderd notes how far it is.
DROP INDEX history_answer;

ALTER TABLE reading RENAME TO reading_before;
CREATE TABLE reading (
    target TEXT    PRIMARY KEY,  -- scope and id, with a line feed in between
    rev    INTEGER NOT NULL      -- the step that ended the last write
) WITHOUT ROWID;
INSERT INTO reading (target, rev) SELECT scope || char(10) || id, rev FROM reading_before;
DROP TABLE reading_before;
