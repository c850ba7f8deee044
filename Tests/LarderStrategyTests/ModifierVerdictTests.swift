import LarderModel
import LarderStrategy
import Testing

@Suite("Verdicts on answers to modifiers")
struct ModifierVerdictTests {
    private let url: WebURL
    private let target: EntryID
    private let other: EntryID

    init() throws {
        url = try WebURL("https://a.example/articles/42")
        target = try EntryID(url)
        other = try EntryID("https://a.example/articles/43")
    }

    private func request(
        _ method: String,
        to url: WebURL? = nil,
        _ headers: HeaderFields = HeaderFields(),
        targets: [EntryID]? = nil,
        baseIsJSON: Bool = true,
        hasPages: Bool = false,
        expect: ModifierRules.ExpectRule? = nil,
        redirectHosts: [HostPort] = []
    ) -> ModifierRequest {
        ModifierRequest(
            method: method,
            url: url ?? self.url,
            headers: headers,
            targets: targets ?? [target],
            baseIsJSON: baseIsJSON,
            hasPages: hasPages,
            expect: expect,
            redirectHosts: redirectHosts
        )
    }

    private func fields(_ pairs: KeyValuePairs<String, String>) -> HeaderFields {
        HeaderFields(pairs.map { HeaderFields.Field(name: $0.key, value: $0.value) })
    }

    private func verdict(
        _ request: ModifierRequest,
        _ status: Int,
        _ headers: HeaderFields = HeaderFields(),
        rule: ModifierRules.AnswerRule = .auto
    ) -> ModifierVerdict {
        request.verdict(status, headers, from: request.flight.url, rule: rule, now: .start)
    }

    @Test(
        "A 2xx page over plain http is a portal's, whatever the method (case 25)",
        arguments: ["PUT", "DELETE", "POST", "PATCH"]
    )
    func portalPages(method: String) throws {
        let plain = try WebURL("http://a.example/n/1")
        let page = fields(["Content-Type": "text/html; charset=utf-8"])
        let write = request(method, to: plain, baseIsJSON: false)
        #expect(verdict(write, 200, page) == .captive)
        #expect(verdict(write, 202, page) == .captive)
        #expect(verdict(write, 200) == .confirmed(.none))
        // TLS proves that it is the origin's, and not what it is about (22).
        #expect(verdict(request(method, baseIsJSON: false), 200, page) == .unclear(.gateway))
        let accepting = request(
            method,
            to: plain,
            fields(["Accept": "text/html"]),
            baseIsJSON: false
        )
        #expect(verdict(accepting, 200, page) == .confirmed(.none))
        for body in ["<!DOCTYPE html><p>", "\n <html lang=en>"] {
            #expect(write.isUnexpected(Array(body.utf8), HeaderFields()))
            for type in ["text/plain", "application/json"] {
                let typed = fields(["Content-Type": type])
                #expect(write.isUnexpected(Array(body.utf8), typed), "\(type)")
                #expect(!accepting.isUnexpected(Array(body.utf8), typed), "\(type)")
            }
            // The head has decided about this type.
            #expect(!write.isUnexpected(Array(body.utf8), page))
            #expect(!accepting.isUnexpected(Array(body.utf8), HeaderFields()))
        }
        #expect(!write.isUnexpected(Array("{}".utf8), HeaderFields()))
    }

    @Test("`expect` says which 2xx is the origin's, and earlier pages do, too (case 25)")
    func expect() throws {
        let plain = try WebURL("http://a.example/n/1")
        let page = fields(["Content-Type": "text/html"])
        let text = fields(["Content-Type": "text/plain"])
        let json = fields(["Content-Type": "application/problem+json"])
        let empty = fields(["Content-Type": "text/plain", "Content-Length": "0"])
        for place in [plain, url] {
            let any = request("DELETE", to: place, expect: .any)
            for fields in [page, text, json, empty] {
                #expect(verdict(any, 200, fields) == .confirmed(.none))
            }
            #expect(verdict(any, 511) == .captive)
            #expect(!any.isUnexpected(Array("<html>".utf8), HeaderFields()))
            let strict = request("POST", to: place, baseIsJSON: false, expect: .json)
            for fields in [page, text] {
                #expect(verdict(strict, 200, fields) == .captive, "its sender is looked for")
                let isOrigins = strict.verdict(
                    200,
                    fields,
                    from: place,
                    rule: .auto,
                    now: .start,
                    isOrigins: true
                )
                #expect(isOrigins == .unclear(.gateway))
            }
            for fields in [json, empty, HeaderFields()] {
                #expect(verdict(strict, 200, fields) == .confirmed(.none))
            }
            #expect(verdict(strict, 204, text) == .confirmed(.none))
            #expect(strict.isUnexpected(Array("OK".utf8), HeaderFields()))
            #expect(strict.isUnexpected(Array("OK".utf8), json))
            for body in ["", " [1]", "null", "-1"] {
                #expect(!strict.isUnexpected(Array(body.utf8), HeaderFields()))
            }
        }
        let known = request("PUT", baseIsJSON: false, hasPages: true)
        #expect(verdict(known, 200, page) == .confirmed(.none))
    }

