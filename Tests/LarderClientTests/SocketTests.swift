import Glibc
import LarderTestSupport
import LarderWire
import NIOHTTP1
import Testing

@testable import LarderClient

@Suite("The socket", .timeLimit(.minutes(5)))
struct SocketTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func error(of client: LarderClient) async -> LarderError? {
        do throws(LarderError) {
            _ = try await client.status()
            return nil
        } catch {
            return error
        }
    }

    @Test("Where no daemon answers, every socket that was tried is named, and why")
    func unreachable() async throws {
        let dead = directory.path("dead.sock")
        try Self.leaveDeadSocket(at: dead)
        let long = directory.path(String(repeating: "x", count: 200))
        let missing = directory.path("missing.sock")
        let client = LarderClient(trying: [missing, dead, long])
        let failure = await error(of: client)
        await client.shutdown()
        guard case .unreachable(let tried) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(tried.map(\.path) == [missing, dead, long])
        #expect(
            tried.map(\.reason) == [
                "there is no socket", "no process listens on it",
                "the path is too long for a socket",
            ]
        )
    }

    @Test("A dead socket does not keep from the next one")
    func nextSocket() async throws {
        let dead = directory.path("dead.sock")
        try Self.leaveDeadSocket(at: dead)
        let daemon = try await ScriptedDaemon()
        let client = LarderClient(trying: [directory.path("no"), dead, daemon.path])
        daemon.answer("/v1/entries/a", with: .reply(200, body: [1]))
        let bytes = try await client.entry("a").bytes
        await client.shutdown()
        await daemon.stop()
        #expect(bytes == [1])
    }

    @Test("A daemon that said no is not passed over for another")
    func refusalStays() async throws {
        let first = try await ScriptedDaemon()
        let second = try await ScriptedDaemon()
        second.answer("/v1/entries/a", with: .reply(200, body: [1]))
        let client = LarderClient(trying: [first.path, second.path])
        await expectProblem("urn:larder:miss") { () throws(LarderError) in
            try await client.entry("a")
        }
        await client.shutdown()
        await first.stop()
        await second.stop()
        #expect(second.accepted.all.isEmpty)
    }

    @Test("A daemon that cut the first answer off is not left for another, be it gone or not")
    func choiceStays() async throws {
        let first = try await ScriptedDaemon()
        let second = try await ScriptedDaemon()
        first.answer("/v1/status", with: .raw(""))
        let client = LarderClient(trying: [first.path, second.path])
        #expect(await error(of: client) == .cutOff)
        await first.stop()
        guard case .unreachable(let tried) = await error(of: client) else {
            Issue.record("it is not said that the daemon is gone")
            return
        }
        await client.shutdown()
        await second.stop()
        #expect(tried.map(\.path) == [first.path])
        #expect(second.accepted.all.isEmpty)
    }

    @Test("A daemon that many wait for is waited for, and not left for another")
    func fullBacklog() async throws {
        let path = directory.path("full.sock")
        let listener = try Self.bind(path)
        defer { close(listener) }
        try #require(listen(listener, 0) == 0)
        var waiting: [Int32] = []
        defer { for descriptor in waiting { close(descriptor) } }
        while true {
            let descriptor = socket(
                AF_UNIX,
                Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
                0
            )
            waiting.append(descriptor)
            let result = Self.withAddress(path) { connect(descriptor, $0, $1) }
            guard result == 0 else { break }
        }
        try #require(errno == EAGAIN)
        let second = try await ScriptedDaemon()
        let pauses = Recorder<Duration>()
        let time = ClientTime(
            pause: { (pause) async throws(CancellationError) in pauses.record(pause) },
            randomUnit: { 0.5 }
        )
        let client = LarderClient(trying: [path, second.path], time: time)
        let failure = await error(of: client)
        await client.shutdown()
        await second.stop()
        let reason = "too many wait to be accepted"
        #expect(failure == .unreachable([SocketFailure(path: path, reason: reason)]))
        #expect(second.accepted.all.isEmpty)
        #expect(pauses.all.first == .milliseconds(10))
        #expect(pauses.all.reduce(.zero, +) <= .seconds(10))
    }

    @Test(
        "A daemon that is slow is late, and not missing",
        arguments: [nil, OriginAnswer.Step.head(200, ["Content-Length": "2"])]
    )
    func slow(head: OriginAnswer.Step?) async throws {
        try await withDaemon { daemon, client in
            let gate = Gate()
            daemon.answer("/v1/status", with: OriginAnswer([head, .wait(gate)].compactMap { $0 }))
            let request = SocketRequest(.GET, "/v1/status", timeLimit: .milliseconds(20))
            await #expect(throws: LarderError.timedOut) {
                _ = try await client.connection.report(request)
            }
            gate.open()
        }
    }

    @Test(
        "A socket without permission for the client throws notPermitted",
        .enabled(if: getuid() != 0)
    )
    func permission() async throws {
        let daemon = try await ScriptedDaemon()
        chmod(daemon.path, 0)
        let client = LarderClient(socket: .path(daemon.path))
        let failure = await error(of: client)
        await client.shutdown()
        await daemon.stop()
        #expect(failure == .socketRefused(path: daemon.path))
    }

    @Test("After shutdown nothing is sent")
    func shutdown() async throws {
        try await withDaemon { daemon, client in
            await client.shutdown()
            #expect(await error(of: client) == .cancelled)
            #expect(daemon.requests.all.isEmpty)
        }
    }

    @Test("A client that is let go without a shutdown closes its connections")
    func deinitialization() async throws {
        let daemon = try await ScriptedDaemon()
        daemon.answer("/v1/entries/a", with: .reply(200, body: [1]))
        _ = try await LarderClient(socket: .path(daemon.path)).entry("a")
        let closed = try await daemon.closed.element(0)
        #expect(closed == 0)
        await daemon.stop()
    }

    @Test("The socket is looked for where larderd binds it")
    func candidates() {
        let system = "/run/larder/api.sock"
        func found(_ environment: [String: String], run: Bool = false) -> [String] {
            SocketLocation.found.candidates(
                environment: environment,
                uid: 1_000,
                hasRuntimeDirectory: run
            )
        }
        #expect(found(["LARDER_SOCKET": "/x", "XDG_RUNTIME_DIR": "/r"]) == ["/x"])
        #expect(
            found(["XDG_RUNTIME_DIR": "/r", "HOME": "/h"])
                == ["/r/larder/api.sock", "/h/.cache/larder/api.sock", system]
        )
        #expect(
            found(["XDG_RUNTIME_DIR": "relative", "XDG_CACHE_HOME": "/c"], run: true)
                == ["/run/user/1000/larder/api.sock", "/c/larder/api.sock", system]
        )
        #expect(found(["HOME": "/h"]) == ["/h/.cache/larder/api.sock", system])
        let root = SocketLocation.found.candidates(
            environment: ["HOME": "/root", "XDG_RUNTIME_DIR": "/r"],
            uid: 0,
            hasRuntimeDirectory: true
        )
        #expect(root == [system])
    }

    /// A socket's file that its owner left behind.
    private static func leaveDeadSocket(at path: String) throws {
        close(try bind(path))
    }

    /// A socket that is bound, and on which nobody listens yet.
    private static func bind(_ path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(withAddress(path) { Glibc.bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    private static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
