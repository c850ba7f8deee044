import FoundationEssentials
import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Swift values changed", .timeLimit(.minutes(1)))
struct ModifyTests {
    private struct Article: Codable, Sendable {
        struct Author: Codable, Sendable { var name: String }
        struct Comment: Codable, Sendable { var text: String }

        var title: String
        var liked: Bool?
        var tags: [String]?
        var author: Author?
        var comments: [Comment]?
    }

    private static let url = "https://api.example.com/articles/42"
    private static let entryPath = "/v1/entries/https%3A%2F%2Fapi.example.com%2Farticles%2F42"

    /// What is sent when what is shown is changed; nil where nothing is.
    private func sent(
        _ shown: String,
        under id: String = Self.url,
        at path: String = Self.entryPath,
        _ change: (inout Article) -> Void
    ) async throws -> String? {
        var merge: String?
        try await withDaemon { daemon, client in
            daemon.answer(path, with: .reply(200, body: Array(shown.utf8)))
            let receipt = try ModifierWriteTests.receipt().encodedJSON()
            daemon.answer("/v1/modifiers", with: .reply(202, body: receipt))
            let accepted = try await client.modify(id, as: Article.self, change)
            let requests = daemon.requests.all.dropFirst()
            #expect((accepted == nil) == requests.isEmpty)
            guard let request = requests.first else { return }
            let command = try ModifiersCommand(json: request.body).modifiers[0]
            #expect(command.changes.map(\.target) == [try EntryID(given: id)])
            #expect(command.request.method == "PATCH")
            guard case .bytes(let bytes) = command.request.body else { return }
            merge = String(decoding: bytes, as: UTF8.self)
        }
        return merge
    }

    @Test("Only what differs is sent")
    func difference() async throws {
        let shown = #"{"title":"A","liked":false,"extra":1,"tags":["x"]}"#
        #expect(try await sent(shown) { $0.liked = true } == #"{"liked":true}"#)
        #expect(try await sent(shown) { $0.tags?.append("y") } == #"{"tags":["x","y"]}"#)
    }

    @Test(
        "An entity and a thing with a temporary id are modified by their ids",
        arguments: [
            "entity:shop/Article:42",
            "entity:shop/Article:tmp:6f1c0a52-0000-4000-8000-0123456789ab",
            "tmp:6f1c0a52-0000-4000-8000-0123456789ab",
        ]
    )
    func ids(id: String) async throws {
        let coded = id.replacing(":", with: "%3A").replacing("/", with: "%2F")
        let shown = #"{"title":"A","liked":false}"#
        let merge = try await sent(shown, under: id, at: "/v1/entries/\(coded)") {
            $0.liked = true
        }
        #expect(merge == #"{"liked":true}"#)
    }

    @Test("A member that becomes nil is removed")
    func removal() async throws {
        #expect(
            try await sent(#"{"title":"A","liked":true}"#) { $0.liked = nil } == #"{"liked":null}"#
        )
    }

    @Test("Of an inner object only what differs is sent, so the rest of it stays")
    func inner() async throws {
        let shown = #"{"title":"A","author":{"name":"B","born":1900}}"#
        #expect(
            try await sent(shown) { $0.author?.name = "C" } == #"{"author":{"name":"C"}}"#
        )
    }

    @Test("Members that stay the same are not sent")
    func same() async throws {
        let shown = #"{"title":"A","comments":[{"text":"b","likes":2}]}"#
        #expect(try await sent(shown) { $0.title = "A" } == nil)
        #expect(try await sent(shown) { $0.title = "B" } == #"{"title":"B"}"#)
    }

    @Test("An array whose elements the type knows in part is not replaced")
    func unknownMembers() async throws {
        let shown = #"{"title":"A","comments":[{"text":"b"},{"text":"c","likes":2}]}"#
        try await withDaemon { daemon, client in
            daemon.answer(Self.entryPath, with: .reply(200, body: Array(shown.utf8)))
            do throws(LarderError) {
                try await client.modify(Self.url, as: Article.self) {
                    $0.comments?[0].text = "d"
                }
                Issue.record("there was no error")
            } catch .invalid(let problem) {
                #expect(problem.detail.contains("'/comments/1/likes'"), "\(problem.detail)")
                #expect(problem.hint.contains("put, set or patch"))
            } catch {
                Issue.record("\(error)")
            }
            #expect(daemon.requests.all.count == 1)
        }
        // One that the type knows whole is, and so is one that says null where the type says nothing.
        let known = #"{"title":"A","comments":[{"text":"b","likes":null}]}"#
        #expect(
            try await sent(known) { $0.comments?[0].text = "c" }
                == #"{"comments":[{"text":"c"}]}"#
        )
    }

    @Test("A member that becomes null cannot be sent as a merge")
    func null() async throws {
        struct Setting: Codable, Sendable {
            var value: Int?

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(value, forKey: .value)
            }
        }
        try await withDaemon { daemon, client in
            daemon.answer(Self.entryPath, with: .reply(200, body: Array(#"{"value":1}"#.utf8)))
            await expectProblem("urn:larder:bad-request") { () async throws(LarderError) in
                try await client.modify(Self.url, as: Setting.self) { $0.value = nil }
            }
            #expect(daemon.requests.all.count == 1)
        }
    }

    @Test("An entry that is missing, deleted or of another form cannot be changed")
    func unfit() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                Self.entryPath,
                with: .problem(Problem(.miss, "no")),
                .problem(Problem(.deleted, "no", status: 410)),
                .reply(200, body: Array("<html>".utf8)),
                .reply(200, body: Array(#"{"title":1}"#.utf8))
            )
            var labels: [String] = []
            for _ in 0..<4 {
                do throws(LarderError) {
                    try await client.modify(Self.url, as: Article.self) { $0.title = "B" }
                } catch {
                    switch error {
                    case .miss: labels.append("miss")
                    case .deleted: labels.append("deleted")
                    case .decoding(let id, _): labels.append("decoding \(id)")
                    default: Issue.record("\(error)")
                    }
                }
            }
            #expect(
                labels == ["miss", "deleted", "decoding \(Self.url)", "decoding \(Self.url)"]
            )
            await expectProblem("urn:larder:bad-id") { () async throws(LarderError) in
                try await client.modify("entity:shop/Article", as: Article.self) { $0.title = "B" }
            }
        }
    }
}
