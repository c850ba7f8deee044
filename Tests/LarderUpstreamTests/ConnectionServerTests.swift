import LarderTestSupport
import NIOCore
import NIOPosix
import Testing

/// The server that the tests ask, where it could take all tests down with it.
@Suite("The tests' own server", .timeLimit(.minutes(5)))
struct ConnectionServerTests {
    @Test("The server can stop in the moment in which it accepts connections")
    func stoppedWhileAccepting() async throws {
        for _ in 0..<200 {
            let server = try await OriginServer.start()
            let port = server.port
            await withDiscardingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let client = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                        let channel = try? await client.connect(host: "127.0.0.1", port: port).get()
                        try? await channel?.close()
                    }
                }
                group.addTask { await server.stop() }
            }
        }
    }
}
