import LarderJSON
import Testing

/// The table of effects: each on a value, told by texts.
@Suite("An effect")
struct EffectTests {
    private func effect(_ text: String) throws -> Effect {
        try Effect(parsing: Array(text.utf8))
    }

    /// What a text becomes: a text, `unchanged`, or the cause why not.
    private func outcome(_ type: String, _ value: String, on base: String) throws -> String {
        told(
            try effect(#"{"type":"\#(type)","value":\#(value)}"#).applied(to: .json(json(base)))
        )
    }

    @Test(
        "Set makes missing parents and takes scalars out of the way",
        arguments: [
            ("{}", #"{"set":{"/a/b/c":1}}"#, #"{"a":{"b":{"c":1}}}"#),
            (#"{"a":5}"#, #"{"set":{"/a/b":1}}"#, #"{"a":{"b":1}}"#),
            (#"{"a":null}"#, #"{"set":{"/a/b":1}}"#, #"{"a":{"b":1}}"#),
            (#"{"a":"x","k":1}"#, #"{"set":{"/a/b/c":null}}"#, #"{"a":{"b":{"c":null}},"k":1}"#),
            ("5", #"{"set":{"/a":1}}"#, #"{"a":1}"#), ("5", #"{"set":{"":{"a":2}}}"#, #"{"a":2}"#),
            (#"{"l":[1,2]}"#, #"{"set":{"/l/1":3}}"#, #"{"l":[1,3]}"#),
            (#"{"l":[1,2]}"#, #"{"set":{"/l/2":3}}"#, #"{"l":[1,2,3]}"#),
            (#"{"l":[{"n":1}]}"#, #"{"set":{"/l/0/n":2}}"#, #"{"l":[{"n":2}]}"#),
            (#"{"l":[]}"#, #"{"set":{"/l/0/n":2}}"#, #"{"l":[{"n":2}]}"#),
            ("{}", #"{"set":{"/l/0":1}}"#, #"{"l":{"0":1}}"#),
            ("{}", #"{"set":{"/-":1}}"#, #"{"-":1}"#),
            (#"{"l":[]}"#, #"{"set":{"/l/1":3}}"#, "missing"),
            (#"{"l":[]}"#, #"{"set":{"/l/-":3}}"#, #"notAnIndex("-")"#),
            (#"{"l":[]}"#, #"{"set":{"/l/name":3}}"#, #"notAnIndex("name")"#),
            (#"{"a":1.0}"#, #"{"set":{"/a":1}}"#, "unchanged"), ("{}", "{}", "unchanged"),
            (#"{"a":1,"a":2,"b":3}"#, #"{"set":{"/a":4}}"#, #"{"a":1,"a":4,"b":3}"#),
        ]
    )
    func set(base: String, value: String, expected: String) throws {
        #expect(try outcome("set", value, on: base) == expected)
    }

    @Test(
        "Unset removes what is there and does nothing below what is not",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"unset":["/a"]}"#, #"{"b":2}"#),
            (#"{"a":{"b":1}}"#, #"{"unset":["/a/b"]}"#, #"{"a":{}}"#),
            (#"{"a":5}"#, #"{"unset":["/a/b"]}"#, "unchanged"),
            (#"{"a":5}"#, #"{"unset":["/b/c/d"]}"#, "unchanged"),
            ("5", #"{"unset":["/a"]}"#, "unchanged"),
            (#"{"a":1,"a":2}"#, #"{"unset":["/a"]}"#, "{}"),
            (#"{"l":[{"n":1}]}"#, #"{"unset":["/l/0/n"]}"#, #"{"l":[{}]}"#),
            (#"{"l":[1]}"#, #"{"unset":["/l/1"]}"#, "unchanged"),
            (#"{"l":[1]}"#, #"{"unset":["/l/0"]}"#, "notRemovable"),
            (#"{"a":{"x":1}}"#, #"{"unset":["/a"],"set":{"/a/y":2}}"#, #"{"a":{"y":2}}"#),
            (#"{"a":{"x":1}}"#, #"{"set":{"/a/y":2},"unset":["/a"]}"#, #"{"a":{"y":2}}"#),
        ]
    )
    func unset(base: String, value: String, expected: String) throws {
        #expect(try outcome("set", value, on: base) == expected)
    }

    @Test(
        "Add is exact, and leaves out what is no number",
        arguments: [
            (#"{"n":41}"#, #"{"/n":1}"#, #"{"n":42}"#),
            (#"{"n":0.1}"#, #"{"/n":0.2}"#, #"{"n":0.3}"#),
            (#"{"a":{"l":[1,2]}}"#, #"{"/a/l/1":-3}"#, #"{"a":{"l":[1,-1]}}"#),
            ("1", #"{"":1}"#, "2"),
            (#"{"n":9007199254740993}"#, #"{"/n":1}"#, #"{"n":9007199254740994}"#),
            (#"{"n":1.50}"#, #"{"/n":0}"#, "unchanged"), (#"{"n":1}"#, "{}", "unchanged"),
            (#"{"n":1,"m":1}"#, #"{"/n":1,"/m":2}"#, #"{"n":2,"m":3}"#),
            (#"{"n":1}"#, #"{"/n":1,"/m":2}"#, "missing"),
            (#"{"n":"1"}"#, #"{"/n":1}"#, #"wrongKind(found: "a string", needed: "a number")"#),
            (#"{"n":null}"#, #"{"/n":1}"#, #"wrongKind(found: "null", needed: "a number")"#),
            (#"{"n":1e1024}"#, #"{"/n":1}"#, "tooManyDigits"),
            (#"{"n":1e400}"#, #"{"/n":1e400}"#, #"{"n":2e400}"#),
        ]
    )
    func add(base: String, value: String, expected: String) throws {
        #expect(try outcome("add", value, on: base) == expected)
    }

    @Test(
        "Adding to a list appends what it does not have, in order and once",
        arguments: [
            (#"{"t":["a"]}"#, #"{"/t":["b","a","b","c"]}"#, #"{"t":["a","b","c"]}"#),
            (#"{"t":["a","a"]}"#, #"{"/t":["a"]}"#, "unchanged"),
            (#"{"t":[1.0,"1",true]}"#, #"{"/t":[1,"1",true,null]}"#, #"{"t":[1.0,"1",true,null]}"#),
            (#"{"t":[{"a":1,"b":2}]}"#, #"{"/t":[{"b":2,"a":1}]}"#, "unchanged"),
            ("{}", #"{"/t":["a"]}"#, #"{"t":["a"]}"#),
            (#"{"t":null}"#, #"{"/t":["a"]}"#, #"{"t":["a"]}"#),
            ("[1]", #"{"":[2]}"#, "[1,2]"), ("{}", #"{"/x/t":["a"]}"#, "missing"),
            ("[]", #"{"/0":["a"]}"#, "missing"),
            (#"{"t":"a"}"#, #"{"/t":["a"]}"#, #"wrongKind(found: "a string", needed: "an array")"#),
            (
                #"{"i":[{"id":1,"n":"old"},7,{"n":"no id"}]}"#,
                #"{"/i":{"by":"id","values":[{"id":1.0,"n":"new"},{"id":2}]}}"#,
                #"{"i":[{"id":1,"n":"old"},7,{"n":"no id"},{"id":2}]}"#
            ),
        ]
    )
    func listAdd(base: String, value: String, expected: String) throws {
        #expect(try outcome("list_add", value, on: base) == expected)
    }

    @Test(
        "Removing from a list removes all that is named, and nothing where no list is",
        arguments: [
            (#"{"t":["a","b","a"]}"#, #"{"/t":["a","z"]}"#, #"{"t":["b"]}"#),
            (#"{"t":[1.0,"1",true]}"#, #"{"/t":[1]}"#, #"{"t":["1",true]}"#),
            (#"{"t":["b"]}"#, #"{"/t":["a"]}"#, "unchanged"), ("{}", #"{"/t":["a"]}"#, "unchanged"),
            (#"{"t":null}"#, #"{"/t":["a"]}"#, "unchanged"), ("{}", #"{"/x/t":["a"]}"#, "missing"),
            (#"{"t":{}}"#, #"{"/t":["a"]}"#, #"wrongKind(found: "an object", needed: "an array")"#),
            (
                #"{"i":[{"id":1,"n":"x"},{"id":"1"},1,{"n":1}]}"#,
                #"{"/i":{"by":"id","values":[{"id":1},2]}}"#, #"{"i":[{"id":"1"},1,{"n":1}]}"#
            ),
            (
                #"{"i":[{"id":1},{"id":2}]}"#, #"{"/i":{"by":"id","values":[2]}}"#,
                #"{"i":[{"id":1}]}"#
            ),
        ]
    )
    func listRemove(base: String, value: String, expected: String) throws {
        #expect(try outcome("list_remove", value, on: base) == expected)
    }

    @Test(
        "On an unknown target a put and a replacement are complete, merge and set show on {} (case 1)",
        arguments: [
            (#"{"type":"put","value":{"a":1}}"#, #"{"a":1}"#), (#"{"type":"replace"}"#, "body"),
            (#"{"type":"merge","value":{"a":1,"b":null}}"#, #"{"a":1} partly"#),
            (#"{"type":"merge","value":[1]}"#, "[1]"),
            (#"{"type":"set","value":{"set":{"/a/b":1}}}"#, #"{"a":{"b":1}} partly"#),
            (#"{"type":"set","value":{"set":{"":1}}}"#, "1"),
            (#"{"type":"patch","value":[]}"#, "unknownTarget"),
            (#"{"type":"add","value":{"/a":1}}"#, "unknownTarget"),
            (#"{"type":"list_add","value":{"/a":[1]}}"#, "unknownTarget"),
            (#"{"type":"list_remove","value":{"/a":[1]}}"#, "unknownTarget"),
            (#"{"type":"delete"}"#, "unknownTarget"), (#"{"type":"none"}"#, "unchanged"),
        ]
    )
    func unknown(text: String, expected: String) throws {
        #expect(try told(effect(text).applied(to: .unknown)) == expected)
    }

    @Test(
        "A deleted target has a value again by a put or a replacement only (case 20)",
        arguments: [
            (#"{"type":"put","value":{"a":1}}"#, #"{"a":1}"#), (#"{"type":"replace"}"#, "body"),
            (#"{"type":"merge","value":{"a":1}}"#, "deletedTarget"),
            (#"{"type":"set","value":{"set":{"/a":1}}}"#, "deletedTarget"),
            (#"{"type":"patch","value":[]}"#, "deletedTarget"),
            (#"{"type":"add","value":{"/a":1}}"#, "deletedTarget"),
            (#"{"type":"list_add","value":{"/a":[1]}}"#, "deletedTarget"),
            (#"{"type":"list_remove","value":{"/a":[1]}}"#, "deletedTarget"),
            (#"{"type":"delete"}"#, "unchanged"), (#"{"type":"none"}"#, "unchanged"),
        ]
    )
    func deleted(text: String, expected: String) throws {
        #expect(try told(effect(text).applied(to: .deleted)) == expected)
    }

    @Test(
        "Bytes that are no JSON can be replaced and deleted, but not changed",
        arguments: [
            (#"{"type":"put","value":1}"#, "1"), (#"{"type":"replace"}"#, "body"),
            (#"{"type":"merge","value":{"a":1}}"#, "notJSON"),
            (#"{"type":"set","value":{"set":{"/a":1}}}"#, "notJSON"),
            (#"{"type":"patch","value":[]}"#, "notJSON"), (#"{"type":"delete"}"#, "deleted"),
            (#"{"type":"add","value":{"/a":1}}"#, "notJSON"), (#"{"type":"none"}"#, "unchanged"),
        ]
    )
    func opaque(text: String, expected: String) throws {
        #expect(try told(effect(text).applied(to: .opaque)) == expected)
    }

    private func told(_ outcome: EffectOutcome) -> String {
        switch outcome {
        case .json(let value, let isComplete): value.text + (isComplete ? "" : " partly")
        case .body: "body"
        case .deleted: "deleted"
        case .unchanged: "unchanged"
        case .inapplicable(let reason): "\(reason.cause)"
        }
    }

    @Test("A put of the same in another spelling changes nothing, so the bytes may stay")
    func samePut() throws {
        #expect(try outcome("put", #"{"b":1,"a":[1.0]}"#, on: #"{"a":[1],"b":1}"#) == "unchanged")
        #expect(try outcome("put", #"{"b":"1"}"#, on: #"{"b":1}"#) == #"{"b":"1"}"#)
    }
}
