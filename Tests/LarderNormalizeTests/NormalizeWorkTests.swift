import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("Bounds of work and memory on an origin's answers")
struct NormalizeWorkTests {
    @Test("An answer whose slots would have to remember too much stays whole")
    func template() throws {
        // Each slot would note that it has none of the members that the first one has.
        let members = (0..<1_000).map { #","m\#($0)":0"# }.joined()
        let slots = String(repeating: #",{"type":"A","id":1}"#, count: 2_000)
        let store = try PlainStore()
        let split = try store.split(#"[{"type":"A","id":1\#(members)}\#(slots)]"#)
        let merged = [split.merged(0, into: .unknown, fetch: 1)]
        #expect(split.template(merged) == nil)
    }

    /// A chain in which each entity has the next one twice by now, and one that is deleted behind
    /// it: all of it is shown, and left out in the end.
    private func cascade(_ levels: Int) throws -> (PlainStore, PlainStore.Answer) {
        let fall = TypeRule(type: "Fall", onDeleted: .cascade)
        var store = try PlainStore(NormalizeRules(byType: .standard, types: [fall]))
        let end = #""c":{"type":"Fall","id":1}"#
        let answer = try store.put(
            (0..<levels).reversed().reduce("0") { inner, id in
                #"{"type":"A","id":\#(id),"l":[\#(inner)],\#(end)}"#
            }
        )
        for id in 0..<levels - 1 {
            let next = #"{"type":"A","id":\#(id + 1)}"#
            _ = try store.put(#"{"type":"A","id":\#(id),"l":[\#(next),\#(next)]}"#)
        }
        try store.delete("Fall:1")
        return (store, answer)
    }

    @Test("Repeatedly leaving out deleted children counts as work")
    func leftOut() throws {
        let (few, small) = try cascade(4)
        guard case .deleted = try few.rebuild(small, bytesMax: 1 << 16) else {
            Issue.record("a short chain is not shown to its end")
            return
        }
        let (store, answer) = try cascade(18)
        guard case .tooLarge = try store.rebuild(answer, bytesMax: 1 << 16) else {
            Issue.record("an answer's rebuilding had no end but its own")
            return
        }
        let rebuilder = Rebuilder(store.rules, bytesMax: 1 << 16)
        let shown = try rebuilder.show(EntityKey("A:0"), expanding: 18) { try store.held($0) }
        guard case .tooLarge = shown else {
            Issue.record("an entity's showing had no end but its own")
            return
        }
    }

    @Test("White space that is passed over again and again counts as work")
    func whiteSpace() throws {
        let space = String(repeating: " ", count: 100_000)
        let list = Array(repeating: #"{"type":"B","id":1}"#, count: 2_000)
        let text = "[\(space)\(list.joined(separator: ","))]"
        var store = try PlainStore()
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
        try store.delete("B:1")
        guard case .tooLarge = try store.rebuild(answer, bytesMax: text.utf8.count) else {
            Issue.record("it is shown")
            return
        }
    }

    @Test("A map with many keys is shown when other entities have come to all of its places")
    func largeMap() throws {
        func text(_ first: Int) -> String {
            let members = (0..<10_000).map { #""k\#($0)":{"type":"U","id":\#(first + $0),"n":1}"# }
            return #"{"type":"A","id":1,"m":{\#(members.joined(separator: ","))}}"#
        }
        var store = try PlainStore()
        let answer = try store.put(text(0))
        _ = try store.put(text(10_000))
        #expect(try store.text(of: answer) == text(10_000))
    }

    @Test("A large entity in many slots is examined once")
    func largeEntity() throws {
        let members = (0..<10_000).map { #","m\#($0)":0"# }.joined()
        let slots = (0..<5_000).map { #"{"type":"A","id":1,"own\#($0 % 2)":1}"# }
        let text = "[\(slots.joined(separator: ","))]"
        var store = try PlainStore()
        _ = try store.put(#"{"type":"A","id":1\#(members)}"#)
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
    }

    @Test("A list that grows is united once for what comes again")
    func growingList() throws {
        let rule = TypeRule(type: "A", lists: [MemberPath(tokens: ["l"]): .append])
        var store = try PlainStore(NormalizeRules(byType: .standard, types: [rule]))
        func text(_ ids: Range<Int>) -> String {
            let list = ids.map { #"{"type":"B","id":\#($0)}"# }.joined(separator: ",")
            return #"{"type":"A","id":1,"l":[\#(list)]}"#
        }
        _ = try store.put(text(0..<5_000))
        let again = Array(repeating: text(5_000..<5_001), count: 2_000)
        _ = try store.put("[\(again.joined(separator: ","))]")
        guard case .present(let body, _) = try store.held(EntityKey("A:1")) else {
            Issue.record("it is gone")
            return
        }
        #expect(body.references.count == 5_001)
    }

    @Test("A large value is not read for each place where a late answer has another one")
    func lateAnswer() throws {
        let list = Array(repeating: "0", count: 100_000).joined(separator: ",")
        var store = try PlainStore()
        let now = #"{"type":"A","id":1,"m":[\#(list)]}"#
        let new = try store.put(now, fetch: 5)
        let late = Array(repeating: #"{"type":"A","id":1,"m":[]}"#, count: 20_000)
        let text = "[\(late.joined(separator: ","))]"
        let answer = try store.put(text, fetch: 4)
        // No slot has a text of its own, so each shows the newer value.
        #expect(answer.template.count < text.utf8.count / 2)
        #expect(try store.text(of: new) == now)
        let spaced = try store.put(#"{"type":"A","id":1,"m":[ \#(list)]}"#, fetch: 4)
        #expect(try store.text(of: spaced) == #"{"type":"A","id":1,"m":[ \#(list)]}"#)
    }

    @Test("An entity is referred to once, by each of the many lists that show it")
    func manyLists() throws {
        let members = (0..<20_000).map { #""k\#($0)":{"type":"A","id":1,"m\#($0)":0}"# }
        var store = try PlainStore()
        let answer = try store.put("{\(members.joined(separator: ","))}")
        let skeleton = try Skeleton(answer.skeleton)
        let references = try Template(answer.template, skeleton).references(skeleton)
        #expect(references.map(\.key.text) == ["A:1"])
        guard case .answer(let lists)? = references.first?.place else {
            Issue.record("the answer does not refer to it")
            return
        }
        #expect(Set(lists).count == 20_000 && lists.count == 20_000)
    }
}
