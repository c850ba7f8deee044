-- cache.db, version 6: what is pinned or changed by pending writes is read in state.db alone.
--
-- Rows whose body was in state.db (body -1) go: nobody reads them any more.

DELETE FROM recency WHERE key IN (SELECT key FROM entry WHERE body = -1);
DELETE FROM reference WHERE parent IN (SELECT key FROM entry WHERE body = -1);
DELETE FROM entry WHERE body = -1;
-- A skeleton counts 256 beside its data.
UPDATE meta SET value = (SELECT coalesce(sum(size), 0) FROM recency)
    + (SELECT coalesce(sum(length(data) + 256), 0) FROM skeleton) WHERE name = 'bytes';
UPDATE meta SET value = (SELECT count(*) FROM recency) WHERE name = 'entries';
