/// Ranges of values in a file's rows: a disk can hold any number, and one outside is damage.
extension Limits {
    /// Paused lanes of a user, in all accounts.
    package static let pausedLanesMax = 1_000
    /// Credentials of a user, in all accounts at all origins.
    package static let credentialsPerUserMax = 1_000
    /// The value of a credential: it is one header field, and the largest tokens have a few KiB.
    package static let credentialBytesMax = 16_384
    /// The name of a credential's header field.
    package static let credentialHeaderBytesMax = 128
    /// Refusals of a credential in a row after which none of its account's writes is sent.
    package static let credentialRefusalsMax = 3
    /// Temporary ids that one modifier names: as many as it may have targets.
    package static let temporaryIDsMax = 100
    /// Names of one user that lead to real ids, about 300 bytes of memory each; the least recently
    /// used ones go first.
    package static let aliasesPerUserMax = 10_000
    /// Time after its last use in which such a name still leads to the real id.
    package static let aliasLifetime = Duration.seconds(90 * 86_400)
    /// Uses of a name are written this often at most.
    package static let aliasUseTime = Duration.seconds(86_400)
    /// Users of a credential in the configuration.
    package static let credentialUsersMax = 1_000
    /// Time between two looks into the files of configured credentials.
    package static let credentialFileTime = Duration.seconds(5)
    /// Accounts of a user without a credential of which a refusal is remembered.
    package static let refusedAccountsPerUserMax = 1_000
    /// Commands to log in that one finding names: more would hide the rest of its advice.
    package static let toldLoginsMax = 3
    /// Time before the end of a credential at which a client is asked for another one.
    package static let renewalLeadTime = Duration.seconds(60)
    /// Time in which a client that was asked renews a credential.
    package static let renewalLeaseTime = Duration.seconds(30)
    /// Pause after an order to renew: a renewal that does not help is not repeated all the time.
    package static let renewalPauseBase = Duration.seconds(1)
    package static let renewalPauseMax = Duration.seconds(300)
    /// Orders in a short time after which there is one in a minute: a program may give each
    /// credential a short life, or none that its server takes.
    package static let renewalRunMax = 7
    package static let renewalRunTime = Duration.seconds(60)
    /// Clients of a user that wait for an order to renew.
    package static let renewersPerUserMax = 100
    /// The longest wait for a moment of the wall clock, which may be set.
    package static let renewalLookTime = Duration.seconds(600)

    /// Part of the queue and of the pins that one user alone may have.
    package static let aloneShare = 0.9
    /// Revisions that a file may name: whole in every JSON reader's numbers, and far from the end of
    /// ours; a file that says otherwise is damaged.
    package static let revisions: ClosedRange<Int64> = 0...(1 << 53)
    /// Values of the counter in `state.db` at start: the rest, up to the limit for rows, is left
    /// for later revisions.
    package static let countedRevisions: ClosedRange<Int64> = 0...(1 << 50)
    /// Revisions that one row may say.
    package static let rowRevisions: ClosedRange<Int64> = 0...(1 << 51)
    /// Revisions up to which the counter trusts a row, or the cache.
    package static let claimedRevisions: ClosedRange<Int64> = 0...(1 << 49)
    /// Revisions that are left out where the counter is lost: more than a daemon gives in years.
    package static let skippedRevisions: Int64 = 1 << 32
    /// Numbers of rows that `state.db` may name, whole in JSON too.
    package static let rowNumbers: ClosedRange<Int64> = 1...(1 << 52)
    /// Numbers found at start, also of bodies: a quarter is left for later ones.
    package static let foundNumbers: ClosedRange<Int64> = 1...(3 << 50)
    package static let foundBodies: ClosedRange<Int64> = 0...(3 << 40)
    /// Numbers of bodies: together with a chunk's position they stay within 64 bits.
    package static let bodies: ClosedRange<Int64> = 0...(1 << 42)
    /// Numbers of uses that a file may name; the rest is left for those to come.
    package static let uses: ClosedRange<Int64> = 0...(1 << 61)
    /// Sums that a file may name, of bytes and of rows: those of the largest cache.
    package static let accountedBytes: ClosedRange<Int64> = 0...(1 << 51)
    /// Moments of the queue that a row may name, in ms: up to 2248, as timers count nanoseconds.
    package static let rowMoments: ClosedRange<Int64> = -(1 << 43)...(1 << 43)
    /// Counts in a row: attempts, rounds, changes.
    package static let rowCounts: ClosedRange<Int64> = 0...(1 << 31)
    /// Statuses of answers: three digits.
    package static let rowStatuses: ClosedRange<Int64> = 0...999
    /// Bytes that one row may count: the largest body with its chunks and everything else.
    package static let rowBytes: ClosedRange<Int64> = 0...(1 << 38)

