import LarderModel
import Testing

@testable import LarderStrategy

@Suite("Whether what answers a probe is the origin")
struct ProbeAnswerTests {
    private func isOwn(
        _ url: String,
        _ head: ResponseHead,
        wasCaptive: Bool = false
    ) throws -> Bool {
        FlightRules(url: try WebURL(url), cachedIsJSON: false, accept: nil)
            .isOwn(head, wasCaptive: wasCaptive)
    }

    @Test("Any answer is, whatever its status", arguments: [200, 204, 304, 401, 404, 500, 503])
    func any(status: Int) throws {
        for url in ["http://a.example/", "https://a.example/"] {
            #expect(try isOwn(url, .of(status, type: "application/json")))
            #expect(try isOwn(url, .of(status, type: "text/html")))
        }
    }

    @Test("511, and a redirect over plain http to somewhere else, are a portal's")
    func portal() throws {
        #expect(try !isOwn("https://a.example/", .of(511)))
        let elsewhere = ResponseHead.of(302, location: "http://portal.example/")
        #expect(try !isOwn("http://a.example/", elsewhere))
        #expect(try isOwn("https://a.example/", .of(302, location: "https://b.example/")))
        #expect(try isOwn("http://a.example/", .of(302, location: "/start")))
    }

    @Test("Where a portal answered before, a page over plain http may still be its")
    func page() throws {
        let page = ResponseHead.of(200, type: "text/html")
        #expect(try !isOwn("http://a.example/", page, wasCaptive: true))
        let notFound = ResponseHead.of(404, type: "text/html")
        #expect(try isOwn("http://a.example/", notFound, wasCaptive: true))
        #expect(try isOwn("https://a.example/", page, wasCaptive: true))
        #expect(try isOwn("http://a.example/", .of(200, type: "text/plain"), wasCaptive: true))
    }
}
