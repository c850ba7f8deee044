import LarderModel
import Testing

@testable import LarderWire

@Suite("A watch as it travels")
struct WatchTests {
    @Test("A GET gives its parameters, ids and prefixes as often as there are any")
    func query() throws {
        let command = try WatchCommand(
            query:
                "since=8413&id=a&id=https%3A%2F%2Fa%2Fb&prefix=p%2F&types=put,evict&initial=1&key=User%3A7&origin=example&key=A%3Aa%252Fb"
                + "&heartbeat=5s&timeout=30s&account=work"
        )
        var expected = WatchCommand()
        expected.since = Revision(8_413)
        expected.ids = [try EntryID("a"), try EntryID("https://a/b")]
        expected.keys = [try EntityKey("User:7"), try EntityKey("A:a%2Fb")]
        expected.origin = try OriginName("example")
        expected.prefixes = ["p/"]
        expected.types = [.put, .evict]
        expected.listsFirst = true
        expected.heartbeat = .seconds(5)
        expected.timeout = .seconds(30)
        expected.account = try AccountName("work")
        #expect(command == expected)
        #expect(try WatchCommand(json: expected.encodedJSON()) == expected)
        #expect(try WatchCommand(query: "") == WatchCommand())
        #expect(try WatchCommand(json: bytes("{}")) == WatchCommand())
    }

    @Test(
        "What cannot be understood is refused by name",
        arguments: [
            ("since=-1", "since"), ("since=x", "since"), ("id=", "empty"), ("types=put,x", "types"),
            ("initial=2", "initial"), ("heartbeat=0s", "heartbeat"), ("timeout=2h", "timeout"),
            ("key=A", "'A' is no Type:id"), ("origin=example", "origin"),
            ("key=A%3A1&origin=a%2Fb", "origin"), ("keys=A%3A1", "keys"), ("ids=a", "ids"),
        ]
    )
    func refusals(query: String, word: String) {
        let problem = #expect(throws: Problem.self) { try WatchCommand(query: query[...]) }
        #expect(problem?.status == 400)
        #expect(problem?.detail.contains(word) == true)
    }

    @Test("Too many ids are refused with what to do")
    func tooMany() throws {
        var command = WatchCommand()
        command.ids = try (0...Limits.watchedIDsMax).map { try EntryID("\($0)") }
        let json = command.encodedJSON()
        let problem = #expect(throws: Problem.self) { try WatchCommand(json: json) }
        #expect(problem?.detail.contains("ids") == true)
        command.ids.removeLast(2)
        command.keys = [try EntityKey("A:1")]
        #expect(try WatchCommand(json: command.encodedJSON()) == command)
        command.keys.append(try EntityKey("A:2"))
        let full = command.encodedJSON()
        let refused = #expect(throws: Problem.self) { try WatchCommand(json: full) }
        #expect(refused?.detail.contains("keys") == true)
    }

    @Test("A browser's Last-Event-ID counts before since")
    func lastEventID() throws {
        var command = try WatchCommand(query: "since=1")
        try command.takeLastEventID("7")
        #expect(command.since == Revision(7))
        #expect(throws: Problem.self) { try command.takeLastEventID("x") }
    }

    /// Frames that are written as the JSON beside them.
    private typealias Written = [(WatchFrame, String)]

    private func check(_ written: Written) throws {
        for (frame, json) in written {
            #expect(text(frame.encodedJSON()) == json)
            #expect(try WatchFrame(line: frame.encodedLine()) == frame)
        }
    }

    @Test("Every frame of an entry is written as documented and reads back")
    func entryFrames() throws {
        let id = try EntryID("https://a/42")
        var put = WatchFrame.EntryEvent(
            revision: Revision(8_413),
            id: id,
            source: "network",
            cause: "fetch:https://a/42"
        )
        let plain = put
        put.isOwn = true
        put.coalesced = 3
        put.hasMore = true
        var eviction = WatchFrame.EvictionEvent(revision: Revision(8_416), id: id, reason: "lru")
        eviction.isOwn = true
        try check([
            (
                .put(plain),
                #"{"type":"put","rev":8413,"id":"https://a/42","source":"network","#
                    + #""cause":"fetch:https://a/42"}"#
            ),
            (
                .delete(put),
                #"{"type":"delete","rev":8413,"id":"https://a/42","source":"network","#
                    + #""cause":"fetch:https://a/42","self":true,"coalesced":3,"more":true}"#
            ),
            (
                .evict(eviction),
                #"{"type":"evict","rev":8416,"id":"https://a/42","reason":"lru","self":true}"#
            ),
        ])
    }

