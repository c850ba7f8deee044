/// Why the socket cannot be served.
package enum ServerError: Error, Equatable {
    /// Another process answers on it.
    case socketInUse(path: String)
    /// What stands at the path is no socket.
    case notASocket(path: String)
    case cannotListen(path: String, reason: String)
    /// The kernel does not say who connected.
    case unknownPeer

    package var message: String {
        switch self {
        case .socketInUse(let path): "another process listens on \(path)"
        case .notASocket(let path): "\(path) exists and is no socket"
        case .cannotListen(let path, let reason): "cannot listen on \(path): \(reason)"
        case .unknownPeer: "the kernel does not say who connected"
        }
    }
}
