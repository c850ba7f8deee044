import Glibc
import LarderTestSupport
import Testing

@testable import LarderSystemd

@Suite("A socket that is passed on")
struct InheritedSocketTests {
    /// A socket of a family and type, bound where it can be.
    private func makeSocket(
        _ family: Int32,
        _ type: __socket_type,
        at path: String? = nil,
        listens: Bool = false
    ) throws -> Int32 {
        let descriptor = socket(family, Int32(type.rawValue), 0)
        try #require(descriptor >= 0)
        if let path {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(bound == 0)
        }
        if listens { try #require(listen(descriptor, 1) == 0) }
        return descriptor
    }

    @Test("A listening socket is accepted, has its path, and is closed in child processes")
    func good() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("api.sock")
        let descriptor = try makeSocket(AF_UNIX, SOCK_STREAM, at: path, listens: true)
        defer { close(descriptor) }
        let socket = InheritedSocket(descriptor: descriptor)
        try socket.check()
        #expect(socket.path == path)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test("Any other is refused by what it is")
    func bad() throws {
        let directory = try TemporaryDirectory()
        let file = open(directory.path("file"), O_CREAT | O_RDWR, 0o600)
        let sockets: [(Int32, String)] = [
            (try makeSocket(AF_INET, SOCK_STREAM, listens: true), "no Unix socket"),
            (try makeSocket(AF_UNIX, SOCK_DGRAM), "no stream socket"),
            (try makeSocket(AF_UNIX, SOCK_STREAM), "a socket that does not listen"),
            (file, "no socket"),
            (1_000_000, "Bad file descriptor"),
        ]
        for (descriptor, reason) in sockets {
            let error = SystemdError.badSocket(descriptor: descriptor, reason: reason)
            #expect(throws: error) { try InheritedSocket(descriptor: descriptor).check() }
            close(descriptor)
        }
    }
}
