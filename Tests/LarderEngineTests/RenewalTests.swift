import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Clients that wait for the order to renew a credential (case 23, S27).
@Suite("Renewal of credentials", .timeLimit(.minutes(5)), .engine)
struct RenewalTests {
    private let fixture = EngineFixture.running

    private var name: OriginName { get throws { try OriginName("example") } }

    private func set(
        _ value: String,
        lease: String? = nil,
        lasting time: Duration? = nil
    ) async throws {
        var command = CredentialCommand(value: value)
        command.lease = lease
        command.expires = time.map { .init(fixture.clock.now().advanced(by: $0)) }
        _ = try await fixture.engine.credentials.set(command, at: name, fixture.scope)
    }

    private func isRefused(_ scope: Scope = EngineFixture.scope) async throws -> Bool {
        try await fixture.engine.credentials.report(name, fixture.key(scope)).refused
    }

    /// A client that waits; its wait is known by its length.
    private struct Renewer: Sendable {
        let cancellation = ClientCancellation()
        let orders = Recorder<RenewalOrder>()
        let end: Task<Bool, any Error>

        init(
            _ fixture: EngineFixture,
            _ name: OriginName,
            _ scope: Scope,
            wait: Duration
        ) {
            let (cancellation, orders) = (self.cancellation, self.orders)
            let credentials = fixture.engine.credentials
            let key = fixture.key(scope)
            end = Task {
                try await credentials.order(at: name, key, wait: wait, cancellation: cancellation) {
                    orders.record($0)
                    return true
                }
            }
        }

        /// Hangs up; returns whether the client had an order.
        func leave() async throws -> Bool {
            cancellation.giveUp()
            return try await end.value
        }
    }

    /// Returns a client that waits, and looks again after its time unless something happens.
    private func renewer(
        _ seconds: Int,
        looking time: Duration? = nil
    ) async throws -> Renewer {
        let until = fixture.clock.monotonic() + (time ?? .seconds(seconds))
        let wait = Duration.seconds(seconds)
        let renewer = Renewer(fixture, try name, EngineFixture.scope, wait: wait)
        try await fixture.clock.sleepers(until: until)
        return renewer
    }

