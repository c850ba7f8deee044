import LarderModel
import LarderWire
import Testing

@Suite("Lists and explanations of entries")
struct EntryListTests {
    private let now = Timestamp(milliseconds: 1_795_200_207_120)

    private func fetched() throws -> Entry {
        var entry = Entry(
            id: try EntryID("https://a.example/42"),
            kind: .fetched,
            storedAt: now,
            revision: Revision(7),
            body: BodySummary(byteCount: 10, digest: Digest(high: 1, low: 2), isJSON: true)
        )
        entry.origin = try OriginName("example")
        entry.mediaType = "application/json"
        entry.etag = "\"a1\""
        entry.lastModified = "Fri, 20 Nov 2026 18:43:27 GMT"
        entry.headers.append("Vary", "Accept")
        entry.headers.append("vary", "X")
        entry.freshUntil = now.advanced(by: .seconds(1))
        return entry
    }

    private let fetchedMembers =
        #""id":"https://a.example/42","kind":"fetched","origin":"example","status":200,"#
        + #""media_type":"application/json","bytes":10,"size":300,"#
        + #""stored_at":"2026-11-20T18:43:27.120Z","last_used":5,"#
        + #""fresh_until":"2026-11-20T18:43:28.120Z","stale":false,"rev":7,"etag":"\"a1\"","pinned":false,"source":"cache""#

    @Test("A page lists its rows and where to go on")
    func page() throws {
        let blob = Entry(
            id: try EntryID("note"),
            kind: .blob,
            storedAt: now,
            revision: Revision(8),
            body: BodySummary(byteCount: 0, digest: Digest(high: 0, low: 255), isJSON: false)
        )
        let page = EntryPage(
            items: [
                EntryListItem(entry: try fetched(), accountedBytes: 300, lastUsed: 5, now: now),
                EntryListItem(
                    entry: blob,
                    accountedBytes: 260,
                    lastUsed: 6,
                    isPinned: true,
                    source: .modifier,
                    now: now
                ),
            ],
            next: "c"
        )
        let blobMembers =
            #""id":"note","kind":"blob","origin":null,"status":200,"media_type":null,"bytes":0,"#
            + #""size":260,"stored_at":"2026-11-20T18:43:27.120Z","last_used":6,"#
            + #""fresh_until":null,"stale":false,"rev":8,"#
            + #""etag":"\"larder-000000000000000000000000000000ff\"","pinned":true,"source":"modifier""#
        let expected = "{\"items\":[{\(fetchedMembers)},{\(blobMembers)}],\"next\":\"c\"}"
        #expect(text(page.encoded()) == expected)
        #expect(try EntryPage(decoding: page.encoded()) == page)
        let empty = EntryPage(items: [], next: nil)
        #expect(text(empty.encoded()) == #"{"items":[],"next":null}"#)
        #expect(try EntryPage(decoding: empty.encoded()) == empty)
    }

