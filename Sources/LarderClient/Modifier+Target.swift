import LarderModel
import LarderWire

extension Modifier {
    /// What a change is of.
    public enum Target: Hashable, Sendable {
        /// An entry by its id, which for a server's is its URL.
        case entry(String)
        /// An entity by its key, such as `User:7`; the origin whose it is may be nil while only
        /// one has rules.
        case entity(String, origin: String? = nil)
    }
}

extension Modifier.Target {
    /// As it travels; refused where the daemon would refuse it.
    var wire: ModifierCommand.Target {
        get throws(LarderError) {
            switch self {
            case .entry(let id): return .id(try Self.id(id))
            case .entity(let key, let origin):
                let key = try EntityKey(given: key)
                let name = try origin.map { name throws(LarderError) in
                    try LarderError.checking(.badRequest) { () throws(ModelError) in
                        try OriginName(name)
                    }
                }
                return .key(key, origin: name)
            }
        }
    }

    /// An id, in its one spelling where it is a URL.
    static func id(_ text: String) throws(LarderError) -> EntryID {
        try LarderError.checking(.badID) { () throws(ModelError) in
            guard text.contains("://"), let url = try? WebURL(text) else {
                return try EntryID(text)
            }
            return try EntryID(url)
        }
    }
}
