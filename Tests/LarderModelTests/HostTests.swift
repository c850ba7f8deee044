import LarderModel
import Testing

@Suite("Hosts, and places made of them")
struct HostTests {
    @Test(
        "An address is told from a name, and from what some resolvers take for an address",
        arguments: [
            ("a.example", .name), ("localhost", .name), ("1.example", .name), ("0x.example", .name),
            ("1.2.3.4", .address([1, 2, 3, 4])), ("255.0.0.255", .address([255, 0, 0, 255])),
            ("127.1", .malformed), ("2130706433", .malformed), ("0x7f000001", .malformed),
            ("0177.0.0.1", .malformed), ("1.2.3.256", .malformed), ("1.2.3.4.5", .malformed),
            ("a.0x1", .malformed), ("1.2.3.4.", .malformed), ("...", .malformed),
            ("[::]", .address([UInt8](repeating: 0, count: 16))),
            ("[::1]", .address([UInt8](repeating: 0, count: 15) + [1])),
            (
                "[2001:db8::ff:1]",
                .address([0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0, 1])
            ),
            (
                "[::ffff:1.2.3.4]",
                .address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 1, 2, 3, 4])
            ),
            ("[1:2:3:4:5:6:7]", .malformed), ("[1:2:3:4:5:6:7:8:9]", .malformed),
            ("[::1::]", .malformed), ("[:1]", .malformed), ("[12345::]", .malformed),
            ("[1.2.3.4]", .malformed), ("[1:2:3:4:5:6:7::8]", .malformed), ("[.]", .malformed),
        ] as [(String, HostKind)]
    )
    func kind(host: String, expected: HostKind) {
        #expect(HostKind(host) == expected)
    }

    @Test("An address that is refused is refused in each spelling")
    func refused() {
        for host in ["127.0.0.1", "[::1]", "[::ffff:7f00:1]", "127.1", "10.0.0.1", "[fe80::1]"] {
            #expect(HostKind(host).isRefusedAddress, "\(host)")
        }
        for host in ["1.1.1.1", "[2606:4700::1111]", "localhost", "a.example"] {
            #expect(!HostKind(host).isRefusedAddress, "\(host)")
        }
    }

    @Test(
        "A host without a port covers the scheme's, one with a port that one",
        arguments: [
            ("b.example", "https://b.example/x", true), ("B.Example", "http://b.example/x", true),
            ("b.example", "https://b.example:8443/", false),
            ("b.example:8443", "https://b.example:8443/", true),
            ("b.example:443", "https://b.example/", true),
            ("b.example:443", "http://b.example/", false),
            ("b.example", "https://a.b.example/", false),
            ("[::1]", "https://[::1]/", true), ("[::1]:81", "http://[::1]:81/", true),
        ]
    )
    func covers(host: String, url: String, expected: Bool) throws {
        #expect(try HostPort(host).covers(try WebURL(url)) == expected)
        #expect(try HostPort(HostPort(host).description) == HostPort(host))
    }

    @Test(
        "Text that is not a host with a port is refused",
        arguments: [
            "", "b.example/", "b.example/x", "https://b.example", "b.example:", "b.example:0",
            "b.example:65536", "b.example:a", "u@b.example", "b example", "*.example", "b?", "b#",
        ]
    )
    func badHost(text: String) {
        #expect(throws: ModelError.badHost(text)) { try HostPort(text) }
    }

    @Test("A proxy is read with its credentials, and printed without")
    func proxy() throws {
        let plain = try ProxySettings("http://Proxy.Example:3128")
        #expect(plain.host == "proxy.example")
        #expect(plain.port == 3128)
        #expect(plain.credentials == nil)
        #expect(plain.text == "http://proxy.example:3128")
        #expect(plain.maskedText == plain.text)
        let known = try ProxySettings("http://us%3Aer:p%40ss%C3%A9:w@[::1]:81/")
        #expect(known.credentials?.user == "us:er")
        #expect(known.credentials?.password == "p@ssé:w")
        #expect(known.maskedText == "http://***@[::1]:81")
        #expect(try ProxySettings(known.text) == known)
        #expect(try ProxySettings("http://u@p.example").credentials?.password == "")
    }

    @Test(
        "Text that is not a proxy is refused, and not repeated in the error",
        arguments: [
            "", "proxy:3128", "https://secret@p.example", "socks5://secret@p.example",
            "http://secret@", "http://secret:x@p.example/path", "http://secret@p.example?q",
            "http://secret@p.example#f", "http://secret%zz@p.example", "http://secret%0A@p.example",
            "http://secret%FF@p.example", "http://secret@p.example:0",
        ]
    )
    func badProxy(text: String) throws {
        let error = #expect(throws: ModelError.self) { try ProxySettings(text) }
        #expect(try !#require(error).message.contains("secret"))
    }
}