    @Test("A refused read gives one waiting client the order, and its credential ends the lease")
    func refusedRead() async throws {
        let url = try fixture.url("/r")
        fixture.upstream.answer(url, with: .reply(status: 401), .json("[1]"))
        try await set("old")
        let (first, second) = (try await renewer(400), try await renewer(401))
        try await fixture.fetch(url, .networkOnly)
        let order = try await first.orders.element(0)
        #expect(order.reason == .refused)
        #expect(try await isRefused())
        try await set("new", lease: order.lease)
        #expect(try await first.end.value)
        #expect(try await isRefused() == false)
        try await fixture.fetch(url, .networkOnly)
        let values = fixture.upstream.asked.all.map { $0.origin.headers["Authorization"] }
        #expect(values == ["old", "new"])
        #expect(try await second.leave() == false)
        let problem = await #expect(throws: Problem.self) {
            try await set("late", lease: order.lease)
        }
        #expect(problem?.kind == .leaseOver)
        #expect(problem?.detail.contains("late") == false)
    }

    @Test("A refused read may be retried while a client renews the credential (S25)")
    func retryable() async throws {
        let url = try fixture.url("/r")
        fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 401))
        let client = try await renewer(400)
        let refusal = try await fixture.fetch(url, .networkOnly).refusal
        #expect(refusal?.originStatus == 401)
        #expect(refusal?.retryable == true)
        _ = try await client.orders.element(0)
        #expect(try await client.leave())
        #expect(try await fixture.fetch(url, .networkOnly).refusal?.retryable == false)
    }

    @Test("The lease ends when its client hangs up or its time is over: the next is asked")
    func takenOver() async throws {
        let url = try fixture.url("/r")
        fixture.upstream.answer(url, with: .reply(status: 401))
        let first = try await renewer(400)
        let (second, third) = (try await renewer(401), try await renewer(402))
        // The origin asks for a credential, and the account has none.
        try await fixture.fetch(url, .networkOnly)
        let dead = try await first.orders.element(0)
        #expect(try await first.leave())
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.clock.advance(by: .seconds(1))
        let slow = try await second.orders.element(0)
        try await fixture.clock.sleepers(until: .seconds(31))
        fixture.clock.advance(by: .seconds(30))
        #expect(try await second.end.value)
        let last = try await third.orders.element(0)
        for lease in [dead.lease, slow.lease] {
            await #expect(throws: Problem.self) { try await set("late", lease: lease) }
        }
        try await set("new", lease: last.lease)
        #expect(try await third.end.value)
    }

    @Test("A slow client's credential is taken while no other client has an order")
    func slow() async throws {
        try await set("short", lasting: .seconds(300))
        let only = try await renewer(1_000, looking: .seconds(240))
        fixture.clock.advance(by: .seconds(240))
        let order = try await only.orders.element(0)
        try await fixture.clock.sleepers(until: .seconds(270))
        fixture.clock.advance(by: .seconds(30))
        #expect(try await only.end.value)
        try await set("new", lease: order.lease)
        await #expect(throws: Problem.self) { try await set("again", lease: order.lease) }
    }

    @Test("A credential is renewed 60 s before it ends, but not while its origin is offline")
    func expiring() async throws {
        try await set("short", lasting: .seconds(300))
        let client = try await renewer(1_000, looking: .seconds(240))
        fixture.upstream.answer(try fixture.url("/"), with: .reply(status: 204))
        _ = try await fixture.engine.origins.setOffline(name, true, for: 1_000)
        try await fixture.clock.sleepers(until: Limits.renewalLookTime)
        fixture.clock.advance(by: .seconds(240))
        fixture.engine.context.credentials.noteNews()
        try await fixture.clock.sleepers(until: .seconds(240) + Limits.renewalLookTime)
        #expect(client.orders.all.isEmpty)
        _ = try await fixture.engine.origins.setOffline(name, false, for: 1_000)
        let order = try await client.orders.element(0)
        #expect(order.reason == .expiring)
        try await set("long", lease: order.lease, lasting: .seconds(600))
        #expect(try await client.end.value)
    }

    @Test("A write that has no credential, or whose credential is refused, gives the order")
    func writes() async throws {
        let url = try fixture.url("/w")
        fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 204))
        try await set("old")
        let lane = Lane.name(try LaneName("slow"))
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: true)
        let id = try await fixture.write(.url(url), .none, "PUT") {
            $0.lane = try LaneName("slow")
        }
        _ = try await fixture.engine.credentials.remove(at: name, fixture.scope)
        let first = try await renewer(400)
        try await fixture.engine.modifiers.setLane(lane, fixture.scope, isPaused: false)
        try await set("second", lease: try await first.orders.element(0).lease)
        let second = try await renewer(401)
        try await fixture.clock.sleepers(until: .seconds(1))
        fixture.clock.advance(by: .seconds(1))
        try await set("third", lease: try await second.orders.element(0).lease)
        #expect(try await fixture.settled(id).state == .confirmed)
        let sent = fixture.upstream.asked.all.filter { $0.method == "PUT" }
        #expect(sent.map { $0.origin.headers["Authorization"] } == ["second", "third"])
    }

    @Test("No client is asked for other accounts, or after a read with a client's own header")
    func others() async throws {
        let url = try fixture.url("/r")
        fixture.upstream.answer(url, with: .reply(status: 401), .reply(status: 401))
        let work = Scope.own(uid: 1_000, account: try AccountName("work"))
        let client = try await renewer(400)
        try await fixture.fetch(url, .networkOnly, as: work)
        #expect(try await isRefused(work))
        try await fixture.fetch(url, .networkOnly) { $0.headers.append("X-Api-Key", "own") }
        #expect(try await isRefused() == false)
        #expect(try await client.leave() == false)
        #expect(client.orders.all.isEmpty)
    }

    @Test("The end of the daemon ends the wait, and a wait has its time")
    func ends() async throws {
        let client = try await renewer(400)
        let short = Renewer(fixture, try name, EngineFixture.scope, wait: .zero)
        #expect(try await short.end.value == false)
        fixture.engine.drain()
        let problem = await #expect(throws: Problem.self) { try await client.end.value }
        #expect(problem?.kind == .shuttingDown)
    }

    @Test("A user has a limited number of clients that wait")
    func limit() async throws {
        let table = fixture.engine.context.credentials
        let account = CredentialName(EngineFixture.scope, at: try name)
        let clients = (0..<Limits.renewersPerUserMax).compactMap { _ in
            table.join(account, now: .zero)
        }
        #expect(clients.count == Limits.renewersPerUserMax)
        let problem = await #expect(throws: Problem.self) {
            try await fixture.engine.credentials.order(
                at: name,
                fixture.scope,
                wait: .zero,
                cancellation: ClientCancellation()
            ) { _ in true }
        }
        #expect(problem?.kind == .overloaded)
        for client in clients { table.leave(client, account) }
        #expect(table.join(account, now: .zero) != nil)
    }
}
