import LarderModel

/// Sets the size limit of `cache.db`, and makes room on a full disk with the cache's own files.
///
/// It gives up, in this order: the copy that was set aside, the reserve, the WAL by a checkpoint,
/// rows by eviction. If the disk says that it has room, a quota bounds the files. The cache then
/// learns from the failure how much it may hold.
///
/// If not even that can be written, an empty file replaces a large cache, which fills the disk. A
/// small cache stays and readers go on using it: nothing is stored until there is room.
struct CacheRoom {
    let cache: CacheWriter
    private var configuration: StoreConfiguration { cache.configuration }
    private var reserve: Reserve { cache.reserve }
    private var bytes: Int64 { cache.state.totals.bytes }
    private var freeBytes: Int64? { configuration.freeBytes(configuration.cacheDirectory) }

    /// Limits that failures have taught; a rollback does not restore them.
    struct Bounds {
        /// The least budget for the sake of the reserve; nil while that is held.
        var reserveFloorBytes: Int64?
        /// The least budget for a disk or a quota that is short; nil while neither is.
        var pressureFloorBytes: Int64?
        /// How much a quota lets the cache hold, as failures have shown; nil while nothing is
        /// known.
        var learnedBudget: Int64?
        var bytesAfterRebuild: Int64 = 0
        var rebuildTriedAt: Timestamp?
    }

    /// Makes room after a full disk; true when a command may succeed now.
    func makeRoom() -> Bool {
        let isCleared = cache.database.removeAside()
        let isReleased = reserve.release()
        guard cache.file != nil else { return false }
        if isReleased { setFloor() }
        let before = cache.state.totals.evictions
        learnBudget()
        do throws(StoreError) {
            try release()
            return isCleared || isReleased || cache.state.totals.evictions > before
        } catch {
            guard reserve.fitsInPlace(of: cache.database) else { return isCleared || isReleased }
            cache.remake("the disk is full and nothing can be evicted", oldFile: .removed)
            return cache.file != nil
        }
    }

    func regainReserve() {
        if reserve.take() {
            cache.bounds.reserveFloorBytes = nil
            return forgetBudget()
        }
        guard cache.file != nil else { return }
        if cache.bounds.reserveFloorBytes == nil { setFloor() }
        // The next look tries again what fails here.
        try? release()
        if reserve.take() { cache.bounds.reserveFloorBytes = nil }
    }

    /// Truncates the WAL while the disk has less free space than it should.
    ///
    /// Pages in the WAL take space twice, and eviction would not give that back.
    func shortenWAL() {
        let wanted = configuration.minFreeBytes.bytes
        guard let file = cache.file, wanted > 0, let free = freeBytes, free < wanted else { return }
        file.connection.setBusyTime(Limits.busyTimeShort)
        defer { file.connection.setBusyTime(Limits.busyTime) }
        cutWAL()
    }

    /// The next writer meets again what fails here.
    private func cutWAL() { _ = try? cache.file?.checkpoint(truncating: true) }

    /// The disk has refused to let a file grow, though it says that it has room.
    private func learnBudget() {
        let free = freeBytes ?? 0
        guard free > reserve.bytesNeeded, bytes > Limits.learnedBudgetMin else { return }
        let floor = cache.bounds.pressureFloorBytes ?? max(bytes / 2, Limits.learnedBudgetMin)
        cache.bounds.pressureFloorBytes = floor
        let bound = min(cache.bounds.learnedBudget ?? .max, bytes / 16 * 15)
        cache.bounds.learnedBudget = max(floor, bound)
    }

    /// There is room again: the bound is tried a little higher each time.
    private func forgetBudget() {
        guard let learned = cache.bounds.learnedBudget else { return }
        let next = learned + learned / 32 + Limits.reserveSpareBytes
        cache.bounds.learnedBudget = next < configuration.maxBytes.bytes ? next : nil
        if cache.bounds.learnedBudget == nil { cache.bounds.pressureFloorBytes = nil }
    }

    /// A cache that holds less than the reserve needs evicts nothing for it, and only grows no
    /// more.
    private func setFloor() {
        cache.bounds.reserveFloorBytes = bytes < reserve.bytesNeeded ? bytes : bytes / 4 * 3
    }

    /// Evicts what is above the budget, a batch at most, and gives pages back to the disk.
    private func release() throws(StoreError) {
        // A short wait for readers is enough, because the next round comes soon.
        cache.file?.connection.setBusyTime(Limits.busyTimeShort)
        defer { cache.file?.connection.setBusyTime(Limits.busyTime) }
        // The disk may refuse to let a file grow, so the WAL is truncated before anything is
        // written.
        cutWAL()
        _ = try transaction { () throws(StoreError) in
            try measureSpace()
            if cache.state.isShrinking { try cache.eviction.shrinkStep(now: cache.shared.now()) }
            return false
        }
        for _ in 0..<Limits.reserveStepsMax {
            let gaveBack = try transaction { () throws(StoreError) in
                try cache.connection.vacuumStep()
            }
            cutWAL()
            guard gaveBack, !reserve.take() else { return }
        }
    }

