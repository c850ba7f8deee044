-- state.db, version 16: answers of settled modifiers, and whether a modifier was perhaps applied.

-- 1: an attempt ended without a word that denies that the server applied it. One in flight counts as such.
ALTER TABLE modifier ADD COLUMN perhaps_applied INTEGER NOT NULL DEFAULT 0;
UPDATE modifier SET perhaps_applied = 1 WHERE attempts > 0 OR state IN ('unknown', 'accepted');

-- Earlier versions kept every header of an answer, and told none.
UPDATE modifier SET size = size - length(CAST(answer_headers AS BLOB)), answer_headers = NULL
WHERE answer_headers IS NOT NULL;

-- Of the last answer; NULL where none came, and of the oldest above queue.history_bytes.
ALTER TABLE history ADD COLUMN answer_headers TEXT;
ALTER TABLE history ADD COLUMN answer_body BLOB;
CREATE INDEX history_answer ON history (history) WHERE answer_body IS NOT NULL;

ALTER TABLE change_log ADD COLUMN answer BLOB;  -- the JSON of a settled modifier's answer
