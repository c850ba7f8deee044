import LarderModel
import LarderTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import LarderUpstream

@Suite("Where an origin may live", .timeLimit(.minutes(5)))
struct AddressTests {
    /// A request to the fixture's port at another host.
    private func request(_ fixture: UpstreamFixture, at host: String) throws -> UpstreamRequest {
        var request = try fixture.request(timeout: .seconds(600))
        request.url = try WebURL("http://\(host):\(fixture.server.port)/asked")
        return request
    }

    @Test(
        "A loopback address is refused before anything is connected to it, unless it is allowed",
        arguments: [
            "127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost",
        ]
    )
    func refused(_ host: String) async throws {
        try await withOrigin { allowing in
            let refusing = allowing.with {
                $0.allowPrivate = false
                $0.fetch.connectTimeout = .seconds(600)
            }
            let asked = try request(refusing, at: host)
            let isName = host == "localhost"
            for _ in 0..<3 {
                guard case .addressRefused(host, let address) = await refusing.failure(of: asked)
                else {
                    Issue.record("it was not refused")
                    return
                }
                #expect(isName ? ["127.0.0.1", "::1"].contains(address) : address == host)
            }
            let check = await refusing.upstream.check(asked)
            guard case .failed(.addressRefused(host, _)) = check.outcome else {
                Issue.record("the check ended with \(check)")
                return
            }
            #expect(allowing.server.accepted.all == [])
            #expect(await allowing.failure(of: try request(allowing, at: host)) == nil)
            #expect(allowing.server.requests.all.map(\.path) == ["/asked"])
        }
    }

    @Test(
        "A private address, and a name that leads to one, are refused where nothing listens",
        arguments: [
            "127.0.0.1", "localhost", "[::1]", "[::]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
            "[64:ff9b::7f00:1]", "[fe80::1]", "[fd00::1]", "127.1", "0x7f000001", "2130706433",
        ]
    )
    func refusedUnasked(_ host: String) async throws {
        try await withOrigin { fixture in
            let fixture = fixture.with { $0.allowPrivate = false }
            await fixture.server.stop()
            let failure = await fixture.failure(of: try request(fixture, at: host))
            guard case .addressRefused(host, _) = failure else {
                Issue.record("it ended with \(String(describing: failure))")
                return
            }
        }
    }

    @Test("A name of which one address is private is refused")
    func mixed() async throws {
        try await withOrigin(lookUp: Self.answering(["93.184.216.34", "10.0.0.1"])) { fixture in
            let fixture = fixture.with { $0.allowPrivate = false }
            let failure = await fixture.failure(of: try request(fixture, at: "localhost"))
            #expect(failure == .addressRefused(host: "localhost", address: "10.0.0.1"))
            #expect(fixture.server.accepted.all == [])
        }
    }

    @Test("A name that leads elsewhere when it is connected to hears nothing of the request")
    func rebound() async throws {
        try await withOrigin(lookUp: Self.answering(["93.184.216.34"])) { fixture in
            let fixture = fixture.with {
                $0.allowPrivate = false
                $0.fetch.connectTimeout = .seconds(600)
            }
            for _ in 0..<3 {
                let failure = await fixture.failure(of: try request(fixture, at: "localhost"))
                #expect(failure == .addressRefused(host: "localhost", address: "127.0.0.1"))
            }
            _ = try await fixture.server.closed.element(2)
            #expect(fixture.server.requests.all == [])
        }
    }

    @Test("A burst of requests looks a name up once, and one that failed is looked up again")
    func lookedUpOnce() async throws {
        let lookups = Recorder<String>()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let found = loop.makePromise(of: [SocketAddress].self)
        let lookUp: @Sendable (String) -> EventLoopFuture<[SocketAddress]> = { name in
            lookups.record(name)
            return found.futureResult
        }
        try await withOrigin(lookUp: lookUp) { fixture in
            let fixture = fixture.with {
                $0.allowPrivate = false
                $0.fetch.connectTimeout = .seconds(600)
            }
            let asked = try request(fixture, at: "larder.invalid")
            let unknown = UpstreamError.unreachable(
                host: "larder.invalid",
                reason: "the name was not found"
            )
            async let first = fixture.failure(of: asked)
            async let second = fixture.failure(of: asked)
            _ = try await lookups.element(0)
            found.fail(SocketAddressError.unsupported)
            #expect(await first == unknown)
            #expect(await second == unknown)
            #expect(await fixture.failure(of: asked) == unknown)
            #expect(Set(lookups.all) == ["larder.invalid"])
        }
    }

