import LarderClient
import LarderTestSupport
import Testing

@Suite("Cancelling a request", .timeLimit(.minutes(5)))
struct CancellationTests {
    /// What a program may wait for, by the path that it asks.
    private static let requests:
        [(path: String, ask: @Sendable (LarderClient) async throws(LarderError) -> Void)] = [
            ("/v1/status", { (client) throws(LarderError) in _ = try await client.status() }),
            ("/v1/usage", { (client) throws(LarderError) in _ = try await client.usage() }),
            (
                "/v1/entries?limit=1000",
                { (client) throws(LarderError) in for try await _ in client.allEntries() {} }
            ),
            ("/v1/entries/a", { (client) throws(LarderError) in _ = try await client.entry("a") }),
            (
                "/v1/evict",
                { (client) throws(LarderError) in try await client.evict(EvictCommand()) }
            ),
            (
                "/v1/entries/a",
                { (client) throws(LarderError) in try await client.put("a", bytes: [1]) }
            ),
        ]

    @Test("The task throws cancelled, and the connection is closed", arguments: requests.indices)
    func whileWaiting(index: Int) async throws {
        let (path, ask) = Self.requests[index]
        try await withDaemon { daemon, client in
            let never = Gate()
            daemon.answer(path, with: OriginAnswer([.wait(never)]))
            let task = Task { () -> LarderError? in
                do throws(LarderError) {
                    try await ask(client)
                    return nil
                } catch {
                    return error
                }
            }
            _ = try await daemon.requests.element(0)
            task.cancel()
            #expect(await task.value == .cancelled)
            let closed = try await daemon.closed.element(0)
            #expect(closed == 0)
        }
    }

    @Test("So does one in the middle of a body")
    func withinBody() async throws {
        try await withDaemon { daemon, client in
            let never = Gate()
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"
            daemon.answer(
                "/v1/entries/a",
                with: OriginAnswer([.send(Array(head.utf8)), .wait(never)])
            )
            let seen = Recorder<[UInt8]>()
            let task = Task { () -> LarderError? in
                do throws(LarderError) {
                    for try await chunk in try await client.entryStream("a").chunks {
                        seen.record(chunk)
                    }
                    return nil
                } catch {
                    return error
                }
            }
            #expect(try await seen.element(0) == Array("ab".utf8))
            task.cancel()
            #expect(await task.value == .cancelled)
            let closed = try await daemon.closed.element(0)
            #expect(closed == 0)
        }
    }
}
