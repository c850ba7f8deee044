import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The files")
struct FileTests {
    private let temporary = TemporaryStore.new()

    @Test("Only their owner reads the files and the folders")
    func permissions() async throws {
        try await temporary.put("a", [1])
        let files = ["cache/cache.db", "cache/cache.db-wal", "cache/lock", "state/state.db"]
        for name in files {
            #expect(try mode(temporary.directory.path(name)) == 0o600, "\(name)")
        }
        for name in ["cache", "state"] {
            #expect(try mode(temporary.directory.path(name)) == 0o700, "\(name)")
        }
    }

    @Test("A second opener is told that the folder is in use, until the first one is gone")
    func inUse() async throws {
        let configuration = StoreConfiguration(
            cacheDirectory: temporary.directory.path("cache"),
            stateDirectory: temporary.directory.path("other")
        )
        #expect(throws: StoreError.inUse(path: configuration.cacheDirectory)) {
            _ = try Store(configuration, now: { .epoch })
        }
        try await temporary.close()
        _ = try Store(configuration, now: { .epoch })
    }

    /// What may lie where `cache.db` is looked for.
    enum Wreck: CaseIterable {
        case newer
        case noise
        case shortNoise
        case half
        case otherDatabase
        case otherDatabaseOfOurVersion
    }

    @Test(
        "An unusable cache.db is set aside and created again, and revisions go on",
        arguments: Wreck.allCases
    )
    func setAside(wreck: Wreck) async throws {
        for round in 1...2 {
            var last = Revision(0)
            for number in 0..<40 {
                last = try await temporary.put("\(number)", .pattern(60_000)).revision
            }
            try await temporary.close()
            try wreckFile(wreck, at: temporary.cachePath)
            let wrecked = try Data(contentsOf: URL(filePath: temporary.cachePath))
            try temporary.open()
            #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
            #expect(try await temporary.ids() == [])
            #expect(try await temporary.put("new", [1]).revision > last)
            #expect(try await temporary.bytes("new") == [1])
            _ = try FileAudit(temporary.cachePath)
            let aside = try Data(contentsOf: URL(filePath: temporary.cachePath + ".aside"))
            #expect(aside == wrecked, "round \(round)")
            let names = try FileManager.default.contentsOfDirectory(
                atPath: temporary.directory.path("cache")
            )
            #expect(names.filter { $0.hasSuffix(".aside") } == ["cache.db.aside"])
        }
    }

    @Test("An empty cache.db is a new one")
    func empty() async throws {
        let last = try await temporary.put("a", [1]).revision
        try await temporary.close()
        try Data().write(to: URL(filePath: temporary.cachePath))
        try temporary.open()
        #expect(temporary.store.files.findings == [])
        #expect(try await temporary.put("b", [1]).revision > last)
    }

    @Test("A WAL of noise is left out, and what was written back is there")
    func noiseInWAL() async throws {
        try await temporary.put("a", [1])
        try await temporary.close()
        try Data.noise(100_000).write(to: URL(filePath: temporary.cachePath + "-wal"))
        try temporary.open()
        #expect(try await temporary.bytes("a") == [1])
        try await temporary.put("b", [2])
        _ = try FileAudit(temporary.cachePath)
    }

    @Test("A WAL that is cut anywhere leaves a whole earlier state")
    func cutWAL() async throws {
        var random = SeededRandom(seed: 4)
        for round in 0..<25 {
            for number in 0..<6 { try await temporary.put("\(number)", .pattern(5_000)) }
            try await temporary.upload("large", .pattern(70_000, UInt8(random.next() % 256)))
            let highest = try await temporary.put("last \(round)", [1]).revision
            try temporary.crash { copy in
                let wal = copy.path("cache/cache.db-wal")
                let length = try Data(contentsOf: URL(filePath: wal)).count
                truncate(wal, Int.random(in: 0...length, using: &random))
            }
            #expect(temporary.store.files.findings == [])
            try await temporary.store.settle()
            let audit = try FileAudit(temporary.cachePath)
            #expect(audit.unlinkedBodies == 0 && audit.bytes == temporary.store.totals.bytes)
            #expect(try await temporary.put("after \(round)", [1]).revision > highest)
        }
    }

    @Test("Without its cache.db or without its state.db the store goes on above all revisions")
    func deleted() async throws {
        var last = try await temporary.put("a", [1]).revision
        for suffix in ["cache/cache.db", "state/state.db"] {
            try await temporary.close()
            try FileManager.default.removeItem(atPath: temporary.directory.path(suffix))
            try temporary.open()
            let next = try await temporary.put("after \(suffix)", [2]).revision
            #expect(next > last)
            last = next
        }
    }

    @Test("A state.db of a later version is an error that names a copy, and stays as it is (S5)")
    func newerState() async throws {
        try await temporary.close()
        try temporary.changeState("PRAGMA user_version=99")
        let path = temporary.statePath
        let before = try Data(contentsOf: URL(filePath: path))
        let known = Schema.state.steps.count
        func expectRefusal(naming copy: String?) {
            #expect(throws: StoreError.newer(path: path, found: 99, known: known, copy: copy)) {
                try temporary.open()
            }
        }
        expectRefusal(naming: nil)
        // Of the copies it takes the newest that it can read.
        for version in [3, known, known + 1] {
            let copy = "\(path).before-\(version)"
            #expect(FileManager.default.createFile(atPath: copy, contents: nil))
        }
        expectRefusal(naming: "\(path).before-\(known)")
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
    }

    @Test(
        "A damaged state.db is set aside, and revisions go on above the cache's",
        arguments: [Wreck.noise, .shortNoise, .half, .otherDatabase]
    )
    func damagedState(wreck: Wreck) async throws {
        try await temporary.reopen()
        let last = try await temporary.put("a", [1]).revision
        try await temporary.close()
        try wreckFile(wreck, at: temporary.statePath)
        try temporary.open()
        #expect(temporary.store.files.findings.count == 1, "\(temporary.store.files.findings)")
        #expect(FileManager.default.fileExists(atPath: temporary.statePath + ".aside"))
        #expect(try await temporary.bytes("a") == [1])
        #expect(try await temporary.put("b", [1]).revision > last)
    }

    @Test("Revisions grow past the end of a reserved block, over ends and crashes")
    func revisionBlocks() async throws {
        var last = Revision(0)
        for round in 0..<6 {
            let next = try await temporary.put("a", [UInt8(round)]).revision
            #expect(next > last)
            last = next
            if round % 2 == 0 { try await temporary.reopen() } else { try temporary.crash() }
        }
        let reserved = Recorder<Int64>()
        let reserve = Reserve(directory: "", bytes: 0, freeBytes: { _ in nil })
        let source = RevisionSource(first: 10, changes: ChangeFeed(), reserve: reserve)
        var previous = Revision(9)
        for number in 0..<(2 * Limits.revisionBlock + 1) {
            // As often as a writer with half a block a transaction would.
            if number % (Limits.revisionBlock / 2) == 0 {
                source.reserveAhead { reserved.record($0) }
            }
            let next = try source.next()
            guard next.number == previous.number + 1 else {
                Issue.record("\(next) after \(previous)")
                return
            }
            previous = next
        }
        #expect(reserved.all == [10 + 2 * Limits.revisionBlock, 10 + 3 * Limits.revisionBlock])
        source.reserveAhead { _ throws(StoreError) in throw .overloaded }
        #expect(throws: StoreError.overloaded) {
            for _ in 0...Limits.revisionBlock { _ = try source.next() }
        }
    }

    private func wreckFile(_ wreck: Wreck, at path: String) throws {
        let url = URL(filePath: path)
        switch wreck {
        case .newer:
            try SQLiteConnection(path: path, mode: .readWrite).execute("PRAGMA user_version=99")
        case .noise:
            try Data.noise(50_000).write(to: url)
        case .shortNoise:
            try Data.noise(100).write(to: url)
        case .half:
            let data = try Data(contentsOf: url)
            try data.prefix(data.count / 8_192 * 4_096).write(to: url)
        case .otherDatabase, .otherDatabaseOfOurVersion:
            try FileManager.default.removeItem(at: url)
            try Data().write(to: url)
            let version = wreck == .otherDatabase ? 7 : 1
            try SQLiteConnection(path: path, mode: .readWrite).execute(
                "CREATE TABLE notes (note); PRAGMA user_version=\(version)"
            )
        }
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }
}
