/// Change that a modifier makes to its target, as data: so it survives restarts and upgrades.
///
/// Applying an effect is pure and total. An effect that does not fit the target's value changes
/// nothing, gives the reason (``Inapplicability``), and is still sent.
package enum Effect: Equatable, Sendable {
    /// The value becomes this one.
    case put(JSONValue)
    /// The body becomes the one of the modifier's request, which is not JSON.
    case replace
    /// JSON Merge Patch, RFC 7396.
    case merge(JSONValue)
    /// JSON Patch, RFC 6902: all or nothing.
    case patch([JSONPatchOperation])
    /// Removes at some places, then assigns at others.
    case set([JSONAssignment], unset: [JSONPointer] = [])
    /// Adds to numbers, exactly.
    case add([JSONAddition])
    /// Appends to lists what they do not have yet.
    case listAdd([JSONListChange])
    case listRemove([JSONListChange])
    /// The target becomes a tombstone.
    case delete
    /// Nothing changes: the modifier is only a request.
    case none
    /// At least two, in this order, of which either all are applied or none.
    case all([Effect])

    /// Several effects as one; those that change nothing are left out.
    package init(all effects: [Effect]) {
        let effects = effects.filter { $0 != .none }
        self = effects.count > 1 ? .all(effects) : effects.first ?? .none
    }

    /// Name of the effect on the wire and on disk; several are a list there and have no name.
    package var typeName: String {
        switch self {
        case .put: "put"
        case .replace: "replace"
        case .merge: "merge"
        case .patch: "patch"
        case .set: "set"
        case .add: "add"
        case .listAdd: "list_add"
        case .listRemove: "list_remove"
        case .delete: "delete"
        case .none: "none"
        case .all: "all"
        }
    }

    package static let typeNames = [
        "put", "replace", "merge", "patch", "set", "add", "list_add", "list_remove", "delete",
        "none",
    ]
}
