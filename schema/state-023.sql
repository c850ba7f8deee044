-- state.db, version 23: the oldest answers are found in the order of the history itself.

-- Each settlement wrote a page of this index. Answers are forgotten in the order of settling, so larderd notes how far it is.
DROP INDEX history_answer;
