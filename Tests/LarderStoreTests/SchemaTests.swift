import Foundation
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The schema")
struct SchemaTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test("The code carries the numbered files, word for word")
    func filesAreCarried() throws {
        for (name, steps) in [("cache", Schema.cacheSteps), ("state", Schema.stateSteps)] {
            for (index, step) in steps.enumerated() {
                let number = String("00\(index + 1)".suffix(3))
                let file = root.appending(path: "schema/\(name)-\(number).sql")
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(step + "\n" == text)
            }
        }
        let names = try FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: "schema").path
        )
        .filter { $0.hasSuffix(".sql") }
        #expect(names.count == Schema.cacheSteps.count + Schema.stateSteps.count)
    }

    @Test("The generated files are what their script makes")
    func scriptMakesFile() throws {
        let directory = try TemporaryDirectory()
        let copy = URL(filePath: directory.path)
        for folder in ["schema", "scripts"] {
            try FileManager.default.copyItem(
                at: root.appending(path: folder),
                to: copy.appending(path: folder)
            )
        }
        let names = [
            "Sources/LarderStore/Schema+Generated.swift",
            "Sources/LarderServer/APIDocument+Generated.swift",
        ]
        for name in names {
            try FileManager.default.createDirectory(
                at: copy.appending(path: name).deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
        }
        let script = try Process.run(
            copy.appending(path: "scripts/generate-schema"),
            arguments: []
        )
        script.waitUntilExit()
        #expect(script.terminationStatus == 0)
        for name in names {
            let made = try String(contentsOf: copy.appending(path: name), encoding: .utf8)
            let kept = try String(contentsOf: root.appending(path: name), encoding: .utf8)
            #expect(made == kept)
        }
    }

    @Test("A new file says whose it is, of which version, and is made as the schema asks")
    func newFile() throws {
        let temporary = try TemporaryStore()
        let connection = try SQLiteConnection(path: temporary.cachePath, mode: .readOnly)
        for (pragma, value) in [
            ("application_id", Schema.applicationID), ("page_size", 4_096), ("auto_vacuum", 2),
            ("user_version", Int64(Schema.cacheSteps.count)),
        ] {
            #expect(try connection.integer("PRAGMA \(pragma)") == value, "\(pragma)")
        }
    }
}
