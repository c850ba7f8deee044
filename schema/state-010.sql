-- state.db, version 10: when the last answer to a modifier came.

ALTER TABLE modifier ADD COLUMN answer_at INTEGER;  -- NULL of one that came before
ALTER TABLE history ADD COLUMN answer_at INTEGER;
