import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("How a salvaged state.db takes the place of the damaged one")
struct StateFileSwapTests {
    /// A store at rest whose state.db has modifiers in the file and others in its WAL alone.
    private func prepared() async throws -> TemporaryStore {
        let temporary = try TemporaryStore(configure: { $0.snapshotAge = nil })
        for number in 0..<20 { try await temporary.accept("m\(number)", "a\(number)") }
        try await temporary.reopen()
        for number in 20..<40 { try await temporary.accept("m\(number)", "a\(number)") }
        return temporary
    }

    /// Damages a page that the salvage does not read.
    private func damage(_ folder: TemporaryDirectory) throws {
        let pages = StatePages(path: folder.path("state/state.db"))
        try pages.write(.noise(StatePages.bytes), at: pages.root(of: "claim_pinned"))
    }

    private func names(_ temporary: TemporaryStore) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: temporary.directory.path("state")))
    }

    @Test(
        "A kill between any two steps loses no row and no WAL, and the next start ends what was begun",
        arguments: ["rename", "sync"]
    )
    func killed(step: String) async throws {
        for n in 1... {
            let temporary = try await prepared()
            let faults = temporary.faults
            var original: [Data] = []
            faults.arm(n, of: "\(step) /", .forGood)
            var isOpen = true
            do {
                try temporary.crash { folder in
                    try damage(folder)
                    try folder.write("state/state.db.snapshot", [1])
                    original = try ["", "-wal"].map { suffix in
                        try Data(contentsOf: URL(filePath: folder.path("state/state.db\(suffix)")))
                    }
                }
            } catch is StoreError {
                isOpen = false
            }
            faults.disarm()
            if !isOpen { try temporary.open() }
            let found = try await temporary.store.modifiers.unsettled(after: nil)
            #expect(found.compactMap(\.readable).count == 40, "n \(n)")
            #expect(original[1].count > 0)
            let path = temporary.statePath + ".aside"
            #expect(try Data(contentsOf: URL(filePath: path)) == original[0], "n \(n)")
            #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == original[1], "n \(n)")
            #expect(try Data(contentsOf: URL(filePath: path + ".snapshot")) == Data([1]), "n \(n)")
            let left = try names(temporary).filter {
                $0.contains("salvaged") || $0.contains(".new")
            }
            #expect(left == [], "n \(n)")
            #expect(temporary.store.files.asideSets.count == 1)
            try await temporary.accept("next", "a0")
            try await temporary.reopen()
            #expect(temporary.store.files.findings == [], "n \(n)")
            if faults.failures == 0 { return }
        }
    }

    @Test("Files set aside are numbered, reported with their removal command, and stay")
    func numbered() async throws {
        let temporary = try await prepared()
        var damaged: [Data] = []
        for number in 1...3 {
            try temporary.crash { folder in
                let old = temporary.directory.path("state")
                for name in try FileManager.default.contentsOfDirectory(atPath: old)
                where name.contains("aside") {
                    try copyFile("\(old)/\(name)", to: folder.path("state/\(name)"))
                }
                try damage(folder)
                damaged.append(try Data(contentsOf: URL(filePath: folder.path("state/state.db"))))
            }
            #expect(temporary.store.files.asideSets.count == number)
            try await temporary.accept("later\(number)", "a")
        }
        let paths = ["", ".2", ".3"].map { "\(temporary.statePath).aside\($0)" }
        for (path, bytes) in zip(paths, damaged) {
            #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
        }
        let sets = temporary.store.files.asideSets
        #expect(sets.map(\.paths) == paths.map { [$0, $0 + "-wal"] })
        #expect(sets[1].bytes == sets[1].paths.reduce(0) { $0 + DiskSpace.fileBytes(at: $1) })
        #expect(sets[1].removal == "rm '\(paths[1])' '\(paths[1])-wal'")
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", sets[1].removal]
        try shell.run()
        shell.waitUntilExit()
        #expect(temporary.store.files.asideSets.map { $0.paths[0] } == [paths[0], paths[2]])
        #expect(StateFile.database(in: temporary.directory.path("state"), nil).nextAsideNumber == 4)
    }

    @Test("A name with a number that is none of ours keeps nothing from being set aside")
    func strangeNumber() async throws {
        let temporary = try await prepared()
        try temporary.crash { folder in
            try folder.write("state/state.db.aside.\(Int.max)", [1])
            try damage(folder)
        }
        #expect(temporary.store.files.asideSets.count == 2)
        #expect(try await temporary.store.modifiers.unsettled(after: nil).count == 40)
    }

    @Test("A WAL whose file is gone or empty is set aside, and read as far as it goes")
    func orphan() async throws {
        for isEmpty in [true, false] {
            let temporary = try await prepared()
            var wal = Data()
            try temporary.crash { folder in
                let path = folder.path("state/state.db")
                wal = try Data(contentsOf: URL(filePath: path + "-wal"))
                if isEmpty { truncate(path, 0) } else { unlink(path) }
            }
            #expect(temporary.store.files.findings.count >= 1, "\(temporary.store.files.findings)")
            let aside = URL(filePath: temporary.statePath + ".aside-wal")
            #expect(try Data(contentsOf: aside) == wal)
            try await temporary.accept("next", "a0")
            try await temporary.reopen()
            #expect(temporary.store.files.findings == [])
            let found = try await temporary.store.modifiers.unsettled(after: nil)
            #expect(found.contains { $0.readable?.id.text == "next" })
        }
    }
}
