import FoundationEssentials
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Writes through the client", .timeLimit(.minutes(1)))
struct ModifierWriteTests {
    static let url = "https://api.example.com/articles/42"

    static func receipt(
        _ id: String = "like-42",
        _ state: LarderAPI.ModifierState = .queued
    ) throws -> ModifierReceipt {
        ModifierReceipt(id: try ModifierID(id), state: state, revision: Revision(9))
    }

    @Test("A write travels whole")
    func whole() async throws {
        try await withDaemon(account: "work") { daemon, client in
            daemon.answer(
                "/v1/modifiers",
                with: .reply(202, body: try Self.receipt().encodedJSON())
            )
            var like = Modifier(.merge(["liked": true]), on: "HTTPS://API.example.com/articles/42")
            like.id = "like-42"
            like.lane = "cart"
            like.dependsOn = ["a", "b"]
            like.hold = .seconds(10)
            like.expires = .seconds(7 * 86_400)
            like.maxAttempts = 3
            like.afterUnknown = .resend
            let accepted = try await client.write(like)
            #expect(accepted.id == "like-42")
            #expect(accepted.state == .queued)
            #expect(accepted.rev == 9)
            let request = try #require(daemon.requests.all.first)
            #expect(request.method == "POST")
            #expect(request.headers["Content-Type"] == "application/json")
            let command = try ModifiersCommand(json: request.body)
            #expect(!command.isList)
            #expect(command.account.text == "work")
            let modifier = command.modifiers[0]
            #expect(modifier.id?.text == "like-42")
            #expect(modifier.changes.map(\.target) == [try EntryID(Self.url)])
            #expect(modifier.request.method == "PATCH")
            #expect(modifier.request.url?.text == Self.url)
            #expect(modifier.request.headers["Content-Type"] == "application/merge-patch+json")
            #expect(modifier.request.body == .bytes(Array(#"{"liked":true}"#.utf8)))
            #expect(modifier.lane?.text == "cart")
            #expect(modifier.dependsOn.map(\.text) == ["a", "b"])
            #expect(modifier.hold == .seconds(10))
            #expect(modifier.expires == .seconds(7 * 86_400))
            #expect(modifier.attemptsMax == 3)
            #expect(modifier.afterUnknown == .resend)
        }
    }

    @Test("Each write without a name draws one, and keeps it when it is sent again by itself")
    func drawnNames() async throws {
        try await withDaemon { daemon, client in
            let answer = OriginAnswer.reply(202, body: try Self.receipt().encodedJSON())
            daemon.answer("/v1/modifiers", with: [.raw(""), answer])
            let write = Modifier(.merge(["n": 1]), on: Self.url)
            try await client.write(write)
            try await client.write(write)
            let ids = try daemon.requests.all.map { request in
                try #require(try ModifiersCommand(json: request.body).modifiers[0].id?.text)
            }
            #expect(ids.count == 3)
            #expect(ids[0] == ids[1])
            #expect(ids[1] != ids[2])
        }
    }

    @Test("A write that had been given before says when that was settled")
    func settledBefore() async throws {
        try await withDaemon { daemon, client in
            var receipt = try Self.receipt("like-42", .confirmed)
            receipt.settledAt = .init(milliseconds: 1_700_000_000_000)
            daemon.answer("/v1/modifiers", with: .reply(202, body: receipt.encodedJSON()))
            let accepted = try await client.write(Modifier(.delete, on: Self.url))
            #expect(accepted.state == .confirmed)
            #expect(accepted.settledAt == receipt.settledAt)
        }
    }

