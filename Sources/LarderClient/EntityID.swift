import LarderModel
import LarderWire

/// What an entity is called: its key, and the origin that it is of.
public struct EntityID: Hashable, Sendable {
    /// `Type:id`, such as `User:7`.
    public var key: String
    /// The origin's name.
    public var origin: String

    /// A name.
    public init(key: String, origin: String) {
        self.key = key
        self.origin = origin
    }
}

extension EntityID {
    init(_ name: EntityName) {
        self.init(key: name.key.text, origin: name.origin.text)
    }

    /// As the daemon knows it; refused where that would refuse it.
    var name: EntityName {
        get throws(LarderError) {
            let key = try EntityKey(given: key)
            let name = try LarderError.checking(.badRequest) { () throws(ModelError) in
                try OriginName(origin)
            }
            return EntityName(key, of: name)
        }
    }
}

extension EntryID {
    /// The id as programs give it, or an entity's key.
    var spelling: String { entity?.key.text ?? text }
}
