import LarderJSON
package import LarderModel

/// A modifier: changes of entries here, and the request that makes them at the origin.
public struct ModifierCommand: Codable, Equatable, Sendable {
    /// Id of the modifier, which makes a repeated request the same; without it, the daemon's choice.
    @OmittedWhenNil public var id: String?
    /// Changes, at most 100 and one for each target.
    @OmittedWhenNil public var changes: [ModifierChange]?
    /// The request; without it, it follows from a single change of put, merge, patch or delete.
    @OmittedWhenNil public var request: ModifierRequestCommand?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?
    /// Name of a further lane.
    @OmittedWhenNil public var lane: String?
    /// Ids of modifiers that are confirmed before; at most 100.
    @OmittedWhenNil public var dependsOn: [String]?
    /// Time for which it is held back, so that it can be cancelled.
    @OmittedWhenNil public var hold: Duration?
    /// Time limit of its first attempt.
    @OmittedWhenNil public var expires: Duration?
    /// Number of attempts before it fails; without it, no limit.
    ///
    /// - Range: 1...
    @OmittedWhenNil public var maxAttempts: Int?
    /// The next step if it may have reached the origin; without it, by the origin's rule.
    @OmittedWhenNil public var afterUnknown: UnknownRule?
    /// Whether an If-Match protects what others wrote; without it, by the origin's rule.
    @OmittedWhenNil public var ifMatch: MatchRule?
    /// The next step if another device has changed the same; without it, by the origin's rule.
    @OmittedWhenNil public var onConflict: ConflictRule?

    /// A modifier with nothing but its changes.
    public init(changes: [ModifierChange]? = nil) { self.changes = changes }
}

/// Changes and a request that replace those of a modifier, by the rules of a new one.
public struct ModifierEdit: Codable, Equatable, Sendable {
    /// Changes, at most 100 and one for each target.
    @OmittedWhenNil public var changes: [ModifierChange]?
    /// The request; without it, it follows from a single change of put, merge, patch or delete.
    @OmittedWhenNil public var request: ModifierRequestCommand?

    /// These changes, and this request or the one that follows from them.
    public init(changes: [ModifierChange], request: ModifierRequestCommand? = nil) {
        self.changes = changes
        self.request = request
    }

    /// A modifier with nothing else.
    package var command: ModifierCommand {
        var command = ModifierCommand(changes: changes)
        command.request = request
        return command
    }
}

/// Several modifiers of one account.
public struct ModifiersCommand: Codable, Equatable, Sendable {
    /// The modifiers, 1 to 1,000.
    public var modifiers: [ModifierCommand]

    /// These modifiers.
    public init(modifiers: [ModifierCommand]) { self.modifiers = modifiers }
}

/// A change of one target.
public struct ModifierChange: Codable, Equatable, Sendable {
    /// The entry or entity.
    public var target: TargetName
    /// The effect: an object with `type` and the members of that type.
    @OmittedWhenNil public var effect: RawJSON?
    /// Several effects in place of one, applied in this order: all of them or none; 1 to 100.
    @OmittedWhenNil public var effects: [RawJSON]?

    /// An effect on a target.
    public init(target: TargetName, effect: RawJSON) {
        self.target = target
        self.effect = effect
    }

    /// Several effects on a target, in their order.
    public init(target: TargetName, effects: [RawJSON]) {
        self.target = target
        self.effects = effects
    }

    /// A change as `state.db` has it.
    package init(_ id: EntryID, storedEffect bytes: [UInt8]) {
        let effect = RawJSON(quoting: bytes)
        self.init(target: TargetName(id: id.description), effect: effect)
        guard bytes.first == UInt8(ascii: "["),
            let elements = (try? JSONValue(parsing: bytes))?.elements
        else { return }
        self.effect = nil
        effects = elements.map(RawJSON.init)
    }

    /// About how long its JSON is.
    package var byteCount: Int {
        let effects = (effect.map { [$0] } ?? []) + (effects ?? [])
        return effects.reduce(target.id.utf8.count) { $0 + $1.bytes.count }
    }
}

