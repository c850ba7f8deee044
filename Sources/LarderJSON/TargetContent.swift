/// State of a target for the next effect: base, or the result of the effects before.
package enum TargetContent: Equatable, Sendable {
    /// The target is not in the cache, and no effect gave it a value.
    case unknown
    /// The origin or an effect has deleted the target.
    case deleted
    case json(JSONValue)
    /// Bytes that are not JSON; the store keeps them.
    case opaque
}
