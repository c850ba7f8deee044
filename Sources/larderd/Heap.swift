/// What the process keeps of memory that it has freed.
enum Heap {
    /// Has every block of 128 KiB or more go back to the kernel when it is freed.
    ///
    /// Left to itself glibc takes the largest block that was freed, up to 32 MiB, for the size from
    /// which on that is worth it, so that the bodies of clients that have gone stay for good.
    static func giveBackLargeBlocks() {
        // They fail for values out of range only.
        _ = mallopt(mmapThreshold, 131_072)
        // Below the same size glibc would give the end of a thread's heap back and take it again for
        // each statement whose pages SQLite keeps for a rollback (64 KiB): four calls of madvise(2)
        // and their page faults for each modifier sent.
        _ = mallopt(trimThreshold, 524_288)
    }

    /// `M_MMAP_THRESHOLD` of malloc.h.
    private static let mmapThreshold: Int32 = -3
    /// `M_TRIM_THRESHOLD` of malloc.h.
    private static let trimThreshold: Int32 = -1
}

// malloc.h is not in Swift's Glibc module.
@_silgen_name("mallopt")
private func mallopt(_ option: Int32, _ value: Int32) -> Int32
