/// Settings for memory that the process has freed.
enum Heap {
    /// Makes glibc return each block of 128 KiB or more to the kernel when it is freed.
    ///
    /// By default glibc raises that size to the largest freed block, up to 32 MiB. The bodies of
    /// clients that have gone would then stay in memory.
    static func giveBackLargeBlocks() {
        // mallopt fails only for values out of range.
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
