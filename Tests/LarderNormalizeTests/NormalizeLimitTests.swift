import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("An answer over a limit stays whole, and names the reason (rule 18)")
struct NormalizeLimitTests {
    private let splitter = Splitter(EntityRules(NormalizeRules(byType: .standard)))

    private func reason(_ text: String) -> WholeReason? {
        switch splitter.split(Array(text.utf8), path: "/") {
        case .whole(let reason, _): reason
        case .split: nil
        }
    }

    private func nested(_ depth: Int, in text: String) -> String {
        String(repeating: "[", count: depth) + text + String(repeating: "]", count: depth)
    }

    @Test("Nesting is taken up to 512")
    func depth() throws {
        var store = try PlainStore()
        let deepest = nested(Limits.jsonDepthMax - 1, in: #"{"type":"A","id":1}"#)
        let bare = try store.put(deepest)
        #expect(try store.text(of: bare) == deepest)
        let inner = nested(Limits.jsonDepthMax - 2, in: #"{"type":"B","id":1}"#)
        let held = #"{"type":"A","id":1,"l":\#(inner)}"#
        let answer = try store.put(held)
        #expect(try store.text(of: answer) == held)
        #expect(reason(nested(1, in: deepest)) == .tooDeep)
    }

    @Test("An answer that its entities have made deeper than 512 is not rebuilt")
    func rebuiltDepth() throws {
        var store = try PlainStore()
        // Around the entity stand 99 lists and an object, so its lists may be 412.
        let first = #"{"type":"A","id":1,"l":0,"b":{"type":"B","id":1}}"#
        let answer = try store.put(nested(99, in: first))
        func held(_ depth: Int, _ key: String = "A") -> String {
            #"{"type":"\#(key)","id":1,"l":\#(nested(depth, in: ""))}"#
        }
        let whole = nested(99, in: held(412).replacing("}", with: #","b":{"type":"B","id":1}}"#))
        _ = try store.put(held(412))
        #expect(try store.text(of: answer) == whole)
        // What is deep beside what is deep is no deeper.
        let both = try store.put(nested(99, in: held(412) + "," + held(412, "B")))
        #expect(try store.shown(both).isComplete)
        _ = try store.put(held(413))
        for answer in [answer, both] {
            guard case .tooLarge = try store.rebuild(answer) else {
                Issue.record("it is rebuilt")
                return
            }
        }
        #expect(try store.entity("A:1", expanding: 1).utf8.count > 800)
    }

    @Test("Entities within each other are taken up to 128")
    func entityDepth() throws {
        func chain(_ count: Int) -> String {
            (0..<count).reduce("null") { inner, id in
                #"{"type":"A","id":\#(id),"next":\#(inner)}"#
            }
        }
        var store = try PlainStore()
        let deepest = chain(Limits.entityDepthMax)
        let answer = try store.put(deepest)
        #expect(try store.text(of: answer) == deepest)
        #expect(reason(chain(Limits.entityDepthMax + 1)) == .entitiesTooDeep)
        // A chain that closes is shown as deep as the answer was.
        _ = try store.put(
            #"{"type":"A","id":0,"next":{"type":"A","id":\#(Limits.entityDepthMax - 1)}}"#
        )
        guard case .shown(let shown) = try store.rebuild(answer) else {
            Issue.record("it is not shown")
            return
        }
        #expect(shown.missing == [JSONPointer(tokens: Array(repeating: "next", count: 128))])
    }

    @Test("Values are taken up to 200,000")
    func values() throws {
        // The list, the entity and what it holds are three of them.
        let scalars = Array(repeating: "0", count: Limits.normalizedValuesMax - 4)
        let text = #"[{"type":"A","id":1},\#(scalars.joined(separator: ","))]"#
        var store = try PlainStore()
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
        #expect(reason("[0," + text.dropFirst()) == .tooManyValues)
    }

    @Test("An entity of many members is merged and rebuilt in any order")
    func manyMembers() throws {
        let names = (0..<4_000).map { "m\($0)" }
        func text(_ names: [String]) -> String {
            #"{"type":"A","id":1,"#
                + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        }
        var store = try PlainStore()
        let first = try store.put(text(names))
        let second = try store.put(text(names.reversed()))
        #expect(store.changes.values.first == .nothing)
        #expect(try store.text(of: first) == text(names))
        #expect(try store.text(of: second) == text(names.reversed()))
    }

    @Test("Many entities with members of their own are split and rebuilt in one go")
    func manyLists() throws {
        let text =
            "["
            + (0..<2_000).map { #"{"type":"A","id":\#($0),"own\#($0)":1}"# }
            .joined(separator: ",") + "]"
        var store = try PlainStore()
        _ = try store.put(
            "["
                + (0..<2_000).map { #"{"type":"A","id":\#($0),"x":1}"# }
                .joined(separator: ",") + "]"
        )
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
    }

    @Test("An answer over the largest size stays whole, and is not rebuilt larger")
    func size() throws {
        let text = #"{"type":"A","id":1,"l":[]}"#
        let rules = EntityRules(NormalizeRules(byType: .standard))
        let small = Splitter(rules, bodyBytesMax: text.utf8.count - 1)
        guard case .whole(.tooLarge, _) = small.split(Array(text.utf8), path: "/") else {
            Issue.record("it was split")
            return
        }
        var store = try PlainStore()
        let answer = try store.put(text)
        _ = try store.put(#"{"type":"A","id":1,"l":[1,2,3]}"#)
        let outcome = try store.rebuild(answer, bytesMax: text.utf8.count)
        guard case .tooLarge = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test("Entities that refer to each other in ever longer lists end at the largest size")
    func growth() throws {
        let rule = TypeRule(type: "A", lists: [MemberPath(tokens: ["l"]): .append])
        var store = try PlainStore(NormalizeRules(byType: .standard, types: [rule]))
        // Six levels of a list that by now has twenty elements, each of which has it again.
        let levels = (0..<6).reduce(#"{"type":"A","id":0}"#) { inner, _ in
            #"{"type":"A","id":0,"l":[\#(inner)]}"#
        }
        let answer = try store.put(levels)
        let all = (0..<20).map { #"{"type":"A","id":\#($0)}"# }.joined(separator: ",")
        for id in 0..<20 { _ = try store.put(#"{"type":"A","id":\#(id),"l":[\#(all)]}"#) }
        let outcome = try store.rebuild(answer, bytesMax: 1 << 16)
        guard case .tooLarge = outcome else {
            Issue.record("it has an end")
            return
        }
    }

    @Test("An answer that is not JSON stays whole with its fault")
    func notJSON() {
        #expect(reason("") == .notJSON(.unexpectedEnd(at: 0)))
        #expect(reason("<html>") == .notJSON(.unexpectedByte(UInt8(ascii: "<"), at: 0)))
        #expect(reason(#"{"type":"A","id":1"#) == .notJSON(.unexpectedEnd(at: 18)))
        #expect(reason("[]") == .noEntity)
        for reason: WholeReason in [
            .notJSON(.trailingBytes(at: 1)), .noEntity, .tooLarge, .tooDeep, .tooManyValues,
            .entitiesTooDeep, .templateTooLarge,
        ] {
            #expect(!reason.message.isEmpty)
        }
    }

    @Test("Pointers to what is missing are told up to a limit")
    func missingPointers() throws {
        var store = try PlainStore()
        let list = (0..<Limits.missingPointersMax + 5).map { #"{"type":"A","id":\#($0)}"# }
        let answer = try store.put("[" + list.joined(separator: ",") + "]")
        for id in 0..<Limits.missingPointersMax + 5 { try store.evict("A:\(id)") }
        let shown = try store.shown(answer, isPartial: true)
        #expect(shown.missing.count == Limits.missingPointersMax)
        #expect(shown.missing.last?.text == "/\(Limits.missingPointersMax - 1)")
    }
}
