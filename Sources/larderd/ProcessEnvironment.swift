import FoundationEssentials
import Glibc
import LarderConfiguration
import LarderModel

/// Environment and user of the process.
enum ProcessEnvironment {
    static var environment: [String: String] { ProcessInfo.processInfo.environment }
    /// The home folder as clients find it: `$HOME`, else that of the password file.
    static var home: String {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        return FileManager.default.homeDirectoryForCurrentUser.path
    }
    static var uid: UInt32 { geteuid() }

    /// Whether this is root's daemon, or a service of the system's manager, which may run it as
    /// a user of its own.
    ///
    /// systemd names the process that it has started in `SYSTEMD_EXEC_PID`, and a user's manager
    /// names itself in `MANAGERPID` (systemd.exec(5)); what a user's shell inherits of them names
    /// another process.
    static var isSystemService: Bool {
        let variables = environment
        return uid == 0
            || variables["SYSTEMD_EXEC_PID"] == String(getpid()) && variables["MANAGERPID"] == nil
    }
}

extension Configuration.Access {
    /// Warns if the configured group does not exist; it has no members then.
    var groupWarnings: [String] {
        guard adminGroup != Self.standardAdminGroup, AccountLookup.groupNumber(adminGroup) == nil
        else { return [] }
        return [
            "access.admin_group: there is no group '\(adminGroup)', so that only root and the "
                + "daemon's own user administer; make it with: groupadd \(adminGroup)"
        ]
    }
}

/// Settings for memory that the process has freed.
enum Heap {
    /// Makes glibc return each block of 128 KiB or more to the kernel when it is freed.
    ///
    /// By default glibc raises that size to the largest freed block, up to 32 MiB. The bodies of
    /// clients that have gone would then stay in memory.
    static func giveBackLargeBlocks() {
        // mallopt fails only for values out of range.
        _ = mallopt(mmapThreshold, 131_072)
        // Below the same size glibc would give the end of a thread's heap back and take it again for
        // each statement whose pages SQLite keeps for a rollback (64 KiB): four calls of madvise(2)
        // and their page faults for each modifier sent.
        _ = mallopt(trimThreshold, 524_288)
    }

    /// `M_MMAP_THRESHOLD` of malloc.h.
    private static let mmapThreshold: Int32 = -3
    /// `M_TRIM_THRESHOLD` of malloc.h.
    private static let trimThreshold: Int32 = -1
}

// malloc.h is not in Swift's Glibc module.
@_silgen_name("mallopt")
private func mallopt(_ option: Int32, _ value: Int32) -> Int32
