import LarderEngine
import LarderModel
import Testing

struct OriginTableTests {
    @Test(
        "A URL belongs to the origin with the longest base URL in whole segments",
        arguments: [
            ("https://a.example/", "root"), ("https://a.example/v10/x", "root"),
            ("https://a.example/v1", "v1"), ("https://a.example/v1?q", "v1"),
            ("https://a.example/v1/x", "v1"), ("https://a.example/v1/admin", "admin"),
            ("https://a.example/v1/admin/x", "admin"), ("https://a.example/v1/administer", "v1"),
            ("https://a.example:8443/v1", "port"), ("https://a.example/v1/admin/../x", "root"),
            ("https://a.example/v1/%2e%2E/x", "root"),
            ("http://a.example/v1", nil), ("https://b.example/v1", nil),
        ] as [(String, String?)]
    )
    func longestPrefix(url: String, name: String?) throws {
        let bases = [
            "root": "https://a.example", "v1": "https://a.example/v1",
            "admin": "https://a.example/v1/admin/", "port": "https://a.example:8443",
        ]
        let table = OriginTable(
            try bases.map { name, base in
                OriginSettings(name: try OriginName(name), baseURL: try WebURL(base))
            }
        )
        #expect(table.origin(of: try WebURL(url))?.name.text == name)
        #expect(table.origin(of: try EntryID(url))?.name.text == name)
    }

    @Test("An id that is no URL belongs to none", arguments: ["note", "a://b", "https://"])
    func noURL(id: String) throws {
        let base = try WebURL("https://a.example")
        let table = OriginTable([OriginSettings(name: try OriginName("a"), baseURL: base)])
        #expect(table.origin(of: try EntryID(id)) == nil)
    }
}
