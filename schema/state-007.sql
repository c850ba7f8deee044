-- state.db, version 7: a secret of the machine, and no secrets of origins in ids.

-- What stands in ids in place of credentials is a digest by this key: 16 random bytes, drawn when the
-- file is opened without them. With another key the answers that vary by one are asked for anew.
CREATE TABLE secret (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    digest_key BLOB NOT NULL
);

-- What was kept under an id with a credential in clear goes, unless a modifier targets it; so do the
-- changes of such rows, with the log that they stand in.
UPDATE kept_body SET linked = 0 WHERE body IN (
    SELECT body FROM kept WHERE targeted = 0 AND kind IN (1, 2) AND id GLOB 'http*://* *=*'
        AND (id LIKE '% authorization=%' OR id LIKE '% cookie=%' OR id LIKE '% proxy-authorization=%'
            OR id LIKE '% %-key=%' OR id LIKE '% %-token=%' OR id LIKE '% %-secret=%'));
DELETE FROM kept WHERE targeted = 0 AND kind IN (1, 2) AND id GLOB 'http*://* *=*'
    AND (id LIKE '% authorization=%' OR id LIKE '% cookie=%' OR id LIKE '% proxy-authorization=%'
        OR id LIKE '% %-key=%' OR id LIKE '% %-token=%' OR id LIKE '% %-secret=%');
UPDATE change_log_start SET rev = NULL WHERE EXISTS (
    SELECT 1 FROM change_log WHERE kind < 3 AND id GLOB 'http*://* *=*');
DELETE FROM change_log WHERE (SELECT rev FROM change_log_start) IS NULL;
