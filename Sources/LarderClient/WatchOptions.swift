import LarderModel
import LarderWire

/// What a watch is about.
public struct WatchOptions: Sendable {
    /// Ids, which need not exist yet; none of these, no keys and no prefixes: everything of the
    /// account.
    public var ids: [String] = []
    /// Entities, by their keys, which need not exist yet.
    public var keys: [String] = []
    /// Whose the keys are; nil where only one origin has rules.
    public var origin: String?
    /// What ids begin with.
    public var prefixes: [String] = []
    /// The revision that the program has seen; nil begins now.
    public var since: Int64?
    /// Whether the entries that there are come first.
    public var includesExisting = false

    /// A watch of everything, from now on.
    public init() {}

    func command() throws(LarderError) -> WatchCommand {
        var command = WatchCommand()
        command.since = since.map { Revision($0) }
        command.listsFirst = includesExisting
        command.prefixes = prefixes
        command.keys = try keys.map { key throws(LarderError) in try EntityKey(given: key) }
        command.origin = try origin.map { name throws(LarderError) in
            try LarderError.checking(.badRequest) { () throws(ModelError) in try OriginName(name) }
        }
        command.ids = try ids.map { text throws(LarderError) in
            try LarderError.checking(.badID) { () throws(ModelError) in try EntryID(text) }
        }
        return command
    }
}
