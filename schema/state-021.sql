-- state.db, version 21: what a write has seen of its targets, so that another device's edit is not overwritten silently.

ALTER TABLE modifier ADD COLUMN if_match TEXT;     -- auto, strict, none; NULL: as its origin says
ALTER TABLE modifier ADD COLUMN on_conflict TEXT;  -- rebase, server, client, manual; NULL: as its origin says
ALTER TABLE modifier ADD COLUMN etag TEXT;         -- the If-Match of its present round
-- Rounds that another version at the origin has led to, since the acceptance or a person's decision.
ALTER TABLE modifier ADD COLUMN conflicts INTEGER NOT NULL DEFAULT 0;
-- Attempts of earlier rounds that were not applied, besides those in not_applied.
ALTER TABLE modifier ADD COLUMN denied INTEGER NOT NULL DEFAULT 0;

-- JSON objects: the values of the places that the effect assigns to, by their JSON pointers. NULL: nothing is known, so nothing is
-- compared.
ALTER TABLE change ADD COLUMN seen BLOB;         -- in base, when the write was accepted or a person decided
ALTER TABLE change ADD COLUMN seen_view BLOB;    -- in the view beneath the write; NULL: the same
ALTER TABLE change ADD COLUMN theirs BLOB;       -- in base, when the conflict was found