    @Test(
        "A lookup that never ends is given up by each request that waits for it",
        arguments: [false, true]
    )
    func hangingLookup(_ allowsPrivate: Bool) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let never = loop.makePromise(of: [SocketAddress].self)
        let lookups = Recorder<String>()
        let lookUp: @Sendable (String) -> EventLoopFuture<[SocketAddress]> = { name in
            lookups.record(name)
            return never.futureResult
        }
        try await withOrigin(lookUp: lookUp) { fixture in
            let fixture = fixture.with {
                $0.allowPrivate = allowsPrivate
                $0.fetch.connectTimeout = .milliseconds(1)
            }
            var asked = try request(fixture, at: "larder.invalid")
            #expect(
                await fixture.failure(of: asked)
                    == .unreachable(
                        host: "larder.invalid",
                        reason: "its name was not found in time"
                    )
            )
            let patient = fixture.with { $0.fetch.connectTimeout = .seconds(600) }
            asked.origin = patient.origin
            asked.timeout = .milliseconds(1)
            #expect(await patient.failure(of: asked) == .timedOut(.head))
            asked.timeout = .seconds(600)
            let task = Task { [asked] in await patient.failure(of: asked) }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(Set(lookups.all) == ["larder.invalid"])
        }
        never.succeed([])
    }

    @Test("A request that comes after some seconds does not wait for a lookup that hangs")
    func replacedLookup() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let hanging = group.next().makePromise(of: [SocketAddress].self)
        let address = try SocketAddress(ipAddress: "93.184.216.34", port: 0)
        let lookups = Recorder<String>()
        let names = NameCheck(eventLoopGroup: group) { name in
            lookups.record(name)
            return lookups.all.count == 1
                ? hanging.futureResult : group.next().makeSucceededFuture([address])
        }
        let url = try WebURL("https://larder.invalid/")
        var origin = OriginSettings(name: try OriginName("public"), baseURL: url)
        origin.fetch.connectTimeout = .seconds(600)
        let request = UpstreamRequest(origin: origin, url: url, timeout: .seconds(600))
        let begin = NIODeadline.now()
        @Sendable
        func judge(at now: NIODeadline) async throws {
            let settings = ConnectionSettings(for: request)
            try await names.judge(url, settings, now: now, deadline: begin + .hours(1))
        }
        async let first: Void = judge(at: begin)
        _ = try await lookups.element(0)
        let later = begin + TimeAmount(Limits.lookupJoinTime)
        try await judge(at: later)
        #expect(lookups.all.count == 2)
        // The end of the lookup that hung takes nothing from the one in its place.
        hanging.fail(SocketAddressError.unsupported)
        let judged: Void? = try? await first
        #expect(judged == nil)
        try await judge(at: later)
        #expect(lookups.all.count == 2)
    }

    @Test("A request for a name that was found waits for no event loop")
    func knownName() async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let names = NameCheck(
            eventLoopGroup: loops,
            lookUp: Self.answering(["93.184.216.34", "10.0.0.1"])
        )
        let url = try WebURL("https://larder.invalid/")
        var origin = OriginSettings(name: try OriginName("public"), baseURL: url)
        origin.fetch.connectTimeout = .seconds(600)
        let settings = ConnectionSettings(
            for: UpstreamRequest(origin: origin, url: url, timeout: .seconds(600))
        )
        let begin = NIODeadline.now()
        let refusal = UpstreamError.addressRefused(host: url.host, address: "10.0.0.1")
        await #expect(throws: refusal) {
            try await names.judge(url, settings, now: begin, deadline: begin + .hours(1))
        }
        // The loop of the lookup answers nothing from now on.
        try await loops.shutdownGracefully()
        await #expect(throws: refusal) {
            try await names.judge(url, settings, now: begin, deadline: begin + .hours(1))
        }
    }

    private static func answering(
        _ addresses: [String]
    ) -> @Sendable (String) -> EventLoopFuture<[SocketAddress]> {
        { _ in
            MultiThreadedEventLoopGroup.singleton.next().makeCompletedFuture {
                try addresses.map { try SocketAddress(ipAddress: $0, port: 0) }
            }
        }
    }
}
