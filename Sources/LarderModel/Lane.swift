/// Ordering key of modifiers that are sent in order: a target, or a name that clients give.
///
/// Lanes of different users or accounts never meet.
package enum Lane: Hashable, Sendable, CustomStringConvertible {
    case id(EntryID)
    case name(LaneName)

    /// The lane as clients give and get it: `id:ID` or `name:NAME`.
    package var description: String {
        switch self {
        case .id(let id): "id:\(id)"
        case .name(let name): "name:\(name.text)"
        }
    }

    /// Reads a lane as a client gives it, of which an id that is a URL is normalized.
    package init(given text: String) throws(ModelError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        switch (parts.first, parts.dropFirst().first) {
        case ("id", let id?): self = .id(try EntryID(given: String(id)))
        case ("name", let name?): self = .name(try LaneName(String(name)))
        case (_, _): throw .badLane(text)
        }
    }

    /// The form in `state.db`: of an entity `key:ORIGIN/KEY`.
    package var stored: String {
        if case .id(let id) = self, let entity = id.entity { "key:\(entity)" } else { description }
    }

    /// Reads ``stored``.
    package init(stored text: String) throws(ModelError) {
        if text.hasPrefix("id:") {
            self = .id(try EntryID(String(text.dropFirst(3))))
        } else if text.hasPrefix("key:") {
            guard let entity = EntityName(text: text.dropFirst(4)) else { throw .badLane(text) }
            self = .id(EntryID(entity))
        } else {
            self = try Lane(given: text)
        }
    }
}

/// The name of a lane, as a client gives it.
///
/// Two names are the same when their bytes are.
package struct LaneName: Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Takes 1 to 128 bytes of UTF-8 without control characters (U+0000 to U+001F, U+007F).
    package init(_ text: String) throws(ModelError) {
        let utf8 = text.utf8
        guard (1...Limits.laneNameBytesMax).contains(utf8.count),
            !utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw .badLaneName(text) }
        self.text = text
    }
}

extension LaneName: Hashable {
    package static func == (left: LaneName, right: LaneName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}
