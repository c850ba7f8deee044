import LarderModel

/// How the frames of a stream travel; in the order in which they are preferred.
package enum FrameFormat: CaseIterable, Sendable {
    /// JSON Lines: each frame a line, heartbeats too.
    case jsonLines
    /// The same under its other name.
    case ndjson
    /// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html):
    /// `event` is the type, `id` the revision, `data` the JSON; heartbeats are comments.
    case eventStream

    /// The id of the last event of a stream; a browser that comes back with it gets 204, so that it
    /// does not come back again.
    package static let endID = "end"

    package var mediaType: String {
        switch self {
        case .jsonLines: "application/jsonl"
        case .ndjson: "application/x-ndjson"
        case .eventStream: "text/event-stream"
        }
    }

    /// The form that a client likes best, by the values of its Accept headers (RFC 9110 12.5.1).
    ///
    /// Of those that it likes equally, the one that it names more exactly, then the first. A client
    /// that accepts none of them gets JSON Lines all the same: what it cannot use it can say no to.
    package init(accepting values: [String]) {
        let accepted = AcceptedTypes(values)
        self = .jsonLines
        guard !accepted.isEmpty else { return }
        var best = AcceptedTypes.Match.none
        for format in Self.allCases {
            let match = accepted.match(format.mediaType)
            if match.quality > 0, match > best { (self, best) = (format, match) }
        }
    }

    /// Whether a client names one of them, and so wants a stream.
    package static func isNamed(in values: [String]) -> Bool {
        let accepted = AcceptedTypes(values)
        return allCases.contains { accepted.names($0.mediaType) }
    }

    /// Whether a client names JSON and no stream, and so wants all frames as one array.
    package static func isArrayNamed(in values: [String]) -> Bool {
        AcceptedTypes(values).names(MediaType.json) && !isNamed(in: values)
    }

    package func encode(_ frame: some StreamFrame) -> [UInt8] {
        switch self {
        case .jsonLines, .ndjson: return frame.encodedLine()
        case .eventStream where frame.isHeartbeat: return Array(":\n\n".utf8)
        case .eventStream:
            var event = Array("event: \(frame.type)\n".utf8)
            let id = frame.isLast ? Self.endID : frame.revision.map { String($0) }
            if let id { event += Array("id: \(id)\n".utf8) }
            event += Array("data: ".utf8)
            event += frame.encodedJSON()
            event += [UInt8(ascii: "\n"), UInt8(ascii: "\n")]
            return event
        }
    }
}
