import Foundation
import LarderModel
import LarderTestSupport

@testable import LarderStore

/// A `state.db` that is harmed by meaning: valid values of every kind in every column, rows and pages
/// of another moment of the same file, an end in the middle, and all of it with a WAL that was not
/// written back.
///
/// Then everything is read, one modifier more is accepted and settled, and the store goes on and is
/// opened again. What was harmed costs its rows; nothing ends the daemon, and no modifier goes
/// without a word.
final class StateFuzz {
    private let temporary: TemporaryStore
    private var random: SeededRandom
    private let isLarge: Bool
    private var accepted = 0
    private var log: [String] = []

    /// With `isLarge` the file is larger than what is read through at start; else it is at random
    /// taken for one that is.
    init(seed: UInt64, isLarge: Bool = false) throws {
        random = SeededRandom(seed: seed)
        self.isLarge = isLarge
        let checked = Bool.random(using: &random) ? Limits.checkedStateBytesMax : 0
        temporary = try TemporaryStore(configure: { configuration in
            configuration.checkedStateBytes = isLarge ? Limits.checkedStateBytesMax : checked
            configuration.queue.history = 20
        })
        if checked == 0 { log.append("as too large") }
    }

    func run() async throws -> KeptCounts {
        do { try await live() } catch { throw FailedRun(error, after: log) }
        return KeptCounts()
    }

    private func live() async throws {
        for _ in 0..<20 { try await step() }
        if isLarge { try await grow() }
        if Bool.random(using: &random) { try await temporary.reopen() }
        let old = try TemporaryDirectory()
        for suffix in ["", "-wal"] {
            try copyFile(temporary.statePath + suffix, to: old.path("old.db\(suffix)"))
        }
        for _ in 0..<20 { try await step() }
        try await temporary.store.settle()
        var modifiers: Int64 = 0
        var arePagesWhole = true
        try temporary.crash { folder in
            let path = folder.path("state/state.db")
            switch Int.random(in: 0..<6, using: &random) {
            case 0..<3: try changeValues(path)
            case 3: try changeRows(path, old.path("old.db"))
            case 4:
                arePagesWhole = false
                try changePages(path, old.path("old.db"))
            default:
                arePagesWhole = false
                try cut(path)
            }
            if arePagesWhole { modifiers = try Self.modifiers(path) }
        }
        do throws(StoreError) { try await goOn() } catch {
            // What a page breaks may be met at work; the start after it finds it.
            log.append("met: \(error.message)")
            guard !arePagesWhole, case .corrupt(temporary.statePath, _) = error else { throw error }
        }
        if arePagesWhole {
            let left = try Self.modifiers(temporary.statePath)
            try require(left >= modifiers, "\(modifiers - left) of the queue are gone")
        }
        temporary.drop()
        try temporary.open()
        try await goOn()
        try await temporary.reopen()
        let findings = temporary.store.files.findings
        try require(findings.isEmpty, "salvaged, and found damaged again: \(findings)")
        try await StateReading(temporary).all()
    }

    private static func modifiers(_ path: String) throws -> Int64 {
        let file = try SQLiteConnection(path: path, mode: .readOnly)
        file.keepWALOnClose(true)
        return try file.integer("SELECT count(*) FROM modifier") ?? 0
    }

    private func goOn() async throws(StoreError) {
        log.append("opened: \(temporary.store.files.findings)")
        try await StateReading(temporary).all()
        for _ in 0..<4 { try await accept() }
        try await settle()
        for _ in 0..<8 { try await step() }
        try await temporary.store.maintain()
        try await temporary.store.settle()
        try await StateReading(temporary).all()
    }

    // MARK: What there is

