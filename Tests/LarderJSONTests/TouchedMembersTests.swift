import LarderJSON
import Testing

/// What an answer that set out before a write must not overwrite (P-06, case 8).
@Suite("What an effect touches")
struct TouchedMembersTests {
    private func members(_ names: String...) -> TouchedMembers {
        .members(Set(names.map { JSONName($0) }))
    }

    @Test("Each effect touches the root members that it names, or all (P-06)")
    func touched() throws {
        func touched(_ text: String) throws -> TouchedMembers {
            try Effect(parsing: Array(text.utf8)).touchedMembers
        }
        #expect(try touched(#"{"type":"put","value":{"a":1}}"#) == .all)
        #expect(try touched(#"{"type":"replace"}"#) == .all)
        #expect(try touched(#"{"type":"delete"}"#) == .all)
        #expect(try touched(#"{"type":"none"}"#) == .nothing)
        #expect(
            try touched(#"{"type":"merge","value":{"a":{"b":1},"c":null}}"#) == members("a", "c")
        )
        #expect(try touched(#"{"type":"merge","value":1}"#) == .all)
        #expect(
            try touched(
                #"{"type":"patch","value":[{"op":"add","path":"/a/b","value":1},"#
                    + #"{"op":"move","from":"/m/0","path":"/c~1d"},"#
                    + #"{"op":"copy","from":"/f","path":"/e"},"#
                    + #"{"op":"test","path":"/t/x","value":1}]}"#
            ) == members("a", "m", "c/d", "e", "t")
        )
        #expect(
            try touched(#"{"type":"patch","value":[{"op":"replace","path":"","value":1}]}"#) == .all
        )
        #expect(
            try touched(#"{"type":"set","value":{"set":{"/a/b":1,"/c":2},"unset":["/d/e"]}}"#)
                == members("a", "c", "d")
        )
        #expect(try touched(#"{"type":"add","value":{"/n":1,"/m/n":1}}"#) == members("n", "m"))
        #expect(try touched(#"{"type":"list_add","value":{"/t":[1]}}"#) == members("t"))
        #expect(try touched(#"{"type":"list_remove","value":{"":[1]}}"#) == .all)
    }

    @Test("Two touches together are both, and all is more than any")
    func union() {
        #expect(members("a").union(members("b", "a")) == members("a", "b"))
        #expect(members("a").union(.all) == .all)
        #expect(TouchedMembers.all.union(.nothing) == .all)
        #expect(TouchedMembers.nothing.union(.nothing) == .nothing)
        #expect(members("é") != members("e\u{301}"))
    }

    @Test("A stale answer leaves the touched members as base has them (P-06)")
    func keeping() throws {
        let answer = try json(#"{"liked":false,"title":"new","views":7,"views":8}"#)
        let base = try json(#"{"liked":true,"title":"old","draft":1.50}"#)
        #expect(
            answer.keeping(members("liked", "draft", "none"), from: base)
                == (try json(#"{"liked":true,"title":"new","views":8,"draft":1.50}"#))
        )
        #expect(
            answer.keeping(members("title", "views"), from: base)
                == (try json(#"{"liked":false,"title":"old"}"#))
        )
        #expect(answer.keeping(.nothing, from: base) == answer)
        #expect(answer.keeping(.all, from: base) == nil)
    }

    @Test("Of an answer that cannot be mixed with base nothing is used (P-06)")
    func notMixed() throws {
        let object = try json(#"{"a":1}"#)
        let list = try json("[1]")
        #expect(object.keeping(members("a"), from: list) == nil)
        #expect(list.keeping(members("0"), from: object) == nil)
        #expect(list.keeping(.nothing, from: object) == list)
    }
}
