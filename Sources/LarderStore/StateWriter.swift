import LarderModel

/// The one connection that writes and checkpoints `state.db`, confined to the thread of its
/// ``StoreWriter``.
final class StateWriter {
    let connection: SQLiteConnection
    let statements: PreparedStatements<DurableStatement>
    var bodies: BodyTable { BodyTable(connection: connection, file: .state) }
    var references: ReferenceTable { reader.references }
    let hidden: HiddenTable
    let queue: PreparedStatements<QueueStatement>
    var limits: QueueLimits { shared.configuration.limits.queue }
    let wal: WriteAheadLog
    /// Whether the WAL may have a credential that is removed.
    private var hasSecretInWAL = true
    /// For a change of credentials; what it removes is in the WAL until ``removeSecretsFromWAL()``.
    var credentials: CredentialRows {
        hasSecretInWAL = true
        return CredentialRows(connection: connection)
    }
    let log: ChangeLog
    let reader: StateReader
    var shared: SharedCacheState { reader.shared }
    var index: ResidencyIndex { reader.shared.residency }
    var memory: StateWriterState
    private(set) var saved: StateWriterState
    /// The number of rows to be read, by user, since the oldest rows of the user were deleted.
    private var notedReads: [ScopeKey: Int] = [:]
    /// Whether a commit has failed of which the WAL may hold everything.
    private var isInDoubt = false

    init(_ connection: SQLiteConnection, _ shared: SharedCacheState) throws(StoreError) {
        self.connection = connection
        reader = try StateReader(connection, shared, isInTransaction: true)
        log = try ChangeLog(connection, hasModifiers: true)
        wal = WriteAheadLog(of: connection)
        statements = try PreparedStatements(connection)
        hidden = HiddenTable(connection, key: "claim")
        queue = try PreparedStatements(connection)
        memory = try StateWriterState(reading: connection)
        saved = memory
        publish()
    }

    /// Truncates the WAL if a removed credential may be in it; while a reader is in the way, the next
    /// call does.
    func removeSecretsFromWAL() throws(StoreError) {
        guard hasSecretInWAL else { return }
        connection.setBusyTime(Limits.busyTimeShort)
        defer { connection.setBusyTime(Limits.busyTime) }
        hasSecretInWAL = try !wal.checkpoint(truncating: true)
    }

    /// Counts a row to be read; true if the oldest of its user are to be left out now.
    func noteRead(of scope: ScopeKey) -> Bool {
        // A user whose count is gone is looked at with the next row.
        if notedReads.count > Limits.wantedReadsMax { notedReads = [:] }
        let count = (notedReads[scope] ?? Limits.wantedReadsSlack) + 1
        let isDue = count > Limits.wantedReadsSlack
        notedReads[scope] = isDue ? 1 : count
        return isDue
    }

    // MARK: Transactions

    func begin() throws(StoreError) {
        try settleDoubt()
        memory.pins.maxBytes = shared.configuration.pinsMaxBytes.bytes
        saved = memory
        try statements[.begin].run()
    }

    /// Makes a commit that overwrites a failed one in the WAL.
    ///
    /// If only the sync of the failed commit has failed, a crash would bring back what clients were
    /// told is not done. A frame with another frame in front of it has a wrong checksum
    /// (https://sqlite.org/fileformat2.html#walformat).
    func settleDoubt() throws(StoreError) {
        guard isInDoubt else { return }
        try connection.execute("UPDATE revision_block SET failed_commits = failed_commits + 1")
        isInDoubt = false
    }

    func commit(_ stamps: RowVersions) throws(StoreError) {
        // The start moves before the commit: a reader that lacks the trimmed changes then knows it.
        if memory.log.start != saved.log.start { shared.changes.setStart(.state, memory.log.start) }
        stamps.commitBegins(changing: memory.changedRows)
        do throws(StoreError) {
            try statements[.commit].run()
        } catch {
            isInDoubt = true
            throw error
        }
        publish()
        shared.watches.rowsChanged(memory.changedRows)
        shared.changes.changed(memory.log.changes)
        memory.log.changes.removeAll(keepingCapacity: true)
        memory.changedRows.removeAll(keepingCapacity: true)
        memory.entities.removeAll(keepingCapacity: true)
        if !memory.releasable.isEmpty {
            index.addReleasable(memory.releasable)
            memory.releasable.removeAll(keepingCapacity: true)
            shared.maintenanceTrigger.want()
        }
        guard memory.hasUpdates else { return }
        memory.hasUpdates = false
        index.pinsUpdated.tell(())
    }

    private func publish() {
        index.publish(memory.pins)
        var totals = memory.totals
        totals.bytes = memory.queue.total.bytes
        index.publish(totals)
    }

