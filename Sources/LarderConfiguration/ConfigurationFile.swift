import Glibc
import LarderModel

struct FileFault: Error, Equatable {
    let reason: String
}

/// Reads the file as it is; nil when there is none.
func fileBytes(of file: String, bytesMax: Int) throws(FileFault) -> [UInt8]? {
    // O_NONBLOCK: open(2) must not wait where the path is a pipe.
    let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
        let code = errno
        guard code != ENOENT, code != ENOTDIR else { return nil }
        throw FileFault(reason: String(cString: strerror(code)))
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &piece, piece.count)
        if count == 0 { return bytes }
        guard count > 0 else {
            let code = errno
            if code == EINTR { continue }
            throw FileFault(reason: String(cString: strerror(code)))
        }
        bytes += piece[..<count]
        guard bytes.count <= bytesMax else {
            throw FileFault(reason: "it has more than \(bytesMax) bytes")
        }
    }
}

/// Reads a file of the configuration; nil when there is none.
func configurationText(of file: String) throws(FileFault) -> String? {
    let bytes = try fileBytes(of: file, bytesMax: Limits.configurationFileBytesMax)
    guard let bytes else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
        throw FileFault(reason: "it is not UTF-8")
    }
    return text
}

/// The same; `isNeeded` refuses a file that is not there.
func configurationText(
    of file: String,
    isNeeded: Bool
) throws(ConfigurationError) -> String? {
    do throws(FileFault) {
        let text = try configurationText(of: file)
        if text == nil, isNeeded { throw FileFault(reason: "there is no such file") }
        return text
    } catch {
        throw .unreadable(file: file, reason: error.reason)
    }
}

/// Writes all bytes; false if that failed, with the reason in `errno`.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

/// The path as another process finds it, whatever its working directory.
package func absolutePath(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return "\(String(cString: folder))/\(path)"
}

