import LarderModel

/// Opens the file of the writer, checks it, and replaces it when it is lost.
///
/// The daemon goes on without `cache.db` (P-07), or with a new file if one can be created. Readers
/// compare the generation when they begin a transaction.
extension CacheWriter {
    /// Goes on with an opened file; `isWhole` says whether no change is missing in its log.
    func adopt(_ opening: CacheOpening, isWhole: Bool = false) throws(StoreError) {
        let contents = opening.contents
        resetState(contents)
        shared.clock.advance(to: contents.highestTick)
        shared.noteBody(contents.highestBody)
        file = opening.file
        if contents.hasHiddenRows { shared.noteHiddenRow() }
        if let finding = opening.finding { findings.add(finding) }
        log.open(opening, isWhole: isWhole)
        do throws(StoreError) { try room.measureSpace() } catch {
            close(because: error)
            throw error
        }
        shared.fileOpened(state.totals)
    }

    func goWithout(_ error: StoreError) {
        shared.absence = error
        shared.changes.setStart(.cache, revisions.last)
        let finding = "\(database.path) cannot be used, nothing is stored: \(error.message)"
        findings.tell(finding, statement: error.statement)
    }

    // MARK: Looking after it

    func look() {
        guard let file else { return tryAgain() }
        switch file.probe() {
        case .untouched: break
        case .deleted: remake("\(database.path) was deleted", oldFile: .allowed)
        case .lost(let what): remake("\(database.path): \(what) while it was in use")
        case .written:
            if file.isSound() {
                file.accept()
            } else {
                remake("\(database.path): it was damaged while it was in use")
            }
        }
    }

    func readerFailed(_ error: StoreError, _ generation: Generation) {
        guard shared.generation == generation else { return }
        if error.meansDamage(of: database) { remake(error) } else { look() }
    }

    /// Writes the WAL back; true when everything that was committed is on the disk then.
    @discardableResult func checkpoint(truncating: Bool) throws(StoreError) -> Bool {
        // The checkpoint changes the file, so the writer looks for another process's changes first.
        look()
        return try file?.checkpoint(truncating: truncating) ?? false
    }

    var wantsCheckpoint: Bool { file?.wal.wantsCheckpoint ?? false }

    func countTakenKey() {
        state.totals.keysTaken += 1
        shared.publish(state.totals)
    }

    /// True when the file is another one now, so that a command may succeed in it.
    func recover(from error: StoreError) -> Bool {
        let before = shared.generation
        var isOther: Bool { shared.generation != before && shared.generation.hasFile }
        if case .noRoom = error {
            if let wrong = wrongTotals() {
                remake(wrong)
                return isOther
            }
            state.totals.isFull = true
            // The next put looks at all rows anyway: once is enough.
            state.positions = [:]
            shared.publish(state.totals)
        }
        // An error of `state.db` says nothing about this file.
        guard before.hasFile, error.file == nil || error.file == database.path else { return false }
        if error.meansDamage(of: database) {
            remake(error)
        } else if case .diskFull = error {
            return room.makeRoom()
        } else if case .sqlite = error {
            look()
        }
        return isOther
    }

    private func wrongTotals() -> StoreError? {
        guard let file, shared.wantsTotalsChecked() else { return nil }
        do throws(StoreError) {
            try CacheContents.checkTotals(file.connection)
            return nil
        } catch {
            return error
        }
    }

    /// Whether there is no file, also not one that cannot be used now: nothing of it comes back.
    var isGone: Bool { file == nil && database.isDeleted }

    // MARK: Replacing the file

    enum OldFile {
        case quarantine
        case removed
        case allowed
    }

    func remake(_ error: StoreError) { remake(error.message, statement: error.statement) }

    func remake(_ reason: String, oldFile: OldFile = .quarantine, statement: String? = nil) {
        close(because: .noFile(reason: reason))
        let now = shared.now()
        guard recreations.allows(at: now) else {
            let reason = "\(reason); it was recreated too often, so the next attempt waits"
            return goWithout(.noFile(reason: reason))
        }
        recreations.recreated(at: now)
        do throws(StoreError) {
            try folder?.ensure()
            if oldFile == .quarantine { try database.quarantine() } else { try database.remove() }
            try adopt(try makeOpening())
            switch oldFile {
            case .quarantine:
                let finding = "\(reason): it was set aside as \(database.path).aside and recreated"
                findings.add(finding, statement: statement)
            case .removed: findings.add("\(reason): it was removed and recreated")
            case .allowed: findings.tell("\(reason) and is recreated, empty", isWarning: false)
            }
        } catch {
            goWithout(error)
        }
    }

    /// Keys, revisions and numbers of bodies mean the same in a new file as in the old one.
    private func makeOpening() throws(StoreError) -> CacheOpening {
        let revision = max(revisions.last, state.highestRevision)
        let (seed, body) = (shared.keySeed, shared.highestBody)
        return try CacheOpening(configuration, keySeed: seed, revision: revision, body: body)
    }

    private func tryAgain() {
        guard recreations.allows(at: shared.now()) else { return }
        do throws(StoreError) {
            try folder?.ensure()
            reserve.take()
            var opening = try makeOpening()
            if opening.contents.keySeed != shared.keySeed {
                // Made by another process, with keys of its own.
                opening.file.abandon()
                try database.quarantine()
                opening = try makeOpening()
            }
            try adopt(opening)
            let finding = "\(database.path) is there again, and new entries are stored"
            findings.tell(finding, isWarning: false)
        } catch {
            shared.absence = error
        }
    }

    private func close(because error: StoreError) {
        shared.absence = error
        guard let file else { return }
        file.abandon()
        self.file = nil
        let highest = state.highestRevision
        resetState(nil)
        state.highestRevision = highest
        if shared.generation.hasFile { shared.fileLost(state.totals) }
    }

    private func resetState(_ contents: CacheContents?) {
        let evictions = state.totals.evictions
        state = CacheWriterState(contents, budget: configuration.maxBytes.bytes)
        state.totals.evictions = evictions
    }
}

/// Limits how often `cache.db` is recreated.
///
/// If it breaks again and again, the file is not the cause.
struct RecreationLimit {
    private var moments: [Timestamp] = []

    func allows(at now: Timestamp) -> Bool { recent(at: now).count < Limits.recreationsMax }

    mutating func recreated(at now: Timestamp) { moments = recent(at: now) + [now] }

    /// A moment in the future is one before the clock was set back.
    private func recent(at now: Timestamp) -> [Timestamp] {
        moments.filter { $0 <= now && now.since($0) < Limits.recreationTime }
    }
}
