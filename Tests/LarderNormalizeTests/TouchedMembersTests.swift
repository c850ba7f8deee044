import LarderJSON
import LarderModel
import Testing

@testable import LarderNormalize

@Suite("The members that writes touch (case 8)")
struct TouchedMembersTests {
    private static func members(_ names: String...) -> TouchedMembers {
        .members(Set(names.map { JSONName($0) }))
    }

    @Test(
        "An effect touches the first member of each path, or all",
        arguments: [
            (#"{"type":"none"}"#, .none),
            (#"{"type":"put","value":{"a":1}}"#, .all),
            (#"{"type":"delete"}"#, .all),
            (#"{"type":"merge","value":{"a":{"b":1},"c":null}}"#, members("a", "c")),
            (#"{"type":"merge","value":{}}"#, .none),
            (#"{"type":"merge","value":[1]}"#, .all),
            (#"{"type":"set","value":{"set":{"/a/b":1},"unset":["/c"]}}"#, members("a", "c")),
            (#"{"type":"set","value":{"set":{"":{}}}}"#, .all),
            (
                #"{"type":"patch","value":[{"op":"add","path":"/a/0","value":1},"#
                    + #"{"op":"move","from":"/b/c","path":"/d"}]}"#, members("a", "b", "d")
            ),
            (#"{"type":"add","value":{"/a/n":1}}"#, members("a")),
            (#"{"type":"list_add","value":{"/items":[1]}}"#, members("items")),
            (#"{"type":"list_remove","value":{"":[1]}}"#, .all),
            ("?", .all),
        ] as [(String, TouchedMembers)]
    )
    func effects(effect: String, touched: TouchedMembers) {
        #expect(TouchedMembers(stored: Array(effect.utf8)) == touched)
    }

    @Test(
        "A mix has the touched members of base and the others of the answer",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"a":0,"c":3}"#, #"{"a":0,"b":2}"#),
            (#"{"b":2,"a":1}"#, #"{}"#, #"{"b":2}"#),
            (#"{"b":1e0}"#, #"{"a":1,"a":2,"b":0}"#, #"{"b":1e0,"a":2}"#),
            (#"{"a":1}"#, #"{"a":0,"b":1}"#, nil),
            (#"{}"#, #"{"a":0}"#, nil),
            ("[1]", #"{"a":0}"#, nil),
            (#"{"b":1}"#, "[1]", nil),
            ("<p>", #"{"a":0}"#, nil),
        ]
    )
    func mix(answer: String, base: String, mix: String?) {
        let mixed = Self.members("a").mix(Array(answer.utf8), into: Array(base.utf8))
        #expect(mixed.map { String(decoding: $0, as: UTF8.self) } == mix)
    }

    @Test("A template shows kept members as the entity has them, also those that it did not have")
    func kept() throws {
        let rest = #"{"type":"A","id":2,"x":1,"y":1,"z":1}"#
        var store = try PlainStore()
        _ = try store.put(#"[{"type":"A","id":1,"x":0,"y":0},\#(rest)]"#)
        let late = #"[{"type":"A","id":1,"x":5,"z":5},\#(rest)]"#
        let kept = try store.put(late, keeping: ["A:1": Self.members("x", "y")])
        #expect(
            try store.text(of: kept) == #"[{"type":"A","id":1,"x":0,"z":5,"y":0},\#(rest)]"#
        )
        #expect(store.changes[try EntityKey("A:1")] == .members(["z"]))
        _ = try store.put(late, keeping: ["A:1": .all])
        #expect(store.changes[try EntityKey("A:1")] == .nothing)
    }
}
