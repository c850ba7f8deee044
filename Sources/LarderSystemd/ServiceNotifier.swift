import Glibc

/// Sends notices to the service manager: one datagram each to `$NOTIFY_SOCKET`.
package struct ServiceNotifier: Equatable, Sendable {
    /// A path, or `@` and the name of an abstract address.
    package let address: String
    private let bytes: [UInt8]

    /// How long a full queue of the manager is waited for.
    private static let patience = timeval(tv_sec: 5, tv_usec: 0)

    /// Takes `/path` and `@name` (unix(7)).
    init(address: String) throws(SystemdError) {
        let room = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size
        guard address.hasPrefix("/") || address.hasPrefix("@"),
            (2...room).contains(address.utf8.count)
        else { throw .badVariable(name: "NOTIFY_SOCKET", value: address) }
        self.address = address
        var bytes = Array(address.utf8)
        // The kernel's spelling of an abstract address begins with a zero.
        if address.hasPrefix("@") { bytes[0] = 0 }
        self.bytes = bytes
    }

    /// Returns when the manager's queue has the notice.
    package func send(_ notice: ServiceNotice) throws(SystemdError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw failed() }
        defer { close(descriptor) }
        var patience = Self.patience
        let length = socklen_t(MemoryLayout<timeval>.size)
        guard setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, length) == 0 else {
            throw failed()
        }
        let text = Array(notice.text.utf8)
        let sent = withAddress {
            sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, $1)
        }
        guard sent == text.count else { throw failed() }
    }

    private func failed() -> SystemdError {
        .cannotNotify(address: address, reason: errorText())
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // An abstract address ends where its length says.
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                body(generic, socklen_t(start + bytes.count))
            }
        }
    }
}
