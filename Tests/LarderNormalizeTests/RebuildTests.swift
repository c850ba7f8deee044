import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("Rebuilding from entities that have changed")
struct RebuildTests {
    @Test("An entity's change in one answer shows in every other, in its own layout (rule 20)")
    func sharing() throws {
        var store = try PlainStore()
        let feed = try store.put(
            #"[ {"by": {"name": "N", "type":"U","id":7}, "type":"A","id":1}, {"type":"U","id":7} ]"#
        )
        _ = try store.put(#"{"id":7,"type":"U","name":"M","age":1}"#)
        #expect(
            try store.text(of: feed)
                == #"[ {"by": {"name": "M", "type":"U","id":7}, "type":"A","id":1}, {"type":"U","id":7} ]"#
        )
    }

    @Test("A slot shows the members of its list, not those that other answers brought (rule 8)")
    func selection() throws {
        var store = try PlainStore()
        _ = try store.put(#"{"type":"A","id":2,"sub":"kept","other":0}"#)
        let text = #"[{"type":"A","id":1,"sub":"s"},{"type":"A","id":2}]"#
        let feed = try store.put(text)
        // A:2 had a subtitle before; this answer did not show it (P-11).
        #expect(try store.text(of: feed) == text)
        _ = try store.put(#"{"type":"A","id":2,"other":1}"#)
        #expect(try store.text(of: feed) == text)
        _ = try store.put(#"{"type":"A","id":2,"sub":"new"}"#)
        #expect(
            try store.text(of: feed)
                == #"[{"type":"A","id":1,"sub":"s"},{"type":"A","id":2,"sub":"new"}]"#
        )
    }

    @Test("A slot's own bytes count until the entity's value is another (P-11)")
    func ownBytes() throws {
        var store = try PlainStore()
        _ = try store.put(#"{"type":"A","id":1,"n":1.0,"k":[1, 2]}"#)
        let text = #"{"type":"A","id":1,"n":1,"k":[1,2]}"#
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"n":1.0,"k":[1, 2]}"#)
        _ = try store.put(#"{"type":"A","id":1,"n":2.0}"#)
        #expect(try store.text(of: answer) == #"{"type":"A","id":1,"n":2.0,"k":[1,2]}"#)
        _ = try store.put(#"{"type":"A","id":1,"k":[]}"#)
        #expect(try store.text(of: answer) == #"{"type":"A","id":1,"n":2.0,"k":[]}"#)
    }

    @Test("A new entity in a place shows the members of its type's list, else of all (rule 8)")
    func newcomers() throws {
        var store = try PlainStore()
        let text = #"""
            [{"type":"A","id":1,"by":{"type":"U","id":1,"name":"N","in":{"type":"C","id":1,"t":"x"}}},
             {"type":"A","id":2,"by":{"type":"O","id":1,"title":"T"}}]
            """#
        let feed = try store.put(text)
        _ = try store.put(
            #"{"type":"U","id":2,"name":"M","age":1,"in":{"type":"C","id":2,"t":"y","z":0}}"#
        )
        _ = try store.put(#"{"type":"X","id":1,"name":"K","z":0}"#)
        let rest = #"{"type":"A","id":2,"by":{"type":"O","id":1,"title":"T"}}]"#
        // Another of the same type, with its own child by the lists there.
        _ = try store.put(#"{"type":"A","id":1,"by":{"type":"U","id":2}}"#)
        #expect(
            try store.text(of: feed)
                == #"[{"type":"A","id":1,"by":{"type":"U","id":2,"name":"M","in":{"type":"C","id":2,"t":"y"}}},"#
                + "\n " + rest
        )
        #expect(try store.shown(feed).isComplete)
        // The one of the other slot, by its type's list.
        _ = try store.put(#"{"type":"A","id":1,"by":{"type":"O","id":1}}"#)
        #expect(
            try store.text(of: feed)
                == #"[{"type":"A","id":1,"by":{"type":"O","id":1,"title":"T"}},"# + "\n " + rest
        )
        // One of a type that was not seen there: all lists, and what it has not is missing.
        _ = try store.put(#"{"type":"A","id":1,"by":{"type":"X","id":1}}"#)
        let shown = try store.shown(feed)
        #expect(
            String(decoding: shown.bytes, as: UTF8.self)
                == #"[{"type":"A","id":1,"by":{"type":"X","id":1,"name":"K"}},"# + "\n " + rest
        )
        #expect(!shown.isComplete)
        #expect(shown.missing.map(\.text) == ["/0/by/in", "/0/by/title"])
        // Back again: its own slot, with its own layout.
        _ = try store.put(#"{"type":"A","id":1,"by":{"type":"U","id":1}}"#)
        #expect(try store.text(of: feed) == text)
    }

    @Test("An entity in a place that had none is missing, and the answer incomplete")
    func unknownPlace() throws {
        var store = try PlainStore()
        let answer = try store.put(#"{"type":"A","id":1,"by":null,"l":[]}"#)
        _ = try store.put(
            #"{"type":"A","id":1,"by":{"type":"U","id":1},"l":[{"type":"U","id":1}]}"#
        )
        let shown = try store.shown(answer)
        #expect(
            String(decoding: shown.bytes, as: UTF8.self) == #"{"type":"A","id":1,"by":{},"l":[{}]}"#
        )
        #expect(shown.missing.map(\.text) == ["/by", "/l/0"])
    }

    @Test("Entities within embedded values are found by their place there")
    func embeddedPlaces() throws {
        var store = try PlainStore()
        let text = #"{"type":"A","id":1,"e":{"l":[{"node":{"type":"U","id":1,"n":1}},{"x":1}]}}"#
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
        _ = try store.put(
            #"{"type":"A","id":1,"e":{"l":[{"node":{"type":"U","id":2,"n":2,"m":3}},{"node":{"type":"U","id":1}}]}}"#
        )
        #expect(
            try store.text(of: answer)
                == #"{"type":"A","id":1,"e":{"l":[{"node":{"type":"U","id":2,"n":2}},{"node":{"type":"U","id":1,"n":1}}]}}"#
        )
    }

    @Test("Entities that refer to each other are shown as deep as in the answer (rule 8)")
    func cycles() throws {
        var store = try PlainStore()
        let text =
            #"{"type":"U","id":1,"best":{"type":"U","id":2,"best":{"type":"U","id":1,"n":1}}}"#
        let answer = try store.put(text)
        // The inner one began later and says nothing of a best friend: 1 -> 2 -> 1.
        #expect(try store.text(of: answer) == text)
        _ = try store.put(#"{"type":"U","id":1,"best":{"type":"U","id":1}}"#)
        #expect(
            try store.text(of: answer)
                == #"{"type":"U","id":1,"best":{"type":"U","id":1,"best":{"type":"U","id":1,"n":1}}}"#
        )
        #expect(try store.entity("U:1", expanding: 2).count < 200)
    }

    @Test(
        "A deleted child leaves a list, with its comma (rule 16)",
        arguments: [
            (
                #"[{"type":"B","id":1},{"type":"B","id":2},{"type":"B","id":3}]"#, "B:1",
                #"[{"type":"B","id":2},{"type":"B","id":3}]"#
            ),
            (
                #"[{"type":"B","id":1},{"type":"B","id":2},{"type":"B","id":3}]"#, "B:2",
                #"[{"type":"B","id":1},{"type":"B","id":3}]"#
            ),
            (
                #"[{"type":"B","id":1},{"type":"B","id":2},{"type":"B","id":3}]"#, "B:3",
                #"[{"type":"B","id":1},{"type":"B","id":2}]"#
            ),
            (#"[ {"type":"B","id":1} , 5 , {"type":"B","id":1} ]"#, "B:1", "[ 5  ]"),
            (#"[ {"type":"B","id":1} ]"#, "B:1", "[  ]"),
            (#"[[{"type":"B","id":1},{"type":"B","id":1}],1]"#, "B:1", "[[],1]"),
            (
                #"{"type":"A","id":1,"l":[{"type":"B","id":1}, {"type":"B","id":2}]}"#, "B:1",
                #"{"type":"A","id":1,"l":[{"type":"B","id":2}]}"#
            ),
            (
                #"{"type":"A","id":1,"b":{"type":"B","id":1},"c":1}"#, "B:1",
                #"{"type":"A","id":1,"b":null,"c":1}"#
            ),
            (#"{"x":[{"b":{"type":"B","id":1}}]}"#, "B:1", #"{"x":[{"b":null}]}"#),
        ]
    )
    func deleted(text: String, key: String, expected: String) throws {
        var store = try PlainStore()
        let answer = try store.put(text)
        try store.delete(key)
        #expect(try store.text(of: answer) == expected)
        #expect(try store.shown(answer).isComplete)
    }

    @Test(
        "A rule for a deleted child removes its member, or its parent (rule 16)",
        arguments: [
            (#"{"o":{"type":"Omit","id":1},"x":1}"#, #"{"x":1}"#),
            (#"{"x":1 , "o" : {"type":"Omit","id":1}}"#, #"{"x":1 }"#),
            (#"{ "o":{"type":"Omit","id":1} , "p":{"type":"Omit","id":1} }"#, "{  }"),
            (#"{"a\"\\":{"type":"Omit","id":1},"\\":{"type":"Omit","id":1},"z":2}"#, #"{"z":2}"#),
            (
                #"{"type":"A","id":1,"o":{"type":"Omit","id":1},"x":1}"#,
                #"{"type":"A","id":1,"x":1}"#
            ),
            (#"{"o":{"type":"Omit","id":1},"type":"A","id":1}"#, #"{"type":"A","id":1}"#),
            (#"[{"type":"A","id":1,"c":{"type":"Fall","id":1}},2]"#, "[2]"),
            (
                #"{"a":{"type":"A","id":1,"e":{"c":{"type":"Fall","id":1}}},"b":2}"#,
                #"{"a":null,"b":2}"#
            ),
            (#"[1,{"type":"Fall","id":2,"c":{"type":"Fall","id":1}}]"#, "[1]"),
            (
                #"{"type":"A","id":1,"l":[{"type":"Fall","id":1},3]}"#,
                #"{"type":"A","id":1,"l":[3]}"#
            ),
            (#"{"e":{"c":{"type":"Fall","id":1}}}"#, nil),
            (#"{"type":"A","id":1,"c":{"type":"Fall","id":1}}"#, nil),
            (#"{"type":"Fall","id":1}"#, nil),
        ] as [(String, String?)]
    )
    func deletionRules(text: String, expected: String?) throws {
        var store = try PlainStore(
            NormalizeRules(
                byType: .standard,
                types: [
                    TypeRule(type: "Omit", onDeleted: .omit),
                    TypeRule(type: "Fall", onDeleted: .cascade),
                ]
            )
        )
        let answer = try store.put(text)
        #expect(try store.text(of: answer) == text)
        try store.delete("Omit:1")
        try store.delete("Fall:1")
        guard let expected else {
            guard case .deleted = try store.rebuild(answer) else {
                Issue.record("it is not deleted")
                return
            }
            return
        }
        #expect(try store.text(of: answer) == expected)
    }

    @Test("An entity with all of its members does not name deleted ones either (rule 16)")
    func deletedNames() throws {
        var store = try PlainStore(
            NormalizeRules(
                byType: .standard,
                types: [
                    TypeRule(type: "Omit", onDeleted: .omit),
                    TypeRule(type: "Fall", onDeleted: .cascade),
                ]
            )
        )
        let first = #"{"type":"A","id":1,"l":[{"type":"B","id":1},{"type":"B","id":2}]"#
        _ = try store.put(first + #","b":{"type":"B","id":1},"o":{"type":"Omit","id":1}}"#)
        _ = try store.put(#"{"type":"A","id":2,"c":{"type":"Fall","id":1}}"#)
        for key in ["B:1", "Omit:1"] { try store.delete(key) }
        try store.evict("B:2")
        #expect(try store.entity("A:1") == #"{"type":"A","id":1,"l":["B:2"],"b":null}"#)
        #expect(try store.entity("A:2") == #"{"type":"A","id":2,"c":"Fall:1"}"#)
        try store.delete("Fall:1")
        let rebuilder = Rebuilder(store.rules, bytesMax: 1 << 10)
        guard case .deleted = try rebuilder.show(EntityKey("A:2"), { try store.held($0) }) else {
            Issue.record("what counts as deleted is shown")
            return
        }
    }

    @Test("An evicted child is a miss, or null with its pointer in a partial answer (P-10)")
    func evicted() throws {
        var store = try PlainStore()
        let text =
            #"{"l":[{"type":"B","id":1},{"type":"B","id":2,"c":{"type":"C","id":1}}],"b":{"type":"B","id":1}}"#
        let answer = try store.put(text)
        try store.evict("B:1")
        guard case .evicted(let key) = try store.rebuild(answer) else {
            Issue.record("it is no miss")
            return
        }
        #expect(key.text == "B:1")
        let shown = try store.shown(answer, isPartial: true)
        #expect(
            String(decoding: shown.bytes, as: UTF8.self)
                == #"{"l":[null,{"type":"B","id":2,"c":{"type":"C","id":1}}],"b":null}"#
        )
        #expect(shown.missing.map(\.text) == ["/l/0", "/b"])
        #expect(shown.used.map(\.text) == ["B:1", "B:2", "C:1"])
        try store.evict("C:1")
        #expect(
            try store.shown(answer, isPartial: true).missing.map(\.text) == [
                "/l/0", "/l/1/c", "/b",
            ]
        )
        let root = try store.put(#"{"type":"B","id":9}"#)
        try store.evict("B:9")
        guard case .evicted = try store.rebuild(root, isPartial: true) else {
            Issue.record("nothing of it is there to be shown")
            return
        }
    }

    @Test("A listed member that is not known any more makes the answer incomplete")
    func missingMembers() throws {
        var store = try PlainStore()
        let answer = try store.put(
            #"[{"type":"A","id":1,"a":1,"b":2},{"x":{"b":1,"id":2,"type":"A"}}]"#
        )
        for id in 1...2 {
            try store.evict("A:\(id)")
            _ = try store.put(#"{"type":"A","id":\#(id),"a":3}"#)
        }
        let shown = try store.shown(answer)
        #expect(
            String(decoding: shown.bytes, as: UTF8.self)
                == #"[{"type":"A","id":1,"a":3},{"x":{"id":2,"type":"A"}}]"#
        )
        #expect(shown.missing.map(\.text) == ["/0/b", "/1/x/b"])
    }

    @Test("A slot's own bytes count also after a member that is not known any more")
    func ownBytesBehindMissing() throws {
        var store = try PlainStore()
        let twice = #"[{"type":"A","id":1,"a":1,"b":1},{"type":"A","id":1,"a":2,"b":2}]"#
        let answer = try store.put(twice)
        try store.evict("A:1")
        _ = try store.put(#"{"type":"A","id":1,"b":2}"#)
        let shown = try store.shown(answer)
        #expect(
            String(decoding: shown.bytes, as: UTF8.self)
                == #"[{"type":"A","id":1,"b":1},{"type":"A","id":1,"b":2}]"#
        )
        #expect(shown.missing.map(\.text) == ["/0/a", "/1/a"])
    }
}
