import FoundationEssentials
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The credentials of users")
struct CredentialRowsTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
    }

    private func stored(
        _ value: String,
        uid: UInt32 = 1_000,
        account: String = "default",
        origin: String = "a"
    ) throws -> StoredCredential {
        StoredCredential(
            CredentialName(
                .own(uid: uid, account: try AccountName(account)),
                at: try OriginName(origin)
            ),
            address: "https://a.example",
            Credential(
                header: "Authorization",
                value: value,
                setAt: .epoch,
                expires: Timestamp(milliseconds: 5)
            )
        )
    }

    private func values() throws -> Set<String> {
        Set(try temporary.store.credentials().map(\.credential.value))
    }

    @Test("Each account has one at an origin, which survives a restart until it is removed")
    func replaced() async throws {
        let new = try stored("new")
        try await temporary.store.setCredential(try stored("old"))
        try await temporary.store.setCredential(new)
        try await temporary.store.setCredential(try stored("work", account: "work"))
        try await temporary.store.setCredential(try stored("b", origin: "b"))
        try await temporary.reopen()
        #expect(try values() == ["new", "work", "b"])
        #expect(try temporary.store.credentials().contains(new))
        try await temporary.store.removeCredential(new.name)
        try await temporary.reopen()
        #expect(try values() == ["work", "b"])
        try await temporary.store.forget(.user(1_000))
        #expect(try values().isEmpty)
    }

    @Test("A value that was replaced, removed or forgotten is in no file after the end (case 23)")
    func overwritten() async throws {
        let values = ["replaced-s3cret", "removed-s3cret", "forgotten-s3cret", "kept-s3cret"]
        try await temporary.store.setCredential(try stored(values[0]))
        try await temporary.store.setCredential(try stored(values[3]))
        let removed = try stored(values[1], account: "work")
        try await temporary.store.setCredential(removed)
        try await temporary.store.removeCredential(removed.name)
        try await temporary.store.setCredential(try stored(values[2], uid: 1_001))
        try await temporary.store.forget(.user(1_001))
        // First while the store is open, when old pages are in the WAL.
        try await temporary.store.maintain()
        for hasClosed in [false, true] {
            if hasClosed { try await temporary.close() }
            let bytes = try files()
            for value in values {
                let isThere = bytes.firstRange(of: value.utf8) != nil
                #expect(isThere == (value == values[3]), "\(value), closed \(hasClosed)")
            }
        }
    }

    @Test("No removed value is left where rows have moved to other pages (case 23)")
    func moved() async throws {
        // Sizes and an order with which SQLite joins pages.
        let all = try (0..<41).map { number in
            let value = "<\(number)-" + String(repeating: "x", count: 100) + "-\(number)>"
            return try stored(value, account: "a\(number)")
        }
        try await temporary.store.stateFile.commits.submit { writer throws(StoreError) in
            for one in all { try writer.state.credentials.set(one) }
            for (number, one) in all.enumerated() where number % 3 > 0 {
                try writer.state.credentials.remove(one.name)
            }
        }
        try await temporary.close()
        let bytes = try files()
        let found = all.indices.filter { number in
            ["<\(number)-", "-\(number)>"].contains { bytes.firstRange(of: $0.utf8) != nil }
        }
        #expect(found == all.indices.filter { $0 % 3 == 0 })
    }

    /// The bytes of `state.db` and its WAL.
    private func files() throws -> Data {
        try ["", "-wal"].map { temporary.statePath + $0 }
            .filter { FileManager.default.fileExists(atPath: $0) }
            .reduce(Data()) { try $0 + Data(contentsOf: URL(filePath: $1)) }
    }

    @Test("A user has a limited number, and one more changes nothing")
    func limit() async throws {
        try await temporary.close()
        try temporary.changeState(
            """
            INSERT INTO credential (scope, origin, address, header, value, set_at)
            WITH RECURSIVE number(n) AS (
                SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(Limits.credentialsPerUserMax))
            SELECT '1000:default', 'o' || n, 'https://a.example', 'Authorization', 'x', 0 FROM number
            """
        )
        try temporary.open()
        await #expect(throws: StoreError.self) {
            try await temporary.store.setCredential(try stored("x", origin: "more"))
        }
        try await temporary.store.setCredential(try stored("again", origin: "o1"))
        try await temporary.store.setCredential(try stored("other", uid: 1_001))
        #expect(try temporary.store.credentials().count == Limits.credentialsPerUserMax + 1)
    }

    @Test("A damaged row is left out")
    func damaged() async throws {
        try await temporary.store.setCredential(try stored("a"))
        try await temporary.store.setCredential(try stored("b", origin: "b"))
        try await temporary.close()
        try temporary.changeState("UPDATE credential SET scope = 'shared' WHERE origin = 'b'")
        try temporary.open()
        #expect(try values() == ["a"])
    }

    @Test("A modifier of an earlier version was accepted under no credential of an account")
    func migrated() throws {
        let file = try SQLiteConnection(path: ":memory:", mode: .readWrite)
        for step in Schema.state.steps.dropLast() { try file.execute(step) }
        try file.execute(
            """
            INSERT INTO modifier (scope, id, origin, state, depends_on, attempts, not_applied, stalled,
                round, accepted_at, rev, digest_high, digest_low, size, changes, method, url, headers)
            VALUES ('1000:default', 'm', 'a', 'queued', '', 0, 0, 0, 1, 0, 1, 0, 0, 300, 0, 'PUT',
                'https://a.example/', '')
            """
        )
        try file.execute(try #require(Schema.state.steps.last))
        let row = try file.prepare("SELECT \(ModifierColumn.whole) FROM modifier")
        #expect(try row.step())
        let modifier = try #require(StoredModifier(row))
        #expect(modifier.credential == nil)
        try file.execute("UPDATE modifier SET credential = 'of a later version'")
        row.reset()
        #expect(try row.step())
        #expect(StoredModifier(row) == nil)
    }
}
