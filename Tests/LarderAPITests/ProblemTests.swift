import LarderAPI
import LarderModel
import Testing

@Suite("A problem")
struct ProblemTests {
    @Test("A problem is written with its members in order and reads back")
    func roundTrip() throws {
        var problem = Problem(.unreachable, "api.example.com refused the connection")
        problem.requestID = "r-1"
        let expected =
            #"{"type":"urn:larder:unreachable","title":"The origin cannot be reached","#
            + #""status":502,"detail":"api.example.com refused the connection","request_id":"r-1","#
            + #""retryable":true,"hint":"Try again when the network is back."}"#
        #expect(text(problem.encoded()) == expected)
        #expect(try Problem(decoding: problem.encoded()) == problem)
    }

    @Test("A kind that sends others to an administrator tells one what to do itself")
    func administratorHints() {
        for kind in ProblemKind.allCases {
            let names = kind.hint.contains("dministrator")
            let problem = Problem(kind, "d")
            #expect((problem.hintForAdministrator != nil) == names, "\(kind)")
            #expect(problem.hintForAdministrator?.contains("dministrator") != true, "\(kind)")
            #expect(Problem(kind, "d", hint: "h").hintForAdministrator == nil)
        }
    }

    @Test("The body of an origin's refusal is quoted, JSON inline and on one line")
    func quotedJSON() throws {
        var problem = Problem(.originStatus, "it answered 500", hint: "h")
        problem.originStatus = 500
        problem.quote(bytes("{\r\n \"a\": [1]}"))
        let encoded = text(problem.encoded())
        #expect(encoded.hasSuffix(#""hint":"h","origin_status":500,"body":{   "a": [1]}}"#))
        let decoded = try Problem(decoding: problem.encoded())
        #expect(decoded.originStatus == 500)
        #expect(decoded.quotedBody == bytes(#"{   "a": [1]}"#))
    }

    @Test("A quoted body that is not JSON is a string, also where it is not UTF-8")
    func quotedText() throws {
        var problem = Problem(.originStatus, "d")
        problem.quote([0x3C, 0xFF, 0x0A, 0x22])
        #expect(text(problem.encoded()).hasSuffix("\"body\":\"<\u{FFFD}\\n\\\"\"}"))
        let decoded = try Problem(decoding: problem.encoded())
        #expect(decoded.quotedBody == bytes("<\u{FFFD}\n\""))
    }

    @Test("Of a quoted body no more than the limit travels")
    func quotedCap() throws {
        var problem = Problem(.originStatus, "d")
        problem.quote([UInt8](repeating: 0x61, count: Limits.quotedBodyBytesMax + 1))
        let decoded = try Problem(decoding: problem.encoded())
        #expect(decoded.quotedBody?.count == Limits.quotedBodyBytesMax)
    }

    @Test("Every kind has its own type and comes back by it", arguments: ProblemKind.allCases)
    func kinds(kind: ProblemKind) throws {
        let problem = Problem(kind, "d")
        #expect(problem.status == kind.status)
        #expect((400...599).contains(kind.status))
        #expect(!kind.title.isEmpty)
        #expect(kind.hint.hasSuffix(".") || kind == .unknownOrigin)
        #expect(try Problem(decoding: problem.encoded()) == problem)
    }

    @Test("The kinds that the interface fixes have their names and statuses")
    func fixedNames() {
        let fixed: [(String, Int)] = [
            ("unreachable", 502), ("captive", 502), ("offline", 503), ("timeout", 504),
            ("origin-status", 502), ("redirect-refused", 502), ("deleted", 404), ("miss", 404),
            ("unknown-origin", 403), ("bad-id", 400), ("not-permitted", 403),
        ]
        for (name, status) in fixed {
            #expect(ProblemKind(rawValue: name)?.status == status, "\(name)")
        }
        #expect(Problem(.deleted, "d", status: 410).status == 410)
    }

    @Test("A problem of a newer daemon keeps its type, its title and what it says of a retry")
    func unknownKind() throws {
        let line =
            #"{"type":"urn:larder:news","title":"T","status":429,"detail":"d","request_id":"r","#
            + #""retryable":true,"hint":"h"}"#
        let problem = try Problem(decoding: bytes(line))
        #expect(problem.type == "urn:larder:news")
        #expect(problem.title == "T")
        #expect(problem.retryable)
        #expect(problem.kind.status == 429)
        #expect(String(decoding: problem.encoded(), as: UTF8.self) == line)
    }
}

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
