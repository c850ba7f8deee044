import LarderModel
import Testing

@Suite("Ids as clients give them")
struct EntryIDTests {
    @Test(
        "A URL in any spelling is the id of its answer",
        arguments: [
            ("https://host", "https://host/"), ("HTTPS://Host:443/a#b", "https://host/a"),
            ("http://host/\u{E9}", "http://host/%C3%A9"), ("http://host?q", "http://host/?q"),
            ("http://host/a", "http://host/a"),
        ]
    )
    func urls(given: String, expected: String) throws {
        #expect(try EntryID(given: given).text == expected)
    }

    @Test(
        "A name that is no URL, and the id of a variant, stay as they are",
        arguments: [
            "notes/1", "http:", "http://", "https://a/b accept=x", "x-https://Host", "ftp://H",
        ]
    )
    func names(given: String) throws {
        #expect(try EntryID(given: given).text == given)
    }

    private static let digest = String(repeating: "0f", count: 32)

    @Test(
        "The id of a read with a body is no variant of its URL, and has variants (S32)",
        arguments: [ReadMethod.post, .query]
    )
    func requests(method: ReadMethod) throws {
        let url = try WebURL("https://host/a")
        let content = RequestContent(
            method,
            mediaType: "text/plain",
            bytes: [1, 10],
            digest: Self.digest
        )
        let id = try EntryID(url, content)
        #expect(id.text == "https://host/a \(method.rawValue)=sha256-\(Self.digest)")
        #expect(try EntryID(given: id.text) == id)
        #expect(id.isOfRequest)
        #expect(id.urlOfVariant == nil)
        #expect(id.variantPrefix == id.text + " ")
        #expect(id.urlOfRequest?.text == url.text)
        let variant = try EntryID(id.text + " accept=x y")
        #expect(!variant.isOfRequest)
        #expect(variant.urlOfVariant == id)
        #expect(variant.variantPrefix == nil)
        #expect(variant.urlOfRequest?.text == url.text)
        let found = content.stored.withUnsafeBytes { RequestContent(stored: $0, id: id) }
        #expect(found == content)
        #expect(found?.mediaType == "text/plain")
        #expect(found?.bytes == [1, 10])
    }

    @Test(
        "Another id with a space is a variant's",
        arguments: [
            "POST=sha256-0", "post=sha256-\(Self.digest)", "POST=sha256-\(Self.digest)0",
            "PUT=sha256-\(Self.digest)",
        ]
    )
    func noRequests(name: String) throws {
        let id = try EntryID("https://host/a \(name)")
        #expect(!id.isOfRequest)
        #expect(id.urlOfRequest == nil)
        #expect(id.urlOfVariant?.text == "https://host/a")
    }
}
