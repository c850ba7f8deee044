import LarderModel
import Testing

@Suite("An entity's key and its own URL")
struct EntityKeyTests {
    @Test(
        "In type and id '/', ':', '%' and control characters are percent-encoded",
        arguments: [
            ("User", "7", "User:7"), ("User", "a b", "User:a b"), ("a/b", "c:d", "a%2Fb:c%3Ad"),
            ("100%", "%41", "100%25:%2541"), ("T", "\u{0}\n\u{7F}", "T:%00%0A%7F"),
            ("Ü", "é", "Ü:é"), ("T", "{\"a\":1}", "T:{\"a\"%3A1}"), ("T", "tmp:1", "T:tmp:1"),
            ("T", "tmp:a:b/", "T:tmp:a%3Ab%2F"), ("tmp:T", "x", "tmp%3AT:x"),
        ]
    )
    func encoding(type: String, id: String, text: String) throws {
        let key = try #require(EntityKey(type: type, id: id))
        #expect(key.text == text)
        #expect(key.type == type)
        #expect(key.id == id)
        #expect(try EntityKey(text) == key)
        #expect(
            Array(type.utf8).withUnsafeBytes { type in
                Array(id.utf8).withUnsafeBytes { EntityKey(type: type, id: $0) }
            } == key
        )
    }

    @Test(
        "A key that is encoded otherwise than need be is the same key",
        arguments: [
            ("U%73er:7", "User:7"), ("a%2fb:c", "a%2Fb:c"), ("a/b:c", "a%2Fb:c"),
            ("T:a:b", "T:a%3Ab"), ("T:tmp%3A1", "T:tmp:1"), ("T:%C3%A9", "T:é"),
        ]
    )
    func reading(written: String, text: String) throws {
        #expect(try EntityKey(written).text == text)
    }

    @Test(
        "A text that is no key is refused",
        arguments: ["", "User", ":7", "User:", ":", "T:%", "T:%4", "T:%zz", "T:%FF", "T:%C3"]
    )
    func refused(text: String) {
        #expect(throws: ModelError.self) { try EntityKey(text) }
    }

    @Test("A key has at most 1,024 bytes, as it is written")
    func length() {
        let longest = String(repeating: "a", count: Limits.entityKeyBytesMax - 2)
        #expect(EntityKey(type: "T", id: longest)?.text.utf8.count == Limits.entityKeyBytesMax)
        #expect(EntityKey(type: "T", id: longest + "a") == nil)
        #expect(EntityKey(type: "T", id: String(repeating: "/", count: 400)) == nil)
        #expect(EntityKey(type: "", id: "a") == nil)
        #expect(EntityKey(type: "T", id: "") == nil)
    }

    @Test("Two keys are the same when their bytes are")
    func equality() throws {
        #expect(try EntityKey("T:é") != EntityKey("T:e\u{301}"))
        #expect(try Set([EntityKey("T:1"), EntityKey("T:1"), EntityKey("t:1")]).count == 2)
    }

    @Test("A URL with fields is matched, and written")
    func urls() throws {
        let url = try #require(EntityURL("/shops/{shop}/books/{isbn}"))
        #expect(url.fields == ["shop", "isbn"])
        #expect(url.texts(in: "/shops/a%2Fb/books/12") == ["a/b", "12"])
        #expect(url.path(["a/b c", "é"]) == "/shops/a%2Fb%20c/books/%C3%A9")
        for other in [
            "", "/", "/shops/a/books", "/shops/a/books/", "/shops/a/books/1/2", "/x/a/books/1",
        ] {
            #expect(url.texts(in: other) == nil, "\(other)")
        }
        #expect(EntityURL("/viewer")?.texts(in: "/viewer") == [])
    }

    @Test(
        "A text that is no such URL is refused",
        arguments: [
            "", "books/{isbn}", "/{a}b", "/a{b}", "/{}", "/{a}/{a}", "/{a", "/b}", "/{{a}}",
            "/{a}?b",
        ]
    )
    func refusedURL(text: String) {
        #expect(EntityURL(text) == nil)
    }
}
