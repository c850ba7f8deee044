-- state.db, version 18: entities that effects put into documents are targets, too.

-- 1: no change of the program's names it, but an effect of the same modifier puts it into a document
ALTER TABLE change ADD COLUMN implied INTEGER NOT NULL DEFAULT 0;
-- The ids of the documents into which effects of the same modifier put the target, one a line; NULL: none
ALTER TABLE change ADD COLUMN parents TEXT;
