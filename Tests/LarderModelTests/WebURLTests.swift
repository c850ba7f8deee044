import LarderModel
import Testing

@Suite("A URL")
struct WebURLTests {
    @Test(
        "A URL has one spelling",
        arguments: [
            ("HTTPS://API.Example.com", "https://api.example.com/"),
            ("https://a:443/x", "https://a/x"), ("http://a:80", "http://a/"),
            ("http://a:443/", "http://a:443/"), ("https://a:80/", "https://a:80/"),
            ("https://a:/x", "https://a/x"), ("https://a:0443/", "https://a/"),
            ("https://a/x#part", "https://a/x"), ("https://a#part", "https://a/"),
            ("https://a?q=1#f?g", "https://a/?q=1"), ("https://a/?", "https://a/?"),
            ("https://a/B%2fC?d=E&&f", "https://a/B%2fC?d=E&&f"),
            ("https://a/x y", "https://a/x%20y"), ("https://a/é?ü", "https://a/%C3%A9?%C3%BC"),
            ("https://a/./b/../c", "https://a/./b/../c"), ("https://a//b", "https://a//b"),
            ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
            ("http://[::1]:80", "http://[::1]/"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("https://A_b-1.C:65535/?", "https://a_b-1.c:65535/?"),
            ("https://a/@b:c", "https://a/@b:c"),
            ("https://a/?u=http://b/", "https://a/?u=http://b/"),
        ]
    )
    func spelling(text: String, expected: String) throws {
        let url = try WebURL(text)
        #expect(url.text == expected)
        let again = try WebURL(url.text)
        let parts = { (url: WebURL) in [url.text, url.host, "\(url.port)", url.pathAndQuery] }
        #expect(parts(again) == parts(url) && again.isSecure == url.isSecure)
        let port = url.port == url.defaultPort ? "" : ":\(url.port)"
        #expect(url.originText == (url.isSecure ? "https://" : "http://") + url.host + port)
        #expect(try EntryID(url).text == expected)
    }

    @Test("A URL has its parts")
    func parts() throws {
        let url = try WebURL("https://a.example:8443/b/c?d=e")
        #expect(url.isSecure)
        #expect(url.host == "a.example")
        #expect(url.port == 8_443)
        #expect(url.path == "/b/c")
        #expect(url.pathAndQuery == "/b/c?d=e")
        #expect(url.originText == "https://a.example:8443")
        #expect(try WebURL("http://a").port == 80)
        #expect(try WebURL("https://a").originText == "https://a")
    }

    @Test(
        "A URL that cannot be fetched is refused",
        arguments: [
            "", "a", "/a", "//a/b", "a.example/x", "ftp://a/", "file:///etc/passwd", "://a",
            "https:/a",
            "https://", "https:///x", "https://?q", "https://:80/", "https://a:0/",
            "https://a:65536/",
            "https://a:x/", "https://a:-1/", "https://a:80:80/", "https://u@a/", "https://u:p@a/",
            "https://@a/", "https://a b/", "https://a\\b/", "https://é/", "https://a%41/",
            "https://[::1/", "https://::1/", "https://[g]/", "https://[]/", "https://[::1]x/",
            "https://a/\n", "https://a/\u{0}", "https://a/\u{7F}", "https://a/?\t", " https://a/",
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: ModelError.self) { try WebURL(text) }
        #expect(error?.message.contains("'\(text)'") == true)
    }

    @Test(
        "A URL with a control character in any part is refused for that",
        arguments: ["https://a/\u{1}", "https://a\u{1B}/", "ht\u{7}tp://a/", "http://a:\n80/"]
    )
    func controlCharacter(text: String) {
        let error = #expect(throws: ModelError.self) { try WebURL(text) }
        #expect(error?.message.contains("it contains a control character") == true)
    }

    @Test("A host that is not in ASCII is refused with the form that it needs")
    func internationalHost() {
        let error = #expect(throws: ModelError.self) { try WebURL("https://bücher.example/a") }
        #expect(error?.message.contains("xn--") == true)
    }

    @Test("A URL is at most as long as an id, also when encoded")
    func length() throws {
        let head = "https://a/"
        let longest = head + String(repeating: "x", count: Limits.idBytesMax - head.utf8.count)
        #expect(try WebURL(longest).text == longest)
        #expect(throws: ModelError.self) { try WebURL(longest + "x") }
        #expect(throws: ModelError.self) { try WebURL(longest.dropLast() + " ") }
    }

    @Test(
        "A prefix ends where a path segment ends",
        arguments: [
            ("https://a/v1", "https://a/v1", true), ("https://a/v1", "https://a/v1/x", true),
            ("https://a/v1", "https://a/v1?x", true), ("https://a/v1", "https://a/v1/", true),
            ("https://a/v1", "https://a/v10", false), ("https://a/v1", "https://a/v", false),
            ("https://a/v1/", "https://a/v1/x", true), ("https://a/v1/", "https://a/v10", false),
            ("https://a", "https://a/x", true), ("https://a", "https://a/?q", true),
            ("https://a", "https://b/x", false), ("https://a", "http://a/x", false),
            ("https://a", "https://a:8443/x", false), ("https://a", "https://a:443/x", true),
            ("https://a", "https://a.b/x", false), ("https://a/V1", "https://a/v1/x", false),
            ("https://a/v1?q", "https://a/v1/x", true),
        ]
    )
    func prefix(base: String, other: String, expected: Bool) throws {
        #expect(try WebURL(base).isPrefix(of: WebURL(other)) == expected)
    }

    /// RFC 3986 5.4, but for the references whose scheme is neither http nor https, and with the
    /// fragments dropped.
    @Test(
        "A reference is resolved as RFC 3986 shows it",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"), ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"),
            ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
            ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"),
            ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
            ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/../x", "http://a/b/c/g"),
            ("https://h:8443/x", "https://h:8443/x"), ("HTTP://H", "http://h/"),
            ("/a:b", "http://a/a:b"), ("?u=http://x/", "http://a/b/c/d;p?u=http://x/"),
        ]
    )
    func resolving(reference: String, expected: String) throws {
        #expect(try WebURL("http://a/b/c/d;p?q").resolving(reference).text == expected)
    }

    @Test(
        "A reference with another scheme is refused",
        arguments: ["g:h", "mailto:a@b", "ftp://a/"]
    )
    func resolvingForeign(reference: String) {
        #expect(throws: ModelError.self) { try WebURL("http://a/b").resolving(reference) }
    }

    @Test("A scheme may hold +, - and .", arguments: ["a+b://c/d", "android-app://c/d", "x.y:z"])
    func resolvingOddScheme(reference: String) {
        #expect(throws: ModelError.self) { try WebURL("http://a/b").resolving(reference) }
    }

    @Test(
        "Text before a colon is a scheme only if it is spelled like one",
        arguments: [
            ("1:b", "http://a/1:b"), (":b", "http://a/:b"), ("x;y:z", "http://a/x;y:z"),
            ("a_b:c", "http://a/a_b:c"), ("é:c", "http://a/%C3%A9:c"), ("#a:b", "http://a/b"),
        ]
    )
    func resolvingColon(reference: String, expected: String) throws {
        #expect(try WebURL("http://a/b").resolving(reference).text == expected)
    }

    @Test(
        "A combining mark after a delimiter leaves it a delimiter",
        arguments: [
            ("https://a/x#\u{301}y", "https://a/x"), ("https://a/\u{301}x", "https://a/%CC%81x"),
            ("https://a?\u{301}x", "https://a/?%CC%81x"),
        ]
    )
    func combiningMarks(text: String, expected: String) throws {
        #expect(try WebURL(text).text == expected)
    }

    @Test(
        "A combining mark after a delimiter leaves it one in a reference",
        arguments: [
            ("/\u{301}x", "https://a/%CC%81x"), ("?\u{301}x", "https://a/b/c?%CC%81x"),
            ("#\u{301}x", "https://a/b/c"), ("../\u{301}x", "https://a/%CC%81x"),
            ("x/..?\u{301}/./y", "https://a/b/?%CC%81/./y"),
        ]
    )
    func resolvingCombiningMarks(reference: String, expected: String) throws {
        #expect(try WebURL("https://a/b/c").resolving(reference).text == expected)
    }

    @Test(
        "A combining mark hides neither a user name nor a port nor a host",
        arguments: [
            "https://u@\u{301}a/", "https://a:\u{301}80/", "https://a\u{301}/",
            "https:/\u{301}/a/", "//\u{301}a/",
        ]
    )
    func refusedCombiningMarks(text: String) {
        #expect(throws: ModelError.self) { try WebURL(text) }
        #expect(throws: ModelError.self) { try WebURL("https://b/").resolving(text) }
    }

    @Test("A reference without a scheme keeps https and the port")
    func resolvingKeeps() throws {
        let base = try WebURL("https://a:8443/x")
        #expect(try base.resolving("/y").text == "https://a:8443/y")
        #expect(try base.resolving("//b/y").text == "https://b/y")
    }
}

@Suite("Dot segments of a URL")
struct DotSegmentTests {
    @Test(
        "A segment that leads elsewhere is seen, in every spelling",
        arguments: [
            ("http://a/b/../c", true), ("http://a/./c", true), ("http://a/b/%2E%2e", true),
            ("http://a/b/.%2e?x", true), ("http://a/b/...", false),
            ("http://a/.well-known/x", false),
            ("http://a/?../..", false), ("http://a/b%2Fc", false),
            ("http://a/..%2fother", true), ("http://a/x%5C..%5Cy", true), ("http://a/b\\..", true),
            ("http://a/%2e%2F%2e", true), ("http://a/a..%2fb", false), ("http://a/..%252f", false),
        ]
    )
    func dots(text: String, expected: Bool) throws {
        #expect(try WebURL(text).hasDotSegments == expected)
    }
}
