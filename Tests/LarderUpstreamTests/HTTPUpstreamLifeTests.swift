import LarderModel
import LarderTestSupport
import LarderUpstream
import Testing

@Suite("How a request is given up", .timeLimit(.minutes(5)))
struct HTTPUpstreamLifeTests {
    @Test("Cancelling the task before the head ends the request and its connection")
    func cancelledBeforeHead() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .never)
            let request = try fixture.request()
            let task = Task { await fixture.failure(of: request) }
            _ = try await fixture.server.requests.element(0)
            task.cancel()
            #expect(await task.value == .cancelled)
            _ = try await fixture.server.closed.element(0)
        }
    }

    @Test("Cancelling the task in the body ends the request and its connection")
    func cancelledInBody() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: HTTPUpstreamFailureTests.stopsInBody)
            let request = try fixture.request()
            let halfRead = Gate()
            let task = Task { () async throws -> UpstreamError? in
                let reply = try await fixture.upstream.ask(request)
                _ = try await reply.body.next()
                halfRead.open()
                do throws(UpstreamError) {
                    _ = try await reply.body.next()
                    return nil
                } catch {
                    return error
                }
            }
            try await halfRead.wait()
            task.cancel()
            #expect(try await task.value == .cancelled)
            _ = try await fixture.server.closed.element(0)
        }
    }

    @Test("A cancelled task asks nothing")
    func cancelledBefore() async throws {
        try await withOrigin { fixture in
            let request = try fixture.request()
            let gate = Gate()
            let task = Task { () async -> UpstreamError? in
                try? await gate.wait()
                return await fixture.failure(of: request)
            }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(fixture.server.accepted.all == [])
        }
    }

    @Test("A body that is not read to its end closes its connection")
    func droppedBody() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: HTTPUpstreamFailureTests.stopsInBody)
            #expect(try await fixture.ask().status == 200)
            _ = try await fixture.server.closed.element(0)
        }
    }

    @Test("Requests beyond a host's connections wait for one longer than the connect timeout")
    func busyConnections() async throws {
        try await withOrigin { fixture in
            // Long enough for the connections to be made on a busy machine.
            let fixture = fixture.with { $0.fetch.connectTimeout = .seconds(15) }
            let gate = Gate()
            fixture.server.answer("/slow", with: .text("slow").held(by: gate))
            fixture.server.answer("/last", with: .text("last"))
            let slow = try fixture.request("/slow")
            let last = try fixture.request("/last")
            let brief = try fixture.request("/last", timeout: .seconds(20))
            await withTaskGroup(of: UpstreamError?.self) { group in
                let count = Limits.upstreamConnectionsPerHostMax
                for _ in 0..<count { group.addTask { await fixture.failure(of: slow) } }
                _ = try? await fixture.server.requests.element(count - 1)
                group.addTask { await fixture.failure(of: last) }
                #expect(await fixture.failure(of: brief) == .timedOut(.head))
                gate.open()
                for await failure in group { #expect(failure == nil) }
            }
            #expect(fixture.server.accepted.all.count == Limits.upstreamConnectionsPerHostMax)
        }
    }

    @Test("Shutting down ends what is under way, and nothing is asked after it")
    func shutdown() async throws {
        try await withOrigin { fixture in
            fixture.server.answer("/", with: .never)
            let request = try fixture.request()
            let task = Task { await fixture.failure(of: request) }
            _ = try await fixture.server.requests.element(0)
            await fixture.upstream.shutdown()
            #expect(await task.value == .cancelled)
            #expect(await fixture.failure(of: request) == .cancelled)
        }
    }
}
