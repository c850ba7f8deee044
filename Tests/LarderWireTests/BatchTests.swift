import LarderModel
import LarderWire
import Testing

@Suite("A batch")
struct BatchTests {
    @Test("The body is written in order and reads back")
    func roundTrip() throws {
        var command = BatchCommand(ids: [try EntryID("b"), try EntryID("https://a/x?1")])
        #expect(text(command.encodedJSON()) == #"{"ids":["b","https://a/x?1"]}"#)
        #expect(try BatchCommand(json: command.encodedJSON()) == command)
        command.account = try AccountName("work")
        #expect(try BatchCommand(json: command.encodedJSON()) == command)
    }

    @Test(
        "It is refused by the name of what is wrong",
        arguments: [
            ("[]", ProblemKind.badRequest, "an array"), ("{}", .badRequest, "ids is missing"),
            (#"{"ids":null}"#, .badRequest, "ids is missing"),
            (#"{"ids":"a"}"#, .badRequest, "'ids' is a string"),
            (#"{"ids":[]}"#, .badRequest, "ids: 0 are given, 1 to 1000"),
            (#"{"ids":[1]}"#, .badRequest, "ids: it holds a number"),
            (#"{"ids":["a","b","a"]}"#, .badRequest, "ids: 'a' is given twice"),
            (#"{"ids":[""]}"#, .badID, "ids: "), (#"{"ids":["a\u0000"]}"#, .badID, "ids: "),
            (#"{"ids":["a"],"policy":"cache-only"}"#, .unknownMember, "'policy'"),
            (#"{"ids":["a"],"ids":["b"]}"#, .badRequest, "'ids' is given twice"),
            (#"{"ids":["a"],"account":"a b"}"#, .badRequest, "account"),
        ]
    )
    func refusals(json: String, kind: ProblemKind, named: String) {
        let problem = #expect(throws: Problem.self) { try BatchCommand(json: bytes(json)) }
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }

    @Test("A thousand ids are taken, one more is not")
    func limit() throws {
        func command(_ count: Int) -> [UInt8] {
            bytes("{\"ids\":[\((0..<count).map { "\"\($0)\"" }.joined(separator: ","))]}")
        }
        #expect(try BatchCommand(json: command(1_000)).ids.count == 1_000)
        let problem = #expect(throws: Problem.self) { try BatchCommand(json: command(1_001)) }
        #expect(problem?.detail == "ids: 1001 are given, 1 to 1000 are taken")
    }

    @Test("Every frame is written and reads back")
    func frames() throws {
        let id = try EntryID("a\"b")
        let deleted = DeletedFrame(source: .cache, revision: Revision(9), status: 410)
        let frames: [(BatchFrame, String)] = [
            (.miss(id), #"{"type":"miss","id":"a\"b"}"#),
            (
                .deleted(id, deleted),
                #"{"type":"deleted","id":"a\"b","source":"cache","rev":9,"status":410}"#
            ),
            (
                .end(EndFrame(outcome: .cache, cacheTime: .milliseconds(2))),
                #"{"type":"end","outcome":"cache","timing":{"cache_ms":2.0}}"#
            ),
        ]
        for (frame, json) in frames {
            #expect(text(frame.encodedLine()) == json + "\n")
            #expect(try BatchFrame(line: frame.encodedLine()) == frame)
        }
        #expect(throws: WireError.self) { try BatchFrame(line: bytes(#"{"type":"unchanged"}"#)) }
    }
}
