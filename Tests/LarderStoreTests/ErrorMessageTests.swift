import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Messages of store errors")
struct ErrorMessageTests {
    @Test(
        "A message has no SQL, whichever operation of a command fails",
        arguments: FaultInjection.Code.allCases
    )
    func commands(code: FaultInjection.Code) async throws {
        for n in 1... {
            let temporary = try TemporaryStore()
            temporary.faults.arm(n, with: code, .forGood)
            do throws(StoreError) {
                let new = NewEntry.blob(temporary.scope, named("a"), [1])
                _ = try await temporary.store.put(new, now: .epoch)
                let filter = RowFilter(scope: temporary.scope)
                _ = try await temporary.store.candidates(filter, limit: 3)
            } catch {
                expectNoSQL(error.message)
            }
            for finding in temporary.store.files.findings { expectNoSQL(finding) }
            temporary.faults.disarm()
            guard temporary.faults.failures > 0, n < 30 else { return }
        }
    }

    @Test("A state.db of a later version is refused with the version and the copy it needs (S5)")
    func later() {
        func message(_ copy: String?) -> String {
            StoreError.newer(path: "/state.db", found: 9, known: 8, copy: copy).message
        }
        for copy in [nil, "/state.db.before-7"] {
            #expect(message(copy).contains("version 9, this larderd knows up to 8"))
            #expect(message(copy).contains("install a larderd that knows version 9"))
        }
        #expect(message("/state.db.before-7").hasSuffix(", or restore /state.db.before-7"))
        #expect(message(nil).hasSuffix("there is no copy of an earlier version"))
    }

    @Test("A message names the action, the file and SQLite's words, and the log has the SQL")
    func statement() {
        let sql = "SELECT key\n  FROM entry WHERE id = ?1"
        let error = StoreError(code: 10, file: "/c.db", step: sql, message: "disk I/O error")
        #expect(error.message == "a read failed on /c.db: disk I/O error (10)")
        #expect(error.statement == "SELECT key FROM entry WHERE id = ?1: disk I/O error")
        let check = StoreError.corrupt(file: "/c.db", step: "PRAGMA quick_check(1)")
        #expect(check.message == "a look at the file failed: the file is damaged (/c.db)")
        #expect(check.statement == "PRAGMA quick_check(1)")
        let mistake = StoreError(code: 1, file: "/c.db", step: "INSERT", message: "near \"INSERT\"")
        #expect(mistake.message == "a write failed on /c.db: SQL logic error (1)")
        let copy = StoreError.diskFull(file: "/c.db", step: "copy what is left of /c.db")
        #expect(copy.message == "copy what is left of /c.db failed: the disk is full (/c.db)")
        #expect(copy.statement == nil)
    }

    @Test("A page that is cut off or that the disk cannot read is damage, with or without SQL")
    func unreadablePage() {
        for code in [11, 522, 8_458] as [Int32] {
            let error = StoreError(code: code, file: "/c.db", step: "checkpoint", message: "")
            #expect(error == .corrupt(file: "/c.db", step: "checkpoint"), "\(code)")
        }
    }

    private func expectNoSQL(_ message: String) {
        let words = message.split { !$0.isLetter && $0 != "_" }
        let keywords: Set<Substring> = [
            "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "PRAGMA", "BEGIN", "COMMIT", "WITH",
            "FROM", "WHERE", "CREATE", "SAVEPOINT", "ROLLBACK",
        ]
        #expect(keywords.isDisjoint(with: words), "\(message)")
    }
}
