package import LarderAPI
import LarderJSON
package import LarderModel
import LarderWire

/// An eviction with checked values.
package struct EvictOrder: Equatable, Sendable {
    /// Which entries are evicted: one way at a time.
    package enum Selection: Equatable, Sendable {
        /// 1 to ``Limits/evictIDsMax`` entries and entities.
        case ids([EntryID])
        case prefix(String)
        case origin(OriginName)
        /// Entries that were stored or confirmed longer ago.
        case olderThan(Duration)
        /// The least recently used, until the accounted size is at most this.
        case toBytes(ByteSize)
        case all
    }

    package var selection: Selection
    /// Tells what would be evicted, and evicts nothing.
    package var isDryRun = false
    /// Whether pinned entries are unpinned and evicted too.
    package var includesPinned = false

    package init(_ selection: Selection) {
        self.selection = selection
    }

    package init(_ command: EvictCommand) throws(Problem) {
        let found = try Self.selections(command)
        guard let selection = found.first, found.count == 1 else {
            throw Problem(
                .badRequest,
                found.isEmpty ? "nothing is selected" : "more than one selection is given",
                hint: "Give exactly one of ids, prefix, origin, older_than, to_bytes and all."
            )
        }
        self.selection = selection
        isDryRun = command.dryRun ?? false
        includesPinned = command.includePinned ?? false
    }

    private static func selections(_ command: EvictCommand) throws(Problem) -> [Selection] {
        var found: [Selection] = []
        if let ids = command.ids {
            guard (1...Limits.evictIDsMax).contains(ids.count) else {
                throw Problem(
                    .badRequest,
                    "ids: \(ids.count) are given, 1 to \(Limits.evictIDsMax) are taken"
                )
            }
            found.append(
                .ids(try ids.map { text throws(Problem) in try EntryID(command: text, of: "ids") })
            )
        }
        if let prefix = command.prefix {
            found.append(.prefix(try EntryID.prefix(command: prefix)))
        }
        if let origin = try OriginName?(command: command.origin) { found.append(.origin(origin)) }
        if let age = command.olderThan { found.append(.olderThan(age)) }
        if let size = command.toBytes { found.append(.toBytes(try Self.size(size))) }
        if let all = command.all {
            guard all else { throw Problem(.badRequest, "all: false selects nothing") }
            found.append(.all)
        }
        return found
    }

    /// A text with a unit, or a number of bytes.
    private static func size(_ json: RawJSON) throws(Problem) -> ByteSize {
        let value = (try? JSONValue(parsing: json.bytes)) ?? .null
        if let bytes = value.integer {
            guard bytes >= 0 else {
                throw Problem(.badRequest, "to_bytes: \(bytes) is less than 0")
            }
            return ByteSize(bytes: bytes)
        }
        guard let text = value.string else {
            throw Problem(
                .badRequest,
                "'to_bytes' is \(value.kindText), a size or a whole number is needed"
            )
        }
        return try Problem.checking("to_bytes") { () throws(ModelError) in
            try ByteSize(unit: text)
        }
    }
}
