import LarderModel
import Testing

@Suite("Ids, accounts, origins and scopes")
struct NamesTests {
    @Test("An id is 1 to 8,192 bytes without control characters")
    func ids() throws {
        let longest = String(repeating: "é", count: 4_096)
        for text in ["a", " ", "a/b?c#d", "é\u{1F300}", "\u{85}", longest] {
            #expect(try EntryID(text).text == text)
        }
        for text in ["", longest + "a", "a\n", "\u{0}", "a\u{1F}b", "\u{7F}"] {
            #expect(throws: ModelError.self) { try EntryID(text) }
        }
    }

    @Test("Two ids are the same when their bytes are")
    func idEquality() throws {
        #expect(try EntryID("a") == EntryID("a"))
        #expect(try EntryID("a") != EntryID("A"))
        let composed = try EntryID("\u{E9}")
        let decomposed = try EntryID("e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        // Two orders of the same marks: as many bytes, and the same text to String.
        let marks = [try EntryID("a\u{301}\u{323}"), try EntryID("a\u{323}\u{301}")]
        #expect(marks[0].text == marks[1].text)
        #expect(Set(marks).count == 2)
        let copy = try EntryID(String(decoding: Array("\u{E9}".utf8), as: UTF8.self))
        #expect(composed == copy)
        #expect(composed.hashValue == copy.hashValue)
    }

    @Test("An entity's stored id is its name after a mark that no client can write")
    func entityIDs() throws {
        let origin = try OriginName("example")
        let name = EntityName(try EntityKey("User:a%2Fb"), of: origin)
        let id = EntryID(name)
        #expect(id.isEntity)
        #expect(id.entity == name)
        #expect(id.description == "entity:example/User:a%2Fb")
        #expect(try EntryID(stored: id.text) == id)
        #expect(throws: ModelError.self) { try EntryID(id.text) }
        #expect(id.text < EntryID.firstOfEntries)
        #expect(try EntryID(given: id.description) == id)
        #expect(id.text.hasPrefix(EntryID.entityPrefix(origin)))
        for (prefix, isIts) in [("entity:", true), ("entity:example/User:", true), ("e", false)] {
            #expect(id.text.hasPrefix(try EntryID.prefix(given: prefix)) == isIts)
        }
        for text in ["\u{1}", "\u{1}example", "\u{1}example/", "\u{1}a b/User:1", "\u{1}/User:1"] {
            #expect(throws: ModelError.self) { try EntryID(stored: text) }
        }
        let plain = try EntryID(stored: "https://x/1")
        #expect(!plain.isEntity)
        #expect(plain.entity == nil)
    }

    @Test("An account is 1 to 64 letters, digits and four signs")
    func accounts() throws {
        for text in ["a", "default", "me@work.example", "A-b_9", String(repeating: "a", count: 64)]
        {
            #expect(try AccountName(text).text == text)
        }
        for text in ["", "a b", "a/b", "a:b", "é", "a\n", String(repeating: "a", count: 65)] {
            #expect(throws: ModelError.badAccount(text)) { try AccountName(text) }
        }
        #expect(try AccountName("default") == .default)
    }

    @Test("An origin's name is 1 to 64 letters, digits and three signs")
    func origins() throws {
        #expect(try OriginName("api.example-1_x").text == "api.example-1_x")
        for text in ["", "a/b", "a@b", "a b", "é", String(repeating: "a", count: 65)] {
            #expect(throws: ModelError.badOriginName(text)) { try OriginName(text) }
        }
        #expect(try OriginName("a") < OriginName("b"))
    }

    @Test("No scope is spelled like another")
    func scopes() throws {
        let scopes: [Scope] = [
            .shared, .own(uid: 0, account: .default), .own(uid: 1, account: .default),
            .own(uid: 1, account: try AccountName("shared")), .own(uid: 11, account: .default),
            .own(uid: 1, account: try AccountName("1")), .own(uid: .max, account: .default),
        ]
        #expect(Set(scopes.map(\.text)).count == scopes.count)
        #expect(scopes[0].text == "shared")
        #expect(scopes[2].text == "1:default")
    }
}
