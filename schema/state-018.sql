-- state.db, version 18: what the target of a sent change was when the change was first sent in its round.

ALTER TABLE change ADD COLUMN sent BLOB;  -- stands for the value of base; empty where nothing was known; NULL before the sending
