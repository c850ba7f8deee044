-- state.db, version 12: the answer before a repeat.

-- Of the first answer that left open whether the modifier was applied: a repeat may be refused after it.
ALTER TABLE modifier ADD COLUMN unclear_status INTEGER;