/// The request of a modifier, with at most one body.
public struct ModifierRequestCommand: Codable, Equatable, Sendable {
    /// Method of the request.
    public var method: String
    /// URL of the request, which belongs to an origin.
    public var url: String
    /// Header fields of the request.
    @OmittedWhenNil public var headers: NamedValues<String>?
    /// The body, if it is JSON.
    @OmittedWhenNil public var body: RawJSON?
    /// The body, if it is a text.
    @OmittedWhenNil public var bodyText: String?
    /// The body in Base64.
    @OmittedWhenNil public var bodyB64: String?
    /// Id of the entry that has the body.
    @OmittedWhenNil public var bodyEntry: String?

    /// A request without a body.
    public init(method: String, url: String) {
        self.method = method
        self.url = url
    }
}

/// New state of a lane.
public struct LaneCommand: Codable, Equatable, Sendable {
    /// Whether nothing of the lane is sent until it is resumed.
    public var paused: Bool

    /// A lane that is paused, or goes on.
    public init(paused: Bool) { self.paused = paused }
}

/// A lane of a user and account.
public struct LaneItem: Codable, Equatable, Sendable {
    /// The lane: `id:ID` or `name:NAME`.
    public var lane: String
    /// Whether nothing of it is sent.
    public var paused: Bool
    /// Number of the user.
    public var user: UInt32
    /// Name of the account.
    public var account: String

    package init(lane: String, paused: Bool, user: UInt32, account: String) {
        (self.lane, self.paused) = (lane, paused)
        (self.user, self.account) = (user, account)
    }
}

/// The parameters of a list of modifiers.
public struct ModifierListQuery: Codable, Equatable, Sendable {
    /// A state, `settled` or `unsettled`; without it, unsettled ones and dead letters.
    @OmittedWhenNil public var state: String?
    /// A lane: `id:ID`, `name:NAME`.
    @OmittedWhenNil public var lane: String?
    /// Time to wait until none is left; with `unsettled` only, and without confirmed ones.
    @OmittedWhenNil public var wait: Duration?
    /// Which page.
    @Flattened public var page = PageQuery()
    /// Owner of the modifiers.
    @Flattened public var rows = ScopeQuery()

    /// The first page of the client's own modifiers.
    public init() {}
}

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
    @Flattened public var rows = ScopeQuery()

    /// An action on modifiers by their ids.
    public init(_ action: ModifierAction, ids: [String]) {
        self.action = action
        self.ids = ids
    }

    /// An action on all modifiers in a state.
    public init(_ action: ModifierAction, state: ModifierState, origin: String? = nil) {
        self.action = action
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
    /// Forgets one that has failed.
    public static let drop = ModifierAction(rawValue: "drop")
    /// Gives one up of which bytes may have left: it has failed then, and its targets are read
    /// again.
    public static let discard = ModifierAction(rawValue: "discard")

    /// Every value that this version knows.
    public static let known: [ModifierAction] = [.retry, .cancel, .drop, .discard]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
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

/// A credential that a user gives for an account at an origin.
public struct CredentialCommand: Codable, Equatable, Sendable {
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?
    /// Name of the header field; without it, `Authorization`.
    @OmittedWhenNil public var header: String?
    /// The secret: the whole value of the header field, up to 16 KiB.
    @OmittedWhenNil public var value: String?
    /// Absolute path of a file that has the value on one line, instead of ``value``: for a daemon of
    /// the user's own, which reads it again when it changes.
    @OmittedWhenNil public var file: String?
    /// Time until which the origin is likely to take it.
    @OmittedWhenNil public var expires: Timestamp?
    /// Lease of the order to renew; without it, the credential counts in any case.
    @OmittedWhenNil public var lease: String?

    /// A value for `Authorization`.
    public init(value: String) { self.value = value }

    /// The value in a file, for `Authorization`.
    public init(file: String) { self.file = file }
}

/// A wait for the order to renew a credential.
public struct RenewalQuery: Codable, Equatable, Sendable {
    /// Time to wait; without it, until the order comes.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var wait: Duration?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A wait without end for the default account.
    public init() {}
}
