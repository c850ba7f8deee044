import Glibc

/// Where the server takes clients from, and what has to be done about it at the end.
enum ListeningSocket {
    /// Made by the daemon at a path, and taken away by it.
    case own(SocketFile)
    /// Opened by whoever started the daemon: its file is theirs.
    case inherited(descriptor: Int32)

    init(_ configuration: Server.Configuration) throws(ServerError) {
        if let descriptor = configuration.inherited {
            self = .inherited(descriptor: descriptor)
        } else {
            self = .own(try SocketFile(path: configuration.path, mode: configuration.mode))
        }
    }

    var descriptor: Int32 {
        switch self {
        case .own(let file): file.descriptor
        case .inherited(let descriptor): descriptor
        }
    }

    /// Gives clients the longest queue that the kernel grants.
    ///
    /// To be called once SwiftNIO has the socket: it listens on it anew, with room for 128, and
    /// whatever option says otherwise.
    func lengthenQueue() throws(ServerError) {
        guard listen(descriptor, SOMAXCONN) == 0 else {
            throw .cannotListen(path: "the socket", reason: String(cString: strerror(errno)))
        }
    }

    /// Takes the socket's file away if it is the daemon's.
    func remove() {
        switch self {
        case .own(let file): file.remove()
        case .inherited: break
        }
    }
}
