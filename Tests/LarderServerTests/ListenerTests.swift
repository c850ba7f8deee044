import Glibc
import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderServer

@Suite("The listener", .timeLimit(.minutes(5)))
struct ListenerTests {
    @Test(
        "While no file can be opened each client that waits is told 503, and the log says so once"
    )
    func noFiles() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("s")
        let file = try SocketFile(path: path, mode: 0o600)
        defer { file.remove() }
        let log = LogRecorder()
        let channel = EmbeddedChannel()
        let guardian = AcceptGuard(listener: file.descriptor, logger: log.logger)
        try channel.pipeline.syncOperations.addHandler(guardian)
        for _ in 0..<2 {
            let clients = (0..<3).map { _ in Self.connected(to: path) }
            for client in clients { _ = send(client, "GET / HTTP/1.1\r\n", 16, 0) }
            // The listener does not block in a test: the last accept finds no client.
            _ = fcntl(file.descriptor, F_SETFL, O_NONBLOCK)
            channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
            for client in clients {
                let answer = Self.all(of: client)
                #expect(answer.hasPrefix("HTTP/1.1 503 "))
                #expect(answer.contains("urn:larder:overloaded"))
                close(client)
            }
        }
        #expect(log.lines.all.count == 1)
        _ = try channel.finish()
    }

    @Test("A folder that is made for a socket of a group keeps the group of its parent")
    func folder() throws {
        let directory = try TemporaryDirectory()
        #expect(chmod(directory.path, 0o2700) == 0)
        let file = try SocketFile(path: directory.path("a/b/s"), mode: 0o660)
        defer { file.remove() }
        for name in ["a", "a/b"] {
            var status = stat()
            let result = lstat(directory.path(name), &status)
            #expect(result == 0)
            #expect(status.st_mode & 0o7777 == 0o2755)
        }
    }

    private static func connected(to path: String) -> Int32 {
        let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return client
    }

    private static func all(of client: Int32) -> String {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while case let count = recv(client, &piece, piece.count, 0), count > 0 {
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        "Connections leave files for the daemon, and one user's leave some for the others",
        arguments: [(128, 64, 48), (1_024, 768, 576), (64, 1, 1), (1 << 20, 8_192, 4_096)]
    )
    func limits(files: Int, all: Int, one: Int) {
        #expect(Limits.connectionsMax(files: files) == all)
        #expect(
            Limits.connectionsPerUserMax(files: files) == min(one, Limits.connectionsPerUserMax)
        )
        #expect(Limits.connectionsMax(files: .max) == Limits.connectionsMax)
    }

    @Test("A fault of the daemon is logged under the request id that the client gets")
    func fault() async throws {
        try await ServerFixture.run { fixture in
            let problem = fixture.server.context.named(Problem(.internal, "a test"))
            _ = fixture.server.context.named(Problem(.miss, "another"))
            let logged = fixture.log.lines.all.filter { $0.contains("request_id") }
            #expect(logged == ["a request failed reason=a test request_id=\(problem.requestID)"])
            #expect(!problem.requestID.isEmpty)
        }
    }

    @Test("A socket's file that was removed is made again, and clients that are there go on")
    func removedFile() async throws {
        try await ServerFixture.run { server in
            let before = try await server.connect()
            // It is taken from the queue of the first socket.
            #expect(try await before.ask("GET", "/v1/health").status == 200)
            for index in 0..<2 {
                unlink(server.socketPath)
                let due = server.clock.monotonic() + Limits.socketCheckTime
                try await server.clock.sleepers(until: due)
                server.clock.advance(by: Limits.socketCheckTime)
                let line = try await server.log.lines.element(index)
                #expect(line.contains("is there again"))
                #expect(try await server.connect().ask("GET", "/v1/health").status == 200)
                #expect(try await before.ask("GET", "/v1/health").status == 200)
            }
        }
    }

    @Test("The log says once that another process has replaced the socket's file")
    func replacedFile() async throws {
        let directory = try TemporaryDirectory()
        let other = try SocketFile(path: directory.path("s"), mode: 0o600)
        defer { other.remove() }
        try await ServerFixture.run { server in
            #expect(rename(other.path, server.socketPath) == 0)
            for _ in 0..<2 {
                let due = server.clock.monotonic() + Limits.socketCheckTime
                try await server.clock.sleepers(until: due)
                server.clock.advance(by: Limits.socketCheckTime)
            }
            let due = server.clock.monotonic() + Limits.socketCheckTime
            try await server.clock.sleepers(until: due)
            let lines = server.log.lines.all.filter { $0.contains("was replaced") }
            #expect(lines.count == 1)
        }
    }
}
