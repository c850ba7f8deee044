import Glibc
import NIOCore

/// The socket at a path: made for this daemon alone, and removed at its end.
///
/// The daemon never takes over a socket that a process listens on. It removes a dead socket. A lock
/// on a file next to the socket keeps apart two daemons that start at the same time.
struct SocketFile: Sendable {
    let path: String
    private let mode: mode_t
    private let lock: Int32
    /// Listens; not yet accepted from.
    let descriptor: Int32
    /// Which file it is: its device and its number there.
    private let identity: Identity?

    private struct Identity: Equatable {
        let device: dev_t
        let number: ino_t

        /// Nil where nothing is at the path.
        init?(of path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            (device, number) = (status.st_dev, status.st_ino)
        }
    }

    /// Binds and listens with the largest backlog; `mode` are the rights of the socket's file.
    init(path: String, mode: mode_t) throws(ServerError) {
        try Self.makeFolder(of: path, mode)
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .failed(path) }
        do throws(ServerError) {
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw .socketInUse(path: path) }
            try Self.removeDead(path)
            descriptor = try Self.listen(path, mode)
        } catch {
            close(lock)
            throw error
        }
        self.path = path
        self.mode = mode
        self.lock = lock
        identity = Identity(of: path)
    }

    private init(_ before: SocketFile, descriptor: Int32) {
        path = before.path
        mode = before.mode
        lock = before.lock
        self.descriptor = descriptor
        identity = Identity(of: path)
    }

    /// Whether nothing is at the path any more.
    var isGone: Bool { Identity(of: path) == nil && errno == ENOENT }

    /// Whether another file is at the path, as after systemd has made its own socket there.
    var isReplaced: Bool {
        guard let identity, let found = Identity(of: path) else { return false }
        return found != identity
    }

    /// The same socket once more, where the file was removed; the lock goes on.
    func madeAgain() throws(ServerError) -> SocketFile {
        try Self.makeFolder(of: path, mode)
        return SocketFile(self, descriptor: try Self.listen(path, mode))
    }

    /// The path that a socket is bound to; nil where it has none.
    static func path(of descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                getsockname(descriptor, generic, &length)
            }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let path = withUnsafeBytes(of: address.sun_path) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return path.isEmpty ? nil : path
    }

    /// Removes the socket's file, unless another file has its path; open connections go on.
    ///
    /// The lock's file stays. Two daemons that each created it again would hold two locks.
    func remove() {
        if let identity, Identity(of: path) == identity { unlink(path) }
        close(lock)
    }

    /// Makes the folders that are missing.
    ///
    /// If the socket is for others than its owner, they have to reach it whatever the umask. The
    /// socket's own mode keeps out those that it is not for.
    private static func makeFolder(of path: String, _ mode: mode_t) throws(ServerError) {
        let isForOthers = mode & 0o077 != 0
        var made = ""
        for part in path.split(separator: "/").dropLast() {
            made += "/" + part
            let isNew = mkdir(made, 0o755) == 0
            guard isNew || errno == EEXIST else { throw .failed(made) }
            guard isNew, isForOthers else { continue }
            var status = stat()
            // A folder takes the bit S_ISGID from its parent, and chmod(2) would remove it.
            guard lstat(made, &status) == 0, chmod(made, status.st_mode & 0o2000 | 0o755) == 0
            else { throw .failed(made) }
        }
    }

    /// Throws if a process listens on the socket at a path, or if another file is there.
    static func check(_ path: String) throws(ServerError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: path) }
        guard !isAnswered(path) else { throw .socketInUse(path: path) }
    }

    /// Removes what a daemon left that ended without taking it away.
    private static func removeDead(_ path: String) throws(ServerError) {
        try check(path)
        guard unlink(path) == 0 || errno == ENOENT else { throw .failed(path) }
    }

    private static func isAnswered(_ path: String) -> Bool {
        let kind = Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK
        let probe = socket(AF_UNIX, kind, 0)
        guard probe >= 0 else { return true }
        defer { close(probe) }
        guard let result = withAddress(path, { connect(probe, $0, $1) }) else { return false }
        // EAGAIN: the backlog is full, so a process listens.
        return result == 0 || errno == EAGAIN || errno == EACCES
    }

    private static func listen(_ path: String, _ mode: mode_t) throws(ServerError) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | O_CLOEXEC
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw .failed(path) }
        // No client can connect before the mode is right: Linux gives the file the mode of the
        // socket. A umask would change the mode of files that other threads create.
        let isClosed = fchmod(descriptor, 0o600) == 0
        guard let bound = withAddress(path, { bind(descriptor, $0, $1) }) else {
            close(descriptor)
            throw .cannotListen(path: path, reason: "the path is too long")
        }
        guard isClosed, bound == 0, chmod(path, mode) == 0, Glibc.listen(descriptor, SOMAXCONN) == 0
        else {
            let error = ServerError.failed(path)
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Calls `body` with the path as a socket's address; nil when it does not fit.
    private static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                body(generic, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

extension ServerError {
    fileprivate static func failed(_ path: String) -> ServerError {
        .cannotListen(path: path, reason: String(cString: strerror(errno)))
    }
}

package enum ServerError: Error, Equatable {
    case socketInUse(path: String)
    case notASocket(path: String)
    case cannotListen(path: String, reason: String)
    case unknownPeer

    package var message: String {
        switch self {
        case .socketInUse(let path):
            "another process listens on \(path): if it is systemd, it starts larderd by itself; "
                + "to start larderd manually, stop larder.socket first"
        case .notASocket(let path): "\(path) exists and is no socket"
        case .cannotListen(let path, let reason): "cannot listen on \(path): \(reason)"
        case .unknownPeer: "the kernel does not say who connected"
        }
    }
}

/// Where the server takes clients from, and what has to be done about it at the end.
enum ListeningSocket {
    /// Made by the daemon at a path, and taken away by it.
    case own(SocketFile)
    /// Opened by the process that started the daemon, which owns the file.
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
    /// Call it once SwiftNIO has the socket. SwiftNIO calls listen(2) again with room for 128
    /// clients, whatever its option says.
    func lengthenQueue() throws(ServerError) {
        guard listen(descriptor, SOMAXCONN) == 0 else {
            throw .cannotListen(path: "the socket", reason: String(cString: strerror(errno)))
        }
    }

    /// Socket whose file clients no longer find.
    enum Fault {
        case own(SocketFile)
        case inherited(path: String)
        /// Clients find the socket of another process.
        case replaced(path: String)
    }

    /// Nil while clients find the socket's file.
    var fault: Fault? {
        switch self {
        case .own(let file):
            file.isGone ? .own(file) : file.isReplaced ? .replaced(path: file.path) : nil
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

    /// Takes no more clients; those that it has taken go on.
    func close() async {
        try? await channel.close().get()
    }
}
