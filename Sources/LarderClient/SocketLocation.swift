import FoundationEssentials
import LarderModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where the daemon's socket is.
public enum SocketLocation: Hashable, Sendable {
    /// `$LARDER_SOCKET` if it is set, else the first of ``user`` and ``system`` on which somebody
    /// listens when the client is first used.
    case found
    /// The socket at this path and no other.
    case path(String)
    /// That of the user's own daemon: `$XDG_RUNTIME_DIR/larder/api.sock`, or in `/run/user/UID`
    /// or the cache directory where that is not set. Root's own daemon is the system's.
    case user
    /// That of the system's daemon: `/run/larder/api.sock`.
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

    /// The same of what is given: where `larderd` binds for the same user and environment.
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
