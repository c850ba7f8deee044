import LarderModel
import LarderTestSupport

/// One way in which an origin behaves, and what that comes to.
struct OriginRow: Sendable, CustomStringConvertible {
    let name: String
    /// How it answers; nil: nobody listens.
    let answers: [OriginAnswer]?
    /// What that comes to where nothing is cached, and where something is.
    let result: NetworkResult
    let resultIfCached: NetworkResult
    /// Whether what is cached has an ETag, so that it is asked for with a condition.
    var hasETag = false
    var networkWait = Duration.seconds(60)
    var timeout = Duration.seconds(60)
    /// The answer is held until the client has what was cached, or at once if nothing is.
    var isHeld = false
    /// The body of the new answer.
    var body = Array(#"{"v":"new"}"#.utf8)

    var description: String { name }

    init(
        _ name: String,
        _ answers: OriginAnswer?...,
        to result: NetworkResult,
        ifCached: NetworkResult? = nil,
        _ change: (inout OriginRow) -> Void = { _ in }
    ) {
        self.name = name
        self.answers = answers.contains { $0 == nil } ? nil : answers.compactMap { $0 }
        self.result = result
        resultIfCached = ifCached ?? result
        change(&self)
    }
}

extension OriginRow {
    private static let new = #"{"v":"new"}"#
    private static let json = ["Content-Type": "application/json"]
    /// `gzip` of an empty JSON object: no JSON as it is.
    static let gzipped: [UInt8] = [
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xAB, 0xAE, 5, 0, 0x43, 0xBF, 0xA6, 0xA3, 2, 0, 0, 0,
    ]

    private static let longChunk = Array(
        "8000\r\n\(String(repeating: "x", count: 0x8000))\r\n".utf8
    )

    private static func hung(_ row: inout OriginRow) {
        row.timeout = .milliseconds(300)
    }

    static let all = sound + slow + failing + captive + redirecting + lying + framing

