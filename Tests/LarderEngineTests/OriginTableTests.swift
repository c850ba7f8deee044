import LarderEngine
import LarderModel
import LarderTestSupport
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
        #expect(table.origin(of: try EntryID(url), for: nil)?.name.text == name)
    }

    /// An origin below the whole host, and another one below that.
    private func origins() throws -> [OriginSettings] {
        var origins: [OriginSettings] = []
        for (name, base) in [
            ("v1", "https://a.example/v1"), ("root", "https://a.example"),
            ("admin", "https://a.example/v1/admin"),
        ] {
            origins.append(OriginSettings(name: try OriginName(name), baseURL: try WebURL(base)))
        }
        return origins
    }

    @Test(
        "Only ids of an origin marked as shared are shared, also of varying answers (P-09)",
        arguments: [
            ("https://a.example/v1/x", true), ("https://a.example/v1/x accept=a/b", true),
            ("https://a.example/v1/x vary", true), ("https://a.example/v1/admin/x", false),
            ("https://a.example/v2", false), ("https://a.example/v1/../x", false),
            ("https://a.example:8443/v1/x", false), ("https://a.example.b/v1/x", false),
            ("HTTPS://a.example/v1/x", false), ("note", false),
        ]
    )
    func shared(id: String, isShared: Bool) throws {
        var origins = try origins()
        let none = OriginTable(origins)
        #expect(try !none.hasSharedOrigins && none.sharingOrigin(of: EntryID(id)) == nil)
        origins[0].isShared = true
        let table = OriginTable(origins)
        #expect(table.hasSharedOrigins)
        #expect(try (table.sharingOrigin(of: EntryID(id)) != nil) == isShared)
    }

    @Test(
        "Only URLs of an origin with rules for entities are documents, and URLs of entities",
        arguments: [
            ("https://a.example/v1", true, nil), ("https://a.example/v1/x", true, nil),
            ("https://a.example/v1/todos/7", true, "7"),
            ("https://a.example/v1/todos/7?q", true, nil),
            ("https://a.example/v1/todos/7 accept=a/b", true, nil),
            ("https://a.example/v1/admin/todos/7", false, nil),
            ("https://a.example/todos/7", false, nil), ("https://a.example/v10/x", false, nil),
            ("https://a.example/v1/../x", false, nil), ("http://a.example/v1/x", false, nil),
            ("https://a.example:8443/v1/x", false, nil), ("note", false, nil),
        ] as [(String, Bool, String?)]
    )
    func documents(id: String, isDocument: Bool, entity: String?) throws {
        var origins = try origins()
        origins[0].normalize = NormalizeRules(types: [TypeRule(type: "Todo", url: "/todos/{id}")])
        let table = OriginTable(origins)
        let id = try EntryID(id)
        #expect((table.document(id, for: nil) != nil) == isDocument)
        #expect(table.entity(at: id)?.key.id == entity)
    }

    @Test("An id that is no URL belongs to none", arguments: ["note", "a://b", "https://"])
    func noURL(id: String) throws {
        let base = try WebURL("https://a.example")
        let table = OriginTable([OriginSettings(name: try OriginName("a"), baseURL: base)])
        #expect(table.origin(of: try EntryID(id), for: nil) == nil)
    }

    /// One configured origin, and public hosts for the user 1000.
    private func ownTable() throws -> OriginTable {
        let configured = OriginSettings(
            name: try OriginName("api.example.com"),
            baseURL: try WebURL("https://api.example.com/v1")
        )
        return OriginTable([KnownOrigin(configured, from: .file("larder.yaml"))], owner: 1_000)
    }

    @Test(
        "The origin of a URL depends on the client's user and the daemon's owner",
        arguments: [
            // The configured origin serves everybody.
            ("https://api.example.com/v1/x", 1_000, true, "api.example.com"),
            ("https://api.example.com/v1/x", 1_001, true, "api.example.com"),
            ("https://api.example.com/v1/x", nil, true, "api.example.com"),
            ("https://api.example.com/v1/x", 1_001, false, "api.example.com"),
            // A public host is the daemon's owner's, beside the configured one of its name.
            ("https://api.example.com/v2/x", 1_000, true, "api.example.com_"),
            ("https://other.example.com/x", 1_000, true, "other.example.com"),
            ("https://other.example.com:8443/x", 1_000, true, "other.example.com_8443"),
            ("https://other.example.com/x", 1_001, true, nil),
            ("https://other.example.com/x", 0, true, nil),
            ("https://other.example.com/x", nil, true, nil),
            // What is not public is nobody's.
            ("http://other.example.com/x", 1_000, true, nil),
            ("https://localhost/x", 1_000, true, nil),
            ("https://192.168.0.1/x", 1_000, true, nil),
            // A daemon of the system's has no owner.
            ("https://other.example.com/x", 1_000, false, nil),
            ("https://other.example.com/x", 0, false, nil),
        ] as [(String, UInt32?, Bool, String?)]
    )
    func decision(url: String, uid: UInt32?, isOwn: Bool, name: String?) throws {
        let own = try ownTable()
        let table = isOwn ? own : OriginTable(own.origins)
        let url = try WebURL(url)
        let found = table.origin(of: url, for: uid)
        #expect(found?.name.text == name)
        if let origin = found, table[origin.name] == nil {
            #expect(origin.baseURL.originText == url.originText)
            #expect(table.origin(named: origin.name, for: uid) == origin)
        } else if let origin = found {
            #expect(origin == own.origins[0])
        }
        #expect(table.origin(of: try EntryID(url), for: uid)?.name.text == name)
    }

    @Test("An origin is found by its name, a public host's by its owner only")
    func named() throws {
        let table = try ownTable()
        let configured = try OriginName("api.example.com")
        #expect(table.origin(named: configured, for: nil) == table.origins[0])
        let other = try OriginName("other.example.com")
        #expect(table.origin(named: other, for: 1_001) == nil)
        #expect(table.origin(named: try OriginName("localhost"), for: 1_000) == nil)
        #expect(table.origin(named: try OriginName("other.example.com_"), for: 1_000) == nil)
        let origin = try #require(table.origin(named: other, for: 1_000))
        #expect(table[other] == nil)
        #expect(origin.baseURL.text == "https://other.example.com/")
    }

    @Test("A table with an origin more or less is another table")
    func changes() throws {
        let table = try ownTable()
        let added = KnownOrigin(
            OriginSettings(name: try OriginName("b"), baseURL: try WebURL("https://b.example")),
            from: .api
        )
        let more = table.with(added)
        #expect(more.known == [table.known[0], added])
        #expect(more.origin(of: try WebURL("https://b.example/x")) == added.settings)
        #expect(more.owner == 1_000)
        #expect(more.without(added.name).known == table.known)
        #expect(more.with(added).known == more.known)
    }
}
