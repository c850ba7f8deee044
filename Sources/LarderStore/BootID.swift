import Glibc

/// Which start of the machine this is: what was written since then is lost by none but its end.
enum BootID {
    /// Milliseconds since then, sleep included (clock_gettime(2), CLOCK_BOOTTIME).
    @Sendable
    static func uptime() -> Int64? {
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Half of what the kernel says (random(4)); nil where it says nothing.
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