    @Test("Every frame of a modifier is written as documented and reads back")
    func modifierFrames() throws {
        let id = try EntryID("https://a/42")
        var dead = ModifierChange(id: try ModifierID("01J"), state: .dead, targets: [id])
        dead.reason = .refused
        dead.problem = bytes(#"{"type":"urn:larder:origin-status"}"#)
        let modifier = WatchFrame.ModifierEvent(revision: Revision(8_415), dead)
        var stalled = WatchFrame.ModifierEvent(
            revision: Revision(8_416),
            ModifierChange(id: try ModifierID("01J"), state: .retryWait, targets: [id])
        )
        stalled.change.mark = .stalled
        stalled.isOwn = true
        stalled.hasMore = true
        try check([
            (
                .modifier(modifier),
                #"{"type":"modifier","rev":8415,"id":"01J","state":"dead","#
                    + #""reason":"refused","reverted":["https://a/42"],"#
                    + #""problem":{"type":"urn:larder:origin-status"}}"#
            ),
            (
                .modifier(stalled),
                #"{"type":"modifier","rev":8416,"id":"01J","state":"retry_wait","#
                    + #""stalled":true,"targets":["https://a/42"],"self":true,"more":true}"#
            ),
        ])
    }

    @Test("An entity is told by its key, and reads back as the same")
    func entityFrames() throws {
        let name = EntityName(try EntityKey("User:a%2Fb"), of: try OriginName("example"))
        let user = EntryID(name)
        let id = try EntryID("User:7")
        var put = WatchFrame.EntryEvent(revision: Revision(3), id: id, source: "network")
        put.changed = [name.key, try EntityKey("User:8")]
        let other = EntryID(EntityName(name.key, of: try OriginName("other")))
        let reverted = WatchFrame.ModifierEvent(
            revision: Revision(4),
            ModifierChange(id: try ModifierID("01J"), state: .dead, targets: [user])
        )
        let mixed = WatchFrame.ModifierEvent(
            revision: Revision(4),
            ModifierChange(id: try ModifierID("01J"), state: .queued, targets: [id, user, other])
        )
        try check([
            (
                .put(put),
                #"{"type":"put","rev":3,"id":"User:7","source":"network","#
                    + #""changed":["User:a%2Fb","User:8"]}"#
            ),
            (
                .delete(WatchFrame.EntryEvent(revision: Revision(4), id: user, source: "client")),
                #"{"type":"delete","rev":4,"key":"User:a%2Fb","origin":"example","#
                    + #""source":"client"}"#
            ),
            (
                .evict(WatchFrame.EvictionEvent(revision: Revision(5), id: user, reason: "lru")),
                #"{"type":"evict","rev":5,"key":"User:a%2Fb","origin":"example","reason":"lru"}"#
            ),
            (
                .modifier(reverted),
                #"{"type":"modifier","rev":4,"id":"01J","state":"dead","#
                    + #""reverted":["User:a%2Fb"],"origin":"example"}"#
            ),
            (
                .modifier(mixed),
                #"{"type":"modifier","rev":4,"id":"01J","state":"queued","targets":["#
                    + #"{"id":"User:7"},"User:a%2Fb",{"key":"User:a%2Fb","origin":"other"}],"#
                    + #""origin":"example"}"#
            ),
        ])
    }

    @Test("Every other frame is written as documented and reads back")
    func otherFrames() throws {
        let origin = try OriginName("example")
        try check([
            (
                .auth(Revision(8_416), origin, .default, state: "needed"),
                #"{"type":"auth","rev":8416,"origin":"example","account":"default","#
                    + #""state":"needed"}"#
            ),
            (
                .origin(Revision(8_416), origin, state: "offline"),
                #"{"type":"origin","rev":8416,"origin":"example","state":"offline"}"#
            ),
            (
                .bookmark(Revision(8_416), isInitialDone: true),
                #"{"type":"bookmark","rev":8416,"initial_done":true}"#
            ),
            (.bookmark(Revision(1), isInitialDone: false), #"{"type":"bookmark","rev":1}"#),
            (
                .lagged(Revision(8_417), droppedAfter: Revision(8_416)),
                #"{"type":"lagged","rev":8417,"dropped_after":8416}"#
            ),
            (.heartbeat(Revision(8_416)), #"{"type":"heartbeat","rev":8416}"#),
            (
                .end(.timeout, Revision(8_417)),
                #"{"type":"end","outcome":"timeout","rev":8417}"#
            ),
            (.end(.shutdown, nil), #"{"type":"end","outcome":"shutdown"}"#),
        ])
        let beat = WatchFrame.heartbeat(Revision(9))
        let report = WatchReport(revision: Revision(9), events: [beat])
        #expect(text(report.encoded()) == #"{"rev":9,"events":[{"type":"heartbeat","rev":9}]}"#)
    }

    @Test("What was there, and a step that goes on, is nothing to come back with")
    func resumption() throws {
        let id = try EntryID("a")
        var event = WatchFrame.EntryEvent(revision: Revision(5), id: id, source: "client")
        #expect(WatchFrame.put(event).resumption == Revision(5))
        event.isInitial = true
        #expect(WatchFrame.put(event).resumption == nil)
        event.isInitial = false
        event.hasMore = true
        #expect(WatchFrame.put(event).resumption == nil)
        #expect(WatchFrame.heartbeat(Revision(6)).resumption == Revision(6))
        #expect(WatchFrame.end(.shutdown, nil).resumption == nil)
        let encoded = FrameFormat.eventStream.encode(WatchFrame.put(event))
        #expect(encoded.starts(with: bytes("event: put\ndata:")))
    }
}
