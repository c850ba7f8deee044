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
    /// Free pages that one step of an idle moment gives back to the file system.
    package static let vacuumPagesMax = 256
    /// A file is not rebuilt for less than this, beyond twice its content.
    package static let rebuildBytesMin: Int64 = 16 << 20
    /// How often a purge evicts what the removed writes have released, and how often it reads a page of
    /// writes of which it can remove none.
    package static let purgeRoundsMax = 8

    /// Rows of a user that are to be read after their writes: more are left to the next client.
    package static let wantedReadsMax = 1_000
    /// Reads after writes in flight, and those of one user: a long queue must not use up all
    /// requests.
    package static let wantedReadsInFlightMax = 8
    package static let wantedReadsPerUserMax = 4
    /// How long such a read waits for further writes of its row: one request then reads them all.
    package static let wantedReadDelay = Duration.seconds(10)
}
