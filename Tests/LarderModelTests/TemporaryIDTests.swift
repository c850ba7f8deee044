import LarderModel
import Testing

@Suite("Temporary ids (case 16)")
struct TemporaryIDTests {
    private static let uuid = "6f1c0a52-0000-4000-8000-0123456789ab"
    private static let name = "tmp:\(uuid)"

    @Test("Only tmp: and a UUID is a temporary id")
    func whole() {
        #expect(TemporaryID(Self.name)?.text == Self.name)
        for text in [
            "", "tmp:1", Self.uuid, Self.name + "0", " " + Self.name, "{{id:\(Self.name)}}",
        ] {
            #expect(TemporaryID(text) == nil, "\(text)")
        }
        #expect(TemporaryID("tmp%3A\(Self.uuid)") == nil)
    }

    @Test(
        "A text names a temporary id plainly, in braces and percent-encoded",
        arguments: [
            ("x\(name)y", 1, 40, false), ("{{id:\(name)}}", 0, 47, true),
            ("/todos/tmp%3a\(uuid)", 7, 42, false),
            ("/%7B%7Bid:tmp%3A\(uuid)%7d%7d/a", 1, 57, true), ("{{id:\(name)", 5, 40, false),
        ]
    )
    func occurrences(text: String, start: Int, count: Int, isMarked: Bool) {
        let found = TemporaryID.occurrences(in: text)
        #expect(found.map(\.id.text) == [Self.name])
        #expect(found.first?.range == start..<(start + count))
        #expect(found.first?.isMarked == isMarked)
    }

    @Test("An entity and a name have a temporary id, and a URL has none")
    func ids() throws {
        #expect(try EntryID(given: "entity:todo/Todo:\(Self.name)").temporary?.text == Self.name)
        #expect(try EntryID(given: Self.name).temporary?.text == Self.name)
        #expect(try EntryID(given: "https://x/\(Self.name)").temporary == nil)
        #expect(try EntryID(given: "entity:todo/Todo:tmp:1").temporary == nil)
    }
}
