import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// Answers that came in a content coding, on the routes that return bytes.
@Suite("Coded answers on the routes", .timeLimit(.minutes(5)))
struct CodedAnswerTests {
    private static let body = "0123456789"
    private static let path = "/o/example/a"

    private static func coded(_ etag: String) -> ScriptedAnswer {
        var fields = HeaderFields()
        fields.append("Content-Type", "text/plain")
        fields.append("ETag", etag)
        fields.append("Vary", "Accept-Encoding")
        fields.mark(coding: "zstd")
        return ScriptedAnswer(
            .reply(status: 200, headers: fields, [.bytes(Array(body.utf8))])
        )
    }

    private static let tag =
        BodySummary(of: Array(body.utf8), isJSON: false).digest.entityTag

    private func entry() throws -> String {
        PercentCoding.entryPath(try EntryID(try ServerFixture.url("/a")))
    }

    @Test("A coded answer is served as plain bytes to any Accept-Encoding (S49)")
    func served() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/a"), with: Self.coded("\"1-gzip\""))
            var control = "Cache-Control: max-age=0"
            for path in [Self.path, try entry(), Self.path] {
                for coding in ["gzip, br, zstd", "identity;q=0, gzip"] {
                    let fields = ["Accept-Encoding: \(coding)", control]
                    let answer = try await server.connect().ask("GET", path, fields)
                    #expect(answer.text == Self.body, "\(path)")
                    #expect(answer.headers["Content-Encoding"] == nil)
                    #expect(answer.headers["Larder-Coding"] == nil)
                    #expect(answer.headers["ETag"] == Self.tag)
                    control = "Cache-Control: only-if-cached"
                }
            }
            let sent = server.upstream.asked.all
            #expect(sent.allSatisfy { $0.headers["Accept-Encoding"] == nil && $0.acceptsCodings })
        }
    }

    @Test("Ranges and conditions work with the ETag of the plain bytes (S50)")
    func conditions() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/a"), with: Self.coded("W/\"1\""))
            _ = try await server.connect().ask("GET", Self.path)
            let cached = "Cache-Control: only-if-cached"
            for path in [Self.path, try entry()] {
                let fields = [cached, "Range: bytes=5-", "If-Range: \(Self.tag)"]
                let part = try await server.connect().ask("GET", path, fields)
                #expect((part.status, part.text) == (206, "56789"), "\(path)")
                let same = [cached, "If-None-Match: \(Self.tag)"]
                #expect(try await server.connect().ask("GET", path, same).status == 304)
                let other = [cached, "Range: bytes=5-", "If-Range: \"1\""]
                #expect(try await server.connect().ask("GET", path, other).status == 200)
            }
        }
    }

    @Test("A strong ETag of coded bytes is weak on an answer that is passed on (S50)")
    func passedOn() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/a"), with: Self.coded("\"1-gzip\""))
            let fields = ["Cache-Control: no-store"]
            let answer = try await server.connect().ask("GET", Self.path, fields)
            #expect(answer.text == Self.body)
            #expect(answer.headers["ETag"] == "W/\"1-gzip\"")
            #expect(answer.headers["Larder-Coding"] == nil)
        }
    }

    @Test("A passed write sends the origin's ETag in place of the daemon's (S50)")
    func passedWrite() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let plain = ScriptedAnswer.reply(Self.body, headers: ["ETag": "\"1\""])
            server.upstream.answer(url, with: Self.coded("W/\"1\""), plain, .reply(status: 204))
            let read = try await server.connect().ask("GET", Self.path)
            let fields = ["If-Match: \(read.headers["ETag"] ?? "")"]
            let body = Array("new".utf8)
            let answer = try await server.connect().ask("PUT", Self.path, fields, body: body)
            #expect(answer.status == 204)
            let sent = server.upstream.asked.all
            #expect(sent.map(\.method) == ["GET", "GET", "PUT"])
            #expect(sent.map(\.acceptsCodings) == [true, false, false])
            #expect(sent.last?.headers["If-Match"] == "\"1\"")
        }
    }

    @Test("A passed write with the daemon's ETag of other bytes is 412 (S50)")
    func passedConflict() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let plain = ScriptedAnswer.reply("changed", headers: ["ETag": "\"2\""])
            server.upstream.answer(url, with: Self.coded("W/\"1\""), plain)
            let read = try await server.connect().ask("GET", Self.path)
            let fields = ["If-Match: \(read.headers["ETag"] ?? "")"]
            let body = Array("new".utf8)
            let answer = try await server.connect().ask("PUT", Self.path, fields, body: body)
            #expect(answer.status == 412)
            #expect(try answer.problem().kind == .preconditionFailed)
            #expect(server.upstream.asked.all.map(\.method) == ["GET", "GET"])
        }
    }

    @Test("A passed write with the daemon's ETag is refused if the origin has no strong one (S50)")
    func passedWithoutTag() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: Self.coded("W/\"1\""), Self.coded("W/\"1\""))
            let read = try await server.connect().ask("GET", Self.path)
            let fields = ["If-Match: \(read.headers["ETag"] ?? "")"]
            let body = Array("new".utf8)
            let answer = try await server.connect().ask("PUT", Self.path, fields, body: body)
            #expect(answer.status == 422)
            #expect(server.upstream.asked.all.map(\.method) == ["GET", "GET"])
        }
    }
}