    /// Bytes counted for hiding a shared row from one user: a B-tree cell with the scope's text.
    package static let hiddenMarkBytes: Int64 = 64
    /// Of a body that one command of the writer copies from one file into the other; a larger one is
    /// copied before, a chunk a command.
    package static let copiedAtOnceBytesMax = 4 << 20

    /// Rounds that an answer such as 412 can lead to: another device that writes all the time would
    /// keep one going forever.
    package static let conflictRoundsMax = 3
    /// Targets of a conflict that a frame names with their values.
    package static let toldConflictsMax = 4
    /// Waiting changes of a target beneath a new one up to which the writer notes what that one sees.
    ///
    /// All commands wait for that. Above the limit, or above the same bytes, it is sent without a
    /// comparison.
    package static let seenChangesMax = 256
    /// Bytes of the places that a merge touches: four times a command, in which a name at the top
    /// may be part of each place.
    package static let touchedBytesMax = 4 << 20
    /// Modifiers that are joined to one request: the writer reads them all in the send step.
    package static let joinedModifiersMax = 100
    /// Bytes of a joined body, and of each body in it; all commands wait while the writer joins them.
    package static let joinedBodyBytesMax = 256 << 10
    /// Connections of one user to one host for what is passed on, such as streams without an end.
    package static let upstreamConnectionsPerUserMax = 64
}

/// Bounds that follow from how many files the process may have open (RLIMIT_NOFILE).
extension Limits {
    /// Files that are no client's connection, at least: databases, their readers, origins.
    package static let ownFilesMin = 64

    /// Clients' connections where so many files may be open: a quarter of them is left for origins
    /// and the daemon's own.
    package static func connectionsMax(files: Int) -> Int {
        min(connectionsMax, max(1, files - max(ownFilesMin, files / 4)))
    }

    /// Connections of one user among them, so that others are served too.
    package static func connectionsPerUserMax(files: Int) -> Int {
        min(connectionsPerUserMax, max(1, connectionsMax(files: files) * 3 / 4))
    }

    /// Connections that are refused in one turn while no file can be opened.
    package static let refusedConnectionsMax = 256
    /// Pause after which clients are taken again, if not even a refusal could be sent.
    package static let acceptPause = Duration.milliseconds(100)
    /// Time between two lines of the log that say so.
    package static let shortageNoticeTime = Duration.seconds(60)
    /// Time between two looks whether the socket's file is still there.
    package static let socketCheckTime = Duration.seconds(5)
}

extension Limits {
    /// Entities that the effects of one modifier put into documents: each is a target, too.
    ///
    /// A larger write is that of a whole page; its other objects are shown as they were written.
    package static let placedEntitiesMax = 200
    /// Bytes of what the objects say of such entities: four times a command.
    ///
    /// An object within others is in what each of them says, and one that comes often is merged
    /// again each time.
    package static let placedBytesMax = 4 << 20
    /// Elements of a list that say which members its objects have.
    package static let neighboursMax = 100
    /// Rows of an answer that are named with the writes that wait or failed on them.
    package static let markedRowsMax = 1_000
    /// Writes of one row that are named.
    package static let rowWritesMax = 100
    /// A header's value that the id of a variant shows; of a longer one, such as the state of a page
    /// in a framework, the id has a digest.
    package static let variantValueBytesMax = 1_024
    /// The body of a read: it is kept in the row of the answer, to be sent again, and copied with each
    /// read of the row.
    ///
    /// Frameworks of servers take 100 KiB unless they are told otherwise. A copy takes about 20 µs.
    package static let readBodyBytesMax = 131_072
    /// The media type of the body of a read.
    package static let readTypeBytesMax = 1_024
    /// Paths of an origin's `post_reads`, and names of its `vary`.
    package static let postReadsMax = 100
    package static let readPathBytesMax = 1_024
    package static let varyNamesMax = 16

    /// Forms of an origin's `empty`.
    package static let emptyFormsMax = 100
    /// A form of `empty`: the frame of a list without its rows.
    package static let emptyFormBytesMax = 16 << 10
}

