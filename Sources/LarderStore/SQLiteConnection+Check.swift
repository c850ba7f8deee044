import CSQLite
import LarderModel

extension SQLiteConnection {
    /// What SQLite finds wrong with the file's structure
    /// (https://sqlite.org/pragma.html#pragma_quick_check): nothing in a sound one, and nil where
    /// `checkBreak` ended it early.
    func quickCheck(until checkBreak: CheckBreak) throws(StoreError) -> [String]? {
        do throws(StoreError) {
            return try checkBreak.during(self) { () throws(StoreError) in
                let sql = "PRAGMA quick_check(\(Limits.checkFindingsMax))"
                let statement = try prepare(sql)
                var findings: [String] = []
                while try statement.step() { findings.append(statement.text(.only) ?? "") }
                return findings == ["ok"] ? [] : findings
            }
        } catch .sqlite(_, _, let code, _) where code & 0xFF == SQLITE_INTERRUPT {
            return nil
        } catch .corrupt(let file, let step) {
            return [StoreError.corrupt(file: file, step: step).message]
        }
    }
}
