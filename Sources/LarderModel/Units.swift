extension Duration {
    /// Reads `300ms`, `10s`, `5m`, `1h`, `7d`: a whole number of at least 0 and a unit.
    package init(unit text: String) throws(ModelError) {
        guard let milliseconds = amount(text, durationUnits) else { throw .badDuration(text) }
        self = .milliseconds(milliseconds)
    }

    /// The shortest form that ``init(unit:)`` reads back: `300ms`, `10s`, `7d`.
    package var unitText: String {
        let milliseconds = self.milliseconds
        for unit in ["d", "h", "m", "s"] {
            guard let factor = durationUnits[unit], milliseconds % factor == 0, milliseconds > 0
            else { continue }
            return "\(milliseconds / factor)\(unit)"
        }
        return "\(milliseconds)ms"
    }
}

/// A number of bytes as people write it: `512MiB`.
package struct ByteSize: Hashable, Sendable, Comparable {
    package let bytes: Int64

    package init(bytes: Int64) { self.bytes = bytes }

    /// Reads `512MiB`, `64KiB`, `1GiB`, `2TiB`, `100B`: a whole number of at least 0 and a unit.
    package init(unit text: String) throws(ModelError) {
        guard let bytes = amount(text, sizeUnits) else { throw .badByteSize(text) }
        self.bytes = bytes
    }

    /// The shortest form that ``init(unit:)`` reads back.
    package var unitText: String {
        for unit in ["TiB", "GiB", "MiB", "KiB"] {
            guard let factor = sizeUnits[unit], bytes % factor == 0, bytes > 0 else { continue }
            return "\(bytes / factor)\(unit)"
        }
        return "\(bytes)B"
    }

    package static func < (left: ByteSize, right: ByteSize) -> Bool { left.bytes < right.bytes }
}

private let durationUnits: [String: Int64] = [
    "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
]
private let sizeUnits: [String: Int64] = [
    "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
]

/// The leading digits times the unit that follows them; signs and spaces are no digits.
private func amount(_ text: String, _ units: [String: Int64]) -> Int64? {
    let digits = text.prefix(while: { $0.isASCII && $0.isNumber })
    guard let number = Int64(digits), let factor = units[String(text.dropFirst(digits.count))]
    else { return nil }
    let (amount, overflow) = number.multipliedReportingOverflow(by: factor)
    return overflow ? nil : amount
}
