import LarderModel
import LarderStrategy
import Testing

@Suite("The rule for public URLs")
struct PublicRuleTests {
    @Test(
        "A name with a domain, or a public address, over https is public",
        arguments: [
            "https://example.com/", "https://api.example.com/x?y", "https://example.com:8443/",
            "https://example.com./", "https://1.1.1.1/", "https://[2606:4700:4700::1111]/",
            "https://xn--bcher-kva.example/", "https://1.example.com/", "https://local.example/",
            "https://thelocal.example/", "https://home.arpa.example/",
        ]
    )
    func isPublic(url: String) throws {
        #expect(PublicRule.admits(try WebURL(url)))
    }

    @Test(
        "Anything else is not",
        arguments: [
            // Plain http can be anybody's.
            "http://example.com/",
            // This machine and its network, by name.
            "https://localhost/", "https://localhost./", "https://a.localhost/",
            "https://printer.local/", "https://printer.local./", "https://LOCALHOST:8443/",
            "https://api.internal/", "https://metadata.google.internal/", "https://nas.home.arpa/",
            "https://home.arpa/", "https://local/", "https://intranet/", "https://intranet./",
            // By address, in each spelling.
            "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f.1/",
            "https://0177.0.0.1/", "https://10.1.2.3/", "https://172.16.0.1/",
            "https://192.168.1.1/", "https://169.254.169.254/", "https://0.0.0.0/",
            "https://100.64.0.1/", "https://[::1]/", "https://[::]/", "https://[fe80::1]/",
            "https://[fd00::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
            // No names.
            "https://a_b.example/", "https://example..com/", "https://.example.com/",
        ]
    )
    func isNotPublic(url: String) throws {
        #expect(!PublicRule.admits(try WebURL(url)))
    }
}

@Suite("Origins that are not configured")
struct ImplicitOriginTests {
    private func origin(_ url: String, taken: Set<String> = []) throws -> OriginSettings? {
        ImplicitOrigin.origin(for: try WebURL(url)) { taken.contains($0.text) }
    }

    @Test("The name of a public origin is its host, and its base URL has scheme, host and port")
    func name() throws {
        let plain = try #require(try origin("https://Api.Example.com/x?y"))
        #expect(plain.name.text == "api.example.com")
        #expect(plain.baseURL.text == "https://api.example.com/")
        #expect(!plain.allowPrivate)
        let ported = try #require(try origin("https://api.example.com:8443/x"))
        #expect(ported.name.text == "api.example.com_8443")
        #expect(ported.baseURL.text == "https://api.example.com:8443/")
        #expect(try origin("https://[2606:4700::1]/")?.name.text == "2606-4700--1")
        #expect(try origin("http://api.example.com/") == nil)
        #expect(try origin("https://localhost/") == nil)
    }

    @Test("A configured origin keeps its name")
    func taken() throws {
        let taken: Set = ["a.example", "a.example_", "b.example_8443"]
        #expect(try origin("https://a.example/", taken: taken)?.name.text == "a.example__")
        #expect(try origin("https://b.example:8443/", taken: taken)?.name.text == "b.example_8443_")
        #expect(try origin("https://c.example/", taken: taken)?.name.text == "c.example")
    }

    @Test("A name leads back to its URL, and no other name to any")
    func back() throws {
        for url in ["https://a.example/", "https://a.example:8443/", "https://1.1.1.1/"] {
            let name = try #require(try origin(url)).name
            #expect(ImplicitOrigin.baseURL(named: name) == (try WebURL(url)))
        }
        for name in [
            "localhost", "example", "a.example_0", "a.example_x", "a_b_c.example", "10.0.0.1", "_",
        ] {
            #expect(ImplicitOrigin.baseURL(named: try OriginName(name)) == nil, "\(name)")
        }
    }

    @Test("Names of long hosts stay within the limit and apart")
    func long() throws {
        let label = String(repeating: "a", count: 60)
        let hosts = ["x", "y"].map { "\(label).\(label).\($0).example" }
        let names = try hosts.map { try #require(try origin("https://\($0):8443/")).name }
        #expect(Set(names).count == 2)
        let taken = Set(names.map(\.text))
        #expect(
            try origin("https://\(hosts[0]):8443/", taken: taken)?.name.text == names[0].text + "_"
        )
    }

    @Test(
        "A name is suggested for every host",
        arguments: [
            ("https://api.example.com/x", "api.example.com"),
            ("http://127.0.0.1:8099/x", "127.0.0.1-8099"), ("https://[::1]:81/", "--1-81"),
            ("http://localhost/", "localhost"),
        ]
    )
    func suggested(url: String, name: String) throws {
        #expect(ImplicitOrigin.suggestedName(for: try WebURL(url))?.text == name)
    }
}
