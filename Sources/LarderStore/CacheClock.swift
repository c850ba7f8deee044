import Glibc
import LarderModel

/// Time before the present start of the daemon that no clock vouches for.
///
/// For `hold` and `expires` of a write, only time that a clock vouches for counts:
/// - Within one start of the machine that is the boot clock (clock_gettime(2), CLOCK_BOOTTIME). The
///   wall clock may be set meanwhile.
/// - Over a new start of the machine that is the wall clock. But it has to be synchronized now, and
///   when the clocks were last noted. Each start and each end of the daemon notes them.
/// - Otherwise the write keeps the time that it had left when the clocks were last noted. A write
///   that was accepted later keeps its whole time.
///
/// So a stored moment only moves into the future. The queue limits it to the duration that it was
/// given with, for example if the wall clock is behind.
enum UncountedTime {
    /// The wall clock was set forward by this, within one start of the machine.
    case step(Duration)
    /// The machine has started again: all time since a moment, for writes up to a number.
    case restart(since: Timestamp, upTo: ModifierNumber)
}

/// Corrects stored moments that a wall clock ahead of time has written.
///
/// Each then counts at most the duration that it was given with.
struct CacheClock {
    let cache: CacheWriter

    /// Notes the clocks, and compares them with what was noted before.
    ///
    /// `last` is the newest write, if there are any. If nothing was noted, no write has used any of
    /// its time.
    func note(
        now: Timestamp,
        uptime: Int64?,
        last: ModifierNumber
    ) throws(StoreError) -> UncountedTime {
        guard let uptime else { return .step(.zero) }
        let (boot, offset) = (cache.configuration.boot, now.milliseconds - uptime)
        let (knownBoot, knownOffset) = (try meta("clock_boot"), try meta("clock_offset"))
        let (seen, newest) = (try meta("clock_seen"), try meta("clock_modifier"))
        let wasSynchronized = try meta("clock_synchronized") == 1
        let isSameBoot = boot != nil && boot == knownBoot
        let isSynchronized = cache.configuration.isClockSynchronized()
        try cache.setMeta("clock_boot", boot)
        try cache.setMeta("clock_offset", offset)
        try cache.setMeta("clock_seen", now.milliseconds)
        try cache.setMeta("clock_modifier", last.value)
        // The kernel takes this back after hours without a network.
        let isVouchedFor = isSynchronized || isSameBoot && wasSynchronized
        try cache.setMeta("clock_synchronized", isVouchedFor ? 1 : 0)
        if isSameBoot, let knownOffset {
            return .step(max(.zero, .milliseconds(offset - knownOffset)))
        }
        guard let seen, let newest else { return .restart(since: now, upTo: ModifierNumber(0)) }
        let counts = isSynchronized && wasSynchronized
        return .restart(
            since: counts ? now : Timestamp(milliseconds: seen),
            upTo: ModifierNumber(newest)
        )
    }

    private func meta(_ name: String) throws(StoreError) -> Int64? {
        try cache.connection.integer("SELECT value FROM meta WHERE name = '\(name)'")
    }

    /// Treats rows that a clock ahead of time has stored as if they were stored now.
    ///
    /// Their ttl and freshness then end after their own durations. Such rows are among those used
    /// last.
    func clampMoments(now: Timestamp) throws(StoreError) {
        guard cache.file != nil else { return }
        let limit = now.advanced(by: Limits.clockTolerance).milliseconds
        let found = try cache.connection.integer(
            """
            SELECT count(*) FROM (
                SELECT stored_at FROM recency ORDER BY last_used DESC LIMIT \(Limits.clockRowsMax))
            WHERE stored_at > \(limit)
            """
        )
        guard (found ?? 0) > 0 else { return }
        let later = "SELECT key FROM recency WHERE stored_at > \(limit)"
        let keys = try cache.connection.prepare(later)
        while try keys.step() { cache.noteChange(of: RowKey(keys.integer(.only))) }
        for (table, end) in [("entry", "fresh_until"), ("recency", "expires_at")] {
            try cache.connection.execute(
                """
                UPDATE \(table) SET \(end) = \(end) - stored_at + \(now.milliseconds),
                    stored_at = \(now.milliseconds)
                WHERE stored_at > \(limit)
                """
            )
        }
    }
}

/// Identity of the machine's present start.
///
/// Only the end of this start can lose data that was written since then.
enum BootID {
    /// Half of the kernel's boot id (random(4)); nil if the kernel has none.
    static let current: Int64? = {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, file)
        let digits = String(decoding: bytes.prefix(count), as: UTF8.self)
            .filter(\.isHexDigit).prefix(16)
        guard digits.count == 16 else { return nil }
        return UInt64(digits, radix: 16).map { Int64(bitPattern: $0) }
    }()
}