    @Test("A refusal of a repeat leaves the first attempt's result open (case 22)")
    func repeats() {
        for status in [200, 202, 400, 403, 404, 409, 422, 428] {
            let isConflict = status == 409 || status == 428
            let verdict = ModifierRequest.ofRepeat(
                isConflict ? .conflict(.look) : .refused,
                status: status,
                isHonoured: false
            )
            #expect(verdict == .unclear(.refusedRepeat), "\(status)")
        }
        #expect(
            ModifierRequest.ofRepeat(.conflict(.look), status: 409, isHonoured: true)
                == .notNow(retryAfter: nil)
        )
        for verdict in [ModifierVerdict.confirmed(.none), .authNeeded, .accepted] {
            #expect(ModifierRequest.ofRepeat(verdict, status: 404, isHonoured: true) == verdict)
        }
        #expect(ModifierRequest.ofRepeat(.refused, status: 302, isHonoured: true) == .refused)
        let putOff: [(ModifierVerdict, Int)] = [
            (.notNow(retryAfter: nil), 503), (.serverFailed(retryAfter: nil), 500),
            (.authNeeded, 401), (.captive, 511), (.conflict(.look), 409),
        ]
        for (verdict, status) in putOff {
            let repeated = ModifierRequest.ofRepeat(
                verdict,
                status: status,
                isHonoured: true,
                isOfUpstream: true
            )
            #expect(repeated == .unclear(.lost), "\(status)")
        }
    }

    @Test("Every status from 100 to 999 means what the cases say")
    func statuses() {
        for status in 100...999 {
            let expected: ModifierVerdict =
                switch status {
                case 202: .accepted  // 7
                case 200..<300: .confirmed(.none)  // 6
                case 401, 407: .authNeeded  // 23
                case 408, 425: .notNow(retryAfter: nil)  // 10
                case 429: .notNow(retryAfter: nil, rest: .zero)  // 10
                case 409, 412, 428: .conflict(.look)  // 19
                case 300..<500: .refused  // 11
                case 501, 505: .refused  // 11
                case 503: .notNow(retryAfter: nil, isSure: false)  // 10, 18
                case 502, 504, 520, 522, 524: .unclear(.gateway)  // 22
                case 511: .captive  // 25
                case 500..<600: .serverFailed(retryAfter: nil)  // 10
                case _: .unclear(.gateway)
                }
            for method in ["POST", "PUT", "PATCH"] {
                #expect(verdict(request(method), status) == expected, "\(method) \(status)")
            }
            // 20: what is to be deleted and is not there, is deleted.
            let isGone = status == 404 || status == 410
            let deleted = isGone ? .confirmed(.none) : expected
            #expect(verdict(request("DELETE"), status) == deleted, "DELETE \(status)")
        }
    }

    @Test("A body is the target only if the answer says so (case 5)")
    func representations() throws {
        let list = try WebURL("https://a.example/articles")
        let like = try WebURL("https://a.example/articles/42/like")
        let whole = ModifierVerdict.confirmed(.representation(of: target))
        let rows: [(ModifierRequest, Int, HeaderFields, ModifierVerdict)] = [
            (
                request("PATCH"), 200, fields(["Content-Type": "application/json"]),
                .confirmed(.none)
            ),
            (request("PATCH"), 200, fields(["Content-Location": "/articles/42"]), whole),
            (
                request("PATCH"), 200, fields(["Content-Location": "/articles/43"]),
                .confirmed(.none)
            ),
            (request("PATCH"), 200, fields(["Content-Location": "http://["]), .confirmed(.none)),
            (request("POST", to: list), 201, fields(["Location": "articles/42"]), whole),
            (
                request("PUT", fields(["Content-Type": "application/json"])), 201,
                fields(["Location": "/articles/42"]), whole
            ),
            (
                request("PUT", fields(["Content-Type": "image/png"])), 201,
                fields(["Location": "/articles/42"]), .confirmed(.none)
            ),
            (
                request("POST", to: list), 200, fields(["Location": "articles/42"]),
                .confirmed(.none)
            ),
            (
                request("POST", to: list, targets: [try EntryID(list)]), 201,
                fields(["Preference-Applied": "return=representation"]), .confirmed(.none)
            ),
            (
                request("PUT"), 200,
                fields(["Preference-Applied": "respond-async, return = \"representation\""]), whole
            ),
            (
                request("PUT"), 200, fields(["Preference-Applied": "return=minimal"]),
                .confirmed(.none)
            ),
            (
                request("POST", to: like), 200,
                fields(["Preference-Applied": "return=representation"]), whole
            ),
            (
                request("POST", to: like, targets: [target, other]), 200,
                fields(["Preference-Applied": "return=representation"]), .confirmed(.none)
            ),
            (
                request("PATCH", targets: [other, target]), 200,
                fields(["Preference-Applied": "return=representation"]), whole
            ),
            (request("PUT"), 204, fields(["Content-Location": "/articles/42"]), .confirmed(.none)),
            (
                request("PUT"), 200,
                fields(["Content-Location": "/articles/42", "Content-Length": "0"]),
                .confirmed(.none)
            ),
            (
                request("DELETE"), 200, fields(["Content-Location": "/articles/42"]),
                .confirmed(.none)
            ),
        ]
        for (request, status, headers, expected) in rows {
            #expect(verdict(request, status, headers) == expected, "\(request) \(headers)")
        }
    }

    @Test("An origin's rule can declare every body the target (case 5)")
    func rule() {
        let whole = ModifierVerdict.confirmed(.representation(of: target))
        #expect(verdict(request("PATCH"), 200, rule: .representation) == whole)
        let none = ModifierVerdict.confirmed(.none)
        #expect(verdict(request("DELETE"), 200, rule: .representation) == none)
        #expect(verdict(request("POST", targets: []), 200, rule: .representation) == none)
    }

    @Test("Retry-After is seconds or a date, and any other text is ignored (case 10)")
    func retryAfter() {
        let rows: [(String, Duration?)] = [
            ("120", .seconds(120)), ("Fri, 20 Nov 2026 18:44:27 GMT", .milliseconds(59_880)),
            ("Fri, 20 Nov 2020 18:44:27 GMT", .zero), ("soon", nil), ("-1", nil),
        ]
        for (text, expected) in rows {
            let headers = fields(["Retry-After": text])
            for status in [429, 503] {
                let isSure = status == 429
                let unsaid: Duration? = isSure ? .zero : nil
                let rest = expected.flatMap { $0 > .zero ? $0 : nil } ?? unsaid
                let meant = ModifierVerdict.notNow(
                    retryAfter: expected,
                    rest: rest,
                    isSure: isSure
                )
                #expect(verdict(request("POST"), status, headers) == meant, "\(text)")
            }
        }
    }

    @Test("A redirect is followed, a refusal, or a portal's (cases 11 and 25)")
    func redirects() throws {
        let plain = try WebURL("http://a.example/articles/42")
        let listed = request("PUT", redirectHosts: [try HostPort("b.example")])
        let there = fields(["Location": "https://b.example/x"])
        let here = fields(["Location": "/x"])
        let answered = try WebURL("https://b.example/deep/x")
        #expect(listed.followed(307, there, from: url)?.text == "https://b.example/x")
        #expect(listed.followed(308, here, from: url)?.text == "https://a.example/x")
        #expect(listed.followed(308, here, from: answered)?.text == "https://b.example/x")
        #expect(listed.followed(302, there, from: url) == nil)
        #expect(listed.followed(307, HeaderFields(), from: url) == nil)
        #expect(request("PUT").followed(307, there, from: url) == nil)
        #expect(verdict(request("PUT"), 307, there) == .refused)
        #expect(verdict(request("PUT"), 302, here) == .refused)
        #expect(verdict(request("PUT", to: plain), 302, there) == .captive)
    }

    @Test("A page instead of JSON is a portal's, a page that refuses is the origin's (case 25)")
    func pages() {
        let page = fields(["Content-Type": "text/html; charset=utf-8"])
        #expect(verdict(request("PUT"), 200, page) == .captive)
        #expect(verdict(request("PUT", baseIsJSON: false), 200, page) == .unclear(.gateway))
        #expect(verdict(request("POST"), 413, page) == .refused)
        let busy = ModifierVerdict.notNow(retryAfter: nil, isSure: false)
        #expect(verdict(request("POST"), 503, page) == busy)
    }

    @Test("Repeatable requests are sent again automatically (case 22)")
    func resends() {
        let merge = fields(["Content-Type": "Application/Merge-Patch+JSON; charset=utf-8"])
        let patch = fields(["Content-Type": "application/json-patch+json"])
        let matched = fields(["If-Match": "\"a1\""])
        let rows: [(ModifierRequest, Bool)] = [
            (request("PUT"), true), (request("DELETE"), true), (request("PATCH", merge), true),
            (request("PATCH", patch), false), (request("PATCH"), false), (request("POST"), false),
            (request("POST", merge), false), (request("POST", matched), true),
            (request("PATCH", patch + matched), true),
        ]
        for (request, expected) in rows {
            #expect(request.resends(.auto, isHonoured: false) == expected)
            #expect(request.resends(.auto, isHonoured: true))
            #expect(request.resends(.resend, isHonoured: false))
            #expect(!request.resends(.hold, isHonoured: true))
        }
    }
}

extension HeaderFields {
    fileprivate static func + (left: HeaderFields, right: HeaderFields) -> HeaderFields {
        HeaderFields(left.fields + right.fields)
    }
}
