@_exported public import LarderAPI
package import LarderModel

/// A program's way to the daemon: one for each program is enough, and any task may use it.
///
///     let larder = LarderClient()
///     for try await update in larder.fetch("https://api.example.com/42", as: Article.self) {
///         if case .value(let article) = update { show(article.value) }
///     }
///     await larder.shutdown()
///
/// Which daemon that is, the user's own or the system's, is decided by the first request that finds
/// one listening, and stays. No redirect is followed, and nothing is tried again but a write whose
/// answer was cut off, under the same name, and what ``follow(_:options:)`` connects anew.
/// Connections are kept open between requests.
public final class LarderClient: Sendable {
    /// Whose credential and whose rows the requests use; `default` unless another is named.
    public let account: String
    /// The name under which the client changes and watches.
    ///
    /// A watch marks the changes made under its own name (``ChangeFrame/isOwn``).
    public let name: String
    let connection: DaemonConnection
    let time: ClientTime

    /// A client of the daemon at `socket`; nothing is opened before the first request.
    ///
    /// - Parameters:
    ///   - socket: Where the daemon listens.
    ///   - account: 1 to 64 letters, digits, `.`, `_`, `@` and `-`; any other is refused by the
    ///     first request.
    ///   - name: 1 to 64 visible ASCII characters, any other is refused by the first request; nil
    ///     draws a UUID.
    public convenience init(
        socket: SocketLocation = .found,
        account: String = "default",
        name: String? = nil
    ) {
        self.init(trying: socket.candidates, account: account, name: name)
    }

    /// A client of the first of several sockets on which somebody listens.
    package init(
        trying sockets: [String],
        account: String = "default",
        name: String? = nil,
        time: ClientTime = .system
    ) {
        self.time = time
        self.account = account
        self.name = name ?? time.drawnName()
        connection = DaemonConnection(paths: sockets, name: self.name, time: time)
    }

    /// Closes every connection and returns when that is done; streams under way are cut off.
    ///
    /// Without it the connections close when nobody holds the client any more.
    public func shutdown() async {
        await connection.shutdown()
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias ModifierState = LarderModel.ModifierState
package typealias Timestamp = LarderModel.Timestamp