/// The names of what is in a folder, sorted; none when there is no such folder.
func names(inFolder path: String) throws(FileFault) -> [String] {
    guard let folder = opendir(path) else {
        let code = errno
        guard code != ENOENT, code != ENOTDIR else { return [] }
        throw FileFault(reason: String(cString: strerror(code)))
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let item = readdir(folder) {
        let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
}

/// Default places of files: systemd's directories, else root's or the user's own.
///
/// `LARDER_CONFIG` names another configuration file, which need not be there. Sources:
/// systemd.exec(5), `StateDirectory=`; the XDG Base Directory Specification, which has a relative
/// path in a variable ignored.
package struct DefaultPaths: Equatable, Sendable {
    package var configurationFile: String
    package var apiSocket: String
    package var cacheDirectory: String
    package var stateDirectory: String

    /// Looks at the file system only for whether `/run/user/UID` is there.
    package init(environment: [String: String], uid: UInt32, home: String) {
        func absolute(_ variable: String) -> String? {
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        func systemd(_ variable: String) -> String? {
            absolute(variable).map { String($0.prefix(while: { $0 != ":" })) }
        }
        let state: String
        let cache: String
        if uid == 0 {
            configurationFile = "/etc/larder/larder.yaml"
            apiSocket = "/run/larder/api.sock"
            state = "/var/lib/larder"
            cache = "/var/cache/larder"
        } else {
            let folder = absolute("XDG_CONFIG_HOME") ?? "\(home)/.config"
            configurationFile = "\(folder)/larder/larder.yaml"
            state = (absolute("XDG_STATE_HOME") ?? "\(home)/.local/state") + "/larder"
            cache = (absolute("XDG_CACHE_HOME") ?? "\(home)/.cache") + "/larder"
            let runtime = absolute("XDG_RUNTIME_DIR") ?? Self.runtimeDirectory(of: uid)
            // Not in /tmp: another user could have made the folder there first.
            apiSocket = (runtime.map { "\($0)/larder" } ?? cache) + "/api.sock"
        }
        if let named = absolute("LARDER_CONFIG") { configurationFile = named }
        stateDirectory = systemd("STATE_DIRECTORY") ?? state
        cacheDirectory = systemd("CACHE_DIRECTORY") ?? cache
    }

    private static func runtimeDirectory(of uid: UInt32) -> String? {
        let path = "/run/user/\(uid)"
        return access(path, W_OK | X_OK) == 0 ? path : nil
    }
}

/// A key that has one value, under its path in the file.
///
/// Origins are many and come from files alone; their keys are the members of ``OriginDefinition``.
package enum ConfigurationKey: String, Sendable, CaseIterable {
    case socketsAPI = "sockets.api"
    case socketsMode = "sockets.mode"
    case socketsSpin = "sockets.spin"
    case storageCacheDirectory = "storage.cache_directory"
    case storageStateDirectory = "storage.state_directory"
    case cacheMaxBytes = "cache.max_bytes"
    case cacheMaxEntryBytes = "cache.max_entry_bytes"
    case cacheLowWatermark = "cache.low_watermark"
    case cacheMinFreeBytes = "cache.min_free_bytes"
    case cacheMemoryBytes = "cache.memory_bytes"
    case pinsMaxBytes = "pins.max_bytes"
    case queueMaxModifiers = "queue.max_modifiers"
    case queueMaxBytes = "queue.max_bytes"
    case queueHistory = "queue.history"
    case queueHistoryBytes = "queue.history_bytes"
    case accessAdminGroup = "access.admin_group"
    case accessUserShare = "access.user_share"
    case logLevel = "log.level"
    case logFormat = "log.format"

    /// The variable that sets it: `LARDER_CACHE_MAX_BYTES` for `cache.max_bytes`.
    package var variable: String {
        "LARDER_" + rawValue.uppercased().split(separator: ".").joined(separator: "_")
    }

    /// Top-level key of the file that has the key: `cache`.
    var section: String { String(rawValue.prefix(while: { $0 != "." })) }

    /// Part of the key after the section: `max_bytes`.
    var name: String {
        String(rawValue.drop(while: { $0 != "." }).dropFirst())
    }

    /// Whether its value is true or false, which YAML does not quote.
    var isTruth: Bool { self == .socketsSpin }

    /// Whether another value counts from the next start on: what is made of it is made once.
    var needsRestart: Bool {
        switch self {
        case .socketsAPI, .socketsMode, .socketsSpin, .storageCacheDirectory,
            .storageStateDirectory, .cacheMemoryBytes, .logFormat:
            true
        case .cacheMaxBytes, .cacheMaxEntryBytes, .cacheLowWatermark, .cacheMinFreeBytes,
            .pinsMaxBytes, .queueMaxModifiers, .queueMaxBytes, .queueHistory, .queueHistoryBytes,
            .accessAdminGroup, .accessUserShare, .logLevel:
            false
        }
    }

    /// The top-level keys of the file, except for origins.
    static let sections = allCases.map(\.section).unique

    static func keys(of section: String) -> [ConfigurationKey] {
        allCases.filter { $0.section == section }
    }
}

extension Configuration {
    /// Reads the files of the origins' credentials again; returns whether a value is another one.
    ///
    /// If a file cannot be read or has no valid value, the last value stays: the file may be being
    /// written.
    package mutating func readCredentialFiles() -> Bool {
        var hasChanged = false
        for index in knownOrigins.indices {
            guard let credential = knownOrigins[index].settings.credential,
                let value = try? Setting(
                    text: credential.file,
                    place: .file(credential.file, line: 1, column: 1)
                )
                .secretFile().credential(in: credential.header),
                value != credential.value
            else { continue }
            knownOrigins[index].settings.credential?.value = value
            hasChanged = true
        }
        return hasChanged
    }
}

/// A file with a secret on one line.
package enum SecretFile {
    /// `path` is absolute.
    package static func line(of path: String) throws(ConfigurationFinding) -> String {
        try Setting(text: path, place: .file(path, line: 1, column: 1)).secretFile().text
    }
}

/// Finds users and groups in whatever the system keeps them in (nsswitch.conf(5)).
package enum AccountLookup {
    /// The number of a user given by name or number; nil if no user has the name.
    static func userNumber(_ user: String) -> UInt32? {
        find(passwd(), { getpwnam_r(user, $0, $1, $2, $3) }, { $0.pw_uid }) ?? UInt32(user)
    }

    /// The number of a group given by its name or number; nil where no group has the name.
    ///
    /// A name is looked for first, as `id` and `chgrp` do.
    package static func groupNumber(_ group: String) -> UInt32? {
        find(Glibc.group(), { getgrnam_r(group, $0, $1, $2, $3) }, { $0.gr_gid }) ?? UInt32(group)
    }

    package static func userName(_ uid: UInt32) -> String? {
        find(passwd(), { getpwuid_r(uid, $0, $1, $2, $3) }, { String(cString: $0.pw_name) })
    }

    package static func groupName(_ gid: UInt32) -> String? {
        find(Glibc.group(), { getgrgid_r(gid, $0, $1, $2, $3) }, { String(cString: $0.gr_name) })
    }

    private static func find<Record, Found>(
        _ empty: Record,
        _ look: (
            UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Record>?>
        ) -> Int32,
        _ read: (Record) -> Found
    ) -> Found? {
        var count = 4_096
        while count <= Limits.groupRecordBytesMax {
            var record = empty
            var found: UnsafeMutablePointer<Record>?
            var value: Found?
            let failure = withUnsafeTemporaryAllocation(of: CChar.self, capacity: count) { buffer in
                guard let start = buffer.baseAddress else { return ENOMEM }
                let code = look(&record, start, buffer.count, &found)
                // The pointer to the record ended with the call.
                if code == 0, found != nil { value = read(record) }
                return code
            }
            guard failure == ERANGE else { return value }
            count *= 2
        }
        return nil
    }
}
