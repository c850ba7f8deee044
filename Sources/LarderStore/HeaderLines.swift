import Glibc
import LarderModel

/// ``HeaderFields/lines`` where SQLite holds them, valid until the statement moves on.
///
/// It finds what `HeaderFields(lines:)` would under names in ASCII.
struct HeaderLines {
    let bytes: UnsafeRawBufferPointer

    /// All values under `name`, as one list (RFC 9110 5.3), or nil where there is none.
    func list(_ name: StaticString) -> String? {
        var list: String?
        var start = 0
        while start < bytes.count {
            let end = endOfLine(from: start)
            let line = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            start = end + 1
            guard let value = Self.value(in: line, under: name) else { continue }
            let text = String(decoding: value, as: UTF8.self)
            list = list.map { "\($0), \(text)" } ?? text
        }
        return list
    }

    private func endOfLine(from start: Int) -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        guard let base = rest.baseAddress,
            let feed = memchr(base, CInt(UInt8(ascii: "\n")), rest.count)
        else { return bytes.count }
        return start + (UnsafeRawPointer(feed) - base)
    }

    private static func value(
        in line: UnsafeRawBufferPointer,
        under name: StaticString
    ) -> UnsafeRawBufferPointer.SubSequence? {
        let count = name.utf8CodeUnitCount
        guard line.count > count, line[count] == UInt8(ascii: ":") else { return nil }
        let wanted = UnsafeBufferPointer(start: name.utf8Start, count: count)
        let isNamed = zip(line, wanted).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
        guard isNamed else { return nil }
        let value = line.dropFirst(count + 1)
        return value.first == UInt8(ascii: " ") ? value.dropFirst() : value
    }
}
