@_exported public import LarderAPI
package import LarderModel

/// A client of the daemon; one per program is enough, and any task may use it.
///
///     let larder = LarderClient()
///     for try await update in larder.fetch("https://api.example.com/42", as: Article.self) {
///         if case .value(let article) = update { show(article.value) }
///     }
///     await larder.shutdown()
///
/// The first request that finds a daemon decides whether the client uses the user's own daemon or
/// the system's. The client keeps this choice, and keeps connections open between requests.
///
/// The client does not follow redirects. It repeats a ``write(_:)`` once if the answer was cut off,
/// with the same modifier id, and an ``edit(_:to:scope:)``. ``follow(_:options:)``,
/// ``observe(_:as:options:decoder:)``, ``watch(_:)``, ``provideCredential(at:renew:)`` and the wait
/// of ``modifier(_:waitingFor:scope:)`` connect again after a break. The client repeats no other
/// request.
public final class LarderClient: Sendable {
    /// Account whose credential and rows the requests use; `default` unless another is named.
    public let account: String
    /// Name of the client in its changes and watches.
    ///
    /// A watch marks the changes made under its own name (``ChangeFrame/isOwn``).
    public let name: String
    let connection: DaemonConnection
    let time: ClientTime

    /// A client of the daemon at `socket`; nothing is opened before the first request.
    ///
    /// - Parameters:
    ///   - socket: Where the daemon listens.
    ///   - account: 1 to 64 letters, digits, `.`, `_`, `@` and `-`. If it is invalid, the requests
    ///     that use it throw.
    ///   - name: 1 to 64 visible ASCII characters; nil: a random UUID. If it is invalid, each
    ///     request throws.
    public convenience init(
        socket: SocketLocation = .found,
        account: String = "default",
        name: String? = nil
    ) {
        self.init(trying: socket.candidates, account: account, name: name)
    }

    /// A client of the first of several sockets on which a daemon listens.
    package init(
        trying sockets: [String],
        account: String = "default",
        name: String? = nil,
        time: ClientTime = .system
    ) {
        self.time = time
        self.account = account
        self.name = name ?? time.generateID()
        connection = DaemonConnection(paths: sockets, name: self.name, time: time)
    }

    /// Closes every connection, also of open streams, and returns when all are closed.
    ///
    /// A client that is released without this call closes its connections in the background.
    public func shutdown() async { await connection.shutdown() }
}

/// The elements of one of the client's sequences, made one at each call of `next()`.
public struct ClientIterator<Element: Sendable>: AsyncIteratorProtocol {
    private let make: () async throws(LarderError) -> Element?

    init(_ make: @escaping () async throws(LarderError) -> Element?) { self.make = make }

    /// The next element; nil after the last.
    public mutating func next() async throws(LarderError) -> Element? { try await make() }

    /// The same, called by `for try await`.
    public mutating func next(
        isolation actor: isolated (any Actor)?
    ) async throws(LarderError) -> Element? {
        try await make()
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias ModifierState = LarderModel.ModifierState
package typealias Timestamp = LarderModel.Timestamp