/// Bounds of what is done now and then, for the files.
extension Limits {
    /// A cache of less does not shrink for a quota: it is not what fills the disk.
    package static let learnedBudgetMin: Int64 = 8 << 20
    /// Rows that must stay and are looked at again for each row that is evicted: they take about 5 µs,
    /// and a row that may go again is spared for a sixteenth of their number.
    package static let passedRowsPerEviction: Int64 = 16
    /// How far in the future a stored moment may be before the clock counts as corrected.
    package static let clockTolerance = Duration.seconds(300)
    /// Rows, of those that were used last, that are looked at for such moments in each round.
    package static let clockRowsMax = 256
    /// The least step of the wall clock that moves the deadlines of writes.
    ///
    /// Without a step the wall clock and the boot clock run at the same rate.
    package static let clockStepMin = Duration.seconds(1)
    /// The start that salvages a `state.db` which the disk cannot read; the starts before it end.
    ///
    /// With a restart every 5 s, a cable or a controller has a minute to come back.
    package static let unreadableStartsMax = 12
    /// Age at which the copy of `state.db` is renewed: a lost disk costs a day's work, as with a
    /// nightly backup.
    package static let snapshotAge = Duration.seconds(86_400)
    /// Time between two tries to take it, as a full disk stays full for a while.
    package static let snapshotRetryTime = Duration.seconds(3_600)
    /// Time from the first use that is not written down, or the first change, to the next round of
    /// maintenance: a crash forgets the order of this long.
    package static let touchFlushTime = Duration.seconds(5)
    /// Time between two rounds while nothing is used or changed: others may fill the disk meanwhile, or
    /// take a file away.
    package static let quietTime = Duration.seconds(90)
    /// Lines of the log about one event of a failing store in ``noticeTime``: enough to see several
    /// reasons.
    package static let noticesMax = 5
    package static let noticeTime = Duration.seconds(60)
    /// Free pages that one step of an idle moment gives back to the file system.
    package static let vacuumPagesMax = 256
    /// A file is not rebuilt for less than this, beyond twice its content.
    package static let rebuildBytesMin: Int64 = 16 << 20
    /// Time between two tries to rebuild a file: each one reads all of it.
    package static let rebuildRetryTime = Duration.seconds(3_600)
    /// How often a purge evicts what the removed writes have released, and how often it reads a page of
    /// writes of which it can remove none.
    package static let purgeRoundsMax = 8

    /// Rows of a user that are to be read after their writes: more are left to the next client.
    package static let wantedReadsMax = 1_000
    /// Rows of a user that the file may have beyond that number.
    package static let wantedReadsSlack = 100
    /// Reads after writes in flight, and those of one user: a long queue must not use up all
    /// requests.
    package static let wantedReadsInFlightMax = 8
    package static let wantedReadsPerUserMax = 4
    /// How long such a read waits for further writes of its row: one request then reads them all.
    package static let wantedReadDelay = Duration.seconds(10)
    /// Writes of which such a read finds out whether they follow soon.
    package static let followingWritesMax = 100
}

/// Bounds of what is kept and told of modifiers.
extension Limits {
    /// Effects of one change.
    package static let effectsMax = 100
    /// Names in an origin's `keep_headers`.
    package static let keptHeadersMax = 16
    /// Header fields that are kept of an answer to a modifier, with their names.
    package static let keptHeaderBytesMax = 8_192
    /// Bodies and effects in one page of modifiers; the next page has the rest.
    package static let modifierPageBytesMax = 4 << 20
}

/// Bounds of connections to origins and of what comes over them.
extension Limits {
    /// How long a request's or an answer's body may take of which so many bytes have come.
    package static func bodyTime(byteCount: Int) -> Duration {
        bodyTimeBase + .seconds(byteCount / bodyBytesPerSecondMin)
    }

    /// Time after which a request begins a lookup of its own instead of joining one that hangs.
    package static let lookupJoinTime = Duration.seconds(5)
    /// Time for which an origin counts as captive for pages after a portal was seen.
    package static let captiveTime = Duration.seconds(600)
    /// Time for which a reused connection may say nothing before the request goes to a new one.
    ///
    /// It is a third of the request's time, and not more than this. So a dead connection costs no
    /// more, and an origin that is slower than this is asked twice at most.
    package static let reusedSilenceMax = Duration.seconds(3)
    /// Body up to which that is done: the kernel accepts this much immediately, so that silence is
    /// the origin's.
    package static let reusedBodyBytesMax = 16 * 1_024
    /// Idle time up to which a connection is reused for a request that must not be sent twice.
    package static let reusedIdleMax = Duration.milliseconds(500)
    /// TCP keepalive of connections to origins: a peer that is gone is found within half a minute.
    package static let keepaliveIdleSeconds = 15
    package static let keepaliveIntervalSeconds = 5
    package static let keepaliveProbesMax = 3
    /// Bytes of a request's body for each second of extra time: a slow line with eight uploads.
    ///
    /// The largest body of a queued write gets 17 minutes. A dead connection ends long before that.
    package static let sentBytesPerSecondMin = 16 * 1_024
    /// Time after which bytes that the peer does not acknowledge end a connection.
    package static let unacknowledgedMilliseconds = 20_000
    /// Bytes that a coded body is decoded to at a time.
    package static let decodedPieceBytes = 64 * 1_024
    /// Bytes from which on a coded body may not expand more than ``decodedRatioMax`` times.
    package static let decodedFreeBytes = 1_024 * 1_024
    /// Real documents reach a tenth of it; gzip's highest is about 1,030.
    package static let decodedRatioMax = 1_000
    /// Logarithm of the largest window of zstd, 8 MiB, the most that HTTP allows (RFC 9659).
    package static let zstdWindowLogMax = 23
}

