import LarderJSON
import LarderWire

extension LarderAPI.ModifierCommand {
    /// How a target's value alters.
    ///
    /// One that does not fit what is there changes nothing here, and is sent all the same. Places
    /// are JSON pointers (RFC 6901), such as `/tags/0`.
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
        /// The member by which objects are told apart; nil: by all of them.
        public var key: String?

        /// Values that are told apart by `key`.
        public init(_ values: [JSON], by key: String? = nil) {
            self.values = values
            self.key = key
        }

        /// Values that are told apart by what they are.
        public init(arrayLiteral elements: JSON...) {
            self.init(elements)
        }
    }
}

extension Modifier.Effect {
    /// As it travels.
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
