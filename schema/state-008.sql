-- state.db, version 8: what changes a target is found by its id alone, for every user as for one,
-- and dead letters are counted in the index.

DROP INDEX change_target;
DROP INDEX change_dead;
CREATE INDEX change_target ON change (id, scope, settled, modifier);
