package import LarderJSON

/// A step of a streamed answer: a line of JSON Lines, or an event.
package protocol StreamFrame: Encodable, Sendable {
    /// The member `type`, and the members after it.
    var parts: FrameParts { get }
}

package typealias FrameParts = (type: String, members: any FrameMembers)

/// The members of a frame after its type.
package protocol FrameMembers: Codable, Sendable {
    /// The revision to come back with after the frame, which is the id of its event; nil without
    /// one.
    var resumption: Int64? { get }
    /// Whether a client that comes back after the frame is to get nothing more.
    var isLast: Bool { get }
    /// Writes the members without the coder; false if the frame leaves them to the coder.
    func print(to json: inout JSONWriter) -> Bool
}

/// A frame whose revision is one to come back with.
package protocol RevisionFrame: FrameMembers {
    var rev: Int64 { get }
}

extension RevisionFrame {
    package var resumption: Int64? { rev }
}

extension FrameMembers {
    package var resumption: Int64? { nil }
    package var isLast: Bool { false }
    package func print(to json: inout JSONWriter) -> Bool { false }
}

extension StreamFrame {
    package var type: String { parts.type }
    package var revision: Int64? { parts.members.resumption }
    package var isLast: Bool { parts.members.isLast }
    package var isHeartbeat: Bool { parts.members is HeartbeatFrame }

    /// The JSON of the frame, on one line and without the line's end.
    package func encodedJSON() -> [UInt8] {
        let (type, members) = parts
        var json = JSONWriter()
        json.beginObject()
        json.member("type", type)
        guard members.print(to: &json) else { return APIEncoder().encode(self) }
        json.endObject()
        return json.bytes
    }

    /// The frame as one line of JSON Lines, its line feed included.
    package func encodedLine() -> [UInt8] { encodedJSON() + [UInt8(ascii: "\n")] }

    func encodeMembers(to encoder: any Encoder) throws {
        let (type, members) = parts
        try FrameType(type: type).encode(to: encoder)
        try members.encode(to: encoder)
    }
}

/// The first member of each frame.
struct FrameType: Codable {
    var type: String
}

/// The members of a frame of which only the type is known.
struct NoMembers: FrameMembers {}

// The frames that are sent most are printed without the coder. A test compares both.

extension SnapshotFrame {
    package func print(to json: inout JSONWriter) -> Bool {
        json.member("source", source.rawValue)
        json.member("rev", rev)
        json.member("stale", stale)
        json.member("age_ms", ageMs)
        json.member("pending", pending)
        json.member("pending_ids", pendingIDs)
        json.member("failed", failed)
        json.member("complete", complete)
        if let missing { json.member("missing", missing) }
        if let rows {
            json.name("rows")
            APIEncoder().encode(rows, to: &json)
        }
        if let failedRows {
            json.name("failed_rows")
            APIEncoder().encode(failedRows, to: &json)
        }
        json.member("entry") { json in
            json.member("id", entry.id)
            json.member("status", entry.status)
            json.member("media_type", entry.mediaType)
            json.member("etag", entry.etag)
            json.member("stored_at", entry.storedAt.text)
            if let body = entry.body {
                json.name("body")
                json.verbatim(body.bytes)
            }
            if let text = entry.bodyB64 { json.member("body_b64", text) }
            if let path = entry.bodyHref { json.member("body_href", path) }
        }
        return true
    }
}

extension EndFrame {
    package var isLast: Bool { outcome != .shutdown }

    package func print(to json: inout JSONWriter) -> Bool {
        json.member("outcome", outcome.rawValue)
        if let rev { json.member("rev", rev) }
        json.member("timing") { json in
            if let time = timing.cacheMs { json.member("cache_ms", time) }
            if let time = timing.networkMs { json.member("network_ms", time) }
        }
        return true
    }
}

extension ChangeFrame {
    package func print(to json: inout JSONWriter) -> Bool {
        json.member("rev", rev)
        json.member("id", id)
        json.member("source", source)
        if let changed { json.member("changed", changed) }
        if let cause { json.member("cause", cause) }
        if let isOwn { json.member("self", isOwn) }
        if let coalesced { json.member("coalesced", coalesced) }
        if let initial { json.member("initial", initial) }
        if let more { json.member("more", more) }
        return true
    }
}

extension ModifierFrame {
    package func print(to json: inout JSONWriter) -> Bool {
        // Few frames have one.
        guard conflict == nil else { return false }
        json.member("rev", rev)
        json.member("id", id)
        json.member("state", state.rawValue)
        if let reason { json.member("reason", reason.rawValue) }
        if let stalled { json.member("stalled", stalled) }
        if let dropped { json.member("dropped", dropped) }
        if let answered { json.member("answered", answered) }
        if let edited { json.member("edited", edited) }
        for (name, list) in [("targets", targets), ("reverted", reverted)] {
            guard let list else { continue }
            json.name(name)
            json.beginArray()
            for target in list { json.object { $0.member("id", target.id) } }
            json.endArray()
        }
        for (name, object) in [("problem", problem), ("answer", answer)] {
            guard let object else { continue }
            json.name(name)
            json.verbatim(object.bytes)
        }
        if let isOwn { json.member("self", isOwn) }
        if let more { json.member("more", more) }
        return true
    }
}

extension Bool {
    /// The value of a member that is left out where it is false.
    var ifTrue: Bool? { self ? true : nil }
}

extension Duration {
    /// Milliseconds with at most one decimal; not below 0, at most some thousand years.
    package var tenthsOfMilliseconds: Double {
        let tenths = min(max(self / .microseconds(100), 0), 1e15)
        return Double(Int64(tenths + 0.5)) / 10
    }
}
