import Foundation
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("The schema")
struct SchemaTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test("The program embeds every numbered file, byte for byte")
    func filesAreEmbedded() throws {
        for (name, steps) in [("cache", Schema.cache.steps), ("state", Schema.state.steps)] {
            for (index, step) in steps.enumerated() {
                let number = String("00\(index + 1)".suffix(3))
                let file = root.appending(path: "schema/\(name)-\(number).sql")
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(step == text)
            }
        }
        let names = try FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: "schema").path
        )
        .filter { $0.hasSuffix(".sql") }
        #expect(names.count == Schema.cache.steps.count + Schema.state.steps.count)
    }

    @Test("A new file says whose it is, of which version, and is made as the schema asks")
    func newFile() throws {
        let temporary = try TemporaryStore()
        let connection = try SQLiteConnection(path: temporary.cachePath, mode: .readOnly)
        for (pragma, value) in [
            ("application_id", Schema.applicationID), ("page_size", 4_096), ("auto_vacuum", 2),
            ("user_version", Int64(Schema.cache.steps.count)),
        ] {
            #expect(try connection.integer("PRAGMA \(pragma)") == value, "\(pragma)")
        }
    }
}
