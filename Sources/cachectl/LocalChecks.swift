import FoundationEssentials
import Glibc
import LarderAPI
import LarderConfiguration
import LarderModel

/// Facts about a daemon that need no request to it: its configuration, socket and session.
struct LocalChecks {
    /// The socket that answered, or that should have; nil where none is known.
    let socket: String?

    /// The first that there is, or that should be.
    static func socket(of candidates: [String]) -> String? {
        candidates.first { access($0, F_OK) == 0 } ?? candidates.first
    }

    private var isSystems: Bool { socket == SocketRights.systemSocket || getuid() == 0 }

    // MARK: Configuration

    /// Whether the file can be read as `larderd --check-config` reads it, and a warning for each file
    /// with secrets that all users can read.
    ///
    /// The check uses `given`, else the file that the daemon reports, else the standard file.
    func configuration(file given: String?, inForce: ConfigurationStatus?) -> [Finding] {
        func finding(_ state: FindingState, _ detail: String, fix: String? = nil) -> [Finding] {
            [Finding("configuration", state, detail, fix: fix)]
        }
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? ""
        let uid = isSystems ? 0 : getuid()
        let places = DefaultPaths(environment: isSystems ? [:] : environment, uid: uid, home: home)
        if given == nil, let inForce, inForce.file == nil {
            return finding(.ok, "larderd has read no file: the defaults count")
        }
        let file = given ?? inForce?.file ?? places.configurationFile
        guard given != nil || inForce != nil || access(file, F_OK) == 0 else {
            return finding(.ok, "there is no \(file): the defaults count")
        }
        guard access(file, R_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            return finding(given == nil ? .skipped : .failed, "\(file): \(reason)")
        }
        let secrets: [Finding]
        do throws(ConfigurationError) {
            let configuration = try Configuration.load(
                file: file,
                environment: [:],
                uid: uid,
                home: home.hasPrefix("/") ? home : "/"
            )
            secrets = SecretFiles(of: configuration).findings
        } catch {
            let lines = error.description.split(separator: "\n")
            let more = lines.count > 1 ? " (and \(lines.count - 1) more)" : ""
            // Only the daemon needs to read the files of secrets that the configuration names.
            let denied = String(cString: strerror(EACCES))
            if given == nil, lines.allSatisfy({ $0.hasSuffix(denied) }) {
                let fix = "Ask as root, or as the daemon's own user: sudo cachectl doctor"
                return finding(.skipped, "\(lines.first ?? "")\(more)", fix: fix)
            }
            return finding(
                .failed,
                "\(lines.first ?? "")\(more)",
                fix: "See: larderd --check-config --config \(file)"
            )
        }
        if let inForce, inForce.file == file, let changed = Self.changedAt(file),
            changed > inForce.readAt
        {
            return finding(
                .warning,
                "\(file) was changed after larderd had read it, at \(inForce.readAt.text)",
                fix: "Apply the change: cachectl reload"
            ) + secrets
        }
        let isOther = inForce.map { $0.file != file } ?? false
        let other = isOther ? "; larderd has read \(inForce?.file ?? "none")" : ""
        return finding(.ok, "\(file) is valid\(other)") + secrets
    }

    private static func changedAt(_ file: String) -> LarderAPI.Timestamp? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file),
            let date = attributes[.modificationDate] as? Date
        else { return nil }
        return .init(milliseconds: Int64(date.timeIntervalSince1970 * 1_000))
    }

    // MARK: Socket

    /// Findings about access to the socket; none without a socket, which the daemon's finding
    /// reports.
    func socketFindings(inForce: ConfigurationStatus?) -> [Finding] {
        guard let socket, let rights = SocketRights(of: socket) else { return [] }
        func finding(_ state: FindingState, _ detail: String, fix: String? = nil) -> [Finding] {
            [Finding("socket", state, detail, fix: fix)]
        }
        guard rights.isSocket else {
            let fix = "Move it away, or give sockets.api another path."
            return finding(.failed, "\(socket) is no socket", fix: fix)
        }
        let detail = "\(socket) has the mode \(rights.modeText) and the group \(rights.group)"
        guard access(socket, W_OK) == 0 else {
            return finding(.failed, "\(detail): you may not open it", fix: rights.advice)
        }
        // A socket of systemd has the mode of its unit. A private one is never opened to others on
        // our advice.
        if let inForce, inForce.socketMode != rights.modeText, !rights.isPrivate,
            socket != SocketRights.systemSocket
        {
            let wanted = inForce.socketMode
            let fix = "chmod \(wanted) '\(socket)'"
            return finding(.warning, "\(detail), and sockets.mode is \(wanted)", fix: fix)
        }
        return finding(.ok, detail)
    }

    // MARK: Session

    /// Whether a user's own daemon goes on when its user has logged out (loginctl(1)).
    var lingerFindings: [Finding] {
        guard let socket, !isSystems, socket.hasPrefix("/run/user/"),
            access("/run/systemd/system", F_OK) == 0, let name = AccountLookup.userName(getuid())
        else { return [] }
        guard access("/var/lib/systemd/linger/\(name)", F_OK) == 0 else {
            let (detail, fix) = ("your daemon ends when you log out", "loginctl enable-linger")
            return [Finding("linger", .warning, detail, fix: fix)]
        }
        return [Finding("linger", .ok, "your daemon goes on when you log out")]
    }
}

/// Files of a configuration that hold secrets: headers, credentials, a proxy's password, a client's
/// key.
struct SecretFiles {
    /// Description of the secrets in each file, by path.
    private var contents: [String: String] = [:]

    init(of configuration: Configuration) {
        for (key, path) in configuration.valueFiles.sorted(by: { $0.key < $1.key }) {
            contents[path] = key
        }
        for origin in configuration.knownOrigins {
            let settings = origin.settings
            if let key = settings.tls[.clientKey] {
                contents[key.path] = "the client key of the origin '\(origin.name)'"
            }
            // The state directory, with the API's origins, is closed to other users.
            guard case .file(let path) = origin.source else { continue }
            func isHere(_ key: String) -> Bool {
                configuration.valueFiles["origins.\(origin.name).\(key)"] == nil
            }
            if settings.proxy?.credentials != nil, isHere("proxy") {
                contents[path] = "the proxy's password of the origin '\(origin.name)'"
            } else if settings.headers.fields.contains(where: { isHere("headers.\($0.name)") }) {
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
