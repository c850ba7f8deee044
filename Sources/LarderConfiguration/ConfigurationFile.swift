import LarderModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

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
