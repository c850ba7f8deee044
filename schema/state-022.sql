-- state.db, version 22: writes that are sent as one request.

ALTER TABLE modifier ADD COLUMN joined_into TEXT;        -- id of the first of them; NULL for that one
-- The request of all of them, in the row of the first; its own is for the time after an end without success.
ALTER TABLE modifier ADD COLUMN joined_method TEXT;      -- NULL: it is sent alone
ALTER TABLE modifier ADD COLUMN joined_media_type TEXT;
ALTER TABLE modifier ADD COLUMN joined_body BLOB;
ALTER TABLE history ADD COLUMN joined_into TEXT;

CREATE INDEX modifier_joined ON modifier (scope, joined_into) WHERE joined_into IS NOT NULL;
