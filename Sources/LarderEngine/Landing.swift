import LarderModel
import LarderWire

/// What a flight came to, told to everybody who waits for it.
enum Landing: Sendable {
    /// What the origin has now.
    case current(Answer)
    case deleted(Revision, status: Int)
    case failed(Problem)

    struct Answer: Sendable {
        var entry: Entry
        /// As it stands in a frame; nil when a 304 confirmed it, so that it is in the store.
        var body: FrameBody?
        /// The status that the origin answered with: 200, or 304.
        var status: Int
        /// What modifiers add to it for the one who is told.
        var overlay = Overlay.none
    }
}

extension FrameBody {
    /// How a body stands in a frame: JSON as it is, else base64, and by its address when it is
    /// large.
    ///
    /// `bytes` is nil when the body is too large to be shown. The address names the account too,
    /// so that whoever follows it meets the same row.
    init(_ entry: Entry, in scope: Scope, bytes: [UInt8]?) {
        if let bytes, entry.body.isJSON {
            self = .json(bytes)
        } else if let bytes, bytes.count <= Limits.base64BodyBytesMax {
            self = .bytes(bytes)
        } else {
            let account = scope.account
            let query = account == .default ? "" : "?account=\(PercentCoding.encode(account.text))"
            self = .href(PercentCoding.entryPath(entry.id) + query)
        }
    }
}
