-- cache.db, version 5: whose each row is, so that a user above the share loses own rows first.

-- The uid in entry.scope, or -1 for a row that all users share.
ALTER TABLE recency ADD COLUMN owner INTEGER NOT NULL DEFAULT -1;
UPDATE recency SET owner = coalesce((
    SELECT CAST(scope AS INTEGER) FROM entry WHERE entry.key = recency.key
        AND scope GLOB '[0-9]*:*' AND CAST(scope AS INTEGER) < 4294967296), -1);

-- The order of eviction within one user, and the sum of each user's sizes.
CREATE INDEX recency_owner ON recency (owner, last_used, size);