    func rollBack() {
        connection.rollBack()
        reader.references.forget()
        memory = saved
    }

    var rows: DurableRows { DurableRows(state: self) }
    var budget: StateBudget { StateBudget(state: self) }
    var pins: PinRows { PinRows(state: self) }
    var keepers: Keepers { Keepers(state: self) }
    var temporaries: TemporaryRows { TemporaryRows(connection: connection) }
    var seen: SeenRows { SeenRows(state: self) }
    var prefetches: PrefetchRows { PrefetchRows(state: self) }
    var modifiers: ModifierRows { ModifierRows(state: self) }
    var targets: TargetRows { TargetRows(state: self) }
    var views: ViewLog { ViewLog(state: self) }

    /// Notes that the view of an id has changed, so that its watchers hear of it.
    ///
    /// Call it with every such change.
    func noteChange(of name: TargetName) { memory.changedRows.append(RowKey(name.scope, name.id)) }

    /// Takes up the log of the opened file: each of its commits is synced, so none is lost.
    func openLog(last: Revision) {
        memory.log = log.read(isWhole: true, last: last)
        shared.changes.setStart(.state, memory.log.start)
    }

    // MARK: Bodies

    /// Begins a body for an id's row, or for a new row.
    ///
    /// The body of a pin counts while it arrives. The body of a target does not, because its base
    /// takes what the server says.
    func beginUpload(_ name: TargetName, as purpose: BodyPurpose) throws(StoreError) -> UploadID {
        let found = try rows.find(name)
        let isOfPin = StateBudget.hasToFit(found, as: purpose)
        let replaced = isOfPin ? found?.pinnedSize ?? 0 : nil
        let payer = name.scope.scope.uid ?? found?.payer
        return try bodies.begin(replacing: replaced, paidBy: payer, &memory.bodies)
    }

    func append(_ chunk: [UInt8], to upload: UploadID) throws(StoreError) {
        let progress = try memory.bodies.upload(upload)
        if let replaced = progress.replaced {
            let (pins, uid) = (memory.pins, progress.payer)
            let size = progress.size + BodyState.size(of: chunk)
            var exceedsShare = false
            if let uid {
                let own = memory.bodies.pinnedBytes(besides: upload) { other in
                    !other.exceedsShare && other.payer == uid
                }
                let sum = (pins.users[uid]?.bytes ?? 0) - replaced + own + size
                exceedsShare = sum > pins.part(of: uid, limits)
            }
            // Bodies above their users' shares share one room, or each user could fill the disk.
            let others = memory.bodies.pinnedBytes(besides: upload) { other in
                exceedsShare || !other.exceedsShare || other.payer == uid
            }
            guard pins.bytes - replaced + others + size <= pins.maxBytes else {
                throw .pinsFull(bytes: size, limit: pins.maxBytes)
            }
            memory.bodies.setExceedsShare(exceedsShare, upload)
        }
        try bodies.append(chunk, to: upload, &memory.bodies)
    }

    func forget(_ upload: UploadID) { memory.bodies.forget(upload) }

    static func nextRevision(_ connection: SQLiteConnection) throws(StoreError) -> Int64 {
        let sql = "SELECT next_rev FROM revision_block WHERE one = 1"
        guard let next = try connection.integer(sql), Limits.countedRevisions.contains(next)
        else { throw .corrupt(file: connection.path, step: sql) }
        return next
    }

    /// From now on every number below `end` counts as given.
    func reserveRevisions(upTo end: Int64) throws(StoreError) {
        try connection.execute("UPDATE revision_block SET next_rev = \(end) WHERE one = 1")
    }

    /// Treats durable rows that a clock ahead of time has stored as if they were stored now.
    func clampMoments(now: Timestamp) throws(StoreError) {
        let limit = now.advanced(by: Limits.clockTolerance).milliseconds
        try connection.execute(
            """
            UPDATE claim SET fresh_until = fresh_until - stored_at + \(now.milliseconds),
                stored_at = \(now.milliseconds)
            WHERE stored_at > \(limit)
            """
        )
    }

    func shiftMoments(by step: Duration, now: Timestamp) throws(StoreError) {
        let step = step.milliseconds
        try connection.execute(
            """
            UPDATE modifier SET accepted_at = accepted_at + \(step),
                hold_until = hold_until + \(step), expires_at = expires_at + \(step),
                next_attempt_at = next_attempt_at + \(step), answer_at = answer_at + \(step)
            WHERE settled_at IS NULL AND accepted_at + \(step) <= \(now.milliseconds);
            UPDATE prefetch SET made_at = made_at + \(step), expires_at = expires_at + \(step),
                queried_at = queried_at + \(step)
            WHERE made_at + \(step) <= \(now.milliseconds)
            """
        )
    }

