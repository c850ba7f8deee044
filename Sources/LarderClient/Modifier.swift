import LarderJSON
import LarderModel
import LarderWire

/// A write: the local changes, and the request that makes them on the server.
///
///     let like = Modifier(.merge(["liked": true]), on: "https://api.example.com/articles/42")
///     try await larder.write(like)
///
/// The local changes show immediately. The daemon sends the request as soon as it can. It sends
/// modifiers of the same target or lane in the order in which it accepted them.
///
/// Without an `id`, each write uses a random one. The daemon accepts the same modifier with the
/// same id once, so a program can repeat a write whose answer was cut off.
public typealias Modifier = LarderAPI.ModifierCommand

extension LarderAPI.ModifierCommand {
    /// A write of several changes, or of none.
    public init(changes: [LarderAPI.ModifierChange], request: ModifierRequestCommand?) {
        self.init(changes: changes)
        self.request = request
    }

    /// A write of one change of an entry or an entity, by its id.
    ///
    /// - Parameters:
    ///   - effect: How the value changes; an entity stays a JSON object.
    ///   - id: A URL, an entity's id, or a program's own id.
    ///   - request: The request; nil: the daemon derives it from the effect.
    public init(_ effect: Effect, on id: String, request: ModifierRequestCommand? = nil) {
        self.init(changes: [.init(effect, on: id)], request: request)
    }

    /// The modifier of an account, with an id.
    func of(_ account: AccountName, _ time: ClientTime) -> Self {
        var command = self
        if account != .default { command.account = account.text }
        command.id = id ?? time.generateID()
        return command
    }
}

extension ModifierEdit {
    /// The changes and the request of a modifier; nil if its report does not have all of them.
    ///
    /// A report has 1 MiB of the effects and of the body at most, the body only as JSON or a text.
    /// In the history it has none, and in lists 64 KiB of those of failed modifiers.
    public init?(_ report: ModifierReport) {
        guard let changes = report.changes, report.moreChanges == nil,
            let request = ModifierRequestCommand(report.request)
        else { return nil }
        self.init(changes: changes, request: request)
    }
}

extension ModifierRequestCommand {
    fileprivate init?(_ told: ModifierRequest) {
        self.init(method: told.method, url: told.url)
        var fields = told.headers?.members ?? []
        if let type = told.contentType { fields.append(.init("Content-Type", type)) }
        if !fields.isEmpty { headers = NamedValues(fields) }
        guard told.bodyBytes > 0 else { return }
        guard let body = told.body else { return nil }
        // A quoted text is longer than the body.
        if body.bytes.count == told.bodyBytes {
            let isJSON = told.contentType.map(MediaType.isAnyJSON) ?? true
            if isJSON { self.body = body } else { bodyText = body.text }
        } else if case .string(let text)? = try? JSONValue(parsing: body.bytes),
            text.utf8.count == told.bodyBytes, !text.unicodeScalars.contains("\u{FFFD}")
        {
            bodyText = text
        } else {
            return nil
        }
    }
}

extension LarderAPI.ModifierChange {
    /// A change of an entry or an entity, by its id.
    public init(_ effect: Modifier.Effect, on id: String) {
        self.init(target: TargetName(id: id), effect: RawJSON(effect.json))
    }

    /// Several effects on one entry or entity, applied in this order: all of them or none.
    public init(_ effects: [Modifier.Effect], on id: String) {
        self.init(target: TargetName(id: id), effects: effects.map { RawJSON($0.json) })
    }
}

extension ModifierRequestCommand {
    /// A request, with a body of JSON or without one; its other bodies are properties.
    public init(
        _ method: String,
        _ url: String,
        headers: [String: String] = [:],
        body: JSON? = nil
    ) {
        self.init(method: method, url: url)
        if !headers.isEmpty {
            let fields = headers.sorted { $0.key < $1.key }
            self.headers = NamedValues(fields.map { .init($0.key, $0.value) })
        }
        self.body = body.map { RawJSON($0.value) }
    }

    /// The body, of any bytes.
    public var bodyBytes: [UInt8]? {
        get { bodyB64.flatMap { Base64.decode($0) } }
        set { bodyB64 = newValue.map { Base64.encode($0) } }
    }
}

extension LarderAPI.ModifierCommand {
    /// How a target's value changes.
    ///
    /// An effect that does not fit the cached value changes nothing locally; the daemon still sends
    /// its request. Places are JSON pointers (RFC 6901), such as `/tags/0`.
    public enum Effect: Equatable, Sendable {
        /// The value becomes this one.
        case put(JSON)
        /// JSON Merge Patch (RFC 7396): members are set, and those that are null are removed.
        case merge(JSON)
        /// JSON Patch (RFC 6902): an array of operations, all of them or none.
        case patch(JSON)
        /// Assigns at places, and removes at others before; parents that are missing are made.
        case set([String: JSON], unset: [String] = [])
        /// Adds to the numbers at these places, exactly.
        case add([String: JSON])
        /// Appends to the lists at these places what they do not have yet.
        case listAdd([String: ListChange])
        /// Takes out of the lists at these places.
        case listRemove([String: ListChange])
        /// The entry, or the entity, is gone.
        case delete
        /// Nothing shows; the request is sent in its turn.
        case nothing
    }

    /// Values for a list, or of one: `["new"]`.
    public struct ListChange: Equatable, Sendable, ExpressibleByArrayLiteral {
        /// The values.
        public var values: [JSON]
        /// Member that identifies an object of the list; nil: all members do.
        public var key: String?

        /// Values whose objects are identified by `key`.
        public init(_ values: [JSON], by key: String? = nil) {
            self.values = values
            self.key = key
        }

        /// Values without a key.
        public init(arrayLiteral elements: JSON...) { self.init(elements) }
    }
}

extension Modifier.Effect {
    var json: JSONValue {
        switch self {
        case .put(let value): Self.json("put", value.value)
        case .merge(let value): Self.json("merge", value.value)
        case .patch(let operations): Self.json("patch", operations.value)
        case .set(let values, let unset):
            Self.json(
                "set",
                .object([
                    JSONMember(name: "set", value: Self.places(values) { $0.value }),
                    JSONMember(name: "unset", value: .array(unset.map { .string($0) })),
                ])
            )
        case .add(let numbers): Self.json("add", Self.places(numbers) { $0.value })
        case .listAdd(let changes): Self.json("list_add", Self.places(changes) { $0.json })
        case .listRemove(let changes): Self.json("list_remove", Self.places(changes) { $0.json })
        case .delete: Self.json("delete")
        case .nothing: Self.json("none")
        }
    }

    private static func json(_ type: String, _ value: JSONValue? = nil) -> JSONValue {
        let members = [JSONMember(name: "type", value: .string(type))]
        return .object(members + (value.map { [JSONMember(name: "value", value: $0)] } ?? []))
    }

    /// In the order of the pointers, so that what is around comes before what is within.
    private static func places<Value>(
        _ values: [String: Value],
        _ json: (Value) -> JSONValue
    ) -> JSONValue {
        .object(
            values.sorted { $0.key < $1.key }.map {
                JSONMember(name: $0.key, value: json($0.value))
            }
        )
    }
}

extension Modifier.ListChange {
    fileprivate var json: JSONValue {
        let list = JSONValue.array(values.map(\.value))
        guard let key else { return list }
        return .object([
            JSONMember(name: "by", value: .string(key)), JSONMember(name: "values", value: list),
        ])
    }
}
