import LarderModel
import LarderWire
import Testing

@Suite("A request on the raw routes")
struct RawCommandTests {
    private func command(
        _ uri: String,
        _ headers: [(String, String)] = []
    ) throws(Problem) -> RawCommand {
        let fields = headers.map { HeaderFields.Field(name: $0.0, value: $0.1) }
        return try RawCommand(uri: uri, headers: HeaderFields(fields))
    }

    @Test(
        "Path and query follow the base URL as they were sent",
        arguments: [
            ("https://a.example", "/o/a", "https://a.example/"),
            ("https://a.example", "/o/a/", "https://a.example/"),
            ("https://a.example", "/o/a?x=1", "https://a.example/?x=1"),
            ("https://a.example", "/o/a/x/y?a=b&account=c", "https://a.example/x/y?a=b&account=c"),
            ("https://a.example", "/o/a//x//", "https://a.example//x//"),
            ("https://a.example", "/o/a/%2F%7e%C3%A9+%20", "https://a.example/%2F%7e%C3%A9+%20"),
            ("https://a.example", "/o/a/x?", "https://a.example/x?"),
            ("https://a.example", "/o/a/x?/o/b?..", "https://a.example/x?/o/b?.."),
            ("https://a.example", "/o/a/@b.example/", "https://a.example/@b.example/"),
            ("https://a.example/v1", "/o/a", "https://a.example/v1"),
            ("https://a.example/v1", "/o/a/", "https://a.example/v1/"),
            ("https://a.example/v1/", "/o/a/x", "https://a.example/v1/x"),
            ("https://a.example/v1", "/o/a?x", "https://a.example/v1?x"),
            ("http://a.example:81/v1", "/o/a//b", "http://a.example:81/v1//b"),
        ]
    )
    func urls(base: String, uri: String, url: String) throws {
        let base = try WebURL(base)
        let found = try command(uri).url(under: base)
        #expect(found.text == url)
        // And the way back leads to the same URL.
        let path = RawCommand.path(of: found, origin: try OriginName("a"), base: base)
        #expect(try command(path).url(under: base) == found)
    }

    @Test(
        "A path that leads elsewhere is refused",
        arguments: [
            "/o/a/..", "/o/a/../x", "/o/a/x/./y", "/o/a/%2e%2E/x", "/o/a/x/%2e", "/o/a/x#y",
            "/o/a/x?y#z",
        ]
    )
    func badPaths(uri: String) throws {
        let base = try WebURL("https://a.example/v1")
        #expect(throws: Problem.self) { try command(uri).url(under: base) }
        do throws(Problem) {
            _ = try command(uri).url(under: base)
        } catch {
            #expect(error.kind == .badURL)
            #expect(error.status == 400)
        }
    }

    @Test(
        "Text that is not an origin's or account's name is refused",
        arguments: [
            ("/o/", ""), ("/o//x", ""), ("/o/a%62/x", ""),
            ("/o/\(String(repeating: "a", count: 65))", ""),
            ("/o/a", "no/account"),
        ]
    )
    func badNames(uri: String, account: String) {
        let headers = account.isEmpty ? [] : [("Larder-Account", account)]
        do throws(Problem) {
            _ = try command(uri, headers)
            Issue.record("\(uri) was taken")
        } catch {
            #expect(error.kind == .badRequest)
        }
    }

    @Test("Header fields for the daemon do not go to the origin")
    func forwarded() throws {
        let command = try command(
            "/o/a/x",
            [
                ("Host", "larder"), ("User-Agent", "curl"), ("Accept", "*/*"), ("X-Key", "1"),
                ("Connection", "X-Hop, close"), ("X-Hop", "1"), ("Authorization", "Bearer t"),
                ("Accept-Encoding", "gzip"), ("accept-language", "de"), ("Larder-Account", "work"),
                ("Larder-Client", "c"), ("Cache-Control", "no-cache"),
                ("cache-control", "no-store"),
                ("If-None-Match", "\"a\""), ("If-None-Match", "\"b\""), ("Range", "bytes=0-1"),
                ("If-Modified-Since", "Tue, 14 Nov 2023 22:13:20 GMT"), ("Cookie", "a=b"),
                ("Content-Type", "text/plain"), ("Content-Length", "0"), ("TE", "trailers"),
                ("Pragma", "no-cache"), ("Expect", "100-continue"), ("Proxy-Authorization", "x"),
            ]
        )
        #expect(
            command.headers.fields.map { "\($0.name): \($0.value)" } == [
                "X-Key: 1", "Authorization: Bearer t", "accept-language: de", "Cookie: a=b",
            ]
        )
        #expect(command.account == (try AccountName("work")))
    }

    @Test("An Accept that says something goes on")
    func accept() throws {
        for accept in ["application/json", "text/html, */*;q=0.1"] {
            #expect(try command("/o/a", [("Accept", accept)]).headers["Accept"] == accept)
        }
    }

    @Test("More headers than an origin is sent are refused")
    func tooMany() throws {
        let most = (0..<Limits.requestHeadersMax).map { ("X-\($0)", "1") }
        #expect(try command("/o/a", most).headers.fields.count == most.count)
        let long = [("X-Long", String(repeating: "x", count: Limits.requestHeaderBytesMax))]
        for headers in [most + [("X-More", "1")], long] {
            do throws(Problem) {
                _ = try command("/o/a", headers)
                Issue.record("they were taken")
            } catch {
                #expect(error.kind == .headTooLarge)
            }
        }
    }
}
