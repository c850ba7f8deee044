import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Header lines in their stored bytes")
struct HeaderLinesTests {
    private func list(_ name: StaticString, in lines: some Sequence<UInt8>) -> String? {
        Array(lines).withUnsafeBytes { HeaderLines(bytes: $0).list(name) }
    }

    /// What is found, as bytes: texts compare by more than these.
    private func expectLikeFields(_ name: StaticString, in lines: [UInt8]) {
        let fields = HeaderFields(lines: String(decoding: lines, as: UTF8.self))
        let expected = fields.list("\(name)").map { Array($0.utf8) }
        #expect(list(name, in: lines).map { Array($0.utf8) } == expected, "\(name) in \(lines)")
    }

    @Test("A name is found without case, and its values are one list")
    func values() {
        let lines = "Vary: Accept\nETag: \"a\"\nVARY:Origin\nX-Vary: no\nvary:  a \nVary-Not: 1\n"
        #expect(list("vary", in: lines.utf8) == "Accept, Origin,  a ")
        #expect(list("etag", in: lines.utf8) == "\"a\"")
        #expect(list("Var", in: lines.utf8) == nil)
        #expect(list("Age", in: lines.utf8) == nil)
        #expect(list("Age", in: []) == nil)
        // Only letters have two cases.
        #expect(list("@", in: "`: 1\n".utf8) == nil)
    }

    @Test("Lines without a name or a value are read as HeaderFields reads them")
    func edges() {
        for lines in [
            "", "\n", "A", "A\n", "A:", "A:\n", "A: ", "A: \n", ":", ": x\n", "A\nA: 1", "A: 1\r\n",
            "\n\nA: 1\n\n", "A : 1\n", " A: 1\n", "a: x: y\nA:  2\n", "A: é\na: e\u{301}\n",
            "AA: 1",
            "A: 1\0\nA: 2", "B: A: 1\n", "A::\n",
        ] {
            for name: StaticString in ["A", "a", "AA", ""] {
                expectLikeFields(name, in: Array(lines.utf8))
            }
        }
    }

    @Test("Cut after each byte, and with each byte changed, both find the same")
    func everyByte() {
        let lines = Array("Content-Encoding: gzip\nVia: a\ncontent-encoding:br\nVia:\n".utf8)
        for end in 0...lines.count {
            expectLikeFields("Content-Encoding", in: Array(lines[..<end]))
        }
        for index in lines.indices {
            for byte in [0x00, 0x0A, 0x0D, 0x20, 0x3A, 0x41, 0x7F, 0xC3, 0xFF, lines[index] ^ 0x20]
            {
                var changed = lines
                changed[index] = byte
                expectLikeFields("Content-Encoding", in: changed)
                expectLikeFields("Via", in: changed)
            }
        }
    }

    @Test("Of any lines both find the same", arguments: UInt64(1)...20)
    func anyLines(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array("aAbB::  \n\n,\u{E9}".utf8)
        for _ in 0..<200 {
            let count = Int.random(in: 0...40, using: &random)
            let lines = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            for name: StaticString in ["a", "AB", "b", "ba"] { expectLikeFields(name, in: lines) }
        }
    }

    @Test(
        "A row says how its bytes are coded, unless they are JSON that could be read",
        arguments: [(false, "gzip, br"), (true, nil)]
    )
    func row(isJSON: Bool, coding: String?) async throws {
        let temporary = try TemporaryStore()
        let (scope, id) = (temporary.scope, try EntryID("a"))
        var entry = Entry.fetched(id, [1])
        entry.body.isJSON = isJSON
        for (name, value) in [
            ("Content-Encoding", "gzip"), ("Via", "x"), ("content-encoding", "br"),
        ] {
            entry.headers.append(name, value)
        }
        let new = NewEntry(scope: scope, entry: entry, body: .inline([1]))
        _ = try await temporary.store.put(new, now: .epoch)
        let found = try await temporary.store.read { reader throws(StoreError) in
            defer { reader.endTransaction() }
            return try reader.withEntry(scope, id, now: .epoch) { Coding($0.contentEncoding) }
        }
        #expect(found == Coding(coding))
    }

    private struct Coding: Equatable {
        let text: String?

        init(_ text: String?) { self.text = text }
    }
}
