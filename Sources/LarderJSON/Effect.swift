/// What a modifier does to its target, as data: so it survives restarts and upgrades.
///
/// Applying it is pure and total: one that does not fit what the target is now changes nothing,
/// says why (``Inapplicability``), and is still sent.
package enum Effect: Equatable, Sendable {
    /// The value becomes this one.
    case put(JSONValue)
    /// The body becomes the one of the modifier's request, which is no JSON.
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
    /// Nothing is changed: it is about the request only.
    case none

    /// Its name on the wire and on disk.
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
        }
    }

    package static let typeNames = [
        "put", "replace", "merge", "patch", "set", "add", "list_add", "list_remove", "delete",
        "none",
    ]
}
