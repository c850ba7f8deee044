import Glibc
import LarderModel
import LarderTestSupport

/// What the disk does.
extension EngineSimulation {
    /// An operation of SQLite fails while something is done: the disk is full, or broken.
    func failDisk(_ act: () throws -> Void) throws {
        try fail(.any, draw(1..<40), act)
    }

    /// The commit of one file fails while something is done, that of `cache.db` behind one of
    /// `state.db`; perhaps the process is killed soon after.
    func failCommit(_ act: () throws -> Void) throws {
        let isOfState = randomUnit(1, of: 3)
        let isDeadly = randomUnit(1, of: 3)
        try fail(
            isOfState ? .stateCommit : .cacheCommit,
            draw(1..<3),
            copy: isDeadly ? (draw(1..<20), daemon.directory) : nil,
            act
        )
    }

    /// An operation of SQLite finds `cache.db` damaged while something is done.
    func damageCache(_ act: () throws -> Void) throws {
        guard mayLoseCache() else { return }
        try settle()
        plan.armFailure(draw(1..<40), of: .onCache, with: 11)
        try act()
        _ = try pump()
        if let step = plan.disarm() {
            note("  \(step.prefix(60)) finds it damaged")
            put(.cacheLost)
        }
        try settle()
    }

    /// Somebody deletes, cuts or overwrites `cache.db` under the daemon, which finds out when it does.
    func harmCache() throws {
        guard mayLoseCache() else { return }
        let path = daemon.directory.path("cache/cache.db")
        harmedGeneration = daemon.generation
        switch draw(0..<5) {
        case 0:
            note("the cache is deleted")
            unlink(path)
        case 1:
            note("the cache is deleted with its WAL")
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        case 2:
            note("the cache's WAL is deleted")
            unlink(path + "-wal")
        case 3:
            note("the cache is cut")
            truncate(path, off_t(draw(0..<20_000)))
            isCacheBroken = true
        default:
            note("the cache is overwritten")
            try overwrite(path)
            isCacheBroken = true
        }
    }

    /// Whether `cache.db` may be lost once more: a file that is lost too often is left alone for a
    /// while, and nothing is stored then.
    private func mayLoseCache() -> Bool {
        guard harmedGeneration == nil, lastHarm.map({ now - $0 > Self.harmPause }) ?? true else {
            return false
        }
        lastHarm = now
        return true
    }

    private static let harmPause = Limits.recreationTime / Limits.recreationsMax * 2

    private func overwrite(_ path: String) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        try require(descriptor >= 0, "\(path) cannot be opened")
        defer { close(descriptor) }
        var noise: [UInt64] = []
        for _ in 0..<(4_096 / 8) { noise.append(random.next()) }
        let count = Int(lseek(descriptor, 0, SEEK_END)) / 4_096
        let isWhole = randomUnit(1, of: 2)
        let chosen = isWhole ? 0..<count : draw(0..<max(count, 1))..<count
        for page in chosen.prefix(isWhole ? count : 1) {
            noise.withUnsafeBytes { _ = pwrite(descriptor, $0.baseAddress, $0.count, page * 4_096) }
        }
        // The clock of files is coarse: else it would be seen or not.
        let times = [timespec(), timespec()]
        futimens(descriptor, times)
    }

    /// What could not be written down is tried again, so time passes in which nothing ends.
    ///
    /// What `state.db` has committed stands, and the rest of such a group is done again: where the
    /// commit of `cache.db` behind it fails, nobody is to see anything of that.
    private func fail(
        _ step: DiskPlan.Step,
        _ n: Int,
        copy: (n: Int, source: TemporaryDirectory)? = nil,
        _ act: () throws -> Void
    ) throws {
        try settle()
        let pause = Duration.seconds(3)
        guard
            judges.flatMap(\.queues)
                .allSatisfy({ $0.nextEnd(after: now).map { $0 > now + pause } ?? true })
        else { return }
        plan.armFailure(n, of: step, with: randomUnit(1, of: 2) ? 13 : 10, copy: copy)
        try act()
        for time in [.zero, pause / 2, pause / 2] {
            if time != .zero {
                guard plan.failed != nil else { break }
                clock.advance(by: time)
            }
            let isAlive = try pump()
            if let failed = plan.failed {
                if time == .zero { note("  the disk failed to \(failed.prefix(60))") }
                hasDiskFailed = true
                // A private answer hides the shared row in `state.db` first.
                window.hasDiskFailed = step != .cacheCommit || isShared
            }
            guard isAlive else { return try goOnAfterCrash() }
        }
        plan.disarm()
        try settle()
    }
}
