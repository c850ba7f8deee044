import Glibc

/// Which start of the machine this is: what was written since then is lost by none but its end.
enum BootID {
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
