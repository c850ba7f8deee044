-- state.db, version 4: the history says more of what has left the queue.

-- Of what left it before, nobody knows these.
ALTER TABLE history ADD COLUMN targets TEXT;      -- the first 16 ids that it changed, one a line
ALTER TABLE history ADD COLUMN attempts INTEGER;  -- counted ones
ALTER TABLE history ADD COLUMN key TEXT;          -- the idempotency key of its last round
ALTER TABLE history ADD COLUMN bytes INTEGER;     -- of its request's body
