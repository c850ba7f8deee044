import LarderAPI
import LarderEngine
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// The same id with the same body again, whatever has become meanwhile of what it names.
@Suite("The same write again", .timeLimit(.minutes(5)))
struct RepetitionTests {
    private static let url = ServerFixture.baseURL + "/a"

    private func post(_ server: ServerFixture, _ body: String) async throws -> RawResponse {
        try await server.connect().ask(
            "POST",
            "/v1/modifiers",
            ["Content-Type: application/json"],
            body: Array(body.utf8)
        )
    }

    private func delete(_ server: ServerFixture, _ target: String) async throws {
        let answer = try await server.connect().ask("DELETE", target)
        #expect(answer.status == 204, "\(target): \(answer.text)")
    }

    /// A write of nothing that shows, in JSON.
    private func write(
        _ id: String,
        to url: String = url,
        _ more: String = "",
        body: String = ""
    ) -> String {
        #"{"id":"\#(id)","request":{"method":"POST","url":"\#(url)"\#(body)}\#(more)}"#
    }

    private func settled(_ server: ServerFixture, _ id: String) async throws -> ModifierReport {
        let id = try ModifierID(id)
        return try await server.engine.modifiers.modifier(id, server.scope, wait: .seconds(3_600))
    }

    private static let held = #","hold":"1h""#

