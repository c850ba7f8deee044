import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderClient

@Suite("A watch that is iterated", .timeLimit(.minutes(10)))
struct WatchEventsTests {
    private func put(_ revision: Int64, _ id: String) throws -> WatchFrame {
        .put(ChangeFrame(Revision(revision), try EntryID(id), source: "client"))
    }

    private func stream(_ frames: WatchFrame...) -> OriginAnswer {
        let lines = frames.map { OriginAnswer.Step.chunk($0.encodedLine()) }
        return OriginAnswer([.fetchHead] + lines + [.chunk([])])
    }

    private func describe(_ event: WatchEvent?) -> String {
        switch event {
        case .frame(.put(let change)): "put \(change.id) \(change.rev)"
        case .frame(.bookmark(let mark)): "reached \(mark.rev) \(mark.initialDone == true)"
        case .frame(let frame): frame.type
        case .lost: "lost"
        case .disconnected: "disconnected"
        case nil: "end"
        }
    }

    @Test("A watch resumes after the last revision seen, and reports if that is gone (P-12)")
    func comesBack() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        let more = ChangeFrame(Revision(8), try EntryID("c"), source: "client", hasMore: true)
        let begin = WatchFrame.bookmark(BookmarkFrame(Revision(5), isInitialDone: false))
        let lagged = WatchFrame.lagged(LaggedFrame(Revision(10), droppedAfter: Revision(9)))
        daemon.answer(
            "/v1/watch",
            with: stream(begin, .heartbeat(HeartbeatFrame(Revision(5))), try put(6, "a")),
            stream(try put(7, "b"), .put(more)),
            stream(
                .heartbeat(HeartbeatFrame(Revision(8))),
                .end(WatchEndFrame(.shutdown, Revision(8)))
            ),
            stream(lagged),
            .problem(Problem(.sinceTooOld, "gone")),
            stream(try put(20, "d"))
        )
        var options = WatchCommand()
        options.ids = ["a"]
        var events = client.watch(options).makeAsyncIterator()
        var told: [String] = []
        for _ in 0..<6 { told.append(describe(try await events.next())) }
        #expect(told == ["reached 5 false", "put a 6", "put b 7", "put c 8", "lost", "put d 20"])
        let bodies = daemon.requests.all.map(\.bodyText)
        let expected = ["", #""since":6,"#, #""since":7,"#, #""since":8,"#, #""since":9,"#]
        #expect(bodies.dropLast() == expected.map { #"{\#($0)"ids":["a"]}"# }[...])
        // The entries that exist come after the loss.
        #expect(bodies.last == #"{"ids":["a"],"initial":true}"#)
        await client.shutdown()
        await daemon.stop()
    }

    @Test("A frame of a type that only a newer daemon sends is passed over, and the watch goes on")
    func unknownFrame() async throws {
        try await withDaemon { daemon, client in
            let news = OriginAnswer.Step.chunk(Array("{\"type\":\"news\"}\n".utf8))
            let change = OriginAnswer.Step.chunk(try put(6, "a").encodedLine())
            daemon.answer("/v1/watch", with: OriginAnswer([.fetchHead, news, change, .chunk([])]))
            var events = client.watch().makeAsyncIterator()
            #expect(describe(try await events.next()) == "put a 6")
        }
    }

    @Test("A client's changes carry the name of its watch, a given or a random one")
    func name() async throws {
        let daemon = try await ScriptedDaemon()
        daemon.answer("/v1/watch", with: stream(try put(6, "a")))
        daemon.answer("/v1/entries/a", with: .reply(201))
        let clients = [
            LarderClient(socket: .path(daemon.path), name: "reader"),
            LarderClient(socket: .path(daemon.path)), LarderClient(socket: .path(daemon.path)),
        ]
        for client in clients {
            var events = client.watch().makeAsyncIterator()
            _ = try await events.next()
            try await client.put("a", bytes: [1])
            _ = try? await client.remove("a")
            _ = try? await client.entry("a")
        }
        let names = clients.flatMap { Array(repeating: $0.name, count: 4) }
        #expect(daemon.requests.all.map { $0.headers["Larder-Client"] } == names)
        #expect(Set(clients.map(\.name)).count == 3)
        for client in clients { await client.shutdown() }
        await daemon.stop()
    }

    @Test(
        "A name that is none is refused before anything is sent",
        arguments: ["", "a b", "a\r\n"]
    )
    func badName(name: String) async throws {
        let daemon = try await ScriptedDaemon()
        let client = LarderClient(socket: .path(daemon.path), name: name)
        await expectProblem("urn:larder:bad-request") { () throws(LarderError) in
            try await client.put("a", bytes: [1])
        }
        #expect(daemon.requests.all.isEmpty)
        await client.shutdown()
        await daemon.stop()
    }

    @Test("A first list that breaks off is requested again, after the event that rows may be gone")
    func listsAgain() async throws {
        let daemon = try await ScriptedDaemon()
        let time = ClientTime(pause: { _ async throws(CancellationError) in }, randomUnit: { 0.5 })
        let client = LarderClient(trying: [daemon.path], time: time)
        let first = ChangeFrame(Revision(3), try EntryID("a"), source: "client", isInitial: true)
        let done = WatchFrame.bookmark(BookmarkFrame(Revision(5), isInitialDone: true))
        daemon.answer(
            "/v1/watch",
            with: stream(.put(first), .end(WatchEndFrame(.shutdown, nil))),
            stream(.put(first), done),
            stream(try put(6, "b"))
        )
        var options = WatchCommand()
        options.options.initial = true
        var events = client.watch(options).makeAsyncIterator()
        var told: [String] = []
        for _ in 0..<5 { told.append(describe(try await events.next())) }
        #expect(told == ["put a 3", "lost", "put a 3", "reached 5 true", "put b 6"])
        let bodies = daemon.requests.all.map(\.bodyText)
        #expect(bodies == [#"{"initial":true}"#, #"{"initial":true}"#, #"{"since":5}"#])
        await client.shutdown()
        await daemon.stop()
    }

    @Test("A watch that the daemon refuses ends with its problem")
    func refused() async throws {
        let daemon = try await ScriptedDaemon()
        let client = LarderClient(trying: [daemon.path])
        daemon.answer("/v1/watch", with: .problem(Problem(.badRequest, "no")))
        var events = client.watch().makeAsyncIterator()
        do throws(LarderError) {
            let event = try await events.next()
            Issue.record("it told \(describe(event))")
        } catch {
            #expect(error.problem?.kind == .badRequest)
        }
        await client.shutdown()
        await daemon.stop()
    }
}
