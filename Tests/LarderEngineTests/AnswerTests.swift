import LarderAPI
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// Kept answers to writes, and reports of dead letters.
@Suite("Answers to writes", .timeLimit(.minutes(5)), .engine)
struct AnswerTests {
    private let fixture = EngineFixture.running
    private let url = EngineFixture.firstURL

    private func list(_ state: LarderModel.ModifierState) async throws -> [ModifierReport] {
        var command = ModifierListCommand()
        command.selection = .one(state)
        return try await fixture.engine.modifiers.list(command, .one(fixture.scope)).items
    }

    @Test(
        "A settled write keeps status, chosen headers and body, and no cookie (case 5)",
        .engine { $0.origin.modifiers.keptHeaders = ["X-Total"] },
        arguments: [201, 422]
    )
    func kept(status: Int) async throws {
        let fields = [
            "Content-Type": "application/json", "Location": "/todos/7", "ETag": "\"7\"",
            "Date": "Tue, 14 Nov 2023 22:13:20 GMT", "X-Total": "3",
        ]
        let others = ["Set-Cookie": "session=secret", "X-Other": "no", "Connection": "close"]
        fixture.upstream.answer(
            url,
            with: .reply(
                #"{"id":7}"#,
                status: status,
                headers: fields.merging(others) { own, _ in own }
            )
        )
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await fixture.write(.url(url), .none, "POST", id: "m1")
        let state = status == 201 ? LarderModel.ModifierState.confirmed : .failed
        let reports = [try await fixture.settled(id)] + (try await list(state))
        #expect(reports.count == 2)
        for report in reports {
            let answer = try #require(report.answer)
            #expect(answer.status == status)
            #expect(String(decoding: answer.body.bytes, as: UTF8.self) == #"{"id":7}"#)
            let told = answer.headers.members.map { ($0.name, $0.value) }
            #expect(Dictionary(told) { own, _ in own } == fields)
        }
        let frames = try await watch.frames(upTo: 3)
        guard case .modifier(let frame) = frames[2] else {
            Issue.record("the last frame is \(frames[2].name)")
            return
        }
        let text = String(decoding: frame.answer?.bytes ?? [], as: UTF8.self)
        #expect(text.contains(#""body":{"id":7}"#) && text.contains(#""Location":"/todos/7""#))
        #expect(!text.contains("secret"))
    }

    @Test("A frame has the first 2 KiB of the body, the report 64 KiB")
    func cut() async throws {
        let body = String(repeating: "x", count: 100_000)
        fixture.upstream.answer(url, with: .reply(body, status: 422))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await fixture.write(.url(url), .none, "POST")
        let report = try await fixture.settled(id)
        #expect(report.answer?.body.bytes.count == 65_536 + 2)
        let frames = try await watch.frames(upTo: 3)
        guard case .modifier(let frame) = frames[2] else { return }
        #expect((2_048..<3_000).contains(frame.answer?.bytes.count ?? 0))
    }

    @Test("The report of one dead letter has 1 MiB of what the user wrote, a list 64 KiB (case 11)")
    func longDeadLetter() async throws {
        fixture.upstream.answer(url, with: .reply(status: 422))
        let title = String(repeating: "x", count: 500_000)
        let value = try JSONValue(parsing: Array(#"{"title":"\#(title)"}"#.utf8))
        let id = try await fixture.write(.url(url), .put(value))
        let report = try await fixture.settled(id)
        #expect(report.state == .failed)
        #expect(report.request.body?.bytes.count == report.request.bodyBytes)
        #expect(report.changes?.count == 1 && report.moreChanges == nil)
        let listed = try #require(try await list(.failed).first)
        #expect((65_536..<66_000).contains(listed.request.body?.bytes.count ?? 0))
        #expect(listed.changes?.isEmpty == true && listed.moreChanges == 1)
    }

    @Test("A dead letter says what the user wrote: changes, body and answer (case 11)")
    func deadLetter() async throws {
        try await fixture.cache(url, .json(#"{"title":"milk"}"#))
        fixture.upstream.answer(url, with: .json(#"{"error":"no"}"#, status: 422))
        let value = try JSONValue(parsing: Array(#"{"title":"eggs"}"#.utf8))
        let id = try await fixture.write(.url(url), .merge(value))
        for report in [try await fixture.settled(id)] + (try await list(.failed)) {
            let change = try #require(report.changes?.first)
            #expect(change.target.id == url.text && change.effects == nil)
            let effect = String(decoding: change.effect?.bytes ?? [], as: UTF8.self)
            #expect(effect == #"{"type":"merge","value":{"title":"eggs"}}"#)
            #expect(report.request.body?.bytes == Array(#"{"title":"eggs"}"#.utf8))
            #expect(report.request.contentType == "application/merge-patch+json")
            #expect(report.answer?.body.bytes == Array(#"{"error":"no"}"#.utf8))
        }
        #expect(try await list(.failed).count == 1)
    }

    @Test("Several effects on a target show all, or none")
    func several() async throws {
        try await fixture.cache(url, .json(#"{"open":1,"last":"a"}"#))
        let set = Effect.set([
            JSONAssignment(JSONPointer(tokens: ["last"]), .string("eggs"))
        ])
        let add = Effect.add([JSONAddition(JSONPointer(tokens: ["open"]), JSONNumber(1))])
        let wrong = Effect.add([JSONAddition(JSONPointer(tokens: ["none"]), JSONNumber(1))])
        let away = try fixture.url("/held")
        try await fixture.write(
            .url(url),
            Effect(all: [set, add]),
            "POST",
            to: away,
            hold: .seconds(9)
        )
        try await fixture.write(
            .url(url),
            Effect(all: [set, wrong]),
            "POST",
            to: away,
            id: "m2",
            hold: .seconds(9)
        )
        let report = try await fixture.engine.modifiers.modifier(ModifierID("m2"), fixture.scope)
        #expect(report.marks == [.inapplicable])
        #expect(report.changes?.first?.effects?.count == 2 && report.changes?.first?.effect == nil)
        let bytes = report.targets.first?.after?.body?.bytes ?? []
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"open":2,"last":"eggs"}"#)
    }

    @Test(
        "A write is cancelled after an answer that applied nothing, and not after another (case 18)",
        .engine { $0.origin.modifiers.stalledAfter = 1 },
        arguments: [(401, true), (408, true), (425, true), (429, true), (500, false), (503, false)]
    )
    func cancelled(status: Int, expected: Bool) async throws {
        fixture.upstream.answer(url, with: .reply(status: status))
        let watch = try await Watch(fixture) { $0.types = [.modifier] }
        let id = try await fixture.write(.url(url), .put(.null))
        // A frame tells the end of the attempt: the write is stalled, or waits for a credential.
        _ = try await watch.frames(upTo: 3)
        if expected {
            try await fixture.cancel(id.text)
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            #expect(report.state == .cancelled)
            #expect(report.answer?.status == status)
        } else {
            await #expect(throws: Problem.self) { try await fixture.cancel(id.text) }
            let report = try await fixture.engine.modifiers.modifier(id, fixture.scope)
            #expect(report.state == .retryWait)
        }
    }
}
