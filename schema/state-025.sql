-- state.db, version 25: reads with a body.

ALTER TABLE claim ADD COLUMN request BLOB;  -- as in entry of cache.db