/// Bounds of polls: requests for rows that a follower or a pin has refreshed.
extension Limits {
    /// The longest interval of `refresh`: a row that is asked less often needs no poller.
    package static let refreshTimeMax = Duration.seconds(30 * 86_400)
    /// `fetch.min_refresh`: an origin is asked for one row at most once a second.
    package static let minRefreshTimes = Duration.seconds(1)...refreshTimeMax
    /// Rows of one user that are polled, about 1 KiB of memory each; as many as a user's followers.
    package static let polledRowsPerUserMax = followersPerUserMax
    /// Polls in flight to one origin at the same time.
    package static let pollsPerOriginMax = 2
    /// Polls of one user in flight at the same time, at any origins: slow origins of one user take
    /// few of the flights of all users.
    package static let pollsPerUserMax = 16
    /// Requests of a user in flight to an origin from which on no poll of theirs leaves: the
    /// connections that are left are for clients.
    package static let requestsBesidePollsMax = upstreamConnectionsPerHostMax - pollsPerOriginMax
    /// All flights from which on no poll leaves: the other half is for clients.
    package static let flightsBesidePollsMax = flightsMax / 2
    /// The part of an interval by which a poll may be later, so that many devices do not poll an
    /// origin at the same moment.
    package static let refreshJitter = 0.1
    /// The longest wait after errors, for an interval that is not longer itself.
    package static let refreshRetryMax = Duration.seconds(3_600)
    /// The longest time over which the polls after an outage or a suspend are spread.
    package static let refreshSpreadMax = Duration.seconds(60)
    /// Time between two looks at the clocks while rows are polled: a suspend is noticed within it.
    package static let suspendLookTime = Duration.seconds(10)
    /// The least difference of the two clocks that counts as a suspend; a clock that is set slowly
    /// makes smaller ones.
    package static let suspendTimeMin = Duration.seconds(2)
}

/// Bounds of sets of entries that are fetched in advance.
extension Limits {
    package static let prefetchItemsMax = 10_000
    /// The JSON body of a set: 400 bytes for each of its entries.
    package static let prefetchCommandBytesMax = 4_194_304
    package static let prefetchSetsPerUserMax = 100
    /// Entries of all sets of one user; one that is in several sets counts in each.
    package static let prefetchItemsPerUserMax = 20_000
    /// JSON of all sets of one user in `state.db`, which counts in no other budget: twice what
    /// ``prefetchItemsPerUserMax`` entries of 400 bytes take.
    package static let prefetchListBytesPerUserMax: Int64 = 16 << 20
    /// Entities that a query selects without a `limit`.
    package static let prefetchEntities = 100
    /// Time after which a set expires.
    package static let prefetchTimes = Duration.seconds(60)...Duration.seconds(366 * 86_400)
    /// HEAD requests for the sizes of one set that are under way at the same time.
    package static let prefetchHeadsMax = 4
    package static let prefetchHeadTime = Duration.seconds(5)
    /// Time for the sizes of one set together; the rest of them are estimated.
    package static let prefetchSizingTime = Duration.seconds(60)
    /// Length of a body that is taken from a HEAD, so that the sum of a set never overflows.
    package static let prefetchSizeBytesMax: Int64 = 1 << 40
    /// The least time between two looks at the state of the sets, each of which reads their items.
    package static let prefetchLookTime = Duration.milliseconds(500)
    /// The longest time between two looks: entries of a set may have been evicted by their ids.
    package static let prefetchRestTime = Duration.seconds(60)
    /// Waiting pins of one user and origin up to which they are asked for one after the other.
    ///
    /// Up to as many waiting pins of all, each fetch has the rest looked up.
    package static let pinsLookedUpAtOnce = 16
    /// Pins of one user and origin that are asked for until the next look at all of them.
    package static let pinsAskedInTurnMax = 64
    /// Failures in a row after which no more pins of one user are asked for at the origin.
    package static let pinFailuresInRowMax = 8
    /// Pins of a longer list that are fetched at the same time from one origin for one user.
    package static let pinsFetchedAtOnce = 4
    /// Rows that one step pins or unpins for sets, so that other commands go between.
    package static let prefetchStepRowsMax = 50
}
