import LarderAPI
import LarderModel
import LarderWire
import NIOHTTP1

/// The outcome of the conditions and the Range of a read, in the order of RFC 9110 13.2.2.
///
/// | condition | outcome |
/// |---|---|
/// | If-Match does not name the ETag | `refused`, 412 |
/// | If-None-Match names the ETag | `notModified` |
/// | GET with a Range of one part, and If-Range, if any, names what is shown | `part`, or `refused`, 416 |
/// | else | `whole` |
enum ReadVerdict {
    case notModified
    case whole
    case part(Range<Int>)
    case refused(Problem, HTTPHeaders)

    /// `byteCount` is nil where there is no body of which a part could be sent.
    ///
    /// `lastModified` is the date that the origin gave. A date that the daemon made says nothing of
    /// the bytes.
    init(
        _ head: HTTPRequestHead,
        tag: String,
        byteCount: Int?,
        storedAt: Timestamp,
        lastModified: @autoclosure () -> String?
    ) {
        let fields = head.headers
        if fields.contains(name: "If-Match"),
            !EntityTagList.containsStrongly(tag, in: fields["If-Match"])
        {
            let detail = "the entry is not what the request expects"
            self = .refused(Problem(.preconditionFailed, detail), [:])
            return
        }
        if fields.contains(name: "If-None-Match"),
            EntityTagList.contains(tag, in: fields["If-None-Match"])
        {
            self = .notModified
            return
        }
        guard head.method == .GET, let byteCount, fields.contains(name: "Range"),
            let range = ByteRange(fields["Range"]),
            Self.isMet(fields["If-Range"], tag, storedAt, lastModified)
        else {
            self = .whole
            return
        }
        guard let part = range.part(of: byteCount) else {
            let detail = "the body has \(byteCount) bytes, and the range begins after them"
            let fields: HTTPHeaders = ["Content-Range": "bytes */\(byteCount)"]
            self = .refused(Problem(.rangeNotSatisfiable, detail), fields)
            return
        }
        // An empty body has no part that could be named.
        self = part.isEmpty ? .whole : .part(part)
    }

    /// Whether If-Range names exactly these bytes (13.1.5): a strong tag, or the origin's date if
    /// the origin answered at least a second later, so that the date is strong (8.8.2.2).
    private static func isMet(
        _ ifRange: [String],
        _ tag: String,
        _ storedAt: Timestamp,
        _ lastModified: () -> String?
    ) -> Bool {
        guard let value = ifRange.first else { return true }
        guard ifRange.count == 1 else { return false }
        if value.hasPrefix("\"") { return value == tag }
        guard let date = lastModified(), value == date,
            let modified = Timestamp(httpDate: date, now: storedAt)
        else { return false }
        return modified.advanced(by: .seconds(1)) <= storedAt
    }
}

extension HTTPHeaders {
    /// Adds the place of a part in its body.
    mutating func add(_ part: Range<Int>, of byteCount: Int) {
        add(
            name: "Content-Range",
            value: "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(byteCount)"
        )
    }
}
