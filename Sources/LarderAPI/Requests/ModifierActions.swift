/// An action on modifiers: on those of ``ids``, or on all in ``state``.
public struct ModifierActionCommand: Codable, Equatable, Sendable {
    /// The action.
    public var action: ModifierAction
    /// Ids of modifiers, 1 to 1,000.
    @OmittedWhenNil public var ids: [String]?
    /// A state, for all modifiers in it.
    @OmittedWhenNil public var state: ModifierState?
    /// Name of an origin, with ``state``: only modifiers whose requests go there.
    @OmittedWhenNil public var origin: String?
    /// The `next` of the answer before, with ``state``.
    @OmittedWhenNil public var cursor: String?
    /// Owner of the modifiers.
    @Flattened public var rows: ScopeQuery

    /// An action on modifiers by their ids.
    public init(_ action: ModifierAction, ids: [String]) {
        (self.action, rows) = (action, ScopeQuery())
        self.ids = ids
    }

    /// An action on all modifiers in a state.
    public init(_ action: ModifierAction, state: ModifierState, origin: String? = nil) {
        (self.action, rows) = (action, ScopeQuery())
        (self.state, self.origin) = (state, origin)
    }
}

/// An action on a modifier.
public struct ModifierAction: WireEnum {
    /// Queues one again that waits or has failed, a failed one at the end of the queue with another
    /// idempotency key.
    public static let retry = ModifierAction(rawValue: "retry")
    /// Takes one back that cannot have been applied, with those that depend on it.
    public static let cancel = ModifierAction(rawValue: "cancel")
    /// Forgets one that has failed, or takes it back as `cancel` does.
    public static let drop = ModifierAction(rawValue: "drop")
    /// Gives one up of which bytes may have left: it has failed then, and its targets are read
    /// again.
    ///
    /// One that has failed is forgotten.
    public static let discard = ModifierAction(rawValue: "discard")

    /// Every value that this version knows.
    public static let known: [ModifierAction] = [.retry, .cancel, .drop, .discard]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The outcome of an action for a modifier.
public struct ModifierActionResult: Codable, Equatable, Sendable {
    /// Id of the modifier.
    public var id: String
    /// State of the modifier after the action; null if it is forgotten, or for a problem.
    public var state: ModifierState?
    /// Why the action was not done; null if it was.
    public var problem: Problem?

    package init(id: String, state: ModifierState? = nil, problem: Problem? = nil) {
        (self.id, self.state, self.problem) = (id, state, problem)
    }
}