    @Test("A repeated write gets the same 202, without its parent, its origin and its body_entry")
    func withoutWhatItNames() async throws {
        try await ServerFixture.run { server in
            let files = OriginSettings(
                name: try OriginName("files"),
                baseURL: try WebURL("https://files.example.com")
            )
            _ = try await server.engine.origins.add(OriginCommand(files))
            try await server.store("notes/1", Array("hello".utf8), kind: .blob)
            let writes = [
                write("child", Self.held + #","depends_on":["parent"]"#),
                write("moved", to: "https://files.example.com/x", Self.held),
                write("note", Self.held, body: #","body_entry":"notes/1""#),
            ]
            _ = try await post(server, write("parent", Self.held))
            var first: [ModifierReceipt] = []
            for body in writes {
                let answer = try await post(server, body)
                #expect(answer.status == 202, "\(answer.text)")
                first.append(try answer.value(ModifierReceipt.self))
            }
            try await delete(server, "/v1/entries/notes%2F1")
            try await server.engine.origins.remove(files.name)
            for (body, receipt) in zip(writes.dropFirst(), first.dropFirst()) {
                let answer = try await post(server, body)
                #expect(answer.status == 202, "\(answer.text)")
                #expect(try answer.value(ModifierReceipt.self) == receipt)
            }
            try await delete(server, "/v1/modifiers/parent")
            let child = try await post(server, writes[0])
            #expect(child.status == 200)
            #expect(try child.value(ModifierReceipt.self).state == .cancelled)
            // And what is another body stays one, whatever else is wrong with it.
            let other = try await post(
                server,
                write("moved", to: "https://files.example.com/y", Self.held)
            )
            #expect(other.status == 409)
            #expect(try other.problem().kind == .modifierExists)
        }
    }

    @Test("A settled write gets a 200 with its report, and is not sent again")
    func settledBefore() async throws {
        try await ServerFixture.run { server in
            let url = try WebURL(Self.url)
            server.upstream.answer(url, with: .reply("", status: 204), .reply("no", status: 422))
            for (id, state) in [("good", LarderAPI.ModifierState.confirmed), ("bad", .failed)] {
                #expect(try await post(server, write(id)).status == 202)
                let report = try await settled(server, id)
                #expect(report.state == state)
                let again = try await post(server, write(id))
                #expect(again.status == 200)
                #expect(again.headers["Location"] == "/v1/modifiers/\(id)")
                let told = try again.value(ModifierReceipt.self)
                #expect(told.state == state)
                #expect(told.settledAt == report.settledAt)
                #expect(told.settledAt != nil)
            }
            let both = #"{"modifiers":[\#(write("good")),\#(write("bad"))]}"#
            let all = try await post(server, both)
            #expect(all.status == 200)
            let reports = try JSONValue(parsing: all.body)["items"]?.elements ?? []
            #expect(reports.map { $0["state"]?.string } == ["confirmed", "failed"])
            #expect(reports.allSatisfy { $0["settled_at"]?.string != nil })
            let mixed = #"{"modifiers":[\#(write("good")),\#(write("new", Self.held))]}"#
            let some = try await post(server, mixed)
            #expect(some.status == 202)
            let receipts = try some.value(Page<ModifierReceipt>.self).items
            #expect(receipts.map(\.state) == [.confirmed, .held])
            #expect(receipts.map { $0.settledAt != nil } == [true, false])
            #expect(server.upstream.asked.all.count { $0.method == "POST" } == 2)
        }
    }

    @Test("A write twice in one list is one, and with another body the list is refused")
    func twiceInAList() async throws {
        try await ServerFixture.run { server in
            let twin = write("twin", Self.held)
            let answer = try await post(server, #"{"modifiers":[\#(twin),\#(twin)]}"#)
            #expect(answer.status == 202, "\(answer.text)")
            let receipts = try answer.value(Page<ModifierReceipt>.self).items
            #expect(receipts.count == 2)
            #expect(receipts.first == receipts.last)
            let other = #"{"modifiers":[\#(write("x", Self.held)),\#(write("x"))]}"#
            #expect(try await post(server, other).status == 409)
        }
    }

    @Test("A raw write that is given again under its key is answered like any other")
    func raw() async throws {
        try await ServerFixture.run { server in
            let url = try WebURL(Self.url)
            server.upstream.answer(url, with: .reply("", status: 204))
            var answers: [RawResponse] = []
            for _ in 0..<2 {
                answers.append(
                    try await server.connect().ask(
                        "DELETE",
                        "/o/example/a",
                        ["Prefer: respond-async", "Idempotency-Key: k-1"]
                    )
                )
                _ = try await settled(server, "k-1")
            }
            #expect(answers.map(\.status) == [202, 200])
            #expect(answers[1].headers["Preference-Applied"] == "respond-async")
            #expect(try answers[1].value(ModifierReceipt.self).state == .confirmed)
        }
    }

    @Test("A raw write is the same when its origin has moved, asks for the wish now, or is gone")
    func rawElsewhere() async throws {
        try await ServerFixture.run { server in
            var files = OriginSettings(
                name: try OriginName("files"),
                baseURL: try WebURL("https://files.example.com/v1/")
            )
            files.modifiers.respondsAsync = true
            let ask = { (target: String, key: String, body: String) in
                try await server.connect().ask(
                    "PUT",
                    "/o/files/\(target)",
                    ["Content-Type: text/plain", "Idempotency-Key: \(key)"],
                    body: Array(body.utf8)
                )
            }
            _ = try await server.engine.origins.add(OriginCommand(files))
            let first = try await ask("a%20b?c", "k-1", "x")
            #expect(first.status == 202, "\(first.text)")
            let receipt = try first.value(ModifierReceipt.self)
            var moved = files
            moved.baseURL = try WebURL("https://files.example.org/")
            var plain = files
            plain.modifiers.respondsAsync = false
            for origin in [moved, plain, nil] {
                try await server.engine.origins.remove(files.name)
                if let origin { _ = try await server.engine.origins.add(OriginCommand(origin)) }
                let again = try await ask("a%20b?c", "k-1", "x")
                #expect(again.status == 202, "\(again.text)")
                let known = try again.value(ModifierReceipt.self)
                #expect(known.id == receipt.id && known.rev == receipt.rev)
                #expect(try await ask("a%20b?c", "k-1", "y").status == 409)
            }
            // Of what was never accepted nothing is known.
            #expect(try await ask("a%20b?c", "k-2", "x").status == 404)
            #expect(try await ask("b?c", "k-1", "x").status == 404)
        }
    }

    @Test("The 202 of a wait is told from a receipt by the document")
    func oneSchema() throws {
        let schemas = try #require(try DocumentedAPI().root["components"]?["schemas"])
        let receipt = schemas["ModifierReceipt"]?["properties"]?.members?.map(\.name) ?? []
        let report = schemas["ModifierReport"]?["required"]?.elements?.compactMap(\.string) ?? []
        #expect(!Set(report).isSubset(of: receipt))
    }
}
