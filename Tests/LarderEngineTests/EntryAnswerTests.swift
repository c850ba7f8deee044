import LarderModel
import Testing

@testable import LarderEngine

@Suite("What a 304 changes of a stored answer")
struct EntryAnswerTests {
    @Test(
        "Fields that describe the stored bytes stay",
        arguments: ["Content-Encoding", "Content-Range", "Content-Length", "Content-Type"]
    )
    func storedBytes(name: String) throws {
        let settings = FetchSettings()
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        var entry = Entry(
            id: try EntryID("https://a.example/x"),
            kind: .fetched,
            storedAt: now,
            revision: Revision(1),
            body: BodySummary(byteCount: 2, digest: Digest(high: 0, low: 0), isJSON: false)
        )
        entry.mediaType = "text/plain"
        entry.headers.append("X-Own", "1")
        var told = HeaderFields()
        told.append(name, "gzip")
        told.append("X-Own", "2")
        let confirmed = entry.confirmed(by: told, settings, at: now)
        #expect(confirmed.headers[name] == nil)
        #expect(confirmed.mediaType == "text/plain")
        #expect(confirmed.headers["X-Own"] == "2")
    }
}
