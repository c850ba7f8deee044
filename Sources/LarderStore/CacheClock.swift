import Glibc
import LarderModel

/// Corrects stored moments that a wall clock ahead of time has written.
///
/// Each then counts at most the duration that it was given with.
struct CacheClock {
    let cache: CacheWriter

    /// How far the wall clock was set forward since the store was last opened.
    ///
    /// A machine without a battery for its clock does that. Zero if the step is unknown, and after
    /// a start of the machine.
    func step(now: Timestamp) throws(StoreError) -> Duration {
        guard let file = cache.file, let boot = cache.configuration.boot,
            let uptime = cache.configuration.uptime()
        else { return .zero }
        func meta(_ name: String) throws(StoreError) -> Int64? {
            try file.connection.integer("SELECT value FROM meta WHERE name = '\(name)'")
        }
        let offset = now.milliseconds - uptime
        let before = try meta("clock_offset")
        let isSameBoot = try meta("clock_boot") == boot
        if before != offset { try cache.setMeta("clock_offset", offset) }
        if !isSameBoot { try cache.setMeta("clock_boot", boot) }
        guard isSameBoot, let before else { return .zero }
        return max(.zero, .milliseconds(offset - before))
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
