-- state.db, version 9: the history says the named lane, too.

-- Of what left the queue before, nobody knows it.
ALTER TABLE history ADD COLUMN lane TEXT;  -- the lane's name
