import LarderModel
import LarderStrategy
import Testing

@Suite("The head of an answer on the raw routes")
struct RawFieldsTests {
    private func entry(_ change: (inout Entry) -> Void = { _ in }) throws -> Entry {
        var entry = Entry(
            id: try EntryID("https://a.example/x"),
            kind: .fetched,
            storedAt: .start,
            revision: Revision(7),
            body: BodySummary(byteCount: 2, digest: Digest(high: 1, low: 2), isJSON: false)
        )
        change(&entry)
        return entry
    }

    private func lines(_ fields: HeaderFields) -> [String] {
        fields.fields.map { "\($0.name): \($0.value)" }
    }

    @Test("The origin's fields, the age, what was done, and the revision")
    func whole() throws {
        let entry = try entry {
            $0.mediaType = "text/plain"
            $0.etag = "W/\"a\""
            $0.lastModified = "Tue, 14 Nov 2023 22:13:20 GMT"
            $0.freshUntil = Timestamp.start.advanced(by: .seconds(60))
            $0.headers.append("Cache-Control", "max-age=60")
            $0.headers.append("Content-Encoding", "gzip")
            $0.headers.append("Cache-Status", "cdn; hit")
            $0.headers.append("Larder-Rev", "999")
            $0.headers.append("Accept-Ranges", "bytes")
        }
        let now = Timestamp.start.advanced(by: .seconds(90))
        let expected = [
            "Cache-Control: max-age=60", "Content-Encoding: gzip", "Cache-Status: cdn; hit",
            "Content-Type: text/plain", "ETag: W/\"a\"",
            "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT", "Age: 90",
            "Cache-Status: larder; hit; ttl=-30", "Larder-Rev: 7", "Larder-Pending: 0",
        ]
        #expect(lines(RawFields.of(entry, CacheStatus(.hit), now: now)) == expected)
    }

    @Test("The age goes on from the one that the answer came with, and is never negative")
    func age() throws {
        for (header, elapsed, age) in [
            (nil, 5, 5), ("100", 5, 105), ("x", 5, 5), ("-3", 5, 5), ("100", -5, 100),
        ] {
            let entry = try entry { entry in
                if let header { entry.headers.append("Age", header) }
            }
            let now = Timestamp.start.advanced(by: .seconds(elapsed))
            #expect(RawFields.age(of: entry, now: now) == .seconds(age), "\(header ?? "-")")
        }
    }

    @Test("An answer without an ETag of the origin has one made of its bytes")
    func digestTag() throws {
        let fields = RawFields.of(try entry(), CacheStatus(.hit), now: .start)
        #expect(fields["ETag"] == "\"larder-00000000000000010000000000000002\"")
        #expect(fields["Last-Modified"] == nil)
        #expect(fields["Cache-Status"] == "larder; hit")
    }

    @Test("A body that is passed on keeps its own header fields")
    func passingOn() {
        var headers = HeaderFields()
        headers.append("ETag", "\"a\"")
        headers.append("Age", "3")
        headers.append("larder-pending", "9")
        let status = CacheStatus(.forwarded(.nothingCached, status: 200))
        #expect(
            lines(RawFields.passingOn(headers, status)) == [
                "ETag: \"a\"", "Age: 3", "Cache-Status: larder; fwd=uri-miss; fwd-status=200",
                "Larder-Pending: 0",
            ]
        )
    }

    @Test("An answer after redirects has the URL that gave it, which no origin can set")
    func source() throws {
        let place = try WebURL("https://cdn.example/y")
        let moved = try entry { $0.source = place }
        let hit = RawFields.of(moved, CacheStatus(.hit), now: .start)
        #expect(hit["Larder-Source"] == place.text)
        var forged = HeaderFields()
        forged.append("Larder-Source", "https://forged.example/")
        let status = CacheStatus(.forwarded(.request, status: 200))
        #expect(RawFields.passingOn(forged, status)["Larder-Source"] == nil)
        let passed = RawFields.passingOn(forged, status, from: place)
        #expect(lines(passed).filter { $0.hasPrefix("Larder-S") } == ["Larder-Source: \(place)"])
    }

    @Test("Cache-Status in all its forms")
    func cacheStatus() {
        var stored = CacheStatus(.forwarded(.stale, status: 304))
        stored.isStored = true
        stored.lifetime = .milliseconds(59_999)
        let table: [(CacheStatus, String)] = [
            (CacheStatus(.hit), "larder; hit"),
            (CacheStatus(.hit, detail: "network-wait"), "larder; hit; detail=network-wait"),
            (stored, "larder; fwd=stale; fwd-status=304; stored; ttl=59"),
            (CacheStatus(.forwarded(.request, status: 500)), "larder; fwd=request; fwd-status=500"),
            (
                CacheStatus(.forwarded(.bypass, status: nil), detail: "timeout"),
                "larder; fwd=bypass; detail=timeout"
            ),
            (CacheStatus(.none, detail: "miss"), "larder; detail=miss"),
        ]
        for (status, text) in table { #expect(status.text == text) }
    }

    @Test(
        "When a client has it already",
        arguments: [
            (nil, nil, 200, false),
            ("\"a\"", nil, 200, true),
            ("W/\"a\", \"b\"", nil, 200, true),
            ("\"b\"", nil, 200, false),
            ("*", nil, 200, true),
            ("\"a\"", nil, 404, false),
            // If-None-Match alone counts where it is given.
            ("\"b\"", "Tue, 14 Nov 2023 22:13:20 GMT", 200, false),
            (nil, "Tue, 14 Nov 2023 22:13:20 GMT", 200, true),
            (nil, "Tue, 14 Nov 2023 22:13:21 GMT", 200, true),
            (nil, "Tue, 14 Nov 2023 22:13:19 GMT", 200, false),
            (nil, "yesterday", 200, false),
        ] as [(String?, String?, Int, Bool)]
    )
    func conditions(tag: String?, since: String?, status: Int, isMet: Bool) {
        var request = HeaderFields()
        if let tag { request.append("If-None-Match", tag) }
        if let since { request.append("If-Modified-Since", since) }
        let conditions = RawConditions(request)
        let met = conditions.isMet(
            status: status,
            entityTag: "\"a\"",
            lastModified: "Tue, 14 Nov 2023 22:13:20 GMT",
            now: .start
        )
        #expect(met == isMet)
    }
}