    private func transaction(_ work: () throws(StoreError) -> Bool) throws(StoreError) -> Bool {
        defer { cache.revisions.close() }
        do throws(StoreError) {
            try cache.begin()
            let result = try work()
            try cache.commit()
            return result
        } catch {
            cache.rollBack()
            throw error
        }
    }

    // MARK: The budget

    /// Sets the present limit of the cache: what it holds, and the free space beyond the minimum.
    ///
    /// While the reserve is not held, the reserve's size is left free too. The limit then does not
    /// go below three quarters of what the cache held when the reserve was released.
    ///
    /// Free pages of the file count as free space, because the next idle moments give them back.
    /// Otherwise each measurement would evict again what the one before has evicted.
    func measureSpace() throws(StoreError) {
        cache.state.totals.budget = configuration.maxBytes.bytes
        let wanted = configuration.minFreeBytes.bytes
        if wanted > 0 || !reserve.isHeld, let free = freeBytes {
            let pages = try cache.connection.integer("PRAGMA freelist_count") ?? 0
            let most = bytes + free + pages * 4_096
            if wanted > 0 { leave(wanted, free: free, most: most) }
            if !reserve.isHeld {
                let floor = cache.bounds.reserveFloorBytes ?? bytes
                lowerBudget(to: max(floor, most - wanted - reserve.bytesNeeded))
            }
        }
        if let learned = cache.bounds.learnedBudget { lowerBudget(to: learned) }
        cache.state.totals.isPressed = cache.state.totals.budget < configuration.maxBytes.bytes
        if bytes > cache.state.totals.budget { cache.state.isShrinking = true }
    }

    /// Leaves `wanted` bytes free on the disk: while they are missing, the cache stores no more.
    ///
    /// It evicts only when less than half of `wanted` is free, and only down to half of what it
    /// held when the disk became short. Otherwise other processes that fill the disk would cost
    /// every user the whole cache.
    private func leave(_ wanted: Int64, free: Int64, most: Int64) {
        guard free < wanted else {
            cache.bounds.pressureFloorBytes = nil
            return lowerBudget(to: most - wanted)
        }
        let floor = cache.bounds.pressureFloorBytes ?? bytes / 2
        cache.bounds.pressureFloorBytes = floor
        lowerBudget(to: max(floor, free < wanted / 2 ? min(bytes, most - wanted) : bytes))
    }

    private func lowerBudget(to bytes: Int64) {
        cache.state.totals.budget = min(cache.state.totals.budget, max(0, bytes))
    }

    var lowWatermarkBytes: Int64 {
        Int64(Double(cache.state.totals.budget) * configuration.lowWatermark)
    }

    /// Rewrites the file if half-empty pages make it much larger than its content.
    ///
    /// An incremental vacuum does not find such pages. The next rewrite waits until the file has
    /// doubled, because long ids take more space in their index than the accounted size says. After
    /// a rewrite that failed it waits for a while only. A rewrite needs space for a copy of the file
    /// and for a WAL of the same length.
    func rebuildIfWorthIt() throws(StoreError) {
        guard cache.file != nil else { return }
        let pages = try cache.connection.integer("PRAGMA page_count") ?? 0
        let unused = try cache.connection.integer("PRAGMA freelist_count") ?? 0
        let used = (pages - unused) * 4_096
        let needed = max(bytes, cache.bounds.bytesAfterRebuild)
        guard used > 2 * needed + Limits.rebuildBytesMin else { return }
        let room = (freeBytes ?? .max) - configuration.minFreeBytes.bytes
        guard room / 2 > used else { return }
        let now = cache.shared.now()
        // After a clock is set back, the last try may be in the future.
        if let last = cache.bounds.rebuildTriedAt, last <= now,
            now.since(last) < Limits.rebuildRetryTime
        {
            return
        }
        cache.bounds.rebuildTriedAt = now
        try cache.connection.execute("VACUUM")
        let rebuilt = try cache.connection.integer("PRAGMA page_count") ?? 0
        cache.bounds.bytesAfterRebuild = rebuilt * 4_096
    }

    func checkSize(_ size: Int64, bodyBytes: Int) throws(StoreError) {
        let limit = configuration.maxEntryBytes.bytes
        guard Int64(bodyBytes) <= limit else {
            throw .tooLarge(bytes: Int64(bodyBytes), limit: limit)
        }
        try checkBudget(size)
    }

    /// Refuses what would not fit into an empty cache: permanently, or while the disk is short of
    /// space.
    func checkBudget(_ size: Int64) throws(StoreError) {
        guard size > cache.state.totals.budget else { return }
        let limit = configuration.maxBytes.bytes
        guard size <= limit else { throw .tooLarge(bytes: size, limit: limit) }
        throw .diskFull(file: cache.database.path, step: "make room for \(size) bytes")
    }
}
