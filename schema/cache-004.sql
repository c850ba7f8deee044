-- cache.db, version 4: no secrets of origins in ids.
--
-- Answers that vary by a header stood under ids with its value in clear, credentials' too. They go,
-- with what was said of them in the log of changes, which then begins anew; they can be fetched again.

UPDATE change_log_start SET rev = NULL WHERE EXISTS (
    SELECT 1 FROM change_log WHERE id GLOB 'http*://* *=*');
DELETE FROM change_log WHERE (SELECT rev FROM change_log_start) IS NULL;
UPDATE skeleton SET answers = answers - (
    SELECT count(*) FROM entry WHERE entry.skeleton = skeleton.skeleton
        AND kind IN (1, 2) AND id GLOB 'http*://* *=*');
DELETE FROM skeleton WHERE answers = 0;
UPDATE body SET linked = 0 WHERE body IN (
    SELECT body FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*');
DELETE FROM reference WHERE parent IN (
    SELECT key FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*');
DELETE FROM recency WHERE key IN (
    SELECT key FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*');
DELETE FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*';
-- A skeleton counts 256 beside its data.
UPDATE meta SET value = (SELECT coalesce(sum(size), 0) FROM recency)
    + (SELECT coalesce(sum(length(data) + 256), 0) FROM skeleton) WHERE name = 'bytes';
UPDATE meta SET value = (SELECT count(*) FROM recency) WHERE name = 'entries';