    /// Moves the ends of `hold` and `expires` over time that does not count.
    ///
    /// That is the time since a moment, or since the acceptance of modifiers after `last`.
    /// The moment of acceptance moves with them, because the duration is the difference.
    func shiftDeadlines(
        since moment: Timestamp,
        upTo last: ModifierNumber,
        now: Timestamp
    ) throws(StoreError) {
        let start = "iif(number <= \(last), \(moment.milliseconds), accepted_at)"
        let step = "max(0, \(now.milliseconds) - \(start))"
        try connection.execute(
            """
            UPDATE modifier SET accepted_at = accepted_at + \(step),
                hold_until = hold_until + \(step), expires_at = expires_at + \(step)
            WHERE settled_at IS NULL AND (expires_at IS NOT NULL OR state = 'held')
            """
        )
    }
}

struct StateWriterState {
    var log = ChangeLogState()
    var pins = PinTotals()
    var queue: QueueUsage
    /// Counts of the queue for reports, without its bytes and its bounds.
    var totals = QueueTotals()
    var bodies: BodyState
    /// The last row of the history whose answer was forgotten, by the first of the scopes that were
    /// looked at: answers are forgotten in the order of the rows.
    var forgottenAnswers: [String: Int64] = [:]
    /// The ids that the open transaction has changed, for those who watch them.
    var changedRows: [RowKey] = []
    /// Rows that the open transaction has made, and that the cache may have something for.
    var unfilled: [TargetName] = []
    /// Rows that the open transaction may have left with nothing that keeps them.
    var releasable: [TargetName] = []
    /// Changes of entities' views in the open transaction.
    var entities: [EntityUpdates] = []
    /// Whether the open transaction has filled a pin, or made it want its bytes again.
    var hasUpdates = false

    init(reading connection: SQLiteConnection) throws(StoreError) {
        let unlinked = try connection.prepare("SELECT body FROM body WHERE linked = 0")
        bodies = BodyState(
            unlinked: try unlinked.all { $0.integer(.only) }.filter(Limits.bodies.contains)
        )
        queue = try QueueUsage(reading: connection)
        let states = try connection.prepare(
            "SELECT scope, state, count(*) AS count FROM modifier GROUP BY scope, state"
        )
        while try states.step() {
            let known = states.text("state").flatMap(ModifierState.init(rawValue:))
            count(states.integer("count"), in: known ?? .failed, of: states.text("scope") ?? "")
        }
        totals.stalled =
            try connection.integer(
                "SELECT count(*) FROM modifier WHERE settled_at IS NULL AND stalled <> 0"
            ) ?? 0
        pins.sets = try connection.integer("SELECT count(*) FROM prefetch") ?? 0
        let isLeft = "SELECT EXISTS (SELECT 1 FROM claim WHERE prefetched = 1)"
        let left = try connection.integer(isLeft)
        pins.hadSets = pins.sets > 0 || left == 1
        let waiting = PinState.waiting.rawValue
        let failures = PinState.failures.map { String($0.rawValue) }.joined(separator: ", ")
        let users = try connection.prepare(
            """
            SELECT scope, sum(pinned_at IS NOT NULL AND payer IS NULL) AS count,
                coalesce(sum(\(SQLiteStatement.countedSize)), 0) AS bytes, payer,
                coalesce(sum(pinned_at IS NOT NULL AND state = \(waiting)), 0) AS waiting,
                coalesce(sum(pinned_at IS NOT NULL AND state IN (\(failures))), 0) AS failed
            FROM claim WHERE pinned_at IS NOT NULL OR in_pins = 1 GROUP BY scope, payer
            """
        )
        while try users.step() {
            pins.count += users.integer("count")
            pins.bytes += users.integer("bytes")
            pins.waiting += users.integer("waiting")
            if let uid = users.scope("scope")?.uid, users.isTrue("failed") {
                pins.failed[uid, default: 0] += users.integer("failed")
            }
            guard let uid = users.payer else { continue }
            pins.users[uid, default: PinTotals.User()].count += users.integer("count")
            pins.users[uid, default: PinTotals.User()].bytes += users.integer("bytes")
        }
    }

    mutating func count(_ number: Int64, in modifierState: ModifierState, of scope: String) {
        let sum = (totals.byState[modifierState] ?? 0) + number
        totals.byState[modifierState] = sum == 0 ? nil : sum
        guard ModifierState.waitingForPerson.contains(modifierState),
            let uid = Scope(text: scope)?.uid
        else { return }
        var counts = totals.waitingForPerson[uid] ?? [:]
        let own = (counts[modifierState] ?? 0) + number
        counts[modifierState] = own == 0 ? nil : own
        totals.waitingForPerson[uid] = counts.isEmpty ? nil : counts
    }
}