    private static let sound = [
        OriginRow("answers", .json(new), to: .brings),
        OriginRow(
            "answers in chunks",
            .chunked([#"{"v":"#, #""new"}"#], headers: json),
            to: .brings
        ),
        OriginRow("confirms", .json(new), .reply(304), to: .brings, ifCached: .confirms) {
            $0.hasETag = true
        },
        OriginRow("deletes", .text("no", status: 404), to: .deletes),
        OriginRow("deletes for good", .text("no", status: 410), to: .deletes),
    ]

    private static let slow = [
        OriginRow("head late", .json(new), to: .bringsLate) {
            $0.isHeld = true
            $0.networkWait = .milliseconds(20)
        },
        OriginRow("head never", .never, to: .fails("timeout"), hung),
        OriginRow(
            "body never",
            OriginAnswer([.head(200, ["Content-Length": "9"]), .text("1"), .wait(Gate())]),
            to: .fails("timeout"),
            hung
        ),
        OriginRow(
            "chunk never",
            OriginAnswer([
                .head(200, ["Transfer-Encoding": "chunked"]), .chunk([0x31]), .wait(Gate()),
            ]),
            to: .fails("timeout"),
            hung
        ),
    ]

    private static let failing = [
        OriginRow("refuses connections", nil, to: .fails("unreachable")),
        OriginRow("closes before the head", OriginAnswer([.close]), to: .fails("unreachable")),
        OriginRow(
            "closes in the head",
            .raw("HTTP/1.1 200 OK\r\nContent-Le"),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "closes in the body",
            OriginAnswer([.head(200, ["Content-Length": "99"]), .text("{"), .close]),
            to: .fails("bad-answer")
        ),
        OriginRow("500", .text("own words", status: 500), to: .breaksDown(500)),
        OriginRow(
            "503 for an hour",
            .text("own words", status: 503, headers: ["Retry-After": "3600"]),
            to: .breaksDown(503)
        ),
        OriginRow(
            "503 and then well",
            .text("own words", status: 503, headers: ["Retry-After": "0"]),
            .json(new),
            to: .brings
        ),
        OriginRow("522", .text("own words", status: 522), to: .breaksDown(522)),
        OriginRow("501", .text("own words", status: 501), to: .refuses(501)),
        OriginRow("403", .text("own words", status: 403), to: .refuses(403)),
        OriginRow("429", .text("own words", status: 429), to: .refuses(429)),
    ]

    private static let captive = [
        OriginRow("511", .text("sign in", status: 511), to: .fails("captive")),
        // The origin's base URL and what it does not have are answered otherwise: no portal.
        OriginRow(
            "HTML where JSON was expected",
            .text("<p>a page</p>", headers: ["Content-Type": "text/html"]),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "redirects to another host",
            .redirect(to: "http://other.example/login"),
            to: .fails("redirect-refused")
        ),
    ]

    private static let redirecting = [
        OriginRow("redirects at home", .redirect(to: "/base/moved"), to: .brings),
        OriginRow("redirects to itself", .redirect(to: ""), to: .fails("bad-answer")),
        OriginRow("redirects in a circle", .redirect(to: "/base/circle"), to: .fails("bad-answer")),
        OriginRow("redirects nowhere", .reply(302), to: .fails("bad-answer")),
        OriginRow("redirects to no URL", .redirect(to: "mailto:a@b"), to: .fails("bad-answer")),
    ]

    private static let lying = [
        OriginRow(
            "304 with a Location",
            .json(new),
            .reply(304, ["Location": "http://portal.example/"]),
            to: .brings,
            ifCached: .confirms
        ) { $0.hasETag = true },
        OriginRow("304 to no condition", .reply(304), to: .fails("bad-answer")),
        OriginRow(
            "a part that nobody asked for",
            .reply(206, ["Content-Range": "bytes 0-0/9"], body: [0x31]),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "gzip that nobody asked for",
            .reply(200, json.merging(["Content-Encoding": "gzip"]) { $1 }, body: gzipped),
            to: .brings
        ) { $0.body = Array("{}".utf8) },
        OriginRow("nothing", .reply(204), to: .brings) { $0.body = [] },
        OriginRow(
            "a huge head",
            .reply(200, ["X-Long": String(repeating: "x", count: 70_000)]),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "too many headers",
            .reply(200, Dictionary(uniqueKeysWithValues: (0..<300).map { ("X-\($0)", "1") })),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "a line end in a header",
            .raw(
                "HTTP/1.1 200 OK\r\nX-A: b\rc\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 11\r\n\r\n{\"v\":\"new\"}"
            ),
            to: .brings
        ),
    ]

    private static let framing = [
        OriginRow(
            "a chunk that is cut off",
            OriginAnswer([.head(200, ["Transfer-Encoding": "chunked"]), .text("9\r\n{"), .close]),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "chunks without an end",
            OriginAnswer([
                .head(200, ["Transfer-Encoding": "chunked"]), .chunk([0x31]), .close,
            ]),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "a chunk of a size that is none",
            OriginAnswer([.head(200, ["Transfer-Encoding": "chunked"]), .text("zz\r\n1"), .close]),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "chunks for ever",
            OriginAnswer([
                .head(200, ["Transfer-Encoding": "chunked"]), .repeat(longChunk),
            ]),
            to: .brings413
        ),
        OriginRow(
            "a length above what is kept",
            OriginAnswer([.head(200, ["Content-Length": "9000000"]), .repeat(longChunk)]),
            to: .brings413
        ),
        OriginRow(
            "a length that is too short",
            OriginAnswer([
                .head(200, json.merging(["Content-Length": "11"]) { $1 }), .text(new + "and more"),
                .close,
            ]),
            to: .brings
        ),
        OriginRow(
            "two lengths",
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12"),
            to: .fails("bad-answer")
        ),
        OriginRow(
            "a length that is none",
            .raw("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n1"),
            to: .fails("bad-answer")
        ),
        OriginRow("noise", .raw("\u{1}\u{2}\u{3} what is this\r\n\r\n"), to: .fails("bad-answer")),
        OriginRow("HTTP/0.9", .raw("<p>an answer without a head</p>"), to: .fails("bad-answer")),
        OriginRow("another version", .raw("HTTP/9.9 200 OK\r\n\r\n"), to: .fails("bad-answer")),
    ]
}
