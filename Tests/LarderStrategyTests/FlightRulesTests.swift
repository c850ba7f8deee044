import LarderModel
import Testing

@testable import LarderStrategy

@Suite("The rules of a flight")
struct FlightRulesTests {
    private func rules(json: Bool = false, accept: String? = nil) throws -> FlightRules {
        FlightRules(url: try WebURL("https://a.example/x"), cachedIsJSON: json, accept: accept)
    }

    @Test(
        "JSON is expected where Accept names it and neither HTML nor everything",
        arguments: [
            (nil, false), ("", false), ("application/json", true), ("APPLICATION/JSON", true),
            ("application/problem+json", true), ("text/json;q=0.5", true),
            ("application/json, text/plain", true), ("application/json , */*;q=0.1", false),
            ("application/json,text/html", false), ("application/xhtml+xml,a/json", false),
            ("application/json, text/*", false), ("*/*", false), ("text/html", false),
            ("application/jsonp", false),
        ] as [(String?, Bool)]
    )
    func accept(value: String?, expected: Bool) throws {
        #expect(try rules(accept: value).expectsJSON == expected)
    }

    @Test("JSON is expected where the entry is JSON, whatever Accept says")
    func cachedJSON() throws {
        for accept in [nil, "*/*", "text/html"] {
            #expect(try rules(json: true, accept: accept).expectsJSON)
        }
    }

    @Test("A portal is told by 511, and by HTML in a 2xx where JSON was expected")
    func captive() throws {
        let url = try WebURL("https://a.example/x")
        let json = try rules(json: true)
        let any = try rules()
        let html = [
            "text/html", "Text/HTML; charset=utf-8", "text/html\t;x", "application/xhtml+xml",
        ]
        for type in html {
            #expect(json.captivePortal(.of(200, type: type), from: url) == "a.example")
            #expect(any.captivePortal(.of(200, type: type), from: url) == nil)
            // Every 4xx and 5xx but 511 is the server's answer, whatever its type.
            for status in [301, 304, 400, 404, 500, 503, 510] {
                #expect(json.captivePortal(.of(status, type: type), from: url) == nil)
            }
        }
        for type in ["application/json", "text/plain", "", nil] {
            #expect(json.captivePortal(.of(200, type: type), from: url) == nil)
            #expect(any.captivePortal(.of(511, type: type), from: url) == "a.example")
        }
    }

    @Test(
        "A redirect stays with its origin",
        arguments: [
            ("https://a.example/x", "/y", "https://a.example/y"),
            ("https://a.example/x", "https://A.EXAMPLE:443/y", "https://a.example/y"),
            ("http://a.example/x", "http://a.example/y", "http://a.example/y"),
            ("http://a.example/x", "https://a.example/x", "https://a.example/x"),
            ("http://a.example:8080/x", "https://a.example/x", "https://a.example/x"),
        ]
    )
    func allowed(from: String, location: String, target: String) throws {
        let url = try WebURL(from)
        #expect(try rules().redirect(from: url, to: location) == .allowed(WebURL(target)))
    }

    @Test(
        "Over TLS every other host and port is refused with its name",
        arguments: [
            ("https://b.example/", "b.example"), ("//b.example/", "b.example"),
            ("https://a.example:8443/x", "a.example:8443"),
            ("https://a.example.evil/", "a.example.evil"),
        ]
    )
    func refused(location: String, host: String) throws {
        let url = try WebURL("https://a.example/x")
        let expected = FlightRules.Redirect.refused(.redirectRefused(host: host))
        #expect(try rules().redirect(from: url, to: location) == expected)
    }

