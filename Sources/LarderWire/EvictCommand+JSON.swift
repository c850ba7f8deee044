import LarderJSON
import LarderModel

extension EvictCommand {
    /// Reads the body of a POST: exactly one selection, and no unknown member.
    package init(json: [UInt8]) throws(Problem) {
        var members = try CommandMembers(json, of: Self.names)
        // What is null would select something else than what was meant.
        try members.refuseNull(Self.selectionNames)
        let selections = try Self.selections(&members)
        isDryRun = try members.takeBool("dry_run") ?? false
        includesPinned = try members.takeBool("include_pinned") ?? false
        scope = try members.takeScope()
        guard selections.count == 1, let selection = selections.first else {
            throw Problem(
                .badRequest,
                selections.isEmpty ? "nothing is selected" : "more than one selection is given",
                hint: "Give exactly one of ids, keys, prefix, origin, older_than, to_bytes and all."
            )
        }
        self.selection = selection
    }

    private static let selectionNames = [
        "ids", "keys", "prefix", "origin", "older_than", "to_bytes", "all", "scope", "account",
    ]
    private static let names = selectionNames + ["dry_run", "include_pinned"]

    /// The body that ``init(json:)`` reads back.
    package func encodedJSON() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            switch selection {
            case .ids(let ids): json.member("ids", ids.map(\.text))
            case .keys(let keys, let origin):
                json.member("keys", keys.map(\.text))
                if let origin { json.member("origin", origin.text) }
            case .prefix(let prefix): json.member("prefix", prefix)
            case .origin(let origin): json.member("origin", origin.text)
            case .olderThan(let age): json.member("older_than", age.unitText)
            case .toBytes(let size): json.member("to_bytes", size.bytes)
            case .all: json.member("all", true)
            }
            if isDryRun { json.member("dry_run", true) }
            if includesPinned { json.member("include_pinned", true) }
            for parameter in scope.parameters { json.member(parameter.name, parameter.value) }
        }
        return json.bytes
    }

    private static func selections(
        _ members: inout CommandMembers
    ) throws(Problem) -> [EvictSelection] {
        var found: [EvictSelection] = []
        if let ids = try members.take("ids", "an array of strings", { $0.elements }) {
            found.append(.ids(try Self.ids(ids)))
        }
        if let prefix = try members.takeString("prefix") {
            found.append(.prefix(try IDPrefix.checked(prefix)))
        }
        let origin = try members.takeOrigin()
        if let keys = try members.take("keys", "an array of strings", { $0.elements }) {
            found.append(.keys(try Self.keys(keys), origin: origin))
        } else if let origin {
            found.append(.origin(origin))
        }
        if let age = try members.takeString("older_than") {
            found.append(.olderThan(try Self.age(age)))
        }
        if let size = members.take("to_bytes") {
            found.append(.toBytes(try Self.size(size)))
        }
        if let all = try members.takeBool("all") {
            guard all else { throw Problem(.badRequest, "all: false selects nothing") }
            found.append(.all)
        }
        return found
    }

    private static func ids(_ elements: [JSONValue]) throws(Problem) -> [EntryID] {
        try texts(elements, "ids").map { text throws(Problem) in
            do throws(ModelError) {
                return try EntryID(given: text)
            } catch {
                throw Problem(.badID, "ids: \(error.message)")
            }
        }
    }

    private static func keys(_ elements: [JSONValue]) throws(Problem) -> [EntityKey] {
        try texts(elements, "keys").map { text throws(Problem) in try EntityKey(command: text) }
    }

    private static func texts(
        _ elements: [JSONValue],
        _ name: String
    ) throws(Problem) -> [String] {
        guard (1...Limits.evictIDsMax).contains(elements.count) else {
            throw Problem(
                .badRequest,
                "\(name): \(elements.count) are given, 1 to \(Limits.evictIDsMax) are taken"
            )
        }
        return try elements.map { element throws(Problem) in
            guard let text = element.string else {
                throw Problem(
                    .badRequest,
                    "\(name): it holds \(element.kindText), strings are needed"
                )
            }
            return text
        }
    }

    private static func age(_ text: String) throws(Problem) -> Duration {
        do throws(ModelError) {
            return try Duration(unit: text)
        } catch {
            throw Problem(.badRequest, "older_than: \(error.message)")
        }
    }

    /// A text with a unit, or a number of bytes.
    private static func size(_ value: JSONValue) throws(Problem) -> ByteSize {
        if let bytes = value.integer {
            guard bytes >= 0 else {
                throw Problem(.badRequest, "to_bytes: \(bytes) is less than 0")
            }
            return ByteSize(bytes: bytes)
        }
        guard let text = value.string else {
            throw Problem(
                .badRequest,
                "the member 'to_bytes' is \(value.kindText), a size or a whole number is needed"
            )
        }
        do throws(ModelError) {
            return try ByteSize(unit: text)
        } catch {
            throw Problem(.badRequest, "to_bytes: \(error.message)")
        }
    }
}

extension EvictReport {
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("evicted", evicted)
            json.member("bytes", bytes)
            json.member("skipped", skipped)
            json.member("ids", ids.filter { !$0.isEntity }.map(\.text))
            json.name("entities")
            json.beginArray()
            for id in ids where id.isEntity { json.object { $0.members(naming: id) } }
            json.endArray()
        }
        return json.bytes
    }

    package init(decoding json: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: json)
        evicted = try object.integer("evicted")
        bytes = try object.integer("bytes")
        skipped = try object.integer("skipped")
        ids = []
        for text in try object.strings("ids") {
            guard let id = try? EntryID(text) else {
                throw .unknownValue(member: "ids", text: text)
            }
            ids.append(id)
        }
        for entity in try object.objects("entities") { ids.append(try entity.idOrKey()) }
    }
}
