import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderStrategy
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// What becomes of modifiers between the engine's parts.
@Suite(.timeLimit(.minutes(5)), .engine)
struct ModifierTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL
    private let gate = Gate()

    private func accept(
        _ fixture: EngineFixture,
        _ url: WebURL,
        _ effect: Effect,
        after parent: ModifierID? = nil
    ) async throws -> ModifierID {
        try await fixture.write(.url(url), effect, "PATCH") { command in
            command.dependsOn = parent.map { [$0] } ?? []
        }
    }

    @Test("A confirmed patch is in base, although another write was accepted meanwhile (case 6)")
    func patchBesideAnother() async throws {
        let liked = JSONPointer(tokens: ["liked"])
        let one = JSONValue.number(JSONNumber(1))
        try await fixture.cache(url, .json(#"{"liked":0}"#))
        fixture.upstream.answer(url, with: .reply(status: 204).held(by: gate))
        let id = try await accept(fixture, url, .patch([.replace(liked, one)]))
        _ = try await fixture.upstream.asked.element(1)
        _ = try await accept(fixture, url, .set([JSONAssignment(liked, .null)]))
        gate.open()
        let report = try await fixture.settled(id)
        #expect(report.state == .confirmed)
        let reader = try fixture.engine.store.makeReader()
        let now = fixture.clock.now()
        let base = try reader.withEntry(fixture.scope, EntryID(url), now: now) { row in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
        reader.endTransaction()
        #expect(base == #"{"liked":1}"#)
    }

    @Test("A write that is given up while it waits keeps the origin's last answer")
    func discardedWhileWaiting() async throws {
        fixture.upstream.answer(url, with: .reply("later", status: 503))
        let id = try await fixture.write(.url(url), .put(.null))
        try await until {
            try await fixture.engine.modifiers.modifier(id, fixture.scope).state == .retryWait
        }
        try await fixture.engine.modifiers.remove(id, fixture.scope, discarding: true)
        let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
        #expect(report.state == .failed)
        #expect(report.answer?.status == 503)
        #expect(report.answer?.body.bytes == Array(#""later""#.utf8))
    }

    @Test("A retry of all that failed takes none of them twice, though they fail again")
    func retriedOnce() async throws {
        fixture.upstream.answerOthers { _ in .reply(status: 422) }
        for id in ["a", "b"] {
            let effect = try Effect.json(#"{"type":"none"}"#)
            let write = try await fixture.write(.url(url), effect, "POST", id: id)
            #expect(try await fixture.settled(write).state == .failed)
        }
        var list = ModifierListCommand()
        (list.selection, list.limit) = (.one(.failed), 1)
        var retried: [String] = []
        for _ in 0..<6 {
            let page = try await fixture.engine.modifierActions.act(
                .retry,
                on: list,
                of: nil,
                .one(fixture.scope),
                cancellation: ClientCancellation()
            )
            for item in page.items {
                retried.append(item.id)
                #expect(try await fixture.settled(ModifierID(item.id)).state == .failed)
            }
            list.cursor = page.next
            if list.cursor == nil { break }
        }
        #expect(retried == ["a", "b"])
    }

    @Test(
        "A 2xx that matches refused_if is a refusal, and the dead letter has it (case 11, S37)",
        .engine {
            $0.origin.modifiers.refusedIf = [
                RefusalRule(pointer: "/errors"), RefusalRule(pointer: "/status", equals: "failed"),
                RefusalRule(pointer: "/ok", equals: "false"),
                RefusalRule(pointer: "/n", equals: "3"),
                RefusalRule(pointer: "/result", equals: "null"),
            ]
        },
        arguments: [
            (#"{"errors":[{"message":"no"}]}"#, LarderAPI.ModifierState.failed),
            (#"{"errors":[]}"#, .confirmed),
            (#"{"data":1}"#, .confirmed), (#"{"status":"failed"}"#, .failed),
            (#"{"ok":false}"#, .failed), (#"{"ok":"false"}"#, .failed),
            (#"{"ok":true}"#, .confirmed),
            (#"{"n":3}"#, .failed), (#"{"n":30}"#, .confirmed), (#"{"result":null}"#, .failed),
            ("no JSON", .confirmed),
        ]
    )
    func refusedIf(body: String, expected: LarderAPI.ModifierState) async throws {
        let url = try fixture.url("/graphql")
        fixture.upstream.answer(url, with: .json(body))
        let id = try await accept(fixture, url, .none)
        let report = try await fixture.settled(id)
        #expect(report.state == expected)
        if expected == .failed { #expect(report.answer?.status == 200) }
    }

    @Test(
        "A 202 that matches refused_if is a refusal, too (cases 7, 11)",
        .engine { $0.origin.modifiers.refusedIf = [RefusalRule(pointer: "/errors")] }
    )
    func refusedLater() async throws {
        let taken = try fixture.url("/taken")
        // The daemon reads the target of a refused write again.
        fixture.upstream.answerOthers { _ in .json("{}") }
        fixture.upstream.answer(url, with: .json(#"{"errors":["no"]}"#, status: 202))
        fixture.upstream.answer(taken, with: .json(#"{"job":1}"#, status: 202))
        let report = try await fixture.settled(try await accept(fixture, url, .none))
        #expect(report.state == .failed && report.reason == .refused)
        #expect(report.answer?.status == 202)
        #expect(report.answer?.body.bytes == Array(#"{"errors":["no"]}"#.utf8))
        let other = try await accept(fixture, taken, .none)
        try await until {
            try await fixture.engine.modifiers.modifier(other, fixture.scope).state == .accepted
        }
    }

    @Test(
        "A 404 to a DELETE confirms it, whatever refused_if finds in its body (cases 11, 20)",
        .engine { $0.origin.modifiers.refusedIf = [RefusalRule(pointer: "/errors")] }
    )
    func refusedDeletion() async throws {
        fixture.upstream.answer(url, with: .json(#"{"errors":["gone"]}"#, status: 404))
        let id = try await fixture.write(.url(url), .delete, "DELETE")
        #expect(try await fixture.settled(id).state == .confirmed)
    }

    @Test(
        "A URL that redirects to another host does not make its origin captive for all",
        .engine { $0.origin.baseURL = try WebURL("http://api.example.com") }
    )
    func redirectingURL() async throws {
        let url = try WebURL("http://api.example.com/away")
        let away = ScriptedAnswer.reply(
            status: 302,
            headers: ["Location": "http://elsewhere.example/"]
        )
        fixture.upstream.answerOthers { $0.url == url ? away : .json("{}") }
        let read = try await fixture.start(url, .networkOnly).result()
        #expect(read.refusal?.kind == .redirectRefused)
        let id = try await accept(fixture, url, .none)
        _ = try await fixture.upstream.asked.element(3)
        let report = try await fixture.settled(id)
        #expect(report.state == .failed)
        let status = await fixture.engine.monitor.status(connections: 0)
        #expect(status.origins.map(\.condition.state) == [.online])
    }

    @Test("While clients hold every reader, a write is accepted, sent and settled, and all is well")
    func heldReaders() async throws {
        let store = fixture.engine.store
        fixture.upstream.answer(url, with: .reply(status: 204))
        try await store.holdingReaders(by: .all) {
            let id = try await accept(fixture, url, .put(.null))
            _ = try await fixture.upstream.asked.element(0)
            try await fixture.engine.monitor.checkStore()
            let report = try await Reading.$current.withValue(.sending) {
                try await fixture.settled(id)
            }
            #expect(report.state == .confirmed)
            try await fixture.engine.monitor.checkStore()
        }
    }

    @Test("An answer is of the moment in which it came, whenever it is read or settled")
    func momentOfTheAnswer() async throws {
        fixture.upstream.answer(url, with: .reply(status: 202).held(by: gate))
        let id = try await accept(fixture, url, .none)
        _ = try await fixture.upstream.asked.element(0)
        fixture.clock.advance(by: .seconds(5))
        gate.open()
        // It is taken for confirmed once the origin's accepted_limit is over.
        try await fixture.clock.sleepers(until: .seconds(605))
        fixture.clock.advance(by: .seconds(600))
        let report = try await fixture.settled(id)
        #expect(report.state == .confirmed)
        #expect(report.answer?.status == 202)
        #expect(report.answer?.at == .init(ManualClock.start.advanced(by: .seconds(5))))
        #expect(report.settledAt == .init(ManualClock.start.advanced(by: .seconds(605))))
    }

    @Test("A large body has time for a slow line, and its origin stays online meanwhile")
    func slowUpload() async throws {
        fixture.upstream.answer(url, with: .reply(status: 204).held(by: gate))
        let id = try await fixture.write(.url(url), .none, "POST") { command in
            command.request.headers.set("Content-Type", "application/octet-stream")
            command.request.body = .bytes(Array(repeating: 0, count: 1 << 20))
        }
        let request = try await fixture.upstream.asked.element(0)
        #expect(request.timeout == request.origin.fetch.timeout + .seconds(64))
        try await fixture.clock.sleepers(until: Limits.silenceTime + .seconds(64))
        gate.open()
        #expect(try await fixture.settled(id).state == .confirmed)
    }

    @Test("A page of the queue names who depends on each, and reads no whole modifier for it")
    func dependantsOfPage() async throws {
        fixture.upstream.answer(url, with: ScriptedAnswer.reply(status: 204).held(by: Gate()))
        let parent = try await accept(fixture, url, .none)
        _ = try await fixture.upstream.asked.element(0)
        let child = try await accept(fixture, try fixture.url("/b"), .none, after: parent)
        fixture.faults.arm(1, of: "answer_body, body", .forGood)
        let command = ModifierListCommand()
        let page = try await fixture.engine.modifiers.list(command, .one(fixture.scope))
        fixture.faults.disarm()
        #expect(page.items.map(\.id) == [parent.text, child.text])
        #expect(page.items.first?.dependants == [child.text])
        #expect(fixture.faults.failures == 0)
    }

    @Test("A list of dead letters has their answers, cut, and the history keeps why each died")
    func deadLetters() async throws {
        let words = String(repeating: "no ", count: 30_000)
        fixture.upstream.answer(url, with: .reply(words, status: 422).held(by: gate))
        let parent = try await accept(fixture, url, .none)
        let child = try await accept(fixture, try fixture.url("/b"), .none, after: parent)
        gate.open()
        _ = try await fixture.settled(child)
        var failed = ModifierListCommand()
        failed.selection = .one(.failed)
        let letters = try await fixture.engine.modifiers.list(failed, .one(fixture.scope)).items
        #expect(letters.map(\.id) == [parent.text, child.text])
        #expect(letters.map(\.reason) == [.refused, .parentFailed])
        #expect(letters.map(\.answer?.status) == [422, nil])
        let told = RawJSON(quoting: Array(words.utf8.prefix(Limits.quotedBodyBytesMax)))
        #expect(letters.first?.answer?.body == told)
        let whole = try await fixture.engine.modifiers.modifier(parent, fixture.scope)
        #expect(whole.answer?.body == told)
        for id in [parent, child] {
            try await fixture.engine.modifiers.remove(id, fixture.scope, discarding: false)
        }
        #expect(try await fixture.engine.modifiers.list(failed, .one(fixture.scope)).items == [])
        var settled = ModifierListCommand()
        settled.selection = .settled
        let history = try await fixture.engine.modifiers.list(settled, .one(fixture.scope))
            .items
        #expect(history.map(\.id) == [child.text, parent.text])
        #expect(history.map(\.state) == [.failed, .failed])
        #expect(history.map(\.reason) == [.parentFailed, .refused])
        #expect(history.map(\.answer?.status) == [nil, 422])
    }

    @Test("A cancel gets an answer while its modifier is leaving with another one")
    func cancelledWithAnother() async throws {
        let hold = StepHold()
        defer { hold.release() }
        try await EngineFixture.run(.with { $0.store.faults = hold }) { fixture in
            let parent = try await accept(fixture, url, .none)
            _ = try await fixture.upstream.asked.element(0)
            let child = try await accept(fixture, try fixture.url("/b"), .none, after: parent)
            let (engine, scope) = (fixture.engine, fixture.scope)
            hold.arm("INSERT INTO history")
            async let first: Void = engine.modifiers.remove(parent, scope, discarding: true)
            _ = try await hold.reached.element(0)
            let keeper = engine.context.modifiers
            let found = try await engine.store.modifiers.number(child, of: scope)
            let number = try #require(found)
            // The parent's step is being written, and the child leaves with it.
            let answer = await keeper.ask(number) { queue, now throws(ModifierQueue.Refusal) in
                try queue.cancelAsked(number, withDependants: true, now: now)
            }
            guard case .failure(.notNow) = answer else {
                Issue.record("it was not leaving")
                return
            }
            async let second = problem {
                try await engine.modifiers.remove(child, scope, discarding: false)
            }
            hold.release()
            try await first
            #expect(await second?.kind == .alreadySettled)
        }
    }

    @Test("A report says what the row says while the next step is being written")
    func reportDuringStep() async throws {
        let hold = StepHold()
        try await EngineFixture.run(.with { $0.store.faults = hold }) { fixture in
            defer { hold.release() }
            let gate = Gate()
            fixture.upstream.answer(url, with: .reply(status: 503).held(by: gate))
            let id = try await accept(fixture, url, .none)
            _ = try await fixture.upstream.asked.element(0)
            hold.arm("UPDATE modifier SET")
            gate.open()
            _ = try await hold.reached.element(0)
            let (modifiers, scope) = (fixture.engine.modifiers, fixture.scope)
            let report = try await modifiers.modifier(id, scope)
            #expect(report.state == .inFlight)
            var command = ModifierListCommand()
            command.selection = .one(.inFlight)
            let listed = try await modifiers.list(command, .one(scope)).items
            #expect(listed.map(\.id) == [id.text])
        }
    }

    @Test("A request about a modifier gets an answer while the engine ends")
    func askedAtTheEnd() async throws {
        let id = try await accept(fixture, url, .none)
        fixture.engine.stop()
        await #expect(throws: Problem.self) {
            try await fixture.engine.modifiers.remove(id, fixture.scope, discarding: true)
        }
    }
}
