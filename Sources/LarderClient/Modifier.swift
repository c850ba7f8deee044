import LarderJSON
import LarderModel
import LarderWire

/// A write: what it changes here, at once, and the request that changes it on the server, as soon
/// as that can be sent.
///
///     let like = Modifier(.merge(["liked": true]), on: "https://api.example.com/articles/42")
///     try await larder.write(like)
///
/// Modifiers of the same target, or of the same lane, are sent in the order in which they were
/// accepted. Without an `id` each write draws one. The same modifier under the same id is accepted
/// once, so what was cut off can be given again.
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
    ///   - effect: How it alters; an entity stays a JSON object.
    ///   - id: A URL, an entity's id, or a program's own.
    ///   - request: What is sent; nil: what follows from the effect.
    public init(_ effect: Effect, on id: String, request: ModifierRequestCommand? = nil) {
        self.init(changes: [.init(effect, on: id)], request: request)
    }

    /// The modifier of an account, with an id.
    func of(_ account: AccountName, _ time: ClientTime) -> Self {
        var command = self
        if account != .default { command.account = account.text }
        command.id = id ?? time.drawnName()
        return command
    }
}

extension LarderAPI.ModifierChange {
    /// A change of an entry or an entity, by its id.
    public init(_ effect: Modifier.Effect, on id: String) {
        self.init(target: TargetName(id: id), effect: RawJSON(effect.json))
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
