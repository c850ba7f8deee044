import LarderModel
import LarderWire
import Testing

@Suite("Evictions as they travel")
struct EvictCommandTests {
    @Test("Each selection is written and reads back")
    func selections() throws {
        let cases: [(EvictSelection, String)] = [
            (.ids([try EntryID("a"), try EntryID("b/c")]), #"{"ids":["a","b/c"]}"#),
            (
                .keys([try EntityKey("User:7"), try EntityKey("A:a%2Fb")], origin: nil),
                #"{"keys":["User:7","A:a%2Fb"]}"#
            ),
            (
                .keys([try EntityKey("User:7")], origin: try OriginName("example")),
                #"{"keys":["User:7"],"origin":"example"}"#
            ),
            (.prefix("https://a/"), #"{"prefix":"https://a/"}"#),
            (.origin(try OriginName("example")), #"{"origin":"example"}"#),
            (.olderThan(.seconds(604_800)), #"{"older_than":"7d"}"#),
            (.toBytes(ByteSize(bytes: 524_288_000)), #"{"to_bytes":524288000}"#),
            (.all, #"{"all":true}"#),
        ]
        for (selection, json) in cases {
            let command = EvictCommand(selection)
            #expect(text(command.encodedJSON()) == json)
            #expect(try EvictCommand(json: bytes(json)) == command)
        }
        var command = EvictCommand(.all)
        command.isDryRun = true
        command.scope = .own(try AccountName("work"))
        #expect(text(command.encodedJSON()) == #"{"all":true,"dry_run":true,"account":"work"}"#)
        #expect(try EvictCommand(json: command.encodedJSON()) == command)
    }

    @Test("A size is taken with its unit too")
    func sizeWithUnit() throws {
        let command = try EvictCommand(json: bytes(#"{"to_bytes":"500MiB","dry_run":false}"#))
        #expect(command == EvictCommand(.toBytes(ByteSize(bytes: 500 << 20))))
    }

    @Test(
        "An eviction is refused by the name of what is wrong",
        arguments: [
            ("{}", ProblemKind.badRequest, "nothing is selected"),
            (#"{"dry_run":true}"#, .badRequest, "nothing is selected"),
            (#"{"all":true,"prefix":"a"}"#, .badRequest, "more than one"),
            (#"{"all":false}"#, .badRequest, "all: false"),
            (#"{"keys":null,"origin":"x"}"#, .badRequest, "'keys' is null"),
            (#"{"all":true,"scope":null}"#, .badRequest, "'scope' is null"),
            (#"{"all":1}"#, .badRequest, "'all' is a number"),
            (#"{"keys":["a"]}"#, .badID, "'a' is no Type:id"),
            (#"{"keys":[]}"#, .badRequest, "keys: 0 are given"),
            (#"{"keys":[7]}"#, .badRequest, "keys: it holds a number"),
            (#"{"keys":["A:1"],"ids":["a"]}"#, .badRequest, "more than one"),
            (#"{"all":true,"include_pinned":1}"#, .badRequest, "'include_pinned' is a number"),
            (#"{"all":true,"colour":1}"#, .unknownMember, "'colour'"),
            (#"{"all":true,"dry_run":"yes"}"#, .badRequest, "'dry_run' is a string"),
            (#"{"all":true,"account":"a b"}"#, .badRequest, "account"),
            (#"{"ids":"a"}"#, .badRequest, "'ids' is a string"),
            (#"{"ids":[]}"#, .badRequest, "ids: 0 are given"),
            (#"{"ids":[1]}"#, .badRequest, "ids: it holds a number"),
            (#"{"ids":[""]}"#, .badID, "ids"), (#"{"prefix":""}"#, .badRequest, "prefix"),
            (#"{"origin":"a/b"}"#, .badRequest, "origin"),
            (#"{"older_than":7}"#, .badRequest, "'older_than' is a number"),
            (#"{"older_than":"7"}"#, .badRequest, "older_than"),
            (#"{"to_bytes":-1}"#, .badRequest, "to_bytes: -1"),
            (#"{"to_bytes":1.5}"#, .badRequest, "'to_bytes' is a number"),
            (#"{"to_bytes":"1MB"}"#, .badRequest, "to_bytes"),
            (#"{"to_bytes":[]}"#, .badRequest, "'to_bytes' is an array"),
            (#"{"all":true"#, .badRequest, "ends too early"),
        ]
    )
    func refusals(json: String, kind: ProblemKind, named: String) {
        let problem = #expect(throws: Problem.self) { try EvictCommand(json: bytes(json)) }
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }

    @Test("More ids than the limit are refused")
    func idLimit() {
        let ids = Array(repeating: "\"a\"", count: Limits.evictIDsMax + 1).joined(separator: ",")
        let problem = #expect(throws: Problem.self) {
            try EvictCommand(json: bytes("{\"ids\":[\(ids)]}"))
        }
        #expect(problem?.detail.contains("\(Limits.evictIDsMax + 1) are given") == true)
    }

    @Test("A report is written and reads back")
    func report() throws {
        let entity = EntityName(try EntityKey("User:7"), of: try OriginName("example"))
        let report = EvictReport(
            evicted: 2,
            bytes: 700,
            skipped: 1,
            ids: [try EntryID("a"), EntryID(entity)]
        )
        #expect(
            text(report.encoded()) == #"{"evicted":2,"bytes":700,"skipped":1,"ids":["a"],"#
                + #""entities":[{"key":"User:7","origin":"example"}]}"#
        )
        #expect(try EvictReport(decoding: report.encoded()) == report)
        #expect(throws: WireError.unknownValue(member: "ids", text: "")) {
            try EvictReport(decoding: bytes(#"{"evicted":2,"bytes":7,"skipped":1,"ids":[""]}"#))
        }
        #expect(throws: WireError.wrongType(member: "ids", wanted: "an array of strings")) {
            try EvictReport(decoding: bytes(#"{"evicted":2,"bytes":7,"skipped":1,"ids":[1]}"#))
        }
    }
}
