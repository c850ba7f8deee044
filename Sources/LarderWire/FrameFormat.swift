import LarderModel

/// Encodings of a stream of frames, in the daemon's order of preference.
package enum FrameFormat: CaseIterable, Sendable {
    /// JSON Lines: each frame a line, heartbeats too.
    case jsonLines
    /// JSON Lines under its other media type.
    case ndjson
    /// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html):
    /// `event` is the type, `id` the revision, `data` the JSON; heartbeats are comments.
    case eventStream

    /// Id of the last event of a stream.
    ///
    /// A browser that connects again with this id gets 204, so it stops connecting.
    package static let endID = "end"

    package var mediaType: String {
        switch self {
        case .jsonLines: "application/jsonl"
        case .ndjson: "application/x-ndjson"
        case .eventStream: "text/event-stream"
        }
    }

    /// The format that a client prefers, by the values of its Accept headers (RFC 9110 12.5.1).
    ///
    /// Among formats of equal quality, the more exactly named one wins, then the first. A client
    /// that accepts none of the formats gets JSON Lines and can reject it.
    package init(accepting values: [String]) {
        let accepted = AcceptedTypes(values)
        self = .jsonLines
        var best = AcceptedTypes.Match.none
        for format in Self.allCases {
            let match = accepted.match(format.mediaType)
            if match.quality > 0, match > best { (self, best) = (format, match) }
        }
    }

    /// Whether a client names JSON and no stream, and so wants all frames as one array.
    package static func isArrayNamed(in values: [String]) -> Bool {
        let accepted = AcceptedTypes(values)
        return accepted.names(MediaType.json)
            && !allCases.contains { accepted.names($0.mediaType) }
    }

    /// Whether a client names bytes, and so wants a body as it is.
    package static func areBytesNamed(in values: [String]) -> Bool {
        AcceptedTypes(values).names(MediaType.bytes)
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

/// The media ranges of a request's Accept headers with their weights (RFC 9110 12.5.1).
struct AcceptedTypes {
    /// How well a media type is accepted.
    struct Match: Comparable {
        /// In thousandths; 0: not at all.
        let quality: Int
        /// 3 for a range that names the type, 2 for one that names its kind, 1 for `*/*`.
        let exactness: Int

        static let none = Match(quality: 0, exactness: 0)

        static func < (left: Match, right: Match) -> Bool {
            (left.quality, left.exactness) < (right.quality, right.exactness)
        }
    }

    private var ranges: [(type: String, quality: Int)] = []

    /// Reads every value and ignores invalid media ranges.
    init(_ values: [String]) {
        for value in values {
            for element in HeaderList.split(value, at: UInt8(ascii: ",")) {
                var parts = HeaderList.split(element, at: UInt8(ascii: ";"))[...]
                guard let type = parts.popFirst()?.lowercased(), type.contains("/"),
                    let quality = Self.quality(parts)
                else { continue }
                ranges.append((type, quality))
            }
        }
    }

    /// The match of the most exact range that covers `mediaType`, which is in lower case.
    func match(_ mediaType: String) -> Match {
        let kind = mediaType.prefix(while: { $0 != "/" })
        for (exactness, range) in [(3, mediaType), (2, "\(kind)/*"), (1, "*/*")] {
            let qualities = ranges.filter { $0.type == range }.map(\.quality)
            if let quality = qualities.max() {
                return Match(quality: quality, exactness: exactness)
            }
        }
        return .none
    }

    /// Whether a media type in lower case is accepted by its name.
    func names(_ mediaType: String) -> Bool {
        let match = match(mediaType)
        return match.exactness == 3 && match.quality > 0
    }

    /// The weight in thousandths; 1 where none is given, nil where it cannot be read.
    private static func quality(_ parameters: ArraySlice<String>) -> Int? {
        let weight = parameters.first { parameter in
            let name = parameter.prefix(while: { $0 != "=" })
            return name == "q" || name == "Q"
        }
        guard let weight else { return 1_000 }
        let text = weight.dropFirst(2)
        let digits = text.dropFirst(2)
        guard text.utf8.count <= 5, let first = text.utf8.first,
            text.dropFirst().first.map({ $0 == "." }) ?? true,
            digits.utf8.allSatisfy(\.isASCIIDigit)
        else { return nil }
        let thousandths = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count))
        switch first {
        case UInt8(ascii: "0"): return thousandths
        case UInt8(ascii: "1"): return thousandths == 0 ? 1_000 : nil
        default: return nil
        }
    }
}
