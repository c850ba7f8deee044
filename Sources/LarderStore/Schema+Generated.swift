// Made by scripts/generate-schema from schema/*.sql; change those.
// swift-format-ignore-file

extension Schema {
    static let cacheSteps: [String] = [
        #"""
        -- cache.db, version 1: what can be fetched again. It may be deleted at any time.
        --
        -- Set before the first table: page_size 4096, auto_vacuum INCREMENTAL, application_id 'Lard'.

        -- Totals and secrets of the file: one row a name.
        --   key_seed  what row keys are hashed with, drawn when the file was made
        --   bytes     the accounted size of all rows (see recency.size), exact in every commit
        --   entries   how many rows entry has
        --   rev       the highest revision in the file
        CREATE TABLE meta (
            name  TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) WITHOUT ROWID;

        -- id / data / timestamp: one cached answer, or a client's own blob.
        CREATE TABLE entry (
            -- 60 bits of a keyed hash of scope and id, and four zeroes; scope and id are compared on every
            -- read, and of two ids with one hash the second has no row.
            key           INTEGER PRIMARY KEY,
            scope         TEXT    NOT NULL,  -- 'UID:ACCOUNT' or 'shared'
            id            TEXT    NOT NULL,
            kind          INTEGER NOT NULL,  -- 0 blob, 1 fetched, 2 tombstone, 3 variants
            stored_at     INTEGER NOT NULL,  -- ms since 1970, when the bytes were given or confirmed
            fresh_until   INTEGER,           -- ms since 1970; for a blob the end of its ttl
            rev           INTEGER NOT NULL,  -- the step that last changed the bytes
            origin        TEXT,
            status        INTEGER NOT NULL,  -- of the origin's answer
            media_type    TEXT,
            etag          TEXT,              -- the origin's validators
            last_modified TEXT,
            headers       TEXT    NOT NULL,  -- the origin's other headers: 'Name: value' lines
            bytes         INTEGER NOT NULL,  -- length of the body
            json          INTEGER NOT NULL,  -- 1: the body is one JSON text
            digest_high   INTEGER NOT NULL,  -- XXH3-128 of the body: its checksum and its sameness
            digest_low    INTEGER NOT NULL,
            body          INTEGER,           -- the number of a chunked body, else NULL
            data          BLOB               -- the body itself, else NULL
        );

        -- Lists and eviction by prefix, in the order of ids.
        CREATE UNIQUE INDEX entry_scope_id ON entry (scope, id);

        -- When each row was last used, by a logical clock, and what it counts against the budget. Apart
        -- from entry, so that a touch does not write the body again.
        CREATE TABLE recency (
            key        INTEGER PRIMARY KEY,  -- entry.key
            last_used  INTEGER NOT NULL,
            size       INTEGER NOT NULL,     -- body, chunks, id, headers and a fixed overhead
            stored_at  INTEGER NOT NULL,
            expires_at INTEGER               -- the end of a blob's ttl: past it, the first to go
        );

        CREATE UNIQUE INDEX recency_last_used ON recency (last_used);
        CREATE INDEX recency_expires_at ON recency (expires_at) WHERE expires_at IS NOT NULL;

        -- A body too large for its row. It is linked when an entry names it; a body that none names is
        -- swept at start.
        CREATE TABLE body (
            body   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
            size   INTEGER NOT NULL,                   -- its chunks with their overhead
            linked INTEGER NOT NULL                    -- 0 while it is uploaded, and once it was replaced
        );

        CREATE TABLE chunk (
            chunk    INTEGER PRIMARY KEY,  -- body * 2^20 + its position
            checksum INTEGER NOT NULL,     -- XXH3-64 of data
            data     BLOB    NOT NULL
        );
        """#,
        #"""
        -- cache.db, version 2: what has changed, for watchers that come back.
        --
        -- meta has two more names, which say whether the log is whole:
        --   boot       of which start of the machine the last change is: without one in between no commit is lost
        --   closed_at  the next revision by state.db when the file was closed in good order, else no row

        -- What a step has changed, a row an id. At most 65,536 rows or 16 MiB of text: the oldest go.
        CREATE TABLE change_log (
            change INTEGER PRIMARY KEY,  -- rev * 512 + its place within the step
            scope  TEXT    NOT NULL,     -- 'UID:ACCOUNT' or 'shared'
            id     TEXT    NOT NULL,
            kind   INTEGER NOT NULL,     -- 0 put, 1 delete, 2 evict
            source INTEGER,              -- of a put or delete: 0 network, 1 client
            reason INTEGER,              -- of an evict: 0 lru, 1 expired, 2 request, 3 damaged
            cause  TEXT,                 -- what has brought it, where that is not the id
            client TEXT                  -- 'UID:NAME' of the client that has brought it, if it said so
        );

        -- After which revision the log is whole; NULL until it is begun.
        CREATE TABLE change_log_start (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            rev INTEGER
        );
        INSERT INTO change_log_start (one, rev) VALUES (1, NULL);
        """#,
        #"""
        -- cache.db, version 3: answers that are kept normalized, and their entities.
        --
        -- An entity is a row of entry of kind 4, or a tombstone (2), beside the others: its id is U+0001,
        -- its origin, a slash and its key, which no other row's id can be; its data is when it was said and
        -- the members, in a form of ours (LarderNormalize). So uses, eviction, protection and the log of
        -- changes are the same for both.

        -- Of an answer that is kept normalized: the number of its shape. Its data is then its template, of
        -- which checksum is the XXH3-64; bytes, json and the digest are those of the answer as it came.
        ALTER TABLE entry ADD COLUMN skeleton INTEGER;
        ALTER TABLE entry ADD COLUMN checksum INTEGER;

        -- The shapes of answers, each once: where entities stand, and which members were seen there.
        CREATE TABLE skeleton (
            skeleton    INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
            digest_high INTEGER NOT NULL,                   -- XXH3-128 of data
            digest_low  INTEGER NOT NULL,
            answers     INTEGER NOT NULL,                   -- how many rows of entry name it; it goes with the last
            data        BLOB    NOT NULL
        );
        CREATE INDEX skeleton_digest ON skeleton (digest_high, digest_low);

        -- Which row refers to which entity: an answer to those that stand in its own text, an entity to
        -- those in its members.
        CREATE TABLE reference (
            child   INTEGER NOT NULL,  -- the entity's entry.key, whether there is a row or not
            parent  INTEGER NOT NULL,  -- entry.key of what refers to it
            members BLOB    NOT NULL,  -- an answer's: lists of its skeleton; an entity's: names of members
            PRIMARY KEY (child, parent)
        ) WITHOUT ROWID;
        CREATE INDEX reference_parent ON reference (parent);

        -- In change_log one row may have several ids since, each in a line: what one step has done to entities.

        -- Whether an entity was asked for by its key: others go once no row refers to them.
        ALTER TABLE recency ADD COLUMN direct INTEGER NOT NULL DEFAULT 0;
        """#,
        #"""
        -- cache.db, version 4: no secrets of origins in ids.
        --
        -- Answers that vary by a header stood under ids with its value in clear, credentials' too. They go,
        -- with what was said of them in the log of changes, which then begins anew; they can be fetched again.

        UPDATE change_log_start SET rev = NULL WHERE EXISTS (
            SELECT 1 FROM change_log WHERE id GLOB 'http*://* *=*');
        DELETE FROM change_log WHERE (SELECT rev FROM change_log_start) IS NULL;
        UPDATE skeleton SET answers = answers - (
            SELECT count(*) FROM entry WHERE entry.skeleton = skeleton.skeleton
                AND kind IN (1, 2) AND id GLOB 'http*://* *=*');
        DELETE FROM skeleton WHERE answers = 0;
        UPDATE body SET linked = 0 WHERE body IN (
            SELECT body FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*');
        DELETE FROM reference WHERE parent IN (
            SELECT key FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*');
        DELETE FROM recency WHERE key IN (
            SELECT key FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*');
        DELETE FROM entry WHERE kind IN (1, 2) AND id GLOB 'http*://* *=*';
        -- A skeleton counts 256 beside its data.
        UPDATE meta SET value = (SELECT coalesce(sum(size), 0) FROM recency)
            + (SELECT coalesce(sum(length(data) + 256), 0) FROM skeleton) WHERE name = 'bytes';
        UPDATE meta SET value = (SELECT count(*) FROM recency) WHERE name = 'entries';
        """#,
        #"""
        -- cache.db, version 5: whose each row is, so that a user above the share loses own rows first.

        -- The uid in entry.scope, or -1 for a row that all users share.
        ALTER TABLE recency ADD COLUMN owner INTEGER NOT NULL DEFAULT -1;
        UPDATE recency SET owner = coalesce((
            SELECT CAST(scope AS INTEGER) FROM entry WHERE entry.key = recency.key
                AND scope GLOB '[0-9]*:*' AND CAST(scope AS INTEGER) < 4294967296), -1);

        -- The order of eviction within one user, and the sum of each user's sizes.
        CREATE INDEX recency_owner ON recency (owner, last_used, size);
        """#,
    ]

    static let stateSteps: [String] = [
        #"""
        -- state.db, version 1: what the user did, and what must survive the loss of the cache.
        --
        -- Set before the first table: page_size 4096, auto_vacuum INCREMENTAL, application_id 'Lard';
        -- synchronous FULL.

        -- Revisions below next_rev may have been given; a block is reserved ahead with one synced write,
        -- so that a number is never given twice and a put into the cache costs no sync.
        CREATE TABLE revision_block (
            one      INTEGER PRIMARY KEY CHECK (one = 1),
            next_rev INTEGER NOT NULL
        );
        INSERT INTO revision_block (one, next_rev) VALUES (1, 1);
        """#,
        #"""
        -- state.db, version 2: what is kept here and not in the cache, with its bytes, and the origins that
        -- were set offline by hand.

        -- Origins from which nothing is asked until they are set online again.
        CREATE TABLE offline_origin (
            name TEXT PRIMARY KEY
        ) WITHOUT ROWID;

        -- What must not go with the cache, one row a scope and id, with the entry itself: once it is here,
        -- it is nowhere else. A row is kept because it is pinned, or as the base of a target, or for both;
        -- one that is neither any more is released, and is given back to the cache in an idle moment. The
        -- columns from kind to data are those of entry in cache.db, and are NULL while there is no entry.
        CREATE TABLE kept (
            kept          INTEGER PRIMARY KEY AUTOINCREMENT,
            scope         TEXT    NOT NULL,  -- 'UID:ACCOUNT' or 'shared'
            id            TEXT    NOT NULL,
            kind          INTEGER,           -- 0 blob, 1 fetched, 2 deleted, 3 variants; NULL: no entry
            stored_at     INTEGER,
            fresh_until   INTEGER,
            rev           INTEGER,
            origin        TEXT,              -- where it is fetched from, also while there is no entry
            status        INTEGER,
            media_type    TEXT,
            etag          TEXT,
            last_modified TEXT,
            headers       TEXT,
            bytes         INTEGER,
            json          INTEGER,
            digest_high   INTEGER,
            digest_low    INTEGER,
            body          INTEGER,           -- the number of a body in kept_body, else NULL
            data          BLOB,              -- the body itself, else NULL
            size          INTEGER NOT NULL,  -- what it counts: a pinned one against pins.max_bytes, one
                                             -- that is only targeted against queue.max_bytes
            targeted      INTEGER NOT NULL,  -- how many unsettled changes target it
            shared        INTEGER NOT NULL,  -- 1: a copy of the shared row under its id, not given back
            pinned_at     INTEGER,           -- ms since 1970; NULL: it is not pinned
            state         INTEGER,           -- of the pin: 0 held, 1 waiting, 2 too large, 3 gone, 4 failed
            problem       TEXT,              -- why it is neither held nor waiting: a problem's type
            reason        TEXT,              -- the same in a sentence
            gone_status   INTEGER,           -- what the origin answered when it had deleted what a pin keeps
            wanted        INTEGER NOT NULL   -- 1: to be fetched as soon as its origin answers
        );

        CREATE UNIQUE INDEX kept_scope_id ON kept (scope, id);
        CREATE INDEX kept_pinned ON kept (scope, id) WHERE pinned_at IS NOT NULL;
        CREATE INDEX kept_wanted ON kept (kept) WHERE wanted = 1;
        CREATE INDEX kept_released ON kept (kept) WHERE pinned_at IS NULL AND targeted = 0;

        -- A body too large for its row, as in cache.db. It is linked when a row names it; a body that none
        -- names is swept at start.
        CREATE TABLE kept_body (
            body   INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice
            size   INTEGER NOT NULL,                   -- its chunks with their overhead
            linked INTEGER NOT NULL                    -- 0 while it is written, and once it was replaced
        );

        CREATE TABLE kept_chunk (
            chunk    INTEGER PRIMARY KEY,  -- body * 2^20 + its position
            checksum INTEGER NOT NULL,     -- XXH3-64 of data
            data     BLOB    NOT NULL
        );
        """#,
        #"""
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
        """#,
        #"""
        -- state.db, version 4: the history says more of what has left the queue.

        -- Of what left it before, nobody knows these.
        ALTER TABLE history ADD COLUMN targets TEXT;      -- the first 16 ids that it changed, one a line
        ALTER TABLE history ADD COLUMN attempts INTEGER;  -- counted ones
        ALTER TABLE history ADD COLUMN key TEXT;          -- the idempotency key of its last round
        ALTER TABLE history ADD COLUMN bytes INTEGER;     -- of its request's body
        """#,
        #"""
        -- state.db, version 5: what has changed, for watchers that come back.

        -- What a step has changed, as in cache.db, here of what stands in this file.
        CREATE TABLE change_log (
            change  INTEGER PRIMARY KEY,  -- rev * 512 + its place within the step
            scope   TEXT    NOT NULL,
            id      TEXT    NOT NULL,     -- of a modifier's change the modifier's
            kind    INTEGER NOT NULL,     -- 0 put, 1 delete, 2 evict, 3 modifier
            source  INTEGER,              -- of a put or delete: 0 network, 1 client, 2 modifier
            reason  INTEGER,
            cause   TEXT,
            client  TEXT,
            state   TEXT,                 -- what a modifier has come to
            mark    TEXT,                 -- what else is to be said of it: stalled dropped
            why     TEXT,                 -- the reason why it is dead
            targets TEXT,                 -- the ids that it changes, one a line
            problem BLOB                  -- the JSON of what has gone wrong
        );

        -- After which revision the log is whole; NULL until it is begun, and in a file made from a damaged one.
        CREATE TABLE change_log_start (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            rev INTEGER
        );
        INSERT INTO change_log_start (one, rev) VALUES (1, NULL);
        """#,
        #"""
        -- state.db, version 6: what a dead letter has changed stands the right way round.

        -- From now on `before` is the view without the effect, and `after` the view with it.
        UPDATE change SET before = after, after = before
        WHERE settled = 1 AND (before IS NOT NULL OR after IS NOT NULL);
        """#,
        #"""
        -- state.db, version 7: a secret of the machine, and no secrets of origins in ids.

        -- What stands in ids in place of credentials is a digest by this key: 16 random bytes, drawn when the
        -- file is opened without them. With another key the answers that vary by one are asked for anew.
        CREATE TABLE secret (
            one        INTEGER PRIMARY KEY CHECK (one = 1),
            digest_key BLOB NOT NULL
        );

        -- What was kept under an id with a credential in clear goes, unless a modifier targets it; so do the
        -- changes of such rows, with the log that they stand in.
        UPDATE kept_body SET linked = 0 WHERE body IN (
            SELECT body FROM kept WHERE targeted = 0 AND kind IN (1, 2) AND id GLOB 'http*://* *=*'
                AND (id LIKE '% authorization=%' OR id LIKE '% cookie=%' OR id LIKE '% proxy-authorization=%'
                    OR id LIKE '% %-key=%' OR id LIKE '% %-token=%' OR id LIKE '% %-secret=%'));
        DELETE FROM kept WHERE targeted = 0 AND kind IN (1, 2) AND id GLOB 'http*://* *=*'
            AND (id LIKE '% authorization=%' OR id LIKE '% cookie=%' OR id LIKE '% proxy-authorization=%'
                OR id LIKE '% %-key=%' OR id LIKE '% %-token=%' OR id LIKE '% %-secret=%');
        UPDATE change_log_start SET rev = NULL WHERE EXISTS (
            SELECT 1 FROM change_log WHERE kind < 3 AND id GLOB 'http*://* *=*');
        DELETE FROM change_log WHERE (SELECT rev FROM change_log_start) IS NULL;
        """#,
        #"""
        -- state.db, version 8: what changes a target is found by its id alone, for every user as for one,
        -- and dead letters are counted in the index.

        DROP INDEX change_target;
        DROP INDEX change_dead;
        CREATE INDEX change_target ON change (id, scope, settled, modifier);
        """#,
        #"""
        -- state.db, version 9: the history says the named lane, too.

        -- Of what left the queue before, nobody knows it.
        ALTER TABLE history ADD COLUMN lane TEXT;  -- the lane's name
        """#,
        #"""
        -- state.db, version 10: when the last answer to a modifier came.

        ALTER TABLE modifier ADD COLUMN answer_at INTEGER;  -- NULL of one that came before
        ALTER TABLE history ADD COLUMN answer_at INTEGER;
        """#,
        #"""
        -- state.db, version 11: what stands here of a row is its claim, and bodies are named as in cache.db.
        --
        -- It writes no body again but those that several changes target. A row of claim says that an id is claimed, as it is pinned or as
        -- unsettled changes target it, and what is saved of it; one that is neither any more is released.
        ALTER TABLE kept RENAME TO claim;
        ALTER TABLE claim RENAME COLUMN kept TO claim;
        ALTER TABLE kept_body RENAME TO body;
        ALTER TABLE kept_chunk RENAME TO chunk;

        -- From now on `targeted` is 1 where an unsettled change targets it, however many do: then its row
        -- keeps its size, and SQLite writes the one page that has changed, and not its bytes again.
        UPDATE claim SET targeted = 1 WHERE targeted > 1;

        DROP INDEX kept_scope_id;
        DROP INDEX kept_pinned;
        DROP INDEX kept_wanted;
        DROP INDEX kept_released;
        CREATE UNIQUE INDEX claim_scope_id ON claim (scope, id);
        CREATE INDEX claim_pinned ON claim (scope, id) WHERE pinned_at IS NOT NULL;
        CREATE INDEX claim_wanted ON claim (claim) WHERE wanted = 1;
        CREATE INDEX claim_released ON claim (claim) WHERE pinned_at IS NULL AND targeted = 0;

        -- How many commits have failed: the one that counts them stands in the WAL in their place.
        ALTER TABLE revision_block ADD COLUMN failed_commits INTEGER NOT NULL DEFAULT 0;
        """#,
        #"""
        -- state.db, version 12: the answer before a repeat.

        -- Of the first answer that left open whether the modifier was applied: a repeat may be refused after it.
        ALTER TABLE modifier ADD COLUMN unclear_status INTEGER;
        """#,
    ]
}
