import LarderWire

/// One step of a fetch whose bodies are decoded.
public enum TypedUpdate<Value: Sendable>: Sendable {
    /// What is known of the URL now.
    case value(TypedSnapshot<Value>)
    /// The network has what the value before showed.
    case unchanged
    /// The origin says that it is gone.
    case deleted
    /// The network failed after the cached answer, which stays.
    case failed(Problem)
}

/// A decoded body, and what is known of it.
public struct TypedSnapshot<Value: Sendable>: Sendable {
    /// The body.
    public let value: Value
    /// All else.
    public let snapshot: Snapshot

    /// Whether it is what was cached or what the network said.
    public var source: AnswerSource { snapshot.source }
    /// Whether it is past its lifetime.
    public var isStale: Bool { snapshot.stale }
    /// How long ago the origin gave or confirmed it.
    public var age: Duration { snapshot.age }
}