    private func step() async throws(StoreError) {
        let id = random.pick(["a", "b", "c"])
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<2: try await temporary.answer(id, "[\(random.next() % 100)]")
        case 2:
            let long = String(repeating: "x", count: 80_000)
            try await temporary.answer("large", "\"\(long)\"")
        case 3..<7: try await accept()
        case 7..<9: try await settle()
        case 9:
            let origin = try? OriginName("host")
            for name in [id, "large", "waiting"] { try await temporary.pin(name, from: origin) }
        case 10: try await temporary.unpin(id)
        default:
            guard let lane = try? Lane(given: "name:\(id)") else { return }
            let isPaused = Bool.random(using: &random)
            try await temporary.store.modifiers.setPaused(temporary.scope, lane, isPaused)
            try await temporary.store.setOffline(id, isPaused)
        }
    }

    private func accept() async throws(StoreError) {
        accepted += 1
        let ids = ["a", "b", "c"].shuffled(using: &random).prefix(2)
        let scope = temporary.store.key(for: random.pick(Array(Scope.several.dropLast())))
        var new = NewModifier.changing(
            Array(ids),
            "m\(accepted)",
            scope,
            isOfSharedRow: random.next() % 8 == 0
        )
        let open = try await temporary.store.modifiers.unsettled(after: nil).compactMap(\.readable)
        if let parent = open.filter({ $0.scope == scope.scope }).last, random.next() % 3 == 0 {
            new.dependsOn = [parent.number]
        }
        if random.next() % 4 == 0 { new.lane = try? LaneName("x") }
        do throws(StoreError) {
            _ = try await temporary.store.modifiers.accept([new], now: .epoch)
        } catch .modifierExists {
            // A harmed row may have its id.
        }
    }

    private func settle() async throws(StoreError) {
        let found = try await temporary.store.modifiers.unsettled(after: nil)
        let lost = found.filter { $0.readable == nil }.map(\.number)
        try await temporary.store.modifiers.failUnreadable(lost, now: .epoch)
        guard let one = found.compactMap(\.readable).randomElement(using: &random) else { return }
        _ = try await temporary.store.modifiers.send(one.number)
        switch random.next() % 4 {
        case 0: try await temporary.confirm(one.number, "[\(random.next() % 100)]")
        case 1:
            try await temporary.end(one.number, .failed(.attempts) { _, _ in LostView() })
        case 2: try await temporary.end(one.number, .cancelled)
        default:
            let isStalled = Bool.random(using: &random)
            var update = ModifierUpdate(one.number, .retryWait, isStalled: isStalled)
            update.nextAttemptAt = .epoch
            let headers = HeaderFields()
            update.answer = StoredAnswer(status: 503, headers: headers, body: [1, 2], at: .epoch)
            try await temporary.store.modifiers.update(update)
        }
    }

    /// Adds chunks until the file is not read through any more.
    private func grow() async throws {
        try await temporary.close()
        try temporary.changeState(
            """
            INSERT INTO body (body, size, linked) VALUES (1000, 0, 1);
            INSERT INTO chunk (chunk, checksum, data)
            WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < 4)
            SELECT (1000 << 20) + n, 0, zeroblob(16 << 20) FROM number
            """
        )
        try temporary.open()
    }

    // MARK: Harm

    private func harm(_ path: String, _ work: (SQLiteConnection) throws -> Void) throws {
        let file = try SQLiteConnection(path: path, mode: .readWrite)
        file.keepWALOnClose(true)
        try file.execute("PRAGMA ignore_check_constraints=ON; PRAGMA wal_autocheckpoint=0")
        try work(file)
    }

    private func tables(_ file: SQLiteConnection) throws -> [String] {
        let list = try file.prepare(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'offline_origin'
                AND (name NOT LIKE 'sqlite%' OR name = 'sqlite_sequence') ORDER BY name
            """
        )
        return try list.all { $0.text(.only) }
    }

    private func changeValues(_ path: String) throws {
        try harm(path) { file in
            let tables = try tables(file)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let table = random.pick(tables)
                let columns = try file.prepare(
                    "SELECT name FROM pragma_table_info('\(table)') ORDER BY cid"
                )
                let column = random.pick(try columns.all { $0.text(.only) })
                let rows = try file.integer("SELECT count(*) FROM \(table)") ?? 0
                guard rows > 0 else { continue }
                let one = Int64.random(in: 0..<rows, using: &random)
                let other = Int64.random(in: 0..<rows, using: &random)
                let value = value(of: column, of: table, other)
                let sql = """
                    UPDATE OR IGNORE \(table) SET \(column) = \(value) WHERE rowid =
                        (SELECT rowid FROM \(table) ORDER BY rowid LIMIT 1 OFFSET \(one))
                    """
                log.append(sql)
                // A key of rows takes no text.
                try? file.execute(sql)
            }
        }
    }

    private func value(of column: String, of table: String, _ other: Int64) -> String {
        let numbers: [Int64] = [
            .min, -1, 0, 1, 2, 5, 300, 1 << 31, 1 << 43, 1 << 51, 1 << 53, 1 << 60, .max,
        ]
        let texts = [
            "''", "'x'", "'1000:default'", "'1001:default'", "'shared'", "'a'", "'failed'",
            "'queued'",
            "'in_flight'", "'confirmed'", "'1 2'", "'9007199254740993'", "char(0)", "'name:x'",
            "'https://host/2'", "NULL", "x'ff'", "1.5e300", "zeroblob(70000)",
        ]
        switch random.next() % 4 {
        case 0, 1: return "\(random.pick(numbers))"
        case 2: return random.pick(texts)
        default:
            return "(SELECT \(column) FROM \(table) ORDER BY rowid LIMIT 1 OFFSET \(other))"
        }
    }

    private static let keysWithoutRowID = ["reading": "rev", "offline_origin": "length(name)"]

    private func changeRows(_ path: String, _ old: String) throws {
        try harm(path) { file in
            try file.execute("ATTACH '\(old)' AS old")
            for table in try tables(file) where random.next() % 2 == 0 {
                let step = 1 + random.next() % 3
                let key = Self.keysWithoutRowID[table] ?? "rowid"
                let whole = """
                    INSERT OR REPLACE INTO main.\(table) SELECT * FROM old.\(table)
                        WHERE \(key) % \(step) = 0
                    """
                let lost = "DELETE FROM main.\(table) WHERE \(key) % \(step + 2) = 1"
                let isSafe = table != "modifier" && table != "change"
                let sql = isSafe && Bool.random(using: &random) ? lost : whole
                log.append(sql)
                try file.execute(sql)
            }
        }
    }

    private func changePages(_ path: String, _ old: String) throws {
        // With or without what the WAL has of these pages.
        if random.next() % 3 == 0 { unlink(path + "-wal") }
        let (now, then) = (StatePages(path: path), StatePages(path: old))
        let last = min(now.count, then.count)
        guard last > 2 else { return }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let page = Int.random(in: 2...last, using: &random)
            let other = random.next() % 3 == 0 ? Int.random(in: 2...last, using: &random) : page
            log.append("page \(other) of then at \(page)")
            try now.write(try then.read(other), at: page)
        }
    }

    private func cut(_ path: String) throws {
        let suffix = random.pick(["", "-wal"])
        let bytes = DiskSpace.fileBytes(at: path + suffix)
        guard bytes > 0 else { return }
        let end = Int64.random(in: 0..<bytes, using: &random)
        let isWhole = Bool.random(using: &random)
        let place = isWhole ? end / 4_096 * 4_096 : end
        log.append("cut \(suffix) at \(place) of \(bytes)")
        truncate(path + suffix, Int(place))
    }
}
