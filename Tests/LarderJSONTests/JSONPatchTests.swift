import LarderJSON
import Testing

/// The examples of RFC 6902 and cases of the json-patch-tests suite.
///
/// https://github.com/json-patch/json-patch-tests
@Suite("A JSON patch")
struct JSONPatchTests {
    private func effect(_ patch: String) throws -> Effect {
        try Effect(parsing: Array(#"{"type":"patch","value":\#(patch)}"#.utf8))
    }

    @Test(
        "The examples of RFC 6902 give what it says",
        arguments: [
            (
                #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#,
                #"{"baz":"qux","foo":"bar"}"#
            ),
            (
                #"{"foo":["bar","baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
                #"{"foo":["bar","qux","baz"]}"#
            ),
            (#"{"baz":"qux","foo":"bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo":"bar"}"#),
            (
                #"{"foo":["bar","qux","baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#,
                #"{"foo":["bar","baz"]}"#
            ),
            (
                #"{"baz":"qux","foo":"bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
                #"{"baz":"boo","foo":"bar"}"#
            ),
            (
                #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
                #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
            ),
            (
                #"{"foo":["all","grass","cows","eat"]}"#,
                #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
                #"{"foo":["all","cows","eat","grass"]}"#
            ),
            (
                #"{"baz":"qux","foo":["a",2,"c"]}"#,
                #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
                #"{"baz":"qux","foo":["a",2,"c"]}"#
            ),
            (
                #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
                #"{"foo":"bar","child":{"grandchild":{}}}"#
            ),
            (
                #"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#,
                #"{"foo":"bar","baz":"qux"}"#
            ),
            (
                #"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#,
                #"{"/":9,"~1":10}"#
            ),
            (
                #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
                #"{"foo":["bar",["abc","def"]]}"#
            ),
        ]
    )
    func examples(document: String, patch: String, expected: String) throws {
        try expect(patch, on: document, gives: expected)
    }

    @Test(
        "Patches of the suite give what it says",
        arguments: [
            ("{}", "[]", "{}"), (#"{"foo":1}"#, "[]", #"{"foo":1}"#),
            (#"{"foo":1,"bar":2}"#, "[]", #"{"bar":2,"foo":1}"#),
            ("[]", #"[{"op":"add","path":"/0","value":"foo"}]"#, #"["foo"]"#),
            ("{}", #"[{"op":"add","path":"/foo","value":"1"}]"#, #"{"foo":"1"}"#),
            ("{}", #"[{"op":"add","path":"","value":[]}]"#, "[]"),
            ("[]", #"[{"op":"add","path":"","value":{}}]"#, "{}"),
            ("[]", #"[{"op":"add","path":"/-","value":"hi"}]"#, #"["hi"]"#),
            ("{}", #"[{"op":"add","path":"/","value":1}]"#, #"{"":1}"#),
            (#"{"foo":{}}"#, #"[{"op":"add","path":"/foo/","value":1}]"#, #"{"foo":{"":1}}"#),
            (
                #"{"foo":1}"#, #"[{"op":"add","path":"/bar","value":null}]"#,
                #"{"foo":1,"bar":null}"#
            ),
            (#"{"foo":1}"#, #"[{"op":"add","path":"/0","value":"bar"}]"#, #"{"foo":1,"0":"bar"}"#),
            (#"["foo"]"#, #"[{"op":"add","path":"/1","value":"bar"}]"#, #"["foo","bar"]"#),
            (
                #"["foo","sil"]"#, #"[{"op":"add","path":"/0","value":"bar"}]"#,
                #"["bar","foo","sil"]"#
            ),
            (
                #"[1,2,[3,[4,5]]]"#, #"[{"op":"add","path":"/2/1/-","value":{"foo":["bar"]}}]"#,
                #"[1,2,[3,[4,5,{"foo":["bar"]}]]]"#
            ),
            (#"{"1e0":"foo"}"#, #"[{"op":"test","path":"/1e0","value":"foo"}]"#, #"{"1e0":"foo"}"#),
            (
                #"{"foo":1,"baz":[{"qux":"hello"}]}"#, #"[{"op":"remove","path":"/baz/0/qux"}]"#,
                #"{"foo":1,"baz":[{}]}"#
            ),
            (
                #"{"foo":1,"baz":[{"qux":"hello"}]}"#,
                #"[{"op":"replace","path":"/foo","value":[1,2,3,4]}]"#,
                #"{"foo":[1,2,3,4],"baz":[{"qux":"hello"}]}"#
            ),
            (#"["foo"]"#, #"[{"op":"replace","path":"/0","value":"bar"}]"#, #"["bar"]"#),
            (#"["",2]"#, #"[{"op":"replace","path":"/0","value":null}]"#, "[null,2]"),
            (#"{"foo":null}"#, #"[{"op":"test","path":"/foo","value":null}]"#, #"{"foo":null}"#),
            (#"{"foo":null}"#, #"[{"op":"move","from":"/foo","path":"/bar"}]"#, #"{"bar":null}"#),
            (
                #"{"foo":null}"#, #"[{"op":"copy","from":"/foo","path":"/bar"}]"#,
                #"{"foo":null,"bar":null}"#
            ),
            (
                #"{"foo":{"foo":1,"bar":2}}"#,
                #"[{"op":"test","path":"/foo","value":{"bar":2,"foo":1}}]"#,
                #"{"foo":{"foo":1,"bar":2}}"#
            ),
            (#"{"":1}"#, #"[{"op":"test","path":"/","value":1}]"#, #"{"":1}"#),
            (
                #"{"foo":"bar"}"#, #"[{"op":"replace","path":"","value":{"baz":"qux"}}]"#,
                #"{"baz":"qux"}"#
            ),
            (#"{"foo":1}"#, #"[{"op":"move","from":"/foo","path":"/foo"}]"#, #"{"foo":1}"#),
            (
                #"{"baz":[{"qux":"hello"}],"bar":1}"#,
                #"[{"op":"move","from":"/baz/0/qux","path":"/baz/1"}]"#,
                #"{"baz":[{},"hello"],"bar":1}"#
            ),
            (
                #"{"baz":[{"qux":"hello"}],"bar":1}"#,
                #"[{"op":"copy","from":"/baz/0","path":"/boo"}]"#,
                #"{"baz":[{"qux":"hello"}],"bar":1,"boo":{"qux":"hello"}}"#
            ),
            (#"{"a":{"b":1}}"#, #"[{"op":"move","from":"/a/b","path":"/a"}]"#, #"{"a":1}"#),
            (#"[1,2,3,4]"#, #"[{"op":"remove","path":"/0"},{"op":"remove","path":"/2"}]"#, "[2,3]"),
            (
                #"{"foo":"bar"}"#, #"[{"op":"test","path":"","value":{"foo":"bar"}}]"#,
                #"{"foo":"bar"}"#
            ),
            (
                #"{"n":1}"#,
                #"[{"op":"test","path":"/n","value":1.0},{"op":"add","path":"/m","value":1}]"#,
                #"{"n":1,"m":1}"#
            ),
            (#"{"a":1,"a":2}"#, #"[{"op":"remove","path":"/a"}]"#, "{}"),
            ("{\"a\":1,\"a\":2}", #"[{"op":"replace","path":"/a","value":3}]"#, #"{"a":3}"#),
        ]
    )
    func suite(document: String, patch: String, expected: String) throws {
        try expect(patch, on: document, gives: expected)
    }

    private func expect(_ patch: String, on document: String, gives expected: String) throws {
        let document = try json(document)
        let expected = try json(expected)
        switch try effect(patch).applied(to: .json(document)) {
        case .json(let value, let isComplete):
            #expect(value.isSame(as: expected), "\(value.text)")
            #expect(!value.isSame(as: document) && isComplete)
        case .unchanged: #expect(document.isSame(as: expected))
        case let outcome: Issue.record("\(outcome)")
        }
    }

    @Test(
        "A patch that does not fit is left out whole",
        arguments: [
            (#"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#, .missing),
            (#"{"baz":"qux"}"#, #"[{"op":"test","path":"/baz","value":"bar"}]"#, .testFailed),
            (#"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":"10"}]"#, .testFailed),
            (#"{"bar":[1,2]}"#, #"[{"op":"add","path":"/bar/8","value":"5"}]"#, .missing),
            (#"{"bar":[1,2]}"#, #"[{"op":"add","path":"/bar/-1","value":"5"}]"#, .notAnIndex("-1")),
            (#"["foo","sil"]"#, #"[{"op":"add","path":"/bar","value":42}]"#, .notAnIndex("bar")),
            (#"["foo","bar"]"#, #"[{"op":"test","path":"/00","value":"foo"}]"#, .missing),
            (#"["foo","bar"]"#, #"[{"op":"test","path":"/1e0","value":"bar"}]"#, .missing),
            (#"["foo","sil"]"#, #"[{"op":"add","path":"/3","value":"bar"}]"#, .missing),
            (#"{"foo":1}"#, #"[{"op":"remove","path":"/baz"}]"#, .missing),
            (#"{"foo":[]}"#, #"[{"op":"remove","path":"/foo/-"}]"#, .missing),
            (#"{"foo":1}"#, #"[{"op":"remove","path":""}]"#, .notRemovable),
            (#"{"foo":1}"#, #"[{"op":"replace","path":"/bar","value":1}]"#, .missing),
            (#"{"foo":"bar"}"#, #"[{"op":"replace","path":"/foo/bar","value":false}]"#, .missing),
            (#"{"foo":1}"#, #"[{"op":"copy","from":"/bar","path":"/foo"}]"#, .missing),
            (#"{"foo":1}"#, #"[{"op":"move","from":"/bar","path":"/foo"}]"#, .missing),
            (#"{"foo":1}"#, #"[{"op":"move","from":"/bar","path":"/bar"}]"#, .missing),
            ("{}", #"[{"op":"test","path":"/foo","value":null}]"#, .missing),
            (#"{"foo":{"foo":1}}"#, #"[{"op":"test","path":"/foo","value":[]}]"#, .testFailed),
            (#"{"foo":null}"#, #"[{"op":"test","path":"/foo","value":0}]"#, .testFailed),
        ] as [(String, String, Inapplicability.Cause)]
    )
    func inapplicable(document: String, patch: String, cause: Inapplicability.Cause) throws {
        let outcome = try effect(patch).applied(to: .json(json(document)))
        guard case .inapplicable(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.cause == cause)
        #expect(reason.operation == 0)
    }

    @Test("A test that fails at the end undoes what came before it, and is named")
    func allOrNothing() throws {
        let patch = try effect(
            #"[{"op":"replace","path":"/a","value":2},{"op":"test","path":"/b","value":1}]"#
        )
        let base = try json(#"{"a":1,"b":2}"#)
        let reason = Inapplicability(.testFailed, at: try JSONPointer("/b"), operation: 1)
        #expect(patch.applied(to: .json(base)) == .inapplicable(reason))
        #expect(View.of(.json(base), [patch]).content == .base)
        #expect(
            reason.message == "operation 1: the value at '/b' is not the one that is tested for"
        )
    }

    @Test("To put something where a scalar is around it is said to be impossible")
    func scalarParent() throws {
        let outcome = try effect(#"[{"op":"add","path":"/a/b","value":1}]"#)
            .applied(to: .json(json(#"{"a":"text"}"#)))
        guard case .inapplicable(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(
            reason.message
                == "operation 0: there is a string at '/a/b', an object or an array around it is needed"
        )
    }

    @Test(
        "A value that is not a patch is refused with the place",
        arguments: [
            ("{}", "/value"), ("[1]", "/value/0"), (#"[{"path":"/a"}]"#, "/value/0/op"),
            (#"[{"op":"spam","path":"/a"}]"#, "/value/0/op"),
            (#"[{"op":"remove"}]"#, "/value/0/path"),
            (#"[{"op":"remove","path":null}]"#, "/value/0/path"),
            (#"[{"op":"remove","path":"a"}]"#, "/value/0/path"),
            (#"[{"op":"add","path":"/a"}]"#, "/value/0/value"),
            (#"[{"op":"replace","path":"/a"}]"#, "/value/0/value"),
            (#"[{"op":"test","path":"/a"}]"#, "/value/0/value"),
            (#"[{"op":"copy","path":"/a"}]"#, "/value/0/from"),
            (#"[{"op":"move","path":"/a"}]"#, "/value/0/from"),
            (#"[{"op":"move","from":"/a","path":"/a/b"}]"#, "/value/0"),
            (#"[{"op":"move","from":"","path":"/a"}]"#, "/value/0"),
            (
                #"[{"op":"remove","path":"/b"},{"op":"add","path":"/baz","value":"q","op":"remove"}]"#,
                "/value/1/op"
            ),
        ]
    )
    func malformed(patch: String, place: String) throws {
        do throws(EffectError) {
            _ = try Effect(parsing: Array(#"{"type":"patch","value":\#(patch)}"#.utf8))
            Issue.record("taken")
        } catch {
            guard case .malformed(let pointer, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(pointer.text == place)
        }
    }
}
