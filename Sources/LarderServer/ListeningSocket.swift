import Glibc
import NIOCore
import Synchronization

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

    /// What clients do not find any more.
    enum Fault {
        case own(SocketFile)
        case inherited(path: String)
    }

    /// Nil while clients find the socket's file.
    var fault: Fault? {
        switch self {
        case .own(let file): file.isGone ? .own(file) : nil
        case .inherited(let descriptor):
            SocketFile.path(of: descriptor).flatMap { path in
                access(path, F_OK) == 0 || errno != ENOENT ? nil : .inherited(path: path)
            }
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

/// A socket with the channel that takes clients from it.
struct Listener: Sendable {
    let socket: ListeningSocket
    let channel: any Channel
}

/// The one listener at a time; another takes its place where its file was removed.
final class Door: Sendable {
    private let listener: Mutex<Listener>

    init(_ listener: Listener) {
        self.listener = Mutex(listener)
    }

    var socket: ListeningSocket { listener.withLock { $0.socket } }

    /// Clients of the one before go on.
    func replace(with listener: Listener) async {
        let old = self.listener.withLock { current in
            defer { current = listener }
            return current
        }
        try? await old.channel.close().get()
    }

    /// Takes no more clients, and takes the socket's file away if it is the daemon's.
    func close() async {
        let listener = listener.withLock { $0 }
        try? await listener.channel.close().get()
        listener.socket.remove()
    }
}
