import FoundationEssentials
import LarderConfiguration
import LarderWire

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What can be seen of a daemon without asking it: its configuration, its socket, its session.
struct Surroundings {
    typealias Finding = CheckReport.Finding

    /// The socket that answered, or that should have; nil where none is known.
    let socket: String?

    private static let systemSocket = "/run/larder/api.sock"
    private static let systemConfiguration = "/etc/larder/larder.yaml"

    /// The first that there is, or that should be.
    static func socket(of candidates: [String]) -> String? {
        candidates.first { access($0, F_OK) == 0 } ?? candidates.first
    }

    private var isSystems: Bool { socket == Self.systemSocket || getuid() == 0 }

    // MARK: Configuration

    /// Whether the file can be read as `larderd --check-config` reads it.
    func configuration(file given: String?) -> Finding {
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? ""
        let places = StandardPlaces(environment: environment, uid: getuid(), home: home)
        let file = given ?? (isSystems ? Self.systemConfiguration : places.configurationFile)
        guard given != nil || access(file, F_OK) == 0 else {
            return Finding("configuration", .ok, "there is no \(file): the defaults count")
        }
        guard access(file, R_OK) == 0 else {
            return Finding(
                "configuration",
                given == nil ? .skipped : .failed,
                "\(file): \(String(cString: strerror(errno)))"
            )
        }
        do throws(ConfigurationError) {
            _ = try Configuration.load(
                file: file,
                environment: [:],
                uid: isSystems ? 0 : getuid(),
                home: home.hasPrefix("/") ? home : "/"
            )
            return Finding("configuration", .ok, "\(file) is valid")
        } catch {
            let lines = error.description.split(separator: "\n")
            let more = lines.count > 1 ? " (and \(lines.count - 1) more)" : ""
            return Finding(
                "configuration",
                .failed,
                "\(lines.first ?? "")\(more)",
                fix: "See: larderd --check-config --config \(file)"
            )
        }
    }

    // MARK: Socket

    /// Who may open the socket; nothing where there is none, which the daemon's finding says.
    var socketFindings: [Finding] {
        guard let socket else { return [] }
        var answer = stat()
        guard stat(socket, &answer) == 0 else { return [] }
        guard answer.st_mode & S_IFMT == S_IFSOCK else {
            return [
                Finding(
                    "socket",
                    .failed,
                    "\(socket) is no socket",
                    fix: "Move it away, or give sockets.api another path."
                )
            ]
        }
        let mode = String(answer.st_mode & 0o777, radix: 8)
        let group = Self.group(answer.st_gid)
        let detail = "\(socket) has the mode 0\(mode) and the group \(group)"
        guard access(socket, W_OK) == 0 else {
            return [
                Finding(
                    "socket",
                    .failed,
                    "\(detail): you may not open it",
                    fix: "sudo usermod -aG \(group) \"$USER\"    and log in again."
                )
            ]
        }
        return [Finding("socket", .ok, detail)]
    }

    private static func group(_ number: gid_t) -> String {
        var record = GroupRecord()
        var found: UnsafeMutablePointer<GroupRecord>?
        let name = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 65_536) { buffer in
            getgrgid_r(number, &record, buffer.baseAddress, buffer.count, &found)
                == 0 && found != nil ? String(cString: record.gr_name) : nil
        }
        return name ?? String(number)
    }

    // MARK: Session

    /// Whether a user's own daemon goes on when its user has logged out (loginctl(1)).
    var lingerFindings: [Finding] {
        guard let socket, !isSystems, socket.hasPrefix("/run/user/"),
            access("/run/systemd/system", F_OK) == 0, let name = Self.userName
        else { return [] }
        guard access("/var/lib/systemd/linger/\(name)", F_OK) == 0 else {
            return [
                Finding(
                    "linger",
                    .warning,
                    "your daemon ends when you log out",
                    fix: "loginctl enable-linger"
                )
            ]
        }
        return [Finding("linger", .ok, "your daemon goes on when you log out")]
    }

    private static var userName: String? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 65_536) { buffer in
            guard let start = buffer.baseAddress,
                getpwuid_r(getuid(), &record, start, buffer.count, &found) == 0, found != nil
            else { return nil }
            return String(cString: record.pw_name)
        }
    }
}

/// `struct group`, whose name a method here has too.
private typealias GroupRecord = group
