import LarderJSON
import LarderModel
import LarderWire
import Testing

@Suite("Entities as they travel")
struct EntityTests {
    private let now = Timestamp(milliseconds: 1_795_200_207_120)

    private func name(_ key: String) throws -> EntityName {
        EntityName(try EntityKey(key), of: try OriginName("example"))
    }

    private func item(_ key: String = "User:a%2Fb") throws -> EntityListItem {
        EntityListItem(
            name: try name(key),
            isDeleted: false,
            byteCount: 10,
            accountedBytes: 300,
            storedAt: now,
            lastUsed: 5,
            revision: Revision(7)
        )
    }

    private let members =
        #""key":"User:a%2Fb","origin":"example","kind":"entity","type":"User","deleted":false,"#
        + #""bytes":10,"size":300,"stored_at":"2026-11-20T18:43:27.120Z","last_used":5,"source":"cache","rev":7"#

    @Test(
        "A key stands in a path encoded once more, however much of it is",
        arguments: [
            ("User%3A7", "User:7"), ("User:7", "User:7"), ("User%3Aa%252Fb", "User:a%2Fb"),
            ("User:a%2Fb", "User:a%2Fb"), ("User:a/b", "User:a%2Fb"), ("T:%25253A", "T:%253A"),
            ("%C3%9C:%C3%A9", "Ü:é"), ("T:tmp:1", "T:tmp:1"),
        ]
    )
    func path(rest: String, key: String) throws {
        let read = try PercentCoding.key(inPath: rest[...])
        #expect(read.text == key)
        let path = PercentCoding.entityPath(read)
        #expect(try PercentCoding.key(inPath: path.dropFirst("/v1/entities/".count)) == read)
    }

    @Test(
        "A path that holds no key is refused",
        arguments: ["", "User", ":7", "User:", "A:%FF", "A:%"]
    )
    func badPath(rest: String) {
        let problem = #expect(throws: Problem.self) { try PercentCoding.key(inPath: rest[...]) }
        #expect(problem?.kind == .badID)
    }

    @Test("What is asked of an entity goes into a query and comes back")
    func command() throws {
        var command = EntityCommand()
        #expect(command.query == "")
        #expect(try EntityCommand(query: "") == command)
        command.origin = try OriginName("example")
        command.form = .base
        command.expansion = 8
        command.account = try AccountName("work")
        #expect(command.query == "origin=example&show=base&expand=8&account=work")
        #expect(try EntityCommand(query: command.query[...]) == command)
        #expect(try EntityCommand(query: "show=view&expand=0") == EntityCommand())
    }

    @Test(
        "What cannot be asked of an entity is refused by name",
        arguments: [
            ("origin=", ProblemKind.badRequest, "origin"),
            ("show=both", .badRequest, "show: 'both'"),
            ("expand=9", .badRequest, "expand: '9'"), ("expand=-1", .badRequest, "expand: '-1'"),
            ("expand=all", .badRequest, "expand: 'all'"), ("account=", .badRequest, "account"),
            ("type=User", .unknownParameter, "'type'"),
        ]
    )
    func refusals(query: String, kind: ProblemKind, named: String) {
        let problem = #expect(throws: Problem.self) { try EntityCommand(query: query[...]) }
        #expect(problem?.kind == kind)
        #expect(problem?.detail.contains(named) == true, "\(problem?.detail ?? "")")
    }

