import FoundationEssentials
import LarderModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The choice of one socket: the first on which a daemon listens.
///
/// Another daemon has another cache and another queue. So the client keeps its choice, even if the
/// chosen daemon ends.
final class SocketChoice: Sendable {
    private let paths: [String]
    private let chosen: Mutex<String?>

    init(_ paths: [String]) {
        self.paths = paths
        chosen = Mutex(paths.count == 1 ? paths[0] : nil)
    }

    /// The chosen socket; nil before a daemon was found.
    var path: String? { chosen.withLock { $0 } }

    /// Chooses a socket if none is chosen; throws and chooses none if no daemon listens.
    func decide() throws(LarderError) -> String {
        let verdict = chosen.withLock { chosen -> Result<String, LarderError> in
            if let chosen { return .success(chosen) }
            var failures: [SocketFailure] = []
            var denied: String?
            for path in paths {
                switch SocketRefusal(probing: path) {
                case nil, .busy:
                    chosen = path
                    return .success(path)
                case .denied: denied = denied ?? path
                case .nobodyThere(let reason):
                    failures.append(SocketFailure(path: path, reason: reason))
                }
            }
            return .failure(denied.map { .socketRefused(path: $0) } ?? .unreachable(failures))
        }
        return try verdict.get()
    }
}

/// Why a socket took no connection.
enum SocketRefusal: Equatable, Sendable {
    case denied
    case nobodyThere(String)
    /// A daemon listens, and its backlog is full.
    case busy

    /// Nil for an error that does not say whether a daemon listens.
    init?(errno code: Int32) {
        switch code {
        case EACCES, EPERM: self = .denied
        case ENOENT, ENOTDIR: self = .nobodyThere("there is no socket")
        case ECONNREFUSED: self = .nobodyThere("no process listens on it")
        case ENOTSOCK, EPROTOTYPE: self = .nobodyThere("it is not such a socket")
        case ENAMETOOLONG: self = .nobodyThere("the path is too long for a socket")
        case EAGAIN: self = .busy
        default: return nil
        }
    }

    /// Connects, sends nothing and closes; nil if the connection was accepted.
    ///
    /// `connect` to a Unix socket returns immediately, with EAGAIN if the backlog is full
    /// (unix(7)).
    fileprivate init?(probing path: String) {
        guard path.utf8.count <= Limits.socketPathBytesMax else {
            self.init(errno: ENAMETOOLONG)
            return
        }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, kind | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Without a descriptor the probe knows nothing; the request reports the error.
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result != 0 else { return nil }
        let code = errno
        self = SocketRefusal(errno: code) ?? .nobodyThere(String(cString: strerror(code)))
    }
}

/// Where the daemon's socket is.
public enum SocketLocation: Hashable, Sendable {
    /// `$LARDER_SOCKET` if it is set, else the first of ``user`` and ``system`` on which a daemon
    /// listens at the client's first request.
    case found
    /// The socket at this path and no other.
    case path(String)
    /// Socket of the user's own daemon: `$XDG_RUNTIME_DIR/larder/api.sock`.
    ///
    /// If the variable is not set, the socket is in `/run/user/UID` or in the cache directory. For
    /// root it is the socket of the system's daemon.
    case user
    /// Socket of the system's daemon: `/run/larder/api.sock`.
    case system

    /// The paths to try, in this order.
    public var candidates: [String] {
        let uid = getuid()
        return candidates(
            environment: ProcessInfo.processInfo.environment,
            uid: uid,
            hasRuntimeDirectory: access("/run/user/\(uid)", W_OK | X_OK) == 0
        )
    }

    /// The paths for this user and environment, where `larderd` binds for the same ones.
    package func candidates(
        environment: [String: String],
        uid: UInt32,
        hasRuntimeDirectory: Bool
    ) -> [String] {
        func userPaths() -> [String] {
            guard uid != 0 else { return [Self.systemPath] }
            var runtime = Self.absolute("XDG_RUNTIME_DIR", in: environment)
            if runtime == nil, hasRuntimeDirectory { runtime = "/run/user/\(uid)" }
            let home = environment["HOME"] ?? ""
            let cache = Self.absolute("XDG_CACHE_HOME", in: environment) ?? "\(home)/.cache"
            return [runtime, cache].compactMap { $0.map { "\($0)/larder/api.sock" } }
        }
        switch self {
        case .path(let path): return [path]
        case .user: return userPaths()
        case .system: return [Self.systemPath]
        case .found:
            if let path = environment["LARDER_SOCKET"], !path.isEmpty { return [path] }
            let paths = userPaths()
            return paths.contains(Self.systemPath) ? paths : paths + [Self.systemPath]
        }
    }

    private static let systemPath = "/run/larder/api.sock"

    /// A relative path in one of XDG's variables is ignored, as its specification has it.
    private static func absolute(
        _ variable: String,
        in environment: [String: String]
    ) -> String? {
        environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
