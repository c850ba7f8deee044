import Glibc
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderTestSupport
import LarderWire
import NIOPosix
import Testing

@Suite("How the server begins and ends", .timeLimit(.minutes(5)))
struct EndTests {
    @Test("A drain closes idle connections, finishes what runs, and takes the socket away")
    func drain() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1"), .json("2").held(by: gate))
            let fetch = "GET /v1/fetch?url=\(url.text) HTTP/1.1\r\nHost: x\r\n\r\n"
            let idle = try await server.connect()
            #expect(try await idle.ask("GET", "/v1/health").status == 200)
            let streaming = try await server.connect()
            try await streaming.send(fetch)
            _ = try await streaming.response()
            try await streaming.send(fetch)
            try await streaming.seen(#""source":"cache""#)
            let putting = try await server.connect()
            try await putting.send(
                "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            )
            try await putting.send("Content-Length: 3\r\n\r\n")
            #expect(try await putting.response(to: "PUT").status == 100)

            server.server.drain()
            #expect(try await idle.rest().isEmpty)
            let stream = try await streaming.response()
            #expect(stream.lines.last?.contains(#""type":"end","outcome":"shutdown""#) == true)
            #expect(try await streaming.rest().isEmpty)
            try await putting.send("one")
            let put = try await putting.response(to: "PUT")
            #expect(put.status == 201)
            #expect(put.headers["Connection"] == "close")
            #expect(try await putting.rest().isEmpty)
            try await server.ended.wait()
            #expect(access(server.socketPath, F_OK) != 0)
            await #expect(throws: (any Error).self) { try await server.connect() }
        }
    }

    @Test("A client that connected before the drain is answered, and then disconnected")
    func firstRequest() async throws {
        try await ServerFixture.run { server in
            let new = try await server.connect()
            let silent = try await server.connect()
            try await server.expectServing()
            let used = try await server.connect()
            #expect(try await used.ask("GET", "/v1/health").status == 200)
            server.server.drain()
            #expect(try await used.rest().isEmpty)
            let answer = try await new.ask("GET", "/v1/health")
            #expect(answer.status == 200)
            #expect(answer.headers["Connection"] == "close")
            #expect(try await new.rest().isEmpty)
            #expect(try await silent.rest().isEmpty)
            try await server.ended.wait()
        }
    }

