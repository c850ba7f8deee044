import LarderJSON
import Testing

@Suite("The places that effects assign to")
struct TouchedPlacesTests {
    private func places(_ effects: String...) throws -> TouchedPlaces {
        TouchedPlaces(try effects.map { try Effect(parsing: Array($0.utf8)) })
    }

    private func content(_ text: String) throws -> TargetContent {
        .json(try JSONValue(parsing: Array(text.utf8)))
    }

    private func pointers(_ texts: String...) throws -> TouchedPlaces {
        .places(try texts.map { try JSONPointer($0) })
    }

    @Test("Each effect touches what the contract says (cases 8 and 19)")
    func effects() throws {
        #expect(try places(#"{"type":"put","value":{"a":1}}"#) == .whole)
        #expect(try places(#"{"type":"delete"}"#) == .whole)
        #expect(
            try places(#"{"type":"merge","value":{"a":{"b":1,"c":null},"d":{}}}"#)
                == pointers("/a/b", "/a/c", "/d")
        )
        #expect(try places(#"{"type":"merge","value":{}}"#).isEmpty)
        #expect(try places(#"{"type":"merge","value":[1]}"#) == .whole)
        #expect(
            try places(#"{"type":"set","value":{"set":{"/a/b":1},"unset":["/c"]}}"#)
                == pointers("/a/b", "/c")
        )
        #expect(
            try places(
                #"{"type":"patch","value":[{"op":"add","path":"/a/0/b","value":1},"#
                    + #"{"op":"move","from":"/c/d","path":"/e"}]}"#
            ) == pointers("/a", "/e", "/c")
        )
        for effect in [
            #"{"type":"add","value":{"/n":1}}"#, #"{"type":"list_add","value":{"/l":[1]}}"#,
            #"{"type":"list_remove","value":{"/l":[1]}}"#, #"{"type":"none"}"#,
        ] {
            #expect(try places(effect).isEmpty, "\(effect) keeps what others added")
        }
        #expect(
            try places(#"{"type":"add","value":{"/n":1}}"#, #"{"type":"merge","value":{"a":1}}"#)
                == pointers("/a")
        )
    }

    @Test("Values at the same places are compared by value, a missing one is no null (case 19)")
    func values() throws {
        let touched = try pointers("/a", "/b")
        func values(_ text: String) throws -> TouchedValues {
            try #require(TouchedValues(touched, in: content(text), bytes: nil))
        }
        #expect(try values(#"{"a":1.0,"c":2}"#).isSame(as: values(#"{"a":1,"c":3}"#)))
        #expect(try !values(#"{"a":1}"#).isSame(as: values(#"{"a":1,"b":null}"#)))
        #expect(try !values(#"{"a":1}"#).isSame(as: values(#"{"a":2}"#)))
        #expect(TouchedValues(touched, in: .unknown, bytes: "x") == nil)
        #expect(TouchedValues(touched, in: .opaque, bytes: "x") == nil)
        let bytes = try #require(TouchedValues(.whole, in: .opaque, bytes: "x"))
        #expect(bytes.isSame(as: .bytes("x")))
        #expect(!bytes.isSame(as: .bytes("y")))
    }

    @Test("Values are stored and read back")
    func stored() throws {
        let places = try pointers("/a~1b", "/c")
        let whole = TouchedValues(.whole, in: try content(#"{"a":[1,{"b":null}]}"#), bytes: nil)
        let members = TouchedValues(places, in: try content(#"{"a/b":"x"}"#), bytes: nil)
        let all: [TouchedValues] = [
            try #require(whole), try #require(members), .deleted, .bytes("\"etag\""),
        ]
        for values in all {
            let read = try #require(TouchedValues(parsing: values.encoded))
            #expect(read.isSame(as: values))
        }
        #expect(TouchedValues(parsing: Array("[1]".utf8)) == nil)
        #expect(TouchedValues(parsing: Array(#"{"a":1}"#.utf8)) == nil)
    }

    @Test("A merge whose places would have far more bytes than it has touches the whole target")
    func manyBytes() throws {
        let members = (0..<5_000).map { JSONMember(name: "n\($0)", value: .bool(true)) }
        let flat = JSONValue.object(members)
        #expect(TouchedPlaces([.merge(flat)]) != .whole)
        let deep = (0..<400).reduce(flat) { value, _ in
            .object([JSONMember(name: "a", value: value)])
        }
        let long = JSONValue.object([
            JSONMember(name: String(repeating: "a", count: 10_000), value: flat)
        ])
        #expect(TouchedPlaces([.merge(deep)]) == .whole)
        #expect(TouchedPlaces([.all([.merge(long), .none])]) == .whole)
    }

    @Test("The values at many places are those at each of them")
    func manyPlaces() throws {
        var text = (0..<20_000).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
        text = "{\(text),\"list\":[[1],{\"a\":2}],\"n7\":{\"a\":3,\"a\":4},\"\":5}"
        let value = try JSONValue(parsing: Array(text.utf8))
        let others = [
            "", "/", "/list/0/0", "/list/1/a", "/list/2", "/list/-", "/n7/a", "/n8/a", "/none/a",
        ]
        let texts = (0..<30_000).map { "/n\($0)" } + others
        let places = try texts.map { try JSONPointer($0) }
        let values = value.values(at: places)
        #expect(values.count == 20_000 + 5)
        for place in places.suffix(others.count) + places.prefix(9) {
            #expect(values[place] == value.value(at: place), "\(place.text)")
        }
        #expect(values[places[29_999]] == nil)
    }

    @Test("Values differ only at places if all others are the same, by their bytes")
    func onlyAt() throws {
        let touched = try pointers("/a", "/caf\u{E9}/x")
        func values(_ text: String) throws -> TouchedValues {
            let places = try pointers("/a/b", "/caf\u{E9}/x", "/cafe\u{301}/x")
            return try #require(TouchedValues(places, in: content(text), bytes: nil))
        }
        let old = try values(#"{"a":{"b":1}}"#)
        #expect(try values(#"{"a":{"b":2}}"#).differs(from: old, onlyAt: touched))
        let new = try values("{\"a\":{\"b\":1},\"caf\u{E9}\":{\"x\":1}}")
        #expect(new.differs(from: old, onlyAt: touched))
        let other = try values("{\"a\":{\"b\":1},\"cafe\u{301}\":{\"x\":1}}")
        #expect(!other.differs(from: old, onlyAt: touched))
        #expect(try !values(#"{"a":{"b":2}}"#).differs(from: old, onlyAt: pointers("/a/b/c")))
        let deep = JSONPointer(tokens: Array(repeating: "a", count: 512))
        let long = TouchedValues.values([deep: .null])
        let (outer, others) = (try pointers("/b", "/a/a"), try pointers("/b", "/a/b"))
        #expect(long.differs(from: .values([:]), onlyAt: outer))
        #expect(!long.differs(from: .values([:]), onlyAt: others))
    }
}
