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
}
