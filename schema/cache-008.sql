-- cache.db, version 8: reads with a body.

-- The media type of the request, a line end and its body; NULL for the answer to a GET. Method and digest
-- are in the id.
ALTER TABLE entry ADD COLUMN request BLOB;
