import LarderModel
import LarderStore
import LarderWire

/// What a flight came to, told to everybody who waits for it.
enum Landing: Sendable {
    /// What the origin has now.
    case current(Answer)
    case deleted(Revision, status: Int, source: AnswerSource = .network)
    case failed(Problem)

    struct Answer: Sendable {
        var entry: Entry
        /// As it stands in a frame; nil when a 304 confirmed it, so that it is in the store.
        var body: FrameBody?
        /// The status that the origin answered with: 200, or 304.
        var status: Int
        /// Whether the store has it: else it is only told.
        var isKept = true
        /// Whether it is kept normalized: what it shows may be newer than its bytes.
        var isNormalized = false
        /// Who says what is shown: `modifier` where no server does.
        var source = AnswerSource.network
        /// What the origin sets at whoever has asked: told to nobody else, and kept nowhere.
        var cookies = HeaderFields()
        /// What modifiers add to it for the one who is told.
        var overlay = Overlay.none
    }
}

extension Landing.Answer {
    /// What a client's modifiers make of an answer that is not kept: it is what the origin said last,
    /// whatever base says.
    func seen(in scope: ScopeKey, _ reader: StoreReader) throws(StoreError) -> Landing {
        var changes = try reader.changes(ofVariant: entry.id, scope)
        if changes == nil { changes = try reader.target(scope, entry.id)?.changes }
        guard let changes else { return .current(self) }
        var json: [UInt8]?
        if case .json(let bytes) = body { json = bytes }
        let base = KeptBase.value(entry, json)
        let shown = try ShownEntry(entry.id, base, changes, in: scope, reader)
        guard let view = shown.entry, view.kind != .tombstone else {
            return .deleted(
                shown.entry?.revision ?? entry.revision,
                status: shown.entry?.status ?? 404,
                source: shown.isMade ? .modifier : .network
            )
        }
        var answer = self
        answer.entry = view
        answer.overlay = shown.overlay
        if let made = shown.bytes { answer.body = FrameBody(view, in: scope.scope, bytes: made) }
        return .current(answer)
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
