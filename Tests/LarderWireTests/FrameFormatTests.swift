import LarderModel
import LarderWire
import Testing

@Suite("The forms of a stream")
struct FrameFormatTests {
    @Test(
        "The form is what Accept likes best",
        arguments: [
            ([], .jsonLines), ([""], .jsonLines), (["*/*"], .jsonLines),
            (["application/jsonl"], .jsonLines), (["application/x-ndjson"], .ndjson),
            (["text/event-stream"], .eventStream), (["TEXT/Event-Stream"], .eventStream),
            (["text/*"], .eventStream), (["application/*"], .jsonLines),
            (["text/event-stream, */*"], .eventStream),
            (["text/event-stream;q=0.9, */*;q=0.8"], .eventStream),
            (["text/event-stream;q=0.2, application/x-ndjson;q=0.3"], .ndjson),
            (["text/event-stream;q=0.2", "application/x-ndjson;q=0.3"], .ndjson),
            (["application/jsonl;q=0, application/x-ndjson"], .ndjson),
            (["application/jsonl;q=0, */*"], .ndjson),
            (["application/*;q=0, */*"], .eventStream),
            (["application/jsonl;q=0, application/*;q=0.5, text/*;q=0.1"], .ndjson),
            (["application/jsonl, text/event-stream"], .jsonLines),
            (["application/x-ndjson;q=1.000, application/jsonl;q=0.999"], .ndjson),
            (["text/html, application/x-ndjson;q=0.9"], .ndjson),
            (["application/json"], .jsonLines), (["text/html"], .jsonLines),
            (
                [#"application/jsonl;x="a,text/event-stream;q=1";q=0.1, text/event-stream;q=0.2"#],
                .eventStream
            ),
            (["application/jsonl ; q=0.1 , text/event-stream ; Q=0.2"], .eventStream),
            (["text/event-stream;q=2, application/x-ndjson;q=0.1"], .ndjson),
            (["text/event-stream;q=, application/x-ndjson;q=0.1"], .ndjson),
            (["text/event-stream;q=0.1234, application/x-ndjson;q=0.1"], .ndjson),
            (["text/event-stream;q=1.1, application/x-ndjson;q=0.1"], .ndjson),
            (["text/event-stream;q=0."], .jsonLines), ([",,;,/;q"], .jsonLines),
        ] as [([String], FrameFormat)]
    )
    func negotiation(accept: [String], format: FrameFormat) {
        #expect(FrameFormat(accepting: accept) == format)
    }

    @Test(
        "All frames are one array where Accept names JSON and no stream",
        arguments: [
            ([], false), (["*/*"], false), (["application/*"], false), (["text/html"], false),
            (["application/json"], true), (["application/json, text/plain, */*"], true),
            (["Application/JSON;q=0.1"], true), (["text/html", "application/json"], true),
            (["application/json;q=0, */*"], false), (["application/json, text/*"], true),
            (["application/json, application/jsonl;q=0.1"], false),
            (["application/json, text/event-stream;q=0"], true),
            (["application/problem+json"], false),
        ] as [([String], Bool)]
    )
    func array(accept: [String], isArray: Bool) {
        #expect(FrameFormat.isArrayNamed(in: accept) == isArray)
    }

    @Test("A heartbeat is a line that parses, and as an event a comment")
    func heartbeat() throws {
        let beat = FetchFrame.heartbeat(HeartbeatFrame(Revision(7)))
        let line = FrameFormat.jsonLines.encode(beat)
        #expect(text(line) == #"{"type":"heartbeat","rev":7}"# + "\n")
        #expect(text(FrameFormat.eventStream.encode(beat)) == ":\n\n")
    }

    @Test("A frame is a line, or an event with its type, its revision and its JSON")
    func encoding() {
        let frame = FetchFrame.unchanged(UnchangedFrame(revision: Revision(7), status: 304))
        let json = #"{"type":"unchanged","source":"network","rev":7,"status":304}"#
        #expect(text(FrameFormat.jsonLines.encode(frame)) == json + "\n")
        #expect(text(FrameFormat.ndjson.encode(frame)) == json + "\n")
        let event = "event: unchanged\nid: 7\ndata: \(json)\n\n"
        #expect(text(FrameFormat.eventStream.encode(frame)) == event)
        let end = FetchFrame.end(EndFrame(outcome: .error))
        let endJSON = #"{"type":"end","outcome":"error","timing":{}}"#
        let endEvent = "event: end\nid: end\ndata: \(endJSON)\n\n"
        #expect(text(FrameFormat.eventStream.encode(end)) == endEvent)
        let shutdown = FetchFrame.end(EndFrame(outcome: .shutdown))
        #expect(!text(FrameFormat.eventStream.encode(shutdown)).contains("id:"))
    }
}

@Suite("If-None-Match")
struct EntityTagListTests {
    @Test("In a strong comparison a weak tag equals no tag, on either side")
    func strongly() {
        #expect(EntityTagList.containsStrongly("\"a\"", in: ["W/\"x\", \"a\""]))
        #expect(EntityTagList.containsStrongly("\"a\"", in: [" * "]))
        for (tag, value) in [("\"a\"", "W/\"a\""), ("W/\"a\"", "W/\"a\""), ("W/\"a\"", "\"a\"")] {
            #expect(!EntityTagList.containsStrongly(tag, in: ["\"x\"", value]))
            #expect(EntityTagList.contains(tag, in: ["\"x\"", value]))
        }
    }

    @Test(
        "In a weak comparison a tag is found at any place of the list, with its commas",
        arguments: [
            (["\"a\""], true), (["W/\"a\""], true), (["*"], true), (["\"b\""], false),
            (["\"b\", \"a\""], true), (["\"b\"", "\"a\""], true), (["\"b\",,\"a\" ,"], true),
            (["\"b,\"a\""], false), (["\"b, \"", "W/\"a\""], true), (["a"], false),
            (["\"a"], false), (["w/\"a\""], false), ([""], false), ([], false),
            (["*", "\"b\""], false), (["\"*\""], false), (["\t\"a\"\t"], true),
            (["\"A\""], false), (["\"a\"x"], true),
        ] as [([String], Bool)]
    )
    func plain(values: [String], isFound: Bool) {
        #expect(EntityTagList.contains("\"a\"", in: values) == isFound)
        #expect(EntityTagList.contains("W/\"a\"", in: values) == isFound)
    }

    @Test("A tag may hold commas, spaces and backslashes, and one without quotes is taken as it is")
    func unusual() {
        let odd = "\"a, b\\\""
        #expect(EntityTagList.contains(odd, in: [odd]))
        #expect(EntityTagList.contains(odd, in: ["\"x\", \(odd), \"y\""]))
        #expect(!EntityTagList.contains("\"b\\\"", in: [odd]))
        #expect(EntityTagList.contains("bare-1", in: ["\"x\", bare-1 , y"]))
        #expect(!EntityTagList.contains("bare", in: ["bare-1"]))
    }
}
