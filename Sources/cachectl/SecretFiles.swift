import LarderAPI
import LarderConfiguration
import LarderModel
import LarderWire

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Files of a configuration that hold secrets: headers, a proxy's password, a client's key.
struct SecretFiles {
    /// What a file holds, by its path.
    private var contents: [String: String] = [:]

    init(of configuration: Configuration) {
        for origin in configuration.knownOrigins {
            let settings = origin.settings
            if let key = settings.tls.clientKey {
                contents[key.path] = "the client key of the origin '\(origin.name)'"
            }
            // Others have no way into the state directory, where the API's are.
            guard case .file(let path) = origin.source else { continue }
            if settings.proxy?.credentials != nil {
                contents[path] = "the proxy's password of the origin '\(origin.name)'"
            } else if !settings.headers.fields.isEmpty {
                contents[path] = "headers of the origin '\(origin.name)'"
            }
        }
    }

    /// A warning for each that all users can read.
    var findings: [Finding] {
        contents.filter { Self.isReadableByAll($0.key) }.sorted { $0.key < $1.key }.map {
            Finding(
                "secrets",
                .warning,
                "all users can read \($0.key), which has \($0.value)",
                fix: "chmod o-rwx '\($0.key)'    The daemon must still be able to read it: give it "
                    + "the daemon's user or group."
            )
        }
    }

    /// Whether the file and each folder on the way to it let other users in.
    private static func isReadableByAll(_ path: String) -> Bool {
        var answer = stat()
        guard stat(path, &answer) == 0, answer.st_mode & S_IROTH != 0 else { return false }
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            let name = folder.isEmpty ? "/" : String(folder)
            guard stat(name, &answer) == 0, answer.st_mode & S_IXOTH != 0 else { return false }
        }
        return true
    }
}
