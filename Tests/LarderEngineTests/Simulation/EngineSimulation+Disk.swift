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
        let isOfState = chance(1, of: 3)
        let isDeadly = chance(1, of: 3)
        try fail(
            isOfState ? .stateCommit : .cacheCommit,
            draw(1..<3),
            copy: isDeadly ? (draw(1..<20), daemon.directory) : nil,
            act
        )
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
        guard judge.queues.allSatisfy({ $0.nextEnd(after: now).map { $0 > now + pause } ?? true })
        else { return }
        plan.armFailure(n, of: step, with: chance(1, of: 2) ? 13 : 10, copy: copy)
        try act()
        for time in [.zero, pause / 2, pause / 2] {
            if time != .zero {
                guard plan.failed != nil else { break }
                clock.advance(by: time)
            }
            let isAlive = try pump()
            if let failed = plan.failed {
                if time == .zero { note("  the disk failed to \(failed.prefix(60))") }
                window.hasDiskFailed = step != .cacheCommit
            }
            guard isAlive else { return try goOnAfterCrash() }
        }
        plan.disarm()
        try settle()
    }
}