    @Test("An explanation adds headers, digest and what protects it")
    func explanation() throws {
        let entry = try fetched()
        let item = EntryListItem(entry: entry, accountedBytes: 300, lastUsed: 5, now: now)
        var explanation = EntryExplanation(entry: entry, item: item, protectedBy: ["in flight"])
        let whole =
            #""form":"whole","whole_reason":null,"skeleton":null,"entities":null,"#
            + #""keyless":{"count":0,"sample":null},"repeated":0,"#
        let expected =
            "{\(fetchedMembers)," + #""last_modified":"Fri, 20 Nov 2026 18:43:27 GMT","#
            + #""headers":[{"name":"Vary","value":"Accept"},{"name":"vary","value":"X"}],"#
            + #""digest":"00000000000000010000000000000002","protected_by":["in flight"],"#
            + whole
        let none = #""pending":0,"base":null,"view":null,"modifiers":[],"truncated":false}"#
        #expect(text(explanation.encoded()) == expected + none)
        #expect(try EntryExplanation(decoding: explanation.encoded()) == explanation)
        let (old, new) = (bytes("1"), bytes("[\n2]"))
        var pending = PendingExplanation(
            count: 102,
            base: .json(old, isComplete: true),
            view: .deleted
        )
        var step = PendingExplanation.Step(
            id: try ModifierID("m-1"),
            state: .queued,
            effect: "patch"
        )
        pending.steps.append(step)
        step.inapplicable = "there is nothing at '/a'"
        step.after = .json(bytes("[ 2]"), isComplete: false)
        step.without = .bytes(7)
        pending.steps.append(step)
        pending.isTruncated = true
        explanation.pending = pending
        let head = #""pending":102,"base":{"state":"value","complete":true,"body":1},"#
        let first =
            #"{"id":"m-1","state":"queued","effect":"patch","inapplicable":null,"after":null,"#
            + #""without":null}"#
        let second =
            #"{"id":"m-1","state":"queued","effect":"patch","#
            + #""inapplicable":"there is nothing at '/a'","after":{"state":"value","#
            + #""complete":false,"body":[ 2]},"#
            + #""without":{"state":"value","complete":true,"bytes":7}}"#
        let tail =
            #""view":{"state":"deleted"},"modifiers":[\#(first),\#(second)],"#
            + #""truncated":true}"#
        #expect(text(explanation.encoded()) == expected + head + tail)
        #expect(try EntryExplanation(decoding: explanation.encoded()) == explanation)
        explanation.pending?.view = .json(new, isComplete: true)
        #expect(text(explanation.encoded()).contains(#""view":{"state":"value","complete":true,"#))
        #expect(!text(explanation.encoded()).contains("\n"))
    }

    @Test("A row that is none is refused")
    func refusals() {
        #expect(throws: WireError.wrongType(member: "items", wanted: "an array")) {
            try EntryPage(decoding: bytes(#"{"items":{},"next":null}"#))
        }
        #expect(throws: WireError.unknownValue(member: "kind", text: "odd")) {
            try EntryListItem(decoding: bytes(#"{"id":"a","kind":"odd"}"#))
        }
        #expect(throws: WireError.unknownValue(member: "id", text: "")) {
            try EntryListItem(decoding: bytes(#"{"id":""}"#))
        }
    }

    @Test("A list command goes into a query and comes back")
    func command() throws {
        var command = EntryListCommand()
        #expect(command.query == "")
        #expect(try EntryListCommand(query: "") == command)
        command.prefix = "https://a/é&b"
        command.origin = try OriginName("example")
        command.sort = .used
        command.limit = 1_000
        command.cursor = "x+/="
        command.scope = .own(try AccountName("work"))
        #expect(
            command.query == "prefix=https%3A%2F%2Fa%2F%C3%A9%26b&origin=example&sort=used"
                + "&limit=1000&cursor=x%2B%2F%3D&account=work"
        )
        #expect(try EntryListCommand(query: command.query[...]) == command)
        #expect(try EntryListCommand(query: "prefix=") == EntryListCommand())
    }

    @Test(
        "A list command is refused by the name of what is wrong",
        arguments: [
            ("sort=name", ProblemKind.badRequest, "sort: 'name'"),
            ("limit=0", .badRequest, "limit: '0'"), ("limit=1001", .badRequest, "limit: '1001'"),
            ("limit=ten", .badRequest, "limit: 'ten'"), ("origin=a%2Fb", .badRequest, "origin"),
            ("prefix=a%0A", .badRequest, "prefix"), ("account=", .badRequest, "account"),
            ("colour=1", .unknownParameter, "'colour'"), ("show=base", .unknownParameter, "'show'"),
        ]
    )
    func commandRefusals(query: String, kind: ProblemKind, named: String) {
        let problem = #expect(throws: Problem.self) { try EntryListCommand(query: query[...]) }
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }
}