    @Test("A file at the socket's path that the server did not create is left alone at the end")
    func anothersSocket() async throws {
        try await ServerFixture.run { server in
            #expect(unlink(server.socketPath) == 0)
            let other = open(server.socketPath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            #expect(other >= 0)
            close(other)
            server.server.drain()
            try await server.ended.wait()
            #expect(access(server.socketPath, F_OK) == 0)
        }
    }

    @Test("A client that does not finish within the drain's time is cut off")
    func drainTime() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            try await client.send(
                "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\no"
            )
            try await server.expectServing()
            server.server.drain()
            try await server.clock.sleepers(until: Limits.drainTime)
            server.clock.advance(by: Limits.drainTime)
            try await client.rest()
            try await server.ended.wait()
            #expect(server.store.totals.entries == 0)
        }
    }

    @Test("A stream without a cached answer is refused when the daemon ends")
    func drainWithoutAnswer() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1").held(by: Gate()))
            let client = try await server.connect()
            try await client.send("GET /v1/fetch?url=\(url.text) HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await server.upstream.asked.element(0)
            server.server.drain()
            let response = try await client.response()
            #expect(response.status == 503)
            #expect(try response.problem().kind == .shuttingDown)
            #expect(try await client.rest().isEmpty)
        }
    }

    // MARK: The socket

    private func serve(_ path: String, _ server: ServerFixture) async throws {
        let second = Server(
            Server.Configuration(
                path: path,
                mode: 0o600,
                administrators: .members(of: .init(name: "none", number: nil))
            ),
            engine: server.engine,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton
        )
        second.drain()
        try await second.run()
    }

    @Test("A socket that another Larder server serves is not replaced")
    func liveSocket() async throws {
        try await ServerFixture.run { server in
            await #expect(throws: ServerError.socketInUse(path: server.socketPath)) {
                try await serve(server.socketPath, server)
            }
            try await server.expectServing()
        }
    }

    @Test("A socket that a foreign server without a lock serves is not replaced either")
    func foreignSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("api.sock")
        let foreign = try listen(at: path)
        defer { close(foreign) }
        try await ServerFixture.run { server in
            await #expect(throws: ServerError.socketInUse(path: path)) {
                try await serve(path, server)
            }
        }
        #expect(access(path, F_OK) == 0)
    }

    @Test("A daemon finds a socket that systemd listens on before it opens its files")
    func socketOfSystemd() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("api.sock")
        var configuration = Server.Configuration(
            path: path,
            mode: 0o600,
            administrators: .members(of: .init(name: "none", number: nil))
        )
        try configuration.checkSocket()
        let systemd = try listen(at: path)
        // The connection of each check stays in the queue, which is full then.
        for _ in 0..<12 {
            let error = #expect(throws: ServerError.self) { try configuration.checkSocket() }
            #expect(error == .socketInUse(path: path))
            #expect(error?.message.contains("stop larder.socket first") == true)
        }
        configuration.inherited = systemd
        try configuration.checkSocket()
        configuration.inherited = nil
        close(systemd)
        try configuration.checkSocket()
        #expect(access(path, F_OK) == 0)
    }

    @Test("A dead socket is removed, and replaced by a served one")
    func deadSocket() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("api.sock")
        close(try listen(at: path))
        #expect(access(path, F_OK) == 0)
        try await ServerFixture.run { server in try await serve(path, server) }
        #expect(access(path, F_OK) != 0)
    }

    @Test("A file at the path that is not a socket is left alone")
    func plainFile() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("api.sock")
        let file = open(path, O_CREAT | O_WRONLY, 0o600)
        #expect(write(file, "x", 1) == 1)
        close(file)
        try await ServerFixture.run { server in
            await #expect(throws: ServerError.notASocket(path: path)) {
                try await serve(path, server)
            }
        }
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_size == 1)
    }

    @Test("A path that is too long, or below a file, is refused with a message")
    func badPaths() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path("file")
        close(open(file, O_CREAT | O_WRONLY, 0o600))
        let long = directory.path(String(repeating: "x", count: Limits.socketPathBytesMax))
        try await ServerFixture.run { server in
            for path in [long, "\(file)/api.sock"] {
                let error = await #expect(throws: ServerError.self) {
                    try await serve(path, server)
                }
                guard case .cannotListen = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
        }
    }

    @Test("The socket's file has the rights of the configuration")
    func mode() async throws {
        try await ServerFixture.run { server in
            var status = stat()
            #expect(stat(server.socketPath, &status) == 0)
            #expect(status.st_mode & S_IFMT == S_IFSOCK)
            #expect(status.st_mode & 0o777 == 0o660)
        }
    }

    @Test("A socket that was passed on is served, and its file left to its creator")
    func inherited() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("api.sock")
        let descriptor = try listen(at: path)
        // Whoever made it keeps it: who connects while nobody serves it waits.
        let kept = dup(descriptor)
        defer { close(kept) }
        try await ServerFixture.run { server in
            var configuration = Server.Configuration(
                path: directory.path("other.sock"),
                mode: 0o600,
                administrators: .members(of: .init(name: "none", number: nil))
            )
            configuration.inherited = descriptor
            let second = Server(
                configuration,
                engine: server.engine,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton
            )
            let early = try await RawClient(path)
            async let end: Void = second.run()
            #expect(try await early.ask("GET", "/v1/health").status == 200)
            await early.hangUp()
            second.drain()
            try await end
            #expect(access(path, F_OK) == 0)
            #expect(access(directory.path("other.sock"), F_OK) != 0)
            let late = try await RawClient(path)
            await late.hangUp()
        }
    }

    /// Another program's socket.
    private func listen(at path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        try #require(Glibc.listen(descriptor, 8) == 0)
        return descriptor
    }
}
