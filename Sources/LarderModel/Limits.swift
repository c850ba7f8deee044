/// All limits that are not keys of the configuration, with their reasons.
package enum Limits {
    /// An id: longer than any URL that servers take (most end at 8 KiB).
    package static let idBytesMax = 8_192
    /// An account's name: a person types it.
    package static let accountBytesMax = 64
    /// An origin's name: it is a file's name too.
    package static let originNameBytesMax = 64
    /// A modifier's id: a program makes it, and it goes out in a header.
    package static let modifierIDBytesMax = 128
    /// Modifiers in one `POST /v1/modifiers`, all of which are accepted in one step.
    package static let modifiersPerCommandMax = 1_000
    /// Targets of one modifier: each is read and locked when it is accepted and when it is settled.
    package static let modifierChangesMax = 100
    /// Targets of confirmed writes remembered for the reads that were in flight; about 100 bytes
    /// each.
    package static let fencedWritesMax = 65_536
    /// Bytes of the members' names remembered of such a target: a few dozen members.
    package static let fencedNameBytesMax = 1_024
    /// Pending modifiers that an entry names; their count is exact.
    package static let toldPendingMax = 100
    /// Bytes of views in one answer of `explain`: a client reads them together.
    package static let explainedViewBytesMax = 4 << 20
    /// Changes of one target that a list works through to say which do not fit: a tenth of a full
    /// queue takes about as long as reading the page.
    package static let judgedChangesMax = 10_000
    /// The body of a modifier's request: it is kept in one row, and is sent from memory.
    package static let modifierBodyBytesMax = 16_777_216
    /// Modifiers that one modifier waits for.
    package static let modifierDependenciesMax = 100
    /// A request's method; the longest that is registered has 17 letters.
    package static let methodBytesMax = 32
    /// A lane's name: it is part of paths and lists.
    package static let laneNameBytesMax = 128

    /// A body up to this stays in its row and is read on the event loop; above it is kept in chunks
    /// of this size.
    ///
    /// A copy of 64 KiB takes about 10 µs, which other clients can wait for.
    package static let inlineBodyBytesMax = 65_536
    /// Size of a body in chunks: a row with another size is damaged.
    package static let chunkedBodyBytes = 0...(inlineBodyBytesMax << 20)
    /// A JSON body up to this is inline in a frame; `body_href` names larger ones.
    package static let inlineJSONBytesMax = 1_048_576
    /// A body that is not JSON is in a frame as base64 up to this.
    package static let base64BodyBytesMax = 65_536
    /// Bytes of an origin's refusal that a problem quotes.
    package static let quotedBodyBytesMax = 65_536
    /// Nesting of JSON.
    ///
    /// As deep as normalizing goes; our own recursive readers stay on their stack.
    package static let jsonDepthMax = 512
    /// Nesting of our own frames and problems, which contain a body of the depth above.
    package static let frameDepthMax = jsonDepthMax + 16
    /// A JSON pointer: as long as an id, which is longer than any path that people write.
    package static let jsonPointerBytesMax = 8_192
    /// Bytes of a view with its effects, without escapes: 16 inline bodies.
    package static let viewBytesMax = 16 << 20
    /// Members, elements and values that the effects of one view may look at, all of them together;
    /// about a second's work.
    ///
    /// A command of 1 MiB has room for 30,000 operations, each of which may pass over a large body,
    /// and a target may have as many modifiers as the queue takes.
    package static let viewStepsMax = 1 << 24
    /// Work for one answer on an event loop, well under a millisecond; others are read off the
    /// loop.
    ///
    /// The units are bytes of bases, effects, entities and templates; changes of targets; entities;
    /// steps of views; and work of a rebuild, see ``rebuildWorkMax(bytesMax:)``.
    package static let loopReadBytesMax = 2 * inlineBodyBytesMax
    package static let loopChangesMax = 16
    package static let loopEntitiesMax = 64
    package static let loopViewStepsMax = viewStepsMax >> 10
    package static let loopRebuildWorkMax = 1 << 17
    /// Digits that sums are calculated with; the largest double has 309 before the point.
    package static let decimalDigitsMax = 1_024
    /// How long a client may ask a fetch to wait: no client waits longer at a socket.
    package static let fetchTimeMax = Duration.seconds(3_600)

    /// An entity's key: it is part of each reference, lane and path.
    package static let entityKeyBytesMax = 1_024
    /// How many levels of references an entity's own route shows.
    package static let entityExpansionMax = 8
    /// References that `explain` names; their count is exact.
    package static let toldReferencesMax = 100
    /// Values in a body that is normalized, arrays and objects among them.
    ///
    /// A feed of 1 MB has about 20,000; what is read of each takes 24 bytes.
    package static let normalizedValuesMax = 200_000
    /// A body that is normalized, and an answer that is put together: it is in memory as a whole, once
    /// for each client that reads it, and a larger one is stored whole.
    package static let normalizedBodyBytesMax = 4 << 20
    /// Answers split into entities at the same time; each takes about ten times its size.
    package static let answersSplitMax = 4
    /// Entities within each other, in a body that is normalized and in an answer that is rebuilt:
    /// rebuilding is recursive, and each takes about 1 KiB of the stack.
    package static let entityDepthMax = 128
    /// Elements of a list that grows by what each answer brings: as many as one body may have.
    package static let mergedElementsMax = 200_000
    /// Members of one entity, and its bytes: as many as one body may have, and a quarter of what
    /// its view may grow to.
    ///
    /// An entity that other answers have made larger keeps the last answer's members.
    package static let entityMembersMax = normalizedValuesMax
    package static let entityBytesMax = viewBytesMax / 4
    /// Values compared to unite the lists of one entity with those of one answer: about a second.
    ///
    /// An answer may have the entity often. Lists after this many values replace the stored ones.
    package static let unitedValuesMax = 8 * mergedElementsMax
    /// Bytes of a template: an honest one has fewer than its answer.
    ///
    /// A member that is spelled differently from its entity's takes up to three times its text.
    package static func templateBytesMax(bodyBytes: Int) -> Int { 65_536 + 4 * bodyBytes }
    /// Work to rebuild an answer of this size: two seconds for the largest; a look at a member
    /// counts 64.
    ///
    /// A member has six bytes or more. Only entities that are shown again and again take more work.
    package static func rebuildWorkMax(bytesMax: Int) -> Int { 1 << 20 + 32 * bytesMax }
    /// Pointers to missing parts that a rebuilt answer names; its incompleteness shows anyway.
    package static let missingPointersMax = 1_000
    /// Bytes counted for a reference: its row, and its row in the index by source.
    package static let referenceOverheadBytes = 48
    /// Bytes of skeletons that one connection keeps; in memory they take a multiple of that.
    ///
    /// A skeleton with an eighth of it is read each time.
    package static let skeletonsKeptBytesMax = 2 << 20
    /// References that are followed to say which answers show what one step has changed, about 0.3 s
    /// in which nothing else is written; beyond it watchers find it out from the log, each for what
    /// it watches.
    package static let followedReferencesMax = 65_536
    /// The same for a page of the log when a watcher returns; beyond it the watcher has lagged.
    package static let followedOnReturnMax = 8 * followedReferencesMax
    /// Entities that a frame names of those by which an entry has changed.
    package static let toldChangedMax = 100
    /// Rows that are looked at to find out whether one that shows an entity is protected.
    package static let followedParentsMax = 1_000
    /// Entities that are remembered to be looked after, as something has ceased to refer to them;
    /// beyond that they go when they are the least recently used.
    package static let orphansMax = 65_536
    /// Bytes of ids in one row of a log, where a step has changed many entities.
    package static let loggedIDsBytesMax = 8_192
    /// Rules of one origin by type, and by path: a person writes them, and each object is compared
    /// with those whose URL fits.
    package static let typeRulesMax = 1_000
    package static let pathRulesMax = 1_000
    /// Members that may hold the type or the id: each object is searched for them in turn.
    package static let ruleNamesMax = 16
    /// A name in a rule: of a type, or of a member.
    package static let ruleNameBytesMax = 256
    /// Lists of one type that are not replaced as a whole.
    package static let listRulesMax = 64
    /// Tokens of a pointer in a rule.
    package static let rulePathTokensMax = 32
    /// Fields of a key, in all and within each other.
    package static let keyFieldsMax = 16
    package static let keyDepthMax = 8

    /// The request line and headers from a client; above it is 431 and a closed connection.
    package static let requestHeadBytesMax = 65_536
    /// Header fields in one request or answer.
    package static let headerFieldsMax = 256
    /// The JSON body of a command such as `POST /v1/fetch`.
    package static let commandBodyBytesMax = 1_048_576
    /// Unsent bytes of a connection above which its next requests wait: the socket's own buffer of
    /// 208 KiB keeps a client busy.
    package static let unsentBytesMax = 65_536
    /// How often a body that was replaced before it could be opened is looked up again.
    package static let replacedReadsMax = 16
    /// Memory of pipelined requests that are held parsed, for each connection; no more is read.
    package static let pipelinedBytesMax = 65_536
    /// Open connections of all clients; each costs about 10 KiB.
    package static let connectionsMax = 8_192
    /// Reads for clients at the same time, off the event loops.
    ///
    /// Each has a connection to both files; more would wait for the disk or a processor anyway.
    package static let clientReadersMax = 4
    /// Of these for one user: another user's read finds a free one.
    package static let clientReadersPerUserMax = clientReadersMax / 2
    /// Reads of one user that wait for one of these: one of each connection, and as many of clients
    /// that have gone since.
    package static let readsWaitingPerUserMax = 2 * connectionsPerUserMax
    /// Open connections of one uid, so that one user cannot shut the others out.
    package static let connectionsPerUserMax = 4_096
    /// A connection that has sent nothing for this long between requests is closed.
    package static let idleConnectionTime = Duration.seconds(600)
    /// A request whose bytes stop coming for this long is given up.
    package static let stalledRequestTime = Duration.seconds(30)
    /// How long any body may take however small it is, so that none trickles for ever.
    package static let bodyTimeBase = Duration.seconds(600)
    /// A body that comes at this rate may take as long as it needs: it is that of a slow line.
    package static let bodyBytesPerSecondMin = 1_024
    /// Bodies of requests that are still coming, of all clients and of one uid; each takes up to 1.2 MiB
    /// of memory, and one that came whole with its head is not counted.
    package static let uploadsMax = 256
    package static let uploadsPerUserMax = 64
    /// How long an upload's connection stays open after the answer: its client may read slowly.
    package static let uploadCloseTime = Duration.seconds(120)
    /// Bytes of bodies and answers that are in memory as a whole, of all clients and of one uid: four
    /// of a modifier's largest; those of up to ``inlineBodyBytesMax`` are not counted.
    package static let heldBytesMax = 256 << 20
    package static let heldBytesPerUserMax = 64 << 20
    /// Of so many reads of an entry one is timed for the statistics.
    package static let hitsPerSample = 16
    /// A client that reads less than a Unix socket holds for this long is given up.
    package static let stalledResponseTime = Duration.seconds(60)
    /// How long an event loop stays awake after a hit for the next one, which costs as much processor
    /// time: about as long as a processor that sleeps takes to be woken, and the client to ask again.
    package static let spinTimeMax = Duration.microseconds(40)
    /// How long no other client must have been answered before that.
    package static let spinQuietTime = Duration.milliseconds(5)
    /// How long running answers may take after SIGTERM; what is left of ``endTime`` is for the files.
    package static let drainTime = Duration.seconds(5)
    /// How long the first request of a new connection is waited for after SIGTERM.
    package static let firstRequestTime = Duration.seconds(1)
    /// How long the whole end may take after SIGTERM, also with a slow disk: an operator who shuts
    /// a machine down waits no longer.
    package static let endTime = Duration.seconds(10)

    /// Rows in one page of a list.
    package static let pageRowsMax = 1_000
    package static let pageRowsDefault = 100
    /// Ids that a dry run or an eviction names in its answer; the counts are exact above it too.
    package static let evictedIDsMax = 10_000
    /// Ids in one `POST /v1/evict`.
    package static let evictIDsMax = 10_000

    /// Names in each part of a report on where the bytes are; its totals are exact above it too.
    package static let usageGroupsMax = 1_000
    /// How long the daemon looks at its own files: a gigabyte or two, read once.
    ///
    /// Until it ends, the WAL grows with everything that is written.
    package static let checkTime = Duration.seconds(30)
    /// Findings of SQLite in one file after which the check stops.
    package static let checkFindingsMax = 100
    /// Memory for pages of a file while it is looked at, each of which is needed once.
    package static let checkCacheBytes: Int64 = 1 << 20
    /// No clock that is right says less: Larder is no older.
    package static let plausibleSince = Timestamp(milliseconds: 1_767_225_600_000)
    /// How far entries may lie in the future before the clock is suspected: clocks are corrected by
    /// seconds now and then.
    package static let clockSlack = Duration.seconds(60)

    /// Ids in one `POST /v1/entries/batch`.
    package static let batchIDsMax = 1_000
    /// Bytes of bodies that one batch brings inline: it is held in memory until the client has
    /// taken it, as it is read in one transaction, which must not wait for a client.
    package static let batchBytesMax = 16 << 20
    /// Batches in memory at the same time, so 256 MiB at most; one more is answered 503.
    package static let batchesMax = 16
    /// Of these for one user.
    package static let batchesPerUserMax = 8

    /// Streams of one user that watch; 500 are promised.
    package static let watchersPerUserMax = 1_000
    /// Ids and keys in one watch, and prefixes.
    package static let watchedIDsMax = 1_000
    package static let watchedPrefixesMax = 64
    /// Notices and bytes that wait for one slow watcher; above it the watcher is told that it
    /// lagged.
    ///
    /// A notice counts its texts and a fixed overhead.
    package static let watchNoticesMax = 1_024
    package static let watchBytesMax = 262_144
    package static let watchNoticeOverheadBytes = 128
    /// Bytes of ids remembered as changed while a watcher gets the list of entries.
    ///
    /// The watcher gets further changes once more from the log.
    package static let watchListedBytesMax = 65_536
    /// Notices in one write to a watcher.
    package static let watchBatchNotices = 64
    /// How often a watcher may ask to hear that its stream lives.
    package static let heartbeatTimes = Duration.seconds(1)...Duration.seconds(3_600)
    /// Fetches of one user that stay open to follow an entry.
    ///
    /// Each costs a connection and about as much memory again; 500 are promised.
    package static let followersPerUserMax = 1_000
    /// Divides the budget: the result is what a user's followed entries may keep from eviction.
    package static let followedShareDivisor: Int64 = 2
    /// How often a silent stream says that it lives: half a minute of silence counts as dead.
    package static let heartbeatTime = Duration.seconds(15)

    /// Headers of an origin's answer that are kept.
    package static let responseHeadBytesMax = 65_536
    /// Redirects followed for one request, as browsers' order of magnitude and far from a loop.
    package static let redirectsMax = 5
    /// How often an answer is requested again because a write was confirmed meanwhile: with one
    /// write after the other no answer would ever be new enough.
    package static let overtakesMax = 1
    /// How often a request is repeated whose connection was closed before anything was answered.
    ///
    /// Mostly that was one of the pool, idle for too long. Nothing above the upstream repeats it.
    package static let closedConnectionsMax = 1
    /// The pause before the next one, in which the pool hears which others are closed.
    package static let closedConnectionPause = Duration.milliseconds(50)
    /// Repetitions of a read after a connection failure, 502, 503 or 504.
    package static let retriesMax = 2
    /// The first pause of a retry; it doubles, and full jitter is drawn from it.
    package static let retryBase = Duration.milliseconds(200)
    /// The shortest pause of a retry: full jitter alone may ask again immediately.
    package static let retryMin = Duration.milliseconds(50)
    /// The longest pause of a retry that an origin can ask for by Retry-After.
    package static let retryAfterMax = Duration.seconds(10)
    /// How long an origin is left alone for an account that it told to wait: it may mean one URL.
    package static let originRetryAfterMax = Duration.seconds(300)
    /// Accounts remembered that an origin told to wait: clients name accounts as they like.
    package static let retryAfterAccountsMax = 1_024
    /// An origin that has said nothing for this long counts as offline; the request goes on.
    package static let silenceTime = Duration.seconds(10)
    /// How long a name that was looked up is not looked up again to be judged: a burst of requests
    /// asks once, and the connections' own lookups are as before.
    package static let lookupReuseTime = Duration.seconds(1)
    /// Time between two pieces of an origin's body.
    package static let upstreamReadTime = Duration.seconds(30)
    /// Connections to one host for reads of one user; the queued writes of all have as many.
    package static let upstreamConnectionsPerHostMax = 8
    /// Pools of connections, each for origins with the same connection settings; an unused one
    /// costs a few KiB.
    package static let upstreamClientsMax = 4_096
    /// An unused pooled connection is closed after this: servers close theirs after about a
    /// minute, and a request on a closed one is repeated.
    package static let upstreamIdleTime = Duration.seconds(45)
    /// Fetches in flight at the same time; one more is answered 503.
    package static let flightsMax = 1_024
    /// Of these for one user, so that one user cannot shut the others out.
    package static let flightsPerUserMax = 512
    /// The first pause before an origin that is down is probed; it doubles.
    package static let probePauseBase = Duration.seconds(1)
    /// The longest: a waiting client hears at most half a minute late.
    package static let probePauseMax = Duration.seconds(30)
    /// Origins that an operator may set offline; as many as there may be files of them.
    package static let offlineOriginsMax = 4_096
    /// Public hosts whose health a user's own daemon remembers.
    package static let implicitOriginsMax = 256
    /// Files in a folder of origins; reading them at start stays a matter of a second.
    package static let originFilesMax = 4_096
    /// Hosts in one origin's `redirect_hosts`: a person types them.
    package static let redirectHostsMax = 256
    /// A file of certificates or a key; the bundle of all roots of a system has about 220 KiB.
    package static let pemFileBytesMax = 1_048_576
    /// Headers that a client may give for one fetch.
    package static let requestHeadersMax = 64
    package static let requestHeaderBytesMax = 16_384

    /// Entries and the fixed cost of their rows: two B-tree cells, an index cell and the columns.
    package static let rowOverheadBytes = 256
    /// The fixed cost of a chunk's row.
    package static let chunkOverheadBytes = 64
    /// Rows that one transaction evicts on the way down: other writes pass between two.
    package static let evictionBatchRowsMax = 256
    /// Prepared statements that a connection keeps for the next time, a few KiB each.
    package static let idleStatementsMax = 128
    /// Commands that one transaction of the writer takes.
    package static let commitBatchMax = 512
    /// Commands that may wait for the writer; above it a write is refused as overloaded.
    package static let writerQueueMax = 16_384
    /// Uses remembered between two flushes, 24 bytes each; above it they are flushed immediately.
    package static let touchesMax = 65_536
    /// How long a connection waits for another's lock: a reader that is slow, or a checkpoint.
    package static let busyTime = Duration.seconds(5)
    /// The same when other commands wait for the writer.
    package static let busyTimeShort = Duration.milliseconds(50)
    /// Pages in the WAL from which on the writer checkpoints (4 KiB each).
    package static let walPagesMax = 4_000
    /// Pins of one user; their index in memory is about 100 bytes each.
    package static let pinsPerUserMax = 10_000
    /// The first rest of an origin that could not be asked for what pins wait for; it doubles.
    package static let pinRetryBase = Duration.seconds(1)
    /// The longest one.
    package static let pinRetryMax = Duration.seconds(30)
    /// The first pause before a modifier is sent again that was not applied; it doubles, and full
    /// jitter is drawn from it.
    package static let modifierRetryBase = Duration.seconds(1)
    /// The shortest of these pauses: full jitter alone may send it again immediately.
    package static let modifierRetryMin = Duration.milliseconds(500)
    /// The longest of these pauses.
    package static let modifierRetryMax = Duration.seconds(300)
    /// How long a client that cancels or retries a modifier waits for the commit: a disk that takes
    /// longer will not commit soon.
    package static let modifierStepTime = Duration.seconds(30)
    /// The longest pause that an origin can ask for by Retry-After.
    package static let modifierRetryAfterMax = Duration.seconds(3_600)
    /// Modifiers in flight to one origin at the same time: as many as it has connections.
    package static let modifiersInFlightMax = upstreamConnectionsPerHostMax
    /// Answers such as 500 after which a modifier that must not be repeated waits for a person.
    package static let serverFailuresMax: Int32 = 5
    /// Within this modifiers follow when their origin is back: not all devices' at one moment.
    package static let wakeTimeMax = Duration.seconds(1)
    /// A modifier's hold: time to undo; what waits longer is a draft of the program's own.
    package static let modifierHoldMax = Duration.seconds(86_400)
    /// The time in which a modifier may ask to be sent.
    package static let modifierLifetimeMax = Duration.seconds(366 * 86_400)
    /// Modifiers remembered that have just failed: more than are written between two steps.
    package static let lateFailuresMax = 4_096
    /// Rows that are given back to the cache with one checkpoint, and checkpoints for that in a round.
    package static let (releasedRowsMax, releasedPassesMax) = (1_024, 8)
    /// Of these rows those in one command; other commands wait until it ends.
    package static let releasedBatchRowsMax = 64
    /// Memory in which each reader of `state.db` keeps pages.
    package static let statePageCacheBytes: Int64 = 262_144
    /// How often a command is begun again whose condition, or what it has to copy first, has changed.
    package static let commandRoundsMax = 16
    /// How often a view is read again that a commit came between, at most: 100 µs after one another.
    package static let momentRoundsMax = 1_000
    /// How many of these times an event loop looks, without a pause.
    package static let yieldedRoundsMax = 8
    /// Rows of one file's log of changes: hours of a busy device, and read through in 50 ms at start.
    package static let changeLogRowsMax: Int64 = 65_536
    /// Bytes of these rows, for long ids.
    package static let changeLogBytesMax: Int64 = 16 << 20
    /// The oldest rows of a log that are deleted together.
    package static let changeLogBatchRows: Int64 = 256
    /// Changes read from a log together; more than a step has.
    package static let changePageRows = 1_000
    /// Changes of a target up to which the writer checks whether a step changes what it shows.
    ///
    /// All commands wait for that check. Above the limit, each step counts as a change.
    package static let comparedChangesMax = 32
    /// The same in bytes of base and effects, which are parsed: four inline bodies.
    package static let comparedBytesMax: Int64 = 262_144
    /// Bytes that a frame quotes of the answer to a modifier; the modifier's id gives all.
    package static let toldAnswerBytesMax = 2_048
    /// Released changes that wait to be told; above it watchers are told that they lagged.
    package static let changesReadyMax = 65_536
    /// Bytes of a client's name.
    package static let clientNameBytesMax = 64
    /// Revisions that one synced write of `state.db` reserves.
    package static let revisionBlock: Int64 = 65_536

    /// The reserve of each folder: some WALs of an eviction, or of a settled write.
    package static let reserveBytes: Int64 = 8 << 20
    /// Free space that must remain when a reserve is taken; else the reserve is needed immediately.
    package static let reserveSpareBytes: Int64 = 4 << 20
    /// With less than this left on the disk of `state.db` the next commit may find no room.
    package static let stateSpaceMin: Int64 = 1 << 20
    /// Steps of ``vacuumPagesMax`` pages in which one look makes room for the reserve.
    package static let reserveStepsMax = 16
    /// A `state.db` up to this is read through at start, which takes about 0.1 s.
    package static let checkedStateBytesMax: Int64 = 64 << 20
    /// How often `cache.db` is recreated within ``recreationTime``; then nothing is stored for a
    /// while, as the disk breaks what is written.
    package static let recreationsMax = 5
    package static let recreationTime = Duration.seconds(60)
    /// Sentences on damaged files that status repeats.
    package static let findingsMax = 8

    /// A configuration file: thousands of origins fit, and reading it cannot fill the memory.
    package static let configurationFileBytesMax = 1_048_576
    /// A Unix socket's path: `sun_path` has 108 bytes and ends with a zero (unix(7)).
    package static let socketPathBytesMax = 107
    /// Groups of a client that status tells; a process may be in 65,536.
    package static let toldGroupsMax = 256
    /// Findings that status tells: a screen, and an administrator is told of every user.
    package static let statusFindingsMax = 40
    /// Writes that one `queue retry` or `queue drop` works on: half a minute, at 3 ms each.
    package static let modifiersByHandMax = 10_000
    /// A group's name: what getgrnam(3) is asked for; useradd(8) makes them of 32 bytes at most.
    package static let groupNameBytesMax = 256
    /// The record of one group, with all its members, as getgrnam_r(3) reads it.
    package static let groupRecordBytesMax = 16 << 20
    /// Sizes in the configuration; sums and products of a few of them stay within 64 bits.
    package static let configuredBytes = ByteSize(bytes: 0)...ByteSize(bytes: 1 << 50)
    /// `cache.max_bytes`; at least one page of the database.
    package static let cacheBytes = ByteSize(bytes: 4_096)...ByteSize(bytes: 1 << 50)
    /// `timeout`, `connect_timeout` and `network_wait`; no client waits longer for an answer.
    package static let requestTimeMax = Duration.seconds(86_400)
    /// `ttl`: a hundred years, so that moments stay within the years of RFC 3339.
    package static let lifetimeMax = Duration.seconds(36_500 * 86_400)
    /// `queue.max_modifiers`; what is kept in memory of each fits a device up to here.
    package static let queueModifiers = 0...10_000_000
    /// `queue.history`; as many rows as a person or a script may still go through.
    package static let queueHistory = 0...1_000_000
    /// `accepted_limit`: long enough for a read to come first, and no longer than a person waits.
    package static let acceptedTime = Duration.seconds(1)...Duration.seconds(365 * 86_400)
    /// Rules of an origin's `refused_if`.
    package static let refusalRulesMax = 16
    /// `stalled_after`: one marks the first refusal, and the most is never reached.
    package static let stalledAnswers = 1...1_000_000

    /// A line of a stream, at the client: an inline body, and a problem's quoted one with every
    /// byte escaped, with room around them.
    package static let frameBytesMax = 4 << 20
    /// A report or a list from the daemon, at the client: the most ids that one names, all of them
    /// as long as ids may be.
    package static let reportBytesMax = 2 * evictedIDsMax * idBytesMax
    /// How long a client waits for a connection: a queue at the socket, never a network.
    package static let socketConnectTime = Duration.seconds(10)
    /// The first pause before a socket with a full backlog is tried again; it doubles.
    package static let socketRetryBase = Duration.milliseconds(10)
    /// How long a client waits for what the daemon answers from its own memory and files.
    package static let reportTime = Duration.seconds(60)
    /// The shortest pause before a client connects again whose stream broke; the longest doubles.
    package static let followRetryBase = Duration.milliseconds(100)
    /// The longest of these pauses: a daemon that is back is found within it.
    package static let followRetryMax = Duration.seconds(5)
    /// Connections of one client, each held by one stream; above it a request waits for a free one.
    ///
    /// Together they fit the backlog of a kernel whose `somaxconn` is 128.
    package static let clientConnectionsMax = 100
}
