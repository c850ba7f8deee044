-- state.db, version 3: the modifier queue.

-- One row a modifier: unsettled ones, and dead letters until somebody drops them. What is needed to
-- decide stands first, bytes last.
CREATE TABLE modifier (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,  -- the accept number: the order of the queue
    scope           TEXT    NOT NULL,  -- 'UID:ACCOUNT'
    id              TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    state           TEXT    NOT NULL,  -- held queued in_flight accepted retry_wait unknown conflict
                                       -- auth_wait dead
    reason          TEXT,              -- why it is dead
    found_state     TEXT,              -- of an unreadable one: what its state was
    lane            TEXT,              -- the lane's name; those of the targets are not named
    depends_on      TEXT    NOT NULL,  -- accept numbers with spaces between
    hold_until      INTEGER,           -- ms since 1970, as all moments here
    expires_at      INTEGER,
    attempts_max    INTEGER,
    attempts        INTEGER NOT NULL,  -- counted ones
    not_applied     INTEGER NOT NULL,  -- answers that said that it was not applied for now
    stalled         INTEGER NOT NULL,
    next_attempt_at INTEGER,
    after_unknown   TEXT,              -- auto resend hold; NULL: as the origin says
    key             TEXT,              -- the idempotency key of its first round
    round           INTEGER NOT NULL,
    accepted_at     INTEGER NOT NULL,
    settled_at      INTEGER,           -- of a dead letter
    rev             INTEGER NOT NULL,
    client          TEXT,              -- who sent it, in its own words
    digest_high     INTEGER NOT NULL,  -- of what was submitted
    digest_low      INTEGER NOT NULL,
    size            INTEGER NOT NULL,  -- what it counts against queue.max_bytes
    changes         INTEGER NOT NULL,  -- how many rows of change it has
    method          TEXT    NOT NULL,
    url             TEXT    NOT NULL,
    media_type      TEXT,
    answer_status   INTEGER,           -- of the last answer
    headers         TEXT    NOT NULL,  -- of the request
    answer_headers  TEXT,
    answer_body     BLOB,
    body            BLOB               -- of the request
);

CREATE UNIQUE INDEX modifier_id ON modifier (scope, id);
CREATE INDEX modifier_open ON modifier (number) WHERE settled_at IS NULL;
CREATE INDEX modifier_dead ON modifier (scope, number) WHERE settled_at IS NOT NULL;

-- What a modifier does to its targets. The base of each target of an unsettled one is a row of
-- kept.
CREATE TABLE change (
    change       INTEGER PRIMARY KEY,
    modifier     INTEGER NOT NULL,  -- its number
    position     INTEGER NOT NULL,  -- among the changes of its modifier
    scope        TEXT    NOT NULL,  -- that of its modifier
    id           TEXT    NOT NULL,  -- the target
    settled      INTEGER NOT NULL,  -- 1: of a dead letter
    inapplicable TEXT,              -- why the effect was left out of the view when it was last made
    effect       BLOB    NOT NULL,  -- as the engine writes it
    before       BLOB,              -- of a dead letter: the view with the effect
    after        BLOB               -- and without
);

CREATE UNIQUE INDEX change_modifier ON change (modifier, position);
CREATE INDEX change_target ON change (scope, id, modifier) WHERE settled = 0;
CREATE INDEX change_dead ON change (scope, id) WHERE settled = 1;

-- What left the queue confirmed or cancelled, or was dropped as a dead letter: the last ones.
CREATE TABLE history (
    history       INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of settling
    number        INTEGER NOT NULL,
    scope         TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    method        TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    outcome       TEXT    NOT NULL,  -- confirmed cancelled dead
    reason        TEXT,
    answer_status INTEGER,
    accepted_at   INTEGER NOT NULL,
    settled_at    INTEGER NOT NULL,
    rev           INTEGER NOT NULL,
    digest_high   INTEGER NOT NULL,
    digest_low    INTEGER NOT NULL
);

CREATE INDEX history_id ON history (scope, id);

-- Lanes from which nothing is sent until they are resumed.
CREATE TABLE paused_lane (
    paused_lane INTEGER PRIMARY KEY,
    scope       TEXT NOT NULL,
    lane        TEXT NOT NULL  -- 'id:ID' or 'name:NAME'
);

CREATE UNIQUE INDEX paused_lane_name ON paused_lane (scope, lane);
