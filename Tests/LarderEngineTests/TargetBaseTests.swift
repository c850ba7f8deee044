import LarderModel
import LarderStore
import Testing

@testable import LarderEngine

@Suite("The base of a target")
struct TargetBaseTests {
    @Test(
        "A read is newer than an answer to a write if it was stored after that came (case 5)",
        arguments: [(4, 9, false), (5, 3, false), (5, 8, true), (6, 3, true), (6, 8, true)]
    )
    func read(storedAt: Int64, revision: Int64, isNewer: Bool) throws {
        let entry = Entry(
            id: try EntryID(stored: "https://api.example.com/a"),
            kind: .fetched,
            storedAt: Timestamp(milliseconds: storedAt),
            revision: Revision(revision),
            body: BodySummary(of: [], isJSON: false)
        )
        let base = TargetBase.value(entry, nil)
        #expect(base.wasRead(since: Timestamp(milliseconds: 5), Revision(5)) == isNewer)
        #expect(!TargetBase.unknown.wasRead(since: Timestamp(milliseconds: 5), Revision(5)))
    }
}