    @Test(
        "From https to http nothing is followed, listed or not",
        arguments: ["http://a.example/x", "http://b.example/", "http://a.example:443/x"]
    )
    func downgrade(location: String) throws {
        let rules = FlightRules(
            url: try WebURL("https://a.example/x"),
            cachedIsJSON: false,
            accept: nil,
            redirectHosts: [try HostPort("b.example")]
        )
        let host = try WebURL(location).host
        #expect(
            rules.redirect(from: rules.url, to: location) == .refused(.downgradeRefused(host: host))
        )
    }

    @Test(
        "A listed host is followed, from there to other listed ones, and back",
        arguments: [
            ("https://a.example/x", "https://b.example/y"),
            ("https://a.example/x", "https://c.example:8443/y"),
            ("https://b.example/x", "https://c.example:8443/y"),
            ("https://c.example:8443/x", "https://a.example/y"),
            ("http://a.example/x", "http://b.example/y"),
            ("http://a.example/x", "https://b.example/y"),
        ]
    )
    func listed(from: String, location: String) throws {
        let rules = FlightRules(
            url: try WebURL("https://a.example/x"),
            cachedIsJSON: false,
            accept: nil,
            redirectHosts: [try HostPort("b.example"), try HostPort("c.example:8443")]
        )
        let target = try WebURL(location)
        #expect(rules.redirect(from: try WebURL(from), to: location) == .allowed(target))
        #expect(
            rules.redirect(from: try WebURL(from), to: "https://c.example/")
                == .refused(
                    from.hasPrefix("https") || from.contains("c.example")
                        ? .redirectRefused(host: "c.example") : .captive(host: "c.example")
                )
        )
    }

    @Test("Over plain http another port of the host is no portal, and refused all the same")
    func otherPort() throws {
        let url = try WebURL("http://a.example:8080/x")
        #expect(
            try rules().redirect(from: url, to: "http://a.example:9090/")
                == .refused(.redirectRefused(host: "a.example:9090"))
        )
    }

    @Test(
        "Over plain http the host with or without www. is no portal, and refused all the same",
        arguments: ["http", "https"]
    )
    func otherWWW(scheme: String) throws {
        for (asked, named) in [("a.example", "www.a.example"), ("www.a.example", "a.example")] {
            let url = try WebURL("http://\(asked)/x")
            let rules = FlightRules(url: url, cachedIsJSON: false, accept: nil)
            let expected = FlightRules.Redirect.refused(.redirectRefused(host: named))
            #expect(rules.redirect(from: url, to: "\(scheme)://\(named)/") == expected)
        }
        let url = try WebURL("http://a.example/x")
        let portal = FlightRules.Redirect.refused(.captive(host: "www.b.example"))
        #expect(try rules().redirect(from: url, to: "http://www.b.example/") == portal)
    }

    @Test("A client's header fields go to the origin; another host gets only neutral ones")
    func carried() throws {
        let names = ["Accept", "Accept-Language", "Authorization", "Cookie", "X-Key", "User-Agent"]
        let headers = HeaderFields(names.map { .init(name: $0, value: "v") })
        let plain = FlightRules(
            url: try WebURL("http://a.example/x"),
            cachedIsJSON: false,
            accept: nil
        )
        for url in ["http://a.example/y", "https://a.example/y"] {
            #expect(plain.carried(headers, to: try WebURL(url)) == headers)
        }
        for url in ["http://b.example/", "http://a.example:81/", "https://b.example/"] {
            let carried = plain.carried(headers, to: try WebURL(url))
            #expect(carried.fields.map(\.name) == ["Accept", "Accept-Language", "User-Agent"])
        }
        let secure = try rules()
        #expect(secure.carried(headers, to: try WebURL("https://a.example/y")) == headers)
        #expect(secure.carried(headers, to: try WebURL("https://a.example:1/")) != headers)
    }

    @Test("Over plain http every other host is a portal", arguments: ["http", "https"])
    func portal(scheme: String) throws {
        let url = try WebURL("http://a.example/x")
        let expected = FlightRules.Redirect.refused(.captive(host: "login.example"))
        #expect(try rules().redirect(from: url, to: "\(scheme)://login.example/") == expected)
    }

    @Test(
        "A location that is no URL is a bad answer",
        arguments: [
            "ftp://a.example/", "android-app://c/d", "https://u@b/", "https://", "/a\u{1}b",
        ]
    )
    func noURL(location: String) throws {
        let url = try WebURL("http://a.example/x")
        let message = "a redirect to '\(location)', which is no URL"
        let expected = FlightRules.Redirect.refused(.badAnswer(message))
        #expect(try rules().redirect(from: url, to: location) == expected)
    }

    @Test("A head has the fields on which decisions depend")
    func head() {
        let head = ResponseHead.of(
            302,
            location: "/y",
            type: "Application/JSON ; charset=utf-8",
            retryAfter: "5"
        )
        #expect(head.status == 302)
        #expect(head.location == "/y")
        #expect(head.essence == "application/json")
        #expect(head.retryAfter == .seconds(5))
        #expect(ResponseHead.of(200).essence == "")
        #expect(ResponseHead.of(200).retryAfter == nil)
    }

    @Test(
        "The brackets of JSON are counted only in a charset that extends ASCII byte by byte",
        arguments: [
            ("application/json", true), ("application/ld+json; charset=\"UTF-8\"", true),
            ("application/json;Charset=utf-8;profile=x", true), ("text/html", false), ("", false),
            ("application/json; charset=ISO-8859-15", true),
            ("application/json; charset=windows-1252", true),
            ("application/json; charset=GBK", false), ("application/json;charset=utf-16", false),
            ("application/json; profile=x; charset=Shift_JIS", false),
        ]
    )
    func countable(type: String, expected: Bool) {
        let headers = HeaderFields([HeaderFields.Field(name: "Content-Type", value: type)])
        #expect(ResponseHead.isJSONInASCII(headers) == expected)
    }
}
