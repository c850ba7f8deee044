import LarderJSON
import Testing

@testable import LarderAPI

@Suite("Encoding of wire types")
struct EncoderTests {
    private func text(_ value: some Encodable) -> String {
        String(decoding: APIEncoder().encode(value), as: UTF8.self)
    }

    private struct Item: Encodable {
        var zebra = 1
        var baseURL: String?
        var apple: Bool? = true
        var childCount: Int64?
        var ratio: Double?
        @OmittedWhenNil var restsUntil: Timestamp?
        var last = "end"
    }

    @Test("Members come in the order of their declaration, an optional without a value as null")
    func order() {
        #expect(
            text(Item()) == #"""
                {"zebra":1,"base_url":null,"apple":true,"child_count":null,"ratio":null,"last":"end"}
                """#
        )
    }

    @Test("Optionals of every kind are null without a value, and not left out")
    func nulls() {
        struct All: Encodable {
            var a: Bool?
            var b: Int8?
            var c: UInt64?
            var d: Float?
            var e: String?
            var f: [Int]?
            var g: PinState?
            var h: Duration?
            var i: RawJSON?
            var j: Health?
        }
        let null = "abcdefghij".map { "\"\($0)\":null" }.joined(separator: ",")
        #expect(text(All()) == "{\(null)}")
        let all = All(
            a: false,
            b: -128,
            c: .max,
            d: 0.5,
            e: "é\n",
            f: [],
            g: .tooLarge,
            h: .milliseconds(1_500),
            i: RawJSON(#"{"b": 1.0, "a": 1e2}"#),
            j: Health()
        )
        #expect(
            text(all) == #"""
                {"a":false,"b":-128,"c":18446744073709551615,"d":0.5,"e":"é\n","f":[],\#
                "g":"too_large","h":"1500ms","i":{"b": 1.0, "a": 1e2},"j":{"status":"ok"}}
                """#
        )
    }

    @Test("A property that is omitted when nil is there with a value")
    func omitted() {
        let item = Item(restsUntil: Timestamp(milliseconds: 1_700_000_000_120))
        #expect(text(item).contains(#""rests_until":"2023-11-14T22:13:20.120Z","last":"end""#))
    }

    @Test("Values that are no objects are written as they are")
    func plain() {
        #expect(text("a") == #""a""#)
        #expect(text(7) == "7")
        #expect(text(UInt8(7)) == "7")
        #expect(text([1, 2]) == "[1,2]")
        #expect(text([[1], []]) == "[[1],[]]")
        #expect(text([nil, 1]) == "[null,1]")
        #expect(text(1.5) == "1.5")
        #expect(text(Double.infinity) == "null")
        #expect(text(Duration.seconds(90)) == #""90s""#)
        #expect(text([PinState.held, PinState(rawValue: "new")]) == #"["held","new"]"#)
        #expect(text(Timestamp(milliseconds: 0)) == #""1970-01-01T00:00:00.000Z""#)
    }

    @Test("Names that no type declares keep their spelling and their order")
    func names() {
        let fields = NamedValues([.init("X-Own", "1"), .init("aB", "2"), .init("\"", "3")])
        #expect(text(fields) == #"{"X-Own":"1","aB":"2","\"":"3"}"#)
    }

    @Test("A frame puts the members of its payload after its own")
    func handWritten() {
        struct Frame: Encodable {
            enum CodingKeys: CodingKey { case type, end }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode("snapshot", forKey: .type)
                try Health().encode(to: encoder)
                try container.encode(true, forKey: .end)
            }
        }
        #expect(
            text(Frame()) == #"""
                {"type":"snapshot","status":"ok","end":true}
                """#
        )
    }

    @Test("A flattened property has its members in its place")
    func flattened() throws {
        struct Outer: Codable, Equatable {
            var first = 1
            @Flattened var health = Health()
            var last: Int?
        }
        #expect(text(Outer()) == #"{"first":1,"status":"ok","last":null}"#)
        let json = #"{"status":"ok","last":2,"first":3}"#
        let read = try APIDecoder(.strict).decode(Outer.self, from: Array(json.utf8))
        #expect(read == Outer(first: 3, last: 2))
        #expect(APIDecoder.memberNames(of: Outer.self) == ["first", "status", "last"])
        #expect(
            throws: APIDecodingError.unknownMember(
                "x",
                in: "",
                known: ["first", "status", "last"],
                .json
            )
        ) {
            try APIDecoder(.strict).decode(Outer.self, from: Array(#"{"x":1,"first":1}"#.utf8))
        }
    }

    @Test("A member that is null is left out or is JSON's null")
    func nullValue() throws {
        struct Body: Codable, Equatable {
            @OmittedWhenNil var body: RawJSON?
        }
        for json in ["{}", #"{"body":null}"#] {
            let read = try APIDecoder(.strict).decode(Body.self, from: Array(json.utf8))
            #expect(text(read) == json)
        }
    }

    @Test("A value is written into a text that has begun")
    func appending() {
        var json = JSONWriter()
        json.object { json in
            json.name("health")
            APIEncoder().encode(Health(), to: &json)
            json.member("n", 1)
        }
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"health":{"status":"ok"},"n":1}"#)
    }

    @Test(
        "The name of a property becomes the name of its member",
        arguments: [
            ("id", "id"), ("baseURL", "base_url"), ("pinnedAt", "pinned_at"),
            ("requestID", "request_id"),
            ("pendingIDs", "pending_ids"), ("redirectURLsMax", "redirect_urls_max"),
            ("latencyMs", "latency_ms"), ("urlTTLText", "url_ttl_text"),
            ("maxBytes", "max_bytes"), ("b64", "b64"), ("HTTP", "http"), ("", ""),
        ]
    )
    func snakeCased(property: String, member: String) {
        #expect(snakeCase(property) == member)
    }
}
