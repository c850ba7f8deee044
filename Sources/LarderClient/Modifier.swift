/// A write: what it changes here, at once, and the request that changes it on the server, as soon
/// as that can be sent.
///
///     let like = Modifier(.merge(["liked": true]), on: "https://api.example.com/articles/42")
///     try await larder.write(like)
///
/// Modifiers of the same target, or of the same ``lane``, are sent in the order in which they were
/// accepted.
public struct Modifier: Equatable, Sendable {
    /// One target, and how it alters.
    public struct Change: Equatable, Sendable {
        /// An entry, or an entity.
        public var target: Target
        /// How it alters.
        public var effect: Effect

        /// A change.
        public init(_ effect: Effect, on target: Target) {
            self.target = target
            self.effect = effect
        }

        /// A change of an entry, by its id, which for a server's is its URL.
        public init(_ effect: Effect, on id: String) {
            self.init(effect, on: .entry(id))
        }

        /// A change of an entity, by its key, which shows in every answer that has it.
        ///
        /// The origin may be nil while only one has rules.
        public init(_ effect: Effect, onEntity key: String, origin: String? = nil) {
            self.init(effect, on: .entity(key, origin: origin))
        }
    }

    /// What becomes of it when bytes of it left and no clear answer came.
    public enum UnknownRule: String, Sendable, CaseIterable {
        /// It is sent again if that cannot do it twice, and waits for a person otherwise.
        case auto
        /// It is sent again with the same idempotency key.
        case resend
        /// It waits for a person.
        case hold
    }

    /// Its name: 1 to 128 letters, digits, `.`, `_`, `:`, `@` and `-`; nil has each write draw one.
    ///
    /// The same modifier given again under its name is accepted once; another one under the same
    /// name is ``LarderError/invalid(_:)``. So what was cut off can be given again.
    public var id: String?
    /// What it changes here: at most 100 targets, none of them twice.
    public var changes: [Change]
    /// What is sent; nil: what follows from a single change of `put` (PUT), `merge`, `patch`
    /// (PATCH) or `delete` (DELETE), to the target's own URL; that of an entity is the `url` of the
    /// origin's rule for its type.
    public var request: Request?
    /// A name that it shares with what is to be sent in order with it.
    public var lane: String?
    /// The ids of modifiers that are to be confirmed first; if one fails, so does this one.
    public var dependsOn: [String] = []
    /// How long it is kept back, so that ``LarderClient/cancelModifier(_:dropping:scope:)`` undoes it.
    public var hold: Duration?
    /// How long it may wait for its first attempt; it is dead after that.
    public var expires: Duration?
    /// Attempts that count before it is dead, 1 or more; nil: without a bound.
    public var attemptsMax: Int?
    /// Nil leaves it to the settings of the origin.
    public var unknownRule: UnknownRule?

    /// A write of several changes, or of none.
    public init(changes: [Change], request: Request? = nil) {
        self.changes = changes
        self.request = request
    }

    /// A write of one change of an entry, by its id, which for a server's is its URL.
    public init(_ effect: Effect, on id: String, request: Request? = nil) {
        self.init(changes: [Change(effect, on: id)], request: request)
    }

    /// A write of one change of an entity, by its key, which shows in every answer that has it.
    ///
    ///     try await larder.write(Modifier(.merge(["name": "Ada"]), onEntity: "User:7"))
    ///
    /// - Parameters:
    ///   - effect: How it alters; it stays a JSON object.
    ///   - key: `Type:id`, such as `User:7`.
    ///   - origin: Whose it is; may be nil while only one origin has rules.
    ///   - request: What is sent; nil: as ``request`` says.
    public init(
        _ effect: Effect,
        onEntity key: String,
        origin: String? = nil,
        request: Request? = nil
    ) {
        self.init(changes: [Change(effect, onEntity: key, origin: origin)], request: request)
    }
}

extension Modifier {
    /// What modifiers have in common that are sent one after the other.
    public enum Lane: Hashable, Sendable {
        /// A target, by its id.
        case target(String)
        /// A target that is an entity.
        case entity(EntityID)
        /// A name that programs give.
        case name(String)
    }
}