    @Test("The command of a list goes into a query and comes back")
    func listCommand() throws {
        var command = EntityListCommand()
        #expect(command.query == "")
        command.origin = try OriginName("example")
        command.type = "Ar/ticle"
        command.limit = 7
        command.cursor = "x+/="
        command.scope = .user(1_000, nil)
        #expect(
            command.query
                == "origin=example&type=Ar%2Fticle&limit=7&cursor=x%2B%2F%3D&scope=uid%3A1000"
        )
        #expect(try EntityListCommand(query: command.query[...]) == command)
        let long = String(repeating: "t", count: Limits.entityKeyBytesMax)
        for query in ["type=", "type=\(long)", "limit=0", "sort=age", "prefix=a"] {
            #expect(throws: Problem.self) { try EntityListCommand(query: query[...]) }
        }
    }

    @Test("A page lists its rows and where to go on")
    func page() throws {
        var deleted = try item("A:1")
        deleted.isDeleted = true
        deleted.scope = .own(uid: 1_000, account: .default)
        let page = EntityPage(items: [try item(), deleted], next: "c")
        let written = text(page.encoded())
        #expect(written.hasPrefix(#"{"items":[{\#(members)},{"key":"A:1","#))
        #expect(
            written.contains(
                #""scope":"uid:1000","account":"default","kind":"entity","type":"A","deleted":true,"#
            )
        )
        #expect(try EntityPage(decoding: page.encoded()) == page)
        #expect(throws: WireError.missingMember("origin")) {
            try EntityPage(decoding: bytes(#"{"items":[{"key":"A:1"}],"next":null}"#))
        }
    }

    @Test("An explanation tells base, what refers to it and to what it refers")
    func explanation() throws {
        let base = ViewReport.json(bytes(#"{"id":7}"#), isComplete: true)
        let friend = ReferenceList.Item(id: EntryID(try name("User:8")), members: ["friend"])
        let page = ReferenceList.Item(id: try EntryID("https://a/1"), members: ["id", "name"])
        var explanation = EntityExplanation(
            item: try item(),
            protectedBy: ["targeted"],
            pending: PendingExplanation(count: 0, base: base, view: base),
            referencedBy: ReferenceList(count: 102, items: [page, friend]),
            refersTo: ReferenceList(count: 0, items: [])
        )
        let view = #"{"state":"value","complete":true,"body":{"id":7}}"#
        let head = #"{\#(members),"version":null,"fetch":null,"protected_by":["targeted"],"#
        let referrers =
            #"{"id":"https://a/1","members":["id","name"]},"#
            + #"{"key":"User:8","origin":"example","members":["friend"]}"#
        #expect(
            text(explanation.encoded()) == head
                + #""pending":0,"base":\#(view),"view":\#(view),"modifiers":[],"#
                + #""truncated":false,"#
                + #""referenced_by":{"count":102,"items":[\#(referrers)]},"#
                + #""refers_to":{"count":0,"items":[]}}"#
        )
        #expect(try EntityExplanation(decoding: explanation.encoded()) == explanation)
        explanation.version = .string("2026-11-20")
        explanation.fetch = 17
        #expect(try EntityExplanation(decoding: explanation.encoded()) == explanation)
        explanation.version = try JSONValue(parsing: bytes("12345678901234567890.0"))
        #expect(try EntityExplanation(decoding: explanation.encoded()) == explanation)
    }

    @Test("How an entry is stored is told: as it came and why, or by its skeleton and entities")
    func form() throws {
        let entry = Entry(
            id: try EntryID("https://a/1"),
            kind: .fetched,
            storedAt: now,
            revision: Revision(7),
            body: BodySummary(byteCount: 10, digest: Digest(high: 1, low: 2), isJSON: true)
        )
        let item = EntryListItem(entry: entry, accountedBytes: 300, lastUsed: 5, now: now)
        var explanation = EntryExplanation(entry: entry, item: item, protectedBy: [])
        explanation.form = FormExplanation(.whole(reason: "none of its objects is an entity"))
        explanation.form.keylessCount = 2
        explanation.form.keylessSample = "/items/0"
        #expect(
            text(explanation.encoded()).contains(
                #""form":"whole","whole_reason":"none of its objects is an entity","skeleton":null,"#
                    + #""entities":null,"keyless":{"count":2,"sample":"/items/0"},"repeated":0,"#
            )
        )
        #expect(try EntryExplanation(decoding: explanation.encoded()) == explanation)
        let user = ReferenceList.Item(id: EntryID(try name("User:7")), members: ["name"])
        explanation.form = FormExplanation(
            .normalized(skeleton: "12", entities: ReferenceList(count: 1, items: [user]))
        )
        explanation.form.repeatedCount = 1
        #expect(
            text(explanation.encoded()).contains(
                #""form":"normalized","whole_reason":null,"skeleton":"12","entities":{"count":1,"#
                    + #""items":[{"key":"User:7","origin":"example","members":["name"]}]},"#
                    + #""keyless":{"count":0,"sample":null},"repeated":1,"#
            )
        )
        #expect(try EntryExplanation(decoding: explanation.encoded()) == explanation)
    }
}
