/// What a target is, as far as effects ask: base, or what the effects before made of it.
package enum TargetContent: Equatable, Sendable {
    /// Nobody knows: it is not in the cache, and no effect said it.
    case unknown
    /// The origin said that there is nothing, or an effect did.
    case deleted
    case json(JSONValue)
    /// Bytes that are no JSON, which are kept elsewhere.
    case opaque
}
