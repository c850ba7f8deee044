-- state.db, version 15: a modifier that has failed is 'failed', and values have no hyphens, as the API names them.

UPDATE modifier SET state = 'failed' WHERE state = 'dead';
UPDATE modifier SET found_state = 'failed' WHERE found_state = 'dead';
UPDATE modifier SET reason = 'parent_failed' WHERE reason = 'parent-failed';
UPDATE history SET outcome = 'failed' WHERE outcome = 'dead';
UPDATE history SET reason = 'parent_failed' WHERE reason = 'parent-failed';
UPDATE change_log SET state = 'failed' WHERE state = 'dead';
UPDATE change_log SET why = 'parent_failed' WHERE why = 'parent-failed';
