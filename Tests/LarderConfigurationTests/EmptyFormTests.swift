import LarderAPI
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderConfiguration

/// The form of a target of which nothing is known (case 1).
@Suite("The forms of documents that are not cached")
struct EmptyFormTests {
    private static func text(_ empty: String) -> String {
        "origins:\n  a: {base_url: 'http://a.b',\n  modifiers: {empty: \(empty)}}"
    }

    @Test("A form is read as the core schema of YAML has it, and printed so that it is read again")
    func read() throws {
        let read = try configuration(
            Self.text(
                #"{/todos: {items: [], open: 0, "x": "0", last: null}, "/l/*": [a, true, Null]}"#
            )
        )
        let forms = [
            EmptyForm(path: "/todos", form: #"{"items":[],"open":0,"x":"0","last":null}"#),
            EmptyForm(path: "/l/*", form: #"["a",true,null]"#),
        ]
        #expect(read.origins.first?.modifiers.empty == forms)
        let definition = try OriginDefinition(
            decoding: Array(
                #"{"base_url":"http://a.b","modifiers":{"empty":{"/todos":{"items":[]}}}}"#.utf8
            )
        )
        #expect(definition.modifiers?.empty?["/todos"]?.text == #"{"items":[]}"#)
    }

    @Test("An invalid form is refused at its place")
    func refused() {
        #expect(
            complaints(Self.text("{todos: {}}")) == [
                "larder.yaml:3:23: origins.a.modifiers.empty.todos: a path begins with '/', "
                    + "such as /todos"
            ]
        )
        #expect(
            complaints(Self.text("{/todos: 1}")) == [
                "larder.yaml:3:31: origins.a.modifiers.empty./todos: a form is an object or a list"
            ]
        )
    }
}
