import Glibc

/// A listening socket that systemd opened and passed on (sd_listen_fds(3)).
///
/// Its file belongs to systemd: the daemon neither makes it nor takes it away, and a client that
/// connects while the daemon is down waits for it.
package struct InheritedSocket: Equatable, Sendable {
    package let descriptor: Int32

    /// The name that a socket unit gives with `FileDescriptorName=`.
    private static let name = "api"
    /// Name that `systemd-socket-activate` passes by default.
    private static let noName = "unknown"
    /// SD_LISTEN_FDS_START: they follow on stdin, stdout and stderr.
    private static let first: Int32 = 3
    /// More descriptors are passed to no service of ours; a bound before they are counted.
    private static let countMax: Int64 = 16

    /// The one named `api`; nil where none was passed to process `pid`.
    ///
    /// A single one without a name of its own is taken too.
    init?(_ variables: [String: String], pid: Int32) throws(SystemdError) {
        guard try variables.names("LISTEN_PID", pid) == true,
            let count = try variables.number("LISTEN_FDS"), count > 0
        else { return nil }
        guard count <= Self.countMax else {
            throw .badVariable(name: "LISTEN_FDS", value: String(count))
        }
        let names = try Self.names(variables["LISTEN_FDNAMES"], count: Int(count))
        if let stranger = names.first(where: { $0 != Self.name && $0 != Self.noName }) {
            throw .unknownSocket(name: stranger)
        }
        guard names.count == 1 else {
            throw .notOneSocket(name: Self.name, count: names.count)
        }
        descriptor = Self.first
    }

    private static func names(_ text: String?, count: Int) throws(SystemdError) -> [String] {
        guard let text else { return Array(repeating: noName, count: count) }
        let names = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard names.count == count else {
            throw .badVariable(name: "LISTEN_FDNAMES", value: text)
        }
        return names
    }

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Makes sure that it is a Unix stream socket that listens, and keeps it from processes that
    /// this one starts.
    package func check() throws(SystemdError) {
        guard try option(SO_DOMAIN) == AF_UNIX else { throw bad("no Unix socket") }
        guard try option(SO_TYPE) == Int32(SOCK_STREAM.rawValue) else {
            throw bad("no stream socket")
        }
        guard try option(SO_ACCEPTCONN) == 1 else { throw bad("a socket that does not listen") }
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw bad(errorText()) }
    }

    /// Where clients find it; `@` begins an abstract address.
    package var path: String {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0, let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) else {
            return ""
        }
        let bytes = withUnsafeBytes(of: address.sun_path) { path in
            Array(path.prefix(max(0, Int(length) - start)))
        }
        let isAbstract = bytes.first == 0
        let text = bytes.dropFirst(isAbstract ? 1 : 0).prefix { $0 != 0 }
        return (isAbstract ? "@" : "") + String(decoding: text, as: UTF8.self)
    }

    private func option(_ name: Int32) throws(SystemdError) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 else {
            throw bad(errno == ENOTSOCK ? "no socket" : errorText())
        }
        return value
    }

    private func bad(_ reason: String) -> SystemdError {
        .badSocket(descriptor: descriptor, reason: reason)
    }
}

/// Error text of the last call of the C library.
func errorText() -> String { String(cString: strerror(errno)) }

/// Why systemd's settings cannot be used, or why a notice could not be sent.
package enum SystemdError: Error, Equatable, Sendable {
    /// A variable of the environment is not as systemd sets it.
    case badVariable(name: String, value: String)
    /// A passed socket has a name that the daemon does not use.
    case unknownSocket(name: String)
    /// No passed socket has the name, or more than one socket was passed.
    case notOneSocket(name: String, count: Int)
    case badSocket(descriptor: Int32, reason: String)
    case cannotNotify(address: String, reason: String)

    package var message: String {
        switch self {
        case .badVariable(let name, let value):
            "\(name) is '\(value)', which systemd does not set"
        case .unknownSocket(let name):
            "a socket named '\(name)' was passed, which has no use; FileDescriptorName=api names one"
        case .notOneSocket(let name, let count):
            "\(count) sockets named '\(name)' were passed, one is needed"
        case .badSocket(let descriptor, let reason):
            "the descriptor \(descriptor) that was passed is \(reason)"
        case .cannotNotify(let address, let reason):
            "systemd cannot be told over '\(address)': \(reason)"
        }
    }
}