    @Test(
        "Every effect travels as the API spells it",
        arguments: [
            (.put(["a": 1, "b": [1.5, nil]]), #"{"type":"put","value":{"a":1,"b":[1.5,null]}}"#),
            (.merge(["a": nil]), #"{"type":"merge","value":{"a":null}}"#),
            (
                .patch([["op": "remove", "path": "/a"]]),
                #"{"type":"patch","value":[{"op":"remove","path":"/a"}]}"#
            ),
            (
                .set(["/b": 2, "/a/b": 1, "/a": [:]], unset: ["/c"]),
                #"{"type":"set","value":{"set":{"/a":{},"/a/b":1,"/b":2},"unset":["/c"]}}"#
            ),
            (.add(["/n": -1]), #"{"type":"add","value":{"/n":-1}}"#),
            (.listAdd(["/tags": ["x"]]), #"{"type":"list_add","value":{"/tags":["x"]}}"#),
            (
                .listRemove(["/items": .init([["id": 7]], by: "id")]),
                #"{"type":"list_remove","value":{"/items":{"by":"id","values":[{"id":7}]}}}"#
            ),
            (.delete, #"{"type":"delete"}"#),
            (.nothing, #"{"type":"none"}"#),
        ] as [(Modifier.Effect, String)]
    )
    func effects(effect: Modifier.Effect, json: String) async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/modifiers",
                with: .reply(202, body: try Self.receipt().encodedJSON())
            )
            let request = ModifierRequestCommand("POST", Self.url)
            try await client.write(Modifier(effect, on: "notes/1", request: request))
            let sent = try #require(daemon.requests.all.first)
            #expect(sent.bodyText.contains(#""effect":\#(json)"#), "\(sent.bodyText)")
            #expect(try ModifiersCommand(json: sent.body).modifiers.count == 1)
        }
    }

    @Test("A request carries one body: JSON, a text, bytes, or that of an entry")
    func bodies() async throws {
        let json = ModifierRequestCommand("POST", Self.url, headers: ["A": "b"], body: ["n": 1])
        var text = ModifierRequestCommand("POST", Self.url)
        text.bodyText = "ü"
        var bytes = text
        (bytes.bodyText, bytes.bodyBytes) = (nil, [0, 1])
        #expect(bytes.bodyBytes == [0, 1])
        var entry = text
        (entry.bodyText, entry.bodyEntry) = (nil, "photos/1")
        let sent = [
            (json, #""headers":{"A":"b"},"body":{"n":1}}"#), (text, #""body_text":"ü"}"#),
            (bytes, #""body_b64":"AAE="}"#), (entry, #""body_entry":"photos/1"}"#),
        ]
        for (request, part) in sent {
            try await withDaemon { daemon, client in
                let receipt = try Self.receipt().encodedJSON()
                daemon.answer("/v1/modifiers", with: .reply(202, body: receipt))
                try await client.write(Modifier(changes: [], request: request))
                let command = try #require(daemon.requests.all.first)
                #expect(command.bodyText.contains(part), "\(command.bodyText)")
            }
        }
    }

    @Test("Several go in one step, and come back in their order")
    func several() async throws {
        try await withDaemon { daemon, client in
            let receipts = [try Self.receipt("a"), try Self.receipt("b", .held)]
            daemon.answer(
                "/v1/modifiers",
                with: .reply(
                    202,
                    body: ModifierQueueTests.body(Page(items: receipts))
                )
            )
            let accepted = try await client.write(all: [
                Modifier(.delete, on: Self.url), Modifier(.put(1), on: Self.url + "/n"),
            ])
            #expect(accepted.map(\.id) == ["a", "b"])
            #expect(accepted.map(\.state) == [.queued, .held])
            let command = try ModifiersCommand(json: try #require(daemon.requests.all.first).body)
            #expect(command.isList)
            #expect(command.modifiers.map(\.request.method) == ["DELETE", "PUT"])
        }
    }

    @Test("A write that is waited for returns its result, a refusal too")
    func waited() async throws {
        try await withDaemon { daemon, client in
            var report = ModifierQueueTests.report()
            report.state = .failed
            report.reason = .refused
            let body = ModifierQueueTests.body(report)
            daemon.answer("/v1/modifiers?wait=10s", with: .reply(200, body: body))
            let like = Modifier(.merge(["liked": true]), on: Self.url)
            let status = try await client.write(like, waitingFor: .seconds(10))
            #expect(status.state == .failed)
            #expect(status.state.isSettled)
            #expect(status.reason == .refused)
        }
    }

    @Test("A full queue is told apart from a mistake")
    func full() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/modifiers", with: .problem(Problem(.queueFull, "it is full")))
            do throws(LarderError) {
                try await client.write(Modifier(.delete, on: Self.url))
                Issue.record("there was no error")
            } catch .unavailable(let problem) {
                #expect(problem.retryable)
            } catch {
                Issue.record("\(error)")
            }
        }
    }
}

@Suite("JSON of the client")
struct JSONTests {
    @Test("Literals and texts keep what was written")
    func texts() throws {
        let value: JSON = ["a": [true, nil, -1, 0.1, "ü\n"], "b": [:]]
        #expect(value.text == #"{"a":[true,null,-1,0.1,"ü\n"],"b":{}}"#)
        #expect(try JSON(text: " [1.50, 1e400] ").text == "[1.50,1e400]")
        #expect(try JSON(encoding: ["a": 1]) == ["a": 1])
    }

    @Test("Text that is not JSON is refused", arguments: ["", "{", "[1,]", "nul"])
    func refused(text: String) async {
        await expectProblem("urn:larder:bad-request") { () async throws(LarderError) in
            try JSON(text: text)
        }
    }

    @Test("A value that cannot be encoded is refused")
    func unencodable() async {
        await expectProblem("urn:larder:bad-request") { () async throws(LarderError) in
            try JSON(encoding: [Double.infinity])
        }
    }
}
