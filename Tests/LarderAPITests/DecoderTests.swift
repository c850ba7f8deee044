import LarderJSON
import Testing

@testable import LarderAPI

@Suite("Decoding of wire types")
struct DecoderTests {
    struct Settings: Codable, Equatable {
        var fetch: Fetch?
        var hosts: [String]
    }

    struct Fetch: Codable, Equatable {
        var networkWait: Duration?
        var retries: Int8
        var state: PinState?
    }

    struct Command: Codable, Equatable {
        var id: String
        var baseURL: String?
        var settings: Settings?
        var since: Timestamp?
        var value: RawJSON?
        var isPinned: Bool?
    }

    private func read<Value: Decodable>(
        _ type: Value.Type,
        _ json: String,
        _ mode: APIDecoder.Mode = .strict
    ) throws -> Value {
        try APIDecoder(mode).decode(type, from: Array(json.utf8))
    }

    private func message<Value: Decodable>(
        _ type: Value.Type,
        _ json: String,
        _ mode: APIDecoder.Mode = .strict
    ) -> String {
        do throws(APIDecodingError) {
            _ = try APIDecoder(mode).decode(type, from: Array(json.utf8))
            return "none"
        } catch {
            return error.message
        }
    }

    @Test("Members are read in any order, null and missing optionals as nil")
    func members() throws {
        let json = #"""
            {"settings":{"hosts":["a"],"fetch":{"retries":3,"network_wait":"300ms","state":"held"}},\#
            "base_url":"https://a","id":"x","since":"2023-11-14T22:13:20Z",\#
            "value":{"b": 1.0,"a":[1e2]},"is_pinned":null}
            """#
        let command = try read(Command.self, json)
        #expect(
            command
                == Command(
                    id: "x",
                    baseURL: "https://a",
                    settings: Settings(
                        fetch: Fetch(networkWait: .milliseconds(300), retries: 3, state: .held),
                        hosts: ["a"]
                    ),
                    since: Timestamp(milliseconds: 1_700_000_000_000),
                    value: RawJSON(#"{"b": 1.0,"a":[1e2]}"#)
                )
        )
        #expect(try read(Command.self, #"{"id":"x"}"#) == Command(id: "x"))
    }

    @Test(
        "A mistake in a request is named with its place",
        arguments: [
            ("{", "the JSON ends too early, at byte 1"),
            ("[]", "the body is an array, an object is needed"),
            ("{}", "the member 'id' is missing"),
            (#"{"id":1}"#, "'id' is a number, a string is needed"),
            (#"{"id":null}"#, "'id' is null, a string is needed"),
            (#"{"id":"x","id":"y"}"#, "the member 'id' is given twice"),
            (#"{"idd":"x"}"#, "unknown member 'idd', did you mean 'id'?"),
            (
                #"{"id":"x","bogus":1}"#,
                "unknown member 'bogus', there are: "
                    + "id, base_url, settings, since, value, is_pinned"
            ),
            (#"{"baseURL":"x","id":"x"}"#, "unknown member 'baseURL', did you mean 'base_url'?"),
            (#"{"id":"x","is_pinned":1}"#, "'is_pinned' is a number, a boolean is needed"),
            (#"{"id":"x","since":"now"}"#, "since: 'now' is not a time, give 2026-11-20T18:43:27Z"),
            (#"{"id":"x","settings":{}}"#, "the member 'hosts' in 'settings' is missing"),
            (
                #"{"id":"x","settings":{"host":[]}}"#,
                "unknown member 'host' in 'settings', did you mean 'hosts'?"
            ),
            (
                #"{"id":"x","settings":{"hosts":["a",1]}}"#,
                "'settings.hosts[1]' is a number, a string is needed"
            ),
            (
                #"{"id":"x","settings":{"hosts":{}}}"#,
                "'settings.hosts' is an object, an array is needed"
            ),
            (
                #"{"id":"x","settings":{"hosts":[],"fetch":{"retries":128}}}"#,
                "settings.fetch.retries: 128 is out of range, -128 to 127 is needed"
            ),
            (
                #"{"id":"x","settings":{"hosts":[],"fetch":{"retries":1.0}}}"#,
                "'settings.fetch.retries' is a number, an integer is needed"
            ),
            (
                #"{"id":"x","settings":{"hosts":[],"fetch":{"retries":1,"state":"hled"}}}"#,
                "settings.fetch.state: 'hled' is unknown, did you mean 'held'?"
            ),
            (
                #"{"settings":{"bogus":1},"ids":"x"}"#,
                "unknown member 'ids', did you mean 'id'?"
            ),
        ]
    )
    func refusals(json: String, expected: String) {
        #expect(message(Command.self, json) == expected)
    }

    @Test("A duration without a unit is refused with its place")
    func duration() {
        let json = #"{"retries":1,"network_wait":"300"}"#
        #expect(message(Fetch.self, json).hasPrefix("network_wait: "))
    }

    @Test("A client takes what a newer daemon says")
    func lenient() throws {
        let json = #"{"retries":1,"retries":2,"state":"frozen","more":[]}"#
        let fetch = try read(Fetch.self, json, .lenient)
        #expect(fetch == Fetch(networkWait: nil, retries: 2, state: PinState(rawValue: "frozen")))
        #expect(message(Fetch.self, "{}", .lenient) == "the member 'retries' is missing")
    }

    @Test("The names of a type's members are told in order")
    func names() {
        let command = ["id", "base_url", "settings", "since", "value", "is_pinned"]
        #expect(APIDecoder.memberNames(of: Command.self) == command)
        #expect(APIDecoder.memberNames(of: Settings.self) == ["fetch", "hosts"])
        #expect(APIDecoder.memberNames(of: Page<PinItem>.self) == ["items", "next"])
        #expect(APIDecoder.memberNames(of: PinItem.self).count == 13)
    }

    @Test("Names that differ in their bytes are different members")
    func bytes() throws {
        let json = "{\"e\\u0301\":\"1\",\"\u{E9}\":\"2\"}"
        let values = try read(NamedValues<String>.self, json)
        #expect(values.members.map(\.value) == ["1", "2"])
    }

    @Test("Many members are read in time that grows with their number")
    func many() throws {
        let members = (0..<20_000).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
        let values = try read(NamedValues<Int>.self, "{\(members)}")
        #expect(values.members.count == 20_000)
        #expect(values.members.last?.value == 19_999)
    }

    @Test("A value that is nested too deeply is refused")
    func deep() {
        let json = String(repeating: "[", count: 600)
        #expect(message(RawJSON.self, json).hasPrefix("the JSON is nested too deeply"))
    }

    @Test("A type without members takes an empty object only")
    func empty() throws {
        struct Nothing: Codable {}
        _ = try read(Nothing.self, " {} ")
        #expect(message(Nothing.self, #"{"x":1}"#) == "unknown member 'x', there are none")
        #expect(message(Nothing.self, "[]") == "the body is an array, an object is needed")
        _ = try read(Nothing.self, #"{"x":1}"#, .lenient)
        _ = try APIDecoder(.strict).decode(Nothing.self, query: "")
        #expect(throws: APIDecodingError.self) {
            try APIDecoder(.strict).decode(Nothing.self, query: "a=1")
        }
    }

    @Test("An array has elements that are null")
    func elements() throws {
        #expect(try read([Int?].self, "[null,1]") == [nil, 1])
        #expect(message([Int].self, "[null]") == "'[0]' is null, an integer is needed")
    }

    @Test("Frames read the members of their payload from one object")
    func flat() throws {
        struct Frame: Decodable, Equatable {
            enum CodingKeys: CodingKey { case type }
            var type: String
            var health: Health
            init(from decoder: any Decoder) throws {
                type = try decoder.container(keyedBy: CodingKeys.self)
                    .decode(String.self, forKey: .type)
                health = try Health(from: decoder)
            }
        }
        #expect(try read(Frame.self, #"{"type":"a","status":"ok"}"#).health.status == .ok)
        let refused = message(Frame.self, #"{"type":"a","status":"ok","x":1}"#)
        #expect(refused == "unknown member 'x', there are: type, status")
    }

    @Test("A body or a query of very many members is refused by the first that is unknown")
    func manyMembers() {
        let members = (0..<60_000).map { "\"m\($0)\":1" }.joined(separator: ",")
        let error = #expect(throws: APIDecodingError.self) {
            try APIDecoder(.strict).decode(EvictCommand.self, from: Array("{\(members)}".utf8))
        }
        #expect(error?.message.hasPrefix("unknown member 'm0', ") == true)
        let parameters = (0..<10_000).map { "p\($0)=1" }.joined(separator: "&")
        let refused = #expect(throws: APIDecodingError.self) {
            try APIDecoder(.strict).decode(EntryListQuery.self, query: parameters[...])
        }
        #expect(refused?.message.hasPrefix("unknown query parameter 'p0', ") == true)
    }
}
