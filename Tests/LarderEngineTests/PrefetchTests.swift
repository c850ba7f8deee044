import LarderAPI
import LarderModel
import LarderNormalize
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Sets of entries that are fetched in advance (S42 to S45).
@Suite("Sets to prefetch", .timeLimit(.minutes(5)), .engine)
struct PrefetchTests {
    private let fixture = EngineFixture.running

    private func serve(_ body: String = "[1]", in other: EngineFixture? = nil) {
        (other ?? fixture).upstream.answerOthers { request in
            request.method == "HEAD"
                ? .reply(headers: ["Content-Length": "\(body.utf8.count)"]) : .json(body)
        }
    }

    private func asked(_ method: String) -> [String] {
        fixture.upstream.asked.all.filter { $0.method == method }.map(\.url.pathAndQuery)
    }

    private func bytes(_ path: String) throws -> String? {
        let reader = try fixture.engine.store.makeReader()
        let id = try EntryID(fixture.url(path))
        return try reader.withEntry(fixture.scope, id, now: fixture.clock.now()) { row in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test("All are held, each by a pin that the set keeps (S43)")
    func ready() async throws {
        serve()
        let report = try await fixture.prefetch("/a", "/b", "/a")
        #expect(report.state == .ready)
        #expect([report.items, report.held] == [2, 2])
        #expect(report.bytes == 6 && report.estimatedBytes == 6 && report.unknownSizes == 0)
        #expect(report.failed == [])
        let pins = try await fixture.pinned
        #expect(pins.map(\.keptBy) == [["prefetch:set"], ["prefetch:set"]])
        #expect(asked("HEAD").sorted() == ["/a", "/b"])
        #expect(asked("GET").sorted() == ["/a", "/b"])
        // An entry that is held is neither sized nor fetched again.
        let command = try fixture.command(["/a", "/b"])
        let other = try await fixture.engine.prefetches
            .put(PrefetchName("other"), command, fixture.scope, wait: .seconds(60))
        #expect(other.state == .ready)
        #expect(fixture.upstream.asked.all.count == 4)
        let first = try await fixture.pinned.first?.keptBy
        #expect(first == ["prefetch:other", "prefetch:set"])
    }

    @Test("A URL that is given several times is stored once in the list of its set")
    func doubles() async throws {
        serve()
        _ = try await fixture.prefetch("/a", "/b", "/a", "/a")
        let sets = try await fixture.engine.store.prefetches.sets(.one(fixture.scope))
        let set = try #require(sets.first)
        let list = try await fixture.engine.store.prefetches.definition(of: set)
        let command = try fixture.command(["/a", "/b"])
        let stored = try APIDecoder(.lenient).decode(PrefetchCommand.self, from: list ?? [])
        #expect(stored.items == command.items)
    }

    @Test("A set that is too large is refused before a body is fetched (S42)")
    func tooLarge() async throws {
        try await EngineFixture.run(
            .with { $0.store.pinsMaxBytes = ByteSize(bytes: 100_000) }
        ) { fixture in
            fixture.upstream.answerOthers { _ in .reply(headers: ["Content-Length": "60000"]) }
            let problem = await #expect(throws: Problem.self) {
                _ = try await fixture.prefetch("/a", "/b")
            }
            #expect(problem?.kind == .pinsFull)
            #expect(problem?.freeBytes == 90_000)
            #expect((problem?.neededBytes ?? 0) > 120_000)
            #expect(fixture.upstream.asked.all.allSatisfy { $0.method == "HEAD" })
            let sets = try await fixture.engine.prefetches.list(fixture.scope)
            let pins = try await fixture.pinned
            #expect(sets.isEmpty && pins.isEmpty)
        }
    }

    @Test("An entry that was not asked for in time counts with the mean of the known sizes (S42)")
    func unasked() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 100_000) }
        try await EngineFixture.run(setup) { fixture in
            let clock = fixture.clock
            // The first answer comes when the time for all sizes is over.
            fixture.upstream.answerOthers { _ in
                clock.advance(by: Limits.prefetchSizingTime)
                return .reply(headers: ["Content-Length": "20000"])
            }
            let paths = (0..<8).map { "/\($0)" }
            let command = try fixture.command(paths)
            let problem = await #expect(throws: Problem.self) {
                _ = try await fixture.engine.prefetches
                    .put(PrefetchName("set"), command, fixture.scope)
            }
            #expect(problem?.kind == .pinsFull)
            #expect((problem?.neededBytes ?? 0) > 160_000)
            #expect(fixture.upstream.asked.all.count <= Limits.prefetchHeadsMax)
            #expect(fixture.upstream.asked.all.allSatisfy { $0.method == "HEAD" })
        }
    }

    @Test("Four sizes are asked for at a time, each for 5 s; a late one is unknown (S42)")
    func headsAtOnce() async throws {
        let gate = Gate()
        fixture.upstream.answerOthers { request in
            request.url.pathAndQuery == "/0"
                ? ScriptedAnswer.failure(.timedOut(.head)).held(by: gate)
                : ScriptedAnswer.reply(headers: ["Content-Length": "7"]).held(by: gate)
        }
        let (engine, scope) = (fixture.engine, fixture.scope)
        let name = try PrefetchName("set")
        let command = try fixture.command((0..<8).map { "/\($0)" })
        async let planned = engine.prefetches.put(name, command, scope, isPlan: true)
        _ = try await fixture.upstream.held.element(3)
        for _ in 0..<2_000 { await Task.yield() }
        #expect(asked("HEAD").count == 4)
        gate.open()
        let report = try await planned
        #expect(report.estimatedBytes == 49 && report.unknownSizes == 1)
        let times = fixture.upstream.asked.all.map(\.timeout)
        #expect(times == Array(repeating: Duration.seconds(5), count: 8))
    }

    @Test("A set with a length that no body can have is refused (S42)")
    func absurdLength() async throws {
        fixture.upstream.answerOthers { _ in
            .reply(headers: ["Content-Length": "9223372036854775807"])
        }
        let problem = await #expect(throws: Problem.self) {
            _ = try await fixture.prefetch("/a", "/b")
        }
        #expect(problem?.kind == .pinsFull)
    }

    @Test("A plan tells the sizes, and makes nothing (S42)")
    func plan() async throws {
        fixture.upstream.answerOthers { request in
            request.url.pathAndQuery == "/b"
                ? .reply("", status: 404) : .reply(headers: ["Content-Length": "7"])
        }
        let command = try fixture.command(["/a", "/b"])
        let name = try PrefetchName("set")
        let report = try await fixture.engine.prefetches
            .put(name, command, fixture.scope, isPlan: true)
        #expect(report.state == .planned)
        #expect([report.items, report.held, report.unknownSizes] == [2, 0, 1])
        #expect(report.estimatedBytes == 7)
        #expect(asked("GET") == [])
        let sets = try await fixture.engine.prefetches.list(fixture.scope)
        #expect(sets == [])
    }

    @Test("An entry that is missing is named with its problem (S43)")
    func incomplete() async throws {
        serve()
        fixture.upstream.answer(try fixture.url("/b"), with: .reply("", status: 404))
        fixture.upstream.answer(try fixture.url("/b"), with: .reply("", status: 404))
        let report = try await fixture.prefetch("/a", "/b")
        #expect(report.state == .incomplete)
        #expect([report.items, report.held] == [2, 1])
        #expect(report.failed?.map(\.id) == [try fixture.url("/b").text])
        #expect(report.failed?.first?.problem.kind == .deleted)
        // The same command asks again.
        let again = try await fixture.prefetch("/a", "/b")
        #expect(again.state == .ready && again.failed == [])
    }

    @Test("An entry that fails again and again keeps none from being fetched (S43)")
    func failing() async throws {
        let failing = try fixture.url("/a")
        fixture.upstream.answerOthers { request in
            request.url == failing ? .reply("down", status: 500) : .json("[1]")
        }
        let report = try await fixture.prefetch("/a", "/b", "/c")
        #expect(report.state == .incomplete && report.held == 2)
        #expect(report.failed?.map(\.id) == [failing.text])
        #expect(report.failed?.first?.problem.originStatus == 500)
        fixture.upstream.answerOthers { _ in .json("[1]") }
        try await fixture.until { try await fixture.state == .ready }
    }

    @Test("A busy origin gets no more requests of a list, and rests (S43)", arguments: [429, 503])
    func busy(status: Int) async throws {
        fixture.upstream.answerOthers { request in
            request.method == "HEAD" ? .reply(status: 405) : .reply("busy", status: status)
        }
        let paths = (0..<40).map { "/\($0)" }
        let command = try fixture.command(paths)
        _ = try await fixture.engine.prefetches
            .put(PrefetchName("set"), command, fixture.scope)
        _ = try await fixture.upstream.asked.element(40)
        for _ in 0..<2_000 { await Task.yield() }
        #expect(asked("GET").count <= Limits.pinsFetchedAtOnce)
    }

    @Test("A set that is put again is filled, whatever the last attempts have met (S43)")
    func again() async throws {
        let url = try fixture.url("/a")
        fixture.upstream.answerOthers { _ in .reply("down", status: 500) }
        #expect(try await fixture.prefetch("/a").state == .incomplete)
        let gate = Gate()
        fixture.upstream.answer(url, with: .json("[1]"))
        fixture.upstream.answer(url, with: .json("[1]").held(by: gate))
        let command = try fixture.command(["/a"])
        let report = try await fixture.engine.prefetches
            .put(PrefetchName("set"), command, fixture.scope)
        #expect(report.state == .filling)
        gate.open()
        try await fixture.until { try await fixture.state == .ready }
    }

    @Test("An answer that confirms a cached entry leaves its pin to the set (S44)")
    func confirmed() async throws {
        let url = try fixture.url("/a")
        let scope = fixture.scope
        try await fixture.cache(url, .json("[1]", etag: "\"v\""))
        _ = try await fixture.prefetch("/a")
        let attempt = PinAttempt(fixture.engine.context, scope, try EntryID(url))
        fixture.upstream.answer(url, with: .notModified)
        _ = await attempt?.run()
        #expect(try await fixture.pinned.map(\.keptBy) == [["prefetch:set"]])
        try await fixture.engine.prefetches.remove(PrefetchName("set"), scope)
        try await fixture.until { try await fixture.pinned.isEmpty }
    }

    @Test("A replacement that there is no room for is filled once the old list has gone (S44)")
    func roomAfterwards() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 100_000) }
        try await EngineFixture.run(setup) { fixture in
            let body = "[" + String(repeating: " ", count: 60_000) + "]"
            // The size is told too late.
            fixture.upstream.answerOthers { request in
                request.method == "HEAD" ? .reply("", status: 405) : .json(body)
            }
            _ = try await fixture.prefetch("/a")
            _ = try await fixture.prefetch("/b")
            try await fixture.until {
                let pins = try await fixture.pinned
                return pins.map(\.state) == [.held] && pins.first?.id.hasSuffix("/b") == true
            }
        }
    }

    @Test("An entry that there was no room for is fetched once a client has unpinned another (S43)")
    func roomOfAnotherPin() async throws {
        let setup = try EngineSetup.with { $0.store.pinsMaxBytes = ByteSize(bytes: 100_000) }
        try await EngineFixture.run(setup) { fixture in
            let body = "[" + String(repeating: " ", count: 60_000) + "]"
            // The size is told too late.
            fixture.upstream.answerOthers { request in
                request.method == "HEAD" ? .reply("", status: 405) : .json(body)
            }
            let other = try EntryID(fixture.url("/a"))
            _ = try await fixture.pin(fixture.url("/a"))
            let report = try await fixture.prefetch("/b")
            #expect(report.state == .incomplete)
            #expect(report.failed?.first?.problem.kind == .pinsFull)
            #expect(try await fixture.engine.pins.unpin(other, fixture.scope))
            try await fixture.until { try await fixture.state == .ready }
        }
    }

    @Test("The old list stays until the new one is fetched (S44)")
    func replaced() async throws {
        serve()
        _ = try await fixture.prefetch("/a", "/b")
        let gate = Gate()
        fixture.upstream.answer(try fixture.url("/c"), with: .reply(status: 200))
        fixture.upstream.answer(try fixture.url("/c"), with: .json("[3]").held(by: gate))
        let command = try fixture.command(["/b", "/c"])
        let report = try await fixture.engine.prefetches
            .put(PrefetchName("set"), command, fixture.scope)
        #expect(report.state == .filling && report.items == 2 && report.held == 1)
        _ = try await fixture.upstream.asked.element(5)
        #expect(try await fixture.pinned.count == 3)
        gate.open()
        try await fixture.until { try await fixture.state == .ready }
        try await fixture.until { try await fixture.pinned.count == 2 }
        let left = try ["/b", "/c"].map { try fixture.url($0).text }
        #expect(try await fixture.pinned.map(\.id) == left)
        #expect(try bytes("/a") == "[1]", "no bytes are deleted")
    }

    @Test("An expired set ends; what a client has pinned stays (S44)")
    func expired() async throws {
        serve()
        let watch = try await Watch(fixture) { $0.types = [.prefetch] }
        _ = try await fixture.prefetch("/a", "/b", changing: { $0.expires = .seconds(3_600) })
        _ = try await fixture.pin(fixture.url("/a"))
        #expect(try await fixture.pinned.first?.keptBy == ["pin", "prefetch:set"])
        fixture.clock.advance(by: Limits.prefetchLookTime)
        #expect(try await watch.names(until: "ready") == ["filling", "ready"])
        fixture.clock.advance(by: .seconds(3_601))
        try await fixture.until { try await fixture.pinned.count == 1 }
        #expect(try await fixture.pinned.map(\.keptBy) == [["pin"]])
        let sets = try await fixture.engine.prefetches.list(fixture.scope)
        #expect(sets == [])
        #expect(try bytes("/b") == "[1]")
        #expect(try await watch.names(until: "expired") == ["filling", "ready", "expired"])
    }

    @Test("A wall clock that is set forward does not end a set, whose own time does")
    func clockStep() async throws {
        serve()
        _ = try await fixture.prefetch("/a") { $0.expires = .seconds(3_600) }
        fixture.clock.setForward(by: .seconds(7_200))
        // The look at which the second set is filled is one at the first set, too.
        _ = try await fixture.prefetch("/b", name: "other")
        let sets = try await fixture.engine.prefetches.list(fixture.scope)
        #expect(sets.count == 2)
        fixture.clock.advance(by: .seconds(3_601))
        try await fixture.until { try await fixture.pinned.count == 1 }
    }

    @Test("A set ends after its whole time at the latest if the wall clock is behind at the start")
    func clockBehind() async throws {
        var left: TemporaryStore?
        try await EngineFixture.run { fixture in
            serve(in: fixture)
            _ = try await fixture.prefetch("/a") { $0.expires = .seconds(3_600) }
            left = fixture.temporary
        }
        try left?.open()
        let clock = ManualClock()
        clock.setForward(by: .seconds(-366 * 86_400))
        try await EngineFixture.run(on: left, at: clock) { fixture in
            serve(in: fixture)
            // The look at which the second set is filled is one at the first set, too.
            _ = try await fixture.prefetch("/b", name: "other")
            clock.advance(by: .seconds(3_601))
            try await fixture.until { try await fixture.pinned.count == 1 }
        }
    }

    @Test("A client's pin ends with it, and the set goes on keeping the entry (S43)")
    func unpinned() async throws {
        serve()
        let id = try EntryID(fixture.url("/a"))
        _ = try await fixture.pin(fixture.url("/a"))
        _ = try await fixture.prefetch("/a")
        #expect(try await fixture.pinned.first?.keptBy == ["pin", "prefetch:set"])
        #expect(try await fixture.engine.pins.unpin(id, fixture.scope))
        #expect(try await fixture.pinned.first?.keptBy == ["prefetch:set"])
        let problem = await #expect(throws: Problem.self) {
            _ = try await fixture.engine.pins.unpin(id, fixture.scope)
        }
        #expect(problem?.detail.contains("'set'") == true)
        try await fixture.engine.prefetches.remove(PrefetchName("set"), fixture.scope)
        try await fixture.until { try await fixture.pinned.isEmpty }
        #expect(try bytes("/a") == "[1]")
    }

    @Test("An entry that was evicted by its id is fetched again (S43)")
    func evicted() async throws {
        serve()
        _ = try await fixture.prefetch("/a")
        var order = EvictOrder(.ids([try EntryID(fixture.url("/a"))]))
        order.includesPinned = true
        _ = try await fixture.engine.eviction.evict(order, .one(fixture.scope))
        fixture.clock.advance(by: Limits.prefetchRestTime)
        try await fixture.until { try await fixture.state == .ready && asked("GET").count == 2 }
    }

    @Test("While the origin is away the set is incomplete, and it is filled afterwards (S43)")
    func offline() async throws {
        let name = try OriginName("example")
        _ = try await fixture.engine.origins.setOffline(name, true, for: 0)
        let report = try await fixture.prefetch("/a")
        #expect(report.state == .incomplete)
        #expect(report.failed?.map(\.problem.kind) == [.offline])
        #expect(report.failed?.first?.problem.retryable == true)
        #expect(fixture.upstream.asked.all.isEmpty)
        serve()
        _ = try await fixture.engine.origins.setOffline(name, false, for: 0)
        try await fixture.until { try await fixture.state == .ready }
    }

    @Test("Entries of a set are polled at its interval, and no longer than it lasts (S38)")
    func refreshed() async throws {
        serve()
        _ = try await fixture.prefetch("/a", changing: { $0.refresh = .seconds(60) })
        let (id, refreshes) = (try EntryID(fixture.url("/a")), fixture.engine.context.refreshes)
        try await fixture.until { refreshes.pinInterval(of: id, fixture.scope) == .seconds(60) }
        _ = try await fixture.engine.pins.pin(id, fixture.scope, refresh: .seconds(30))
        #expect(refreshes.pinInterval(of: id, fixture.scope) == .seconds(30))
        _ = try await fixture.engine.pins.unpin(id, fixture.scope)
        #expect(refreshes.pinInterval(of: id, fixture.scope) == .seconds(60))
        try await fixture.engine.prefetches.remove(PrefetchName("set"), fixture.scope)
        try await fixture.until { refreshes.pinInterval(of: id, fixture.scope) == nil }
    }

    @Test(
        "A list that cannot be taken is refused whole",
        arguments: [
            (#"{"items":[]}"#, ProblemKind.badRequest),
            (#"{"items":[{}]}"#, .badRequest),
            (#"{"items":[{"url":"note"}]}"#, .badURL),
            (#"{"items":[{"url":"https://other.example/a"}]}"#, .unknownOrigin),
            (#"{"items":[{"url":"https://api.example.com/a"}],"expires":"1s"}"#, .badRequest),
            (#"{"items":[{"url":"https://api.example.com/a"}],"refresh":"1s"}"#, .badRequest),
            (#"{"items":[{"entities":{"origin":"none","type":"A"}}]}"#, .noSuchOrigin),
            (#"{"items":[{"entities":{"origin":"example","type":"A"}}]}"#, .badRequest),
        ]
    )
    func refused(text: String, kind: ProblemKind) async throws {
        let command: PrefetchCommand = try APIDecoder(.strict).decode(from: Array(text.utf8))
        let problem = await #expect(throws: Problem.self) {
            _ = try await fixture.engine.prefetches
                .put(PrefetchName("set"), command, fixture.scope)
        }
        #expect(problem?.kind == kind)
        let sets = try await fixture.engine.prefetches.list(fixture.scope)
        #expect(sets == [])
        #expect(fixture.upstream.asked.all.isEmpty)
    }

    @Test(
        "A query selects the entities that were used last, by their own URLs (S45)",
        arguments: ["User", "schema:User", "a/b%"]
    )
    func entities(type: String) async throws {
        let rules = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: type, url: "/users/{id}")]
        )
        try await EngineFixture.run(.with { $0.origin.normalize = rules }) { fixture in
            let users = (1...3).map { #"{"type":"\#(type)","id":\#($0)}"# }.joined(separator: ",")
            try await fixture.cache(fixture.url("/list"), .json("[\(users)]"))
            fixture.upstream.answerOthers { request in
                .json(#"{"type":"\#(type)","id":\#(request.url.pathAndQuery.last ?? "0")}"#)
            }
            var query = PrefetchEntities(origin: "example", type: type)
            query.limit = 2
            let item = PrefetchItem(entities: query)
            let report = try await fixture.prefetch(changing: { command in
                (command.items, command.refresh) = ([item], .seconds(60))
            })
            #expect(report.state == .ready && report.items == 2)
            let latest = try ["/users/2", "/users/3"].map { try fixture.url($0).text }
            let ids = try await fixture.pinned.map(\.id)
            #expect(ids == latest)
            // A query that is evaluated again takes what was used meanwhile.
            let used = try fixture.url("/users/1")
            _ = try await fixture.fetch(used)
            fixture.clock.advance(by: .seconds(61))
            try await fixture.until {
                let ids = try await fixture.pinned.map(\.id)
                return ids.count == 2 && ids.contains(used.text)
            }
        }
    }

    @Test("The evaluation of one user's queries delays no set of another user (S45)")
    func queriesOfAnother() async throws {
        let hold = StepHold()
        let setup = try EngineSetup.with {
            $0.store.faults = hold
            $0.origin.normalize = userRules
        }
        try await EngineFixture.run(setup) { fixture in
            defer { hold.release() }
            serve(in: fixture)
            try await fixture.cache(fixture.url("/list"), .json(#"[{"type":"User","id":1}]"#))
            let item = PrefetchItem(entities: PrefetchEntities(origin: "example", type: "User"))
            try await fixture.prefetch(changing: { command in
                (command.items, command.refresh) = ([item], .seconds(60))
            })
            hold.arm("SELECT definition FROM prefetch")
            try await fixture.until { !hold.reached.all.isEmpty }
            let prefetches = fixture.engine.prefetches
            let other = fixture.engine.store.key(for: .own(uid: 2_000, account: .default))
            let name = try PrefetchName("other")
            _ = try await prefetches.put(name, fixture.command(["/b"]), other)
            try await fixture.until { try await prefetches.report(name, other).state == .ready }
        }
    }

    @Test("The pins of one user's set delay no set of another user (S43)")
    func pinsOfAnother() async throws {
        let hold = StepHold()
        try await EngineFixture.run(.with { $0.store.faults = hold }) { fixture in
            defer { hold.release() }
            serve(in: fixture)
            let prefetches = fixture.engine.prefetches
            hold.arm("AND pin.claim IS NULL AND item.problem IS NULL")
            _ = try await prefetches.put(
                PrefetchName("set"),
                fixture.command(["/a"]),
                fixture.scope
            )
            try await fixture.until { !hold.reached.all.isEmpty }
            let other = fixture.engine.store.key(for: .own(uid: 2_000, account: .default))
            let name = try PrefetchName("other")
            _ = try await prefetches.put(name, fixture.command(["/b"]), other)
            try await fixture.until { try await prefetches.report(name, other).state == .ready }
        }
    }
}

extension Watch {
    /// The states that were told of a set, up to one.
    fileprivate func names(until state: String) async throws -> [String] {
        var names: [String] = []
        while names.last != "prefetch set \(state)" {
            names = try await frames(upTo: names.count + 1).map(\.name)
        }
        return names.filter { $0 != "bookmark" }.map { String($0.split(separator: " ").last ?? "") }
    }
}

extension EngineFixture {
    fileprivate func command(_ paths: [String]) throws -> PrefetchCommand {
        PrefetchCommand(items: try paths.map { PrefetchItem(url: try url($0).text) })
    }

    /// Makes a set, and returns when it is no longer filling.
    @discardableResult
    fileprivate func prefetch(
        _ paths: String...,
        name: String = "set",
        changing change: (inout PrefetchCommand) -> Void = { _ in }
    ) async throws -> PrefetchReport {
        var command = try command(paths)
        change(&command)
        let set = try PrefetchName(name)
        _ = try await engine.prefetches.put(set, command, scope)
        try await until { try await engine.prefetches.report(set, scope).state != .filling }
        return try await engine.prefetches.report(set, scope)
    }

    fileprivate var state: PrefetchState {
        get async throws {
            try await engine.prefetches.report(PrefetchName("set"), scope).state
        }
    }

    fileprivate var pinned: [PinItem] {
        get async throws { try await engine.pins.list(PageQuery(), scope).items }
    }

    /// Waits for a condition; the clock goes on by the pause between two looks at the sets.
    fileprivate func until(_ condition: () async throws -> Bool) async throws {
        while true {
            for _ in 0..<100 {
                if try await condition() { return }
                await Task.yield()
            }
            clock.advance(by: Limits.prefetchLookTime)
        }
    }
}
