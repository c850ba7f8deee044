-- state.db, version 11: what stands here of a row is its claim, and bodies are named as in cache.db.
--
-- It writes no body again but those that several changes target. A row of claim says that an id is claimed, as it is pinned or as
-- unsettled changes target it, and what is saved of it; one that is neither any more is released.
ALTER TABLE kept RENAME TO claim;
ALTER TABLE claim RENAME COLUMN kept TO claim;
ALTER TABLE kept_body RENAME TO body;
ALTER TABLE kept_chunk RENAME TO chunk;

-- From now on `targeted` is 1 where an unsettled change targets it, however many do: then its row
-- keeps its size, and SQLite writes the one page that has changed, and not its bytes again.
UPDATE claim SET targeted = 1 WHERE targeted > 1;

DROP INDEX kept_scope_id;
DROP INDEX kept_pinned;
DROP INDEX kept_wanted;
DROP INDEX kept_released;
CREATE UNIQUE INDEX claim_scope_id ON claim (scope, id);
CREATE INDEX claim_pinned ON claim (scope, id) WHERE pinned_at IS NOT NULL;
CREATE INDEX claim_wanted ON claim (claim) WHERE wanted = 1;
CREATE INDEX claim_released ON claim (claim) WHERE pinned_at IS NULL AND targeted = 0;

-- How many commits have failed: the one that counts them stands in the WAL in their place.
ALTER TABLE revision_block ADD COLUMN failed_commits INTEGER NOT NULL DEFAULT 0;
