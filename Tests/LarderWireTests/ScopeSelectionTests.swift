import LarderModel
import LarderWire
import Testing

@Suite("Whose rows a command is about")
struct ScopeSelectionTests {
    @Test("Each scope is written as it is read")
    func roundTrip() throws {
        let work = try AccountName("work")
        let cases: [(ScopeSelection, query: String, json: String)] = [
            (.own(.default), "", ""),
            (.own(work), "account=work", #","account":"work""#),
            (.shared, "scope=shared", #","scope":"shared""#),
            (.user(0, nil), "scope=uid%3A0", #","scope":"uid:0""#),
            (
                .user(.max, work), "scope=uid%3A4294967295&account=work",
                #","scope":"uid:4294967295","account":"work""#
            ),
            (
                .user(7, .default), "scope=uid%3A7&account=default",
                #","scope":"uid:7","account":"default""#
            ),
            (.all, "scope=all", #","scope":"all""#),
        ]
        for (selection, query, json) in cases {
            var list = EntryListCommand()
            list.scope = selection
            #expect(list.query == query)
            #expect(try EntryListCommand(query: query[...]) == list)
            var evict = EvictCommand(.all)
            evict.scope = selection
            #expect(text(evict.encodedJSON()) == "{\"all\":true\(json)}")
            #expect(try EvictCommand(json: evict.encodedJSON()) == evict)
        }
        #expect(try EntryListCommand(query: "scope=own") == EntryListCommand())
    }

    @Test(
        "What is no scope is refused by name",
        arguments: [
            "scope=", "scope=uid", "scope=uid:", "scope=uid:-1", "scope=uid:%2B1", "scope=uid:01",
            "scope=uid:4294967296", "scope=uid:1:x", "scope=uid:1e3", "scope=everybody",
            "scope=ALL", "scope=all&account=work", "scope=shared&account=work",
            "scope=uid:7&account=a%2Fb", "scope=all&scope=all", "scope=uid:%D9%A7",
        ]
    )
    func refusals(query: String) {
        let problem = #expect(throws: Problem.self) { try EntryListCommand(query: query[...]) }
        #expect(problem?.kind == .badRequest)
        let detail = problem?.detail ?? ""
        #expect(detail.contains("scope") || detail.contains("account"), "\(detail)")
    }

    @Test("A row of others' says whose it is, and reads back")
    func owner() throws {
        let entry = Entry(
            id: try EntryID("a"),
            kind: .blob,
            storedAt: Timestamp(milliseconds: 0),
            revision: Revision(1),
            body: BodySummary(byteCount: 0, digest: Digest(high: 1, low: 2), isJSON: false)
        )
        var item = EntryListItem(entry: entry, accountedBytes: 1, lastUsed: 1, now: entry.storedAt)
        for (scope, members) in [
            (
                Scope.own(uid: 7, account: try AccountName("work")),
                #""scope":"uid:7","account":"work""#
            ),
            (.shared, #""scope":"shared","account":null"#),
        ] {
            item.scope = scope
            #expect(text(item.encoded()).hasPrefix("{\"id\":\"a\",\(members),\"kind\""))
            #expect(try EntryListItem(decoding: item.encoded()) == item)
            #expect(Scope(text: scope.text) == scope)
        }
        for broken in ["uid:", "uid:x", "all", "own"] {
            let json = text(item.encoded()).replacing("\"shared\"", with: "\"\(broken)\"")
            #expect(throws: WireError.unknownValue(member: "scope", text: broken)) {
                try EntryListItem(decoding: bytes(json))
            }
        }
    }

    @Test("A scope's text reads back; what is none does not")
    func scopeText() {
        for text in ["", "7", ":default", "7:", "7:a b", "+7:a", "07:a", "shared:a", "-1:a"] {
            #expect(Scope(text: text) == nil, "\(text)")
        }
        #expect(Scope(text: "7:a") == (try? AccountName("a")).map { .own(uid: 7, account: $0) })
    }
}
