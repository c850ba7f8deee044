-- state.db, version 6: what a dead letter has changed stands the right way round.

-- From now on `before` is the view without the effect, and `after` the view with it.
UPDATE change SET before = after, after = before
WHERE settled = 1 AND (before IS NOT NULL OR after IS NOT NULL);
