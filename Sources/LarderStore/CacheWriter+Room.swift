import LarderModel

/// A full disk under `cache.db`: room is made with what the cache itself can give.
///
/// In this order: the copy that was set aside, the reserve, the WAL by a checkpoint, rows by
/// eviction. Where the disk says that it has room, a quota bounds the files: then the cache learns
/// from the failure how much it may hold. When not even that can be written, a large cache is made anew, as it is what fills the
/// disk. A small one stays and is read on: nothing is stored until there is room.
extension CacheWriter {
    /// Makes room after a failure for want of it; true when a command may succeed now.
    func makeRoom() -> Bool {
        let isCleared = database.removeAside()
        let isReleased = reserve.release()
        guard file != nil else { return false }
        if isReleased { setFloor() }
        let before = state.totals.evictions
        learnBudget()
        do throws(StoreError) {
            try giveBack(steps: Limits.reserveStepsMax)
            return isCleared || isReleased || state.totals.evictions > before
        } catch {
            guard isWorthRemoving else { return isCleared || isReleased }
            remake("the disk is full and nothing can be evicted", fate: .removed)
            return file != nil
        }
    }

    /// Takes the reserve again when there is room for it; else makes some.
    func regainReserve() {
        guard !reserve.take() else {
            roomFloorBytes = nil
            forgetBudget()
            return
        }
        guard file != nil else { return }
        if roomFloorBytes == nil { setFloor() }
        // What fails here is tried again with the next look.
        try? giveBack(steps: Limits.reserveStepsMax)
        if reserve.take() { roomFloorBytes = nil }
    }

    /// Cuts the WAL to nothing while the disk has less free than it should: what stands in it takes
    /// space twice, and no eviction would give that back.
    func shortenWAL() {
        guard let file, configuration.minFreeBytes.bytes > 0,
            let free = configuration.freeBytes(configuration.cacheDirectory),
            free < configuration.minFreeBytes.bytes
        else { return }
        file.connection.setBusyTime(Limits.busyTimeShort)
        defer { file.connection.setBusyTime(Limits.busyTime) }
        // What fails here is met again by whoever writes.
        _ = try? file.checkpoint(truncating: true)
    }

    /// The disk has refused to let a file grow, though it says that it has room.
    private func learnBudget() {
        let free = configuration.freeBytes(configuration.cacheDirectory) ?? 0
        let bytes = state.totals.bytes
        guard free > reserve.bytesNeeded, bytes > Limits.learnedBudgetMin else { return }
        let floor = pressureFloorBytes ?? max(bytes / 2, Limits.learnedBudgetMin)
        pressureFloorBytes = floor
        learnedBudget = max(floor, min(learnedBudget ?? .max, bytes / 16 * 15))
    }

    /// There is room again: the bound is tried a little higher each time.
    private func forgetBudget() {
        guard let learned = learnedBudget else { return }
        let next = learned + learned / 32 + Limits.reserveSpareBytes
        learnedBudget = next < configuration.maxBytes.bytes ? next : nil
        if learnedBudget == nil { pressureFloorBytes = nil }
    }

    /// A cache that holds less than the reserve needs gives nothing up for it, it only grows no
    /// more.
    private func setFloor() {
        let bytes = state.totals.bytes
        roomFloorBytes = bytes < reserve.bytesNeeded ? bytes : bytes / 4 * 3
    }

    /// Evicts what is above the budget, a batch at most, and gives pages back to the disk.
    private func giveBack(steps: Int) throws(StoreError) {
        // Who reads now is not waited for: the next look comes soon.
        file?.connection.setBusyTime(Limits.busyTimeShort)
        defer { file?.connection.setBusyTime(Limits.busyTime) }
        // What cannot be written into a file that may not grow is made smaller first.
        _ = try? file?.checkpoint(truncating: true)
        try transaction { writer throws(StoreError) in
            try writer.measureSpace()
            if writer.state.isShrinking { try writer.shrinkStep(now: writer.now()) }
        }
        for _ in 0..<steps {
            var gaveBack = false
            try transaction { writer throws(StoreError) in
                gaveBack = try writer.connection.vacuumStep()
            }
            _ = try? file?.checkpoint(truncating: true)
            guard gaveBack, !reserve.take() else { return }
        }
    }

    private func transaction(
        _ work: (CacheWriter) throws(StoreError) -> Void
    ) throws(StoreError) {
        defer { revisions.close() }
        do throws(StoreError) {
            try begin()
            try work(self)
            try commit()
        } catch {
            rollBack()
            throw error
        }
    }

    /// Whether the files hold so much that the reserve fits in their place.
    private var isWorthRemoving: Bool {
        reserve.bytesNeeded > 0 && database.bytes >= reserve.bytesNeeded
    }
}
