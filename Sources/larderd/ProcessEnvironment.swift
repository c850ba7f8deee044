import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Environment, user and working directory of the process.
enum ProcessEnvironment {
    static var environment: [String: String] { ProcessInfo.processInfo.environment }
    /// The home folder as clients find it: `$HOME`, else that of the password file.
    static var home: String {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        return FileManager.default.homeDirectoryForCurrentUser.path
    }
    static var uid: UInt32 { geteuid() }

    static func end(_ code: Int32) -> Never { exit(code) }

    /// A path as other processes find it, whatever their working directory.
    static func absolutePath(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }

    /// Whether this is root's daemon, or a service of the system's manager, which may run it as
    /// a user of its own.
    static var isSystemService: Bool {
        isSystemService(environment, uid: uid, pid: getpid())
    }

    /// systemd names the process that it has started in `SYSTEMD_EXEC_PID`, and a user's manager
    /// names itself in `MANAGERPID` (systemd.exec(5)); what a user's shell inherits of them names
    /// another process.
    static func isSystemService(
        _ environment: [String: String],
        uid: UInt32,
        pid: Int32
    ) -> Bool {
        uid == 0
            || environment["SYSTEMD_EXEC_PID"] == String(pid) && environment["MANAGERPID"] == nil
    }
}
