import LarderJSON
import Testing

@Suite("Effects that are joined to one (case 17)")
struct JoinedEffectTests {
    private static func put(_ value: String) -> String { #"{"type":"put","value":\#(value)}"# }
    private static func merge(_ value: String) -> String { #"{"type":"merge","value":\#(value)}"# }
    private static func patch(_ value: String) -> String { #"{"type":"patch","value":\#(value)}"# }
    private static let delete = #"{"type":"delete"}"#
    private static let none = #"{"type":"none"}"#
    private static let add = #"{"op":"add","path":"/l/0","value":1}"#
    private static let test = #"{"op":"test","path":"/a","value":1}"#

    private func effect(_ text: String) throws -> Effect { try Effect(parsing: Array(text.utf8)) }

    private static let rows: [(first: String, next: String, joined: String?)] = [
        (put("1"), put("2"), put("2")),
        (merge(#"{"a":1}"#), put(#"{"b":2}"#), put(#"{"b":2}"#)),
        (patch("[\(add)]"), put("2"), put("2")),
        (put(#"{"a":1,"b":1}"#), merge(#"{"a":2,"b":null}"#), put(#"{"a":2}"#)),
        (put(#"{"l":[2]}"#), patch("[\(add)]"), put(#"{"l":[1,2]}"#)),
        (put(#"{"a":1}"#), patch("[\(test)]"), nil),
        (put(#"{"a":1}"#), patch("[\(add)]"), nil),
        (merge(#"{"a":1}"#), merge(#"{"b":2}"#), merge(#"{"a":1,"b":2}"#)),
        (merge(#"{"a":1}"#), merge(#"{"a":2}"#), merge(#"{"a":2}"#)),
        (merge(#"{"a":1}"#), merge(#"{"a":null}"#), merge(#"{"a":null}"#)),
        (merge(#"{"a":{"x":1}}"#), merge(#"{"a":{"y":2}}"#), merge(#"{"a":{"x":1,"y":2}}"#)),
        (merge(#"{"a":{"x":1}}"#), merge(#"{"a":3}"#), merge(#"{"a":3}"#)),
        // A merge cannot first remove a member, or make it a scalar, and then give it an object.
        (merge(#"{"a":null}"#), merge(#"{"a":{"y":2}}"#), nil),
        (merge(#"{"a":3}"#), merge(#"{"a":{"y":2}}"#), nil),
        (patch("[\(add)]"), patch("[\(add)]"), patch("[\(add),\(add)]")),
        (patch("[\(test),\(add)]"), patch("[\(add)]"), nil),
        (patch("[\(test),\(add)]"), put("2"), nil),
        (patch("[\(test),\(add)]"), delete, nil),
        (patch("[\(add)]"), patch("[\(test)]"), nil),
        (patch("[\(add)]"), merge(#"{"a":1}"#), nil),
        (merge(#"{"a":1}"#), patch("[\(add)]"), nil),
        (put("1"), delete, delete),
        (merge(#"{"a":1}"#), delete, delete),
        (patch("[\(add)]"), delete, delete),
        (delete, put("1"), nil),
        (delete, delete, nil),
        (none, put("1"), nil),
        (put("1"), none, nil),
        (put("{}"), #"{"type":"set","value":{"set":{"/a":1}}}"#, nil),
    ]

    @Test("Two effects are joined to one that a request can make, or stay two")
    func joined() throws {
        for (first, next, joined) in Self.rows {
            let found = try effect(first).joined(with: effect(next))
            #expect(try found == joined.map(effect), "\(first) and \(next)")
        }
    }

    @Test("On every value the joined effect does what both do in order")
    func sameResult() throws {
        let values = [
            "{}", "1", #"{"a":1}"#, #"{"a":{"x":5,"z":6}}"#, #"{"a":[1],"b":{"c":1}}"#,
            #"{"l":[7,8],"a":1}"#, #"{"a":{"y":{"q":1}},"b":null}"#,
        ]
        for (first, next, joined) in Self.rows {
            guard let joined = try joined.map(effect) else { continue }
            for value in values {
                let content = TargetContent.json(try JSONValue(parsing: Array(value.utf8)))
                let view = View.of(content, [try effect(first), try effect(next)])
                // What does not fit is refused by the server, too.
                guard view.leftOut.isEmpty else { continue }
                let (one, two) = (View.of(content, [joined]).content, view.content)
                #expect(one == two, "\(first) and \(next) on \(value)")
            }
        }
    }
}
