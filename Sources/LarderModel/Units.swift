extension Duration {
    /// Reads `300ms`, `10s`, `5m`, `1h`, `7d`: a whole number of at least 0 and a unit.
    package init(unit text: String) throws(ModelError) {
        guard let milliseconds = amount(text, durationUnits) else { throw .badDuration(text) }
        self = .milliseconds(milliseconds)
    }

    /// The shortest form that ``init(unit:)`` reads back: `300ms`, `10s`, `7d`.
    package var unitText: String { shortest(milliseconds, durationUnits) }
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
    package var unitText: String { shortest(bytes, sizeUnits) }

    package static func < (left: ByteSize, right: ByteSize) -> Bool { left.bytes < right.bytes }
}

/// Names of units and what they stand for, the largest first; the last one is 1.
private typealias Units = [(name: String, factor: Int64)]

private let durationUnits: Units = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
]
private let sizeUnits: Units = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
]

/// The leading digits times the unit that follows them; signs and spaces are no digits.
private func amount(_ text: String, _ units: Units) -> Int64? {
    let digits = text.prefix(while: { $0.isASCII && $0.isNumber })
    let name = text.dropFirst(digits.count)
    guard let number = Int64(digits), let unit = units.first(where: { $0.name == name }) else {
        return nil
    }
    let (amount, overflow) = number.multipliedReportingOverflow(by: unit.factor)
    return overflow ? nil : amount
}

/// The amount in the largest unit in which it is whole; 0 in the smallest one.
private func shortest(_ amount: Int64, _ units: Units) -> String {
    let unit = units.first { amount > 0 && amount % $0.factor == 0 } ?? units[units.count - 1]
    return "\(amount / unit.factor)\(unit.name)"
}
