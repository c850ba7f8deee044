import LarderModel
import LarderNormalize
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Normalized answers", .timeLimit(.minutes(5)))
struct AnswerTests {
    private let answers = AnswerFixture.new()

    private static func article(_ id: Int, _ name: String) -> String {
        #"{"type":"Article","id":\#(id), "author": {"type":"User","id":7,"name":"\#(name)"}}"#
    }

    @Test("An entity that was asked for by its key stays while nothing refers to it")
    func direct() async throws {
        try await answers.put("a/1", Self.article(1, "Ann"))
        answers.store.noteDirectUse(answers.scope, EntryID(try answers.name("User:7")))
        _ = try await answers.store.delete(answers.scope, try EntryID("a/1"))
        try await answers.store.commits.settle()
        #expect(try await answers.count("entry") == 1)
    }

    @Test("An answer that is stored whole again leaves nothing of its form")
    func wholeAgain() async throws {
        let text = Self.article(1, "Ann")
        try await answers.put("a/1", text)
        let whole = try answers.answer("a/1", text).entry
        let receipt = try await answers.store.put(whole, now: .epoch)
        #expect(!receipt.isSame)
        try await answers.store.commits.settle()
        #expect(try await answers.shown("a/1") == text)
        for table in ["reference", "skeleton"] { #expect(try await answers.count(table) == 0) }
        #expect(try await answers.count("entry") == 1)
        #expect(try await answers.put("a/1", text).isNormalized)
    }

    // MARK: Who is told

    /// What watchers hear of a step, in words.
    private func told(
        _ answers: AnswerFixture,
        by step: () async throws -> Void
    ) async throws -> [String] {
        // What nothing refers to any more goes by itself, sooner or later.
        try await answers.store.commits.settle()
        _ = answers.store.changes.take()
        try await step()
        return answers.store.changes.take().changes.compactMap { change in
            switch change.event {
            case .put(let id, let cause):
                "put \(id)" + (cause.changed.isEmpty ? "" : " by \(cause.changed.map(\.text))")
            case .delete(let id, _): "delete \(id)"
            case .evict, .modifier, .remapped: nil
            }
        }
    }

    @Test("A changed member is one event for each row that shows it, and for no other row")
    func whoIsTold() async throws {
        try await answers.put("a/1", Self.article(1, "Ann"))
        try await answers.put("ids", #"[{"type":"User","id":7}]"#)
        try await answers.put("other", #"[{"type":"User","id":8,"name":"Bob"}]"#)
        let heard = try await told(answers) {
            try await answers.put("u/7", #"{"type":"User","id":7,"name":"Anna"}"#)
        }
        #expect(
            heard == [
                "put entity:example/User:7", #"put u/7 by ["User:7"]"#, #"put a/1 by ["User:7"]"#,
            ]
        )
        let again = try await told(answers) {
            try await answers.put("u/7", #"{"type":"User","id":7,"name":"Anna"}"#)
        }
        #expect(again == [])
        let back = try await told(answers) {
            try await answers.put("a/1", Self.article(1, "Ann"))
        }
        #expect(
            back == [
                "put entity:example/User:7", #"put a/1 by ["User:7"]"#, #"put u/7 by ["User:7"]"#,
            ]
        )
    }

    @Test("A row that shows an entity through another one gets an event, also a later member")
    func newcomers() async throws {
        try await answers.put("a/1", Self.article(1, "Ann"))
        try await answers.put("titles", #"[{"type":"Article","id":1}]"#)
        // The article has another author now, of whom the first answer knows nothing.
        try await answers.put(
            "x",
            #"{"type":"Article","id":1,"author":{"type":"User","id":9,"name":"Eve"}}"#
        )
        let heard = try await told(answers) {
            try await answers.put("u/9", #"{"type":"User","id":9,"name":"Eva","age":3}"#)
        }
        #expect(
            heard == [
                "put entity:example/User:9", #"put u/9 by ["User:9"]"#, #"put a/1 by ["User:9"]"#,
                #"put x by ["User:9"]"#,
            ]
        )
        let old = try await told(answers) {
            try await answers.put("u/7", #"{"type":"User","id":7,"name":"Anna"}"#)
        }
        #expect(old == ["put entity:example/User:7", #"put u/7 by ["User:7"]"#])
    }

    @Test("A member that no answer lists is told of to who watches the entity only")
    func unlisted() async throws {
        try await answers.put("a/1", Self.article(1, "Ann"))
        let heard = try await told(answers) {
            try await answers.put("u/7", #"{"type":"User","id":7,"age":30}"#)
        }
        #expect(heard == ["put entity:example/User:7", #"put u/7 by ["User:7"]"#])
    }

    @Test("Entities that refer to each other are followed to an end")
    func cycles() async throws {
        try await answers.put(
            "a",
            #"{"type":"A","id":1,"b":{"type":"B","id":1,"n":1,"a":{"type":"A","id":1}}}"#
        )
        let heard = try await told(answers) {
            try await answers.put("b", #"{"type":"B","id":1,"n":2}"#)
        }
        #expect(heard == ["put entity:example/B:1", #"put b by ["B:1"]"#, #"put a by ["B:1"]"#])
    }

    @Test("A limit on following references is reported whenever it leaves out a row")
    func bounded() async throws {
        for number in 0..<5 {
            try await answers.put(
                "a/\(number)",
                #"{"type":"A","id":\#(number),"m":[{"type":"B","id":1,"c":{"type":"C","id":1,"n":1}},"#
                    + #"{"type":"B","id":2,"c":{"type":"C","id":1,"n":1}}]}"#
            )
        }
        for id in ["d/0", "d/1"] { try await answers.put(id, #"[{"type":"D","id":1}]"#) }
        let all = try await shown(by: answers, limit: 100_000)
        #expect(all.ids.count == 7)
        #expect(all.isWhole)
        var wholes = 0
        for limit in 0..<200 {
            let some = try await shown(by: answers, limit: limit)
            #expect(!some.isWhole || some.ids == all.ids, "\(limit)")
            wholes += some.isWhole ? 1 : 0
        }
        #expect(wholes > 0)
    }

    /// Who shows a member of two entities, as far as so many references tell.
    private func shown(
        by answers: AnswerFixture,
        limit: Int
    ) async throws -> (ids: Set<String>, isWhole: Bool) {
        let names = [try answers.name("C:1"), try answers.name("D:1")]
        let scope = answers.scope
        return try await answers.store.commits.submit { writer throws(StoreError) in
            let changes = names.map { name in
                let id = EntryID(name)
                let event = Change.Event.put(id, ChangeCause(.network))
                return EntityChange(name, at: RowKey(scope, id), .created, event)
            }
            let reader = ReferenceReader(
                tables: [try writer.cache.references],
                residency: writer.shared.residency
            )
            let showing = try reader.entries(showing: changes, in: scope, limit: limit)
            return (Set(showing.entries.values.map(\.id.text)), showing.isWhole)
        }
    }

    @Test("The log has what a step has done to many entities in few rows, and gives all back")
    func logged() async throws {
        let since = answers.store.changes.last
        let items = (0..<3_000).map { #"{"type":"A","id":\#($0)}"# }
        try await answers.put("l", "[" + items.joined(separator: ",") + "]")
        #expect(try await answers.count("change_log") < 20)
        let page = try await answers.store.changes(
            after: since,
            through: answers.store.changes.published,
            of: answers.scope.scope
        )
        #expect(page?.changes.count == 3_001)
    }

    @Test("Reading an answer is a use of every entity that it shows")
    func touched() async throws {
        let answers = try AnswerFixture(configure: { $0.maxBytes = ByteSize(bytes: 30_000) })
        try await answers.put("a/1", Self.article(1, "Ann"))
        try await answers.put("a/2", Self.article(2, "Bob").replacing("7", with: "8"))
        for number in 0..<40 {
            try await answers.temporary.put("b\(number)", .pattern(2_000))
            #expect(try await answers.shown("a/1") == Self.article(1, "Ann"), "\(number)")
        }
        #expect(try await answers.shown("a/2") == "miss")
    }

    @Test("Entities that a protected entry shows are not evicted")
    func protected() async throws {
        let answers = try AnswerFixture(configure: { $0.maxBytes = ByteSize(bytes: 30_000) })
        try await answers.put("a/1", Self.article(1, "Ann"))
        answers.store.protect(answers.scope, try EntryID("a/1"))
        for number in 0..<40 { try await answers.temporary.put("b\(number)", .pattern(2_000)) }
        #expect(try await answers.shown("a/1") == Self.article(1, "Ann"))
        answers.store.release(answers.scope, try EntryID("a/1"))
        for number in 40..<80 { try await answers.temporary.put("b\(number)", .pattern(2_000)) }
        #expect(try await answers.shown("a/1") != Self.article(1, "Ann"))
        #expect(answers.store.totals.bytes <= 30_000)
    }
}
